//! Work that starts elsewhere than at the base: with a person's commit on top of ours.

use std::collections::BTreeMap;

use super::artifacts::artifact;
use super::given::api;
use super::{EffectsFixture, REPOSITORY, key};
use chrono::DateTime;
use journeyman_order::moves::{AgentAnswerFormat, AgentTask};
use journeyman_order::{AgentRun, CommitSha, EffectOutcome, JournalEvent, Move};

impl EffectsFixture {
    /// A person pushes these files.
    async fn person_pushes(&self, branch: &str, files: &[(&str, &str)]) -> CommitSha {
        let files: BTreeMap<String, Option<Vec<u8>>> =
            files.iter().map(|(path, text)| ((*path).to_owned(), Some(text.as_bytes().to_vec()))).collect();
        let pushed = self.emulator.push_commit(REPOSITORY, branch, "mona", "By a person", files).await;
        pushed.expect("it is pushed").parse().expect("a commit")
    }

    async fn push_over(&self, name: &str, commit: &CommitSha, lease: Option<&CommitSha>) -> EffectOutcome {
        let (branch, commit, lease) = (self.branch.clone(), commit.clone(), lease.cloned());
        self.make(name, Move::Push { branch, commit, lease }).await
    }

    fn from(&self, start: &CommitSha) -> AgentTask {
        AgentTask { start: Some(start.clone()), ..self.task() }
    }

    async fn imported(&self, name: &str, base: &CommitSha) -> EffectOutcome {
        self.make(name, Move::Import { branch: self.branch.clone(), base: base.clone() }).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_artifact_is_written_where_its_work_begins() {
    let world = EffectsFixture::new().await;
    let write = async |name: &str, start: Option<&CommitSha>, files: &[(&str, &str)]| {
        let agent = format!("{name}/agent");
        let task =
            AgentTask { start: start.cloned(), answers: AgentAnswerFormat::CodeArtifact, ..world.task() };
        world.intend(&agent, &Move::RunAgent(task)).await;
        let run = AgentRun { result: Some(artifact(files)), ..AgentRun::default() };
        world
            .write(JournalEvent::Observed {
                key: key(&agent),
                outcome: Box::new(EffectOutcome::AgentRan(Box::new(run))),
            })
            .await;
        let (branch, artifact) = (world.branch.clone(), "CODE-001".to_owned());
        let outcome = world
            .make(&format!("{name}/write"), Move::WriteArtifact { answer: key(&agent), branch, artifact })
            .await;
        assert_eq!(outcome, EffectOutcome::ArtifactWritten);
    };
    write(
        "work/1",
        None,
        &[("sums.py", "def add(a, b):\n    return a + b\n"), ("one.txt", "the first file\n")],
    )
    .await;
    let (ours, ..) = world.import("work/1").await;
    assert_eq!(world.push_over("work/1/push", &ours, None).await, EffectOutcome::Pushed);
    let theirs = world.person_pushes(world.branch.as_str(), &[("two.txt", "the second file\n")]).await;
    world.make("take/1", Move::TakeIn { branch: world.branch.clone(), head: theirs.clone() }).await;
    let agents = api();
    let task = AgentTask { answers: AgentAnswerFormat::CodeArtifact, ..world.from(&theirs) };
    let given = world.given(task, agents.get("engineer").unwrap()).await;
    let tree = &given["the repository's tree"];
    assert!(
        tree.contains(theirs.short()) && tree.contains("\ntwo.txt\n"),
        "the start is what is shown: {tree}"
    );
    write(
        "answer/1",
        Some(&theirs),
        &[("three.txt", "the third file\n"), ("wrong.txt", "a file too many\n")],
    )
    .await;
    // If the next answer omits a file, only what was written since is undone.
    write("answer/2", Some(&theirs), &[("three.txt", "the third, better\n")]).await;
    let EffectOutcome::Imported { tree, changed, .. } = world.imported("answer/2/import", &theirs).await
    else {
        panic!("not imported")
    };
    assert_eq!(changed, ["three.txt"]);
    let commit = Move::Commit {
        tree,
        parent: theirs,
        merges: None,
        message: "Three".to_owned(),
        date: DateTime::UNIX_EPOCH,
    };
    let EffectOutcome::Committed { commit, .. } = world.make("answer/2/commit", commit).await else {
        panic!()
    };
    assert_eq!(world.file(&commit, "one.txt").as_deref(), Some("the first file\n"), "of the work before");
    assert_eq!(world.file(&commit, "two.txt").as_deref(), Some("the second file\n"), "a person's");
}
