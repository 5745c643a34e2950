//! Whole lives of orders in this process, in virtual time, with every possible fault. Real: `next`, engine, database
//! (SQLite on a file, some lives on PostgreSQL), gate, markers and tokens. GitHub is the emulator, called directly.
//! Git, sandboxes and agents are simulated, where effects are performed.
//!
//! A case is a seed and what happens at which step. A step is a use of the database, a request to GitHub, an effect of
//! the workplace or a webhook. `hold` checks what must be true in the end.
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at one kind")]

mod chance;
mod database;
mod faults;
mod hold;
mod life;
mod people;
mod setting;
mod shrink;
mod steps;
mod workplace;
mod world;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use chance::Chance;
use database::DatabaseServer;
use faults::{Fate, FateKind};
use life::LifeReport;
use shrink::shrunk;
pub(super) use world::{engine_parts, github_over};

/// What happens in one order's life.
#[derive(Debug, Clone, PartialEq)]
struct Case {
    seed: u64,
    /// Each at the first step from this number on at which it can happen.
    fates: Vec<(u64, Fate)>,
    on: DatabaseServer,
}

/// How many lives are lived, unless `JOURNEYMAN_MATRIX_LIVES` says otherwise: a minute of one core, or with
/// `JOURNEYMAN_TEST_ALL` as many as fit into a night.
const LIVES: u64 = 112;
const LIVES_OF_A_NIGHT: u64 = 10_000;
/// On PostgreSQL, which is slower.
const POSTGRES_LIVES: u64 = 16;
const POSTGRES_LIVES_OF_A_NIGHT: u64 = 400;
/// A life takes less than a second, unless GitHub is away for hours.
const HANGS_AFTER: Duration = Duration::from_secs(180);
/// The first seed, unless `JOURNEYMAN_MATRIX_SEED` says otherwise.
const FIRST: u64 = 1;

impl Case {
    /// The case of a seed: one or two faults in an order's life of about this many steps.
    fn of(seed: u64, on: &DatabaseServer) -> Self {
        let mut chance = Chance::of(seed);
        let steps = 330;
        let kind = FateKind::ALL[(seed % FateKind::ALL.len() as u64) as usize];
        let mut fates = vec![(1 + chance.below(steps), Fate::of(kind, &mut chance))];
        if chance.one_in(4) {
            let second = FateKind::ALL[chance.below(FateKind::ALL.len() as u64) as usize];
            fates.push((1 + chance.below(steps), Fate::of(second, &mut chance)));
        }
        // A fifth of the cases have two deaths.
        if chance.one_in(5) {
            let (first, gap) = (1 + chance.below(steps), 1 + chance.below(60));
            fates = vec![
                (first, Fate::of(FateKind::DieBefore, &mut chance)),
                (first + gap, Fate::of(FateKind::DieAfter, &mut chance)),
            ];
        }
        fates.sort_by_key(|(step, _)| *step);
        Self { seed, fates, on: on.clone() }
    }

    fn live(&self) -> Result<LifeReport, String> {
        life::live(self)
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// The results of the lives, by kind of point and what happened there.
#[derive(Default)]
struct Table {
    rows: BTreeMap<String, BTreeMap<&'static str, u64>>,
    points: BTreeMap<String, u64>,
    virtual_hours: f64,
}

impl Table {
    fn add(&mut self, report: &LifeReport) {
        for (point, fate) in &report.struck {
            *self.rows.entry(point.clone()).or_default().entry(fate.name()).or_default() += 1;
        }
        for point in &report.points {
            *self.points.entry(point.clone()).or_default() += 1;
        }
        self.virtual_hours += report.virtual_seconds / 3_600.0;
    }

    fn print(&self) {
        for (point, fates) in &self.rows {
            let fates: Vec<String> = fates.iter().map(|(fate, times)| format!("{fate} {times}")).collect();
            println!("{point}: {}", fates.join(", "));
        }
    }
}

#[test]
fn whatever_goes_wrong_nothing_is_lost_and_nothing_is_done_twice() {
    live_all(&DatabaseServer::Sqlite, LIVES, LIVES_OF_A_NIGHT);
}

#[test]
fn the_same_holds_on_postgresql() {
    match std::env::var("JOURNEYMAN_TEST_POSTGRES_URL") {
        Ok(url) => live_all(&DatabaseServer::Postgres { url }, POSTGRES_LIVES, POSTGRES_LIVES_OF_A_NIGHT),
        Err(_) => println!("skipped: JOURNEYMAN_TEST_POSTGRES_URL is not set"),
    }
}

fn live_all(on: &DatabaseServer, usual: u64, of_a_night: u64) {
    let usual = if std::env::var_os("JOURNEYMAN_TEST_ALL").is_some() { of_a_night } else { usual };
    let lives = number("JOURNEYMAN_MATRIX_LIVES", usual);
    let first = number("JOURNEYMAN_MATRIX_SEED", FIRST);
    let begun = Instant::now();
    let (next, table, wrong) = (AtomicU64::new(0), Mutex::new(Table::default()), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (under_way, ended) = (Mutex::new(BTreeMap::new()), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // A life that hangs is named, because it cannot be stopped from outside.
            while ended.load(Ordering::Relaxed) < threads as u64 {
                std::thread::sleep(Duration::from_millis(200));
                for (seed, begun) in under_way.lock().unwrap().iter() {
                    if Instant::elapsed(begun) > HANGS_AFTER {
                        // Bypasses the test's own capture, which ends with the process.
                        let _ = writeln!(std::io::stderr(), "does not end: {:?}", Case::of(*seed, on));
                        std::process::abort();
                    }
                }
            }
        });
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let nth = next.fetch_add(1, Ordering::Relaxed);
                    if nth >= lives || wrong.lock().unwrap().len() >= 20 {
                        ended.fetch_add(1, Ordering::Relaxed);
                        return;
                    }
                    let case = Case::of(first + nth, on);
                    under_way.lock().unwrap().insert(case.seed, Instant::now());
                    let lived = case.live();
                    under_way.lock().unwrap().remove(&case.seed);
                    match lived {
                        Ok(report) => table.lock().unwrap().add(&report),
                        Err(violation) => wrong.lock().unwrap().push((case, violation)),
                    }
                }
            });
        }
    });
    let (table, wrong) = (table.into_inner().unwrap(), wrong.into_inner().unwrap());
    table.print();
    println!(
        "{lives} lives, {} kinds of points, {} of points where something happened, {:.0} virtual hours, {:?}",
        table.points.len(),
        table.rows.len(),
        table.virtual_hours,
        begun.elapsed()
    );
    for (case, violation) in &wrong {
        println!("\n{case:?}\n  {violation}");
    }
    if let Some((case, _)) = wrong.first() {
        let (smaller, violation) = shrunk(case);
        panic!("{} of {lives} lives; the first, shrunk: {smaller:?}\n  {violation}", wrong.len());
    }
}

/// To debug one case: `JOURNEYMAN_MATRIX_CASE=seed`, and `JOURNEYMAN_MATRIX_TRACE=1` prints its steps.
/// `JOURNEYMAN_MATRIX_ON` is the address of a PostgreSQL to run it on.
#[test]
#[ignore = "for one case, by hand"]
fn one_case() {
    let on = std::env::var("JOURNEYMAN_MATRIX_ON");
    let on = on.map_or(DatabaseServer::Sqlite, |url| DatabaseServer::Postgres { url });
    let case = Case::of(number("JOURNEYMAN_MATRIX_CASE", 1), &on);
    println!("{case:?}");
    let report = case.live();
    println!("{report:#?}");
}
