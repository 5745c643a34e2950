//! Mistakes in starting the program: what it says about each, and how to fix it.

use std::path::Path;
use std::process::Command;

/// Runs the program in a folder, for a user without settings; returns the exit code and the output.
fn told(within: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_journeyman"));
    command.args(arguments).current_dir(within).env_clear().env("HOME", within);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).envs(environment.iter().copied());
    let done = command.output().expect("it runs");
    (done.status.code(), String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned())
}

#[test]
fn each_mistake_is_answered_with_what_to_do() {
    let place = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &[u8]| std::fs::write(place.path().join(name), text).expect("a file");
    write("section.toml", b"server = 3\n");
    write("picture.toml", b"\xff\xfe");
    write("issue.md", b"# It is wrong\n");
    std::fs::create_dir(place.path().join("settings")).expect("a folder");
    git2::Repository::init(place.path().join("empty")).expect("a repository");
    let token = [("JOURNEYMAN_API_TOKEN", "a-token-for-nobody")];
    for (arguments, environment, code, words) in [
        (
            &["doctor", "--config", "section.toml"][..],
            &[][..],
            2,
            "line 1: `server` has to be a section, [server]",
        ),
        (&["doctor", "--config", "picture.toml"], &[], 2, "the settings have to be TOML in UTF-8"),
        (&["doctor", "--config", "settings"], &[], 2, "name the file in it, such as journeyman.toml"),
        (
            &["orders"],
            &[],
            2,
            "--config FILE names the settings of a server on this machine, --server URL another one",
        ),
        (
            &["orders", "--server", "nowhere"],
            &token,
            2,
            "\"nowhere\" is no server's address (--server, or JOURNEYMAN_URL)",
        ),
        (&["orders", "--server", "ftp://x"], &token, 2, "one such as https://journeyman.example.org or"),
        (&["orders", "--server", "http://127.0.0.1:9"], &token, 1, "is `serve` running?"),
        (&["run", "--repo", "empty", "--issue", "issue.md"], &[], 2, "--repo empty: it has no commit yet"),
        (&["environment", "--repo", "empty"], &[], 2, "--repo empty: it has no commit yet"),
        (
            &["backup", "x.tar.gz"],
            &[],
            1,
            "/journeyman.db (store.url) is not there: name the settings of the server with",
        ),
        (&["restore", "gone.tar.gz"], &[], 1, "cannot read gone.tar.gz: No such file"),
        (
            &["demo", "--once"],
            &[("TMPDIR", "/nowhere")],
            1,
            "no temporary folder can be made in /nowhere (TMPDIR)",
        ),
    ] {
        let (ended, said) = told(place.path(), arguments, environment);
        assert!(said.contains(words), "{arguments:?}: {said}");
        assert_eq!((ended, said.lines().count()), (Some(code), 1), "{arguments:?}: {said}");
    }
    let made = ["data", "journeyman.db", "journeyman.db.lock"].map(|name| place.path().join(name));
    assert!(!made.iter().any(|path| path.exists()), "nothing is made by mistake: {made:?}");
}

#[test]
fn without_git_nothing_but_that_is_said() {
    let place = tempfile::tempdir().expect("a folder");
    std::fs::write(place.path().join("issue.md"), "# It is wrong\n").expect("a file");
    let repository = git2::Repository::init(place.path().join("repository")).expect("a repository");
    let (who, tree) = (
        git2::Signature::now("Ada", "ada@example.org").expect("a name"),
        repository.treebuilder(None).and_then(|tree| tree.write()).expect("a tree"),
    );
    let tree = repository.find_tree(tree).expect("it is there");
    repository.commit(Some("HEAD"), &who, &who, "Begin", &tree, &[]).expect("a commit");
    // Every program of this machine except git.
    let programs = place.path().join("programs");
    std::fs::create_dir(&programs).expect("a folder");
    for folder in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
        for program in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if !program.file_name().to_string_lossy().starts_with("git") {
                let _ = std::os::unix::fs::symlink(program.path(), programs.join(program.file_name()));
            }
        }
    }
    let programs = programs.to_str().expect("UTF-8");
    let arguments = ["run", "--repo", "repository", "--issue", "issue.md", "--agent", "scripted"];
    let (code, said) = told(place.path(), &arguments, &[("PATH", programs)]);
    assert_eq!((code, said.lines().count()), (Some(1), 1), "{said}");
    assert!(said.contains("git is missing: install git 2.29 or newer"), "{said}");
}
