//! Resolves a job's program, and what to mount so that it can run.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use super::readable_paths::ReadablePaths;
use super::root::HOST_PROGRAMS;
use super::toolchains::{is_wide, with_what_belongs};
use super::{Job, ProgramOwner, SandboxError};

/// The first executable of that name in these folders.
pub(super) fn find(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    folders.iter().map(|folder| folder.join(name)).find(|path| is_program(path))
}

pub(super) fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// The path to start. Paths in the job's mounts are not checked from outside, because the job may have put links there.
pub(super) fn locate(job: &Job, reads: &ReadablePaths) -> Result<PathBuf, SandboxError> {
    let named = PathBuf::from(job.program.first().cloned().unwrap_or_default());
    let missing = || SandboxError::NoProgram { program: named.clone() };
    if job.root.as_ref().is_some_and(|root| root.program == ProgramOwner::Root) {
        // It is resolved inside.
        return Ok(named);
    }
    if named.is_absolute() {
        let there = job.holds(&named) || is_program(&named);
        return if there { Ok(named) } else { Err(missing()) };
    }
    if named.components().count() > 1 || named.starts_with(".") {
        return Ok(job.inside(&job.directory).join(named));
    }
    named.to_str().and_then(|name| find(name, reads.search_path())).ok_or_else(missing)
}

/// Further mounts for one program.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ProgramMounts {
    pub(super) shown: Vec<PathBuf>,
    /// A link to create: where, and to what.
    pub(super) link: Option<(PathBuf, PathBuf)>,
}

/// What `program` needs beyond the usual mounts: itself, its link's target, and files of its folder.
pub(super) fn program_mounts(program: &Path, job: &Job, reads: &ReadablePaths) -> ProgramMounts {
    let visible = |path: &Path| reads.shows(path) || job.holds(path);
    // Links in the job's own folders belong to the job and resolve only inside.
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

/// A program of the host that starts in the job's own root.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HostProgram {
    /// How to start it, with paths as seen inside.
    pub(super) command: Vec<OsString>,
    /// The host's paths that it needs.
    pub(super) shown: Vec<PathBuf>,
}

/// Folders shared by many unrelated programs.
const SHARED_FOLDERS: [&str; 5] = ["/usr/bin", "/usr/local/bin", "/bin", "/usr/sbin", "/sbin"];
/// Bytes to read of a program to find its interpreter.
const FIRST_LINE: u64 = 256;

impl HostProgram {
    /// `None` for programs in the job's own folders, which are visible there.
    pub(super) fn of(program: &Path, job: &Job, reads: &ReadablePaths) -> Option<Self> {
        let of_host = job.root.as_ref().is_some_and(|root| root.program == ProgramOwner::Host);
        if !of_host || job.holds(program) || program.starts_with(job.inside(&job.home)) {
            return None;
        }
        let real = program.canonicalize().ok()?;
        let interpreter = interpreter(&real, reads).and_then(|found| found.canonicalize().ok());
        let needed = interpreter.iter().chain([&real]);
        let mut shown: Vec<PathBuf> = needed.clone().flat_map(|program| with_its_own(program)).collect();
        shown.sort();
        shown.dedup_by(|path, before| path.starts_with(before));
        let command = needed.map(|program| Self::seen(program).into_os_string()).collect();
        Some(Self { command, shown })
    }

    /// Where a path of the host appears.
    pub(super) fn seen(path: &Path) -> PathBuf {
        Path::new(HOST_PROGRAMS).join(path.strip_prefix("/").unwrap_or(path))
    }
}

/// The host's paths that a program needs; system libraries must be in the root.
fn with_its_own(real: &Path) -> Vec<PathBuf> {
    match real.parent() {
        Some(folder) if SHARED_FOLDERS.iter().any(|shared| folder == Path::new(shared)) => {
            vec![real.to_owned()]
        }
        Some(_) | None => surroundings(real),
    }
}

/// A command without side effects that succeeds if a program of the host can start in a job's own root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootTrial {
    pub program: Vec<OsString>,
    pub owner: ProgramOwner,
}

impl RootTrial {
    /// For a script, asks its interpreter for the version without running the script.
    pub(super) fn of(program: &Path, reads: &ReadablePaths) -> Self {
        let real = program.canonicalize().unwrap_or_else(|_| program.to_owned());
        let (asked, owner): (Vec<OsString>, _) = match (first_line(&real), interpreter(&real, reads)) {
            (_, Some(found)) => (vec![found.into(), "--version".into()], ProgramOwner::Host),
            (Some(line), None) => {
                let named = line.split_whitespace().next().unwrap_or_default();
                (["sh", "-c", "test -x \"$1\"", "sh", named].map(Into::into).to_vec(), ProgramOwner::Root)
            }
            (None, None) => {
                let is_shell = real.file_name().is_some_and(|name| SHELLS.iter().any(|shell| name == *shell));
                let asks: &[&str] = if is_shell { &["-c", "true"] } else { &["--version"] };
                (
                    std::iter::once(program.into()).chain(asks.iter().map(Into::into)).collect(),
                    ProgramOwner::Host,
                )
            }
        };
        Self { program: asked, owner }
    }
}

/// Some of these have no version option.
const SHELLS: [&str; 6] = ["sh", "dash", "bash", "ash", "zsh", "busybox"];

/// The text after a script's `#!`.
fn first_line(program: &Path) -> Option<String> {
    let mut line = Vec::new();
    let file = std::fs::File::open(program).ok()?;
    BufReader::new(file.take(FIRST_LINE)).read_until(b'\n', &mut line).ok()?;
    Some(OsString::from_vec(line).into_string().ok()?.strip_prefix("#!")?.to_owned())
}

/// The interpreter that `env` would find for a script; any other interpreter must be in the root.
fn interpreter(program: &Path, reads: &ReadablePaths) -> Option<PathBuf> {
    let line = first_line(program)?;
    let mut words = line.split_whitespace();
    if Path::new(words.next()?).file_name()? != "env" {
        return None;
    }
    // A version manager's shim needs the manager, which is not there.
    let is_shim = |folder: &&PathBuf| folder.ends_with("shims");
    let folders: Vec<PathBuf> =
        reads.search_path().iter().filter(|folder| !is_shim(folder)).cloned().collect();
    find(words.find(|word| *word != "-S")?, &folders)
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
        // Elsewhere, files beside a program may be unrelated settings and keys.
        Some(_) | None => vec![real.to_owned()],
    }
}

/// npm programs find their packages in the outermost `node_modules`.
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
