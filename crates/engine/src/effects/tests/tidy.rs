//! What is deleted at the end, and what stays.

use journeyman_emulator::FaultKind;
use journeyman_order::{BranchName, CommitSha, EffectOutcome, Move};

use super::{EffectsFixture, REPOSITORY};

async fn pushed(world: &EffectsFixture, text: &str) -> CommitSha {
    let files = [("sums.py".to_owned(), Some(text.as_bytes().to_vec()))].into();
    let branch = world.branch.as_str();
    let pushed =
        world.emulator.push_commit(REPOSITORY, branch, "ada", "Change", files).await.expect("a commit");
    pushed.parse().expect("a SHA")
}

fn labels(world: &EffectsFixture) -> Vec<String> {
    world.emulator.issue(REPOSITORY, 1).expect("the issue").labels
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_labels_go_and_the_branch_if_it_is_where_we_left_it() {
    let world = EffectsFixture::new().await;
    for label in ["bug", "journeyman", "journeyman:done"] {
        world.emulator.label(REPOSITORY, 1, label, "mona").await.expect("labeled");
    }
    let ours = pushed(&world, "x = 1\n").await;
    let theirs = pushed(&world, "x = 2\n").await;
    let head = || world.emulator.branch_head(REPOSITORY, world.branch.as_str());
    let tidy = |commit: Option<&CommitSha>| Move::Tidy {
        branch: commit.map(|commit| (world.branch.clone(), commit.clone())),
    };
    assert_eq!(world.make("tidy", tidy(None)).await, EffectOutcome::Done);
    assert_eq!(labels(&world), ["bug", "journeyman"], "only ours are taken off");
    assert_eq!(world.make("tidy", tidy(Some(&ours))).await, EffectOutcome::Done);
    assert_eq!(head().as_deref(), Some(theirs.as_str()), "somebody's commit is on it");
    let rule = ("journeyman/**", "deletion");
    world.emulator.add_rule(REPOSITORY, rule, serde_json::Value::Null, false).expect("a rule");
    assert_eq!(world.make("tidy", tidy(Some(&theirs))).await, EffectOutcome::Done);
    assert!(head().is_some(), "a protected branch stays");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_whose_answer_was_lost_is_as_good_as_one_that_was_heard() {
    let world = EffectsFixture::new().await;
    let commit = pushed(&world, "x = 1\n").await;
    let tidy = Move::Tidy { branch: Some((world.branch.clone(), commit.clone())) };
    world.strike("DELETE", "/git/refs", FaultKind::AppliedThen(502));
    assert!(matches!(world.attempt("tidy", tidy.clone()).await, EffectOutcome::Trouble(_)));
    assert_eq!(world.attempt("tidy", tidy).await, EffectOutcome::Done, "gone already is fine");
    assert_eq!(world.emulator.branch_head(REPOSITORY, world.branch.as_str()), None);
    let never: BranchName = "journeyman/issue-9-never".parse().expect("a name");
    let tidy = Move::Tidy { branch: Some((never, commit)) };
    assert_eq!(world.attempt("tidy", tidy).await, EffectOutcome::Done);
}
