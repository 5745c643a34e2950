//! A verdict that can be believed, beside the one run of the tests that it is about: what the base commit, the new tests
//! on the old code and the reading of the change cost, and what keeping the base's run saves.

#[path = "../../tests/cheats/commits.rs"]
mod commits;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use journeyman::engine::testing::{CommitTester, TestRunRequest};
use journeyman::order::scrutiny::ProofTarget;
use journeyman::order::{PinnedImages, RepositoryName, RepositorySettings, TestVerdict, TestingSettings};
use journeyman::sandbox::{IsolationMode, Sandbox};
use journeyman::workspace::Workspaces;

use commits::Commits;

use super::{heading, line, middle_and_tail, ratio};

const TIMES: usize = 5;

/// What a verdict is measured on.
struct Sample {
    name: String,
    repository: PathBuf,
    commits: Commits,
    command: String,
}

/// The samples of this repository, and one of your own: `JOURNEYMAN_BENCH_CHANGE="FOLDER BASE COMMIT COMMAND…"`.
pub async fn measure() {
    if let Ok(own) = std::env::var("JOURNEYMAN_BENCH_CHANGE") {
        return verdict_of(&Sample::of(&own).expect("FOLDER BASE COMMIT COMMAND…")).await;
    }
    for (sample, command) in
        [("python-fixes-with-test", "python3 -m unittest"), ("rust-fixes-with-test", "cargo test")]
    {
        let folder = tempfile::tempdir().expect("a folder");
        let git = git2::Repository::init(folder.path()).expect("a repository");
        let change = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/changes/honest").join(sample);
        let commits = commits::commits(&git, &change);
        let (name, repository) = ("a fix with its test".to_owned(), folder.path().to_owned());
        verdict_of(&Sample { name, repository, commits, command: command.to_owned() }).await;
    }
}

impl Sample {
    fn of(words: &str) -> Option<Self> {
        let mut words = words.splitn(4, ' ');
        let repository = PathBuf::from(words.next()?);
        let git = git2::Repository::open(&repository).ok()?;
        let mut commit = || git.revparse_single(words.next()?).ok()?.peel_to_commit().ok();
        let (base, commit) = (commit()?, commit()?);
        let commits = Commits { before: base.id(), after: commit.id(), tree: commit.tree_id() };
        let name = format!("{} {:.10}", repository.file_name()?.display(), commits.after.to_string());
        Some(Self { name, repository: repository.clone(), commits, command: words.next()?.to_owned() })
    }
}

async fn verdict_of(sample: &Sample) {
    let Sample { name, repository: place, commits: Commits { before, after, tree }, command } = sample;
    heading(&format!("verdict: {name}, `{command}`"));
    let folder = tempfile::tempdir().expect("a folder");
    let repository: RepositoryName = "ada/sample".parse().expect("a name");
    let (mut alone, mut first, mut again) = (Vec::new(), Vec::new(), Vec::new());
    for turn in 0..TIMES {
        let workspaces = Workspaces::new(&folder.path().join(format!("data-{turn}"))).expect("a folder");
        workspaces.import_local(&repository, place).expect("the commits");
        let testing = CommitTester::new(
            Sandbox::new(IsolationMode::Bubblewrap, vec![]).await.expect("bubblewrap"),
            workspaces,
            TestingSettings {
                setup_time: Duration::from_secs(120),
                test_time: Duration::from_secs(600),
                ..TestingSettings::default()
            },
        )
        .await
        .expect("a tester");
        let ask = |base: git2::Oid| TestRunRequest {
            repository: repository.clone(),
            base: base.to_string().parse().expect("a commit"),
            base_is_of_the_default_branch: true,
            commit: after.to_string().parse().expect("a commit"),
            tree: tree.to_string().parse().expect("a tree"),
            settings: RepositorySettings { test: Some(command.clone()), ..RepositorySettings::default() },
            issue: String::new(),
            images: PinnedImages::default(),
            folder: folder.path().join("tests"),
            environments: folder.path().join("environments"),
        };
        // Held against itself a commit is run, and nothing else.
        for (base, times) in [(*after, &mut alone), (*before, &mut first), (*before, &mut again)] {
            let begun = Instant::now();
            let run = testing.run(&ask(base)).await.expect("a verdict").run;
            times.push(begun.elapsed());
            assert_eq!(run.verdict, TestVerdict::Passed, "{}", run.tail);
            if let Some(scrutiny) = run.scrutiny {
                assert_eq!(scrutiny.unproven(ProofTarget::Fix), None, "{scrutiny:#?}");
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
