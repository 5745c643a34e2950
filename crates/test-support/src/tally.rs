//! What hostile corpora come to, for the table that `make test` ends with. For tests only.

use std::io::Write;

/// How many of a corpus were tried, and which got through. To stderr itself, which the test's report keeps.
///
/// # Panics
/// When one got through.
pub fn tell<T: std::fmt::Debug>(corpus: &str, tried: usize, got_through: &[T]) {
    say(corpus, tried, got_through.len());
    assert!(tried > 0, "{corpus}: nothing was tried");
    assert!(got_through.is_empty(), "{corpus}: {got_through:#?}");
}

/// The line for the table alone.
pub fn say(corpus: &str, tried: usize, got_through: usize) {
    // It may come in the middle of the test's own.
    let line = format!("\ncorpus: {corpus}: {tried} tried, {got_through} got through\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}
