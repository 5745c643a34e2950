//! Turns raw keys into [`Settings`] and applies the rules that span several values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::environment::{EnvironmentVariables, variables_of};
use super::known::{self, KNOWN_SETTINGS, KnownSetting, SettingDefault};
use super::raw::{SettingKeys, SettingReader};
use super::signing::read_private;
use super::telemetry::telemetry;
use super::{
    AgentSettings, AppClientSettings, DataSettings, DefaultSettings, DeliveryMode, GithubSettings,
    LimitSettings, Prices, RetentionSettings, RuntimeKind, SandboxSettings, ServerSettings, Settings,
    SettingsError, StoreSettings, TestRunSettings, api, app_key, network, registries, signing,
};
use journeyman_order::names::{OWN_VARIABLES, is_variable};
use journeyman_order::{
    BudgetLimits, DayLimits, IsolationMode, JobLimits, NotificationFormat, NotificationSettings, OrderLimits,
    RequestOrigin, TestingSettings, WriteLimits, is_loopback,
};

impl Settings {
    /// Reads the settings of `serve`: the file, if any, overridden by the environment.
    ///
    /// # Errors
    /// The first problem, with its key, its location and the expected value.
    pub fn load(
        file: Option<&Path>,
        env: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, SettingsError> {
        let (keys, variables) = read(file, env)?;
        let github = github(keys.of(""), &variables)?;
        assemble(&keys, &variables, github)
    }

    /// Reads the settings of `run` and `demo`. They bring their own GitHub, so `[github]` is ignored.
    ///
    /// # Errors
    /// As [`Settings::load`].
    pub fn load_beside(
        github: GithubSettings,
        file: Option<&Path>,
        env: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, SettingsError> {
        let (keys, variables) = read(file, env)?;
        assemble(&keys, &variables, github)
    }
}

impl TestRunSettings {
    /// Reads only the settings that a test run needs.
    ///
    /// # Errors
    /// As [`Settings::load`].
    pub fn load(
        file: Option<&Path>,
        env: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, SettingsError> {
        let (keys, variables) = read(file, env)?;
        let own = keys.of("");
        let data = own.has(known::DATA_DIR).then(|| data_dir(own)).transpose()?;
        Ok(Self { data, sandbox: sandbox(own)?, testing: testing(&keys, &variables)? })
    }
}

pub(super) fn read(
    file: Option<&Path>,
    env: impl Iterator<Item = (String, String)>,
) -> Result<(SettingKeys, EnvironmentVariables), SettingsError> {
    let mut keys = SettingKeys::default();
    if let Some(file) = file {
        keys.read_file(file)?;
    }
    let mut variables: Vec<(String, String)> = env.collect();
    keys.read_environment(variables.iter().cloned())?;
    if let Some(added) = environment_file(keys.of(""))? {
        // The environment overrides the file of variables.
        variables = added.into_iter().chain(variables).collect();
        keys.read_environment(variables.iter().cloned())?;
    }
    let variables = variables.into_iter().map(|(name, value)| (name, SecretString::from(value)));
    Ok((keys, variables.collect()))
}

fn environment_file(keys: SettingReader<'_>) -> Result<Option<Vec<(String, String)>>, SettingsError> {
    let setting = known::ENVIRONMENT_FILE;
    let Some(path) = keys.path(setting)? else { return Ok(None) };
    let wrong = |why: String| keys.wrong(setting, format!("a file of variables: {}: {why}", path.display()));
    let text = read_private(&path).map_err(wrong)?;
    let variables = variables_of(text.expose_secret());
    let no_variable = |line| wrong(format!("line {line} is not NAME=VALUE"));
    variables.map(Some).map_err(no_variable)
}

fn assemble(
    given: &SettingKeys,
    variables: &EnvironmentVariables,
    github: GithubSettings,
) -> Result<Settings, SettingsError> {
    let prices = api::prices(given)?;
    let agents = agents(given, &Prices::new(prices.clone()))?;
    let keys = given.of("");
    let defaults = DefaultSettings {
        label: keys.need(known::LABEL)?,
        agent: keys.need(known::AGENT)?,
        pipeline: pipeline(keys)?,
    };
    if !agents.contains_key(&defaults.agent) {
        let named: Vec<&str> = agents.keys().map(String::as_str).collect();
        return Err(keys.wrong(known::AGENT, format!("the name of an agent, one of {}", named.join(", "))));
    }
    let signing = signing::signing(keys)?;
    let sandbox = sandbox(keys)?;
    stays_outside(given, variables, &sandbox, &agents)?;
    Ok(Settings {
        server: ServerSettings {
            listen: keys.need(known::LISTEN)?,
            public_url: keys.get(known::PUBLIC_URL)?,
            drain: Duration::from_secs(keys.need(known::DRAIN_SECONDS)?),
            api_token: keys.get(known::API_TOKEN)?,
        },
        github,
        signing,
        store: store(keys)?,
        data: DataSettings { dir: data_dir(keys)?, cache_dir: data_dir(keys)? },
        notifications: notifications(keys)?,
        telemetry: telemetry(variables)?,
        retention: retention(keys)?,
        defaults,
        templates: keys.path(known::TEMPLATES_DIR)?,
        limits: limits(given)?,
        sandbox,
        testing: testing(given, variables)?,
        agents,
        pipelines: BTreeMap::new(),
        asked_on: RequestOrigin::GitHub,
        prices,
        variables: variables.clone(),
    })
}

/// Keeps the signing key, the App's key and other files with secrets out of reach of agents and tests.
fn stays_outside(
    given: &SettingKeys,
    variables: &EnvironmentVariables,
    sandbox: &SandboxSettings,
    agents: &BTreeMap<String, AgentSettings>,
) -> Result<(), SettingsError> {
    let keys = given.of("");
    let named = [known::SIGNING_KEY_FILE, known::PRIVATE_KEY_PATH, known::ENVIRONMENT_FILE]
        .map(|named| (keys, named));
    let names = given.names("registries");
    let of_registries = names.iter().map(|name| (given.of(name), known::REGISTRY_KEY_FILE));
    let mut secret = Vec::new();
    for (keys, setting) in named.into_iter().chain(of_registries) {
        let expected = "a file outside of the folders that agents and tests may read (`read`)";
        secret.extend(keys.path(setting)?.map(|file| (keys, setting, file, expected)));
    }
    let credential = app_key::credential(variables);
    secret.extend(
        credential.map(|file| (keys, known::PRIVATE_KEY_PATH, file, "given to systemd in another folder")),
    );
    // The settings file itself, if it contains a secret.
    let inside =
        [known::WEBHOOK_SECRET, known::WEBHOOK_SECRET_PREVIOUS, known::CLIENT_SECRET, known::API_TOKEN];
    let expected = "outside of the folders that agents and tests may read (`read`): move the file, or set it by its variable";
    secret.extend(
        inside.into_iter().filter_map(|setting| Some((keys, setting, keys.file_of(setting)?, expected))),
    );
    for (keys, setting, file, expected) in secret {
        let places = [std::path::absolute(&file), file.canonicalize()];
        let mut read = sandbox.read.iter().chain(agents.values().flat_map(|agent| &agent.read));
        let is_inside = |folder: &PathBuf| {
            let folders = [Ok(folder.clone()), folder.canonicalize()];
            folders
                .iter()
                .flatten()
                .any(|folder| places.iter().flatten().any(|file| file.starts_with(folder)))
        };
        if read.any(is_inside) {
            return Err(keys.wrong(setting, expected));
        }
    }
    Ok(())
}

/// Reads only the key that signs commits.
#[cfg(test)]
pub(crate) fn commit_signing(
    file: Option<&Path>,
) -> Result<Option<journeyman_order::CommitSigning>, SettingsError> {
    let (keys, _) = read(file, std::iter::empty())?;
    signing::signing(keys.of(""))
}

/// GitHub's web hosts, which serve no API.
const WEB_PAGES: [&str; 2] = ["github.com", "www.github.com"];

fn github(
    keys: SettingReader<'_>,
    variables: &EnvironmentVariables,
) -> Result<GithubSettings, SettingsError> {
    let deliveries = match keys.need::<String>(known::DELIVERIES)?.as_str() {
        "pull" => DeliveryMode::Pull,
        _ => DeliveryMode::Webhook,
    };
    // The webhook secret is only needed for a webhook: polled deliveries are not signed.
    let is_needed = |known: &KnownSetting| {
        matches!(known.default, SettingDefault::Required(_))
            && (known.key != known::WEBHOOK_SECRET.key || deliveries == DeliveryMode::Webhook)
            && (known.key != known::PRIVATE_KEY_PATH.key || app_key::credential(variables).is_none())
    };
    let is_missing = |known: &&KnownSetting| is_needed(known) && !keys.has(**known);
    let missing: Vec<String> =
        KNOWN_SETTINGS.iter().filter(is_missing).map(|known| known.key.to_owned()).collect();
    if !missing.is_empty() {
        return Err(SettingsError::Missing { keys: missing });
    }
    let api_url: Url = keys.need(known::API_URL)?;
    let is_local = api_url.host().is_some_and(|host| is_loopback(&host));
    if api_url.scheme() != "https" && !is_local {
        return Err(keys.wrong(known::API_URL, "https://…, since tokens go there (http only on loopback)"));
    }
    if api_url.host_str().is_some_and(|host| WEB_PAGES.contains(&host)) {
        let expected = "the address of GitHub's API, https://api.github.com, and not of its pages";
        return Err(keys.wrong(known::API_URL, expected));
    }
    let mut webhook_secrets = Vec::from_iter(keys.get::<SecretString>(known::WEBHOOK_SECRET)?);
    webhook_secrets.extend(keys.get::<SecretString>(known::WEBHOOK_SECRET_PREVIOUS)?);
    Ok(GithubSettings {
        writes: if is_local { WriteLimits::NONE } else { WriteLimits::GITHUB },
        api_url,
        app_id: keys.need(known::APP_ID)?,
        private_key: app_key::private_key(keys, variables)?,
        webhook_secrets,
        deliveries,
        client: client(keys)?,
    })
}

/// Both or neither: with only one, sign-in fails without a visible reason.
fn client(keys: SettingReader<'_>) -> Result<Option<AppClientSettings>, SettingsError> {
    match (keys.get(known::CLIENT_ID)?, keys.get(known::CLIENT_SECRET)?) {
        (Some(id), Some(secret)) => Ok(Some(AppClientSettings { id, secret })),
        (None, None) => Ok(None),
        (Some(_), None) => Err(keys.wrong(known::CLIENT_ID, "set together with `github.client_secret`")),
        (None, Some(_)) => Err(keys.wrong(known::CLIENT_SECRET, "set together with `github.client_id`")),
    }
}

fn notifications(keys: SettingReader<'_>) -> Result<Option<NotificationSettings>, SettingsError> {
    let format: String = keys.need(known::NOTIFICATIONS_FORMAT)?;
    let secret = keys.get(known::NOTIFICATIONS_SECRET)?;
    let Some(url) = keys.get::<SecretString>(known::NOTIFICATIONS_URL)? else { return Ok(None) };
    let parsed = Url::parse(url.expose_secret()).ok();
    if !parsed.is_some_and(|url| matches!(url.scheme(), "https" | "http") && url.has_host()) {
        return Err(keys.wrong(known::NOTIFICATIONS_URL, "an address, https://…"));
    }
    Ok(Some(NotificationSettings {
        url,
        secret,
        format: match format.as_str() {
            "slack" => NotificationFormat::Slack,
            _ => NotificationFormat::Json,
        },
    }))
}

fn data_dir(keys: SettingReader<'_>) -> Result<PathBuf, SettingsError> {
    let dir = keys.path(known::DATA_DIR)?;
    dir.ok_or_else(|| keys.wrong(known::DATA_DIR, known::DATA_DIR.kind.expected()))
}

fn retention(keys: SettingReader<'_>) -> Result<RetentionSettings, SettingsError> {
    let days = |days: u64| (days > 0).then(|| Duration::from_secs(days * 24 * 60 * 60));
    Ok(RetentionSettings {
        artifacts: days(keys.need(known::KEEP_ARTIFACTS)?),
        journals: days(keys.need(known::KEEP_JOURNALS)?),
        ..RetentionSettings::default()
    })
}

/// A name or a file.
fn pipeline(keys: SettingReader<'_>) -> Result<String, SettingsError> {
    let named: String = keys.need(known::PIPELINE)?;
    if !super::is_file_name(&named) {
        return Ok(named);
    }
    Ok(keys.beside(known::PIPELINE, named.into()).to_string_lossy().into_owned())
}

fn store(keys: SettingReader<'_>) -> Result<StoreSettings, SettingsError> {
    let url: String = keys.need(known::STORE_URL)?;
    if ["postgres:", "postgresql:"].iter().any(|scheme| url.starts_with(scheme)) {
        return Ok(StoreSettings { url: url.into() });
    }
    let Some(file) = url.strip_prefix("sqlite:") else {
        return Err(keys.wrong(known::STORE_URL, "sqlite://FILE or postgres://USER:PASSWORD@HOST/DATABASE"));
    };
    let file = file.strip_prefix("//").unwrap_or(file);
    let folder = keys.beside(known::STORE_URL, PathBuf::new());
    // In-memory databases have no folder. Special characters in the folder's name would change the address.
    if file.starts_with(['/', ':', '?']) || folder.as_os_str().is_empty() {
        return Ok(StoreSettings { url: url.into() });
    }
    let folder = folder.to_str().ok_or_else(|| {
        keys.wrong(known::STORE_URL, "an absolute path: the name of the settings' folder is no UTF-8")
    })?;
    Ok(StoreSettings { url: format!("sqlite://{}/{file}", in_url(folder).trim_end_matches('/')).into() })
}

/// The `store.url` of an SQLite file.
pub fn sqlite_url(file: &Path) -> String {
    format!("sqlite://{}", in_url(&file.to_string_lossy()))
}

/// Escapes `%`, `?` and `#`, which have a meaning in such an address.
fn in_url(path: &str) -> String {
    path.replace('%', "%25").replace('?', "%3F").replace('#', "%23")
}

/// Comments, reviews and CI results of one push arrive within this time. One round handles them all.
const GATHER_SECONDS: u32 = 20;
/// Enough for the mutants of most changes. A repository can lower it with `prove.mutants`.
const MUTANT_TIME: Duration = Duration::from_secs(120);

fn limits(given: &SettingKeys) -> Result<LimitSettings, SettingsError> {
    let keys = given.of("");
    let [repository, sender, all] = known::WHOSE.map(|whose| per_day(given.of(whose)));
    Ok(LimitSettings {
        concurrent_orders: keys.need(known::CONCURRENT_ORDERS)?,
        order: OrderLimits {
            minutes: keys.need(known::ORDER_MINUTES)?,
            usd: keys.need(known::ORDER_USD)?,
            runs: keys.need(known::ORDER_RUNS)?,
            gather_seconds: GATHER_SECONDS,
        },
        per_day: DayLimits { repository: repository?, sender: sender?, all: all? },
    })
}

/// Spending limits for one day. `None` means no limit.
fn per_day(keys: SettingReader<'_>) -> Result<BudgetLimits, SettingsError> {
    Ok(BudgetLimits {
        usd: keys.get(known::DAY_USD)?,
        minutes: keys.get(known::DAY_MINUTES)?,
        runs: keys.get(known::DAY_RUNS)?,
    })
}

fn testing(given: &SettingKeys, variables: &EnvironmentVariables) -> Result<TestingSettings, SettingsError> {
    let keys = given.of("");
    Ok(TestingSettings {
        setup_time: Duration::from_secs(keys.need(known::SETUP_SECONDS)?),
        test_time: Duration::from_secs(keys.need(known::TEST_SECONDS)?),
        mutant_time: MUTANT_TIME,
        setup_network: keys.need(known::SETUP_NETWORK)?,
        setup_network_for_changes: keys.need(known::SETUP_NETWORK_FOR_CHANGES)?,
        test_network: keys.need(known::TEST_NETWORK)?,
        keep: keys.need::<u64>(known::DATA_KEEP_GIB)? << 30,
        registries: registries::registries(given, variables)?,
        outgoing: network::outgoing(keys, variables)?,
    })
}

fn sandbox(keys: SettingReader<'_>) -> Result<SandboxSettings, SettingsError> {
    if keys.says(known::SANDBOX_MODE, "podman") {
        let expected = "\"bubblewrap\" or \"none\": podman is no longer supported. Install bubblewrap and remove the setting";
        return Err(keys.wrong(known::SANDBOX_MODE, expected));
    }
    let mode = match keys.need::<String>(known::SANDBOX_MODE)?.as_str() {
        "none" => IsolationMode::None,
        _ => IsolationMode::Bubblewrap,
    };
    let mib = |setting| keys.need::<u64>(setting).map(|mib| mib << 20);
    let limits = JobLimits {
        memory: mib(known::SANDBOX_MEMORY)?,
        disk: mib(known::SANDBOX_DISK)?,
        ..JobLimits::default()
    };
    Ok(SandboxSettings {
        mode,
        read: keys.need(known::SANDBOX_READ)?,
        limits,
        host_registries: keys.need(known::HOST_REGISTRIES)?,
    })
}

fn agents(given: &SettingKeys, prices: &Prices) -> Result<BTreeMap<String, AgentSettings>, SettingsError> {
    let names = given.names("agents").into_iter().chain(["claude".to_owned()]);
    names.map(|name| Ok((name.clone(), agent(given.of(&name), &name, prices)?))).collect()
}

fn agent(keys: SettingReader<'_>, name: &str, prices: &Prices) -> Result<AgentSettings, SettingsError> {
    let runtime = match keys.get::<String>(known::RUNTIME)?.as_deref() {
        Some("claude") => RuntimeKind::Claude,
        Some("command") => RuntimeKind::Command,
        Some("api") => {
            let api = api::api(keys, prices)?;
            let model = Some(api.model.clone());
            let runtime = RuntimeKind::Api(Box::new(api));
            return Ok(AgentSettings { name: name.to_owned(), runtime, model, ..AgentSettings::default() });
        }
        // `claude` works without any settings.
        None if name == "claude" => RuntimeKind::Claude,
        Some(_) | None => return Err(keys.wrong(known::RUNTIME, known::RUNTIME.kind.expected())),
    };
    let of_api = [known::PROVIDER, known::BASE_URL, known::KEY_ENV, known::MAX_OUTPUT_TOKENS];
    if let Some(other) = of_api.into_iter().find(|other| keys.has(*other)) {
        return Err(keys.wrong(other, "left out: it is for the runtime `api` alone"));
    }
    let program = match (&runtime, keys.get(known::PROGRAM)?) {
        (_, Some(program)) => program,
        (RuntimeKind::Claude, None) => vec!["claude".to_owned()],
        (RuntimeKind::Command | RuntimeKind::Api(_), None) => {
            return Err(keys.wrong(known::PROGRAM, "given: the runtime `command` starts this program"));
        }
    };
    let program = placed(keys, program)?;
    // If empty, the runtime passes the variables that Claude Code looks for.
    let env: Vec<String> = keys.need(known::ENV)?;
    if !env.iter().all(|name| is_variable(name) && !name.starts_with(OWN_VARIABLES)) {
        let expected = format!("a list of variables' names, none of which begins with {OWN_VARIABLES}");
        return Err(keys.wrong(known::ENV, expected));
    }
    Ok(AgentSettings {
        name: name.to_owned(),
        runtime,
        model: keys.get(known::MODEL)?,
        program,
        env,
        resumes: keys.need(known::RESUMES)?,
        read: keys.need(known::READ)?,
        network: keys.need(known::NETWORK)?,
    })
}

/// Resolves a program's relative path at the settings file. The program starts in a repository's work tree,
/// which could contain a file of the same name.
fn placed(keys: SettingReader<'_>, mut program: Vec<String>) -> Result<Vec<String>, SettingsError> {
    let Some(first) = program.first_mut().filter(|first| first.contains('/')) else { return Ok(program) };
    let path: PathBuf = keys.beside(known::PROGRAM, PathBuf::from(&*first)).components().collect();
    match path.to_str().filter(|_| path.is_absolute()) {
        Some(absolute) => absolute.clone_into(first),
        None => {
            let expected =
                "a program's name or its absolute path; only in the settings' file may its path begin there";
            return Err(keys.wrong(known::PROGRAM, expected));
        }
    }
    Ok(program)
}
