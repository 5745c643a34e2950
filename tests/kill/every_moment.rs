//! Kills at moments that a journal names.

use std::time::{Duration, Instant};

use futures_util::StreamExt as _;

use super::hold::{self, Death, paid_once, result};
use super::moment::{Moment, representatives};
use super::world::{Agent, Ended, World};
use crate::is_all_asked_for;

/// Orders that run at the same time.
const SIDE_BY_SIDE: usize = 3;
/// How often to wait for a moment that not every order has.
const TRIES: usize = 4;

/// Only moments whose names contain this are tried, to look at one closely.
const ONLY: &str = "JOURNEYMAN_KILL_ONLY";

/// An order without interference.
pub async fn undisturbed() -> (World, hold::Result) {
    let world = World::new(Agent::Quick).await;
    let mut running = world.start(None).await;
    world.label().await;
    assert_eq!(running.ended().await, Ended::Code(0), "{}", world.said());
    let result = result(&world).await.unwrap_or_else(|wrong| panic!("{wrong}\n{}", world.said()));
    let end = Death::of(&world);
    assert!(end.runs.begun.values().all(|times| *times == 1), "{end:?}");
    assert_eq!(end.runs.begun, end.runs.ended);
    assert_eq!(end.runs.begun.len(), result.paid.len());
    assert_eq!(end.remembered.len(), result.paid.len());
    (world, result)
}

/// What happened at a moment.
enum Met {
    Died,
    /// This order took another course without that moment; its course.
    Passed(String),
}

async fn die_at(moment: &Moment, expected: &hold::Result) -> Result<Met, String> {
    let world = World::new(Agent::Quick).await;
    let told = |what: String| format!("{moment:?}: {what}\n{}\n", world.said());
    let mut running = world.start(Some(moment.clone())).await;
    world.label().await;
    match running.ended().await {
        Ended::Killed => {}
        Ended::Code(0) => {
            let journals = world.journals().await;
            let settled: Vec<_> = journals.iter().map(|(_, projection)| &projection.next.settled).collect();
            return Ok(Met::Passed(told(format!("settled as {settled:?}"))));
        }
        ended @ (Ended::Code(_) | Ended::Never) => return Err(told(format!("{ended:?}"))),
    }
    let left = world.sandboxes_end(Duration::from_secs(5)).await;
    if !left.is_empty() {
        return Err(told(format!("left in the sandbox: {left:?}")));
    }
    let death = Death::of(&world);
    let mut again = world.start(None).await;
    let ended = again.ended().await;
    if ended != Ended::Code(0) {
        return Err(told(format!("started again: {ended:?}")));
    }
    let result = result(&world).await.map_err(told)?;
    if result != *expected {
        return Err(told(format!("it came to\n{result:#?}\nand not to\n{expected:#?}")));
    }
    paid_once(&[death], &Death::of(&world)).map_err(told)?;
    let runs = world.runs();
    // An agent may be working while the status is updated. At other moments no run can be cut off.
    if !moment.is_beside_the_work() && runs.begun.values().any(|times| *times > 1) {
        return Err(told(format!("paid twice: {runs:?}")));
    }
    Ok(Met::Died)
}

async fn meet(moment: Moment, expected: &hold::Result) -> Result<Met, String> {
    for _ in 0..TRIES {
        match die_at(&moment, expected).await? {
            Met::Died => return Ok(Met::Died),
            Met::Passed(_) if moment.is_beside_the_work() => {}
            Met::Passed(how) => return Err(format!("did not come: {how}")),
        }
    }
    let how = format!("{moment:?} did not come in {TRIES} orders");
    println!("{how}");
    Ok(Met::Passed(how))
}

/// Tries every moment, and returns how many there were.
async fn meet_all(mut moments: Vec<Moment>, expected: &hold::Result) -> usize {
    if let Ok(only) = std::env::var(ONLY) {
        moments.retain(|moment| format!("{moment:?}").contains(&only));
    } else if !is_all_asked_for() {
        moments = representatives(moments);
        assert_eq!(moments.len(), 4, "{moments:?}");
    }
    let count = moments.len();
    let met: Vec<Result<Met, String>> = futures_util::stream::iter(moments)
        .map(|moment| meet(moment, expected))
        .buffer_unordered(SIDE_BY_SIDE)
        .collect()
        .await;
    let died = met.iter().filter(|met| matches!(met, Ok(Met::Died))).count();
    let wrong: Vec<String> = met.into_iter().filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "{} of {count} moments:\n{}", wrong.len(), hold::report(&wrong));
    assert!(died * 20 >= count * 19, "only {died} of {count} moments came");
    died
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_whatever_moment_it_goes_on_and_pays_nothing_twice() {
    let begun = Instant::now();
    let (world, expected) = undisturbed().await;
    let journals = world.journals().await;
    let once = begun.elapsed();
    let count = meet_all(Moment::all(&journals[0].0), &expected).await;
    println!("{count} moments to die at; one order {once:?}, all of it {:?}", begun.elapsed());
}
