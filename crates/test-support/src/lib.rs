//! What the tests of several crates share. No program knows it.

use std::path::{Path, PathBuf};

pub mod tally;

/// The root of the repository.
#[must_use]
pub fn repository() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own).to_owned()
}
