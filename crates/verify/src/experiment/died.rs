//! How a test run ended prematurely: by a signal, by exiting on its own, or by a timeout.

use super::cell::{ExperimentCell, not_loaded};
use journeyman_order::Exit;
use journeyman_order::scrutiny::DiedTest;

/// What ended the run of the change's tests on the base's code too early.
#[derive(Debug, Clone, PartialEq)]
pub enum DeathOnOldCode {
    /// Nothing did.
    Alive,
    /// This test may have. First it has to pass by itself with the change.
    Suspected(String),
    /// It passes by itself with the change, and has to run by itself on the base's code.
    PassesAlone(String),
    /// This test did. Its death is `None` if it only fails.
    Found(String, Option<DiedTest>),
    /// None of the suspected tests does so by itself.
    NotFound,
    /// The runner cannot select a single test.
    OfAll(DiedTest),
}

impl DeathOnOldCode {
    /// The test that has to run by itself with the change.
    pub(super) fn suspected(&self) -> Vec<String> {
        if let Self::Suspected(test) = self { vec![test.clone()] } else { Vec::new() }
    }

    /// The test that has to run by itself on the base's code.
    pub(super) fn passes_alone(&self) -> Vec<String> {
        if let Self::PassesAlone(test) = self { vec![test.clone()] } else { Vec::new() }
    }
}

/// How the test process died, or that it timed out. `None` if it finished, or did not load what it should run. A runner
/// that starts other processes reports how these ended.
pub fn died(cell: &ExperimentCell<'_>) -> Option<Exit> {
    if !not_loaded(cell).is_empty() {
        return None;
    }
    match cell.exit? {
        exit @ (Exit::TimedOut | Exit::Signal(_)) => Some(exit),
        Exit::Code(0) => None,
        // The shell's exit code for a signal.
        Exit::Code(code @ 129..=159) => Some(Exit::Signal(code - 128)),
        Exit::Code(code) => died_below(cell, code),
    }
}

/// The signal that the tests died of, and the output up to the message about it. `None` if there was none, or if counted
/// failures may be the reason for the exit: then a signal's name in the output may be what a test printed.
pub fn fatal_signal<'a>(cell: &ExperimentCell<'a>) -> Option<(i32, &'a str)> {
    // Cargo reports the death of a test program like this, and that of a compiler otherwise.
    let of_cargo = pattern!(
        r"(?m)^error: test failed, to rerun pass .*\n\s*Caused by:\n\s*process didn't exit successfully: .* \(signal: (\d+)\b.*"
    );
    let exit = cell.exit.filter(|exit| !matches!(exit, Exit::Code(0) | Exit::TimedOut))?;
    if let Some(found) = of_cargo.captures(cell.output) {
        let said = cell.output.get(..found.get(0)?.end())?;
        return Some((found.get(1)?.as_str().parse().ok()?, said));
    }
    let is_explained = cell.reading.counts.is_some_and(|counts| counts.failed > 0);
    match if is_explained { exit } else { died(cell)? } {
        Exit::Signal(signal) => Some((signal, cell.output)),
        Exit::Code(_) | Exit::TimedOut => None,
    }
}

/// The same as [`died`] for a process that the runner started.
fn died_below(cell: &ExperimentCell<'_>, code: i32) -> Option<Exit> {
    // The exit code of a Rust test program that finished with a failure.
    const FAILED: i32 = 101;
    const NAMES: [(&str, i32); 7] = [
        ("SIGILL", 4),
        ("SIGTRAP", 5),
        ("SIGABRT", 6),
        ("SIGBUS", 7),
        ("SIGFPE", 8),
        ("SIGKILL", 9),
        ("SIGSEGV", 11),
    ];
    let signal = |name: &str| {
        let named = NAMES.iter().find(|(known, _)| *known == name);
        named.map_or(Exit::Code(code), |(_, signal)| Exit::Signal(*signal))
    };
    // Node names the file whose process it was.
    let of_node = pattern!(r"(?m)^\s*signal: '(SIG[A-Z]+)'");
    if let Some(name) = of_node.captures(cell.output).and_then(|found| found.get(1)) {
        return Some(signal(name.as_str()));
    }
    // A runner that names all its tests has finished.
    if cell.reading.cases.is_some() {
        return None;
    }
    let of_cargo =
        pattern!(r"(?m)^\s*process didn't exit successfully: .* \((?:signal: (\d+)|exit status: (\d+))\b");
    for found in of_cargo.captures_iter(cell.output) {
        let number = |at: usize| found.get(at).and_then(|number| number.as_str().parse().ok());
        if let Some(signal) = number(1) {
            return Some(Exit::Signal(signal));
        }
        if let Some(status) = number(2).filter(|status| *status != FAILED) {
            return Some(Exit::Code(status));
        }
    }
    let of_others = pattern!(r"\b(SIG(?:ILL|TRAP|ABRT|BUS|FPE|KILL|SEGV))\b");
    if let Some(name) = of_others.captures(cell.output).and_then(|found| found.get(1)) {
        return Some(signal(name.as_str()));
    }
    let in_words = pattern!(
        r"(?m)^(?:signal: (?:segmentation fault|aborted|killed|bus error)|fatal error: |unexpected fault address)|\b(?:Segmentation fault|Bus error|core dumped)\b"
    );
    in_words.is_match(cell.output).then_some(Exit::Code(code))
}
