//! `cargo test` and cargo-nextest.

use crate::counts::cargo;
use crate::runner::{Asked, PrintedResult, RunnerCall, SummaryForm, TestRunner, WordsPlace};

pub(super) const RUNNERS: &[TestRunner] = &[
    TestRunner {
        name: "libtest",
        runs: |words| matches!(subcommand(words), Some((_, "test" | "t"))),
        ask: |call| whole(call, 1),
        select: |selection| {
            let words = format!("-- {}", selection.identifiers()?.join(" "));
            let is_open = !selection.command.split_whitespace().any(|word| word == "--");
            is_open.then(|| selection.with_words(&words)).flatten()
        },
        printed: Some(PrintedResult { read: cargo::libtest, form: SummaryForm::Parts }),
        ..TestRunner::NONE
    },
    TestRunner {
        name: "nextest",
        runs: |words| matches!(subcommand(words), Some((at, "nextest")) if words.get(at + 1) == Some(&"run")),
        ask: |call| whole(call, 2),
        printed: Some(PrintedResult { read: cargo::nextest, form: SummaryForm::WholeRun }),
        ..TestRunner::NONE
    },
];

/// Cargo's subcommand and its index, after options such as `+stable`.
fn subcommand<'w>(words: &[&'w str]) -> Option<(usize, &'w str)> {
    let at = words.iter().position(|word| matches!(*word, "test" | "t" | "nextest"))?;
    (words.first() == Some(&"cargo")).then_some((at, *words.get(at)?))
}

/// Without this, binaries after a failing one are skipped, and their tests would seem to be gone.
fn whole(call: &RunnerCall<'_>, own: usize) -> Asked {
    let at = subcommand(call.words).map_or(0, |(at, _)| at);
    if call.has(&["--no-fail-fast", "--fail-fast", "--no-run"]) {
        return Asked::default();
    }
    Asked { words: vec!["--no-fail-fast".to_owned()], place: WordsPlace::After(at + own), ..Asked::default() }
}
