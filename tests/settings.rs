//! docs/SETTINGS.md and `journeyman.example.toml` must list exactly the settings that the program knows. With
//! `JOURNEYMAN_UPDATE_DOCS=1` set, both are regenerated.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use journeyman::config::{
    DeliveryMode, GithubSettings, KNOWN_SETTINGS, KnownSetting, SettingDefault, Settings,
};
use journeyman::order::WriteLimits;

const PAGE: &str = "docs/SETTINGS.md";

/// A table of the example: its section, the text above, its header, and which settings it shows.
type ExampleTable = (&'static str, &'static str, &'static str, fn(&KnownSetting) -> bool);

/// Tables that only the example has. Any other section has a table of its name.
const TABLES: [ExampleTable; 7] = [
    (
        "defaults",
        "Defaults for repositories. A repository's .github/journeyman.yml overrides them.",
        "[defaults]",
        |_| true,
    ),
    (
        "limits.per_day.WHOSE",
        "Limits per day, here for the whole server. A limit that is not set does not apply; by default none is set. In the \
         environment: JOURNEYMAN_LIMITS__PER_DAY__REPOSITORY__USD.",
        "# [limits.per_day.all]",
        |_| true,
    ),
    (
        "registries.NAME",
        "Registries of packages that setups get packages from. Their credentials never enter a sandbox: Journeyman adds \
         them outside.",
        "# [registries.example]",
        |_| true,
    ),
    (
        "agents.NAME",
        "Agents. Pipelines and repositories refer to them by name. The agent `claude` exists without any settings. Unless \
         `env` names others, it gets ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, ANTHROPIC_AUTH_TOKEN and \
         CLAUDE_CODE_OAUTH_TOKEN.",
        "[agents.claude]",
        |known| !is_of_api(known) && known.key != RESUMES,
    ),
    (
        "agents.NAME",
        "Any program. It gets the prompt on stdin, and JOURNEYMAN_STAGE, JOURNEYMAN_ROLE, JOURNEYMAN_AGENT and \
         JOURNEYMAN_ROUND in its environment. Its stdout is stream-json in Claude Code's format, or plain text that is the \
         result. See docs/YOUR_AGENT.md.",
        "# [agents.mine]\n# runtime = \"command\"\n# program = [\"/usr/local/bin/my-agent\", \"--quiet\"]",
        |known| known.key == RESUMES,
    ),
    (
        "agents.NAME",
        "A model's HTTP API, called by Journeyman itself: text in, text out, no tools. It does not use program, env and \
         read.",
        "# [agents.engineer]\n# runtime = \"api\"",
        |known| is_of_api(known) || known.key == "agents.NAME.model",
    ),
    (
        "prices.\"MODEL\"",
        "Prices for agents on an API. They override the built-in ones, which the providers published in autumn 2026 \
         (crates/agent/src/api/prices.rs).",
        "# [prices.\"claude-sonnet-5-5\"]",
        |_| true,
    ),
];

const RESUMES: &str = "agents.NAME.resumes";

fn is_of_api(known: &KnownSetting) -> bool {
    known.about.starts_with("for `api`")
}

fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A row of the page's table.
fn row(known: &KnownSetting) -> String {
    let default = match known.default {
        SettingDefault::Is(_) => format!("`{}` ", known.toml().trim_matches('"')),
        SettingDefault::Required(_) | SettingDefault::Optional(_) => String::new(),
        SettingDefault::Depends(on, _) => format!("{on} "),
    };
    format!("| `{}` | {default}| {} |", known.key, known.about)
}

fn comment(text: &str) -> String {
    let mut lines = vec!["#".to_owned()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("one at least");
        if line.chars().count() + word.chars().count() >= 120 {
            lines.push(format!("# {word}"));
        } else {
            *line += &format!(" {word}");
        }
    }
    lines.join("\n")
}

/// A setting in the example's form.
fn entry(known: &KnownSetting) -> String {
    let mut about = known.about.to_owned();
    if about.as_bytes()[0].is_ascii_lowercase() {
        about[..1].make_ascii_uppercase();
    }
    let (sign, default) = match known.default {
        SettingDefault::Is(_) => ("# ", String::new()),
        SettingDefault::Required(_) => ("", String::new()),
        SettingDefault::Optional(_) => ("# ", " No default.".to_owned()),
        SettingDefault::Depends(on, _) => ("# ", format!(" Default: {on}.")),
    };
    let key = known.key.rsplit('.').next().unwrap_or_default();
    format!("{}\n{sign}{key} = {}", comment(&format!("{about}.{default}")), known.toml())
}

fn table(header: String, section: &str, shows: fn(&KnownSetting) -> bool) -> String {
    let entries = KNOWN_SETTINGS.iter().filter(|known| section_of(known) == section && shows(known));
    std::iter::once(header).chain(entries.map(entry)).collect::<Vec<_>>().join("\n")
}

fn section_of(known: &KnownSetting) -> &str {
    known.key.rsplit_once('.').expect("each key has a section").0
}

fn example() -> String {
    let first = comment(
        "All settings. Copy this file to journeyman.toml and keep what you change. Commented-out values are the defaults, \
         or examples where it says \"No default\". Values that are not commented out must be set.",
    );
    let second = comment(
        "An environment variable JOURNEYMAN_SECTION__KEY overrides the file. For example, \
         JOURNEYMAN_GITHUB__WEBHOOK_SECRET keeps the secret out of this file.",
    );
    let mut all = vec![format!("{first}\n#\n{second}")];
    let mut sections: Vec<&str> = KNOWN_SETTINGS.iter().map(section_of).collect();
    sections.dedup();
    for section in sections {
        let own: Vec<&ExampleTable> = TABLES.iter().filter(|(of, ..)| *of == section).collect();
        if own.is_empty() {
            all.push(table(format!("[{section}]"), section, |_| true));
        }
        for (_, above, header, shows) in own {
            all.push(table(format!("{}\n{header}", comment(above)), section, *shows));
        }
    }
    all.join("\n\n") + "\n"
}

/// The page with the current table.
fn page() -> String {
    let before = file(PAGE);
    let is_of_table = |line: &&str| line.starts_with('|');
    let head = "| key | default | what it is |";
    let begins = before.lines().position(|line| line == head).expect("the settings' table");
    let after = begins + before.lines().skip(begins).take_while(is_of_table).count();
    let rows =
        [head.to_owned(), "|---|---|---|".to_owned()].into_iter().chain(KNOWN_SETTINGS.iter().map(row));
    let lines = before.lines().take(begins).map(str::to_owned).chain(rows);
    lines.chain(before.lines().skip(after).map(str::to_owned)).map(|line| line + "\n").collect()
}

#[test]
fn the_page_and_the_example_say_what_the_program_knows() {
    for (path, text) in [(PAGE, page()), ("journeyman.example.toml", example())] {
        if std::env::var_os("JOURNEYMAN_UPDATE_DOCS").is_some() {
            fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(path), &text).expect("it can be written");
        }
        let is_current = file(path) == text;
        assert!(
            is_current,
            "{path} differs from crates/config/src/known.rs: run with JOURNEYMAN_UPDATE_DOCS=1"
        );
    }
}

/// What the example sets, and what it shows commented out: `# key = value` and `# [table]`.
fn with_defaults(example: &str) -> String {
    let is_setting = |line: &str| {
        let key = line.split(" = ").next().unwrap_or_default();
        let names_a_key = line.contains(" = ") && key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        names_a_key || line.starts_with('[')
    };
    let uncommented = |line: &str| match line.strip_prefix("# ") {
        Some(setting) if is_setting(setting) => setting.to_owned(),
        _ => line.to_owned(),
    };
    example.lines().map(uncommented).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_example_settings_are_taken_as_they_are_and_with_every_key_uncommented() {
    let example = file("journeyman.example.toml");
    let everything = with_defaults(&example).replace('…', "long enough to be a secret");
    let all: toml::Table = toml::from_str(&everything).expect("uncommented it is TOML as well");
    assert!(all["limits"].as_table().is_some_and(|limits| limits.len() == 7), "comments were not read");
    let folder = tempfile::tempdir().expect("a temporary folder");
    // The files and variables it names must exist, and a credential is set in one place only.
    let authority = folder.path().join("ca.pem");
    fs::write(&authority, "-----BEGIN CERTIFICATE-----\n").expect("a file");
    let variables = folder.path().join("journeyman.env");
    fs::write(&variables, "A=1\n").expect("a file");
    fs::set_permissions(&variables, fs::Permissions::from_mode(0o600)).expect("its mode");
    let everything = everything.replace("/etc/ssl/corporate-ca.pem", &authority.display().to_string());
    let everything = everything.replace("/etc/journeyman/signing", &variables.display().to_string());
    let everything = everything.replace("key_file = \"/etc/journeyman/registry.token\"\n", "");
    for text in [&example, &everything] {
        let path = folder.path().join("journeyman.toml");
        fs::write(&path, text).expect("a file");
        // `[github]` names a key file that only GitHub provides, so check its keys without loading it.
        let github = GithubSettings {
            api_url: "https://api.github.com".parse().expect("a URL"),
            app_id: 1,
            private_key: String::new().into(),
            deliveries: DeliveryMode::Webhook,
            webhook_secrets: Vec::new(),
            writes: WriteLimits::NONE,
            client: None,
        };
        let variables = [("EXAMPLE_REGISTRY_TOKEN".to_owned(), "a key".to_owned())];
        let settings = Settings::load_beside(github, Some(&path), variables.into_iter());
        settings.unwrap_or_else(|error| panic!("journeyman.example.toml: {error}"));
    }
}
