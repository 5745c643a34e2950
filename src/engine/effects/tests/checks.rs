//! Our check run: one for an order and a commit, whatever goes wrong on the way.

use crate::emulator::{CheckRunView, Conclusion, Fault, FaultKind};
use crate::github::render::{Annotation, AnnotationLevel, CheckText};
use crate::github::{At, CheckButton, CheckRun};
use crate::order::conversation::CheckState;
use crate::order::{CommitSha, InstallationId, Move, Outcome};

use super::{REPOSITORY, World, name};

impl World {
    pub(super) async fn base(&self) -> CommitSha {
        self.journal().await.prepared().expect("prepared").base.clone()
    }

    pub(super) fn at(&self) -> At {
        At { repository: name(), installation: InstallationId(self.emulator.installation_id()) }
    }

    pub(super) fn strike(&self, method: &str, path: &str, kind: FaultKind) {
        let (method, path_contains) = (Some(method.to_owned()), path.to_owned());
        self.emulator.inject(Fault { method, path_contains, times: 1, kind });
    }

    fn ours(&self, head: &CommitSha) -> Vec<CheckRunView> {
        let mut runs = self.emulator.check_runs(REPOSITORY, head.as_str());
        runs.retain(|run| run.by_app);
        runs
    }

    fn writes(&self) -> usize {
        let calls = self.emulator.calls();
        calls.iter().filter(|call| call.method != "GET" && call.path.contains("check-runs")).count()
    }
}

fn text(annotations: usize) -> CheckText {
    let annotation = |at: usize| Annotation {
        path: "sums.py".to_owned(),
        line: 2,
        level: AnnotationLevel::Warning,
        title: "major".to_owned(),
        message: format!("number {at}"),
    };
    CheckText {
        title: "Not verified".to_owned(),
        summary: "As it stands.\r\n".to_owned(),
        annotations: (0..annotations).map(annotation).collect(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn there_is_one_check_run_and_the_same_again_writes_nothing() {
    let world = World::new().await;
    let head = world.base().await;
    let show = |state| Move::ShowCheck { head: head.clone(), state };
    assert_eq!(world.make("check/1", show(CheckState::InProgress)).await, Outcome::Done);
    assert_eq!(world.make("check/1", show(CheckState::InProgress)).await, Outcome::Done);
    assert_eq!(world.writes(), 1);
    let [run] = world.ours(&head).try_into().expect("one");
    assert_eq!((run.name.as_str(), run.status.as_str()), ("journeyman", "in_progress"));
    assert_eq!(run.external_id, world.order.to_string());
    assert!(!run.title.is_empty() && !run.summary.is_empty());
    for (state, conclusion) in [
        (CheckState::Failure, Conclusion::Failure),
        (CheckState::Neutral, Conclusion::Neutral),
        (CheckState::Success, Conclusion::Success),
        (CheckState::Cancelled, Conclusion::Cancelled),
    ] {
        assert_eq!(world.make("check/2", show(state)).await, Outcome::Done);
        let [run] = world.ours(&head).try_into().expect("one");
        assert_eq!(run.conclusion, Some(conclusion));
    }
    // At work again after it had ended: GitHub shows the newest of a name.
    assert_eq!(world.make("check/3", show(CheckState::InProgress)).await, Outcome::Done);
    assert_eq!(world.make("check/3", show(CheckState::InProgress)).await, Outcome::Done);
    let [_, again] = world.ours(&head).try_into().expect("two");
    assert_eq!(again.conclusion, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_whose_answer_was_lost_is_not_made_twice() {
    let world = World::new().await;
    let head = world.base().await;
    let show = |state| Move::ShowCheck { head: head.clone(), state };
    let lost = [FaultKind::AppliedThenLost, FaultKind::AppliedThen(502), FaultKind::Lost];
    for (at, kind) in lost.into_iter().enumerate() {
        let was_made = kind != FaultKind::Lost;
        for (method, state) in [("POST", CheckState::InProgress), ("PATCH", CheckState::Success)] {
            world.strike(method, "/check-runs", kind.clone());
            let first = world.attempt("check/1", show(state)).await;
            assert_eq!(first == Outcome::Done, was_made, "{method} {kind:?}: {first:?}");
            assert_eq!(world.attempt("check/1", show(state)).await, Outcome::Done, "{method} {kind:?}");
            assert_eq!(world.ours(&head).len(), at + 1, "{method} {kind:?}");
        }
        assert_eq!(world.ours(&head)[at].conclusion, Some(Conclusion::Success));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn annotations_are_sent_fifty_at_a_time_and_each_once() {
    let world = World::new().await;
    let (head, at) = (world.base().await, world.at());
    let text = text(120);
    let buttons = [CheckButton::Retry, CheckButton::Approve];
    let details = "https://bot.example.org/".parse().expect("a URL");
    let run = CheckRun {
        head: &head,
        order: world.order,
        state: CheckState::Failure,
        text: &text,
        details: Some(&details),
        buttons: &buttons,
    };
    let github = &world.parts.github;
    // The third request's answer is lost after it was carried out, and so is the second's of another try.
    world.strike("PATCH", "/check-runs", FaultKind::AppliedThen(502));
    assert!(
        github.show_check(&at, run).await.is_err(),
        "one more is to follow, so that it is not known to stand"
    );
    world.strike("PATCH", "/check-runs", FaultKind::AppliedThenLost);
    github.show_check(&at, run).await.expect("what was lost is seen to be there");
    github.show_check(&at, run).await.expect("the same again");
    let [shown] = world.ours(&head).try_into().expect("one");
    let said: std::collections::BTreeSet<&str> =
        shown.annotations.iter().map(|one| one.message.as_str()).collect();
    assert_eq!((shown.annotations.len(), said.len()), (120, 120));
    assert_eq!(world.writes(), 3);
    assert_eq!(shown.details_url.as_deref(), Some("https://bot.example.org/"));
    let identifiers: Vec<&str> = shown.actions.iter().map(|button| button.identifier.as_str()).collect();
    assert_eq!(identifiers, ["retry", "approve"]);
}
