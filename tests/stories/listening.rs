//! Which deliveries Journeyman uses and which it ignores, up to the journals of the affected orders.

use std::collections::BTreeMap;

use journeyman::order::{JournalEvent, OrderId, Signal, SignalKind};
use journeyman::store::DeliveryConclusion;
use serde_json::{Value, json};

use crate::world::{MAINTAINER, OUTSIDER, REPOSITORY, Story, WELL, World};

/// GitHub's own App for Actions.
const ACTIONS: u64 = 15_368;
/// Our App in the stories.
const OURS: u64 = 77;

/// The signals in an order's journal.
async fn heard(world: &World, order: OrderId) -> Vec<Signal> {
    let (journal, _) = world.look(order).await;
    let signals = journal.entries().iter().filter_map(|entry| match &entry.event {
        JournalEvent::Signaled { signal, .. } => Some(signal.clone()),
        JournalEvent::Opened(_) | JournalEvent::Intended { .. } | JournalEvent::Observed { .. } => None,
    });
    signals.collect()
}

/// Handmade deliveries, with the repository, sender and installation of a real one.
struct ByHand {
    world: World,
    first: Value,
    sent: u32,
}

impl ByHand {
    /// Starts once a person has added the label.
    fn new(world: World) -> Self {
        let deliveries = world.github.deliveries().into_iter();
        let labeled =
            deliveries.filter(|one| one.action.as_deref() == Some("labeled")).map(|one| one.payload).next();
        let first =
            serde_json::from_str(&labeled.expect("the label was put on")).expect("a delivery is JSON");
        Self { world, first, sent: 0 }
    }

    /// Sends it, and waits for its result.
    async fn deliver(
        &mut self,
        event: &str,
        action: Option<&str>,
        by: Option<Value>,
        about: Value,
    ) -> DeliveryConclusion {
        let mut body = json!({
            "repository": self.first["repository"], "installation": self.first["installation"],
            "sender": by.unwrap_or_else(|| self.first["sender"].clone()),
        });
        let fields = body.as_object_mut().expect("an object");
        fields.extend(action.map(|action| ("action".to_owned(), json!(action))));
        fields.extend(about.as_object().expect("an object").clone());
        self.sent += 1;
        let guid = format!("0b989ba4-242f-11e5-81e1-c7b6966d{:04}", self.sent);
        assert_eq!(self.world.deliver(&guid, event, body.to_string().as_bytes()).await, 202);
        self.world.quiet().await;
        let guid = guid.parse().expect("a GUID");
        self.world.store.conclusion(&guid).await.expect("it is kept").expect("it is concluded")
    }
}

fn because(conclusion: DeliveryConclusion) -> String {
    match conclusion {
        DeliveryConclusion::Ignored { because } => because,
        DeliveryConclusion::Opened { .. }
        | DeliveryConclusion::Signaled { .. }
        | DeliveryConclusion::Refused { .. } => {
            panic!("not ignored: {conclusion:?}")
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_push_to_the_base_is_told_to_each_open_pull_requests_order_and_to_each_once() {
    let world = Story::of(WELL).begin().await;
    for title in ["The second wrong answer", "The third wrong answer"] {
        world.github.open_issue(REPOSITORY, MAINTAINER, title, "").await.expect("an issue");
    }
    // The third comes to nothing: its order has no pull request.
    for (issue, by) in [(1, MAINTAINER), (2, MAINTAINER), (3, OUTSIDER)] {
        world.github.label(REPOSITORY, issue, "journeyman", by).await.expect("the issue is there");
    }
    world.quiet().await;
    assert_eq!(world.pulls().len(), 2);

    let more = || BTreeMap::from([("more".to_owned(), Some(b"of it\n".to_vec()))]);
    let push =
        |branch: &'static str| world.github.push_commit(REPOSITORY, branch, MAINTAINER, "More", more());
    let before = (
        world.calls("GET", "/pulls/").len(),
        world.github.calls().iter().filter(|call| call.path.contains("/api/")).count(),
    );
    let head = push("main").await.expect("it is pushed");
    push("somewhere-else").await.expect("it is pushed");
    world.quiet().await;
    let looks = world.calls("GET", "/pulls/").len() - before.0;
    let asked = world.github.calls().iter().filter(|call| call.path.contains("/api/")).count() - before.1;
    assert!(looks <= 2 * 2 && asked <= 2 * 6, "of two pull requests: {looks} looks, {asked} requests");
    for delivery in world.github.deliveries() {
        world.github.redeliver(&delivery.guid).await.expect("it is known");
    }
    world.quiet().await;

    let mut told = Vec::new();
    for order in world.orders().await {
        let kinds = heard(&world, order).await.into_iter().map(|signal| signal.kind);
        let moved: Vec<SignalKind> =
            kinds.filter(|kind| matches!(kind, SignalKind::BaseMoved { .. })).collect();
        told.push(moved);
    }
    let once = vec![SignalKind::BaseMoved { head: head.parse().expect("a commit") }];
    assert_eq!(told, [Vec::new(), once.clone(), once], "the latest order first");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn checks_of_others_are_heard_by_their_branch_and_our_own_are_not_told_back() {
    let world = Story::of(WELL).labeled().await;
    let order = world.settled().await.order;
    let pull = world.pull();
    let bot = json!({"login": "journeyman[bot]", "id": 4_100, "type": "Bot"});
    let mut hand = ByHand::new(world);
    let check = |app: u64, branch: &str| {
        let suite = json!({"head_branch": branch, "head_sha": pull.head_sha, "app": {"id": app}, "pull_requests": []});
        let run = json!({"name": "journeyman", "head_sha": pull.head_sha, "app": {"id": app}, "check_suite": suite});
        json!({"check_suite": suite, "check_run": run, "workflow_run": suite, "requested_action": {"identifier": "retry"}})
    };
    let (ours, head) = (pull.head.as_str(), pull.head_sha.as_str());
    let pushed = json!({"pull_request": {"number": pull.issue.number, "head": {"sha": head}}});
    let status = |at: &str| json!({"state": "failure", "sha": head, "branches": [{"name": ours, "commit": {"sha": at}}]});

    for (event, action, by, about, why) in [
        ("check_suite", "completed", None, check(OURS, ours), "our own"),
        ("check_run", "completed", Some(&bot), check(OURS, ours), "our own"),
        ("check_run", "requested_action", None, check(ACTIONS, ours), "another App"),
        ("check_run", "rerequested", None, check(ACTIONS, ours), "another App"),
        ("check_run", "requested_action", Some(&bot), check(OURS, ours), "bots"),
        ("workflow_run", "completed", None, check(ACTIONS, "main"), "branch of ours"),
        ("workflow_run", "completed", None, check(ACTIONS, "journeyman/issue-1-other"), "no order"),
        ("status", "", None, status(&"0".repeat(40)), "branch of ours"),
        ("pull_request", "synchronize", Some(&bot), pushed.clone(), "ourselves"),
    ] {
        let action = Some(action).filter(|action| !action.is_empty());
        let said = because(hand.deliver(event, action, by.cloned(), about).await);
        assert!(said.contains(why), "{event}: {said}");
    }
    let before = heard(&hand.world, order).await.len();

    let told = DeliveryConclusion::Signaled { orders: vec![order] };
    let of_actions = check(ACTIONS, ours);
    // GitHub names the pusher as the sender, which is us.
    for (event, action, by) in [
        ("check_suite", "completed", Some(bot)),
        ("check_run", "completed", None),
        ("workflow_run", "completed", None),
    ] {
        assert_eq!(hand.deliver(event, Some(action), by, of_actions.clone()).await, told, "{event}");
    }
    assert_eq!(hand.deliver("status", None, None, status(head)).await, told);
    let button = hand.deliver("check_run", Some("requested_action"), None, check(OURS, ours)).await;
    assert_eq!(button, told, "a person presses our button");

    let kinds: Vec<SignalKind> =
        heard(&hand.world, order).await.drain(before..).map(|signal| signal.kind).collect();
    let finished = SignalKind::ChecksFinished { head: head.parse().expect("a commit") };
    assert_eq!(kinds[..4], vec![finished; 4]);
    assert!(matches!(kinds[4], SignalKind::Commanded { comment: None, pull: None, .. }), "{:?}", kinds[4]);
    let asked = hand.world.calls("GET", "/app").into_iter().filter(|call| call.path.ends_with("/app"));
    assert_eq!(asked.count(), 1, "who we are is asked once");
    hand.world.end().await;
}
