//! Compares each part with the minimum cost of its work, measured in the same run. Ratios are valid across machines,
//! seconds are not. Run `make bench`; a word as argument selects parts by name.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, missing_docs)]

mod intake;
mod journal;
mod long_journal;
mod mirror;
mod pages;
mod resume;
mod running;
mod sandbox;
mod server;
mod start;
mod transcript;
mod verdict;
mod workspace;

use std::time::{Duration, Instant};

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str()));
    if cfg!(debug_assertions) {
        println!("A debug build: the ratios say nothing about the program that is deployed.");
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        if is_wanted("intake") {
            intake::measure().await;
        }
        if is_wanted("journal") {
            journal::measure().await;
        }
        if is_wanted("step") {
            long_journal::measure();
        }
        if is_wanted("resume") {
            resume::measure().await;
        }
        if is_wanted("mirror") {
            mirror::measure();
        }
        if is_wanted("transcript") {
            transcript::measure();
        }
        if is_wanted("sandbox") {
            sandbox::measure().await;
        }
        if is_wanted("workspace") {
            workspace::measure().await;
        }
        if is_wanted("verdict") {
            verdict::measure().await;
        }
        if is_wanted("server") {
            server::measure().await;
        }
        if is_wanted("pages") {
            pages::measure().await;
        }
        if is_wanted("start") {
            start::measure().await;
        }
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
}

fn heading(text: &str) {
    println!("\n{text}");
}

fn line(what: &str, took: Duration, note: &str) {
    println!("  {what:<44} {:>10.3} ms  {note}", took.as_secs_f64() * 1_000.0);
}

fn ratio(ours: Duration, least: Duration) -> String {
    format!("{:.1} times", ours.as_secs_f64() / least.as_secs_f64())
}

/// The median and the 99th percentile.
fn middle_and_tail(mut all: Vec<Duration>) -> (Duration, Duration) {
    all.sort();
    let at =
        |share: f64| all.get(((all.len() as f64 * share) as usize).min(all.len().saturating_sub(1))).copied();
    (at(0.5).unwrap_or_default(), at(0.99).unwrap_or_default())
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = Instant::now();
    let done = work();
    (done, begun.elapsed())
}
