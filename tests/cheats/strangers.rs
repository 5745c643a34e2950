//! Changes by people who had not seen the code, as texts: a base, the issue, and the change.

use std::collections::BTreeMap;
use std::path::Path;

use journeyman::order::IssueExamination;

use super::commits::Commits;

/// A file as written in the corpus.
#[derive(Debug, Clone)]
enum Entry {
    File { bytes: Vec<u8>, is_program: bool },
    Link(String),
}

/// One change.
#[derive(Debug)]
pub struct Stranger {
    pub name: String,
    pub about: String,
    /// The class that the agent claims.
    pub class: String,
    pub title: String,
    pub body: String,
    pub needs_pytest: bool,
    /// The examination by someone who only saw the issue and the base.
    pub examination: Option<IssueExamination>,
    before: BTreeMap<String, Entry>,
    after: BTreeMap<String, Entry>,
}

/// Changes for another issue than the one of their base that somebody examined.
const OF_ANOTHER_ISSUE: [&str; 3] =
    ["py-chore-rename-helper", "py-error-instead-of-silence", "rs-feature-signature"];

/// The corpus folder: `strangers`, or `examined`, whose issues have an independent examination.
fn folder(corpus: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/changes").join(corpus)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A text's sections: what comes before the first, and each heading with its text.
fn sections(text: &str) -> (String, Vec<(String, String)>) {
    let (mut head, mut found): (String, Vec<(String, String)>) = (String::new(), Vec::new());
    for line in text.split_inclusive('\n') {
        if let Some(title) = line.strip_prefix("=== ") {
            found.push((title.trim_end().to_owned(), String::new()));
        } else {
            found.last_mut().map_or(&mut head, |(_, below)| below).push_str(line);
        }
    }
    (head, found)
}

/// Applies sections to a tree.
fn lay(tree: &mut BTreeMap<String, Entry>, sections: &[(String, String)]) {
    for (title, below) in sections {
        let (kind, path) = title.split_once(' ').unwrap_or_else(|| panic!("a section called {title}"));
        let (kind, text) = match kind.strip_suffix("-without-newline") {
            Some(kind) => (kind, below.strip_suffix('\n').unwrap_or(below)),
            None => (kind, below.as_str()),
        };
        let bytes = text.as_bytes().to_vec();
        let entry = match kind {
            "file" => Entry::File { bytes, is_program: false },
            "program" => Entry::File { bytes, is_program: true },
            "link" => Entry::Link(text.trim_end().to_owned()),
            "gone" => {
                assert!(tree.remove(path).is_some(), "{path} was not there");
                continue;
            }
            unknown => panic!("a section of kind {unknown}"),
        };
        tree.insert(path.to_owned(), entry);
    }
}

fn stranger(folder: &Path, path: &Path) -> Stranger {
    let (head, mut found) = sections(&read(path));
    let fact = |key: &str| {
        let line = head.lines().find_map(|line| line.strip_prefix(&format!("{key}: ")));
        line.unwrap_or_default().to_owned()
    };
    let (_, issue) = found.remove(0);
    let (title, body) = issue.split_once('\n').unwrap_or((&issue, ""));
    let base = fact("base");
    let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
    let examination = folder.join("examinations").join(format!("{base}.json"));
    let is_examined = examination.exists() && !OF_ANOTHER_ISSUE.contains(&name.as_str());
    let examination =
        is_examined.then(|| IssueExamination::parse(&read(&examination)).expect("an examination"));
    let (_, base) = sections(&read(&folder.join("bases").join(base + ".txt")));
    let mut before = BTreeMap::new();
    lay(&mut before, &base);
    let mut after = before.clone();
    lay(&mut after, &found);
    Stranger {
        name,
        about: fact("about"),
        class: fact("class"),
        title: title.trim_start_matches("# ").to_owned(),
        body: body.trim().to_owned(),
        needs_pytest: fact("needs") == "pytest",
        examination,
        before,
        after,
    }
}

/// All changes of a kind, sorted by name.
pub fn strangers(corpus: &str, kind: &str) -> Vec<Stranger> {
    let folder = folder(corpus);
    let listed = std::fs::read_dir(folder.join(kind)).expect("the corpus");
    let mut paths: Vec<_> = listed.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.iter().map(|path| stranger(&folder, path)).collect()
}

impl Stranger {
    pub fn language(&self) -> &str {
        self.name.split('-').next().unwrap_or_default()
    }

    /// What the repository configures for its tests.
    pub fn settings(&self) -> Option<&[u8]> {
        match self.before.get(".github/journeyman.yml")? {
            Entry::File { bytes, .. } => Some(bytes),
            Entry::Link(_) => None,
        }
    }

    pub fn commits(&self, repository: &git2::Repository) -> Commits {
        let time = git2::Time::new(1_700_000_000, 0);
        let who = git2::Signature::new("Ada", "ada@example.org", &time).expect("a name");
        let commit = |entries: &BTreeMap<String, Entry>, words: &str, parents: &[&git2::Commit<'_>]| {
            let tree = repository.find_tree(tree(repository, entries)).expect("the tree");
            repository.commit(None, &who, &who, words, &tree, parents).expect("a commit")
        };
        // Everyone who changed the same base shares one commit, so that its baseline is reused.
        let before = commit(&self.before, "base", &[]);
        let parent = repository.find_commit(before).expect("the base");
        Commits { before, after: commit(&self.after, &self.name, &[&parent]) }
    }
}

fn tree(repository: &git2::Repository, entries: &BTreeMap<String, Entry>) -> git2::Oid {
    let mut index = git2::Index::new().expect("an index");
    for (path, entry) in entries {
        let (bytes, mode) = match entry {
            Entry::File { bytes, is_program: true } => (bytes.as_slice(), 0o100_755),
            Entry::File { bytes, is_program: false } => (bytes.as_slice(), 0o100_644),
            Entry::Link(target) => (target.as_bytes(), 0o120_000),
        };
        let never = git2::IndexTime::new(0, 0);
        let entry = git2::IndexEntry {
            ctime: never,
            mtime: never,
            dev: 0,
            ino: 0,
            mode,
            uid: 0,
            gid: 0,
            file_size: 0,
            id: repository.blob(bytes).expect("a blob"),
            flags: 0,
            flags_extended: 0,
            path: path.clone().into_bytes(),
        };
        index.add(&entry).expect("an entry");
    }
    index.write_tree_to(repository).expect("the tree")
}
