//! Whole files become one commit in the agent's repository, however often it is tried.

use serde_json::json;

use super::{EffectsFixture, key};
use journeyman_order::{AgentRun, CommitSha, EffectOutcome, JournalEvent, Move};

const SUMS: &str = "def add(a, b):\n    return a + b\n";

pub(super) fn artifact(files: &[(&str, &str)]) -> String {
    let files: Vec<_> = files
        .iter()
        .map(|(path, content)| {
            json!({"file_path": path, "file_type": "implementation", "content": content,
                "description": format!("what {path} is for"), "story_ids": ["US-001"]})
        })
        .collect();
    json!({"artifact_id": "CODE-001", "files": files}).to_string()
}

impl EffectsFixture {
    /// Writes an agent's answer to the journal.
    async fn answered(&self, name: &str, files: &[(&str, &str)]) {
        let run = AgentRun { result: Some(artifact(files)), ..AgentRun::default() };
        self.write(JournalEvent::Observed {
            key: key(name),
            outcome: Box::new(EffectOutcome::AgentRan(Box::new(run))),
        })
        .await;
    }

    fn written(&self, answer: &str) -> Move {
        Move::WriteArtifact {
            answer: key(answer),
            branch: self.branch.clone(),
            artifact: "CODE-001".to_owned(),
        }
    }

    /// Where the branch is in the agent's origin, read with plain git. Only a test may do that.
    fn origin(&self, what: &str) -> String {
        git(&self.places().origin, &["rev-parse", what])
    }

    fn head(&self) -> String {
        self.origin(&format!("refs/heads/{}", self.branch))
    }
}

fn git(folder: &std::path::Path, arguments: &[&str]) -> String {
    let said = std::process::Command::new("git")
        .args(["-c", "safe.directory=*"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("git runs");
    assert!(said.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8_lossy(&said.stdout).trim().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_artifact_is_written_committed_and_pushed() {
    let world = EffectsFixture::new().await;
    let files = [
        ("sums.py", SUMS),
        ("run.sh", "#!/bin/sh\nexec python3 -m unittest -v\n"),
        ("docs/a b/ünï \"quoted\".md", "Zwölf \u{1f389} lines, and no end"),
        ("-rf", "a name like an option\n"),
    ];
    // The worker before it made a file executable, and put a link where a folder belongs.
    world
        .agent(
            "work/1/agent",
            world.task(),
            "chmod +x sums.py; ln -s sums.py docs; git add -A; git commit -qm 'Make it run'; git push -q",
        )
        .await;
    world.answered("work/2/agent", &files).await;
    assert_eq!(
        world.make("work/2/write", world.written("work/2/agent")).await,
        EffectOutcome::ArtifactWritten
    );
    let (commit, patch, changed) = world.import("work/2").await;
    assert_eq!(changed, ["-rf", "docs/a b/ünï \"quoted\".md", "run.sh", "sums.py"]);
    for (path, content) in files {
        assert_eq!(world.file(&commit, path).as_deref(), Some(content), "{path}");
    }
    assert!(patch.contains("old mode 100644\nnew mode 100755\n"), "{patch}");
    let message = git(&world.places().origin, &["log", "-1", "--format=%an <%ae>%n%B", &world.head()]);
    assert_eq!(
        message.lines().take(4).collect::<Vec<_>>(),
        [
            "Journeyman's agent <agent@journeyman.invalid>",
            "Mend the sum",
            "",
            "- sums.py: what sums.py is for"
        ]
    );
    // The work tree is at that commit too, for the next worker.
    let look = "git status --porcelain; git rev-parse HEAD";
    let seen = world.agent("work/2/agent", world.task(), look).await.result;
    assert_eq!(seen, Some(world.head()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn written_again_it_is_the_same_commit_whatever_the_moment_of_the_crash() {
    let world = EffectsFixture::new().await;
    world.answered("work/1/agent", &[("sums.py", SUMS)]).await;
    let write = world.written("work/1/agent");
    world.intend("work/1/write", &write).await;
    assert_eq!(world.attempt("work/1/write", write.clone()).await, EffectOutcome::ArtifactWritten);
    let once = world.head();
    // Written and pushed, but not observed.
    assert_eq!(world.attempt("work/1/write", write.clone()).await, EffectOutcome::ArtifactWritten);
    assert_eq!(world.head(), once);
    let branch = format!("refs/heads/{}", world.branch);
    // Written but not pushed, with the locks of a killed process.
    git(&world.places().origin, &["update-ref", "-d", &branch]);
    std::fs::write(world.places().work_written.join(".git/index.lock"), "").unwrap();
    assert_eq!(world.attempt("work/1/write", write.clone()).await, EffectOutcome::ArtifactWritten);
    assert_eq!(world.head(), once);
    // Neither, and the work tree is damaged.
    git(&world.places().origin, &["update-ref", "-d", &branch]);
    std::fs::remove_dir_all(world.places().work_written.join(".git")).unwrap();
    std::fs::write(world.places().work_written.join("sums.py"), "half of").unwrap();
    assert_eq!(world.attempt("work/1/write", write.clone()).await, EffectOutcome::ArtifactWritten);
    assert_eq!(world.head(), once);
    assert_eq!(std::fs::read_to_string(world.places().work_written.join("sums.py")).unwrap(), SUMS);
    // An artifact that changes nothing makes no commit.
    world.answered("work/2/agent", &[("sums.py", SUMS)]).await;
    assert_eq!(
        world.make("work/2/write", world.written("work/2/agent")).await,
        EffectOutcome::ArtifactWritten
    );
    assert_eq!(world.head(), once);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_it_writes_it_is_written_by_the_next_try() {
    let world = EffectsFixture::new().await;
    world.answered("work/1/agent", &[("sums.py", SUMS), ("big.txt", &"0123456789\n".repeat(300_000))]).await;
    let write = world.written("work/1/agent");
    world.intend("work/1/write", &write).await;
    for milliseconds in [5, 40, 80, 120, 160, 200, 240] {
        let most = std::time::Duration::from_millis(milliseconds);
        let _ = tokio::time::timeout(most, world.attempt("work/1/write", write.clone())).await;
    }
    assert_eq!(world.attempt("work/1/write", write).await, EffectOutcome::ArtifactWritten);
    let parent = world.origin(&format!("refs/heads/{}^", world.branch));
    assert_eq!(parent, world.origin("refs/heads/main"), "one commit on the base");
    let (commit, _, changed) = world.import("work/1").await;
    assert_eq!(changed, ["big.txt", "sums.py"]);
    assert_eq!(world.file(&commit, "sums.py").as_deref(), Some(SUMS));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_artifact_is_the_whole_change() {
    let world = EffectsFixture::new().await;
    let first = [("sums.py", SUMS), ("README.md", "Something else\n"), ("test_wrong.py", "assert False\n")];
    world.answered("work/1/agent", &first).await;
    world.make("work/1/write", world.written("work/1/agent")).await;
    let before = world.head();
    world.answered("work/2/agent", &[("sums.py", SUMS), ("test_right.py", "assert True\n")]).await;
    assert_eq!(
        world.make("work/2/write", world.written("work/2/agent")).await,
        EffectOutcome::ArtifactWritten
    );
    assert_eq!(world.origin(&format!("{}^", world.head())), before, "a second commit on the first");
    let (commit, _, changed): (CommitSha, _, _) = world.import("work/2").await;
    assert_eq!(changed, ["sums.py", "test_right.py"]);
    assert_eq!(world.file(&commit, "README.md").as_deref(), Some("Sums\n"), "as it was");
    assert_eq!(world.file(&commit, "test_wrong.py"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_without_an_artifact_is_never_written() {
    let world = EffectsFixture::new().await;
    let outcome = world.make("work/1/write", world.written("work/1/agent")).await;
    let EffectOutcome::Trouble(trouble) = outcome else { panic!("{outcome:?}") };
    assert!(trouble.message.contains("work/1/agent holds no code artifact"), "{}", trouble.message);
}
