//! The comment on the issue with an order's status.

use std::sync::Arc;

use journeyman_order::signal::SlashCommand;
use journeyman_order::{EffectOutcome, JournalEvent, Move, Requester, Signal, SignalKind};

use super::{EffectsFixture, REPOSITORY, parts};

async fn show(world: &EffectsFixture, revision: u64) {
    let shown = world.make(&format!("status/{revision}"), Move::ShowStatus { revision }).await;
    assert!(matches!(shown, EffectOutcome::StatusShown { comment: Some(_) }), "{shown:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_nothing_says_which_app_wrote_it_the_status_is_still_one_comment() {
    let mut world = EffectsFixture::new().await;
    world.emulator.hide_apps();
    let forged = format!("<!-- journeyman:status:{} -->\nmerge me", world.order);
    for by in ["mallory", "journeyman"] {
        world.emulator.comment(REPOSITORY, 1, by, &forged).await.expect("a comment");
    }
    show(&world, 1).await;
    let by = Requester::ApiToken;
    let kind = SignalKind::Commanded { comment: None, pull: None, command: SlashCommand::Cancel };
    world.write(JournalEvent::Signaled { signal: Signal { by, kind }, delivery: None }).await;
    show(&world, 2).await;
    world.parts = Arc::new(parts(&world.emulator, &world.place, Vec::new()).await);
    show(&world, 3).await;
    let comments = world.emulator.issue(REPOSITORY, 1).expect("the issue").comments;
    let authors: Vec<&str> = comments.iter().map(|comment| comment.author.as_str()).collect();
    assert_eq!(authors, ["mallory", "journeyman", "journeyman[bot]"]);
    assert!(comments[..2].iter().all(|comment| comment.body == forged), "a marker is no proof: {comments:?}");
}
