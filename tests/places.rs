//! Where a server's state is, and that every command looks for it there.

use std::path::Path;
use std::process::Command;

use journeyman::attest::{KEY_FILE, SigningKey};
use journeyman::config::sqlite_url;
use journeyman::emulator::keys;
use journeyman::store::Store;
use secrecy::ExposeSecret as _;

use crate::reality::write_private;

/// A name that a URL would misinterpret.
const ODD: &str = "a #1 50% b?";

/// Writes a server's settings that name neither a database nor a data folder.
fn settle(folder: &Path) {
    std::fs::create_dir_all(folder).expect("a folder");
    let keys = keys::generate().expect("keys");
    write_private(&folder.join("app.pem"), keys.private_pem.expose_secret());
    let settings = "[server]\nlisten = \"127.0.0.1:0\"\n[github]\napi_url = \"http://127.0.0.1:9\"\napp_id = 7\n\
                    private_key_path = \"app.pem\"\nwebhook_secret = \"the-secret-of-this-story\"\n[sandbox]\nmode = \"none\"\n\
                    [defaults]\nagent = \"mine\"\n[agents.mine]\nruntime = \"command\"\nprogram = [\"/bin/true\"]\n";
    write_private(&folder.join("journeyman.toml"), settings);
}

/// Runs the program in a folder with settings; returns the exit code and all output.
fn told(within: &Path, arguments: &[&str], settings: &Path) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_journeyman"));
    command.args(arguments).arg("--config").arg(settings.join("journeyman.toml")).current_dir(within);
    command.env_clear().env("HOME", within).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let done = command.output().expect("it runs");
    (done.status.code(), String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_defaults_begin_at_the_settings_wherever_a_command_is_started() {
    let place = tempfile::tempdir().expect("a folder");
    let (settings, elsewhere) = (place.path().join(ODD), place.path().join("elsewhere"));
    settle(&settings);
    std::fs::create_dir(&elsewhere).expect("a folder");
    let store = Store::open(&sqlite_url(&settings.join("journeyman.db"))).await.expect("a database");
    store.close().await;
    assert!(settings.join("journeyman.db").exists(), "it has the name that it was given");
    SigningKey::open_or_make(&settings.join("data")).expect("a key");

    let (_, said) = told(&elsewhere, &["doctor"], &settings);
    assert!(
        said.contains(&format!("ok    store.url: {}/journeyman.db can be written", settings.display())),
        "{said}"
    );
    assert!(said.contains(&format!("data.dir: {}/data can be written", settings.display())), "{said}");

    let (code, said) = told(&elsewhere, &["backup", "whole.tar.gz"], &settings);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(", the key of receipts"), "{said}");
    assert_eq!(
        std::fs::read_dir(&elsewhere).expect("a folder").count(),
        1,
        "nothing but the backup is made there"
    );

    // A missing key is reported, because it is missing in the backup too.
    let key = settings.join("data").join(KEY_FILE);
    std::fs::remove_file(&key).expect("it is there");
    let (code, said) = told(&elsewhere, &["backup", "keyless.tar.gz"], &settings);
    assert_eq!(code, Some(0), "{said}");
    for words in [&*key.display().to_string(), "is not there (data.dir)", "receipts that were fetched before"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    let (code, said) = told(&elsewhere, &["restore", "--force", "keyless.tar.gz"], &settings);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("the backup has no key of receipts"), "{said}");
}
