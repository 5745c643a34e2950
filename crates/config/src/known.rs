//! Every setting in one place: key, kind with its bounds, default and description. Parsing, errors, the table in
//! docs/SETTINGS.md and `journeyman.example.toml` all come from here.
//!
//! A table of our own because errors of serde and toml repeat values, and know neither the environment nor bounds.

use super::kind::SettingKind;
use SettingDefault::{Depends, Is, Optional, Required};
use SettingKind::*;

/// One setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownSetting {
    /// Dotted. Capitals are a placeholder for a name.
    pub key: &'static str,
    pub kind: SettingKind,
    pub default: SettingDefault,
    /// One line of Markdown for a table, without `|`.
    pub about: &'static str,
}

/// The value if the setting is not given, written as in the environment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SettingDefault {
    Is(&'static str),
    /// No default, and the server does not start without it. Holds an example.
    Required(&'static str),
    /// No default. Holds an example.
    Optional(&'static str),
    /// The default depends on the first text. The second is an example.
    Depends(&'static str, &'static str),
}

type NameRule = fn(&str) -> bool;

/// The rule for the names that each placeholder accepts.
const NAMES: [(&str, NameRule); 3] =
    [("NAME", is_agent_name), ("\"MODEL\"", is_model), ("WHOSE", |name| WHOSE.contains(&name))];

/// Values of the placeholder `WHOSE`.
pub(super) const WHOSE: [&str; 3] = ["repository", "sender", "all"];

impl KnownSetting {
    /// Its key, with this name in place of the placeholder, if there is one.
    pub(super) fn key_of(&self, name: &str) -> String {
        self.parts()
            .map_or_else(|| self.key.to_owned(), |(before, after, _)| format!("{before}{name}{after}"))
    }

    /// The names that `key` could contain if this setting was meant. One empty name if the key has no placeholder.
    pub(super) fn names_in(&self, key: &str) -> Vec<String> {
        match self.parts() {
            None => vec![String::new()],
            Some(_) if self.key.contains("WHOSE") => WHOSE.map(str::to_owned).to_vec(),
            Some((before, _, is_name)) => {
                let name = key.strip_prefix(before).and_then(|rest| Some(rest.rsplit_once('.')?.0));
                name.filter(|name| is_name(name)).map(str::to_owned).into_iter().collect()
            }
        }
    }

    pub(super) fn is(&self, key: &str) -> bool {
        match self.parts() {
            None => self.key == key,
            Some((before, after, is_name)) => {
                let name = key.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
                name.is_some_and(is_name)
            }
        }
    }

    /// Whether its key is inside this table.
    pub(super) fn is_below(&self, table: &[&str]) -> bool {
        let parts: Vec<&str> = self.key.split('.').collect();
        let is_name = |part: &str| NAMES.iter().any(|(stands, _)| *stands == part);
        let leads = |(part, given): (&&str, &&str)| part == given || is_name(part);
        parts.len() > table.len() && parts.iter().zip(table).all(leads)
    }

    /// The default, or the example, as TOML.
    pub fn toml(&self) -> String {
        let (Is(text) | Required(text) | Optional(text) | Depends(_, text)) = self.default;
        self.kind.toml(text)
    }

    /// The parts of the key before and after its placeholder, and the rule for the name.
    fn parts(&self) -> Option<(&str, &str, NameRule)> {
        NAMES.iter().find_map(|(stands, is_name)| {
            let (before, after) = self.key.split_once(stands)?;
            Some((before, after, *is_name))
        })
    }
}

fn is_agent_name(name: &str) -> bool {
    (1..=40).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_'))
}

fn is_model(name: &str) -> bool {
    (1..=200).contains(&name.len()) && !name.chars().any(|c| c.is_control() || c.is_whitespace())
}

/// US dollars per million tokens. A larger number is a typo.
const PRICE: SettingKind = Price(100_000.0);

macro_rules! known {
    ($($name:ident: $key:literal, $kind:expr, $default:expr, $about:literal;)*) => {
        $(pub(super) const $name: KnownSetting =
            KnownSetting { key: $key, kind: $kind, default: $default, about: $about };)*

        /// Every setting, in reading order.
        pub const KNOWN_SETTINGS: &[KnownSetting] = &[$($name),*];
    };
}

known! {
    LISTEN: "server.listen", Address, Is("127.0.0.1:3000"),
        "the address to listen on; for access from outside, put a proxy with TLS in front";
    PUBLIC_URL: "server.public_url", Url, Optional("https://journeyman.example.org"),
        "the server's public address";
    DRAIN_SECONDS: "server.drain_seconds", Integer(0, 86_400), Is("0"),
        "seconds that running agents and tests get after SIGTERM, before they are stopped and run again at the next \
         start; set systemd's `TimeoutStopSec` to 20 more";
    API_TOKEN: "server.api_token", Secret(16), Optional("…"),
        "bearer token for the REST API, such as from `openssl rand -hex 32`; without it the API is closed";
    ENVIRONMENT_FILE: "server.environment_file", Text, Optional("journeyman.env"),
        "a file with lines `NAME=VALUE` for the environment, such as an agent's `ANTHROPIC_API_KEY`; readable only by \
         the server's user";

    API_URL: "github.api_url", Url, Is("https://api.github.com"),
        "for GitHub Enterprise Server `https://HOST/api/v3`";
    APP_ID: "github.app_id", Integer(1, u64::MAX / 2), Required("123456"),
        "from the App's page";
    PRIVATE_KEY_PATH: "github.private_key_path", Text, Required("app.pem"),
        "the private key from the App's page, readable only by the server's user; a systemd credential `app.pem` takes \
         precedence";
    WEBHOOK_SECRET: "github.webhook_secret", Secret(16), Required("the secret that you gave to GitHub"),
        "the webhook secret from the App's page; not needed with `deliveries = \"pull\"`";
    WEBHOOK_SECRET_PREVIOUS: "github.webhook_secret_previous", Secret(16), Optional("…"),
        "the previous secret, also accepted while you rotate it";
    CLIENT_ID: "github.client_id", Text, Optional("Iv23liAbCdEfGhIjKlMn"),
        "the App's client ID, for sign-in to the dashboard with GitHub; needs `server.public_url`, and \
         `SERVER/sign-in/github/back` as the App's callback URL";
    CLIENT_SECRET: "github.client_secret", Secret(16), Optional("…"),
        "a client secret from the App's page; with `client_id`";
    DELIVERIES: "github.deliveries", Choice(&["webhook", "pull"]), Is("webhook"),
        "`pull`: Journeyman polls GitHub every few seconds and needs no public address; the App's webhook stays active";

    SIGNING_KEY_FILE: "signing.key_file", Text, Optional("/etc/journeyman/signing"),
        "signs every published commit: a private key of ssh or gpg, without a passphrase, readable only by the server's \
         user";
    SIGNING_COMMITTER: "signing.committer", Text, Optional("Journeyman <journeyman@example.org>"),
        "the committer of signed commits: a verified address of the GitHub account that has the public key as a signing \
         key";

    STORE_URL: "store.url", Secret(1), Is("sqlite://journeyman.db"),
        "deliveries, orders and journals; for PostgreSQL `postgres://USER@HOST/DATABASE`";

    CA_FILE: "network.ca_file", Text, Optional("/etc/ssl/corporate-ca.pem"),
        "certificates in PEM that are trusted in addition to the system's";

    NOTIFICATIONS_URL: "notifications.url", Secret(1), Optional("https://chat.example.org/hooks/…"),
        "where to post a message when an order needs a person or is done; see docs/OPERATIONS.md";
    NOTIFICATIONS_SECRET: "notifications.secret", Secret(16), Optional("…"),
        "signs messages as GitHub signs its webhooks, in `X-Hub-Signature-256`";
    NOTIFICATIONS_FORMAT: "notifications.format", Choice(&["json", "slack"]), Is("json"),
        "`slack`: a text, for Slack's incoming webhooks and the like";

    DATA_DIR: "data.dir", Text, Is("data"),
        "mirrors, workspaces and artifacts, gigabytes for large repositories";
    DATA_KEEP_GIB: "data.keep_gib", Integer(0, 1_000_000), Is("50"),
        "GiB of environments and images; beyond that, the least recently used are deleted; `0`: none is kept unused";

    KEEP_ARTIFACTS: "retention.artifact_days", Integer(0, 100_000), Is("90"),
        "days to keep an order's artifacts after it came to rest; `0`: forever; see docs/OPERATIONS.md";
    KEEP_JOURNALS: "retention.journal_days", Integer(0, 100_000), Is("365"),
        "the same for its journal, receipt and costs; always kept while its pull request is open";

    LABEL: "defaults.label", Name(50), Is("journeyman"),
        "the label that starts an order";
    AGENT: "defaults.agent", Name(40), Is("claude"),
        "the agent for roles without another";
    PIPELINE: "defaults.pipeline", Name(200), Is("issue-to-pr"),
        "a pipeline's name or its file; see docs/PIPELINES.md";

    TEMPLATES_DIR: "templates.dir", Text, Optional("/etc/journeyman/templates"),
        "a folder with `pipelines/*.yaml`, `agents/*.yaml` and `commands/*.md` that replace built-in ones by name";

    CONCURRENT_ORDERS: "limits.concurrent_orders", Integer(1, 256), Is("4"),
        "orders that run at the same time";
    ORDER_MINUTES: "limits.order_minutes", Integer(1, 10_080), Is("60"),
        "minutes for one order, from its first agent run or the first after its last `/retry`, without time spent \
         waiting for people or GitHub";
    ORDER_USD: "limits.order_usd", Amount(10_000.0), Is("5.0"),
        "dollars for one order";
    ORDER_RUNS: "limits.order_runs", Integer(1, 10_000), Is("60"),
        "agent runs for one order; a repository may set lower limits than these three";
    TEST_SECONDS: "limits.test_seconds", Integer(1, 86_400), Is("600"),
        "seconds for one test run";
    SETUP_SECONDS: "limits.setup_seconds", Integer(1, 86_400), Is("600"),
        "seconds for installing what the tests need";
    DAY_USD: "limits.per_day.WHOSE.usd", Amount(1_000_000.0), Optional("100"),
        "dollars per day (UTC): for each `repository`, for each person who asks (`sender`), or for `all` together";
    DAY_MINUTES: "limits.per_day.WHOSE.minutes", Integer(1, 1_000_000), Optional("300"),
        "the same for working minutes of agents";
    DAY_RUNS: "limits.per_day.WHOSE.runs", Integer(1, 1_000_000), Optional("200"),
        "the same for agent runs";

    SANDBOX_MODE: "sandbox.mode", Choice(&["bubblewrap", "none"]), Is("bubblewrap"),
        "`none` runs agents and tests without a sandbox, with your user's rights";
    SANDBOX_READ: "sandbox.read", Paths, Is(""),
        "more folders that agents and tests may read; absolute paths";
    SANDBOX_MEMORY: "sandbox.memory_mib", Integer(64, 1 << 24), Is("8192"),
        "MiB of memory for one job, including its temporary files";
    SANDBOX_DISK: "sandbox.disk_mib", Integer(64, 1 << 30), Is("32768"),
        "MiB in a job's writable folders, including existing content";
    SETUP_NETWORK: "sandbox.setup_network", List, Is("registries"),
        "hosts that a `setup` may reach over HTTPS: names, `registries` for the public ones of its package managers, \
         `*` for any public host, `registry.corp at 10.0.0.0/8` for one in your own network";
    SETUP_NETWORK_FOR_CHANGES: "sandbox.setup_network_for_changes", Truth, Is("false"),
        "whether `setup_network` also holds for a change that edits manifests, lockfiles or install scripts";
    TEST_NETWORK: "sandbox.test_network", List, Is(""),
        "hosts that tests may reach, if their repository also lists them in `network`";
    HOST_REGISTRIES: "sandbox.host_registries", Truth, Is("true"),
        "whether a `setup` uses the index addresses of this machine's own pip, npm and cargo";

    REGISTRY_KIND: "registries.NAME.kind", Choice(&["pip", "npm", "cargo", "go", "maven"]), Optional("pip"),
        "`pip` (a simple index, for uv too), `npm` (for pnpm, yarn and bun too), `cargo` (a sparse index), `go` (a \
         module proxy) or `maven` (for Gradle too)";
    REGISTRY_URL: "registries.NAME.url", Url, Optional("https://packages.example.org/pypi/simple/"),
        "its address; `http` only on loopback, at private addresses and with `at`";
    REGISTRY_MIRROR: "registries.NAME.mirror", Truth, Is("false"),
        "whether it replaces the public registry of its kind";
    REGISTRY_SCOPES: "registries.NAME.scopes", List, Is(""),
        "what comes from it: for `npm` scopes (`@example`), for `go` patterns of modules without public checksums \
         (`go.example.org/*`), for `maven` what it mirrors (`central`)";
    REGISTRY_USER: "registries.NAME.user", Text, Optional("ci"),
        "the user of the password in `key_env` or `key_file`; without it that is a token";
    REGISTRY_KEY_ENV: "registries.NAME.key_env", Text, Optional("EXAMPLE_REGISTRY_TOKEN"),
        "the *name* of the environment variable with the password or token";
    REGISTRY_KEY_FILE: "registries.NAME.key_file", Text, Optional("/etc/journeyman/registry.token"),
        "a file with the password or token, instead of a variable";
    REGISTRY_AT: "registries.NAME.at", Text, Optional("10.0.0.0/8"),
        "the network of its private addresses; if unset, any private address is accepted";

    RUNTIME: "agents.NAME.runtime", Choice(&["claude", "command", "api"]), Depends("for `claude`: `claude`", "claude"),
        "`claude`, `command` for any program, or `api` for a model's HTTP API";
    PROGRAM: "agents.NAME.program", Command, Depends("for `claude`: `[\"claude\"]`", "claude"),
        "the program and its first arguments: a name, or a path relative to the settings' file";
    MODEL: "agents.NAME.model", Text, Optional("claude-sonnet-5-5"),
        "the model to ask for";
    ENV: "agents.NAME.env", List, Is(""),
        "names of environment variables that the agent gets from Journeyman's; values of those that look like secrets \
         are removed from everything that is kept or published";
    RESUMES: "agents.NAME.resumes", Truth, Is("false"),
        "for `command`: whether it continues the conversation that `JOURNEYMAN_SESSION` names; see docs/YOUR_AGENT.md";
    READ: "agents.NAME.read", Paths, Is(""),
        "more folders that its sandbox may read; absolute paths";
    NETWORK: "agents.NAME.network", List, Is(""),
        "hosts that it may reach besides its model's service: `docs.example.org`, `*.example.org`, `registry.corp at \
         10.0.0.0/8`";
    PROVIDER: "agents.NAME.provider", Choice(&["anthropic", "openai"]), Optional("anthropic"),
        "for `api`: `anthropic` (Messages) or `openai` (chat completions)";
    BASE_URL: "agents.NAME.base_url", Url, Depends("the provider's", "https://api.anthropic.com"),
        "for `api`: the service's address; `http` only on loopback and private addresses";
    KEY_ENV: "agents.NAME.key_env", Text, Depends("the provider's", "ANTHROPIC_API_KEY"),
        "for `api`: the *name* of the environment variable with the key; no default with a `base_url`";
    MAX_OUTPUT_TOKENS: "agents.NAME.max_output_tokens", Integer(1, 10_000_000), Is("32000"),
        "for `api`: the most tokens of one answer";

    PRICE_INPUT: "prices.\"MODEL\".input", PRICE, Depends("built in", "2.0"),
        "for `api`: dollars per million tokens read; in the file only, not in the environment";
    PRICE_OUTPUT: "prices.\"MODEL\".output", PRICE, Depends("built in", "10.0"),
        "the same for tokens written";
    PRICE_CACHE_READ: "prices.\"MODEL\".cache_read", PRICE, Depends("as `input`", "0.1"),
        "the same for tokens read from a cache";
    PRICE_CACHE_WRITE: "prices.\"MODEL\".cache_write", PRICE, Depends("as `input`", "2.5"),
        "the same for tokens written to a cache";
}

/// Removed keys, each with its replacement.
const FORMER_SETTINGS: [(&str, &str); 20] = [
    (
        "github.private_key_env",
        "name a file in `github.private_key_path`, or pass systemd's credential `app.pem`",
    ),
    ("github.write_interval_ms", GITHUBS_LIMITS),
    ("github.writes_per_minute", GITHUBS_LIMITS),
    ("github.writes_per_hour", GITHUBS_LIMITS),
    ("signing.format", "the key in `signing.key_file` says whether `ssh-keygen` or `gpg` signs"),
    ("signing.key_env", "write the key to a file and name it in `signing.key_file`"),
    ("network.proxy", "set HTTPS_PROXY in the environment or in the file of `server.environment_file`"),
    ("network.no_proxy", "set NO_PROXY in the environment or in the file of `server.environment_file`"),
    (
        "telemetry.otlp_endpoint",
        "set OTEL_EXPORTER_OTLP_ENDPOINT in the environment or in the file of `server.environment_file`",
    ),
    (
        "telemetry.otlp_headers",
        "set OTEL_EXPORTER_OTLP_HEADERS in the environment or in the file of `server.environment_file`",
    ),
    (
        "data.cache_dir",
        "environments and images are kept in `data.dir`: delete this line, and the folder that it names",
    ),
    ("retention.delivery_days", "the bodies of handled deliveries are kept for 14 days"),
    ("retention.order_days", "the folder of an order is kept for 30 days after it came to rest"),
    ("limits.retry_renews", "`/retry` always grants the order's limits again"),
    ("limits.gather_seconds", "Journeyman waits 20 seconds for further comments, reviews and CI results"),
    (
        "limits.mutant_seconds",
        "mutants get 120 seconds, or less with `prove.mutants` in a repository's settings",
    ),
    ("sandbox.processes", "the limit is 4096 processes and threads"),
    ("sandbox.file_mib", "the limit is 8192 MiB for a file"),
    ("sandbox.open_files", "the limit is 16384 open files for a process"),
    (
        "agents.NAME.secrets",
        "a variable in `env` is a secret if its name (such as `MY_TOKEN`) or its value looks like one",
    ),
];

const GITHUBS_LIMITS: &str =
    "Journeyman keeps to GitHub's limits: a write per second, 80 per minute, 500 per hour";

/// The replacement for a removed key.
pub(super) fn replacement_of(key: &str) -> Option<&'static str> {
    let is_it = |former: &'static str| {
        KnownSetting { key: former, kind: Text, default: Optional(""), about: "" }.is(key)
    };
    FORMER_SETTINGS.iter().find(|former| is_it(former.0)).map(|former| former.1)
}
