//! `journeyman doctor`, run as the real program on a simulated machine.

use std::path::Path;
use std::process::Command;

use journeyman::emulator::{DeliveryResult, Emulator, EmulatorOptions, RepositorySource, keys};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::reality::write_private;

#[test]
fn doctor_shows_what_was_taken_from_where_and_no_secret() {
    let home = tempfile::tempdir().expect("a folder");
    let pip = home.path().join(".config/pip");
    std::fs::create_dir_all(&pip).expect("a folder");
    let index = "https://ada:hunter2-secret@pypi.corp.example/simple";
    std::fs::write(pip.join("pip.conf"), format!("[global]\nindex-url = {index}\n")).expect("a file");
    std::fs::write(home.path().join(".npmrc"), "registry=http://npm.corp.example/\n").expect("a file");
    let settings = home.path().join("journeyman.toml");
    let toml = "[registries.own]\nkind = \"cargo\"\nurl = \"https://cargo.corp.example/index/\"\n\
                key_env = \"OWN_TOKEN\"\n[sandbox]\nmode = \"none\"\n\
                [defaults]\nagent = \"mine\"\n[agents.mine]\nruntime = \"command\"\nprogram = [\"/bin/true\"]\n";
    std::fs::write(&settings, toml).expect("a file");
    let told = |more: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_journeyman"));
        command.args(["doctor", "--config"]).arg(&settings).env_clear();
        command.env("HOME", home.path()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let done =
            command.env("OWN_TOKEN", "hunter2-token").envs(more.iter().copied()).output().expect("it runs");
        let text = [done.stdout, done.stderr].concat();
        (done.status.code(), String::from_utf8(text).expect("text"))
    };
    let (code, text) = told(&[("HTTPS_PROXY", "http://ada:hunter2-proxy@proxy.corp.example:3128")]);
    assert_eq!(code, Some(0), "{text}");
    for words in [
        "ok    git: git version 2",
        "ok    images: skopeo and umoci are installed",
        "ok    agents.mine: it can be started or asked; roles that were given no other work with it",
        "[github] is not set: what `serve` needs was not looked at",
        "warn  sandbox.mode: none: ",
        "warn  data.dir: no overlays can be mounted there without a sandbox: ",
        "ok    registries.own: cargo: https://cargo.corp.example/index/, with a token",
        "pip.conf: pip: https://pypi.corp.example/simple, in place of the public one, with a name and a password",
        ".npmrc: not taken: its address has to be https://HOST/PATH",
        "HTTPS_PROXY: HTTPS goes through http://proxy.corp.example:3128/, with a password",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("hunter2"), "{text}");
    let (code, text) = told(&[("JOURNEYMAN_REGISTRIES__OWN__URL", "http://cargo.corp.example/")]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("FIX   registries: registries.own.url: its address has to be"), "{text}");
    assert_eq!(told(&[("HTTPS_PROXY", "socks5://x")]).0, Some(2));
}

/// The output of `doctor --json`, and the exit code.
fn asked(folder: &Path, environment: &[(&str, &str)]) -> (Option<i32>, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_journeyman"));
    command.args(["doctor", "--json", "--config"]).arg(folder.join("journeyman.toml")).env_clear();
    command.env("HOME", folder).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let done = command.envs(environment.iter().copied()).output().expect("it runs");
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let said = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error}: {text} {}", String::from_utf8_lossy(&done.stderr)));
    (done.status.code(), said)
}

fn about<'a>(said: &'a Value, key: &str) -> (&'a str, bool) {
    let findings = said["findings"].as_array().expect("findings");
    let found = findings.iter().find(|finding| finding["about"] == key && finding["ok"] == false);
    let found = found.or_else(|| findings.iter().rfind(|finding| finding["about"] == key));
    let found = found.unwrap_or_else(|| panic!("nothing about {key}: {said:#}"));
    (found["text"].as_str().expect("a text"), found["ok"] == true)
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_looks_at_what_a_server_needs_and_names_what_has_to_be_mended() {
    let folder = tempfile::tempdir().expect("a folder");
    let keys = keys::generate().expect("keys");
    let options = EmulatorOptions::local(7, keys.public_pem.clone(), SecretString::from("not asked for"));
    let github = Emulator::start(options).await.expect("GitHub, emulated");
    github.remove_permission("statuses");
    write_private(&folder.path().join("app.pem"), keys.private_pem.expose_secret());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let settings = |agent: &str| {
        format!(
            "[server]\nlisten = \"127.0.0.1:0\"\n[github]\napi_url = \"{}\"\napp_id = 7\n\
             private_key_path = \"app.pem\"\nwebhook_secret = \"the-secret-of-this-story\"\n\
             [store]\nurl = \"sqlite://kept/journeyman.db\"\n[data]\ndir = \"kept/data\"\n[sandbox]\nmode = \"none\"\n\
             [defaults]\nagent = \"mine\"\n[agents.mine]\nruntime = \"command\"\nprogram = [{agent:?}]\n",
            github.api_url()
        )
    };
    write_private(&folder.path().join("journeyman.toml"), &settings("/bin/true"));
    let home = folder.path();

    let (code, said) = tokio::task::block_in_place(|| asked(home, &[]));

    assert_eq!((code, &said["ok"], &said["server"]), (Some(1), &false.into(), &true.into()), "{said:#}");
    let words = "lacks the permissions statuses: read: add them on its page on GitHub";
    assert!(about(&said, "github").0.contains(words), "{said:#}");
    assert!(about(&said, "webhook").0.starts_with("the App has no webhook: set its address"), "{said:#}");
    assert_eq!(about(&said, "clock"), ("it agrees with GitHub's", true), "{said:#}");
    for (key, words) in [
        ("store.url", "journeyman.db will be created"),
        ("data.dir", " GiB are free"),
        ("server.listen", "127.0.0.1:0 is free"),
        ("agents.mine", "it can be started"),
    ] {
        let (text, is_good) = about(&said, key);
        // Free space depends on this machine.
        assert!((is_good || key == "data.dir") && text.contains(words), "{key}: {said:#}");
    }
    assert!(!home.join("kept").exists(), "it looks, and makes nothing");

    // The webhook goes nowhere; then its address is fixed; then Journeyman polls and needs no webhook.
    github.set_webhook_url("http://127.0.0.1:9/webhook");
    github.create_repository("octo/sums", RepositorySource::Files(Default::default())).await.expect("one");
    for title in ["One", "Two", "Three"] {
        github.open_issue("octo/sums", "mona", title, "It is off by one.").await.expect("an issue");
    }
    let failed = || github.deliveries().iter().all(|one| matches!(one.outcome, DeliveryResult::Failed(_)));
    while !failed() {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let public = ("JOURNEYMAN_SERVER__PUBLIC_URL", "http://127.0.0.1:9");
    let elsewhere = ("JOURNEYMAN_SERVER__PUBLIC_URL", "https://bot.example.org");
    let (_, said) = tokio::task::block_in_place(|| asked(home, &[elsewhere]));
    let words = "GitHub sends to http://127.0.0.1:9/webhook, and server.public_url says https://bot.example.org/webhook";
    assert!(about(&said, "webhook").0.starts_with(words), "{said:#}");
    let (text, is_good) = about(&said, "deliveries");
    assert!(!is_good && text.contains("was not taken in, ") && text.contains(" in a row"), "{said:#}");
    let (_, said) = tokio::task::block_in_place(|| asked(home, &[public]));
    assert_eq!(about(&said, "webhook"), ("GitHub sends to http://127.0.0.1:9/webhook", true), "{said:#}");
    let (_, said) = tokio::task::block_in_place(|| asked(home, &[("JOURNEYMAN_GITHUB__DELIVERIES", "pull")]));
    assert!(about(&said, "webhook").0.starts_with("GitHub is asked for them"), "{said:#}");

    write_private(&home.join("journeyman.toml"), &settings("/no/such/agent"));
    std::fs::write(home.join("kept"), "in the way").expect("a file");
    let listen = taken.local_addr().expect("an address").to_string();
    let wrong = [("JOURNEYMAN_GITHUB__APP_ID", "8"), ("JOURNEYMAN_SERVER__LISTEN", listen.as_str())];
    let (code, said) = tokio::task::block_in_place(|| asked(home, &wrong));

    assert_eq!(code, Some(1), "{said:#}");
    for (key, words) in [
        ("github", "github.app_id"),
        ("store.url", "is a file; let the user that runs Journeyman write there, or name another place"),
        ("data.dir", "is a file; let the user that runs Journeyman write there, or name another place"),
        ("server.listen", "stop the program that has it, or set another port"),
        ("agents.mine", "The program \"/no/such/agent\" of the agent mine was not found"),
    ] {
        let (text, is_good) = about(&said, key);
        assert!(!is_good && text.contains(words), "{key}: {said:#}");
    }

    // A remote database does not answer, or cannot be reached.
    for (at, words) in [
        (listen.as_str(), "cannot be used: it takes connections and does not answer"),
        ("127.0.0.1:9", "cannot be used: error communicating with database: Connection refused"),
    ] {
        let url = format!("postgres://ada:s3cret@{at}/orders");
        let (_, said) = tokio::task::block_in_place(|| asked(home, &[("JOURNEYMAN_STORE__URL", &url)]));
        let (text, is_good) = about(&said, "store.url");
        assert!(!is_good && text.contains(&format!("PostgreSQL at {at} {words}")), "{said:#}");
        assert!(!said.to_string().contains("s3cret"), "{said:#}");
    }
}

#[test]
fn the_public_key_of_receipts_is_printed_once_there_is_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = folder.path().join("journeyman.toml");
    std::fs::write(&settings, "[data]\ndir = \"kept\"\n").expect("a file");
    let told = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_journeyman"));
        let done = command.args(["receipt", "key", "--config"]).arg(&settings).output().expect("it runs");
        (done.status.code(), String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned())
    };
    let (code, said) = told();
    assert!(
        code == Some(2) && said.contains("there is no receipt key in ") && said.contains("kept"),
        "{said}"
    );
    let (key, _) = journeyman::attest::SigningKey::open_or_make(&folder.path().join("kept")).expect("a key");
    assert_eq!(told(), (Some(0), key.public().to_pem()));
}
