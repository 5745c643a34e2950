//! Which delivery leads to which signal, and which to none.

use std::collections::BTreeSet;

use super::*;
use journeyman_order::{BranchName, InstallationId, IssueText, ReviewVerdict, SlashCommand};

const PULL: PullNumber = PullNumber(8);
const OTHER: &str = "f95f852bd8fca8fcc58a9a2d6c842781e32a215e";

fn action(action: &str) -> (&str, Value) {
    ("/action", json!(action))
}

fn bot() -> [(&'static str, Value); 2] {
    [("/sender/login", json!("renovate[bot]")), ("/sender/type", json!("Bot"))]
}

fn says(text: &str) -> (&'static str, Value) {
    ("/comment/body", json!(text))
}

fn issue() -> SignalSubject {
    SignalSubject::Issue(IssueText {
        number: IssueNumber(7),
        title: "T".to_owned(),
        body: String::new(),
        url: "https://example.org/7".to_owned(),
        labels: Vec::new(),
    })
}

fn branches(names: &[&str]) -> SignalSubject {
    SignalSubject::Branches(names.iter().map(|name| name.parse::<BranchName>().unwrap()).collect())
}

fn commanded(comment: Option<u64>, pull: Option<PullNumber>, command: SlashCommand) -> SignalKind {
    SignalKind::Commanded { comment, pull, command }
}

fn heard(event: &str, changes: &[(&str, Value)]) -> RoutedSignal {
    let understood = understand(event, &changed(changes));
    let DeliveryMeaning::Signal(incoming) = understood else { panic!("{event} {changes:?}: {understood:?}") };
    *incoming
}

#[test]
fn which_delivery_leads_to_which_signal() {
    let label = || "journeyman".to_owned();
    let retry = || SlashCommand::Retry { guidance: Some("be careful".to_owned()) };
    let on_pull = || ("/issue/pull_request", json!({"url": "https://example.org"}));
    let created = || action("created");
    let pull = SignalSubject::Pull;
    let finished = || SignalKind::ChecksFinished { head: head() };
    let reviewed = |verdict| SignalKind::Reviewed { pull: PULL, review: 13, verdict };
    let ours = || branches(&["journeyman/issue-7-sum"]);
    let group = || SignalSubject::MergeGroup { pull: PULL, head: head(), base: "release/2".to_owned() };
    let destroyed = |reason: &str| SignalKind::GroupDestroyed { reason: reason.to_owned() };
    let state = |state: &str| ("/review/state", json!(state));
    let button = |name: &str| vec![action("requested_action"), ("/requested_action/identifier", json!(name))];
    for (event, changes, subject, kind) in [
        ("issues", vec![], issue(), SignalKind::Labeled { label: label(), pull: None, at: None }),
        ("issues", vec![action("unlabeled")], issue(), SignalKind::Unlabeled { label: label() }),
        ("issues", vec![action("edited")], issue(), SignalKind::IssueEdited),
        (
            "issues",
            vec![action("edited"), ("/changes", json!({"body": {"from": "old"}}))],
            issue(),
            SignalKind::IssueEdited,
        ),
        ("issues", vec![action("closed")], issue(), SignalKind::IssueClosed),
        ("issues", vec![action("transferred")], issue(), SignalKind::IssueTransferred),
        ("issues", vec![action("deleted")], issue(), SignalKind::IssueDeleted),
        ("issues", vec![action("locked")], issue(), SignalKind::IssueLocked),
        ("issue_comment", vec![created()], issue(), commanded(Some(12), None, retry())),
        (
            "issue_comment",
            vec![created(), ("/comment/body", json!("please /retry"))],
            issue(),
            SignalKind::IssueCommented { comment: 12, by_author: false },
        ),
        (
            "issue_comment",
            vec![created(), ("/comment/body", json!("> /retry")), ("/issue/user", json!({"id": 5}))],
            issue(),
            SignalKind::IssueCommented { comment: 12, by_author: true },
        ),
        (
            "issue_comment",
            vec![created(), ("/issue/state", json!("closed"))],
            issue(),
            commanded(Some(12), None, retry()),
        ),
        (
            "issue_comment",
            vec![created(), ("/comment/user", Value::Null)],
            issue(),
            commanded(Some(12), None, retry()),
        ),
        (
            "issue_comment",
            vec![created(), on_pull()],
            pull(PullNumber(7)),
            commanded(Some(12), Some(PullNumber(7)), retry()),
        ),
        (
            "issue_comment",
            vec![created(), on_pull(), says("/status @anna")],
            pull(PullNumber(7)),
            commanded(Some(12), Some(PullNumber(7)), SlashCommand::Status),
        ),
        (
            "issue_comment",
            vec![created(), says("/rety")],
            issue(),
            SignalKind::Misspoken { comment: 12, pull: None, word: "rety".to_owned() },
        ),
        (
            "issue_comment",
            vec![created(), on_pull(), says("/go on")],
            pull(PullNumber(7)),
            SignalKind::Misspoken { comment: 12, pull: Some(PullNumber(7)), word: "go".to_owned() },
        ),
        (
            "pull_request",
            vec![action("closed")],
            pull(PULL),
            SignalKind::PullClosed { pull: PULL, merged: true },
        ),
        (
            "pull_request",
            vec![action("closed"), ("/pull_request/merged", Value::Null)],
            pull(PULL),
            SignalKind::PullClosed { pull: PULL, merged: false },
        ),
        (
            "pull_request",
            vec![action("closed"), ("/pull_request/number", Value::Null), ("/number", json!(8))],
            pull(PULL),
            SignalKind::PullClosed { pull: PULL, merged: true },
        ),
        ("pull_request", vec![action("reopened")], pull(PULL), SignalKind::PullReopened { pull: PULL }),
        ("pull_request", vec![action("opened")], pull(PULL), SignalKind::PullOpened { pull: PULL }),
        ("pull_request", vec![action("ready_for_review")], pull(PULL), SignalKind::PullOpened { pull: PULL }),
        (
            "pull_request",
            vec![action("synchronize")],
            pull(PULL),
            SignalKind::PullPushed { pull: PULL, head: head() },
        ),
        (
            "pull_request_review",
            vec![action("submitted")],
            pull(PULL),
            reviewed(ReviewVerdict::ChangesRequested),
        ),
        (
            "pull_request_review",
            vec![action("submitted"), state("APPROVED")],
            pull(PULL),
            reviewed(ReviewVerdict::Approved),
        ),
        (
            "pull_request_review",
            vec![action("submitted"), state("commented"), ("/review/user", Value::Null)],
            pull(PULL),
            reviewed(ReviewVerdict::Commented),
        ),
        (
            "pull_request_review_comment",
            vec![created(), says("why?")],
            pull(PULL),
            SignalKind::Remarked { pull: PULL, comment: 12 },
        ),
        ("workflow_run", vec![action("completed"), ("/workflow_run/app", Value::Null)], ours(), finished()),
        ("check_suite", vec![action("completed"), ("/check_suite/app", Value::Null)], ours(), finished()),
        // Check suites, and check runs through their suite, name their branch. Otherwise the pull request does.
        (
            "check_suite",
            vec![
                action("completed"),
                ("/check_suite/app", Value::Null),
                ("/check_suite/head_branch", Value::Null),
            ],
            ours(),
            finished(),
        ),
        ("status", vec![], ours(), finished()),
        ("status", vec![("/state", json!("success"))], ours(), finished()),
        ("status", vec![("/state", json!("error"))], ours(), finished()),
        ("push", vec![], SignalSubject::Base, SignalKind::BaseMoved { head: head() }),
        ("merge_group", vec![action("checks_requested")], group(), SignalKind::GroupChecksRequested),
        ("merge_group", vec![action("destroyed")], group(), destroyed("dequeued")),
        ("merge_group", vec![action("destroyed"), ("/reason", Value::Null)], group(), destroyed("destroyed")),
    ] {
        let expected = RoutedSignal {
            repository: "o/r".parse().unwrap(),
            repository_id: RepositoryId(9),
            installation: Some(InstallationId(3)),
            default_branch: Some("trunk".to_owned()),
            subject,
            condition: SignalCondition::Nothing,
            otherwise: None,
            changed_at: None,
            signal: Signal {
                by: Requester::Person(Person { login: "anna".to_owned(), id: UserId(5) }),
                kind,
            },
        };
        assert_eq!(heard(event, &changes), expected, "{event} {changes:?}");
    }
    for (name, command) in
        [("retry", SlashCommand::Retry { guidance: None }), ("approve", SlashCommand::Approve)]
    {
        let pressed = heard("check_run", &button(name));
        assert_eq!(pressed.signal.kind, commanded(None, None, command));
        assert_eq!((pressed.subject, pressed.condition), (ours(), SignalCondition::Of(15_368)));
    }
    let order = "0197b2f0-7d6e-7c3a-8f0e-5a1f6f0f2d11";
    let elsewhere = [
        action("rerequested"),
        ("/check_run/check_suite/head_branch", json!("patch-1")),
        ("/check_run/external_id", json!(order)),
    ];
    let rerun = heard("check_run", &elsewhere);
    assert_eq!(rerun.signal.kind, commanded(None, None, SlashCommand::Retry { guidance: None }));
    let of = SignalSubject::Order(order.parse().unwrap());
    assert_eq!((rerun.subject, rerun.condition), (of, SignalCondition::Of(15_368)));
}

#[test]
fn a_merge_group_without_a_pull_request_or_a_branch_is_malformed() {
    for (pointer, value) in [
        ("/merge_group/head_ref", json!("refs/heads/main")),
        ("/merge_group/head_ref", json!("refs/heads/gh-readonly-queue/main/pr-x-1")),
        ("/merge_group/head_ref", json!("refs/heads/gh-readonly-queue/main/pr-99999999999-1")),
        ("/merge_group/base_ref", json!("refs/tags/1")),
        ("/merge_group/base_ref", json!("refs/heads/-rf")),
        ("/merge_group/head_sha", json!("1")),
    ] {
        let understood = understand("merge_group", &changed(&[action("checks_requested"), (pointer, value)]));
        let DeliveryMeaning::Malformed { because } = understood else { panic!("{understood:?}") };
        assert!(because.starts_with(&pointer[1..].replace('/', ".")), "{because}");
    }
}

/// A person's decisions count by the sender's identity, not by what a bot writes for them.
#[test]
fn bots_end_work_and_check_it_and_never_start_or_steer_it() {
    let by_bot = |event, changes: &[(&'static str, Value)]| {
        understand(event, &changed(&[changes, &bot()[..]].concat()))
    };
    let renovate = SignalCondition::NotBy("renovate[bot]".to_owned());
    let from = SignalCondition::NotOf(15_368);
    for (event, changes, provided) in [
        ("issues", vec![action("unlabeled")], &renovate),
        ("issues", vec![action("edited")], &renovate),
        ("issues", vec![action("closed")], &renovate),
        ("issues", vec![action("transferred")], &renovate),
        ("issues", vec![action("deleted")], &renovate),
        ("issues", vec![action("locked")], &renovate),
        ("pull_request", vec![action("closed")], &renovate),
        ("pull_request", vec![action("opened")], &renovate),
        ("pull_request", vec![action("ready_for_review")], &renovate),
        ("pull_request", vec![action("synchronize")], &renovate),
        ("check_suite", vec![action("completed")], &from),
        ("check_run", vec![action("completed")], &from),
        ("workflow_run", vec![action("completed")], &from),
        ("status", vec![], &SignalCondition::Nothing),
        ("push", vec![], &SignalCondition::Nothing),
        ("merge_group", vec![action("checks_requested")], &SignalCondition::Nothing),
        ("merge_group", vec![action("destroyed")], &SignalCondition::Nothing),
    ] {
        let DeliveryMeaning::Signal(incoming) = by_bot(event, &changes) else {
            panic!("{event} {changes:?}")
        };
        assert_eq!(incoming.condition, *provided, "{event} {changes:?}");
    }
    let on_pull = ("/issue/pull_request", json!({"url": "https://example.org"}));
    for (event, changes) in [
        ("issues", vec![]),
        ("issue_comment", vec![action("created")]),
        ("issue_comment", vec![action("created"), says("/rety")]),
        ("issue_comment", vec![action("created"), on_pull.clone(), says("@journeyman look")]),
        ("issue_comment", vec![action("created"), on_pull, says("/journeyman verify")]),
        ("pull_request", vec![action("labeled")]),
        ("pull_request", vec![action("reopened")]),
        ("pull_request_review", vec![action("submitted")]),
        ("pull_request_review_comment", vec![action("created")]),
        ("check_run", vec![action("requested_action")]),
    ] {
        let DeliveryMeaning::Ignored { because } = by_bot(event, &changes) else {
            panic!("{event} {changes:?}")
        };
        assert!(because.contains("bots"), "{event} {changes:?}: {because}");
        // A login also identifies a bot if the type is missing.
        let untyped =
            [&changes[..], &[("/sender/login", json!("x[bot]")), ("/sender/type", Value::Null)]].concat();
        assert!(matches!(understand(event, &changed(&untyped)), DeliveryMeaning::Ignored { .. }), "{event}");
    }
}

#[test]
fn whether_we_are_meant_is_for_whoever_knows_our_name() {
    let us = AppIdentity { app: 15, slug: "Journeyman-of-acme".to_owned() };
    let names =
        |names: &[&str]| SignalCondition::Named(names.iter().map(|name| (*name).to_owned()).collect());
    for (provided, because) in [
        (SignalCondition::Nothing, None),
        (SignalCondition::NotOf(15), Some("our own")),
        (SignalCondition::NotOf(16), None),
        (SignalCondition::Of(15), None),
        (SignalCondition::Of(16), Some("another App")),
        (SignalCondition::NotBy("journeyman-of-acme[bot]".to_owned()), Some("ourselves")),
        (SignalCondition::NotBy("journeyman-of-acme".to_owned()), None),
        (SignalCondition::NotBy("renovate[bot]".to_owned()), None),
        (names(&["anna", "journeyman-of-acme"]), None),
        (names(&["anna", "journeyman"]), Some("names us")),
        (SignalCondition::Named(BTreeSet::new()), Some("names us")),
    ] {
        let unmet = provided.unmet_by(&us);
        assert_eq!(unmet.is_some(), because.is_some(), "{provided:?}: {unmet:?}");
        assert!(unmet.unwrap_or_default().contains(because.unwrap_or_default()), "{provided:?}: {unmet:?}");
    }

    let on_pull = ("/issue/pull_request", json!({"url": "https://example.org"}));
    let remark = heard(
        "issue_comment",
        &[action("created"), on_pull, says("> @anna /retry\n\nHow about it, @Journeyman[bot]? `@carl`")],
    );
    assert_eq!(remark.signal.kind, SignalKind::Remarked { pull: PullNumber(7), comment: 12 });
    assert_eq!(remark.condition, names(&["journeyman"]));
    let run = heard("check_run", &[action("completed")]);
    assert_eq!(run.condition, SignalCondition::NotOf(15_368), "its number tells better than its name");
}

#[test]
fn what_means_nothing_is_ignored_with_a_reason() {
    let created = || action("created");
    let completed = || action("completed");
    let on_pull = || ("/issue/pull_request", json!({}));
    let other = ("/pull_request/head/sha", json!(OTHER));
    for (event, changes, because) in [
        ("star", vec![], "event \"star\""),
        ("", vec![], "event \"\""),
        ("pull_request_review_thread", vec![action("resolved")], "event \"pull_request_review_thread\""),
        ("issues", vec![action("opened")], "issues.opened"),
        ("issues", vec![("/action", Value::Null)], "without an action"),
        ("issues", vec![("/issue/state", json!("closed"))], "closed"),
        ("issues", vec![on_pull()], "pull request"),
        ("issues", vec![action("edited"), ("/changes", json!({}))], "neither"),
        ("issues", vec![action("edited"), ("/changes", Value::Null)], "neither"),
        ("issues", vec![action("edited"), ("/changes", json!({"title": {"from": "T"}}))], "neither"),
        ("issues", vec![action("edited"), ("/changes", json!({"body": {"from": ""}}))], "neither"),
        ("issues", vec![action("edited"), ("/changes", json!({"body": {"from": null}}))], "neither"),
        ("issue_comment", vec![action("edited")], "issue_comment.edited"),
        ("issue_comment", vec![action("deleted")], "issue_comment.deleted"),
        (
            "issue_comment",
            vec![created(), says("@journeyman look"), ("/issue/state", json!("closed"))],
            "closed",
        ),
        ("issue_comment", vec![created(), says("/journeyman"), ("/issue/state", json!("closed"))], "closed"),
        ("issue_comment", vec![created(), on_pull(), says("look at this")], "names anybody"),
        ("issue_comment", vec![created(), on_pull(), says("> @journeyman look")], "names anybody"),
        ("issue_comment", vec![created(), ("/comment/user/id", json!(6))], "sender's own"),
        ("pull_request", vec![action("edited"), other], "pull_request.edited"),
        ("pull_request", vec![action("opened"), ("/pull_request/draft", json!(true))], "draft"),
        ("pull_request_review", vec![action("edited")], "pull_request_review.edited"),
        ("pull_request_review", vec![action("dismissed")], "pull_request_review.dismissed"),
        ("pull_request_review", vec![action("submitted"), ("/review/user/id", json!(6))], "sender's own"),
        ("pull_request_review", vec![action("submitted"), ("/review/state", json!("pending"))], "nothing"),
        ("pull_request_review_comment", vec![action("edited")], "pull_request_review_comment.edited"),
        ("pull_request_review_comment", vec![created(), ("/comment/user/id", json!(6))], "sender's own"),
        ("check_suite", vec![action("requested")], "check_suite.requested"),
        ("check_suite", vec![completed(), ("/check_suite/head_branch", json!("main"))], "branch of ours"),
        ("check_run", vec![created()], "check_run.created"),
        ("check_run", vec![completed(), ("/check_run/app", Value::Null)], "our own"),
        (
            "check_run",
            vec![completed(), ("/check_run/check_suite/head_branch", json!("main"))],
            "branch of ours",
        ),
        ("check_run", vec![action("requested_action"), ("/check_run/name", json!("lint"))], "another check"),
        (
            "check_run",
            vec![action("requested_action"), ("/requested_action/identifier", json!("merge"))],
            "no button \"merge\"",
        ),
        (
            "check_run",
            vec![action("requested_action"), ("/check_run/check_suite/head_branch", json!("main"))],
            "branch of ours",
        ),
        ("workflow_run", vec![action("in_progress")], "workflow_run.in_progress"),
        // A fork can have a branch of any name.
        (
            "workflow_run",
            vec![completed(), ("/workflow_run/head_repository/id", json!(10))],
            "branch of ours",
        ),
        ("status", vec![("/state", json!("pending"))], "pending"),
        ("status", vec![("/branches", json!([]))], "branch of ours"),
        // Our branch contains it, as does every branch that started there.
        ("status", vec![("/branches/2/commit/sha", json!(OTHER))], "branch of ours"),
        ("push", vec![("/ref", json!("refs/tags/trunk"))], "not to a branch"),
        ("push", vec![("/ref", json!("refs/heads/journeyman/issue-7-sum"))], "default branch"),
        ("push", vec![("/deleted", json!(true))], "deleted"),
        ("push", vec![("/after", json!("0".repeat(40)))], "deleted"),
    ] {
        let understood = understand(event, &changed(&changes));
        let DeliveryMeaning::Ignored { because: said } = &understood else {
            panic!("{event} {changes:?}: {understood:?}");
        };
        assert!(said.contains(because), "{event} {changes:?}: {said}");
    }
    let fork = (
        "/check_suite/pull_requests",
        json!([{"head": {"ref": "journeyman/issue-7-sum", "repo": {"id": 10}}}]),
    );
    let nameless = [completed(), ("/check_suite/head_branch", Value::Null), fork];
    assert!(matches!(understand("check_suite", &changed(&nameless)), DeliveryMeaning::Ignored { .. }));
}

#[test]
fn what_an_answered_event_cannot_do_without_is_named() {
    for (event, changes, field) in [
        ("issue_comment", vec![action("created"), ("/comment/id", Value::Null)], "comment.id"),
        ("issue_comment", vec![action("created"), ("/comment/body", Value::Null)], "comment.body"),
        ("pull_request", vec![action("closed"), ("/pull_request", json!([]))], "pull_request.number"),
        (
            "pull_request",
            vec![action("synchronize"), ("/pull_request/head", Value::Null)],
            "pull_request.head.sha",
        ),
        (
            "pull_request",
            vec![action("synchronize"), ("/pull_request/head/sha", json!("HEAD"))],
            "pull_request.head.sha",
        ),
        ("pull_request_review", vec![action("submitted"), ("/review/id", json!(-1))], "review.id"),
        ("pull_request_review", vec![action("submitted"), ("/review/state", Value::Null)], "review.state"),
        ("pull_request_review_comment", vec![action("created"), ("/comment", Value::Null)], "comment.id"),
        ("check_suite", vec![action("completed"), ("/check_suite", json!("x"))], "check_suite"),
        ("check_run", vec![action("completed"), ("/check_run/head_sha", json!(7))], "head_sha"),
        (
            "check_run",
            vec![action("requested_action"), ("/requested_action", Value::Null)],
            "requested_action.identifier",
        ),
        ("workflow_run", vec![action("completed"), ("/workflow_run", Value::Null)], "workflow_run"),
        ("status", vec![("/state", Value::Null)], "state"),
        ("status", vec![("/sha", json!("../x"))], "sha"),
        ("push", vec![("/ref", Value::Null)], "ref"),
        ("push", vec![("/after", json!("-rf"))], "after"),
        ("push", vec![("/repository/default_branch", json!("-rf"))], "repository.default_branch"),
    ] {
        let understood = understand(event, &changed(&changes));
        let DeliveryMeaning::Malformed { because } = &understood else {
            panic!("{event} {changes:?}: {understood:?}");
        };
        assert!(because.starts_with(&format!("{field} is")), "{event} {changes:?}: {because}");
    }
}
