//! Moments by chance: in the middle of effects, and twice in one order.

use std::time::{Duration, Instant};

use futures_util::StreamExt as _;

use super::every_moment::undisturbed;
use super::hold::{self, Death, paid_once, result};
use super::moment::Moment;
use super::samples::Sample;
use super::world::{Agent, Ended, World};
use crate::is_all_asked_for;

/// Printed, and read back from the environment to see the same again.
const SEED: &str = "JOURNEYMAN_KILL_SEED";
/// How many orders are killed at random times, and as many twice at random entries. More find more.
const ORDERS: &str = "JOURNEYMAN_KILL_ORDERS";
const USUALLY: u64 = 4;
/// So many where all is asked for.
const ALL: u64 = 10;
const SIDE_BY_SIDE: usize = 3;

/// Small and good enough: splitmix64.
struct Chance(u64);

impl Chance {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below.max(1)
    }
}

/// How a process is to die.
#[derive(Debug, Clone)]
enum Fate {
    /// Killed from outside so long after it started.
    After(Duration),
    /// By its own hand, around an entry.
    At(Moment),
}

fn given(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|number| number.parse().ok())
}

fn seed() -> u64 {
    given(SEED).unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(1, |since| since.as_secs())
    })
}

/// Lives through these fates and then to the end. How often it really died, and how many runs ended twice because
/// they were killed between their last word and the disk.
async fn survive(agent: Agent, fates: &[Fate], expected: &hold::Result) -> Result<(usize, usize), String> {
    let world = World::new(agent).await;
    let told = |what: String| format!("{fates:?}: {what}\n{}\n", world.said());
    let mut deaths = Vec::new();
    for (turn, fate) in fates.iter().enumerate() {
        let kill = match fate {
            Fate::At(moment) => Some(moment.clone()),
            Fate::After(_) => None,
        };
        let mut running = world.start(kill).await;
        if turn == 0 {
            world.label().await;
        }
        if let Fate::After(time) = fate {
            tokio::time::sleep(*time).await;
            running.kill().await;
        }
        match running.ended().await {
            Ended::Killed => {}
            // It was done before its time came.
            Ended::Code(0) => break,
            ended @ (Ended::Code(_) | Ended::Never) => return Err(told(format!("{ended:?}"))),
        }
        let left = world.sandboxes_end(Duration::from_secs(5)).await;
        if !left.is_empty() {
            return Err(told(format!("left in the sandbox: {left:?}")));
        }
        // Only now: an agent that was being started when the death came may still write into its diary.
        deaths.push(Death::of(&world));
    }
    let mut last = world.start(None).await;
    // A label that was put on while nobody listened is told again, as GitHub's redelivery does.
    let unheard: Vec<String> = world
        .emulator
        .deliveries()
        .into_iter()
        .filter(|one| one.action.as_deref() == Some("labeled"))
        .map(|one| one.guid)
        .collect();
    for guid in unheard.iter().take(1) {
        world.emulator.redeliver(guid).await.map_err(|error| told(error.to_string()))?;
    }
    let ended = last.ended().await;
    if ended != Ended::Code(0) {
        return Err(told(format!("the last one: {ended:?}")));
    }
    let result = result(&world).await.map_err(told)?;
    if result != *expected {
        return Err(told(format!("it came to\n{result:#?}\nand not to\n{expected:#?}")));
    }
    paid_once(&deaths, &Death::of(&world)).map_err(told)?;
    let lost = world.runs().ended.values().filter(|times| **times > 1).count();
    Ok((deaths.len(), lost))
}

async fn all_survive(what: &str, lives: Vec<(Agent, Vec<Fate>)>, expected: &hold::Result) {
    let begun = Instant::now();
    let count = lives.len();
    let survived: Vec<Result<(usize, usize), String>> = futures_util::stream::iter(lives)
        .map(async |(agent, fates)| survive(agent, &fates, expected).await)
        .buffer_unordered(SIDE_BY_SIDE)
        .collect()
        .await;
    let deaths: usize = survived.iter().flatten().map(|(deaths, _)| deaths).sum();
    let lost: usize = survived.iter().flatten().map(|(_, lost)| lost).sum();
    println!(
        "{what}: {deaths} deaths in {count} orders, {lost} runs cut off after their last word, {:?}",
        begun.elapsed()
    );
    let wrong: Vec<String> = survived.into_iter().filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "{} of {count} orders:\n{}", wrong.len(), hold::report(&wrong));
    assert!(deaths * 2 >= count, "too few died for this to say anything");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_random_times_and_twice_at_random_entries_it_comes_to_the_same_end() {
    let seed = seed();
    println!("to see the same again: {SEED}={seed}");
    let (mut chance, orders) =
        (Chance(seed), given(ORDERS).unwrap_or(if is_all_asked_for() { ALL } else { USUALLY }));
    let begun = Instant::now();
    let (world, expected) = undisturbed(Sample::Median).await;
    let entries = world.journals().await[0].0.last_seq();
    let first = begun.elapsed();
    // The shorter of two: whoever is to die at a moment of a run that was slow would have ended long before.
    let begun = Instant::now();
    drop(undisturbed(Sample::Median).await);
    let once = u64::try_from(first.min(begun.elapsed()).as_millis()).unwrap_or(u64::MAX);

    let by_time = (0..orders).map(|_| {
        let time = Duration::from_millis(chance.next(once));
        (Agent::Thinking(50), vec![Fate::After(time)])
    });
    let by_time = by_time.collect();
    all_survive("killed at random times", by_time, &expected).await;

    let mut around = |below: u64| {
        let nth = u32::try_from(1 + chance.next(below)).unwrap_or(1);
        Fate::At(Moment::Nth { nth, before: chance.next(2) == 0 })
    };
    let twice = (0..orders).map(|_| (Agent::Quick, vec![around(entries / 2), around(entries / 2)])).collect();
    all_survive("killed twice at random entries", twice, &expected).await;
}
