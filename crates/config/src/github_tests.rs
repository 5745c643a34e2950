//! The App's key and secret, and where paths in a file begin.

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
    for secret in ["x", "replace-me", "the secret that you gave to GitHub"] {
        let error = home.load("", &[("JOURNEYMAN_GITHUB__WEBHOOK_SECRET", secret)]).unwrap_err().to_string();
        assert!(
            error.contains("`github.webhook_secret`") && error.contains("openssl rand -hex 32"),
            "{error}"
        );
    }
}

#[test]
fn paths_in_the_file_begin_at_the_file_and_others_at_the_working_folder() {
    let home = SettingsFixture::new();
    let folder = home.folder.path();
    std::fs::write(folder.join("ca.pem"), "-----BEGIN CERTIFICATE-----\n").unwrap();
    let least = home.least().replace(&home.key().display().to_string(), "app.pem");
    let toml = format!(
        "{least}[store]\nurl = \"sqlite://here.db?mode=rwc\"\n[data]\ndir = \"kept\"\n[templates]\ndir = \"mine\"\n\
         [network]\nca_file = \"ca.pem\"\n[defaults]\npipeline = \"mine/p.yaml\"\n"
    );
    let settings = home.load_whole(&toml, &[]).unwrap();
    assert_eq!(settings.data.dir, folder.join("kept"));
    assert_eq!(settings.templates.dir, Some(folder.join("mine")));
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
