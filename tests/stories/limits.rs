//! GitHub limits what we write, for everything that an installation does.

use std::time::Duration;

use chrono::TimeDelta;
use journeyman::emulator::{ApiCall, Caller, Fault, FaultKind};
use journeyman::order::moves::Retry;
use journeyman::order::{EffectOutcome, JournalEvent};

use crate::world::{MAINTAINER, REPOSITORY, Story, WELL, World};

/// What GitHub asks to wait.
const ASKED: i64 = 3;
const INTERVAL: Duration = Duration::from_millis(400);

/// Writes of the conversation: neither git's nor what is about tokens.
fn writes(world: &World) -> Vec<ApiCall> {
    let is_write = |call: &ApiCall| {
        call.method != "GET" && call.caller == Caller::Installation && call.path.contains("/repos/")
            || call.path.ends_with("/graphql")
    };
    world.github.calls().into_iter().filter(is_write).collect()
}

async fn refused(world: &World) -> ApiCall {
    loop {
        if let Some(call) = writes(world).into_iter().find(|call| call.status == Some(403)) {
            return call;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_that_github_asks_of_one_order_is_kept_by_all_and_the_pace_always() {
    let story = Story::of(WELL).settings(|settings| settings.github.writes.interval = INTERVAL);
    let world = story.begin().await;
    world.github.open_issue(REPOSITORY, MAINTAINER, "The second wrong answer", "").await.expect("an issue");
    world.github.inject(Fault {
        method: Some("POST".to_owned()),
        path_contains: "/pulls".to_owned(),
        times: 1,
        kind: FaultKind::Status {
            code: 403,
            headers: vec![("Retry-After".to_owned(), ASKED.to_string())],
            body: r#"{"message": "You have exceeded a secondary rate limit."}"#.to_owned(),
        },
    });
    world.label().await;
    let refused = tokio::time::timeout(Duration::from_secs(60), refused(&world)).await.expect("a refusal");
    let until = refused.at + TimeDelta::seconds(ASKED);
    world.github.label(REPOSITORY, 2, "journeyman", MAINTAINER).await.expect("the issue is there");
    world.quiet().await;

    let orders = world.orders().await;
    assert_eq!(orders.len(), 2);
    let mut told = Vec::new();
    for order in orders {
        let (journal, survey) = world.look(order).await;
        assert_eq!(survey.surfaces().outcome, "verified");
        let opened = journal.entries().first().expect("an order begins somewhere");
        let begun = opened.at < until && opened.at > refused.at;
        told.push(begun);
        let waits = journal.entries().iter().filter_map(|entry| match &entry.event {
            JournalEvent::Observed { outcome, .. } => match &**outcome {
                EffectOutcome::Trouble(trouble) => Some(trouble.retry),
                _ => None,
            },
            JournalEvent::Opened(_) | JournalEvent::Signaled { .. } | JournalEvent::Intended { .. } => None,
        });
        let waits: Vec<Retry> = waits.collect();
        // The one that was refused rests as it was told. What the other would have read rests with it.
        assert!(begun || waits.contains(&Retry::After { seconds: 3 }), "{waits:?}");
        assert!(waits.iter().all(|wait| matches!(wait, Retry::After { seconds: 1..=3 })), "{waits:?}");
    }
    told.sort_unstable();
    assert_eq!(told, [false, true], "the second order has begun in the pause");

    let writes = writes(&world);
    let early: Vec<&ApiCall> = writes.iter().filter(|call| call.at > refused.at && call.at < until).collect();
    assert!(early.is_empty(), "{early:#?}");
    assert!(writes.len() > 12, "{}", writes.len());
    for pair in writes.windows(2) {
        // They may be on their way for longer or shorter.
        let apart = pair[1].at - pair[0].at;
        assert!(apart > TimeDelta::milliseconds(200), "{apart}: {pair:#?}");
    }
    world.end().await;
}
