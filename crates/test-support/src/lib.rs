//! Shared by the tests of several crates; not part of any program.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::must_use_candidate,
    clippy::missing_panics_doc,
    reason = "what cannot be prepared for a test fails it"
)]

use std::path::{Path, PathBuf};

pub mod archives;
pub mod change;
pub mod local_postgres;
pub mod local_registry;
pub mod message_receiver;
pub mod root;
pub mod tally;

#[must_use]
pub fn repository() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own).to_owned()
}

/// Whether to run everything, which is slow: the whole corpus, every moment to crash at, and every fault. Otherwise a
/// sample of each.
#[must_use]
pub fn is_all_asked_for() -> bool {
    std::env::var_os("JOURNEYMAN_TEST_ALL").is_some()
}

/// The whole list if everything is to run, otherwise its first `few`.
#[must_use]
pub fn all_or_first<T>(list: &[T], few: usize) -> &[T] {
    if is_all_asked_for() { list } else { &list[..few.min(list.len())] }
}
