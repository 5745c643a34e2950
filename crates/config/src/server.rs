//! Raw keys to [`Settings`], with every default and every rule.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use url::{Host, Url};

use super::raw::SettingKeys;
use super::{
    AgentSettings, DataSettings, DefaultSettings, GithubSettings, LimitSettings, Prices, RuntimeKind,
    SandboxSettings, ServerSettings, Settings, SettingsError, StoreSettings, TemplateSettings,
    TestRunSettings, api,
};
use journeyman_order::names::{OWN_VARIABLES, VariableName};
use journeyman_order::{BudgetLimits, DayLimits, IsolationMode, OrderLimits, TestingSettings, WriteLimits};

/// Shorter ones can be guessed.
const TOKEN_LENGTH: usize = 16;

impl Settings {
    /// Reads the settings of `serve`: the file, if there is one, and over it the environment.
    ///
    /// # Errors
    /// The first thing that is wrong, with its key, its place and what is expected.
    pub fn load(
        file: Option<&Path>,
        env: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, SettingsError> {
        let keys = read(file, env)?;
        let github = github(&keys)?;
        assemble(&keys, github)
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
        assemble(&read(file, env)?, github)
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
        let keys = read(file, env)?;
        Ok(Self { sandbox: sandbox(&keys)?, testing: testing(&keys)? })
    }
}

fn read(
    file: Option<&Path>,
    env: impl Iterator<Item = (String, String)>,
) -> Result<SettingKeys, SettingsError> {
    let mut keys = SettingKeys::default();
    if let Some(file) = file {
        keys.read_file(file)?;
    }
    keys.read_environment(env)?;
    Ok(keys)
}

fn assemble(keys: &SettingKeys, github: GithubSettings) -> Result<Settings, SettingsError> {
    let prices = api::prices(keys)?;
    let agents = agents(keys, &Prices::new(prices.clone()))?;
    let defaults = DefaultSettings {
        label: name(keys, "defaults.label", "journeyman", 50)?,
        agent: name(keys, "defaults.agent", "claude", 40)?,
        pipeline: name(keys, "defaults.pipeline", "issue-to-pr", 200)?,
    };
    if !agents.contains_key(&defaults.agent) {
        let known: Vec<&str> = agents.keys().map(String::as_str).collect();
        return Err(
            keys.wrong("defaults.agent", format!("the name of an agent, one of {}", known.join(", ")))
        );
    }
    Ok(Settings {
        server: server(keys)?,
        github,
        store: store(keys)?,
        data: DataSettings { dir: keys.text("data.dir")?.unwrap_or_else(|| "data".to_owned()).into() },
        defaults,
        templates: TemplateSettings { dir: keys.text("templates.dir")?.map(PathBuf::from) },
        limits: limits(keys)?,
        sandbox: sandbox(keys)?,
        testing: testing(keys)?,
        agents,
        pipelines: BTreeMap::new(),
        prices,
    })
}

fn server(keys: &SettingKeys) -> Result<ServerSettings, SettingsError> {
    let listen = keys.text("server.listen")?.unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    let listen: SocketAddr = listen
        .parse()
        .map_err(|_| keys.wrong("server.listen", "an IP address and a port, such as 127.0.0.1:3000"))?;
    let api_token = keys.secret("server.api_token")?;
    if api_token.as_ref().is_some_and(|token| token.expose_secret().len() < TOKEN_LENGTH) {
        return Err(keys.wrong("server.api_token", format!("at least {TOKEN_LENGTH} characters long")));
    }
    Ok(ServerSettings { listen, public_url: keys.url("server.public_url")?, api_token })
}

fn github(keys: &SettingKeys) -> Result<GithubSettings, SettingsError> {
    let needed = ["github.app_id", "github.private_key_path", "github.webhook_secret"];
    let missing: Vec<String> =
        needed.iter().filter(|key| !keys.has(key)).map(|key| (*key).to_owned()).collect();
    let missing_any = || SettingsError::Missing { keys: missing.clone() };
    let app_id = keys.integer("github.app_id", 1..=u64::MAX / 2)?;
    let path = keys.text("github.private_key_path")?;
    let secret = keys.secret("github.webhook_secret")?;
    let (Some(app_id), Some(path), Some(secret)) = (app_id, path, secret) else { return Err(missing_any()) };
    let api_url = match keys.url("github.api_url")? {
        None => Url::parse("https://api.github.com").map_err(|_| keys.wrong("github.api_url", "a URL"))?,
        Some(url) if url.scheme() == "https" || is_loopback(&url) => url,
        Some(_) => {
            return Err(keys.wrong("github.api_url", "https://…: tokens go there (http only on loopback)"));
        }
    };
    let mut webhook_secrets = vec![secret];
    webhook_secrets.extend(keys.secret("github.webhook_secret_previous")?);
    let private_key = private_key(keys, Path::new(&path))?;
    Ok(GithubSettings { api_url, app_id, private_key, webhook_secrets, writes: writes(keys)? })
}

fn writes(keys: &SettingKeys) -> Result<WriteLimits, SettingsError> {
    let most = |key, usual| Ok(NonZeroU32::new(count(keys, key, 0..=100_000)?.unwrap_or(usual)));
    Ok(WriteLimits {
        interval: Duration::from_millis(
            keys.integer("github.write_interval_ms", 0..=60_000)?.unwrap_or(1_000),
        ),
        per_minute: most("github.writes_per_minute", 80)?,
        per_hour: most("github.writes_per_hour", 500)?,
    })
}

fn private_key(keys: &SettingKeys, path: &Path) -> Result<SecretString, SettingsError> {
    let key = "github.private_key_path";
    let pem = std::fs::read_to_string(path)
        .map(SecretString::from)
        .map_err(|error| keys.wrong(key, format!("a file that can be read: {}: {error}", path.display())))?;
    match jsonwebtoken::EncodingKey::from_rsa_pem(pem.expose_secret().as_bytes()) {
        Ok(_) => Ok(pem),
        Err(_) => Err(keys.wrong(
            key,
            format!("an RSA key in PEM form, as GitHub gives it for download; {} is not", path.display()),
        )),
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

fn store(keys: &SettingKeys) -> Result<StoreSettings, SettingsError> {
    let url = keys.text("store.url")?.unwrap_or_else(|| "sqlite://journeyman.db".to_owned());
    if ["sqlite:", "postgres:", "postgresql:"].iter().any(|scheme| url.starts_with(scheme)) {
        Ok(StoreSettings { url: url.into() })
    } else {
        Err(keys.wrong("store.url", "sqlite://FILE or postgres://USER:PASSWORD@HOST/DATABASE"))
    }
}

fn limits(keys: &SettingKeys) -> Result<LimitSettings, SettingsError> {
    let concurrent = keys.integer("limits.concurrent_orders", 1..=256)?.unwrap_or(4);
    Ok(LimitSettings {
        concurrent_orders: usize::try_from(concurrent).unwrap_or(4),
        order: OrderLimits {
            minutes: keys.integer("limits.order_minutes", 1..=10_080)?.unwrap_or(60),
            usd: keys.amount("limits.order_usd", 10_000.0)?.unwrap_or(5.0),
            runs: count(keys, "limits.order_runs", 1..=10_000)?.unwrap_or(60),
            gather_seconds: count(keys, "limits.gather_seconds", 0..=3_600)?.unwrap_or(20),
            retry_renews: keys.truth("limits.retry_renews")?.unwrap_or(true),
        },
        per_day: DayLimits {
            repository: per_day(keys, "repository")?,
            sender: per_day(keys, "sender")?,
            all: per_day(keys, "all")?,
        },
    })
}

fn testing(keys: &SettingKeys) -> Result<TestingSettings, SettingsError> {
    let seconds = |key, least, usual| -> Result<_, SettingsError> {
        Ok(Duration::from_secs(keys.integer(key, least..=86_400)?.unwrap_or(usual)))
    };
    Ok(TestingSettings {
        setup_time: seconds("limits.setup_seconds", 1, 600)?,
        test_time: seconds("limits.test_seconds", 1, 600)?,
        mutant_time: seconds("limits.mutant_seconds", 0, 120)?,
        setup_network: keys.list("sandbox.setup_network")?.unwrap_or_else(|| vec!["registries".to_owned()]),
        setup_network_for_changes: keys.truth("sandbox.setup_network_for_changes")?.unwrap_or(false),
        test_network: keys.list("sandbox.test_network")?.unwrap_or_default(),
    })
}

fn count(keys: &SettingKeys, key: &str, range: RangeInclusive<u64>) -> Result<Option<u32>, SettingsError> {
    Ok(keys.integer(key, range)?.and_then(|count| u32::try_from(count).ok()))
}

/// What may be spent in a day; nothing said is no limit.
fn per_day(keys: &SettingKeys, whose: &str) -> Result<BudgetLimits, SettingsError> {
    let key = |what: &str| format!("limits.per_day.{whose}.{what}");
    Ok(BudgetLimits {
        usd: keys.amount(&key("usd"), 1_000_000.0)?,
        minutes: keys.integer(&key("minutes"), 1..=1_000_000)?,
        runs: count(keys, &key("runs"), 1..=1_000_000)?,
    })
}

fn sandbox(keys: &SettingKeys) -> Result<SandboxSettings, SettingsError> {
    let mode = match keys.text("sandbox.mode")?.as_deref() {
        None | Some("bubblewrap") => IsolationMode::Bubblewrap,
        Some("none") => IsolationMode::None,
        Some(_) => return Err(keys.wrong("sandbox.mode", "\"bubblewrap\" or \"none\"")),
    };
    Ok(SandboxSettings { mode, read: keys.absolute_paths("sandbox.read")? })
}

fn agents(keys: &SettingKeys, prices: &Prices) -> Result<BTreeMap<String, AgentSettings>, SettingsError> {
    let names: BTreeSet<String> = keys.agents().into_iter().chain(["claude".to_owned()]).collect();
    names.into_iter().map(|name| Ok((name.clone(), agent(keys, &name, prices)?))).collect()
}

fn agent(keys: &SettingKeys, name: &str, prices: &Prices) -> Result<AgentSettings, SettingsError> {
    let key = |key: &str| format!("agents.{name}.{key}");
    let runtime = match keys.text(&key("runtime"))?.as_deref() {
        Some("claude") => RuntimeKind::Claude,
        Some("command") => RuntimeKind::Command,
        Some("api") => {
            let api = api::api(keys, name, prices)?;
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
        Some(_) | None => return Err(keys.wrong(&key("runtime"), "\"claude\", \"command\" or \"api\"")),
    };
    let of_api = ["provider", "base_url", "key_env", "max_output_tokens"];
    if let Some(other) = of_api.into_iter().find(|other| keys.has(&key(other))) {
        return Err(keys.wrong(&key(other), "left out: it is for the runtime `api` alone"));
    }
    let program = keys.command(&key("program"))?;
    let env = keys.list(&key("env"))?;
    let (program, env) = match &runtime {
        // Nothing named: what Claude Code itself looks for, which the runtime knows.
        RuntimeKind::Claude => {
            (program.unwrap_or_else(|| vec!["claude".to_owned()]), env.unwrap_or_default())
        }
        RuntimeKind::Command | RuntimeKind::Api(_) => {
            let needed = || keys.wrong(&key("program"), "given: the runtime `command` starts this program");
            (program.ok_or_else(needed)?, env.unwrap_or_default())
        }
    };
    if !env.iter().all(|name| VariableName::parse(name).is_ok()) {
        let expected = format!("a list of variables' names, none of which begins with {OWN_VARIABLES}");
        return Err(keys.wrong(&key("env"), expected));
    }
    let read: Vec<PathBuf> = keys.absolute_paths(&key("read"))?;
    let network = keys.list(&key("network"))?.unwrap_or_default();
    Ok(AgentSettings {
        name: name.to_owned(),
        runtime,
        model: keys.text(&key("model"))?,
        program,
        env,
        read,
        network,
    })
}

fn name(keys: &SettingKeys, key: &str, default: &str, most: usize) -> Result<String, SettingsError> {
    let name = keys.text(key)?.unwrap_or_else(|| default.to_owned());
    if name.chars().count() <= most && !name.chars().any(char::is_control) && name.trim() == name {
        Ok(name)
    } else {
        Err(keys.wrong(key, format!("a text of at most {most} characters, without spaces around it")))
    }
}
