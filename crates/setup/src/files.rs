//! The files that `setup` writes: settings, the App's key, variables. They are private to their user and written
//! atomically.

use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use aws_lc_rs::rand;
use journeyman_config::sqlite_url;
use journeyman_github::ConvertedApp;
use secrecy::{ExposeSecret, SecretString};
use toml_edit::{DocumentMut, Item, Table, value};

use crate::answers::AppAnswers;

/// The start of a new file.
const BEGINNING: &str =
    "# Made by `journeyman setup`, which may be run again. journeyman.example.toml has all settings.\n\n";
/// The file of variables beside the settings, unless they name another.
const VARIABLES: &str = "journeyman.env";
/// The default `github.api_url`, which need not be written.
const GITHUB: &str = "https://api.github.com/";

/// Saves the App: its key in a file beside the settings, the rest in the settings. Other settings are kept.
pub(crate) fn keep_app(
    settings: &Path,
    data: Option<&Path>,
    answers: &AppAnswers,
    app: &ConvertedApp,
) -> anyhow::Result<()> {
    let key = format!("{}.private-key.pem", file_name(&app.slug));
    // Write the key first: settings that name a missing file could not be read.
    write_private(&beside(settings, &key), app.pem.expose_secret())?;
    let is_new = !settings.exists();
    let mut document = read(settings)?;
    let github = section(&mut document, "github")?;
    // Remove values of another App or another GitHub.
    for stale in
        ["api_url", "webhook_secret", "webhook_secret_previous", "deliveries", "client_id", "client_secret"]
    {
        github.remove(stale);
    }
    if answers.api_url.as_str() != GITHUB {
        github["api_url"] = value(answers.api_url.as_str());
    }
    github["app_id"] = value(i64::try_from(app.id).context("the App's id is too large")?);
    github["private_key_path"] = value(key);
    match (&app.webhook_secret, &answers.public_url) {
        (Some(secret), _) => github["webhook_secret"] = value(secret.expose_secret()),
        (None, None) => {}
        (None, Some(_)) => anyhow::bail!("GitHub gave the App no webhook secret: make one on the App's page"),
    }
    github["client_id"] = value(app.client_id.as_str());
    github["client_secret"] = value(app.client_secret.expose_secret());
    if answers.public_url.is_none() {
        github["deliveries"] = value("pull");
    }
    let server = section(&mut document, "server")?;
    match &answers.public_url {
        Some(url) => server["public_url"] = value(url.as_str()),
        None => drop(server.remove("public_url")),
    }
    if !server.contains_key("api_token") {
        server["api_token"] = value(random_hex()?);
    }
    // Existing data stays where it is.
    let keeps_already = ["journeyman.db", "data"].iter().any(|name| beside(settings, name).exists())
        || ["store", "data"].iter().any(|name| document.contains_key(name));
    if let Some(data) = data.filter(|_| !keeps_already) {
        section(&mut document, "store")?["url"] = value(sqlite_url(&data.join("journeyman.db")));
        section(&mut document, "data")?["dir"] = value(data.to_string_lossy().as_ref());
    }
    let beginning = if is_new { BEGINNING } else { "" };
    write_private(settings, &format!("{beginning}{document}"))
}

/// Checks in advance whether an App can be saved, because GitHub shows its key only once.
pub(crate) fn check(settings: &Path) -> anyhow::Result<()> {
    let mut document = read(settings)?;
    for name in ["github", "server"] {
        section(&mut document, name)?;
    }
    let folder = folder_of(settings);
    let tried = || -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        let probe = tempfile::NamedTempFile::new_in(folder)?;
        let (from, to) = (probe.path().to_owned(), probe.path().with_extension("probe"));
        std::fs::rename(&from, &to)?;
        std::fs::remove_file(to)
    };
    tried().with_context(|| format!("cannot write in {}", folder.display()))
}

/// Saves a variable in the file of `server.environment_file`, and adds that setting if it is missing.
pub(crate) fn keep_variable(settings: &Path, name: &str, secret: &SecretString) -> anyhow::Result<()> {
    let mut document = read(settings)?;
    let server = section(&mut document, "server")?;
    let named = server.get("environment_file").and_then(Item::as_str).map(str::to_owned);
    let file = beside(settings, named.as_deref().unwrap_or(VARIABLES));
    let before = text_of(&file)?;
    let is_other = |line: &&str| line.split_once('=').is_none_or(|(known, _)| known.trim() != name);
    let mut lines: Vec<String> = before.lines().filter(is_other).map(str::to_owned).collect();
    lines.push(format!("{name}={}\n", secret.expose_secret()));
    write_private(&file, &lines.join("\n"))?;
    if named.is_none() {
        server["environment_file"] = value(VARIABLES);
        write_private(settings, &document.to_string())?;
    }
    Ok(())
}

/// A secret like that of `openssl rand -hex 32`.
pub(crate) fn random_hex() -> anyhow::Result<String> {
    let mut bytes = [0; 32];
    rand::fill(&mut bytes).map_err(|_| anyhow::anyhow!("this machine has no randomness"))?;
    Ok(hex::encode(bytes))
}

/// The file's text. Empty if the file is missing.
fn text_of(file: &Path) -> anyhow::Result<String> {
    match std::fs::read_to_string(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        read => read.with_context(|| format!("cannot read {}", file.display())),
    }
}

fn read(settings: &Path) -> anyhow::Result<DocumentMut> {
    let text = text_of(settings)?;
    // The parser's message would quote the line, which may contain a secret.
    text.parse().map_err(|_| anyhow::anyhow!("{} is no TOML: fix it, or move it away", settings.display()))
}

fn section<'a>(document: &'a mut DocumentMut, name: &str) -> anyhow::Result<&'a mut Table> {
    let section = document.entry(name).or_insert_with(|| Item::Table(Table::new()));
    section.as_table_mut().with_context(|| format!("{name} is no section of the settings: write [{name}]"))
}

/// A path from the settings, relative to their folder.
pub(crate) fn beside(settings: &Path, path: &str) -> PathBuf {
    settings.parent().map_or_else(|| PathBuf::from(path), |folder| folder.join(path))
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| *folder != Path::new("")).unwrap_or_else(|| Path::new("."))
}

fn file_name(slug: &str) -> String {
    slug.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect()
}

fn write_private(path: &Path, text: &str) -> anyhow::Result<()> {
    // Keep a symbolic link and write its target.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = folder_of(path);
    let written = || -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        // Keep the owner and group of the existing file: a service runs as its own user.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        if let Ok(before) = std::fs::metadata(path) {
            std::os::unix::fs::fchown(file.as_file(), Some(before.uid()), Some(before.gid()))?;
            // If everyone could read the old file, its mode was not chosen with care.
            let mode = if before.mode() & 0o007 == 0 { before.mode() & 0o770 } else { 0o600 };
            file.as_file().set_permissions(Permissions::from_mode(mode))?;
        }
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        std::fs::File::open(folder)?.sync_all()
    };
    written().with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app() -> ConvertedApp {
        serde_json::from_value(serde_json::json!({
            "id": 7, "slug": "journeyman-octo", "client_id": "Iv1.1", "client_secret": "fedcba9876543210",
            "webhook_secret": "0123456789abcdef", "pem": "PEM\n",
        }))
        .unwrap()
    }

    fn answers(public_url: &str) -> AppAnswers {
        let fields = [("name", "journeyman-octo"), ("public_url", public_url)];
        AppAnswers::parse(&fields.map(|(name, value)| (name.to_owned(), value.to_owned())).into()).unwrap()
    }

    #[test]
    fn settings_are_made_and_completed_and_what_a_person_wrote_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new/journeyman.toml");
        keep_app(&file, None, &answers(""), &app()).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let token = text.split("api_token = \"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(token.len(), 64);
        assert_eq!(
            text.replace(token, "TOKEN"),
            "# Made by `journeyman setup`, which may be run again. journeyman.example.toml has all settings.\n\n\
             [github]\napp_id = 7\nprivate_key_path = \"journeyman-octo.private-key.pem\"\n\
             webhook_secret = \"0123456789abcdef\"\nclient_id = \"Iv1.1\"\nclient_secret = \"fedcba9876543210\"\ndeliveries = \"pull\"\n\n[server]\napi_token = \"TOKEN\"\n"
        );
        let key = folder.path().join("new/journeyman-octo.private-key.pem");
        assert_eq!(std::fs::read_to_string(&key).unwrap(), "PEM\n");
        for file in [&file, &key] {
            assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
        }

        // A service's user reads the file through its group. Values of another App are removed.
        std::fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        std::fs::write(
            &file,
            "# Ours.\n[github]\napi_url = \"https://git.example.org/api/v3\"\nwebhook_secret_previous = \"of another\"\n[limits]\norder_usd = 2.0 # dollars\n[server]\napi_token = \"kept\"\n",
        )
        .unwrap();
        keep_app(&file, None, &answers("journeyman.example.org"), &app()).unwrap();
        keep_variable(&file, "ANTHROPIC_API_KEY", &"sk-1".into()).unwrap();
        keep_variable(&file, "OTHER", &"2".into()).unwrap();
        keep_variable(&file, "ANTHROPIC_API_KEY", &"sk-3".into()).unwrap();
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            "# Ours.\n[github]\napp_id = 7\nprivate_key_path = \"journeyman-octo.private-key.pem\"\n\
             webhook_secret = \"0123456789abcdef\"\nclient_id = \"Iv1.1\"\nclient_secret = \"fedcba9876543210\"\n[limits]\norder_usd = 2.0 # dollars\n[server]\n\
             api_token = \"kept\"\npublic_url = \"https://journeyman.example.org/\"\n\
             environment_file = \"journeyman.env\"\n"
        );
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        let variables = std::fs::read_to_string(folder.path().join("new/journeyman.env")).unwrap();
        assert_eq!(variables, "OTHER=2\nANTHROPIC_API_KEY=sk-3\n");
    }

    #[test]
    fn settings_without_data_keep_it_where_they_are_told_and_data_that_is_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let data = Path::new("/home/anna/share/x");
        let file = folder.path().join("journeyman.toml");
        keep_app(&file, Some(data), &answers(""), &app()).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let written = "[store]\nurl = \"sqlite:///home/anna/share/x/journeyman.db\"\n\n[data]\ndir = \"/home/anna/share/x\"\n";
        assert!(text.ends_with(written), "{text}");

        std::fs::write(&file, "[limits]\norder_usd = 2.0\n").unwrap();
        std::fs::write(folder.path().join("journeyman.db"), "").unwrap();
        keep_app(&file, Some(data), &answers(""), &app()).unwrap();
        assert!(!std::fs::read_to_string(&file).unwrap().contains("/home/anna"));
    }

    #[test]
    fn a_file_that_is_no_toml_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("journeyman.toml");
        std::fs::write(&file, "webhook_secret = secret").unwrap();
        let error = keep_app(&file, None, &answers(""), &app()).unwrap_err().to_string();
        assert!(error.ends_with("is no TOML: fix it, or move it away"), "{error}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "webhook_secret = secret");
    }
}
