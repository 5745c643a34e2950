//! A journal that this version cannot read: the effect on its order, its issue, and other orders.

use chrono::Utc;
use journeyman::order::OrderId;

use crate::world::{MAINTAINER, REPOSITORY, Story, WELL, World};

const SLOWLY: &str = "
- stage: implement
  think: 300
  usd: 0.05
  run: |
    echo 42 > answer
    git commit -q -a -m 'Give the right answer' && git push -q origin HEAD || true
";

/// Damages to an order's journal while no server runs, and the resulting message on the issue.
const DAMAGES: [(&str, &str, &str); 3] = [
    (
        "an entry is half there",
        "UPDATE journal SET event = substr(event, 1, length(event) / 2) WHERE seq = 3 AND order_id = ",
        "entry 3: EOF while parsing",
    ),
    (
        "a newer version opened it",
        "UPDATE journal SET event = json_set(event, '$.format', 99) WHERE seq = 1 AND order_id = ",
        "it has format 99, and this Journeyman reads formats up to",
    ),
    (
        "an entry is missing",
        "DELETE FROM journal WHERE seq = 3 AND order_id = ",
        "entry 4 stands where 3 belongs",
    ),
];

async fn state(world: &World, order: OrderId) -> (String, bool) {
    let row = world.store.order(order).await.expect("its row is there");
    (row.state, row.active)
}

/// Our comments on an issue, without their markers.
fn said(world: &World, issue: u64) -> Vec<String> {
    let issue = world.github.issue(REPOSITORY, issue).expect("the issue is there");
    let own = issue.comments.into_iter().filter(|comment| comment.author == crate::world::look::BOT);
    own.map(|comment| comment.body.split_once('\n').expect("a marker").1.to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_whose_journal_cannot_be_read_ends_with_a_word_and_its_issue_is_free() {
    for (what, damage, because) in crate::all_or_first(&DAMAGES, 2) {
        let mut world = Story::of(SLOWLY).labeled().await;
        world.until_begun("implement/1/agent").await;
        let broken = world.latest_order().await.expect("it is at work");
        let second = world.github.open_issue(REPOSITORY, MAINTAINER, "Another wrong answer", "").await;
        let second = second.expect("an issue");
        world.github.label(REPOSITORY, second, "journeyman", MAINTAINER).await.expect("it is there");
        world.until("the second order", |journal, _| (journal.opened().order != broken).then_some(())).await;
        let sound = world.latest_order().await.expect("it is at work");
        world.stop_bot().await;
        world.sql(&format!("{damage} '{broken}'")).await;
        world.sql(&format!("UPDATE orders SET updated_at = 0 WHERE id = '{broken}'")).await;
        let begun = Utc::now();
        world.start_bot().await;
        world.quiet().await;

        assert_eq!(state(&world, broken).await, ("unreadable".to_owned(), false), "{what}");
        let is_old = world.store.has_rested_since(broken, begun).await.expect("the store can be read");
        assert!(!is_old, "what is kept of it is kept as long as of any other: {what}");
        assert_eq!(
            state(&world, sound).await,
            ("verified".to_owned(), false),
            "the other one goes on: {what}"
        );
        let words = said(&world, world.issue);
        let [words] = &words[..] else { panic!("{what}: {words:?}") };
        assert!(words.contains(&format!("Journeyman cannot read this order any more: {because}")), "{words}");
        assert!(words.ends_with("Remove the label and put it on again to start over."), "{words}");
        assert_eq!(world.labels(), ["journeyman", "journeyman:needs-human"], "{what}");
        let (status, shown) = world.api("GET", &format!("/api/v1/work-orders/{broken}"), None).await;
        assert_eq!((status, shown["state"].as_str()), (200, Some("unreadable")), "{shown}");

        world.rescript(WELL);
        world.unlabel().await;
        world.label().await;
        let again = world.settled().await;
        assert!(![broken, sound].contains(&again.order));
        assert_eq!(again.word(), "verified", "{what}: {}", again.because());
        assert_eq!(world.labels(), ["journeyman", "journeyman:done"], "{what}");
        let orders = world.orders().await.len();
        world.stop_bot().await;
        world.start_bot().await;
        world.quiet().await;
        assert_eq!(world.orders().await.len(), orders, "{what}");
        assert_eq!(said(&world, world.issue).len(), 2, "one word of each order: {what}");
        world.end().await;
    }
}
