//! The App's key and secret, and how relative paths in a file are resolved.

use std::path::Path;

use aws_lc_rs::rsa::{KeyPair, KeySize};
use base64::Engine;
use secrecy::ExposeSecret;

use super::tests::{SettingsFixture, set_mode};

#[test]
fn a_key_file_has_to_hold_an_rsa_key() {
    let home = SettingsFixture::new();
    for content in [None, Some(""), Some("c4nary"), Some("-----BEGIN PRIVATE KEY-----\nc4nary\n")] {
        match content {
            None => std::fs::remove_file(home.key()).unwrap(),
            Some(content) => std::fs::write(home.key(), content).unwrap(),
        }
        let error = home.load("", &[]).unwrap_err().to_string();
        assert!(error.contains("github.private_key_path") && error.contains("app.pem"), "{error}");
        assert!(!error.contains("c4nary"), "{error}");
    }
}

#[test]
fn what_cannot_be_the_apps_key_or_secret_is_refused_with_what_to_do() {
    let home = SettingsFixture::new();
    let pem = std::fs::read_to_string(home.key()).unwrap();
    let key = KeyPair::generate(KeySize::Rsa2048).unwrap();
    let public = aws_lc_rs::signature::KeyPair::public_key(&key).as_ref().to_vec();
    let base64 = base64::engine::general_purpose::STANDARD.encode(public);
    let public = format!("-----BEGIN RSA PUBLIC KEY-----\n{base64}\n-----END RSA PUBLIC KEY-----\n");
    let certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_owned();
    let cases = [
        (&public, 0o600, "app.pem holds a public key: generate a private key on the App's page"),
        (&certificate, 0o600, "app.pem holds a certificate: generate a private key on the App's page"),
        (&pem, 0o644, "app.pem; `chmod 600 "),
    ];
    for (content, mode, words) in cases {
        std::fs::write(home.key(), content).unwrap();
        set_mode(&home.key(), mode);
        let error = home.load("", &[]).unwrap_err().to_string();
        assert!(error.contains("`github.private_key_path`") && error.contains(words), "{error}");
    }
    set_mode(&home.key(), 0o600);
    std::fs::write(home.key(), b"\x30\x82\xff\xfe").unwrap();
    let error = home.load("", &[]).unwrap_err().to_string();
    assert!(error.contains("RSA in PEM form; ") && error.contains("app.pem is not: generate"), "{error}");
}

#[test]
fn a_secret_that_can_be_guessed_is_refused_wherever_it_stands() {
    let home = SettingsFixture::new();
    for (variable, key) in [
        ("JOURNEYMAN_GITHUB__WEBHOOK_SECRET", "`github.webhook_secret`"),
        ("JOURNEYMAN_GITHUB__WEBHOOK_SECRET_PREVIOUS", "`github.webhook_secret_previous`"),
        ("JOURNEYMAN_SERVER__API_TOKEN", "`server.api_token`"),
    ] {
        for secret in [
            "x",
            "replace-me",
            "Replace me, please!",
            "CHANGE_ME_CHANGE_ME",
            "xxxxxxxxxxxxxxxxxxxx",
            "1234512345123451",
            "the secret that you gave to GitHub",
        ] {
            let error = home.load("", &[(variable, secret)]).unwrap_err().to_string();
            assert!(error.contains(key) && error.contains("openssl rand -hex 32"), "{secret}: {error}");
        }
        let made = "5f0c2a9be1d84c7d3c1f0e9a5b7d6e21";
        assert!(home.load("", &[(variable, made)]).is_ok(), "{variable}");
    }
}

#[test]
fn the_address_of_githubs_pages_is_not_its_apis() {
    let home = SettingsFixture::new();
    for url in ["https://github.com", "https://www.github.com/acme", "https://GitHub.com/api/v3"] {
        let error = home.load("", &[("JOURNEYMAN_GITHUB__API_URL", url)]).unwrap_err().to_string();
        assert!(
            error.contains("`github.api_url` has to be the address of GitHub's API, https://api.github.com"),
            "{error}"
        );
    }
    for url in ["https://api.github.com", "https://github.example.org/api/v3", "https://api.acme.ghe.com"] {
        assert!(home.load("", &[("JOURNEYMAN_GITHUB__API_URL", url)]).is_ok(), "{url}");
    }
}

#[test]
fn the_apps_key_is_where_no_agent_can_read_it() {
    let home = SettingsFixture::new();
    for table in ["[sandbox]", "[agents.claude]"] {
        let read = format!("{table}\nread = [\"{}\"]\n", home.folder.path().display());
        let error = home.load(&read, &[]).unwrap_err().to_string();
        let expected = "`github.private_key_path` has to be a file outside of the folders that agents and tests may read";
        assert!(error.contains(expected), "{error}");
    }
    // With the key elsewhere, the settings file itself remains, and it contains the webhook secret.
    let elsewhere = SettingsFixture::new().folder;
    let key = elsewhere.path().join("app.pem");
    std::fs::rename(home.key(), &key).unwrap();
    let read = format!("[sandbox]\nread = [\"{}\"]\n", home.folder.path().display());
    let variables = [("JOURNEYMAN_GITHUB__PRIVATE_KEY_PATH", key.to_str().unwrap())];
    let error = home.load(&read, &variables).unwrap_err().to_string();
    let expected =
        "`github.webhook_secret` has to be outside of the folders that agents and tests may read (`read`)";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn the_apps_key_is_from_a_credential_of_systemd_as_well() {
    let home = SettingsFixture::new();
    let nameless = "[github]\napp_id = 7\nwebhook_secret = \"s3cret-of-the-webhook\"\n";
    let credentials = tempfile::tempdir().unwrap();
    let folder = [("CREDENTIALS_DIRECTORY", credentials.path().to_str().unwrap())];
    let missing = home.load_whole(nameless, &folder).unwrap_err().to_string();
    assert!(missing.starts_with("missing settings: github.private_key_path."), "{missing}");
    let other = SettingsFixture::new();
    std::fs::rename(other.key(), credentials.path().join("app.pem")).unwrap();
    let handed = std::fs::read_to_string(credentials.path().join("app.pem")).unwrap();
    // The unit's credential overrides the file in the settings.
    for toml in [nameless, &home.least()] {
        let settings = home.load_whole(toml, &folder).unwrap();
        assert_eq!(settings.github.private_key.expose_secret(), handed);
    }
    std::fs::write(credentials.path().join("app.pem"), "c4nary").unwrap();
    let error = home.load_whole(nameless, &folder).unwrap_err().to_string();
    assert!(
        error.starts_with("systemd's credential app.pem: `github.private_key_path` has to be the App's"),
        "{error}"
    );
    assert!(!error.contains("c4nary"), "{error}");
}

/// A work tree could contain a program of that name.
#[test]
fn a_program_that_is_named_by_a_path_begins_at_the_file_and_never_at_a_work_tree() {
    let home = SettingsFixture::new();
    let folder = home.folder.path();
    let program = |path: &str| {
        format!("[agents.worker]\nruntime = \"command\"\nprogram = [{path:?}, \"./argument\"]\n")
    };
    for (named, stands) in [
        ("./agent.sh", folder.join("agent.sh")),
        ("bin/agent", folder.join("bin/agent")),
        ("/opt/agent", "/opt/agent".into()),
        ("agent", "agent".into()),
    ] {
        let settings = home.load(&program(named), &[]).unwrap();
        assert_eq!(settings.agents["worker"].program, [stands.to_str().unwrap(), "./argument"]);
    }
    let variable = [("JOURNEYMAN_AGENTS__CLAUDE__PROGRAM", "./claude --fast")];
    let error = home.load("", &variable).unwrap_err().to_string();
    assert!(
        error.contains("`agents.claude.program` has to be a program's name or its absolute path"),
        "{error}"
    );
}

#[test]
fn paths_in_the_file_begin_at_the_file_and_others_at_the_working_folder() {
    let home = SettingsFixture::new();
    let folder = home.folder.path();
    std::fs::write(folder.join("ca.pem"), "-----BEGIN CERTIFICATE-----\n").unwrap();
    let least = home.least().replace(&home.key().display().to_string(), "app.pem");
    let toml = format!(
        "{least}[store]\nurl = \"sqlite://here.db?mode=rwc\"\n[data]\ndir = \"kept\"\n[templates]\ndir = \"mine\"\n\
         [network]\nca_file = \"ca.pem\"\n[defaults]\npipeline = \"mine/p.yaml\"\n\
         [signing]\nkey_file = \"signing\"\ncommitter = \"A <a@b.example>\"\n"
    );
    std::fs::write(folder.join("signing"), "s3cret-key\n").unwrap();
    set_mode(&folder.join("signing"), 0o600);
    let settings = home.load_whole(&toml, &[]).unwrap();
    assert_eq!(settings.data.dir, folder.join("kept"));
    assert_eq!(settings.signing.unwrap().key.expose_secret(), "s3cret-key\n");
    assert_eq!(settings.templates, Some(folder.join("mine")));
    assert_eq!(settings.defaults.pipeline, folder.join("mine/p.yaml").display().to_string());
    let url = settings.store.url.expose_secret();
    assert_eq!(*url, format!("sqlite://{}/here.db?mode=rwc", folder.display()));
    for url in ["sqlite::memory:", "sqlite:///var/x.db", "postgres://anna@db/x"] {
        let settings = home.load(&format!("[store]\nurl = {url:?}\n"), &[]).unwrap();
        assert_eq!(settings.store.url.expose_secret(), url);
    }
    let settings = home.load("", &[("JOURNEYMAN_DATA__DIR", "elsewhere")]).unwrap();
    assert_eq!(settings.data.dir, Path::new("elsewhere"));
}
