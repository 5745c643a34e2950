//! `cargo test` and cargo-nextest.

use crate::counts::cargo;
use crate::runner::{
    Asked, Helper, PrintedResult, RunnerCall, SelectedRun, SummaryForm, TestRunner, TestSelection, WordsPlace,
};
use journeyman_order::bounds::MOST_NAMED;

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
        ask: report_of_nextest,
        // The repository's own configuration may name another file.
        written: &["target/nextest/*/*.xml"],
        select: select_in_nextest,
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

/// Nextest reports if its configuration says so. Ours comes after the repository's own.
fn report_of_nextest(call: &RunnerCall<'_>) -> Asked {
    let at = subcommand(call.words).map_or(0, |(at, _)| at);
    let takes_options = !call.words.contains(&"--");
    let mut asked = Asked { place: WordsPlace::After(at + 2), takes_options, ..whole(call, 2) };
    if let Some(report) = call.report {
        let path = format!("{report}-helper/nextest.toml");
        let file = shell_words::quote(&format!("journeyman:{path}")).into_owned();
        asked.words.extend(["--tool-config-file".to_owned(), file]);
        asked.helpers.push(Helper { path, text: include_str!("nextest.toml") });
    }
    asked
}

fn select_in_nextest(selection: &TestSelection<'_>) -> Option<SelectedRun> {
    let is_plain = |name: &&str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':');
    let own = selection.names.iter().map(|name| name.rsplit(" > ").next().filter(is_plain));
    let own = own.map(|name| Some(format!("test(={})", name?))).collect::<Option<Vec<_>>>()?;
    (own.len() <= MOST_NAMED).then(|| selection.with_option(&format!("-E '{}'", own.join(" | ")))).flatten()
}
