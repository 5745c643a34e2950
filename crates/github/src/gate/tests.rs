//! All tests run in paused time: it advances when all tasks are idle, and seconds are exact.

use std::cell::{Cell, RefCell};
use std::num::NonZeroU32;
use std::rc::Rc;

use proptest::prelude::*;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{sleep, timeout};

use super::queue::PATIENCE;
use super::*;
use crate::ErrorKind;

const GITHUB: WriteLimits = WriteLimits::GITHUB;
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

fn limits(interval: Duration, per_minute: u32, per_hour: u32) -> WriteLimits {
    WriteLimits { interval, per_minute: NonZeroU32::new(per_minute), per_hour: NonZeroU32::new(per_hour) }
}

fn queue(limits: WriteLimits) -> Arc<WriteQueue> {
    Arc::new(WriteQueue::new(limits))
}

/// Passes this often and is answered at once. Returns the times, in seconds from now.
async fn pass(queue: &Arc<WriteQueue>, priority: WritePriority, times: usize) -> Vec<u64> {
    let begun = Instant::now();
    let mut passed = Vec::new();
    for _ in 0..times {
        drop(Arc::clone(queue).pass(priority).await.expect("it is not long"));
        passed.push(begun.elapsed().as_secs());
    }
    passed
}

#[tokio::test(start_paused = true)]
async fn there_is_one_write_a_second() {
    let queue = queue(GITHUB);
    assert_eq!(pass(&queue, WritePriority::Important, 5).await, [0, 1, 2, 3, 4]);
    sleep(MINUTE).await;
    assert_eq!(pass(&queue, WritePriority::Status, 3).await, [0, 1, 2], "what was not used is not saved up");
}

#[tokio::test(start_paused = true)]
async fn a_quarter_is_kept_for_what_is_important() {
    let queue = queue(limits(Duration::ZERO, 0, 8));
    assert_eq!(pass(&queue, WritePriority::Status, 6).await, [0; 6]);
    assert_eq!(Arc::clone(&queue).pass(WritePriority::Status).await.unwrap_err(), HOUR);
    assert_eq!(Arc::clone(&queue).pass(WritePriority::Ordinary).await.unwrap_err(), HOUR);
    assert_eq!(pass(&queue, WritePriority::Important, 2).await, [0; 2]);
    assert_eq!(Arc::clone(&queue).pass(WritePriority::Important).await.unwrap_err(), HOUR);
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_github_asks_for_holds_all_of_an_installation_and_nobody_else() {
    let gate = WriteGate::new(GITHUB);
    let (ours, other) = (InstallationId(5), InstallationId(6));
    gate.hold(ours, SECOND * 30);
    gate.hold(ours, SECOND * 10);
    let begun = Instant::now();
    drop(gate.pass(other, WritePriority::Status, "PATCH /x").await.unwrap());
    assert_eq!(begun.elapsed(), Duration::ZERO);
    // A short pause is waited out, also by earlier waiters.
    let (one, two) = tokio::join!(gate.pass(ours, WritePriority::Important, "POST /x"), async {
        sleep(SECOND * 20).await;
        gate.hold(ours, SECOND * 20);
    });
    drop(one.unwrap());
    assert_eq!((two, begun.elapsed()), ((), SECOND * 40));
    // A long pause is reported at once, also to earlier waiters, and rounded up to a second.
    let (one, ()) = tokio::join!(gate.pass(ours, WritePriority::Important, "POST /x"), async {
        gate.hold(ours, SECOND * 600 + Duration::from_millis(1));
    });
    let error = one.unwrap_err();
    assert_eq!(begun.elapsed(), SECOND * 40);
    assert_eq!(error.kind, ErrorKind::Unavailable { retry_after: Some(SECOND * 601) });
    let error = gate.pass(ours, WritePriority::Important, "POST /x").await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable { retry_after: Some(SECOND * 601) });
    drop(gate.pass(other, WritePriority::Important, "POST /x").await.unwrap());
}

/// A simulated writer.
#[derive(Debug, Clone, Copy)]
struct SimulatedWriter {
    comes: Duration,
    priority: WritePriority,
    /// How long the request takes.
    takes: Duration,
    /// How long it waits before it gives up.
    gives_up: Option<Duration>,
}

/// When a write was sent and answered.
type WriteInterval = (Instant, Instant);

/// Runs all writers, with the retries that they are asked for, until the last has written or given up.
fn simulate(
    limits: WriteLimits,
    writers: &[SimulatedWriter],
    holds: &[(Duration, Duration)],
) -> Vec<WriteInterval> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let local = LocalSet::new();
    let queue = queue(limits);
    let written = Rc::new(RefCell::new(Vec::new()));
    let important_waiting = Rc::new(Cell::new(0_usize));
    let held = Rc::new(Cell::new(None::<Instant>));
    let begun = local.block_on(&runtime.unwrap(), async {
        let begun = Instant::now();
        let mut tasks = JoinSet::new();
        for (at, wait) in holds.iter().copied() {
            let (queue, held) = (Arc::clone(&queue), Rc::clone(&held));
            tasks.spawn_local(async move {
                sleep(at).await;
                queue.hold(wait);
                held.set(held.get().max(Some(Instant::now() + wait)));
            });
        }
        for writer in writers.iter().copied() {
            let (queue, written) = (Arc::clone(&queue), Rc::clone(&written));
            let (important_waiting, held) = (Rc::clone(&important_waiting), Rc::clone(&held));
            tasks.spawn_local(async move {
                sleep(writer.comes).await;
                let write = async {
                    loop {
                        let asked = Instant::now();
                        let waiting = WaitingCounter::new(writer.priority, &important_waiting);
                        let passed = Arc::clone(&queue).pass(writer.priority).await;
                        drop(waiting);
                        assert!(asked.elapsed() <= PATIENCE, "{:?}", asked.elapsed());
                        match passed {
                            Ok(permit) => {
                                let sent = Instant::now();
                                assert!(held.get().is_none_or(|held| held <= sent), "written in a pause");
                                let overtook = writer.priority == WritePriority::Important;
                                assert!(overtook || important_waiting.get() == 0, "important ones wait");
                                let record = WriteRecorder { written: &written, sent };
                                sleep(writer.takes).await;
                                drop(record);
                                drop(permit);
                                return;
                            }
                            Err(wait) => sleep(wait).await,
                        }
                    }
                };
                match writer.gives_up {
                    Some(patience) => timeout(patience, write).await.unwrap_or(()),
                    None => write.await,
                }
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
        begun
    });
    assert!(begun <= written.borrow().first().map_or(begun, |(sent, _)| *sent));
    let mut written = written.take();
    written.sort();
    written
}

/// Counts important writers that wait.
struct WaitingCounter<'a>(Option<&'a Cell<usize>>);

impl<'a> WaitingCounter<'a> {
    fn new(priority: WritePriority, count: &'a Cell<usize>) -> Self {
        let count = (priority == WritePriority::Important).then_some(count);
        if let Some(count) = count {
            count.set(count.get() + 1);
        }
        Self(count)
    }
}

impl Drop for WaitingCounter<'_> {
    fn drop(&mut self) {
        if let Some(count) = self.0 {
            count.set(count.get() - 1);
        }
    }
}

/// Records a write even if the writer gives up on the way: GitHub may have made it.
struct WriteRecorder<'a> {
    written: &'a RefCell<Vec<WriteInterval>>,
    sent: Instant,
}

impl Drop for WriteRecorder<'_> {
    fn drop(&mut self) {
        self.written.borrow_mut().push((self.sent, Instant::now()));
    }
}

/// The largest number of these in any window.
fn most_within(moments: &[Instant], window: Duration) -> usize {
    let mut moments = moments.to_vec();
    moments.sort();
    let ends = moments.iter().enumerate().map(|(first, at)| {
        moments[first..].iter().take_while(|other| other.duration_since(*at) < window).count()
    });
    ends.max().unwrap_or(0)
}

/// Asserts the limits, whenever GitHub counts a write between sending and answering.
fn assert_kept(limits: WriteLimits, written: &[WriteInterval]) {
    let counted: [Vec<Instant>; 4] = [
        written.iter().map(|(sent, _)| *sent).collect(),
        written.iter().map(|(_, answered)| *answered).collect(),
        written
            .iter()
            .enumerate()
            .map(|(n, (sent, answered))| if n % 2 == 0 { *sent } else { *answered })
            .collect(),
        written.iter().map(|(sent, answered)| *sent + (*answered - *sent) / 2).collect(),
    ];
    for moments in counted {
        for (limit, window) in [(limits.per_minute, MINUTE), (limits.per_hour, HOUR)] {
            let most = most_within(&moments, window);
            assert!(limit.is_none_or(|limit| most <= limit.get() as usize), "{most} in {window:?}");
        }
    }
    for pair in written.windows(2) {
        assert!(pair[1].0 - pair[0].0 >= limits.interval, "{pair:?}");
    }
}

fn priority() -> impl Strategy<Value = WritePriority> {
    prop_oneof![Just(WritePriority::Important), Just(WritePriority::Ordinary), Just(WritePriority::Status)]
}

fn millis(most: u64) -> impl Strategy<Value = Duration> {
    (0..=most).prop_map(Duration::from_millis)
}

fn writers(spread_ms: u64) -> impl Strategy<Value = Vec<SimulatedWriter>> {
    let gives_up = prop_oneof![4 => Just(None), 1 => millis(200_000).prop_map(Some)];
    let writer = (millis(spread_ms), priority(), millis(30_000), gives_up);
    let writer = writer.prop_map(|(comes, priority, takes, gives_up)| SimulatedWriter {
        comes,
        priority,
        takes,
        gives_up,
    });
    prop::collection::vec(writer, 1..120)
}

fn any_writers() -> impl Strategy<Value = Vec<SimulatedWriter>> {
    // All at once, within minutes, or within hours.
    prop_oneof![Just(0), Just(300_000), Just(10_000_000)].prop_flat_map(writers)
}

fn any_limits() -> impl Strategy<Value = WriteLimits> {
    (prop_oneof![Just(0), Just(100), Just(1_000)], 0..20_u32, 0..60_u32)
        .prop_map(|(interval, minute, hour)| limits(Duration::from_millis(interval), minute, hour))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn whenever_who_comes_the_limits_are_kept_and_everybody_has_a_turn(
        limits in any_limits(),
        writers in any_writers(),
        holds in prop::collection::vec((millis(1_000_000), millis(400_000)), 0..4),
    ) {
        let written = simulate(limits, &writers, &holds);
        assert_kept(limits, &written);
        let patient = writers.iter().filter(|writer| writer.gives_up.is_none()).count();
        prop_assert!(written.len() >= patient, "{} of {patient}", written.len());
    }
}
