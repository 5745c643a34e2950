//! What an agent pushes: a commit and trees made byte by byte, unlike any git's, on their way through the airlock.
//! Independent code then reads the result.
//!
//! An input of one part is a raw export. Of two parts, the first is the commit's message and the second a tree, one
//! entry per line: `MODE NAME<tab>CONTENT`. `(NAME` opens a folder and `)` closes it; content `=` repeats the last
//! folder. Control-A stands for a newline; a first line `unsorted` keeps order and duplicates.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use git2::{ObjectType, Oid, Repository};
use journeyman::order::{BranchName, CommitSha, OrderId, RepositoryName};
use journeyman::workspace::{ImportOutcome, ImportRules, SecretSet, Workspaces, default_protected};
use secrecy::SecretString;
use tempfile::TempDir;

use super::parts;

pub const WORDS: &[&str] = &[
    "\n100644 ",
    "\n100755 ",
    "\n120000 link\t",
    "\n40000 ",
    "\n160000 sub\t=",
    "\n040000 ",
    "\n100664 x\t",
    "\n(",
    "\n)\n",
    "\t=",
    "..",
    ".git",
    ".GIT",
    "git~1",
    ".g\u{200c}it",
    ".git\u{301}",
    ".git::$INDEX_ALLOCATION",
    "\\",
    "../",
    "../../x",
    "/etc/passwd",
    "src/../../x",
    ".github",
    "AGENTS.md",
    "CLAUDE.md",
    ".gitmodules",
    ".gitattributes\t* filter=x working-tree-encoding=UTF-16\u{1}",
    "HEAD\tref: refs/heads/main",
    "(objects\n)\n(refs\n)",
    "commondir",
    "CON",
    "nul.txt",
    "a.",
    "a ",
    "README.MD",
    "readme.md",
    "unsorted\n",
    CANARY,
    "ghs_q7Zx2Lm9Rt4Vb8Nc",
    "<<<<<<< ",
    ">>>>>>> ",
    "\u{1}",
    "fixes #1",
    "\u{202e}",
    "K",
    "\u{212a}",
    "\u{17f}",
    "\u{7f}ELF",
];

/// A secret of ours that the agent has but should not.
const CANARY: &str = "ghs_q7Zx2Lm9Rt4Vb8Nc1Kd6Wf3Hj5Pg0Ys2Ta";
/// Recreate the folders after this many cases, because imported objects accumulate.
const MOST_CASES: u32 = 4_000;

thread_local! {
    static HOUSE: RefCell<Option<(House, u32)>> = const { RefCell::new(None) };
}

/// Pushes it and reads what was imported.
pub fn trees(bytes: &[u8]) {
    HOUSE.with_borrow_mut(|kept| {
        if kept.as_ref().is_none_or(|(_, cases)| *cases >= MOST_CASES) {
            *kept = Some((House::new(), 0));
        }
        if let Some((house, cases)) = kept {
            *cases += 1;
            house.push(bytes);
        }
    });
}

struct House {
    data: TempDir,
    workspaces: Workspaces,
    repository: RepositoryName,
    base: CommitSha,
    known: SecretSet,
    protected: Vec<String>,
}

impl House {
    fn new() -> Self {
        let data = tempfile::tempdir().unwrap();
        let workspaces = Workspaces::new(data.path()).unwrap();
        let repository: RepositoryName = "octo/sums".parse().unwrap();
        let mirror = data.path().join("mirrors/octo/sums.git");
        // Requesting a missing commit creates the mirror.
        let nothing = "0".repeat(40).parse().unwrap();
        assert!(workspaces.create_origin(order(), &repository, &nothing, "main", None).is_err());
        let mirror = Repository::open_bare(mirror).unwrap();
        let base = base(&mirror).to_string().parse().unwrap();
        let known = SecretSet::new([("token".to_owned(), SecretString::from(CANARY.to_owned()))]);
        let protected = default_protected();
        Self { data, workspaces, repository, base, known, protected }
    }

    fn push(&self, bytes: &[u8]) {
        let export = self.data.path().join("export");
        let parts = parts(bytes);
        match parts.as_slice() {
            [message, tree, ..] => std::fs::write(&export, exported(message, tree, &self.base)).unwrap(),
            [] | [_] => std::fs::write(&export, bytes).unwrap(),
        }
        let branch: BranchName = "journeyman/issue-1-sum".parse().unwrap();
        let rules = ImportRules {
            branch: &branch,
            protected: &self.protected,
            secrets: &self.known,
            allowed_secrets: &[],
        };
        // Whatever an agent does is an outcome, never an error.
        let outcome = self.workspaces.import(order(), &self.repository, &self.base, &export, rules).unwrap();
        match outcome {
            ImportOutcome::Imported { tree, message, changed, warnings, .. } => {
                assert!(changed.is_sorted() && changed.len() <= 1_000 && warnings.len() <= 50);
                assert!(!message.unwrap_or_default().contains(CANARY));
                let ours = Repository::open_bare(self.data.path().join("commits/octo/sums.git")).unwrap();
                let paths = Paths::of(&ours, Oid::from_str(tree.as_str()).unwrap());
                paths.are_sound();
                changed.iter().for_each(|path| is_free(path));
            }
            ImportOutcome::NothingPushed { because } => {
                assert!(because.chars().count() <= 1_200 && !because.contains(CANARY), "{because}");
            }
            ImportOutcome::Refused(feedback) => {
                assert!(!feedback.passed && feedback.issues.len() <= 60, "{}", feedback.issues.len());
                for text in feedback.issues.iter().map(|issue| &issue.description).chain([&feedback.summary])
                {
                    assert!(text.len() <= 40_000 && !text.contains(CANARY), "{text}");
                }
            }
        }
    }
}

fn order() -> OrderId {
    "019a0000-0000-7000-8000-000000000001".parse().unwrap()
}

/// The initial work: a file, a folder, a link.
fn base(mirror: &Repository) -> Oid {
    let odb = mirror.odb().unwrap();
    let blob = |bytes: &[u8]| odb.write(ObjectType::Blob, bytes).unwrap();
    let mut source = Vec::new();
    entry(&mut source, b"100644", b"sum.py", blob(b"def add(a, b):\n    return a - b\n"));
    let source = odb.write(ObjectType::Tree, &source).unwrap();
    let mut root = Vec::new();
    entry(&mut root, b"100644", b"README.md", blob(b"sums\n"));
    entry(&mut root, b"40000", b"src", source);
    entry(&mut root, b"120000", b"walk", blob(b"README.md"));
    let root = odb.write(ObjectType::Tree, &root).unwrap();
    let who = git2::Signature::new("A", "a@example.org", &git2::Time::new(1, 0)).unwrap();
    mirror.commit(None, &who, &who, "Begin", &mirror.find_tree(root).unwrap(), &[]).unwrap()
}

fn entry(tree: &mut Vec<u8>, mode: &[u8], name: &[u8], id: Oid) {
    tree.extend_from_slice(mode);
    tree.push(b' ');
    tree.extend_from_slice(name);
    tree.push(0);
    tree.extend_from_slice(id.as_bytes());
}

type Entries = Vec<(Vec<u8>, Vec<u8>, Oid)>;

/// The export of a commit with this tree.
fn exported(message: &[u8], description: &[u8], base: &CommitSha) -> Vec<u8> {
    let mut objects = Vec::new();
    let mut add = |kind: ObjectType, bytes: &[u8]| {
        let id = Oid::hash_object(kind, bytes).unwrap();
        objects.extend_from_slice(format!("{id} {} {}\n", kind.str(), bytes.len()).as_bytes());
        objects.extend_from_slice(bytes);
        objects.push(b'\n');
        id
    };
    let is_sorted = !description.starts_with(b"unsorted\n");
    let mut folders: Vec<(Vec<u8>, Entries)> = vec![(Vec::new(), Vec::new())];
    let mut last = Oid::ZERO_SHA1;
    for line in description.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let raw = |text: &[u8]| -> Vec<u8> {
            text.iter().map(|byte| if *byte == 1 { b'\n' } else { *byte }).filter(|byte| *byte != 0).collect()
        };
        match line {
            [b'(', name @ ..] => folders.push((raw(name), Vec::new())),
            b")" if folders.len() > 1 => {
                let Some((name, entries)) = folders.pop() else { break };
                last = add(ObjectType::Tree, &tree(entries, is_sorted));
                if let Some((_, outer)) = folders.last_mut() {
                    outer.push((b"40000".to_vec(), name, last));
                }
            }
            other => {
                let mut halves = other.splitn(2, |byte| *byte == b'\t');
                let (head, content) = (halves.next().unwrap_or_default(), halves.next().unwrap_or_default());
                let mut words = head.splitn(2, |byte| *byte == b' ');
                let (mode, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
                // Treat nonsense as a file: unreadable trees are rejected early.
                let is_mode = !name.is_empty() && mode.iter().all(|byte| (b'0'..b'8').contains(byte));
                let (mode, name) = if is_mode { (mode, name) } else { (b"100644".as_slice(), head) };
                let id = if content == b"=" { last } else { add(ObjectType::Blob, &raw(content)) };
                if let Some((_, entries)) = folders.last_mut() {
                    entries.push((raw(mode), raw(name), id));
                }
            }
        }
    }
    // Close what was left open.
    while let Some((name, entries)) = folders.pop() {
        last = add(ObjectType::Tree, &tree(entries, is_sorted));
        if let Some((_, outer)) = folders.last_mut() {
            outer.push((b"40000".to_vec(), name, last));
        }
    }
    let who = "A <a@example.org> 1700000000 +0000";
    let mut commit = format!("tree {last}\nparent {base}\nauthor {who}\ncommitter {who}\n\n").into_bytes();
    commit.extend_from_slice(message);
    let commit = add(ObjectType::Commit, &commit);
    [format!("{commit}\n").as_bytes(), &objects].concat()
}

fn tree(mut entries: Entries, is_sorted: bool) -> Vec<u8> {
    if is_sorted {
        let key = |(mode, name, _): &(Vec<u8>, Vec<u8>, Oid)| {
            let mut key = name.clone();
            key.extend_from_slice(if mode == b"40000" { b"/" } else { b"" });
            key
        };
        entries.sort_by_key(key);
        let mut seen = BTreeSet::new();
        entries.retain(|(_, name, _)| !name.is_empty() && seen.insert(name.clone()));
    }
    let mut bytes = Vec::new();
    for (mode, name, id) in &entries {
        entry(&mut bytes, mode, name, *id);
    }
    bytes
}

/// An imported tree: every file with its content, every link with its target.
#[derive(Default)]
struct Paths {
    files: BTreeMap<String, Vec<u8>>,
    links: BTreeMap<String, String>,
}

impl Paths {
    fn of(repository: &Repository, root: Oid) -> Self {
        let mut paths = Self::default();
        let mut folders = vec![(root, String::new())];
        while let Some((id, folder)) = folders.pop() {
            let found = repository.find_tree(id).expect("a tree is whole");
            let mut folded = BTreeSet::new();
            for entry in found.iter() {
                let name = entry.name().expect("a name is UTF-8");
                is_plain(name);
                assert!(folded.insert(name.to_lowercase()), "{folder}{name} is there twice but for case");
                let path = format!("{folder}{name}");
                let read = || repository.find_blob(entry.id()).expect("a file is there").content().to_vec();
                match entry.filemode_raw() {
                    0o040_000 => folders.push((entry.id(), format!("{path}/"))),
                    0o100_644 | 0o100_755 => drop(paths.files.insert(path, read())),
                    0o120_000 => {
                        drop(paths.links.insert(path, String::from_utf8(read()).expect("a link is UTF-8")))
                    }
                    other => panic!("{path} has the mode {other:o}"),
                }
            }
        }
        paths
    }

    fn are_sound(&self) {
        for (path, content) in &self.files {
            let holds = content.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
            assert!(!holds && !path.contains(CANARY), "{path} holds the secret");
        }
        for (path, target) in &self.links {
            assert!(!target.contains(CANARY) && !target.contains(['\\', '\0']), "{path} leads to {target:?}");
            self.leads_inside(path);
        }
    }

    /// Resolves a link like an operating system.
    fn leads_inside(&self, link: &str) {
        let mut here: Vec<String> = link.split('/').map(str::to_owned).collect();
        here.pop();
        let mut ahead = vec![link.rsplit('/').next().unwrap_or_default().to_owned()];
        for _ in 0..10_000 {
            let Some(part) = ahead.pop() else { return };
            match part.as_str() {
                "" | "." => {}
                ".." => assert!(here.pop().is_some(), "{link} leads out"),
                name => {
                    assert!(!name.eq_ignore_ascii_case(".git"), "{link} leads into .git");
                    here.push(name.to_owned());
                    if let Some(target) = self.links.get(&here.join("/")) {
                        assert!(!target.starts_with('/'), "{link} leads to {target}");
                        here.pop();
                        ahead.extend(target.split('/').rev().map(str::to_owned));
                    }
                }
            }
        }
        panic!("{link} leads in a circle");
    }
}

/// Checks for a single path component that is the same on every machine.
fn is_plain(name: &str) {
    let seen: String = name.chars().filter(|c| !journeyman::order::commit_message::is_hidden(*c)).collect();
    assert_eq!(seen, name, "it has what cannot be seen");
    let path = PathBuf::from(name);
    assert!(
        matches!(path.components().collect::<Vec<_>>()[..], [std::path::Component::Normal(_)]),
        "{name:?}"
    );
    assert!(!name.contains(['/', '\\', ':']) && !name.ends_with(['.', ' ']) && name.len() <= 255, "{name:?}");
    let lower = name.to_lowercase();
    let is_short =
        lower.strip_prefix("git~").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    assert!(
        lower != ".git" && !(is_short && lower.bytes().skip(4).all(|byte| byte.is_ascii_digit())),
        "{name:?}"
    );
}

/// Checks that a path controls neither the machine, agents nor git.
fn is_free(path: &str) {
    let lower = path.to_lowercase();
    let last = Path::new(&lower).file_name().unwrap_or_default();
    let steers = lower.starts_with(".github/")
        || ["agents.md", "claude.md", "codeowners"].iter().any(|name| last == *name);
    assert!(!steers, "{path} is protected");
}
