//! The check run behind GitHub's merge queue: each merge group is verified before it is merged.

use std::collections::BTreeMap;

use journeyman::emulator::{CheckConclusion, EmulatedCheckRun, EmulatedIssueState};
use journeyman::order::next::OrderProjection;
use journeyman::order::{Journal, Requester};
use serde_json::{Value, json};

use crate::world::judges::finds;
use crate::world::look::{BOT, begun};
use crate::world::{MAINTAINER, OUTSIDER, REPOSITORY, Story, World};

/// Two TAP tests: of the answer, and that not both doors are open. With the files `left` and `slow` they take long.
const TEST: &str = r#"if [ -e left ] && [ -e slow ]; then sleep 60; fi
echo 1..2
failed=0
check() { # number, name, expected, found
  if [ "$3" = "$4" ]; then echo "ok $1 - $2"; else
    echo "not ok $1 - $2"; echo "  # expected $3, found $4"; failed=1
  fi
}
check 1 "the answer is right" 42 "$(cat answer)"
check 2 "one door is closed" yes "$([ -e left ] && [ -e right ] || echo yes)"
exit $failed
"#;

fn files(list: &[(&str, &str)]) -> BTreeMap<String, Option<Vec<u8>>> {
    list.iter().map(|(name, text)| ((*name).to_owned(), Some(text.as_bytes().to_vec()))).collect()
}

/// A repository with this setting, and a reviewer without objections.
async fn begun_with(verify: &str) -> World {
    let scenes = finds("verify", "code_reviewer", None, &[]);
    let settings = format!("test: sh test.sh\nverify: {verify}\n");
    Story::of(&scenes).file("test.sh", TEST).file(".github/journeyman.yml", &settings).begin().await
}

/// Somebody's pull request with the right answer, which opens this door.
fn proposed(world: &World, door: &str) -> u64 {
    let change = files(&[("answer", "42\n"), (door, "open\n")]);
    world
        .github
        .open_pull_from_fork(REPOSITORY, OUTSIDER, &format!("Open {door}"), &change)
        .expect("it opens")
}

fn enqueued(world: &World, pull: u64) -> String {
    world.github.enqueue(REPOSITORY, pull, MAINTAINER).expect("it is queued")
}

/// The newest order, which has ended and verifies a merge group.
async fn group_ended(world: &World) -> (Journal, OrderProjection) {
    world.quiet().await;
    let order = world.latest_order().await.expect("there is an order");
    let (journal, projection) = world.look(order).await;
    assert!(journal.opened().merge_group().is_some() && projection.next.settled.is_some());
    (journal, projection)
}

/// Our newest check run on this commit: that of a second verdict stands beside the first one's.
fn check(world: &World, head: &str) -> EmulatedCheckRun {
    let mut runs = world.github.check_runs(REPOSITORY, head);
    runs.retain(|run| run.name == "journeyman");
    runs.into_iter().max_by_key(|run| run.id).expect("a check run")
}

/// The merge queue's deliveries: action, reason and head.
fn told(world: &World) -> Vec<[String; 3]> {
    let all = world.github.deliveries().into_iter().filter(|one| one.event == "merge_group");
    let read = |payload: String| {
        let payload: Value = serde_json::from_str(&payload).expect("JSON");
        ["/action", "/reason", "/merge_group/head_sha"]
            .map(|at| payload.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned())
    };
    all.map(|one| read(one.payload)).collect()
}

fn said(action: &str, reason: &str, head: &str) -> [String; 3] {
    [action, reason, head].map(str::to_owned)
}

/// Our comments on a pull request.
fn comments(world: &World, pull: u64) -> Vec<String> {
    let thread = world.github.issue(REPOSITORY, pull).expect("the pull request is there");
    thread.comments.into_iter().filter(|comment| comment.author == BOT).map(|comment| comment.body).collect()
}

fn main_head(world: &World) -> String {
    world.github.branch_head(REPOSITORY, "main").expect("main is there")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verified_pull_request_goes_through_the_queue_and_is_merged() {
    let world = begun_with("label").await;
    let pull = proposed(&world, "left");
    world.github.label(REPOSITORY, pull, "journeyman:verify", MAINTAINER).await.expect("it is there");
    let own = world.settled_as("verified").await;
    let before = comments(&world, pull);

    let head = enqueued(&world, pull);
    let (journal, projection) = group_ended(&world).await;

    let opened = journal.opened();
    let change = opened.change.as_ref().expect("a change");
    assert_eq!((change.pull.0, change.head.as_str(), change.base.as_str()), (pull, &*head, "main"));
    assert_eq!((&opened.by, &opened.issue), (&Requester::Repository, &own.journal.opened().issue));
    assert_eq!(projection.surfaces().outcome, "verified");
    assert_eq!(projection.trace.usage.usd, 0.0, "no agent runs");
    assert_eq!(check(&world, &head).conclusion, Some(CheckConclusion::Success));
    assert_eq!(told(&world), [said("checks_requested", "", &head), said("destroyed", "merged", &head)]);
    assert_eq!((main_head(&world), world.pull().merged), (head.clone(), Some(head)));
    assert_eq!(world.look(own.order).await.1.surfaces().outcome, "merged");
    assert_eq!(before.len(), 1);
    assert!(
        comments(&world, pull)
            .iter()
            .all(|comment| comment.starts_with("<!-- journeyman:status:verification"))
    );
    assert_eq!(comments(&world, pull).len(), 1, "of the group, only the check run speaks");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_pull_requests_that_are_green_alone_and_red_together_are_not_both_merged() {
    let world = begun_with("all").await;
    let (left, right) = (proposed(&world, "left"), proposed(&world, "right"));
    world.settled_as("verified").await;
    let (first, second) = (enqueued(&world, left), enqueued(&world, right));
    group_ended(&world).await;

    assert_eq!(check(&world, &first).conclusion, Some(CheckConclusion::Success));
    let red = check(&world, &second);
    assert_eq!(red.conclusion, Some(CheckConclusion::Failure), "{red:#?}");
    assert!(red.summary.contains("one door is closed"), "{}", red.summary);
    assert_eq!(main_head(&world), first);
    assert_eq!(
        told(&world),
        [
            said("checks_requested", "", &first),
            said("checks_requested", "", &second),
            said("destroyed", "merged", &first),
            said("destroyed", "dequeued", &second),
        ]
    );
    let pulls: Vec<_> = world.pulls().into_iter().map(|pull| (pull.issue.state, pull.merged)).collect();
    assert_eq!(pulls, [(EmulatedIssueState::Closed, Some(first)), (EmulatedIssueState::Open, None)]);
    assert_eq!(comments(&world, right).len(), 1, "of the group, only the check run speaks");

    // Re-run on the check tests the same commit again.
    let queued = world.github.deliveries().into_iter().find(|one| one.event == "merge_group").expect("one");
    let queued: Value = serde_json::from_str(&queued.payload).expect("JSON");
    let rerun = json!({
        "action": "rerequested", "repository": queued["repository"], "installation": queued["installation"],
        "sender": queued["sender"], "check_run": {
            "name": "journeyman", "external_id": red.external_id, "app": {"id": 77}, "head_sha": second,
            "check_suite": {"head_branch": format!("gh-readonly-queue/main/pr-{right}-{}", main_head(&world))},
        },
    });
    let guid = "0b989ba4-242f-11e5-81e1-c7b6966d2516";
    assert_eq!(world.deliver(guid, "check_run", rerun.to_string().as_bytes()).await, 202);
    world.quiet().await;
    let (journal, projection) = world.look(red.external_id.parse().expect("an order")).await;
    assert!(begun(&journal, "verify/2/tests"), "{:?}", projection.next);
    assert_eq!(check(&world, &second).conclusion, Some(CheckConclusion::Failure));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_that_leaves_the_queue_while_it_is_tested_is_cancelled() {
    let world = begun_with("all").await;
    let pull = proposed(&world, "left");
    let own = world.settled_as("verified").await;
    let slow = files(&[("slow", "yes\n")]);
    world.github.push_commit(REPOSITORY, "main", MAINTAINER, "Be slow", slow).await.expect("a commit");
    world.quiet().await;

    let head = enqueued(&world, pull);
    let is_at_work = |journal: &Journal, _: &OrderProjection| {
        (journal.opened().merge_group().is_some() && begun(journal, "verify/1/tests")).then_some(())
    };
    world.until("the tests of the merge group", is_at_work).await;
    world.github.dequeue(REPOSITORY, pull, MAINTAINER).expect("it is queued");
    let (_, projection) = group_ended(&world).await;

    let shown = projection.surfaces();
    assert_eq!(
        (shown.outcome, shown.because.as_deref()),
        ("cancelled", Some("the merge group left GitHub's queue: dequeued"))
    );
    assert_eq!(check(&world, &head).conclusion, Some(CheckConclusion::Cancelled));
    assert_eq!(told(&world).last(), Some(&said("destroyed", "dequeued", &head)));
    assert_eq!(world.look(own.order).await.1.surfaces().outcome, "verified", "its own verdict stands");
    assert_eq!(comments(&world, pull).len(), 1);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_of_a_pull_request_that_nobody_has_verified_is_none_of_ours() {
    for (verify, orders) in [("never", 0), ("label", 0), ("bots", 0), ("all", 2)] {
        let world = begun_with(verify).await;
        let pull = proposed(&world, "left");
        world.quiet().await;
        let head = enqueued(&world, pull);
        world.quiet().await;
        assert_eq!(world.orders().await.len(), orders, "{verify}");
        assert_eq!(world.github.check_runs(REPOSITORY, &head).len(), orders / 2, "{verify}");
        world.end().await;
    }
}
