//! What a Cargo build leaves to later runs: the packages of registries, and the compiler's incremental cache.
//!
//! May know: Cargo's calls and its target folder. Must never know: where that is kept.
//!
//! Cargo takes a package for built by the times of its files. Those say nothing of a file that a change deletes or adds,
//! of what a build script reads without telling Cargo, and of an edit with an old time. So only packages of registries,
//! which never change, count as built. The repository's own are compiled by each run. The incremental cache makes that
//! fast, and goes by content.

use crate::files::RepositoryFiles;
use crate::planned::{BuildFolder, KeptBuild};

/// In the root of each target folder.
const SIGN: &str = ".rustc_info.json";
/// Programs and libraries outside of these, such as `target/debug/NAME`, would still be there for the tests of a change
/// that deletes them.
const CACHES: [&str; 4] = [".fingerprint", "build", "deps", "incremental"];

/// A call that builds tests and runs none. `None` if this is no test run of Cargo.
pub(super) fn call<'w>(words: &[&'w str]) -> Option<Vec<&'w str>> {
    let ["cargo", more @ ..] = words else { return None };
    let at = more.iter().position(|word| matches!(*word, "test" | "t" | "nextest"))?;
    let taken = match more.get(at..)? {
        ["nextest", "run", ..] => at + 3,
        ["nextest", ..] => return None,
        _ => at + 2,
    };
    // Cargo refuses to build documentation tests alone.
    if more.iter().any(|word| matches!(*word, "--no-run" | "--doc")) {
        return None;
    }
    let (before, after) = words.split_at_checked(taken)?;
    Some([before, &["--no-run"], after].concat())
}

/// Returns whether anything may be kept.
pub(super) fn keep(files: &RepositoryFiles<'_>, kept: &mut KeptBuild) -> bool {
    // Cargo never looks at a vendored package again, and a change can edit it.
    if files.all().any(|path| path.ends_with(".cargo-checksum.json")) {
        return false;
    }
    let manifests = files.all().filter(|path| *path == "Cargo.toml" || path.ends_with("/Cargo.toml"));
    let name = |path: &str| Some(files.toml(path)?.get("package")?.get("name")?.as_str()?.to_owned());
    let own = manifests.filter_map(name).collect();
    kept.tree.push(BuildFolder { sign: SIGN, caches: &CACHES, own });
    true
}
