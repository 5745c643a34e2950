//! Work that begins elsewhere than at the base: with a person's commit, with our own, with a conflict.

use std::collections::BTreeMap;

use super::artifacts::artifact;
use super::given::api;
use super::{EffectsFixture, REPOSITORY, key};
use chrono::DateTime;
use journeyman_order::conversation::BranchUpdateMethod;
use journeyman_order::moves::{AgentAnswerFormat, AgentTask, Retry};
use journeyman_order::{AgentRun, CommitSha, EffectOutcome, JournalEvent, Move};

const WORK: &str =
    "sed -i 's/a - b/a + b/' sums.py; mkdir -p .journeyman/plans; echo plan > .journeyman/plans/a.md
git commit -qam 'Mend the sum of two' && git push -q; echo done";

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

    /// The first round: worked, taken out, committed, pushed.
    async fn published(&self) -> CommitSha {
        self.agent("work/1/agent", self.task(), WORK).await;
        let (commit, ..) = self.import("work/1").await;
        assert_eq!(self.push_over("work/1/push", &commit, None).await, EffectOutcome::Pushed);
        commit
    }

    fn from(&self, start: &CommitSha) -> AgentTask {
        AgentTask { start: Some(start.clone()), ..self.task() }
    }

    async fn imported(&self, name: &str, base: &CommitSha) -> EffectOutcome {
        self.make(name, Move::Import { branch: self.branch.clone(), base: base.clone() }).await
    }

    async fn update(&self, name: &str, head: &CommitSha, how: BranchUpdateMethod) -> EffectOutcome {
        let date = DateTime::UNIX_EPOCH;
        self.make(name, Move::UpdateBranch { head: head.clone(), how, date }).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_round_starts_from_what_a_person_pushed() {
    let world = EffectsFixture::new().await;
    let prepared = world.journal().await;
    assert_eq!(prepared.prepared().unwrap().subjects.len(), 1, "{:?}", prepared.prepared());
    let ours = world.published().await;
    let heard = world.person_pushes(world.branch.as_str(), &[("one.txt", "1\n")]).await;
    let theirs = world.person_pushes(world.branch.as_str(), &[(".github/two.yml", "2\n")]).await;
    let taken = world.make("take/1", Move::TakeIn { branch: world.branch.clone(), head: heard }).await;
    let EffectOutcome::TakenIn { commit, changed, patch, .. } = taken else { panic!("{taken:?}") };
    assert_eq!(commit, theirs, "it has moved on meanwhile");
    assert_eq!(changed, [".github/two.yml", "one.txt", "sums.py"]);
    assert!(patch.contains("+    return a + b") && patch.contains("+++ b/.github/two.yml"), "{patch}");

    let script =
        "git rev-parse HEAD; ls; echo more >> one.txt; git commit -qam 'Say one more' && git push -q";
    let run = world.agent("answer/1/agent", world.from(&theirs), script).await;
    assert_eq!(
        run.result.unwrap_or_default(),
        format!("{theirs}\nREADME.md\none.txt\nrun.sh\nsums.py\n").trim()
    );
    let found =
        world.make("answer/1/plan", Move::FindFiles { glob: ".journeyman/plans/*.md".to_owned() }).await;
    let plans = vec![".journeyman/plans/a.md".to_owned()];
    assert_eq!(found, EffectOutcome::FilesFound { files: plans, content: Some("plan\n".to_owned()) });
    let EffectOutcome::Imported { tree, changed, .. } = world.imported("answer/1/import", &theirs).await
    else {
        panic!("not imported")
    };
    assert_eq!(changed, ["one.txt"]);
    let commit = Move::Commit {
        tree,
        parent: theirs.clone(),
        merges: None,
        message: "Say one more".to_owned(),
        date: DateTime::UNIX_EPOCH,
    };
    let committed = world.make("answer/1/commit", commit).await;
    let EffectOutcome::Committed { commit, patch } = committed else { panic!("{committed:?}") };
    assert!(
        patch.contains("+more") && patch.contains("+    return a + b"),
        "all that the branch changes: {patch}"
    );
    // What we pushed is not where the branch is; and over theirs nothing is pushed but what has theirs in it.
    let taken = EffectOutcome::BranchTaken { at: Some(theirs.clone()) };
    assert_eq!(world.push_over("answer/1/push", &commit, Some(&ours)).await, taken);
    assert_eq!(world.push_over("answer/2/push", &ours, Some(&theirs)).await, taken);
    assert_eq!(world.push_over("answer/3/push", &commit, Some(&theirs)).await, EffectOutcome::Pushed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_base_branch_is_brought_in_and_a_conflict_is_worked_on() {
    let world = EffectsFixture::new().await;
    let ours = world.published().await;
    assert_eq!(world.update("update/1", &ours, BranchUpdateMethod::Merge).await, EffectOutcome::UpToDate);
    world.person_pushes("main", &[("new.txt", "new\n")]).await;
    let updated = world.update("update/2", &ours, BranchUpdateMethod::Rebase).await;
    let EffectOutcome::BranchUpdated { commit, changed, .. } = updated else { panic!("{updated:?}") };
    assert_eq!(changed, ["sums.py"]);
    assert_eq!(world.file(&commit, "new.txt").as_deref(), Some("new\n"));
    assert_eq!(world.push_over("update/2/push", &commit, Some(&ours)).await, EffectOutcome::Pushed);

    let theirs =
        world.person_pushes("main", &[("sums.py", "def add(a, b):\n    return sum([a, b])\n")]).await;
    let conflicted = world.update("update/3", &commit, BranchUpdateMethod::Merge).await;
    let EffectOutcome::Conflicted { base, marked, paths } = conflicted else { panic!("{conflicted:?}") };
    assert_eq!((&base, paths), (&theirs, vec!["sums.py".to_owned()]));
    let run = world.agent("settle/1/agent", world.from(&marked), "cat sums.py").await;
    let both = "<<<<<<< ours\n    return a + b\n=======\n    return sum([a, b])\n>>>>>>> the base branch";
    assert!(run.result.unwrap_or_default().contains(both));
    let nothing = world.imported("settle/1/import", &marked).await;
    assert!(matches!(nothing, EffectOutcome::NothingPushed { .. }), "{nothing:?}");
    let script =
        "echo x > x; git add x; git commit -qm 'Settle the conflict' && git push -q; echo All settled";
    world.agent("settle/2/agent", world.from(&marked), script).await;
    let refused = world.imported("settle/2/import", &marked).await;
    let EffectOutcome::ImportRefused(feedback) = refused else { panic!("{refused:?}") };
    assert_eq!(feedback.summary, "Conflict markers are left in `sums.py`.");
    let script = "sed -i '/^<<</d;/^===/,/^>>>/d' sums.py; git rm -q x; git commit -qam 'Really settle it' && git push -q";
    world.agent("settle/3/agent", world.from(&marked), script).await;
    let EffectOutcome::Imported { tree, .. } = world.imported("settle/3/import", &marked).await else {
        panic!("not imported")
    };
    let merge = Move::Commit {
        tree,
        parent: commit.clone(),
        merges: Some(base.clone()),
        message: "Merge main".to_owned(),
        date: DateTime::UNIX_EPOCH,
    };
    let committed = world.make("settle/3/commit", merge).await;
    let EffectOutcome::Committed { commit: merged, patch } = committed else { panic!("{committed:?}") };
    assert!(patch.contains("-    return sum([a, b])\n+    return a + b\n"), "against the new base: {patch}");
    assert!(matches!(
        world.push_over("settle/0/push", &marked, Some(&commit)).await,
        EffectOutcome::Trouble(trouble) if trouble.retry == Retry::Never
    ));
    assert_eq!(world.push_over("settle/3/push", &merged, Some(&commit)).await, EffectOutcome::Pushed);
    assert_eq!(world.update("update/4", &merged, BranchUpdateMethod::Merge).await, EffectOutcome::UpToDate);
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
    // Only what was written since is taken back when the next answer is without it.
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
