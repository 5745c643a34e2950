use std::path::{Path, PathBuf};
use std::time::Duration;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use base64::Engine;
use proptest::prelude::*;
use secrecy::ExposeSecret;

use super::*;
use journeyman_order::{BudgetLimits, OutgoingNetwork, RepositorySettings};

/// A folder with an App's key and the minimal settings for `serve`.
pub(super) struct SettingsFixture {
    pub(super) folder: tempfile::TempDir,
}

impl SettingsFixture {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let der: Pkcs8V1Der<'_> = key.as_der().unwrap();
        let base64 = base64::engine::general_purpose::STANDARD.encode(der.as_ref());
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{base64}\n-----END PRIVATE KEY-----\n");
        std::fs::write(folder.path().join("app.pem"), pem).unwrap();
        set_mode(&folder.path().join("app.pem"), 0o640);
        Self { folder }
    }

    pub(super) fn key(&self) -> PathBuf {
        self.folder.path().join("app.pem")
    }

    pub(super) fn least(&self) -> String {
        format!(
            "[github]\napp_id = 7\nprivate_key_path = \"{}\"\nwebhook_secret = \"s3cret-of-the-webhook\"\n",
            self.key().display()
        )
    }

    /// Loads the minimal settings followed by these.
    pub(super) fn load(&self, more: &str, env: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        self.load_whole(&format!("{}{more}", self.least()), env)
    }

    pub(super) fn load_whole(&self, toml: &str, env: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        let file = self.folder.path().join("journeyman.toml");
        std::fs::write(&file, toml).unwrap();
        Settings::load(Some(&file), variables(env))
    }
}

fn variables(env: &[(&str, &str)]) -> impl Iterator<Item = (String, String)> {
    env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Vec<_>>().into_iter()
}

pub(super) fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn the_least_that_is_needed_gets_every_default() {
    let home = SettingsFixture::new();
    let settings = home.load("", &[]).unwrap();
    assert_eq!(settings.server.listen.to_string(), "127.0.0.1:3000");
    assert!(settings.server.api_token.is_none() && settings.server.public_url.is_none());
    assert_eq!(settings.github.api_url.as_str(), "https://api.github.com/");
    assert_eq!((settings.github.app_id, settings.github.webhook_secrets.len()), (7, 1));
    assert_eq!(settings.github.writes, WriteLimits::GITHUB);
    let database = sqlite_url(&home.folder.path().join("journeyman.db"));
    assert_eq!(settings.store.url.expose_secret(), database);
    assert_eq!(settings.data.dir, home.folder.path().join("data"));
    let days = |days: u64| Duration::from_secs(days * 86_400);
    let RetentionSettings { deliveries, artifacts, orders, journals } = settings.retention;
    assert_eq!((deliveries, artifacts), (days(14), Some(days(90))));
    assert_eq!((orders, journals), (days(30), Some(days(365))));
    let DefaultSettings { label, agent, pipeline } = &settings.defaults;
    assert_eq!((label.as_str(), agent.as_str(), pipeline.as_str()), ("journeyman", "claude", "issue-to-pr"));
    let limits = LimitSettings {
        concurrent_orders: 4,
        order: OrderLimits { minutes: 60, usd: 5.0, runs: 60, gather_seconds: 20 },
        per_day: DayLimits::default(),
    };
    assert_eq!(settings.limits, limits);
    let testing = TestingSettings {
        setup_time: Duration::from_secs(600),
        test_time: Duration::from_secs(600),
        mutant_time: Duration::from_secs(120),
        setup_network: vec!["registries".to_owned()],
        setup_network_for_changes: false,
        test_network: Vec::new(),
        keep: 50 << 30,
        registries: Vec::new(),
        outgoing: OutgoingNetwork::default(),
    };
    assert_eq!(settings.testing, testing);
    let SandboxSettings { mode, read, limits, host_registries } = &settings.sandbox;
    assert_eq!((*mode, read.len(), *limits), (IsolationMode::Bubblewrap, 0, JobLimits::default()));
    assert!(host_registries);
    let claude = AgentSettings {
        name: "claude".to_owned(),
        runtime: RuntimeKind::Claude,
        program: vec!["claude".to_owned()],
        ..AgentSettings::default()
    };
    assert_eq!(settings.agents, BTreeMap::from([("claude".to_owned(), claude)]));
}

#[test]
fn every_key_can_be_written_in_the_file() {
    let home = SettingsFixture::new();
    let toml = "webhook_secret_previous = \"the-one-before-this\"\napi_url = \"http://127.0.0.1:9/api/v3\"\n\
        [server]\nlisten = \"0.0.0.0:80\"\npublic_url = \"https://bot.example.org\"\n\
        api_token = \"0123456789abcdef\"\n\
        [store]\nurl = \"postgres://anna:pw@db/journeyman\"\n[data]\ndir = \"/var/lib/journeyman\"\nkeep_gib = 3\n\
        [retention]\nartifact_days = 0\njournal_days = 2\n\
        [defaults]\nlabel = \"do it\"\nagent = \"scripted\"\npipeline = \"mine\"\n\
        [limits]\nconcurrent_orders = 2\norder_minutes = 1_0\norder_usd = 3\ntest_seconds = 0x10\n\
        setup_seconds = 5\norder_runs = 30\n\
        [limits.per_day]\nrepository = { usd = 20, minutes = 300, runs = 100 }\nsender.usd = 7.5\n\
        [limits.per_day.all]\nruns = 1_000\n[sandbox]\nmode = \"none\"\nread = [\"/opt\"]\n\
        memory_mib = 1_024\ndisk_mib = 2_048\n\
        [agents.scripted]\nruntime = \"command\"\nprogram = [\"/bin/agent\", \"--fast\"]\nenv = [\"KEY\"]\n\
        resumes = true\nread = [\"/srv\"]\nmodel = \"m\"\n[agents.claude]\nruntime = \"claude\"\nmodel = \"opus\"\n";
    let settings = home.load(toml, &[]).unwrap();
    let secrets: Vec<&str> = settings.github.webhook_secrets.iter().map(|s| s.expose_secret()).collect();
    assert_eq!(secrets, ["s3cret-of-the-webhook", "the-one-before-this"]);
    assert_eq!(settings.github.api_url.as_str(), "http://127.0.0.1:9/api/v3");
    assert_eq!(settings.github.writes, WriteLimits::NONE);
    let day = Duration::from_secs(86_400);
    let RetentionSettings { artifacts, journals, .. } = settings.retention;
    assert_eq!((artifacts, journals), (None, Some(2 * day)));
    let limits = settings.limits;
    let order = OrderLimits { minutes: 10, usd: 3.0, runs: 30, gather_seconds: 20 };
    assert_eq!((limits.order, settings.testing.test_time.as_secs()), (order, 16));
    let per_day = DayLimits {
        repository: BudgetLimits { usd: Some(20.0), minutes: Some(300), runs: Some(100) },
        sender: BudgetLimits { usd: Some(7.5), ..BudgetLimits::default() },
        all: BudgetLimits { runs: Some(1_000), ..BudgetLimits::default() },
    };
    assert_eq!(limits.per_day, per_day);
    assert_eq!((settings.sandbox.mode, settings.sandbox.read.len()), (IsolationMode::None, 1));
    let job = JobLimits { memory: 1 << 30, disk: 2 << 30, ..JobLimits::default() };
    assert_eq!((settings.sandbox.limits, settings.testing.keep), (job, 3 << 30));
    let scripted = AgentSettings {
        name: "scripted".to_owned(),
        runtime: RuntimeKind::Command,
        model: Some("m".to_owned()),
        program: vec!["/bin/agent".to_owned(), "--fast".to_owned()],
        env: vec!["KEY".to_owned()],
        resumes: true,
        read: vec!["/srv".into()],
        ..AgentSettings::default()
    };
    assert_eq!(settings.agents["scripted"], scripted);
    assert_eq!(settings.agents["claude"].model.as_deref(), Some("opus"));
}

#[test]
fn the_environment_goes_over_the_file_and_can_stand_alone() {
    let home = SettingsFixture::new();
    let key = home.key();
    let key = key.to_str().unwrap();
    let env = [
        ("JOURNEYMAN_GITHUB__APP_ID", "8"),
        ("JOURNEYMAN_GITHUB__PRIVATE_KEY_PATH", key),
        ("JOURNEYMAN_GITHUB__WEBHOOK_SECRET", "other-secret-of-the-webhook"),
        ("JOURNEYMAN_LIMITS__ORDER_USD", "0.5"),
        ("JOURNEYMAN_SANDBOX__HOST_REGISTRIES", "false"),
        ("JOURNEYMAN_LIMITS__ORDER_RUNS", "7"),
        ("JOURNEYMAN_LIMITS__PER_DAY__SENDER__MINUTES", "90"),
        ("JOURNEYMAN_SANDBOX__READ", "/opt, /srv"),
        ("JOURNEYMAN_AGENTS__CODE_REVIEWER__RUNTIME", "command"),
        ("JOURNEYMAN_AGENTS__CODE_REVIEWER__PROGRAM", "/bin/agent 'two words'"),
        ("JOURNEYMAN_STAGE", "not a setting"),
        ("PATH", "/bin"),
    ];
    for settings in [home.load("", &env).unwrap(), Settings::load(None, variables(&env)).unwrap()] {
        assert_eq!(settings.github.app_id, 8);
        assert_eq!(settings.github.webhook_secrets[0].expose_secret(), "other-secret-of-the-webhook");
        let OrderLimits { usd, runs, .. } = settings.limits.order;
        assert_eq!((usd, runs, settings.sandbox.host_registries), (0.5, 7, false));
        assert_eq!(settings.limits.per_day.sender.minutes, Some(90));
        assert_eq!(settings.sandbox.read, [Path::new("/opt"), Path::new("/srv")]);
        assert_eq!(settings.agents["code_reviewer"].program, ["/bin/agent", "two words"]);
    }
    // A variable cannot contain a `-`, so it matches the file's agent that differs only in that.
    let file = "[agents.code-reviewer]\nruntime = \"claude\"\n";
    let settings = home.load(file, &env).unwrap();
    assert_eq!(settings.agents["code-reviewer"].runtime, RuntimeKind::Command);
    assert!(!settings.agents.contains_key("code_reviewer"));
}

fn api(key: &str) -> String {
    format!("[agents.x]\nruntime = \"api\"\nprovider = \"anthropic\"\nmodel = \"m\"\n{key}\n")
}

fn api_settings(settings: &Settings, agent: &str) -> ApiSettings {
    match &settings.agents[agent].runtime {
        RuntimeKind::Api(api) => (**api).clone(),
        RuntimeKind::Claude | RuntimeKind::Command => panic!("{agent} is on no API"),
    }
}

#[test]
fn an_agent_on_an_api_needs_a_provider_and_a_model() {
    let home = SettingsFixture::new();
    let settings = home.load(&api(""), &[]).unwrap();
    let anthropic = ApiSettings {
        provider: Provider::Anthropic,
        base_url: "https://api.anthropic.com".parse().unwrap(),
        model: "m".to_owned(),
        key_env: Some("ANTHROPIC_API_KEY".to_owned()),
        max_output_tokens: 32_000,
        prices: Prices::default(),
    };
    assert_eq!(api_settings(&settings, "x"), anthropic);
    assert_eq!(settings.agents["x"].model.as_deref(), Some("m"));
    let env = [
        ("JOURNEYMAN_AGENTS__O__RUNTIME", "api"),
        ("JOURNEYMAN_AGENTS__O__PROVIDER", "openai"),
        ("JOURNEYMAN_AGENTS__O__MODEL", "n"),
        ("JOURNEYMAN_AGENTS__O__MAX_OUTPUT_TOKENS", "100"),
    ];
    let openai = api_settings(&home.load("", &env).unwrap(), "o");
    assert_eq!((openai.provider, openai.base_url.as_str()), (Provider::OpenAi, "https://api.openai.com/v1"));
    assert_eq!((openai.key_env.as_deref(), openai.max_output_tokens), (Some("OPENAI_API_KEY"), 100));
    for (url, key) in [
        ("http://127.0.0.1:8080/v1", ""),
        ("http://[::1]:8080", ""),
        ("http://192.168.1.2", ""),
        ("http://10.0.0.1", "key_env = \"MY_KEY\""),
        ("http://[fd00::1]", ""),
        ("http://localhost:11434/v1", ""),
        ("http://ollama:11434/v1", ""),
        ("http://models.internal", ""),
        ("https://models.example.org/v1", "key_env = \"MY_KEY\""),
    ] {
        let own = home.load(&api(&format!("base_url = \"{url}\"\n{key}")), &[]).unwrap();
        let expected = (!key.is_empty()).then_some("MY_KEY");
        assert_eq!(
            api_settings(&own, "x").key_env.as_deref(),
            expected,
            "elsewhere no key is a matter of course"
        );
    }
}

#[test]
fn what_models_cost_can_be_said() {
    let home = SettingsFixture::new();
    let toml = "[prices.\"gpt-4.1\"]\ninput = 2\noutput = 8.5\ncache_read = 0.5\ncache_write = 0\n\
                [prices.\"me/Qwen3:30b\"]\ninput = 0\noutput = 0.0\n";
    let prices = home.load(toml, &[]).unwrap().prices;
    let gpt = Price { input: 2.0, output: 8.5, cache_read: 0.5, cache_write: 0.0 };
    let own = Price { input: 0.0, output: 0.0, cache_read: 0.0, cache_write: 0.0 };
    assert_eq!(prices, BTreeMap::from([("gpt-4.1".to_owned(), gpt), ("me/Qwen3:30b".to_owned(), own)]));
    let toml = "[prices.m]\ninput = 3\noutput = 4\n";
    let price = home.load(toml, &[]).unwrap().prices["m"];
    assert_eq!((price.cache_read, price.cache_write), (3.0, 3.0), "rather too much than too little");
    let error = home.load("", &[("JOURNEYMAN_PRICES__M__INPUT", "1")]).unwrap_err().to_string();
    assert!(error.contains("JOURNEYMAN_PRICES__M__INPUT"), "{error}");
}

#[test]
fn with_nothing_at_all_it_says_what_to_write() {
    let error = Settings::load(None, std::iter::empty()).unwrap_err().to_string();
    for part in [
        "github.app_id", "github.private_key_path", "github.webhook_secret", "journeyman.toml",
        "JOURNEYMAN_GITHUB__APP_ID",
    ] {
        assert!(error.contains(part), "{error}");
    }
    let home = SettingsFixture::new();
    let some = home.load_whole("[github]\napp_id = 1\n", &[]).unwrap_err();
    let SettingsError::Missing { keys } = some else { panic!("{some:?}") };
    assert_eq!(keys, ["github.private_key_path", "github.webhook_secret"]);
    let none = Settings::load(Some(&home.folder.path().join("none.toml")), std::iter::empty()).unwrap_err();
    assert!(matches!(none, SettingsError::File { .. }) && none.to_string().contains("none.toml"), "{none}");
}

#[test]
fn whoever_pulls_deliveries_needs_no_webhook_secret() {
    let home = SettingsFixture::new();
    let key = home.key().display().to_string();
    let github = |more: &str| format!("[github]\napp_id = 7\nprivate_key_path = {key:?}\n{more}");
    let settings = home.load_whole(&github("deliveries = \"pull\"\n"), &[]).unwrap();
    assert!(settings.github.webhook_secrets.is_empty());
    let both = github("deliveries = \"pull\"\nwebhook_secret = \"s3cret-of-the-webhook\"\n");
    assert_eq!(home.load_whole(&both, &[]).unwrap().github.webhook_secrets.len(), 1);
    let error = home.load_whole(&github("deliveries = \"webhook\"\n"), &[]).unwrap_err();
    let SettingsError::Missing { keys } = error else { panic!("{error:?}") };
    assert_eq!(keys, ["github.webhook_secret"]);
}

#[test]
fn whoever_brings_a_github_needs_none_in_the_file() {
    let home = SettingsFixture::new();
    let github = home.load("", &[]).unwrap().github;
    let settings = Settings::load_beside(github, None, std::iter::empty()).unwrap();
    assert_eq!(settings.github.app_id, 7);
}

#[test]
fn an_unknown_key_is_refused_and_the_nearest_is_named() {
    let home = SettingsFixture::new();
    for (toml, key, line, nearest) in [
        ("[limits]\norder_minute = 1\n", "limits.order_minute", 6, Some("limits.order_minutes")),
        ("[server]\nwebhook_secret = \"x\"\n", "server.webhook_secret", 6, Some("github.webhook_secret")),
        ("[sever]\nlisten = \"x\"\n", "sever.listen", 6, Some("server.listen")),
        ("[agents.a]\nruntme = \"claude\"\n", "agents.a.runtme", 6, Some("agents.a.runtime")),
        ("[agents.\"A b\"]\nruntime = \"claude\"\n", "agents.A b.runtime", 6, None),
        ("[completely]\ndifferent = 1\n", "completely.different", 6, None),
        ("[agents]\nclaude = 1\n", "agents.claude", 6, None),
        ("[agents.a]\nbase_ur = 1\n", "agents.a.base_ur", 6, Some("agents.a.base_url")),
        ("[prices.\"gpt-4.1\"]\ninputs = 1\n", "prices.gpt-4.1.inputs", 6, Some("prices.gpt-4.1.input")),
        ("[prices]\ninput = 1\n", "prices.input", 6, None),
    ] {
        let error = home.load(toml, &[]).unwrap_err();
        let SettingsError::Unknown { key: found, place, nearest: near } = &error else { panic!("{error:?}") };
        assert_eq!(found, key);
        assert!(place.ends_with(&format!("journeyman.toml, line {line}")), "{place}");
        if nearest.is_some() {
            assert_eq!(near.as_deref(), nearest, "{error}");
        }
    }
    let error = home.load("", &[("JOURNEYMAN_STORE__URI", "x")]).unwrap_err().to_string();
    assert!(error.contains("JOURNEYMAN_STORE__URI") && error.contains("`store.url`"), "{error}");
}

#[test]
fn a_key_of_an_earlier_version_says_what_holds_now() {
    let home = SettingsFixture::new();
    for (toml, words) in [
        (
            "[sandbox]\nprocesses = 9\n",
            "line 6: `sandbox.processes` is no longer a setting: the limit is 4096 processes and threads",
        ),
        ("[telemetry]\notlp_endpoint = \"c4nary\"\n", "set OTEL_EXPORTER_OTLP_ENDPOINT in the environment"),
        ("[agents.a-b]\nsecrets = [\"c4nary\"]\n", "`agents.a-b.secrets` is no longer a setting: "),
    ] {
        let error = home.load(toml, &[]).unwrap_err().to_string();
        assert!(error.contains(words) && !error.contains("c4nary"), "{error}");
    }
}

#[test]
fn a_value_that_cannot_be_used_is_named_by_key_and_line_and_never_repeated() {
    let home = SettingsFixture::new();
    for (toml, key) in [
        ("[server]\nlisten = \"c4nary\"\n", "server.listen"),
        ("[server]\nlisten = 3000\n", "server.listen"),
        ("[server]\npublic_url = \"ftp://c4nary\"\n", "server.public_url"),
        ("[server]\npublic_url = \"https://a:c4nary@b\"\n", "server.public_url"),
        ("[server]\napi_token = \"c4nary\"\n", "server.api_token"),
        ("[server]\napi_token = [\"c4nary\"]\n", "server.api_token"),
        ("[server]\napi_token = {c4nary = 1}\n", "server.api_token"),
        ("[store]\nurl = \"mysql://c4nary\"\n", "store.url"),
        ("[store]\nurl = \"\"\n", "store.url"),
        ("[defaults]\nagent = \"c4nary\"\n", "defaults.agent"),
        ("[defaults]\nlabel = \" c4nary\"\n", "defaults.label"),
        ("[limits]\norder_usd = 0\n", "limits.order_usd"),
        ("[limits]\norder_usd = nan\n", "limits.order_usd"),
        ("[limits]\norder_usd = inf\n", "limits.order_usd"),
        ("[limits]\norder_runs = 0\n", "limits.order_runs"),
        ("[limits]\ntest_seconds = 86401\n", "limits.test_seconds"),
        ("[sandbox]\nhost_registries = \"c4nary\"\n", "sandbox.host_registries"),
        ("[sandbox]\nhost_registries = 1\n", "sandbox.host_registries"),
        ("[limits]\norder_usd = true\n", "limits.order_usd"),
        ("[limits.per_day]\nrepository.usd = 0\n", "limits.per_day.repository.usd"),
        ("[limits.per_day]\nsender = { minutes = 1.5 }\n", "limits.per_day.sender.minutes"),
        ("[limits.per_day.all]\nruns = \"c4nary\"\n", "limits.per_day.all.runs"),
        ("[limits]\nconcurrent_orders = 0\n", "limits.concurrent_orders"),
        ("[limits]\nconcurrent_orders = -1\n", "limits.concurrent_orders"),
        ("[limits]\ntest_seconds = 1.5\n", "limits.test_seconds"),
        ("[sandbox]\nmode = \"c4nary\"\n", "sandbox.mode"),
        ("[sandbox]\nread = [\"c4nary\"]\n", "sandbox.read"),
        ("[sandbox]\nread = [1]\n", "sandbox.read"),
        ("[agents.x]\nruntime = \"c4nary\"\n", "agents.x.runtime"),
        ("[agents.x]\nmodel = \"c4nary\"\n", "agents.x.runtime"),
        ("[agents.x]\nruntime = \"command\"\n", "agents.x.program"),
        ("[agents.x]\nruntime = \"command\"\nprogram = []\n", "agents.x.program"),
        ("[agents.x]\nruntime = \"claude\"\nenv = [\"A=c4nary\"]\n", "agents.x.env"),
        ("[agents.x]\nruntime = \"claude\"\nkey_env = \"c4nary\"\n", "agents.x.key_env"),
        ("[agents.x]\nruntime = \"api\"\nmodel = \"c4nary\"\n", "agents.x.provider"),
        ("[agents.x]\nruntime = \"api\"\nprovider = \"c4nary\"\n", "agents.x.provider"),
        ("[agents.x]\nruntime = \"api\"\nprovider = \"openai\"\n", "agents.x.model"),
        (&api("key_env = \"gsk_c4nary\""), "agents.x.key_env"),
        (&api("key_env = \"JOURNEYMAN_SERVER__API_TOKEN\""), "agents.x.key_env"),
        (&api("base_url = \"http://c4nary.example.org\""), "agents.x.base_url"),
        (&api("base_url = \"http://8.8.8.8/c4nary\""), "agents.x.base_url"),
        (&api("base_url = \"https://a:c4nary@b\""), "agents.x.base_url"),
        (&api("base_url = \"https://b/?key=c4nary\""), "agents.x.base_url"),
        (&api("max_output_tokens = 0"), "agents.x.max_output_tokens"),
        (&api("program = [\"c4nary\"]"), "agents.x.program"),
        (&api("env = [\"A\"]"), "agents.x.env"),
        ("[prices.m]\ninput = 1\n", "prices.m.output"),
        ("[prices.m]\ninput = -1\noutput = 1\n", "prices.m.input"),
        ("[prices.m]\ninput = nan\noutput = 1\n", "prices.m.input"),
        ("[prices.m]\ninput = 1\noutput = \"c4nary\"\n", "prices.m.output"),
        ("[agents.x]\nruntime = \"claude\"\nenv = [\"JOURNEYMAN_GITHUB__WEBHOOK_SECRET\"]\n", "agents.x.env"),
    ] {
        let error = home.load(toml, &[]).unwrap_err();
        let text = error.to_string();
        let SettingsError::Value { key: found, place, .. } = error else { panic!("{toml}: {text}") };
        assert_eq!(found, key, "{text}");
        assert!(place.contains("journeyman.toml, line ") || place == "not set", "{text}");
        assert!(!text.contains("c4nary"), "{text}");
    }
    let podman = home.load("[sandbox]\nmode = \"podman\"\n", &[]).unwrap_err().to_string();
    assert!(podman.contains("sandbox.mode") && podman.contains("podman is no longer supported"), "{podman}");
    let api_url = format!("{}api_url = \"http://github.example.org\"\n", home.least());
    let error = home.load_whole(&api_url, &[]).unwrap_err().to_string();
    assert!(error.contains("line 5") && error.contains("github.api_url"), "{error}");
}

#[test]
fn no_setting_repeats_a_value_of_another_kind() {
    let home = SettingsFixture::new();
    let path = format!("{:?}", home.key());
    let least = [
        ("github.app_id", "7"),
        ("github.private_key_path", path.as_str()),
        ("github.webhook_secret", "\"s3cret-of-the-webhook\""),
    ];
    for known in KNOWN_SETTINGS {
        let key = known.key.replace("NAME", "claude").replace("WHOSE", "all");
        let others = least.iter().filter(|(other, _)| *other != key);
        let mut toml: String = others.map(|(other, value)| format!("{other} = {value}\n")).collect();
        toml += &format!("{key} = {{ c4nary = 1 }}\n");
        let error = home.load_whole(&toml, &[]).unwrap_err();
        assert!(matches!(error, SettingsError::Value { .. }), "{error}");
        assert!(!error.to_string().contains("c4nary"), "{error}");
    }
}

#[test]
fn toml_that_is_broken_is_said_with_its_line_and_without_its_text() {
    let home = SettingsFixture::new();
    let error = home.load("[server]\napi_token = \"c4nary\n", &[]).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, SettingsError::Toml { line: 6, .. }), "{error:?}");
    assert!(!text.contains("c4nary"), "{text}");
    let twice = home.load("[github]\napp_id = 2\n", &[]).unwrap_err();
    assert!(matches!(twice, SettingsError::Toml { .. }), "{twice:?}");
}

#[test]
fn printed_settings_hold_no_secret() {
    let home = SettingsFixture::new();
    let toml = "webhook_secret_previous = \"c4nary-and-more-before\"\n[server]\napi_token = \"c4nary-0123456789\"\n\
                [store]\nurl = \"postgres://anna:c4nary@db/x\"\n";
    let printed = format!("{:?}", home.load(toml, &[]).unwrap());
    for secret in ["c4nary", "s3cret", "PRIVATE KEY"] {
        assert!(!printed.contains(secret), "{printed}");
    }
}

#[test]
fn a_repository_names_its_image_services_and_variables() {
    let yaml = "image: python:3.12-slim\nenv: { DEBUG: 1, URL: postgres://db/x }\nservices:\n  db: { image: \"postgres:16\", \
                env: { POSTGRES_PASSWORD: x }, ready: pg_isready }\n  redis-1: { image: ghcr.io/o/redis }\n";
    let settings = repository_settings(yaml.as_bytes()).unwrap();
    assert_eq!(settings.image.as_deref(), Some("python:3.12-slim"));
    assert_eq!((settings.env["DEBUG"].as_str(), settings.env["URL"].as_str()), ("1", "postgres://db/x"));
    assert_eq!(settings.services["db"].ready.as_deref(), Some("pg_isready"));
    assert_eq!(settings.services["redis-1"].image, "ghcr.io/o/redis");
    let digest = "a".repeat(64);
    for (image, is_one) in [
        ("python", true),
        ("library/python", true),
        ("localhost/x", true),
        ("localhost:5000/x", true),
        ("registry.example.org:443/a/b__c/d:v1.0_x", true),
        (&format!("python@sha256:{digest}"), true),
        (&format!("python:3@sha256:{digest}"), true),
        ("Python", false),
        ("py thon", false),
        ("python:", false),
        ("python:a/b", false),
        ("python@sha256:abc", false),
        ("python@md5:abc", false),
        ("https://ghcr.io/o/n", false),
        ("ghcr.io/", false),
        ("ghcr.io:port/x", false),
        ("a//b", false),
        ("../x", false),
        ("-x", false),
        ("", false),
    ] {
        let read = repository_settings(format!("image: '{image}'\n").as_bytes());
        assert_eq!(read.is_ok(), is_one, "{image}: {read:?}");
    }
}

#[test]
fn a_repository_that_says_it_wrong_hears_where() {
    for (yaml, part) in [
        ("test: [a, b]\n", "line 1"),
        ("test: 'unclosed\n", "line "),
        ("- a\n- b\n", "line 1"),
        ("test: ''\n", "`test`"),
        ("setup: ' '\n", "`setup`"),
        ("label: ''\n", "`label`"),
        ("pipeline: ../x\n", "`pipeline`"),
        ("image: 'a b'\n", "`image` has to be an OCI image"),
        ("env: { A-B: x }\n", "`env`"),
        ("env: { PATH: x }\n", "neither PATH nor HOME"),
        ("env: [a]\n", "line 1"),
        ("services: { Db: { image: x } }\n", "`services` has to be"),
        ("services: { a_b: { image: x } }\n", "`services` has to be"),
        ("services: { localhost: { image: x } }\n", "`services` has to be"),
        ("services: { db: { image: '' } }\n", "`services.db.image`"),
        ("services: { db: { image: x, env: { 1A: x } } }\n", "`services.db.env`"),
        ("services: { db: { image: x, ready: ' ' } }\n", "`services.db.ready`"),
        ("services: { db: { } }\n", "image"),
        ("services: { db: { image: x, ports: [1] } }\n", "ports"),
        ("report: ../x.xml\n", "`report`"),
        ("report: /etc/passwd\n", "`report`"),
        ("protected: ['a[']\n", "`protected`"),
        ("agents: { developer: '' }\n", "`agents`"),
        ("budget: { usd: 0 }\n", "`budget.usd`"),
        ("budget: { usd: .nan }\n", "`budget.usd`"),
        ("budget: { minutes: 0 }\n", "`budget.minutes`"),
        ("budget: { minutes: -1 }\n", "line 1"),
        ("budget: { runs: 0 }\n", "`budget.runs`"),
        ("budget: { runs: 1.5 }\n", "line 1"),
        (
            "when_base_moves: force\n",
            "`when_base_moves`: \"force\" is not known, one of merge, rebase, leave is expected",
        ),
        ("ci: { rerun: often }\n", "line 1: `ci.rerun`"),
        ("ci: always\n", "line 1: `ci`"),
        ("answer_outsiders: 1\n", "line 1: `answer_outsiders`"),
        ("verify: some\n", "line 1: `verify`"),
        ("verify: { by: some }\n", "line 1: `verify"),
        ("verify: { reviews: true }\n", "line 1: `verify"),
    ] {
        let error = repository_settings(yaml.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(part), "{yaml:?}: {error}");
        assert!(error.contains(".github/journeyman.yml") && error.lines().count() == 1, "{error}");
    }
    let nothing =
        "label:\ntest: null\nenv: ~\nservices:\nbudget: { usd: null }\nci: { rerun: }\nplan: null\n";
    assert_eq!(repository_settings(nothing.as_bytes()).unwrap().plan, RepositorySettings::default().plan);
    assert_eq!(repository_settings(nothing.as_bytes()).unwrap().ci, RepositorySettings::default().ci);
    assert!(repository_settings(&[b'#'; 65_537]).unwrap_err().to_string().contains("65537"));
    assert!(repository_settings(b"test: \xff\n").unwrap_err().to_string().contains("UTF-8"));
    let bomb =
        "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b]\n";
    assert!(repository_settings(bomb.as_bytes()).is_err());
    assert!(repository_settings("[".repeat(60_000).as_bytes()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_file_of_a_repository_has_an_answer(yaml in "(test|setup|budget|agents|protected|[a-z]): \\PC{0,30}\n{0,2}") {
        let _ = repository_settings(yaml.as_bytes());
    }

    #[test]
    fn any_variable_has_an_answer(name in "[A-Z_a-z\\PC]{0,20}", value in "\\PC{0,20}") {
        let name = format!("JOURNEYMAN_{name}");
        let _ = Settings::load(None, std::iter::once((name, value)));
    }
}
