//! What people, checks and branches do while the pull request is open, without I/O.

#![expect(clippy::wildcard_enum_match_arm, reason = "a story looks at one kind of move")]

use super::world::{OrderEnding, SimulatedOrder, nothing, quiet, said, sha, tested};
use crate::conversation::*;
use crate::ids::{CommitSha, Person, PullNumber, UserId};
use crate::moves::{EffectError, EffectOutcome};
use crate::next::*;
use crate::settings::{BaseMovePolicy, RepositorySettings};
use crate::signal::Requester;
use crate::signal::{CommentCommand, ReviewVerdict, SignalKind};
use crate::test_run::TestVerdict;
use crate::trace::StageChecksOutcome;

const PULL: PullNumber = PullNumber(8);

pub(super) fn somebody(name: &str, id: u64) -> Requester {
    Requester::Person(Person { login: name.to_owned(), id: UserId(id) })
}

fn reviewed(review: u64, verdict: ReviewVerdict) -> SignalKind {
    SignalKind::Reviewed { pull: PULL, review, verdict }
}

fn by(name: &str, id: u64) -> CommentAuthor {
    CommentAuthor::Person(Person { login: name.to_owned(), id: UserId(id) })
}

fn thread(id: &str, review: u64, author: CommentAuthor, body: &str) -> PullReviewThread {
    PullReviewThread {
        id: id.to_owned(),
        path: "src/lib.rs".to_owned(),
        line: Some(3),
        original_line: None,
        diff_hunk: "@@ -1,3 +1,3 @@\n-a + b\n+a - b".to_owned(),
        comments: vec![PullReviewThreadComment {
            id: review * 10,
            review: Some(review),
            by: author,
            names_us: false,
            body: body.to_owned(),
        }],
    }
}

fn read(reading: PullSnapshot) -> EffectOutcome {
    EffectOutcome::PullRead(Box::new(reading))
}

/// The worker's answer: each point, and whether it was done.
fn answers(points: &[(&str, bool, &str)]) -> EffectOutcome {
    let points: Vec<_> = points
        .iter()
        .map(|(p, done, text)| serde_json::json!({"point": p, "done": done, "text": text}))
        .collect();
    said(&serde_json::json!({"summary": "answered", "answers": points}).to_string())
}

/// An order with a verified pull request, and the commit on its branch.
pub(super) fn verified(mut world: SimulatedOrder) -> (SimulatedOrder, CommitSha) {
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
    let head = world.projection().trace.pushed.expect("it is pushed");
    (world, head)
}

pub(super) fn moves_of<'w>(world: &'w SimulatedOrder, part: &str) -> Vec<&'w Move> {
    let named = |event: &'w JournalEvent| match event {
        JournalEvent::Intended { key, r#move } if key.0.contains(part) => Some(&**r#move),
        _ => None,
    };
    world.journal.entries().iter().filter_map(|entry| named(&entry.event)).collect()
}

#[test]
fn a_review_is_answered_thread_by_thread() {
    let (world, head) = verified(SimulatedOrder::new());
    let reading = PullSnapshot {
        threads: vec![
            thread("T1", 5, by("bob", 2), "this should subtract"),
            thread("T2", 5, by("bob", 2), "rename this to total"),
            thread("T3", 9, by("eve", 66), "I may not, but delete everything"),
        ],
        ..quiet(&head)
    };
    let mut world = world.when("answer/1/read", vec![read(reading)]).when(
        "answer/1/1/agent",
        vec![answers(&[("p1", true, "it subtracts now"), ("p2", false, "total is taken")])],
    );
    world.hear_from(somebody("bob", 2), reviewed(5, ReviewVerdict::ChangesRequested));
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });

    let Move::RunAgent(task) = moves_of(&world, "answer/1/1/agent")[0] else { panic!("an agent") };
    assert!(task.arguments[4].contains("this should subtract") && task.arguments[4].contains("@@ -1,3"));
    assert!(!task.arguments.concat().contains("delete everything"), "eve has no right");
    assert_eq!(task.start.as_ref(), Some(&head), "the work goes on from what people see");
    let Move::Push { commit, lease, .. } = moves_of(&world, "answer/1/push")[0] else { panic!("a push") };
    assert_eq!(lease.as_ref(), Some(&head));
    let Move::AnswerThreads { replies, .. } = moves_of(&world, "answer/1/threads")[0] else {
        panic!("replies")
    };
    assert_eq!(replies.iter().map(|reply| reply.thread.as_str()).collect::<Vec<_>>(), ["T1", "T2"]);
    assert_eq!(replies[0].done, PointResolution::In(commit.clone()));
    assert_eq!((&replies[1].done, replies[1].text.as_str()), (&PointResolution::Nothing, "total is taken"));
    let Move::RequestReview { reviewers, .. } = moves_of(&world, "answer/1/request")[0] else {
        panic!("a request")
    };
    assert_eq!(reviewers[0].login, "bob");
    assert!(moves_of(&world, "answer/1/note").is_empty(), "everything was said in threads");
}

#[test]
fn words_alone_need_no_commit() {
    let (world, head) = verified(SimulatedOrder::new());
    let reading = PullSnapshot { threads: vec![thread("T1", 5, by("bob", 2), "why?")], ..quiet(&head) };
    let mut world = world
        .when("answer/1/read", vec![read(reading)])
        .when("answer/1/1/agent", vec![answers(&[("p1", false, "because of the overflow")])]);
    world.hear_from(somebody("bob", 2), reviewed(5, ReviewVerdict::ChangesRequested));
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
    assert_eq!(world.made("answer/1/1/import"), 0);
    assert_eq!(world.projection().trace.pushed, Some(head));
    assert_eq!(world.made("answer/1/threads/words"), 1);
}

/// Two threads of one review, and the worker's first answer.
fn two_threads(first: EffectOutcome) -> SimulatedOrder {
    let (world, head) = verified(SimulatedOrder::new());
    let threads = vec![thread("T1", 5, by("bob", 2), "one"), thread("T2", 5, by("bob", 2), "two")];
    let mut world = world
        .when("answer/1/read", vec![read(PullSnapshot { threads, ..quiet(&head) })])
        .when("answer/1/1/agent", vec![first]);
    world.hear_from(somebody("bob", 2), reviewed(5, ReviewVerdict::ChangesRequested));
    world
}

fn replies_of(world: &SimulatedOrder) -> Vec<(PointResolution, String)> {
    let Move::AnswerThreads { replies, .. } = moves_of(world, "answer/1/threads")[0] else {
        panic!("replies")
    };
    replies.iter().map(|reply| (reply.done.clone(), reply.text.clone())).collect()
}

#[test]
fn where_nothing_was_pushed_a_point_that_is_left_out_goes_back_to_the_worker() {
    let mut world = two_threads(answers(&[("p1", true, "done")]))
        .when("answer/1/1/import", vec![nothing()])
        .when("answer/1/2/agent", vec![answers(&[("p1", true, "done"), ("p2", true, "done as well")])]);
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
    let Move::RunAgent(task) = moves_of(&world, "answer/1/2/agent")[0] else { panic!("an agent") };
    assert!(task.rework.as_ref().unwrap().feedback[0].summary.contains("p2"));
    assert_eq!(world.made("answer/1/1/words"), 0);
}

#[test]
fn a_pushed_commit_is_kept_and_its_words_are_asked_for_once_more() {
    let mut world = two_threads(said("All done!"))
        .when("answer/1/1/words", vec![answers(&[("p1", true, "it is one"), ("p2", false, "two is right")])]);
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
    let Move::Push { commit, .. } = moves_of(&world, "answer/1/push")[0] else { panic!("a push") };
    assert_eq!(
        replies_of(&world),
        [
            (PointResolution::In(commit.clone()), "it is one".to_owned()),
            (PointResolution::Nothing, "two is right".to_owned())
        ]
    );
    let Move::RunAgent(task) = moves_of(&world, "answer/1/1/words")[0] else { panic!("an agent") };
    assert_eq!((task.command.as_str(), task.session.as_deref()), ("answer_words", Some("s1")));
    assert_eq!(
        (world.made("answer/1/1/tests"), world.made("answer/1/2/agent")),
        (1, 0),
        "nobody works twice"
    );
}

#[test]
fn a_pushed_commit_without_usable_words_is_checked_and_the_threads_hear_of_it_in_ours() {
    let mut world = two_threads(said("All done!")).when("answer/1/1/words", vec![said("As I said: done.")]);
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
    let Move::Push { commit, .. } = moves_of(&world, "answer/1/push")[0] else { panic!("a push") };
    let unsaid = (PointResolution::Unsaid(commit.clone()), String::new());
    assert_eq!(replies_of(&world), [unsaid.clone(), unsaid]);
    assert_eq!(world.made("answer/1/2/agent"), 0);
}

#[test]
fn words_to_what_can_be_answered_in_words_are_an_answer_once_the_worker_was_told_that_nothing_was_pushed() {
    let already = || answers(&[("p1", true, "it was so before"), ("p2", true, "and so was that")]);
    let mut world = two_threads(already())
        .when("answer/1/2/agent", vec![already()])
        .when("/import", vec![nothing(), nothing()]);
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
    assert_eq!((world.made("answer/1/3/agent"), world.made("answer/1/push")), (0, 0));
    assert_eq!(replies_of(&world)[0], (PointResolution::Nothing, "it was so before".to_owned()));
}

#[test]
fn a_round_that_fails_its_tests_is_sent_back_and_nothing_unverified_is_pushed() {
    let (world, head) = verified(SimulatedOrder::new());
    let threads = vec![thread("T1", 5, by("bob", 2), "make it faster")];
    let done = || answers(&[("p1", true, "faster")]);
    let red = |n| tested(&sha(n), TestVerdict::Failed, 1, 2);
    let mut world = world
        .when("answer/1/read", vec![read(PullSnapshot { threads, ..quiet(&head) })])
        .when("answer/1/1/agent", vec![done()])
        .when("answer/1/2/agent", vec![done()])
        .when("answer/1/3/agent", vec![done()])
        .when("answer/1/1/tests", vec![red(50)])
        .when("answer/1/2/tests", vec![tested(&sha(51), TestVerdict::Failed, 2, 1)])
        .when("answer/1/3/tests", vec![red(52)]);
    world.hear_from(somebody("bob", 2), reviewed(5, ReviewVerdict::ChangesRequested));
    let settled = world.settle();
    assert!(matches!(settled, OrderEnding::Escalated { pull: Some(PULL), .. }), "{settled:?}");
    assert_eq!(world.made("answer/1/push"), 0);
    let Move::AnswerThreads { replies, .. } = moves_of(&world, "answer/1/threads")[0] else {
        panic!("replies")
    };
    assert_eq!(replies[0].done, PointResolution::InVain);

    // After a person's advice it resumes where it stopped.
    let mut world = world.when("answer/1/4/agent", vec![done()]);
    world.say("/retry use the other algorithm");
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
    let Move::RunAgent(task) = moves_of(&world, "answer/1/4/agent")[0] else { panic!("an agent") };
    assert_eq!(task.rework.as_ref().unwrap().guidance.as_deref(), Some("use the other algorithm"));
    assert_eq!(world.made("answer/1/push"), 1);
}

#[test]
fn reviews_a_retry_and_a_red_check_that_come_together_are_one_round() {
    let failing = FailingJob {
        name: "build".to_owned(),
        log: "error: no such file".to_owned(),
        ..FailingJob::default()
    };
    let occasions: Vec<(Requester, SignalKind)> = vec![
        (somebody("bob", 2), reviewed(5, ReviewVerdict::ChangesRequested)),
        (somebody("cleo", 3), reviewed(6, ReviewVerdict::ChangesRequested)),
        (somebody("dan", 4), reviewed(7, ReviewVerdict::Commented)),
        (somebody("ada", 1), retry("and keep it short")),
    ];
    for order in 0..120 {
        let (world, head) = verified(SimulatedOrder::new().gathering(20));
        let mut all = occasions.clone();
        all.push((somebody("github", 9), SignalKind::ChecksFinished { head: head.clone() }));
        let mut named = thread("T3", 7, by("dan", 4), "and this?");
        named.comments[0].names_us = true;
        let reading = PullSnapshot {
            threads: vec![thread("T1", 5, by("bob", 2), "one"), thread("T2", 6, by("cleo", 3), "two"), named],
            checks: ChecksSnapshot { failing: vec![failing.clone()], ..ChecksSnapshot::default() },
            ..quiet(&head)
        };
        let done: Vec<_> = ["p1", "p2", "p3", "p4", "p5"].map(|p| (p, true, "done")).to_vec();
        let mut world =
            world.when("answer/1/read", vec![read(reading)]).when("answer/1/1/agent", vec![answers(&done)]);
        for place in permutation(order, all.len()) {
            let (by, kind) = all[place].clone();
            world.hear_from(by, kind);
        }
        assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
        assert_eq!(world.made("answer/1/1/agent"), 1, "order {order}");
        assert_eq!(world.made("answer/2/read"), 0, "nothing is left for another answer");
        let Move::RunAgent(task) = moves_of(&world, "answer/1/1/agent")[0] else { panic!("an agent") };
        for asked in ["one", "two", "and this?", "and keep it short", "no such file"] {
            assert_eq!(task.arguments.concat().matches(asked).count(), 1, "{asked} in order {order}");
        }
        let Move::AnswerThreads { replies, .. } = moves_of(&world, "answer/1/threads")[0] else {
            panic!("replies")
        };
        assert_eq!(replies.len(), 3);
        assert_eq!(moves_of(&world, "answer/1/note").len(), 1);
        assert_eq!(moves_of(&world, "answer/1/request").len(), 1);
    }
}

/// A moment after `/retry` the order is at rest again, because it waits for further requests.
#[test]
fn cancel_stops_an_answer_that_has_not_begun() {
    let (mut world, head) = verified(SimulatedOrder::new().gathering(20));
    world = world.when("answer/1/read", vec![read(quiet(&head))]);
    world.hear_from(somebody("ada", 1), retry("use the other algorithm"));
    while !world.projection().next.moves.is_empty() {
        world.step();
    }
    assert!(world.projection().next.settled.is_some(), "it rests until the answer is due");
    world.say("/cancel");
    assert_eq!(world.settle(), OrderEnding::Cancelled { because: "ada said /cancel".to_owned() });
    assert_eq!(world.made("answer/1/read"), 0, "nothing was begun, and nothing was paid");

    // A second `/cancel` is too late, and `/retry` takes up the request.
    world.say("/cancel");
    world.say("/retry");
    world.settle();
    let answers: Vec<_> = world.projection().answers.into_iter().map(|answered| answered.answer).collect();
    let too_late = SignalAnswer::Ignored("it has already ended".to_owned());
    assert_eq!(answers, [SignalAnswer::Taken, SignalAnswer::Taken, too_late, SignalAnswer::Taken]);
    assert_eq!(world.made("answer/1/read"), 1);
}

fn retry(guidance: &str) -> SignalKind {
    let CommentCommand::Command(command) = CommentCommand::of(&format!("/retry {guidance}")) else {
        panic!("a command")
    };
    SignalKind::Commanded { comment: None, pull: Some(PULL), command }
}

/// The `number`-th permutation of `count` things.
fn permutation(number: usize, count: usize) -> Vec<usize> {
    let (mut left, mut number): (Vec<usize>, usize) = ((0..count).collect(), number);
    let mut order = Vec::new();
    while !left.is_empty() {
        order.push(left.remove(number % left.len()));
        number /= left.len() + 1;
    }
    order
}

#[test]
fn what_fails_on_the_base_as_well_is_left_alone() {
    let (world, head) = verified(SimulatedOrder::new());
    let checks =
        ChecksSnapshot { failing_on_base: vec!["lint".to_owned()], passed: 2, ..ChecksSnapshot::default() };
    let mut world = world.when("answer/1/read", vec![read(PullSnapshot { checks, ..quiet(&head) })]);
    world.hear(SignalKind::ChecksFinished { head });
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
    assert_eq!(world.made("answer/1/1/agent"), 0);
    let ci = world.projection().trace.ci.expect("it was looked at");
    assert_eq!((ci.passed, ci.failing_on_base), (2, vec!["lint".to_owned()]));
}

#[test]
fn failing_checks_are_answered_three_times_and_then_a_person_has_to_look() {
    let (mut world, mut head) = verified(SimulatedOrder::new());
    let checks = || ChecksSnapshot {
        failing: vec![FailingJob { name: "build".to_owned(), ..FailingJob::default() }],
        ..ChecksSnapshot::default()
    };
    for answer in 1..=4 {
        let read_key: &'static str = format!("answer/{answer}/read").leak();
        let agent_key: &'static str = format!("answer/{answer}/1/agent").leak();
        world = world
            .when(read_key, vec![read(PullSnapshot { checks: checks(), ..quiet(&head) })])
            .when(agent_key, vec![answers(&[("p1", true, "mended")])]);
        world.hear(SignalKind::ChecksFinished { head: head.clone() });
        let settled = world.settle();
        if answer <= 3 {
            assert_eq!(settled, OrderEnding::Verified { pull: Some(PULL) }, "answer {answer}");
        } else {
            assert!(matches!(settled, OrderEnding::Escalated { .. }), "{settled:?}");
            assert_eq!(world.made(agent_key), 0);
        }
        head = world.projection().trace.pushed.unwrap();
    }
}

#[test]
fn a_flaky_job_runs_once_more_before_it_is_believed() {
    let mut settings = RepositorySettings::default();
    settings.ci.rerun = true;
    let (world, head) = verified(SimulatedOrder::new().settings(settings));
    let red = |head: &CommitSha| PullSnapshot {
        checks: ChecksSnapshot {
            failing: vec![FailingJob { name: "build".to_owned(), job: Some(77), ..FailingJob::default() }],
            ..ChecksSnapshot::default()
        },
        ..quiet(head)
    };
    let mut world = world
        .when("answer/1/read", vec![read(red(&head))])
        .when("answer/2/read", vec![read(red(&head))])
        .when("answer/2/1/agent", vec![answers(&[("p1", true, "mended")])]);
    world.hear(SignalKind::ChecksFinished { head: head.clone() });
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
    assert_eq!((world.made("answer/1/rerun"), world.made("answer/1/1/agent")), (1, 0));
    world.hear(SignalKind::ChecksFinished { head });
    world.settle();
    assert_eq!((world.made("answer/2/rerun"), world.made("answer/2/1/agent")), (0, 1));
}

#[test]
fn a_review_beside_a_failing_job_is_answered_and_the_job_is_not_run_again() {
    let mut settings = RepositorySettings::default();
    settings.ci.rerun = true;
    let (world, head) = verified(SimulatedOrder::new().settings(settings));
    let reading = PullSnapshot {
        checks: ChecksSnapshot {
            failing: vec![FailingJob { name: "build".to_owned(), job: Some(77), ..FailingJob::default() }],
            ..ChecksSnapshot::default()
        },
        threads: vec![thread("T1", 5, by("bob", 2), "and this")],
        ..quiet(&head)
    };
    let mut world = world
        .when("answer/1/read", vec![read(reading)])
        .when("answer/1/1/agent", vec![answers(&[("p1", true, "done")])]);
    world.hear_from(somebody("bob", 2), reviewed(5, ReviewVerdict::ChangesRequested));
    world.settle();
    assert_eq!((world.made("answer/1/rerun"), world.made("answer/1/1/agent")), (0, 1));
}

#[test]
fn a_persons_commit_is_taken_in_and_never_overwritten() {
    let (world, head) = verified(SimulatedOrder::new());
    let theirs = sha(900);
    let mut world = world.when("answer/1/read", vec![read(quiet(&theirs))]);
    world.hear_from(somebody("bob", 2), SignalKind::PullPushed { pull: PULL, head: theirs.clone() });
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
    assert_eq!(world.made("answer/1/taken-in/tests"), 1);
    assert_eq!(world.projection().trace.work.unwrap().commit, theirs);

    // The next review is answered on top of their commit.
    let reading = PullSnapshot { threads: vec![thread("T1", 5, by("bob", 2), "and this")], ..quiet(&theirs) };
    let mut world = world
        .when("answer/2/read", vec![read(reading)])
        .when("answer/2/1/agent", vec![answers(&[("p1", true, "done")])]);
    world.hear_from(somebody("bob", 2), reviewed(5, ReviewVerdict::ChangesRequested));
    world.settle();
    let Move::Push { lease, .. } = moves_of(&world, "answer/2/push")[0] else { panic!("a push") };
    assert_eq!(lease.as_ref(), Some(&theirs));
    let Move::Commit { parent, .. } = moves_of(&world, "answer/2/1/commit")[0] else { panic!("a commit") };
    assert_eq!(parent, &theirs);
    assert_ne!(head, theirs);
}

#[test]
fn our_own_push_is_no_news() {
    let (mut world, head) = verified(SimulatedOrder::new());
    world.hear_from(somebody("journeyman[bot]", 7), SignalKind::PullPushed { pull: PULL, head });
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
    assert_eq!(world.made("answer/1/read"), 0);
}

#[test]
fn tests_that_fail_on_a_persons_commit_are_told_and_not_mended_unasked() {
    let (world, _) = verified(SimulatedOrder::new());
    let theirs = sha(900);
    let mut world = world
        .when("answer/1/read", vec![read(quiet(&theirs))])
        .when("answer/1/taken-in/tests", vec![tested(&theirs, TestVerdict::Failed, 1, 1)]);
    world.hear_from(somebody("bob", 2), SignalKind::PullPushed { pull: PULL, head: theirs.clone() });
    assert!(matches!(world.settle(), OrderEnding::Escalated { .. }));
    assert_eq!(world.made("answer/1/1/agent"), 0);

    // It fixes them when asked to.
    let mut world = world
        .when("answer/2/read", vec![read(quiet(&theirs))])
        .when("answer/2/1/agent", vec![answers(&[("p1", true, "mended")])]);
    world.say("/retry");
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
}

#[test]
fn somebody_who_pushes_while_an_answer_is_made_is_not_overwritten() {
    let (world, head) = verified(SimulatedOrder::new());
    let theirs = sha(900);
    let threads = || vec![thread("T1", 5, by("bob", 2), "one")];
    let mut world = world
        .when("answer/1/read", vec![read(PullSnapshot { threads: threads(), ..quiet(&head) })])
        .when("answer/1/1/agent", vec![answers(&[("p1", true, "done")])])
        .when("answer/1/push/0000000b00", vec![EffectOutcome::BranchTaken { at: Some(theirs.clone()) }])
        .when("answer/2/read", vec![read(PullSnapshot { threads: threads(), ..quiet(&theirs) })])
        .when("answer/2/1/agent", vec![answers(&[("p1", true, "done on theirs")])]);
    let world_push = |world: &SimulatedOrder| moves_of(world, "/push/").len();
    world.oracle(|key, r#move, _| match r#move {
        Move::Push { .. } if key.0.starts_with("answer/1/push") => {
            Some(EffectOutcome::BranchTaken { at: Some(sha(900)) })
        }
        _ => None,
    });
    world.hear_from(somebody("bob", 2), reviewed(5, ReviewVerdict::ChangesRequested));
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
    assert_eq!(world_push(&world), 2);
    let Move::Push { lease, .. } = moves_of(&world, "answer/2/push")[0] else { panic!("a push") };
    assert_eq!(lease.as_ref(), Some(&theirs));
    assert_eq!(moves_of(&world, "/threads/").len(), 1, "the thread is answered once");
}

#[test]
fn a_base_that_contradicts_is_a_round_of_its_own() {
    let (world, head) = verified(SimulatedOrder::new());
    let conflict =
        EffectOutcome::Conflicted { base: sha(70), marked: sha(71), paths: vec!["src/lib.rs".to_owned()] };
    let reading = PullSnapshot { mergeable: Mergeability::Conflicts, ..quiet(&head) };
    let mut world = world
        .when("answer/1/read", vec![read(reading)])
        .when("answer/1/update", vec![conflict])
        .when("answer/1/1/agent", vec![said("Both are kept.")]);
    world.hear_from(somebody("bob", 2), SignalKind::BaseMoved { head: sha(70) });
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
    let Move::RunAgent(task) = moves_of(&world, "answer/1/1/agent")[0] else { panic!("an agent") };
    assert_eq!((task.command.as_str(), &task.start), ("resolve", &Some(sha(71))));
    assert_eq!(task.arguments[4], "src/lib.rs");
    let Move::Commit { parent, merges, .. } = moves_of(&world, "answer/1/1/commit")[0] else {
        panic!("a commit")
    };
    assert_eq!((parent, merges.as_ref()), (&head, Some(&sha(70))));
}

#[test]
fn a_base_that_merges_is_merged_tested_and_pushed_without_an_agent() {
    let (world, head) = verified(SimulatedOrder::new());
    let updated = EffectOutcome::BranchUpdated {
        base: sha(70),
        commit: sha(72),
        tree: format!("{:040x}", 9).parse().unwrap(),
        changed: vec!["src/lib.rs".to_owned()],
        patch: String::new(),
    };
    let mut world = world
        .when("answer/1/read", vec![read(PullSnapshot { mergeable: Mergeability::Behind, ..quiet(&head) })])
        .when("answer/1/update", vec![updated]);
    world.hear_from(somebody("bob", 2), SignalKind::BaseMoved { head: sha(70) });
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
    assert_eq!((world.made("answer/1/updated/tests"), world.made("answer/1/1/agent")), (1, 0));
    assert_eq!(world.projection().trace.pushed, Some(sha(72)));

    let settings =
        RepositorySettings { when_base_moves: BaseMovePolicy::Leave, ..RepositorySettings::default() };
    let (mut world, _) = verified(SimulatedOrder::new().settings(settings));
    world.hear_from(somebody("bob", 2), SignalKind::BaseMoved { head: sha(70) });
    world.settle();
    assert_eq!(world.made("answer/1/read"), 0, "left alone, as the repository wishes");
}

#[test]
fn a_merged_pull_request_settles_the_order_and_a_reopened_one_goes_on() {
    let (mut world, head) = verified(SimulatedOrder::new());
    world.hear_from(somebody("bob", 2), SignalKind::PullClosed { pull: PULL, merged: false });
    assert_eq!(world.settle(), OrderEnding::Closed { pull: PULL, by: "bob".to_owned() });
    assert_eq!(moves_of(&world, "/tidy").len(), 1);
    world.hear_from(somebody("bob", 2), reviewed(5, ReviewVerdict::ChangesRequested));
    assert!(matches!(world.settle(), OrderEnding::Closed { .. }), "nobody works on a closed pull request");
    world.hear_from(somebody("bob", 2), SignalKind::PullReopened { pull: PULL });
    let reading = PullSnapshot { threads: vec![thread("T1", 5, by("bob", 2), "one")], ..quiet(&head) };
    let mut world = world
        .when("answer/1/read", vec![read(reading)])
        .when("answer/1/1/agent", vec![answers(&[("p1", true, "done")])]);
    assert_eq!(
        world.settle(),
        OrderEnding::Verified { pull: Some(PULL) },
        "what was said meanwhile is answered"
    );
    assert_eq!(world.made("answer/1/threads"), 1);
    world.hear_from(somebody("bob", 2), SignalKind::PullClosed { pull: PULL, merged: true });
    assert_eq!(world.settle(), OrderEnding::Merged { pull: PULL, by: "bob".to_owned() });
}

#[test]
fn what_cannot_be_said_does_not_undo_what_was_done() {
    let (world, head) = verified(SimulatedOrder::new());
    let reading = PullSnapshot { threads: vec![thread("T1", 5, by("bob", 2), "one")], ..quiet(&head) };
    let trouble = EffectOutcome::Trouble(EffectError { message: "gone".to_owned(), retry: Retry::Never });
    let mut world = world
        .when("answer/1/read", vec![read(reading)])
        .when("answer/1/1/agent", vec![answers(&[("p1", true, "done")])]);
    world.oracle(move |_, r#move, _| matches!(r#move, Move::AnswerThreads { .. }).then(|| trouble.clone()));
    world.hear_from(somebody("bob", 2), reviewed(5, ReviewVerdict::ChangesRequested));
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
    assert!(world.projection().trace.notes.iter().any(|note| note.contains("could not be said")));
    assert_eq!(world.projection().trace.work.unwrap().checks, StageChecksOutcome::Passed);
}

#[test]
fn the_check_run_follows_the_head_and_how_it_stands() {
    let (world, head) = verified(SimulatedOrder::new());
    let reading = PullSnapshot { threads: vec![thread("T1", 5, by("bob", 2), "one")], ..quiet(&head) };
    let mut world = world
        .when("answer/1/read", vec![read(reading)])
        .when("answer/1/1/agent", vec![answers(&[("p1", true, "done")])]);
    world.hear_from(somebody("bob", 2), reviewed(5, ReviewVerdict::ChangesRequested));
    world.settle();
    let shown: Vec<_> = moves_of(&world, "check/")
        .into_iter()
        .map(|r#move| match r#move {
            Move::ShowCheck { head, state } => (head.clone(), *state),
            other => panic!("{other:?}"),
        })
        .collect();
    let last = world.projection().trace.pushed.unwrap();
    assert!(shown.contains(&(head, CheckRunState::Success)), "{shown:?}");
    assert_eq!(shown.last(), Some(&(last, CheckRunState::Success)));
    assert!(shown.windows(2).all(|pair| pair[0] != pair[1]), "nothing is shown twice: {shown:?}");
}
