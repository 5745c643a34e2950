//! `journeyman agent check`, run as the real program with working and broken agents.

use std::process::Command;

/// The exit code and all output, with this shell script as the agent.
fn checked(script: &str, more: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = folder.path().join("journeyman.toml");
    let script = format!("program = [\"sh\", \"-c\", {}]\n", serde_json::json!(script));
    let toml = format!("[agents.mine]\nruntime = \"command\"\n{script}{more}\n");
    std::fs::write(&settings, toml).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_journeyman"));
    command.args(["agent", "check", "mine", "--config"]).arg(&settings).env_clear();
    command.env("HOME", folder.path()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let done = command.output().expect("it runs");
    let text = [done.stdout, done.stderr].concat();
    (done.status.code(), String::from_utf8(text).expect("text"))
}

#[test]
fn what_is_wrong_with_an_agent_is_said_with_what_to_do() {
    for (script, more, words) in [
        (
            "echo It is hard to say.",
            "",
            "it answered, but not with one of /feature, /bug and /chore: \"It is hard to say.\"",
        ),
        ("exit 0", "", "it printed nothing"),
        ("echo Please run /login >&2; exit 1", "", "nobody can log in inside the sandbox"),
        ("no-such-program", "", "not found"),
        ("echo /bug", "env = [\"MY_API_KEY\"]", "agents.mine.env asks for MY_API_KEY, and it is not set"),
        ("echo /bug", "read = [\"/no/such/folder\"]", "/no/such/folder, which is not there"),
        (
            "python3 -c \"import urllib.request; urllib.request.urlopen('https://models.example')\"",
            "",
            "it was kept from models.example:443: ",
        ),
    ] {
        let (code, text) = checked(script, more);
        assert_eq!(code, Some(1), "{script}: {text}");
        assert!(text.contains("FIX   agents.mine: ") && text.contains(words), "{script}: {text}");
    }
}

#[test]
fn an_unknown_agent_is_wrong_usage_and_the_known_ones_are_named() {
    let (code, text) =
        checked("echo /bug", "[agents.other]\nruntime = \"command\"\nprogram = [\"/no/such/program\"]");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("ok    agents.mine: it answered \"/bug\" after "), "{text}");
    let done = Command::new(env!("CARGO_BIN_EXE_journeyman")).args(["agent", "check", "nobody"]).output();
    let done = done.expect("it runs");
    assert_eq!(done.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&done.stderr).contains("nobody: no such agent; known are "));
}
