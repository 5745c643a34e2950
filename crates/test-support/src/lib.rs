//! What the tests of several crates share. No program knows it.

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

/// The root of the repository.
#[must_use]
pub fn repository() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own).to_owned()
}

/// Whether all of a corpus, every moment to die at and every fault is to be met, which takes long, rather than
/// representatives of each.
#[must_use]
pub fn is_all_asked_for() -> bool {
    std::env::var_os("JOURNEYMAN_TEST_ALL").is_some()
}

/// All of a list where all is asked for, otherwise its first `few`.
#[must_use]
pub fn all_or_first<T>(list: &[T], few: usize) -> &[T] {
    if is_all_asked_for() { list } else { &list[..few.min(list.len())] }
}
