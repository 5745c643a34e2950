//! A verdict that can be believed, beside the one run of the tests that it is about: what the base commit, the new tests
//! on the old code and the reading of the change cost, and what keeping the base's run saves.

use std::path::Path;
use std::time::{Duration, Instant};

use journeyman::engine::testing::{Ask, Testing};
use journeyman::order::{Proof, RepositoryName, RepositorySettings, TestVerdict};
use journeyman::sandbox::{Mode, Sandbox};
use journeyman::workspace::Workspaces;

use super::{heading, line, middle_and_tail, ratio};

const TIMES: usize = 7;

pub async fn measure() {
    for (sample, command) in
        [("python-fixes-with-test", "python3 -m unittest"), ("rust-fixes-with-test", "cargo test")]
    {
        heading(&format!("verdict: a fix with its test, `{command}`"));
        let folder = tempfile::tempdir().expect("a folder");
        let repository: RepositoryName = "ada/sample".parse().expect("a name");
        let (before, after, tree) = commits(sample, &folder.path().join("repository"));
        let (mut alone, mut first, mut again) = (Vec::new(), Vec::new(), Vec::new());
        for turn in 0..TIMES {
            let workspaces = Workspaces::new(&folder.path().join(format!("data-{turn}"))).expect("a folder");
            workspaces.borrow(&repository, &folder.path().join("repository")).expect("the commits");
            let testing = Testing {
                sandbox: Sandbox::new(Mode::Bubblewrap, vec![]).await.expect("bubblewrap"),
                workspaces,
                setup_time: Duration::from_secs(120),
                test_time: Duration::from_secs(120),
                setup_network: vec![],
                test_network: vec![],
            };
            let ask = |base: git2::Oid| Ask {
                repository: repository.clone(),
                base: base.to_string().parse().expect("a commit"),
                commit: after.to_string().parse().expect("a commit"),
                tree: tree.to_string().parse().expect("a tree"),
                settings: RepositorySettings {
                    test: Some(command.to_owned()),
                    ..RepositorySettings::default()
                },
                folder: folder.path().join("tests"),
            };
            // Held against itself a commit is run, and nothing else.
            for (base, times) in [(after, &mut alone), (before, &mut first), (before, &mut again)] {
                let begun = Instant::now();
                let run = testing.run(&ask(base)).await.expect("a verdict").run;
                times.push(begun.elapsed());
                assert_eq!(run.verdict, TestVerdict::Passed);
                if let Some(scrutiny) = run.scrutiny {
                    assert!(matches!(scrutiny.proof, Proof::Proven { .. }));
                }
            }
        }
        let (alone, _) = middle_and_tail(alone);
        line("one run of the tests, checked out afresh", alone, "");
        let (first, _) = middle_and_tail(first);
        line("with the base commit, and red then green", first, &format!("{} that", ratio(first, alone)));
        let (again, _) = middle_and_tail(again);
        line("the same, the base's run kept", again, &format!("{} that", ratio(again, alone)));
    }
}

/// Both sides of a change as commits, and the tree of the second.
fn commits(sample: &str, at: &Path) -> (git2::Oid, git2::Oid, git2::Oid) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/changes/honest").join(sample);
    let repository = git2::Repository::init(at).expect("a repository");
    let time = git2::Time::new(1_700_000_000, 0);
    let who = git2::Signature::new("Ada", "ada@example.org", &time).expect("a name");
    let commit = |side: &str, parent: Option<git2::Oid>| {
        let tree = tree(&repository, &folder.join(side));
        let parent = parent.map(|parent| repository.find_commit(parent).expect("the parent"));
        let parents: Vec<&git2::Commit<'_>> = parent.iter().collect();
        let found = repository.find_tree(tree).expect("the tree");
        (repository.commit(None, &who, &who, side, &found, &parents).expect("a commit"), tree)
    };
    let (before, _) = commit("before", None);
    let (after, tree) = commit("after", Some(before));
    (before, after, tree)
}

fn tree(repository: &git2::Repository, folder: &Path) -> git2::Oid {
    let mut builder = repository.treebuilder(None).expect("a tree");
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let (id, mode) = match path.is_dir() {
            true => (tree(repository, &path), 0o40_000),
            false => (repository.blob(&std::fs::read(&path).expect("bytes")).expect("a blob"), 0o100_644),
        };
        builder.insert(path.file_name().expect("a name"), id, mode).expect("an entry");
    }
    builder.write().expect("the tree")
}
