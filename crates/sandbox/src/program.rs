//! Which file a job's program is, and what has to be shown so that it can run.

use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use super::readable_paths::ReadablePaths;
use super::toolchains::{is_wide, with_what_belongs};
use super::{Job, SandboxError};

/// The first executable of that name in these folders.
pub(super) fn find(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    folders.iter().map(|folder| folder.join(name)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// The path to start. What lies in the job's mounts is not looked at from out here, since the job may have put
/// links there.
pub(super) fn locate(job: &Job, reads: &ReadablePaths) -> Result<PathBuf, SandboxError> {
    let named = PathBuf::from(job.program.first().cloned().unwrap_or_default());
    let missing = || SandboxError::NoProgram { program: named.clone() };
    if named.is_absolute() {
        let there = job.holds(&named) || is_program(&named);
        return if there { Ok(named) } else { Err(missing()) };
    }
    if named.components().count() > 1 || named.starts_with(".") {
        return Ok(job.inside(&job.directory).join(named));
    }
    named.to_str().and_then(|name| find(name, reads.search_path())).ok_or_else(missing)
}

/// Whether a program is there for a job that has no folders of its own.
pub(super) fn is_there(named: &Path, reads: &ReadablePaths) -> Result<(), SandboxError> {
    let missing = || SandboxError::NoProgram { program: named.to_owned() };
    if named.is_absolute() {
        return if is_program(named) { Ok(()) } else { Err(missing()) };
    }
    if named.components().count() > 1 || named.starts_with(".") {
        return Ok(());
    }
    let found = named.to_str().and_then(|name| find(name, reads.search_path()));
    found.map(drop).ok_or_else(missing)
}

/// What must be shown besides, for one program.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ProgramMounts {
    pub(super) shown: Vec<PathBuf>,
    /// A link to make: where, and to what.
    pub(super) link: Option<(PathBuf, PathBuf)>,
}

/// What `program` needs that is not shown anyhow: itself, what it is a link to, and what lies in its folder.
pub(super) fn program_mounts(program: &Path, job: &Job, reads: &ReadablePaths) -> ProgramMounts {
    let visible = |path: &Path| reads.shows(path) || job.holds(path);
    // In the job's own folders links are the job's, and lead nowhere but inside.
    if job.holds(program) {
        return ProgramMounts::default();
    }
    let Ok(real) = program.canonicalize() else { return ProgramMounts::default() };
    let mut besides = ProgramMounts::default();
    if !visible(&real) {
        besides.shown = surroundings(&real);
    }
    if real != program && !visible(program) && !besides.shown.iter().any(|shown| program.starts_with(shown)) {
        besides.link = Some((program.to_owned(), real));
    }
    besides
}

fn surroundings(real: &Path) -> Vec<PathBuf> {
    let home = std::env::home_dir();
    if let Some(packages) = node_packages(real) {
        return vec![packages];
    }
    match real.parent() {
        Some(folder) if folder.ends_with("bin") && !is_wide(folder, home.as_deref()) => {
            with_what_belongs(folder, home.as_deref())
        }
        // Anywhere else what lies beside a program is not its own: settings and keys, as likely as not.
        Some(_) | None => vec![real.to_owned()],
    }
}

/// A program of npm's finds the packages that it needs in the outermost `node_modules`.
fn node_packages(real: &Path) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for part in real.components() {
        path.push(part);
        if part == Component::Normal("node_modules".as_ref()) {
            return Some(path);
        }
    }
    None
}
