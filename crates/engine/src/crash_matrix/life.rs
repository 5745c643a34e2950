//! A life: one process after another, until everything is done.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::TimeDelta;
use tokio::task::JoinHandle;

use super::Case;
use super::faults::Fate;
use super::hold;
use super::setting::Heard;
use super::steps::{Busy, Seam, guid};
use super::world::World;
use crate::Engine;
use journeyman_emulator::{DeliveryAttempt, DeliveryResult};
use journeyman_order::DeliveryGuid;
use journeyman_store::{NewDelivery, Store, StoreError};
use journeyman_webhook::events;

/// An order that has not settled this long after the last fault never will.
const SETTLES_WITHIN: TimeDelta = TimeDelta::hours(2);
/// How often to check whether people act and webhooks arrive.
const LOOK: Duration = Duration::from_secs(2);
/// The supervisor's pause before it starts another process.
const STARTS_AGAIN: Duration = Duration::from_secs(5);
/// More processes than this are a bug of the tests.
const MOST_PROCESSES: u32 = 12;

/// The report of a life that went well.
#[derive(Debug, Default)]
pub(super) struct LifeReport {
    pub(super) struck: Vec<(String, Fate)>,
    pub(super) points: BTreeSet<String>,
    pub(super) virtual_seconds: f64,
}

/// How a process ended.
#[derive(Debug)]
enum ProcessEnd {
    Down(Duration),
    Settled,
    /// It does not settle; with the state of things.
    Never(String),
}

struct RunningProcess {
    store: Store,
    engine: Engine,
    running: JoinHandle<usize>,
    /// Deliveries that its store is known to have.
    known: BTreeSet<DeliveryGuid>,
}

/// Lives a case. The error is what did not hold.
pub(super) fn live(case: &Case) -> Result<LifeReport, String> {
    let world = World::new(case);
    let lived = live_in(&world);
    if lived.is_err() && is_traced() {
        world.steps.state().fates.clear();
        in_a_process(&world, || hold::tell(&world));
    }
    lived
}

/// Whether debug output is on.
fn is_traced() -> bool {
    std::env::var_os("JOURNEYMAN_MATRIX_TRACE").is_some()
}

fn live_in(world: &World) -> Result<LifeReport, String> {
    let begun = world.steps.now();
    let mut heard = Heard::default();
    let mut processes = 0;
    loop {
        processes += 1;
        if processes > MOST_PROCESSES {
            return Err("does not come to an end: it dies again and again".to_owned());
        }
        match in_a_process(world, || run(world, &mut heard)) {
            ProcessEnd::Down(_) if world.steps.is_endless() => {
                return Err(format!("does the same again and again: {:?}", world.steps.last()));
            }
            ProcessEnd::Down(time) => down(world, time),
            ProcessEnd::Settled => break,
            ProcessEnd::Never(because) => return Err(because),
        }
    }
    // Later fates must not disturb the checks.
    world.steps.state().fates.clear();
    let virtual_seconds = (world.steps.now() - begun).as_seconds_f64();
    in_a_process(world, || hold::check(world, &heard))?;
    let before = in_a_process(world, || hold::Writes::of(world));
    in_a_process(world, || idle(world));
    let after = in_a_process(world, || hold::Writes::of(world));
    if before != after {
        return Err(format!("started again with nothing to do, it wrote: {before:?}, then {after:?}"));
    }
    let mut state = world.steps.state();
    Ok(LifeReport {
        struck: std::mem::take(&mut state.struck),
        points: std::mem::take(&mut state.points),
        virtual_seconds,
    })
}

/// Each process has its own runtime, so that everything of a process ends with it.
fn in_a_process<T, F: Future<Output = T>>(world: &World, act: impl FnOnce() -> F) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    if world.database.is_a_server() {
        runtime.enable_io();
    }
    let runtime = runtime.enable_time().start_paused(true).build().expect("a runtime");
    let done = runtime.block_on(act());
    runtime.shutdown_background();
    done
}

/// No process runs. GitHub tries to deliver anyway, and people continue.
fn down(world: &World, time: Duration) {
    let mut left = time;
    while !left.is_zero() {
        let step = left.min(Duration::from_secs(5));
        world.steps.pass_time(step);
        left -= step;
        world.people.lock().unwrap().act(&world.scene());
        for delivery in world.emulator.queued_deliveries() {
            world.emulator.delivered(delivery.id, DeliveryResult::Failed("connection refused".to_owned()));
        }
    }
}

/// The error is why it does not start, such as a lost answer to its database lock. Its supervisor starts another.
async fn start(world: &World) -> Result<RunningProcess, StoreError> {
    let store = world.store().await;
    let busy = Busy::new();
    world.database.is_free().await;
    store.take("a process").await?;
    drop(busy);
    let engine = world.engine(&store);
    let driven = engine.clone();
    let running = tokio::spawn(async move { driven.run().await });
    Ok(RunningProcess { store, engine, running, known: BTreeSet::new() })
}

async fn run(world: &World, heard: &mut Heard) -> ProcessEnd {
    world.steps.begin();
    let end = tokio::select! {
        biased;
        time = death(world) => ProcessEnd::Down(time),
        end = serve(world, heard) => end,
    };
    world.steps.end();
    end
}

async fn death(world: &World) -> Duration {
    loop {
        let dead = world.steps.state().dead;
        if let Some(time) = dead {
            return time;
        }
        world.steps.news.notified().await;
    }
}

async fn serve(world: &World, heard: &mut Heard) -> ProcessEnd {
    let struck = world.steps.state().struck.len();
    let mut process = match start(world).await {
        Ok(process) => process,
        // The database refuses, or the answer to this process's lock was lost.
        Err(_) if world.steps.refuses() || world.steps.state().struck.len() > struck => {
            return ProcessEnd::Down(STARTS_AGAIN);
        }
        Err(error) => return ProcessEnd::Never(format!("does not start, and nothing is wrong: {error}")),
    };
    loop {
        if is_traced() {
            eprintln!("{} {:?}", world.steps.now(), world.steps.last());
        }
        world.people.lock().unwrap().act(&world.scene());
        deliver(world, &process, heard).await;
        let terminate = world.steps.state().terminate.take();
        if let Some(down) = terminate {
            process.engine.drain();
            let _ = process.running.await;
            return ProcessEnd::Down(down);
        }
        if is_settled(world, &mut process, heard).await {
            return ProcessEnd::Settled;
        }
        let (trouble, last) = (world.steps.state().trouble_until, world.people.lock().unwrap().last_act);
        if world.steps.now() > trouble.max(last) + SETTLES_WITHIN {
            return ProcessEnd::Never(hold::unsettled(world, &process.store).await);
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn is_settled(world: &World, process: &mut RunningProcess, heard: &Heard) -> bool {
    let is_quiet = world.people.lock().unwrap().are_done()
        && heard.late.is_empty()
        && world.emulator.queued_deliveries().is_empty();
    // Usually an order is active, which is quick to check.
    if !is_quiet || !process.store.waking_orders().await.is_ok_and(|waking| waking.is_empty()) {
        return false;
    }
    let meaningful: BTreeSet<&str> = events().collect();
    let sent = world.emulator.deliveries().into_iter().filter(|one| meaningful.contains(one.event.as_str()));
    let sent: BTreeSet<DeliveryGuid> = sent.filter_map(|one| one.guid.parse().ok()).collect();
    let asked: Vec<DeliveryGuid> = sent.difference(&process.known).cloned().collect();
    let looked = async {
        let store = &process.store;
        // The order matters: a conclusion in between wakes its order.
        let unknown = store.unknown_deliveries(asked).await?;
        process.known.extend(sent.into_iter().filter(|guid| !unknown.contains(guid)));
        let is_quiet = unknown.is_empty()
            && store.pending_deliveries(0, 1).await?.is_empty()
            && store.waking_orders().await?.is_empty();
        if !is_quiet {
            return Ok::<_, journeyman_store::StoreError>(false);
        }
        let after = hold::looks_again_after(world, store).await;
        Ok(after.is_none() || after < store.looked_until().await?)
    };
    looked.await.unwrap_or(false)
}

async fn deliver(world: &World, process: &RunningProcess, heard: &mut Heard) {
    let now = world.steps.now();
    let (due, late) = std::mem::take(&mut heard.late).into_iter().partition(|(at, _)| *at <= now);
    heard.late = late;
    for (_, delivery) in due {
        take_in(world, process, heard, &delivery).await;
    }
    for delivery in world.emulator.queued_deliveries() {
        let point = format!("hook: {}.{}", delivery.event, delivery.action.as_deref().unwrap_or_default());
        let mut directive = world.steps.pass(Seam::Hook, &point).await;
        match directive.hook.take() {
            Some(Fate::HookLost) => {
                world.emulator.delivered(delivery.id, DeliveryResult::Failed("lost".to_owned()));
                continue;
            }
            Some(Fate::HookLate { by }) => {
                world.emulator.delivered(delivery.id, DeliveryResult::Failed("late".to_owned()));
                heard.late.push((now + TimeDelta::from_std(by).unwrap_or_default(), delivery));
                continue;
            }
            Some(Fate::HookTwice) => take_in(world, process, heard, &delivery).await,
            Some(Fate::HookUnderTwoGuids) => {
                heard.guids += 1;
                let other = DeliveryAttempt { guid: guid(heard.guids).to_string(), ..delivery.clone() };
                take_in(world, process, heard, &other).await;
            }
            _ => {}
        }
        take_in(world, process, heard, &delivery).await;
        world.steps.passed(&mut directive).await;
    }
}

/// Like `POST /webhook`: saved, then acknowledged.
async fn take_in(world: &World, process: &RunningProcess, heard: &mut Heard, delivery: &DeliveryAttempt) {
    let guid: DeliveryGuid = delivery.guid.parse().expect("a GUID");
    let new = NewDelivery {
        guid: guid.clone(),
        event: delivery.event.clone(),
        action: delivery.action.clone(),
        body: delivery.payload.clone().into_bytes(),
        received_at: world.steps.now(),
    };
    let outcome = match process.store.save_delivery(new).await {
        Ok(_) => {
            heard.acknowledged.insert(guid);
            process.engine.delivery_arrived();
            DeliveryResult::Answered(202)
        }
        Err(_) => DeliveryResult::Answered(503),
    };
    world.emulator.delivered(delivery.id, outcome);
}

/// One more process, which finds everything done.
async fn idle(world: &World) {
    world.steps.begin();
    let process = start(world).await.expect("the database is free");
    tokio::time::sleep(Duration::from_secs(330)).await;
    process.running.abort();
    let _ = process.running.await;
    world.steps.end();
}
