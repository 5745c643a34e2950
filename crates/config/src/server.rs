//! Raw keys to [`Settings`], with the rules that are about more than one value.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use url::{Host, Url};

use super::environment::EnvironmentVariables;
use super::known::{self, KNOWN_SETTINGS, KnownSetting, SettingDefault};
use super::raw::{SettingKeys, SettingReader};
use super::{
    AgentSettings, DataSettings, DefaultSettings, GithubSettings, LimitSettings, Prices, RuntimeKind,
    SandboxSettings, ServerSettings, Settings, SettingsError, StoreSettings, TemplateSettings,
    TestRunSettings, api, network, registries, signing,
};
use journeyman_order::names::{OWN_VARIABLES, VariableName};
use journeyman_order::{
    BudgetLimits, CommitSigning, DayLimits, IsolationMode, JobLimits, OrderLimits, TestingSettings,
    WriteLimits,
};

impl Settings {
    /// Reads the settings of `serve`: the file, if there is one, and over it the environment.
    ///
    /// # Errors
    /// The first thing that is wrong, with its key, its place and what is expected.
    pub fn load(
        file: Option<&Path>,
        env: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, SettingsError> {
        let (keys, variables) = read(file, env)?;
        let github = github(keys.of(""))?;
        assemble(&keys, &variables, github)
    }

    /// Reads the settings of `run` and `demo`, which bring their own GitHub: `[github]` is not looked at.
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
    /// Reads what running tests needs of the settings; the rest is not looked at.
    ///
    /// # Errors
    /// As [`Settings::load`].
    pub fn load(
        file: Option<&Path>,
        env: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, SettingsError> {
        let (keys, variables) = read(file, env)?;
        let own = keys.of("");
        let data = own.has(known::DATA_DIR).then(|| own.need(known::DATA_DIR)).transpose()?;
        Ok(Self { data, sandbox: sandbox(own)?, testing: testing(&keys, &variables)? })
    }
}

fn read(
    file: Option<&Path>,
    env: impl Iterator<Item = (String, String)>,
) -> Result<(SettingKeys, EnvironmentVariables), SettingsError> {
    let mut keys = SettingKeys::default();
    if let Some(file) = file {
        keys.read_file(file)?;
    }
    let variables: Vec<(String, String)> = env.collect();
    keys.read_environment(variables.iter().cloned())?;
    let variables = variables.into_iter().map(|(name, value)| (name, SecretString::from(value)));
    Ok((keys, variables.collect()))
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
        pipeline: keys.need(known::PIPELINE)?,
    };
    if !agents.contains_key(&defaults.agent) {
        let named: Vec<&str> = agents.keys().map(String::as_str).collect();
        return Err(keys.wrong(known::AGENT, format!("the name of an agent, one of {}", named.join(", "))));
    }
    let signing = signing::signing(keys, variables)?;
    let sandbox = sandbox(keys)?;
    stays_outside(given, &sandbox, &agents)?;
    Ok(Settings {
        server: ServerSettings {
            listen: keys.need(known::LISTEN)?,
            public_url: keys.get(known::PUBLIC_URL)?,
            api_token: keys.get(known::API_TOKEN)?,
        },
        github,
        signing,
        store: store(keys)?,
        data: DataSettings { dir: keys.need(known::DATA_DIR)? },
        defaults,
        templates: TemplateSettings { dir: keys.get(known::TEMPLATES_DIR)? },
        limits: limits(given)?,
        sandbox,
        testing: testing(given, variables)?,
        agents,
        pipelines: BTreeMap::new(),
        prices,
    })
}

/// What signs commits is no agent's: neither its variable nor a folder with its file.
fn stays_outside(
    given: &SettingKeys,
    sandbox: &SandboxSettings,
    agents: &BTreeMap<String, AgentSettings>,
) -> Result<(), SettingsError> {
    let keys = given.of("");
    let name: Option<String> = keys.get(known::SIGNING_KEY_ENV)?;
    if let Some((agent, _)) =
        agents.iter().find(|(_, agent)| name.iter().any(|name| agent.env.contains(name)))
    {
        let expected = "left without the variable of `signing.key_env`: agents never get it";
        return Err(given.of(agent).wrong(known::ENV, expected));
    }
    let Some(file) = keys.get::<PathBuf>(known::SIGNING_KEY_FILE)? else { return Ok(()) };
    let places = [std::path::absolute(&file), file.canonicalize()];
    let mut read = sandbox.read.iter().chain(agents.values().flat_map(|agent| &agent.read));
    let is_inside = |folder: &PathBuf| {
        let folders = [Ok(folder.clone()), folder.canonicalize()];
        folders.iter().flatten().any(|folder| places.iter().flatten().any(|file| file.starts_with(folder)))
    };
    if read.any(is_inside) {
        let expected = "a file outside of the folders that agents and tests may read (`read`)";
        return Err(keys.wrong(known::SIGNING_KEY_FILE, expected));
    }
    Ok(())
}

/// The key that commits are signed with; the rest of the settings is not looked at.
///
/// # Errors
/// As [`Settings::load`].
pub fn commit_signing(
    file: Option<&Path>,
    env: impl Iterator<Item = (String, String)>,
) -> Result<Option<CommitSigning>, SettingsError> {
    let (keys, variables) = read(file, env)?;
    signing::signing(keys.of(""), &variables)
}

fn github(keys: SettingReader<'_>) -> Result<GithubSettings, SettingsError> {
    let is_missing =
        |known: &&KnownSetting| matches!(known.default, SettingDefault::Required(_)) && !keys.has(**known);
    let missing: Vec<String> =
        KNOWN_SETTINGS.iter().filter(is_missing).map(|known| known.key.to_owned()).collect();
    if !missing.is_empty() {
        return Err(SettingsError::Missing { keys: missing });
    }
    let api_url: Url = keys.need(known::API_URL)?;
    if api_url.scheme() != "https" && !is_loopback(&api_url) {
        return Err(keys.wrong(known::API_URL, "https://…: tokens go there (http only on loopback)"));
    }
    let mut webhook_secrets = vec![keys.need(known::WEBHOOK_SECRET)?];
    webhook_secrets.extend(keys.get::<SecretString>(known::WEBHOOK_SECRET_PREVIOUS)?);
    Ok(GithubSettings {
        api_url,
        app_id: keys.need(known::APP_ID)?,
        private_key: private_key(keys)?,
        webhook_secrets,
        writes: WriteLimits {
            interval: Duration::from_millis(keys.need(known::WRITE_INTERVAL_MS)?),
            per_minute: NonZeroU32::new(keys.need(known::WRITES_PER_MINUTE)?),
            per_hour: NonZeroU32::new(keys.need(known::WRITES_PER_HOUR)?),
        },
    })
}

fn private_key(keys: SettingReader<'_>) -> Result<SecretString, SettingsError> {
    let path: PathBuf = keys.need(known::PRIVATE_KEY_PATH)?;
    let wrong = |expected: String| keys.wrong(known::PRIVATE_KEY_PATH, expected);
    let pem = std::fs::read_to_string(&path)
        .map(SecretString::from)
        .map_err(|error| wrong(format!("a file that can be read: {}: {error}", path.display())))?;
    match jsonwebtoken::EncodingKey::from_rsa_pem(pem.expose_secret().as_bytes()) {
        Ok(_) => Ok(pem),
        Err(_) => Err(wrong(format!(
            "an RSA key in PEM form, as GitHub gives it for download; {} is not",
            path.display()
        ))),
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

fn store(keys: SettingReader<'_>) -> Result<StoreSettings, SettingsError> {
    let url: String = keys.need(known::STORE_URL)?;
    if ["sqlite:", "postgres:", "postgresql:"].iter().any(|scheme| url.starts_with(scheme)) {
        Ok(StoreSettings { url: url.into() })
    } else {
        Err(keys.wrong(known::STORE_URL, "sqlite://FILE or postgres://USER:PASSWORD@HOST/DATABASE"))
    }
}

fn limits(given: &SettingKeys) -> Result<LimitSettings, SettingsError> {
    let keys = given.of("");
    let [repository, sender, all] = known::WHOSE.map(|whose| per_day(given.of(whose)));
    Ok(LimitSettings {
        concurrent_orders: keys.need(known::CONCURRENT_ORDERS)?,
        order: OrderLimits {
            minutes: keys.need(known::ORDER_MINUTES)?,
            usd: keys.need(known::ORDER_USD)?,
            runs: keys.need(known::ORDER_RUNS)?,
            gather_seconds: keys.need(known::GATHER_SECONDS)?,
            retry_renews: keys.need(known::RETRY_RENEWS)?,
        },
        per_day: DayLimits { repository: repository?, sender: sender?, all: all? },
    })
}

/// What may be spent in a day; nothing said is no limit.
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
        mutant_time: Duration::from_secs(keys.need(known::MUTANT_SECONDS)?),
        setup_network: keys.need(known::SETUP_NETWORK)?,
        setup_network_for_changes: keys.need(known::SETUP_NETWORK_FOR_CHANGES)?,
        test_network: keys.need(known::TEST_NETWORK)?,
        keep: keys.need::<u64>(known::DATA_KEEP_GIB)? << 30,
        registries: registries::registries(given, variables)?,
        outgoing: network::outgoing(keys, variables)?,
    })
}

fn sandbox(keys: SettingReader<'_>) -> Result<SandboxSettings, SettingsError> {
    let mode = match keys.need::<String>(known::SANDBOX_MODE)?.as_str() {
        "none" => IsolationMode::None,
        "podman" => IsolationMode::Podman,
        _ => IsolationMode::Bubblewrap,
    };
    let mib = |setting| keys.need::<u64>(setting).map(|mib| mib << 20);
    let limits = JobLimits {
        processes: keys.need(known::SANDBOX_PROCESSES)?,
        memory: mib(known::SANDBOX_MEMORY)?,
        largest_file: mib(known::SANDBOX_FILE)?,
        open_files: keys.need(known::SANDBOX_OPEN_FILES)?,
        disk: mib(known::SANDBOX_DISK)?,
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
            return Ok(AgentSettings {
                name: name.to_owned(),
                runtime,
                model,
                program: Vec::new(),
                env: Vec::new(),
                read: Vec::new(),
                network: Vec::new(),
            });
        }
        // The agent that needs no settings at all.
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
    // Nothing named: what Claude Code itself looks for, which the runtime knows.
    let env: Vec<String> = keys.need(known::ENV)?;
    if !env.iter().all(|name| VariableName::parse(name).is_ok()) {
        let expected = format!("a list of variables' names, none of which begins with {OWN_VARIABLES}");
        return Err(keys.wrong(known::ENV, expected));
    }
    Ok(AgentSettings {
        name: name.to_owned(),
        runtime,
        model: keys.get(known::MODEL)?,
        program,
        env,
        read: keys.need(known::READ)?,
        network: keys.need(known::NETWORK)?,
    })
}
