//! A repository with Git LFS files on a loopback server: what is fetched, what is not, and what an agent can do to such
//! files. Uses real git, real HTTP, and the scripts that ready agents' repositories.

mod waiting;

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use git2::Repository;
use secrecy::SecretString;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::worktree_base::copy_pack;
use crate::{ImportOutcome, ImportRules, Remote, SecretSet, SourceContent, SourceTree, Workspaces};
use journeyman_order::{BranchName, CommitSha, IssueNumber, OrderId, RepositoryName};

const TOKEN: &str = "ghs_installation0123456789";
const ATTRIBUTES: &str = "*.bin filter=lfs diff=lfs merge=lfs -text\n";

fn pointer_to(bytes: &[u8]) -> String {
    let id = hex::encode(Sha256::digest(bytes));
    format!("version https://git-lfs.github.com/spec/v1\noid sha256:{id}\nsize {}\n", bytes.len())
}

/// A server's answer for a content.
#[derive(Clone)]
enum Given {
    Bytes(Vec<u8>),
    /// A link to another URL.
    Link(String),
    Refused(u16),
    /// Its host answers with this status, or drops the connection.
    Busy(Option<u16>),
}

/// A Git LFS server and the host of its contents, under another name of this machine.
#[derive(Default)]
struct LargeFileHost {
    port: u16,
    contents: Mutex<HashMap<String, Given>>,
    /// Answers every request with this status.
    status: Mutex<Option<u16>>,
    /// Requests with their credentials: `POST /path Basic …`.
    heard: Mutex<Vec<String>>,
}

impl LargeFileHost {
    fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = Arc::new(Self { port: listener.local_addr().unwrap().port(), ..Self::default() });
        let serving = Arc::clone(&host);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let host = Arc::clone(&serving);
                std::thread::spawn(move || host.answer(stream));
            }
        });
        host
    }

    fn give(&self, id: &str, given: Given) {
        self.contents.lock().unwrap().insert(id.to_owned(), given);
    }

    fn put(&self, bytes: &[u8]) {
        self.give(&hex::encode(Sha256::digest(bytes)), Given::Bytes(bytes.to_vec()));
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    fn answer(&self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let (mut first, mut headers) = (String::new(), HashMap::new());
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let target = first.trim_end_matches(" HTTP/1.1\r\n").to_owned();
        let shown = |name: &str| headers.get(name).cloned().unwrap_or_default();
        let heard = format!("{target} {}", shown("authorization"));
        self.heard.lock().unwrap().push(heard.trim().to_owned());
        let (status, answer) = match target.split_once(' ').unwrap() {
            ("POST", "/octo/sums.git/info/lfs/objects/batch") => self.batch(&body),
            ("GET", path) if shown("x-opens") == "it" && shown("authorization").is_empty() => {
                match self.contents.lock().unwrap().get(path.trim_start_matches("/stored/")) {
                    Some(Given::Bytes(bytes)) => (200, bytes.clone()),
                    Some(Given::Busy(Some(status))) => (*status, Vec::new()),
                    Some(Given::Busy(None)) => return,
                    Some(Given::Link(_) | Given::Refused(_)) | None => (404, Vec::new()),
                }
            }
            _ => (403, Vec::new()),
        };
        let length = answer.len();
        let head = format!(
            "HTTP/1.1 {status} X\r\nConnection: close\r\nRetry-After: 0\r\nContent-Length: {length}\r\n\r\n"
        );
        let _ = stream.write_all(&[head.as_bytes(), &answer].concat());
    }

    fn batch(&self, body: &[u8]) -> (u16, Vec<u8>) {
        if let Some(status) = *self.status.lock().unwrap() {
            return (status, format!(r#"{{"message": "not now, {TOKEN}"}}"#).into_bytes());
        }
        let asked: Value = serde_json::from_slice(body).unwrap();
        assert_eq!((&asked["operation"], &asked["transfers"]), (&json!("download"), &json!(["basic"])));
        let one = |object: &Value| {
            let id = object["oid"].as_str().unwrap();
            let link = |href: String| {
                json!({"oid": id, "size": object["size"], "actions": {"download": {
                    "href": href, "header": {"X-Opens": "it"}}}})
            };
            match self.contents.lock().unwrap().get(id) {
                Some(Given::Bytes(_) | Given::Busy(_)) => {
                    link(format!("http://localhost:{}/stored/{id}", self.port))
                }
                Some(Given::Link(href)) => link(href.clone()),
                Some(Given::Refused(code)) => {
                    json!({"oid": id, "size": object["size"], "error": {"code": code}})
                }
                None => json!({"oid": id, "size": object["size"], "error": {"code": 404, "message": "no"}}),
            }
        };
        let objects: Vec<Value> = asked["objects"].as_array().unwrap().iter().map(one).collect();
        (200, json!({"transfer": "basic", "objects": objects}).to_string().into_bytes())
    }
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let done = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(done.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// Imports the checked-out commit of a clone, like a fetch.
fn take_over(clone: &Path, mirror: &Repository) -> CommitSha {
    let clone = Repository::open(clone).unwrap();
    let id = clone.head().unwrap().target().unwrap();
    copy_pack(&clone, mirror, |pack| {
        let mut walk = clone.revwalk()?;
        walk.push(id)?;
        pack.insert_walk(&mut walk)
    })
    .unwrap();
    mirror.reference("refs/mirror/main", id, true, "").unwrap();
    id.to_string().parse().unwrap()
}

/// A repository in our data folder as after a fetch, and the server of its large files.
struct House {
    place: TempDir,
    workspaces: Workspaces,
    host: Arc<LargeFileHost>,
    repository: RepositoryName,
    commit: CommitSha,
}

impl House {
    fn new(files: &[(&str, &str)]) -> Self {
        let place = tempfile::tempdir().unwrap();
        let workspaces = Workspaces::new(&place.path().join("data")).unwrap();
        let repository: RepositoryName = "octo/sums".parse().unwrap();
        let seed = place.path().join("seed");
        fs::create_dir(&seed).unwrap();
        git(&seed, &["init", "-q", "."]);
        write(&seed, files);
        git(&seed, &["add", "-A"]);
        git(&seed, &["commit", "-qm", "It"]);
        let commit = take_over(&seed, &workspaces.mirror(&repository).unwrap());
        Self { place, workspaces, host: LargeFileHost::start(), repository, commit }
    }

    /// Adds a commit on top of the first one.
    fn commit_more(&mut self, files: &[(&str, &str)]) {
        let seed = self.place.path().join("seed");
        write(&seed, files);
        git(&seed, &["add", "-A"]);
        git(&seed, &["commit", "-qm", "More"]);
        self.commit = take_over(&seed, &self.workspaces.mirror(&self.repository).unwrap());
    }

    fn fetch(&self) -> Result<(), crate::GitError> {
        let url = format!("http://127.0.0.1:{}/octo/sums.git", self.host.port).parse().unwrap();
        let remote = Remote { repository: &self.repository, url, token: Some(SecretString::from(TOKEN)) };
        self.workspaces.fetch_large_files(&remote, &self.commit)
    }

    fn checkout(&self) -> PathBuf {
        let into = self.place.path().join("checkout");
        self.workspaces.checkout(&self.repository, &self.commit, &into).unwrap();
        into
    }

    fn missing(&self) -> Vec<String> {
        self.workspaces.source_tree(&self.repository, &self.commit).unwrap().missing_large_files()
    }
}

fn contents(source: &SourceTree, paths: &[PathBuf]) -> Vec<Option<SourceContent>> {
    let mut contents = Vec::new();
    let read = source.each_content(paths, |_, content| {
        contents.push(content);
        Ok::<(), std::convert::Infallible>(())
    });
    read.unwrap().unwrap();
    contents
}

#[test]
fn contents_are_brought_with_the_token_for_the_server_and_without_it_from_elsewhere() {
    let (one, other) = (b"the first content".as_slice(), vec![7; 300_000]);
    let house = House::new(&[
        (".gitattributes", ATTRIBUTES),
        ("a.bin", &pointer_to(one)),
        ("deep/b.bin", &pointer_to(&other)),
        ("deep/again.bin", &pointer_to(&other)),
        ("plain.txt", &pointer_to(one)),
    ]);
    house.host.put(one);
    house.host.put(&other);
    house.fetch().unwrap();

    let checkout = house.checkout();
    let read = |path: &str| fs::read(checkout.join(path)).unwrap();
    assert_eq!(
        (read("a.bin"), read("deep/b.bin"), read("deep/again.bin")),
        (one.to_vec(), other.clone(), other)
    );
    assert_eq!(read("plain.txt"), one, "what is a pointer is one, whatever attributes say");
    assert_eq!(house.missing(), Vec::<String>::new());
    let source = house.workspaces.source_tree(&house.repository, &house.commit).unwrap();
    let places: Vec<(PathBuf, PathBuf)> =
        source.paths().map(|path| (path.to_owned(), checkout.join(path))).collect();
    assert_eq!(source.differing(&places).unwrap(), Vec::<PathBuf>::new());
    fs::write(checkout.join("a.bin"), b"the other content").unwrap();
    assert_eq!(source.differing(&places).unwrap(), [PathBuf::from("a.bin")], "of the same length");
    let content = contents(&source, &["a.bin".into()]).remove(0).unwrap();
    let SourceContent::Large(content) = content else { panic!("{content:?}") };
    content.write(&checkout.join("c.bin")).unwrap();
    assert_eq!(read("c.bin"), one);

    let heard = house.host.heard();
    let [asked, read @ ..] = heard.as_slice() else { panic!("nothing was asked") };
    let basic = "POST /octo/sums.git/info/lfs/objects/batch Basic ";
    assert!(asked.starts_with(basic), "{asked}");
    assert_eq!(read.len(), 2, "each content once: {read:?}");
    assert!(read.iter().all(|request| !request.contains("Basic")), "{read:?}");
    // The second time, no server is asked.
    house.fetch().unwrap();
    assert_eq!(house.host.heard().len(), 3);
}

#[test]
fn what_is_laid_over_a_commit_is_what_it_is_in_the_commit_that_it_comes_from() {
    let pointer = pointer_to(b"a content");
    let mut house = House::new(&[(".gitattributes", ATTRIBUTES), ("kept.bin", &pointer)]);
    house.host.put(b"a content");
    house.fetch().unwrap();
    let base = house.commit.clone();
    house.commit_more(&[("tests/a.bin", &pointer)]);
    let held = |from: &[&CommitSha], path: &str| {
        let mut source = house.workspaces.source_tree(&house.repository, &base).unwrap();
        source.lay_all([(Path::new(path), Some(pointer.as_bytes()))], from).unwrap();
        match contents(&source, &[path.into()]).remove(0).unwrap() {
            SourceContent::Large(_) => "its content",
            SourceContent::File { .. } => "a pointer",
            SourceContent::Link(to) => panic!("{to:?}"),
        }
    };
    assert_eq!(held(&[&house.commit, &base], "tests/a.bin"), "its content");
    assert_eq!(held(&[&house.commit, &base], "kept.bin"), "its content");
    assert_eq!(held(&[&base], "tests/a.bin"), "a pointer", "nobody has it");
}

#[test]
fn a_file_can_be_laid_as_it_is_in_another_commit_whatever_it_is_there() {
    let pointer = pointer_to(b"a content");
    let mut house =
        House::new(&[(".gitattributes", ATTRIBUTES), ("kept.bin", &pointer), ("tests/rows", "old")]);
    house.host.put(b"a content");
    house.fetch().unwrap();
    let base = house.commit.clone();
    house.commit_more(&[("kept.bin", "small"), ("added", "new")]);
    let mut source = house.workspaces.source_tree(&house.repository, &house.commit).unwrap();
    source.lay(Path::new("tests/rows/new"), Some(b"new")).unwrap();
    let paths = ["kept.bin", "tests/rows", "added"].map(Path::new);
    source.lay_as_in(&base, &paths).unwrap();
    assert_eq!(source.paths().count(), 3, "and none below what is a file again");
    let contents = contents(&source, &paths.map(Path::to_owned));
    assert!(matches!(contents[0], Some(SourceContent::Large(_))), "{contents:?}");
    assert!(matches!(&contents[1..], [Some(SourceContent::File { .. }), None]), "{contents:?}");
}

#[test]
fn what_is_not_to_be_had_is_named_with_the_reason_and_stays_a_pointer() {
    let content = b"a content".as_slice();
    let lie = pointer_to(content).replace("size 9", "size 8");
    let wrong = pointer_to(b"another one");
    let near = pointer_to(b"on this machine");
    let refused = pointer_to(b"refused");
    let large = pointer_to(b"large").replace("size 5", "size 600000000");
    let up =
        "version https://git-lfs.github.com/spec/v1\noid sha256:../../../../../../../../etc/passwd\nsize 9\n";
    let house = House::new(&[
        (".gitattributes", ATTRIBUTES),
        ("absent.bin", &pointer_to(b"nobody has it")),
        ("large.bin", &large),
        ("lie.bin", &lie),
        ("near.bin", &near),
        ("refused.bin", &refused),
        ("up.bin", up),
        ("wrong.bin", &wrong),
    ]);
    let id = |pointer: &str| pointer.split("sha256:").nth(1).unwrap()[..64].to_owned();
    house.host.put(content);
    house.host.give(&id(&wrong), Given::Bytes(b"a wrong one".to_vec()));
    house.host.give(&id(&near), Given::Link("file:///etc/passwd".to_owned()));
    house.host.give(&id(&refused), Given::Refused(410));
    house.fetch().unwrap();

    assert_eq!(
        house.missing(),
        [
            "absent.bin: its server does not have it",
            "large.bin: it is larger than 512 MiB",
            "lie.bin: what localhost gives is not it: it is larger than its pointer says",
            "near.bin: it is at an address that is not used: it is not HTTPS",
            "refused.bin: its server answers 410 for it",
            "wrong.bin: what localhost gives is not it: it is another content than its pointer names: its SHA-256 is \
             not that one",
        ]
    );
    let checkout = house.checkout();
    for (path, text) in
        [("absent.bin", pointer_to(b"nobody has it").as_str()), ("lie.bin", &lie), ("up.bin", up)]
    {
        assert_eq!(fs::read_to_string(checkout.join(path)).unwrap(), text, "{path}");
    }
    // A content that becomes available is fetched the next time.
    house.host.put(b"nobody has it");
    house.fetch().unwrap();
    assert_eq!(fs::read(house.checkout().join("absent.bin")).unwrap(), b"nobody has it");
    assert!(!house.missing().iter().any(|line| line.starts_with("absent")));
}

#[test]
fn only_the_server_of_the_repository_is_asked_whatever_lfsconfig_says() {
    let pointer = pointer_to(b"a content");
    for (config, reason) in [
        (
            "[lfs]\n\turl = https://elsewhere.example/octo/sums\n",
            "it is on another server, elsewhere.example",
        ),
        ("[lfs]\n\turl = file:///etc\n", "its address is neither a relative one nor one of https"),
        (
            "[lfs]\n\turl = https://me:secret@127.0.0.1/octo/sums.git/info/lfs\n",
            "there is a user in its address",
        ),
    ] {
        let house =
            House::new(&[(".gitattributes", ATTRIBUTES), (".lfsconfig", config), ("a.bin", &pointer)]);
        house.host.put(b"a content");
        house.fetch().unwrap();
        let missing = house.missing();
        assert!(missing[0].starts_with(&format!("a.bin: as .lfsconfig says, {reason}")), "{missing:?}");
        assert_eq!(house.host.heard(), Vec::<String>::new());
    }
}

#[test]
fn a_server_that_is_not_itself_is_asked_again_later_and_one_that_refuses_is_named() {
    let house = House::new(&[(".gitattributes", ATTRIBUTES), ("a.bin", &pointer_to(b"a content"))]);
    house.host.put(b"a content");
    *house.host.status.lock().unwrap() = Some(503);
    let error = house.fetch().unwrap_err();
    assert_eq!(error.kind, crate::GitErrorKind::Unavailable);
    assert!(error.message.contains("503") && !error.message.contains(TOKEN), "{error}");
    *house.host.status.lock().unwrap() = Some(403);
    house.fetch().unwrap();
    assert_eq!(house.missing(), ["a.bin: its server answers 403 Forbidden: not now, …"]);
    *house.host.status.lock().unwrap() = None;
    house.fetch().unwrap();
    assert_eq!(house.missing(), Vec::<String>::new());
}

#[test]
fn a_content_that_is_damaged_is_never_written_out_and_is_fetched_again() {
    let house = House::new(&[(".gitattributes", ATTRIBUTES), ("a.bin", &pointer_to(b"a content"))]);
    house.host.put(b"a content");
    house.fetch().unwrap();
    let id = hex::encode(Sha256::digest(b"a content"));
    let kept = house.place.path().join("data/lfs/octo/sums.git/objects").join(&id[..2]).join(&id);
    fs::write(&kept, b"A content").unwrap();
    let into = house.place.path().join("checkout");
    let error = house.workspaces.checkout(&house.repository, &house.commit, &into).unwrap_err();
    assert!(error.kind == crate::GitErrorKind::Unavailable && error.message.contains("damaged"), "{error}");
    assert!(!kept.exists());
    house.fetch().unwrap();
    assert_eq!(fs::read(house.checkout().join("a.bin")).unwrap(), b"a content");
}

#[test]
fn a_content_that_nobody_used_for_long_goes_and_is_fetched_again() {
    let house = House::new(&[(".gitattributes", ATTRIBUTES), ("a.bin", &pointer_to(b"a content"))]);
    house.host.put(b"a content");
    house.fetch().unwrap();
    let id = hex::encode(Sha256::digest(b"a content"));
    let kept = house.place.path().join("data/lfs/octo/sums.git/objects").join(&id[..2]).join(&id);
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(40 * 24 * 60 * 60);
    fs::File::open(&kept).unwrap().set_modified(old).unwrap();
    house.workspaces.maintain().unwrap();
    assert!(!kept.exists());
    assert!(!house.workspaces.has_large_files(&house.repository, &house.commit).unwrap());
    house.fetch().unwrap();
    house.workspaces.maintain().unwrap();
    assert!(kept.exists(), "it was used just now");
}

#[test]
fn of_a_clone_on_this_machine_what_git_lfs_keeps_there_is_taken_by_its_hash() {
    let house = House::new(&[(".gitattributes", ATTRIBUTES), ("a.bin", &pointer_to(b"a content"))]);
    let clone = house.place.path().join("seed");
    let missing = || {
        house.workspaces.import_beside(&house.repository, &clone).unwrap();
        house.missing()
    };
    assert_eq!(missing(), ["a.bin: it is not in this clone; `git lfs pull` gets it"]);
    let id = hex::encode(Sha256::digest(b"a content"));
    let kept = clone.join(".git/lfs/objects").join(&id[..2]).join(&id[2..4]).join(&id);
    fs::create_dir_all(kept.parent().unwrap()).unwrap();
    fs::write(&kept, b"A content").unwrap();
    assert!(missing()[0].contains("its SHA-256 is not that one"));
    fs::remove_file(&kept).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &kept).unwrap();
    assert_eq!(missing(), ["a.bin: it is not in this clone; `git lfs pull` gets it"]);
    fs::remove_file(&kept).unwrap();
    fs::write(&kept, b"a content").unwrap();
    assert_eq!(missing(), Vec::<String>::new());
    assert_eq!(fs::read(house.checkout().join("a.bin")).unwrap(), b"a content");
    // No server is asked for missing contents either.
    house.fetch().unwrap();
    assert_eq!(house.host.heard(), Vec::<String>::new());
}

/// An agent's repository, readied as in its sandbox.
struct AgentPlace<'h> {
    house: &'h House,
    order: OrderId,
    branch: BranchName,
}

impl<'h> AgentPlace<'h> {
    fn new(house: &'h House) -> Self {
        let (order, branch) = (OrderId(uuid::Uuid::now_v7()), BranchName::for_issue(IssueNumber(7), "it", 1));
        let workspaces = &house.workspaces;
        workspaces.create_origin(order, &house.repository, &house.commit, "main", None).unwrap();
        let places = workspaces.order_dirs(order);
        workspaces.checkout(&house.repository, &house.commit, &places.work).unwrap();
        let place = Self { house, order, branch };
        let clone = Workspaces::clone_command(&places, Some(&place.branch), None, None, &[]);
        place.run(&clone.iter().map(|part| part.to_str().unwrap()).collect::<Vec<_>>());
        place
    }

    fn run(&self, command: &[&str]) -> Vec<u8> {
        let done = Command::new(command[0])
            .args(&command[1..])
            .current_dir(self.house.workspaces.order_dirs(self.order).work)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
        done.stdout
    }

    fn sh(&self, script: &str) -> String {
        String::from_utf8(self.run(&["sh", "-euc", script])).unwrap().trim().to_owned()
    }

    /// Commits and pushes the script's changes, and imports them.
    fn import(&self, script: &str) -> ImportOutcome {
        self.sh(&format!("git checkout -q -B {0} origin/main; {script}\ngit add -A; git commit -qm It; git push -qf origin {0}", self.branch));
        let places = self.house.workspaces.order_dirs(self.order);
        let export = Workspaces::export_command(&places, &self.branch, &self.house.commit);
        let bytes = self.run(&export.iter().map(|part| part.to_str().unwrap()).collect::<Vec<_>>());
        let file = places.runs.join("export");
        fs::write(&file, bytes).unwrap();
        let known = SecretSet::default();
        let rules =
            ImportRules { branch: &self.branch, protected: &[], secrets: &known, allowed_secrets: &[] };
        let workspaces = &self.house.workspaces;
        workspaces.import(self.order, &self.house.repository, &self.house.commit, &file, rules).unwrap()
    }

    fn refused(&self, script: &str) -> String {
        match self.import(script) {
            ImportOutcome::Refused(feedback) => feedback.summary,
            other @ (ImportOutcome::Imported { .. } | ImportOutcome::NothingPushed { .. }) => {
                panic!("{script} came through: {other:?}")
            }
        }
    }

    fn changed(&self, script: &str) -> Vec<String> {
        match self.import(script) {
            ImportOutcome::Imported { changed, .. } => changed,
            other @ (ImportOutcome::Refused(_) | ImportOutcome::NothingPushed { .. }) => {
                panic!("{script}: {other:?}")
            }
        }
    }
}

#[test]
fn an_agent_has_the_contents_and_git_sees_nothing_changed() {
    let house = House::new(&[
        (".gitattributes", ATTRIBUTES),
        ("a.bin", &pointer_to(b"a content")),
        ("absent.bin", &pointer_to(b"nobody has it")),
        ("by hand.bin", "committed without git-lfs"),
        ("empty.bin", ""),
        ("src.py", "x = 1\n"),
    ]);
    house.host.put(b"a content");
    house.fetch().unwrap();
    let agent = AgentPlace::new(&house);
    assert_eq!(agent.sh("cat a.bin; git status --porcelain"), "a content");
    // Whatever git does, the content is restored.
    let seen = agent.sh(
        "touch a.bin 'by hand.bin' absent.bin; git add -A; git status --porcelain; rm a.bin; git checkout -q -- a.bin; \
         cat a.bin; echo; echo mine > a.bin; git stash -q; cat a.bin; echo; git stash pop -q; cat a.bin; \
         git show :a.bin | head -n 1; git reset -q --hard; cat a.bin; git status --porcelain",
    );
    assert_eq!(seen, "a content\na content\nmine\nversion https://git-lfs.github.com/spec/v1\na content");
    let link = agent.house.workspaces.order_dirs(agent.order).packs.join("lfs");
    assert_eq!(fs::read_dir(link).unwrap().count(), 1);
    assert_eq!(agent.changed("echo 'x = 2' > src.py"), ["src.py"]);
}

#[test]
fn an_agent_moves_copies_and_removes_large_files_and_new_contents_are_refused() {
    let house = House::new(&[
        (".gitattributes", ATTRIBUTES),
        ("a.bin", &pointer_to(b"a content")),
        ("by-hand.bin", "committed without git-lfs"),
        ("src.py", "x = 1\n"),
    ]);
    house.host.put(b"a content");
    house.fetch().unwrap();
    let agent = AgentPlace::new(&house);
    assert_eq!(agent.changed("mkdir d; git mv a.bin d/b.bin"), ["a.bin", "d/b.bin"]);
    assert_eq!(agent.changed("cp a.bin c.bin; touch nothing.bin"), ["c.bin", "nothing.bin"]);
    assert_eq!(agent.changed("git rm -q a.bin; git mv by-hand.bin e.bin"), ["a.bin", "by-hand.bin", "e.bin"]);

    let new = "new content would be on no server";
    let said = agent.refused("echo other > a.bin");
    assert!(said.contains("a.bin") && said.contains(new), "{said}");
    assert!(agent.refused("echo new > d.bin").contains(new));
    // A handwritten pointer names a content that no server has, or that the agent did not receive.
    let pointer = pointer_to(b"of somebody else").replace('\n', "\\n");
    assert!(agent.refused(&format!("printf '{pointer}' > a.bin")).contains(new));
    // An agent that disables the filter.
    let without = "git config filter.lfs.clean cat; echo other > a.bin";
    assert!(agent.refused(without).contains("in place of a pointer"));
    let hiding = "head -c 1100000 /dev/zero | tr '\\0' '#' >> .gitattributes; echo other > a.bin";
    assert!(agent.refused(hiding).contains("its attributes are more than are read"));
}
