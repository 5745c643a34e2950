//! `journeyman doctor`, the real program, on a machine that was made up.

use std::process::Command;

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
                key_env = \"OWN_TOKEN\"\n[sandbox]\nmode = \"none\"\n";
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
        "ok    data.dir: no overlays can be mounted there (",
        "ok    registries.own: cargo: https://cargo.corp.example/index/, with a token",
        "pip.conf: pip: https://pypi.corp.example/simple, in place of the public one, with a name and a password",
        ".npmrc: not taken: its address has to be https://HOST/PATH",
        "network.proxy: HTTPS goes through http://proxy.corp.example:3128/, with a password",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("hunter2"), "{text}");
    let (code, text) = told(&[("JOURNEYMAN_REGISTRIES__OWN__URL", "http://cargo.corp.example/")]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("MEND  registries: registries.own.url: its address has to be"), "{text}");
    assert_eq!(told(&[("JOURNEYMAN_NETWORK__PROXY", "socks5://x")]).0, Some(2));
}
