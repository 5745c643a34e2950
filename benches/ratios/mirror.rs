//! A repository's first fetch into its mirror, compared with `git clone --bare` from the same server.

#[path = "../../tests/workspace/server.rs"]
#[allow(dead_code)]
mod server;

use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use journeyman::order::RepositoryName;
use journeyman::workspace::{Remote, Workspaces};
use secrecy::SecretString;

use server::{Server, TOKEN};

use super::{heading, line, middle_and_tail, ratio, timed};

const FILES: u64 = 3_000;
const COMMITS: u64 = 300;
/// Files that each commit changes.
const CHANGED: u64 = 20;
const TIMES: usize = 7;

pub fn measure() {
    heading(&format!("mirror: a repository of {FILES} files and {COMMITS} commits, over HTTP"));
    let server = Server::start();
    make(&server.path("octo/sums"));
    let repository: RepositoryName = "octo/sums".parse().expect("a name");
    let url = server.url("octo/sums");
    let remote = Remote { repository: &repository, url, token: Some(SecretString::from(TOKEN)) };
    let mut with_login = remote.url.clone();
    with_login.set_username("x-access-token").expect("an address that takes a name");
    with_login.set_password(Some(TOKEN)).expect("an address that takes a password");

    let (mut least, mut first, mut nothing) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TIMES {
        let folder = tempfile::tempdir().expect("a folder");
        let clone = folder.path().join("clone.git");
        let words = ["clone", "--quiet", "--bare", with_login.as_str()].map(std::ffi::OsStr::new);
        let (status, took) = timed(|| git(folder.path()).args(words).arg(&clone).status());
        assert!(status.expect("git").success());
        least.push(took);
        let workspaces = Workspaces::new(&folder.path().join("data")).expect("a folder");
        for all in [&mut first, &mut nothing] {
            let (fetched, took) = timed(|| workspaces.fetch(&remote, "main"));
            fetched.expect("the branch");
            all.push(took);
        }
    }
    let (least, _) = middle_and_tail(least);
    let (first, slowest) = middle_and_tail(first);
    line(&format!("git clone --bare, the middle of {TIMES}"), least, "");
    line(
        &format!("the first fetch, the middle of {TIMES}"),
        first,
        &format!("{} git's", ratio(first, least)),
    );
    line("  the slowest", slowest, "");
    line("a fetch that finds nothing new", middle_and_tail(nothing).0, "");
}

fn git(folder: &Path) -> Command {
    let mut git = Command::new("git");
    git.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    git
}

/// Creates a bare repository with a history of text in one pack, as a server stores it.
fn make(bare: &Path) {
    std::fs::create_dir_all(bare).expect("a folder");
    let run = |arguments: &[&str]| {
        assert!(git(bare).args(arguments).status().expect("git").success(), "{arguments:?}");
    };
    run(&["init", "--quiet", "--bare", "--initial-branch=main", "."]);
    let mut import = git(bare).args(["fast-import", "--quiet"]).stdin(Stdio::piped()).spawn().expect("git");
    let mut stream = BufWriter::new(import.stdin.take().expect("its input"));
    for commit in 0..COMMITS {
        let head =
            format!("commit refs/heads/main\ncommitter A <a@example.org> {} +0000\n", 1_700_000_000 + commit);
        write!(stream, "{head}data 1\n.\n").expect("it listens");
        let changed = if commit == 0 { 0..FILES } else { commit * CHANGED..(commit + 1) * CHANGED };
        for file in changed.map(|file| file % FILES) {
            let text = text(file, commit);
            let path = format!("src/{}/{file}.txt", file % 50);
            write!(stream, "M 100644 inline {path}\ndata {}\n{text}\n", text.len()).expect("it listens");
        }
    }
    drop(stream);
    assert!(import.wait().expect("git").success());
    run(&["repack", "-adfq"]);
}

/// Two hundred lines. Between commits, every twentieth line of a file differs.
fn text(file: u64, commit: u64) -> String {
    let words = |line: u64| {
        let seed = file << 32 | line << 16 | if line.is_multiple_of(20) { commit } else { 0 };
        let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("{line} {:08x} is the sum of {:04x} and more\n", mixed >> 32, mixed >> 16 & 0xffff)
    };
    (0..200).map(words).collect()
}
