//! Journeyman on PostgreSQL, which is killed and restarted in the middle.

use std::collections::BTreeMap;
use std::time::Duration;

use journeyman::order::{Journal, JournalEvent, Move, MoveKey};
use journeyman_test_support::local_postgres::LocalPostgres;
use secrecy::SecretString;

use crate::world::{Story, World, slowly};

/// Longer than any write waits for a connection.
const AWAY: Duration = Duration::from_secs(12);

async fn labeled_on(database: &LocalPostgres) -> World {
    let url = SecretString::from(database.url.clone());
    Story::of(&slowly(2_000)).settings(|settings| settings.store.url = url).labeled().await
}

/// Runs of agents that started more than once.
fn begun_again(journal: &Journal) -> Vec<&MoveKey> {
    let mut begun: BTreeMap<&MoveKey, u32> = BTreeMap::new();
    for entry in journal.entries() {
        if let JournalEvent::Intended { key, r#move } = &entry.event
            && let Move::RunAgent(_) = &**r#move
        {
            *begun.entry(key).or_default() += 1;
        }
    }
    begun.into_iter().filter(|(_, times)| *times > 1).map(|(key, _)| key).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgresql_is_killed_while_an_agent_works_and_the_agent_works_on() {
    let mut database = LocalPostgres::start();
    let world = labeled_on(&database).await;
    world.until_begun("implement/1/agent").await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    database.kill();
    // Meanwhile the agent ends, and its result cannot be written.
    tokio::time::sleep(AWAY).await;
    database.start_again();

    let ended = world.settled_as("verified").await;

    assert_eq!(begun_again(&ended.journal), Vec::<&MoveKey>::new(), "it was let work on");
    for stage in ["classify", "branch", "plan", "implement", "publish"] {
        assert_eq!(ended.runs_of(stage), 1, "{stage} was paid once");
    }
    let kept = world.store.artifacts(ended.order).await.expect("artifacts");
    let kept: Vec<&str> = kept.iter().map(|artifact| artifact.name.as_str()).collect();
    assert!(kept.contains(&"implement-1-agent.jsonl"), "what it said is kept: {kept:?}");
    world.pull();
    assert_eq!(world.branches().len(), 1);
    assert_eq!(world.labels(), ["journeyman", "journeyman:done"]);
    world.end().await;
}
