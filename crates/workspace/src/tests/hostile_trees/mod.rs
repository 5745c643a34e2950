//! A corpus of pushes by a hostile agent. Every object is made by hand and written into the agent's origin unchanged.
//! Then it takes the real way out: the export command in a sandbox, and the import. Each must be refused for its own
//! reason, and nothing of it may enter our repositories.

mod bombs;
mod contents;
mod trees;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use git2::{ObjectType, Oid, Repository};
use secrecy::SecretString;
use tempfile::TempDir;

use crate::{ImportOutcome, ImportRules, SecretSet, Workspaces, default_protected};
use journeyman_order::bounds::MOST_PRINTED;
use journeyman_order::{BranchName, CommitSha, IssueNumber, OrderId, RepositoryName};

/// One of our secrets, which no agent should have, but this one has.
const CANARY: &str = "ghs_q7Zx2Lm9Rt4Vb8Nc1Kd6Wf3Hj5Pg0Ys2Ta";
/// However bad it is, the refusal takes no longer.
const LONGEST: Duration = Duration::from_secs(60);
const FILE: &str = "100644";
const LINK: &str = "120000";
const TREE: &str = "40000";

/// A raw entry: mode, name, object.
type RawTreeEntry<'a> = (&'a str, &'a [u8], Oid);

/// What is pushed: a tree in an ordinary commit, or a commit with any content.
enum HostilePush {
    Tree(Oid),
    Commit(Oid),
    Messaged(Oid, String),
}

struct HostileCase {
    name: String,
    /// Part of the reason for the refusal.
    why: &'static str,
    make: Box<dyn Fn(&HostileAgent) -> HostilePush>,
}

fn case(
    name: impl Into<String>,
    why: &'static str,
    make: impl Fn(&HostileAgent) -> HostilePush + 'static,
) -> HostileCase {
    HostileCase { name: name.into(), why, make: Box::new(make) }
}

/// Adds a harmless entry of this name to the base's root.
fn entry(why: &'static str, mode: &'static str, name: &[u8], content: &[u8]) -> HostileCase {
    let (name, content) = (name.to_vec(), content.to_vec());
    let title = format!("{mode} {}", String::from_utf8_lossy(&name).escape_debug());
    case(title, why, move |agent| {
        let blob = agent.blob(&content);
        HostilePush::Tree(agent.beside_base(&[(mode, &name, blob)]))
    })
}

/// Adds a file to the base at this path.
fn file(why: &'static str, path: &str, content: &str) -> HostileCase {
    let (path, content) = (path.to_owned(), content.to_owned());
    case(path.clone(), why, move |agent| HostilePush::Tree(agent.with_files(&[(&path, &content)])))
}

/// The agent that writes into the origin.
struct HostileAgent {
    origin: Repository,
    base: Oid,
    /// The folder of its git program.
    git: PathBuf,
}

impl HostileAgent {
    fn write(&self, kind: ObjectType, bytes: &[u8]) -> Oid {
        self.origin.odb().unwrap().write(kind, bytes).unwrap()
    }

    fn blob(&self, bytes: &[u8]) -> Oid {
        self.write(ObjectType::Blob, bytes)
    }

    /// A tree of these entries, in this order, valid or not.
    fn tree(&self, entries: &[RawTreeEntry<'_>]) -> Oid {
        let mut bytes = Vec::new();
        for (mode, name, id) in entries {
            bytes.extend_from_slice(mode.as_bytes());
            bytes.push(b' ');
            bytes.extend_from_slice(name);
            bytes.push(0);
            bytes.extend_from_slice(id.as_bytes());
        }
        self.write(ObjectType::Tree, &bytes)
    }

    /// Like [`Self::tree`], in git's order.
    fn sorted(&self, entries: &[RawTreeEntry<'_>]) -> Oid {
        let mut entries = entries.to_vec();
        let key = |entry: &RawTreeEntry<'_>| {
            let mut key = entry.1.to_vec();
            if entry.0 == TREE {
                key.push(b'/');
            }
            key
        };
        entries.sort_by_key(key);
        self.tree(&entries)
    }

    fn base_tree(&self) -> git2::Tree<'_> {
        self.origin.find_commit(self.base).unwrap().tree().unwrap()
    }

    /// The base's root with these entries added or replaced.
    fn beside_base(&self, more: &[RawTreeEntry<'_>]) -> Oid {
        let base = self.base_tree();
        let modes: Vec<(String, Vec<u8>, Oid)> = base
            .iter()
            .map(|entry| (format!("{:o}", entry.filemode()), entry.name_bytes().to_vec(), entry.id()))
            .filter(|(_, name, _)| more.iter().all(|(_, other, _)| other != name))
            .collect();
        let kept = modes.iter().map(|(mode, name, id)| (mode.as_str(), name.as_slice(), *id));
        self.sorted(&kept.chain(more.iter().copied()).collect::<Vec<_>>())
    }

    /// The base with these files, as git itself would write it; `-> ` marks a link's target.
    fn with_files(&self, files: &[(&str, &str)]) -> Oid {
        let mut update = git2::build::TreeUpdateBuilder::new();
        for (path, content) in files {
            let (mode, content) = match content.strip_prefix("-> ") {
                Some(target) => (git2::FileMode::Link, target),
                None => (git2::FileMode::Blob, *content),
            };
            update.upsert(*path, self.blob(content.as_bytes()), mode);
        }
        update.create_updated(&self.origin, &self.base_tree()).unwrap()
    }

    fn commit(&self, tree: Oid, message: &str) -> Oid {
        let who = "A <a@example.org> 1700000000 +0000";
        let head = format!("tree {tree}\nparent {}\nauthor {who}\ncommitter {who}\n\n", self.base);
        self.write(ObjectType::Commit, format!("{head}{message}").as_bytes())
    }

    fn run_git(&self, arguments: &[&str], input: &[u8]) {
        use std::io::Write;
        let mut child = Command::new(self.git.join("git"))
            .args(arguments)
            .env_clear()
            .env("GIT_DIR", self.origin.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        assert!(child.wait().unwrap().success(), "{arguments:?}");
    }
}

/// Our side: a data folder, a repository, and an order with an agent's work.
struct ImportFixture {
    data: TempDir,
    workspaces: Workspaces,
    repository: RepositoryName,
    order: OrderId,
    branch: BranchName,
    base: CommitSha,
    known: SecretSet,
    agent: HostileAgent,
}

impl ImportFixture {
    fn new(git: &Path) -> Self {
        let data = tempfile::tempdir().unwrap();
        let workspaces = Workspaces::new(data.path()).unwrap();
        let repository: RepositoryName = "octo/sums".parse().unwrap();
        let mirror = workspaces.mirror(&repository).unwrap();
        // A realistic base: it has links, some to targets that no new link may have.
        let maker = HostileAgent { origin: mirror, base: Oid::ZERO_SHA1, git: git.to_owned() };
        let empty = maker.tree(&[]);
        let first = {
            let who = git2::Signature::new("A", "a@example.org", &git2::Time::new(1, 0)).unwrap();
            let tree = maker.origin.find_tree(empty).unwrap();
            maker.origin.commit(None, &who, &who, "Begin", &tree, &[]).unwrap()
        };
        let maker = HostileAgent { base: first, ..maker };
        let tree = maker.with_files(&[
            ("README.md", "sums\n"),
            ("src/sum.py", "def add(a, b):\n    return a - b\n"),
            (".github/workflows/ci.yml", "on: push\n"),
            ("docs/ai.md", "Be kind.\n"),
            ("docs/sub/x", "x\n"),
            ("AGENTS.md", "-> docs/ai.md"),
            ("system", "-> /usr"),
            ("walk", "-> docs/sub/../../README.md"),
            ("samples/cargo/config.toml", "[source]\n"),
            ("old/aux.c", "int x;\n"),
            (".gitattributes", "*.psd filter=lfs\n"),
            ("keys/sample.txt", &format!("id = {}\n", contents::access_key())),
        ]);
        let base = maker.commit(tree, "The first\n");
        maker.origin.reference("refs/heads/main", base, true, "").unwrap();
        // Agents receive packs.
        maker.run_git(&["repack", "-adq"], b"");
        let order = OrderId(uuid::Uuid::now_v7());
        let branch = BranchName::for_issue(IssueNumber(7), "fix the sum", 1);
        let sha: CommitSha = base.to_string().parse().unwrap();
        workspaces.commits(&repository).unwrap();
        workspaces.create_origin(order, &repository, &sha, "main", None).unwrap();
        let origin = Repository::open_bare(workspaces.order_dirs(order).origin).unwrap();
        let agent = HostileAgent { origin, base, git: git.to_owned() };
        let secret = ("the installation's token".to_owned(), SecretString::from(CANARY));
        let known = SecretSet::new([secret]);
        Self { data, workspaces, repository, order, branch, base: sha, known, agent }
    }

    fn push(&self, commit: Oid) {
        self.agent.origin.reference(&self.branch.reference(), commit, true, "").unwrap();
    }

    /// Runs the export command as for an agent: with a read-only file system and a sandbox's memory.
    fn export(&self) -> PathBuf {
        let path = self.workspaces.order_dirs(self.order).runs.join("export");
        let mut child = Command::new("bwrap")
            .args([
                "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all",
                "--die-with-parent",
            ])
            // The data folder may be in /dev/shm, which a new /dev hides.
            .arg("--ro-bind")
            .args([self.data.path(), self.data.path()])
            .args(["--clearenv", "--setenv", "PATH"])
            .arg(format!("{}:/usr/bin:/bin", self.agent.git.display()))
            .args(["sh", "-c", "ulimit -v 4000000; exec \"$@\"", "sh"])
            .args(Workspaces::export_command(
                &self.workspaces.order_dirs(self.order),
                &self.branch,
                &self.base,
            ))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut file = std::fs::File::create(&path).unwrap();
        std::io::copy(&mut child.stdout.take().unwrap().take(MOST_PRINTED), &mut file).unwrap();
        // The command may still be running.
        drop(child.kill());
        child.wait().unwrap();
        path
    }

    fn import(&self, export: &Path, branch: &BranchName) -> ImportOutcome {
        let protected = default_protected();
        let rules = ImportRules { branch, protected: &protected, secrets: &self.known, allowed_secrets: &[] };
        self.workspaces.import(self.order, &self.repository, &self.base, export, rules).unwrap()
    }

    /// Pushes, exports and imports.
    fn try_to_get_out(&self, push: &HostilePush) -> ImportOutcome {
        let commit = match push {
            HostilePush::Tree(tree) => self.agent.commit(*tree, "Fix the sum\n"),
            HostilePush::Commit(commit) => *commit,
            HostilePush::Messaged(tree, message) => self.agent.commit(*tree, message),
        };
        self.push(commit);
        self.import(&self.export(), &self.branch)
    }

    /// Number of objects in the repository from which we publish.
    fn got_in(&self) -> usize {
        fn files(folder: &Path) -> usize {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| if entry.path().is_dir() { files(&entry.path()) } else { 1 }).sum()
        }
        files(&self.data.path().join("commits"))
    }
}

/// The folders of all installed versions of git, or only the first if not all are requested.
fn gits() -> Vec<PathBuf> {
    let mut found: Vec<(Vec<u8>, PathBuf)> = Vec::new();
    for folder in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
        let Ok(version) = Command::new(folder.join("git")).arg("--version").output() else { continue };
        if found.iter().all(|(known, _)| *known != version.stdout) {
            found.push((version.stdout, folder));
        }
    }
    let folders: Vec<PathBuf> = found.into_iter().map(|(_, folder)| folder).collect();
    journeyman_test_support::all_or_first(&folders, 1).to_vec()
}

/// The whole text of an outcome.
fn told(outcome: &ImportOutcome) -> String {
    format!("{outcome:?}")
}

/// The results of a part of the corpus.
#[derive(Default)]
struct CorpusTally {
    tried: usize,
    got_through: Vec<String>,
    times: Vec<(Duration, String)>,
}

fn try_all(git: &Path, cases: Vec<HostileCase>) -> CorpusTally {
    let (house, mut tally) = (ImportFixture::new(git), CorpusTally::default());
    let trip = house.data.path().join("tripped");
    set_traps(&house, &trip);
    for case in cases {
        let push = (case.make)(&house.agent);
        let (before, began) = (house.got_in(), Instant::now());
        let outcome = house.try_to_get_out(&push);
        let took = began.elapsed();
        tally.tried += 1;
        let said = told(&outcome);
        if matches!(outcome, ImportOutcome::Imported { .. }) || house.got_in() != before || trip.exists() {
            tally.got_through.push(format!("{} with {}: {said}", case.name, git.display()));
            continue;
        }
        assert!(said.contains(case.why), "{} for another reason than {:?}: {said}", case.name, case.why);
        assert!(took < LONGEST, "{} took {took:?}", case.name);
        assert!(!said.contains(&CANARY[8..24]), "{} tells the secret", case.name);
        assert!(!said.contains(['\u{1b}', '\u{202e}']), "{} is told as it is", case.name);
        tally.times.push((took, case.name));
    }
    // The traps are real: git on the host triggers them.
    assert!(!trip.exists());
    house.agent.run_git(&["update-ref", "refs/heads/x", house.base.as_str()], b"");
    assert!(trip.exists(), "the tripwire cannot be touched");
    tally
}

#[test]
fn nothing_hostile_gets_out_and_each_is_told_why() {
    let gits = gits();
    let [first, ..] = gits.as_slice() else { panic!("there is no git") };
    let tallies: Vec<CorpusTally> = std::thread::scope(|scope| {
        let mut parts: Vec<_> = gits.iter().map(|git| scope.spawn(|| try_all(git, trees::cases()))).collect();
        // The version of git does not matter for file contents and sizes.
        parts.push(scope.spawn(|| try_all(first, contents::cases())));
        parts.push(scope.spawn(|| try_all(first, bombs::cases())));
        parts.into_iter().map(|part| part.join().unwrap()).collect()
    });
    let tried: usize = tallies.iter().map(|tally| tally.tried).sum();
    let got_through: Vec<&String> = tallies.iter().flat_map(|tally| &tally.got_through).collect();
    let mut times: Vec<_> = tallies.iter().flat_map(|tally| &tally.times).collect();
    times.sort();
    for (took, name) in times.iter().rev().take(3) {
        println!("  {took:.1?}: {name}");
    }
    journeyman_test_support::tally::tell(
        &format!("trees and contents, by {} gits", gits.len()),
        tried,
        &got_through,
    );
}

/// Sets traps that run code if anyone works with the repository instead of reading it.
fn set_traps(house: &ImportFixture, trip: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let origin = house.agent.origin.path();
    let trap = origin.join("trap.sh");
    std::fs::write(&trap, format!("#!/bin/sh\n/usr/bin/touch {}\n/bin/cat\n", trip.display())).unwrap();
    std::fs::set_permissions(&trap, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::create_dir_all(origin.join("hooks")).unwrap();
    for hook in ["reference-transaction", "post-checkout", "post-index-change", "update"] {
        std::fs::copy(&trap, origin.join("hooks").join(hook)).unwrap();
    }
    let mut config = house.agent.origin.config().unwrap().open_level(git2::ConfigLevel::Local).unwrap();
    let trap = trap.to_str().unwrap();
    for key in ["core.fsmonitor", "filter.x.smudge", "filter.x.clean", "diff.external", "core.sshCommand"] {
        config.set_str(key, trap).unwrap();
    }
    std::fs::create_dir_all(origin.join("info")).unwrap();
    std::fs::write(origin.join("info/attributes"), "* filter=x\n").unwrap();
}

#[test]
fn what_an_honest_agent_does_comes_through() {
    let house = ImportFixture::new(&gits()[0]);
    let honest =
        |files: &[(&str, &str)]| house.try_to_get_out(&HostilePush::Tree(house.agent.with_files(files)));
    for files in [
        &[("src/sum.py", "def add(a, b):\n    return a + b\n")][..],
        &[("docs/caf\u{e9}.md", "x"), ("docs/日本語/a b.txt", "x"), ("a/b/c/d/e/f/g/h.txt", "x")],
        &[("latest", "-> docs/sub/x"), ("docs/readme", "-> ../README.md"), ("src/docs", "-> ../docs/sub")],
        // Existing entries may be edited, whatever their names and contents.
        &[("old/aux.c", "int y;\n")],
        &[("keys/sample.txt", &format!("# for tests\nid = {}\n", contents::access_key()))],
        &[("keys/moved.txt", &format!("id = {}\n", contents::access_key()))],
        &[(".gitattributes", "*.psd filter=lfs\n*.md text\n")],
    ] {
        let outcome = honest(files);
        let ImportOutcome::Imported { warnings, changed, .. } = &outcome else {
            panic!("{files:?}: {outcome:?}")
        };
        assert_eq!(changed.len(), files.len(), "{outcome:?}");
        let told: Vec<_> = warnings.iter().filter_map(|warning| warning.location.as_deref()).collect();
        assert!(told.is_empty() || told == [".gitattributes"], "{outcome:?}");
    }
    // A folder may become a link, and a link a folder, if nothing is misled.
    let outcome = honest(&[("Cargo.toml", "[package]\n"), ("tool", "\u{7f}ELF\u{2}"), ("COM1", "x")]);
    let ImportOutcome::Imported { warnings, .. } = outcome else { panic!("{outcome:?}") };
    let told: Vec<_> = warnings.iter().filter_map(|warning| warning.location.as_deref()).collect();
    assert_eq!(told, ["COM1", "Cargo.toml", "tool"]);
}
