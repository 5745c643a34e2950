//! Reports on hostile corpora, for the table at the end of `make test`. For tests only.

use std::io::Write;

/// Reports how many of a corpus were tried and which got through, on stderr, where the test report collects it.
///
/// # Panics
/// If anything got through.
pub fn tell<T: std::fmt::Debug>(corpus: &str, tried: usize, got_through: &[T]) {
    say(corpus, tried, got_through.len());
    assert!(tried > 0, "{corpus}: nothing was tried");
    assert!(got_through.is_empty(), "{corpus}: {got_through:#?}");
}

/// Writes only the line for the table.
pub fn say(corpus: &str, tried: usize, got_through: usize) {
    // May appear in the middle of the test runner's own line.
    let line = format!("\ncorpus: {corpus}: {tried} tried, {got_through} got through\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}
