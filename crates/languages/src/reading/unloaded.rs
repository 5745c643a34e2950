//! Detects what could not be compiled or loaded, so that none of its tests ran.
//!
//! A test may print the same words. They can only revoke a pass: callers check the exit as well.

use crate::not_run::unloaded_part;
use crate::table::LANGUAGES;

/// Crates, packages and files, by the names in compilers' and runners' output.
pub(super) fn read(lines: &[&str]) -> Vec<String> {
    let mut found: Vec<(usize, String)> =
        lines.iter().enumerate().filter_map(|(at, line)| Some((at, unloaded_part(line)?))).collect();
    for language in LANGUAGES {
        found.extend(language.unloaded(lines));
    }
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, name)| name).collect()
}
