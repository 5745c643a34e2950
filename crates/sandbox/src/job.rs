//! A job: what to run, what it sees, and how it ended.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::layers::MOST_LAYERS;
use super::readable_paths::ReadablePaths;
use super::{EgressSocket, ExceededLimit, JobLimits, JobRoot, LayerStack, SandboxError, SharedNetwork};
use journeyman_order::Exit;

/// One command to run.
pub struct Job {
    /// The program and its arguments. A bare name is looked up on the PATH. An absolute path outside the mounts is made
    /// visible together with its files. Anything else is resolved inside.
    pub program: Vec<OsString>,
    /// Its working directory: in one of the mounts, or in the home.
    pub directory: PathBuf,
    /// Variables besides PATH, HOME, LANG, TMPDIR and those of toolchains, which they override.
    pub environment: BTreeMap<String, String>,
    /// Folders at the front of its PATH, as it sees them.
    pub search: Vec<PathBuf>,
    /// Its standard input.
    pub stdin: Vec<u8>,
    /// Its private, writable home; created if missing.
    pub home: PathBuf,
    /// Further files and folders of the host.
    pub mounts: Vec<Mount>,
    /// Mounts, or the home, that are made of layers. Requires [`super::Sandbox::check_layers`].
    pub layers: Vec<LayerStack>,
    /// Shows these folders at another path inside.
    pub relocations: Vec<Relocation>,
    /// Whom it runs as.
    pub user: JobUser,
    /// What it sees as `/`; `None`: the system's programs and toolchains. Requires [`super::Sandbox::check_layers`].
    pub root: Option<JobRoot>,
    /// Its network access.
    pub network: SandboxNetwork,
    /// A network shared with other jobs; combines with [`SandboxNetwork::None`] or a gateway.
    pub joins: Option<SharedNetwork>,
    /// Its resource limits.
    pub limits: JobLimits,
    /// The time after which it is killed.
    pub timeout: Duration,
    /// Most bytes to pass on of each output; the rest is read and dropped.
    pub most_output: u64,
}

/// Leaves out the values of variables, because they may be keys.
impl fmt::Debug for Job {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Job")
            .field("program", &self.program.first())
            .field("directory", &self.directory)
            .field("environment", &self.environment.keys())
            .field("home", &self.home)
            .field("mounts", &self.mounts)
            .field("layers", &self.layers)
            .field("relocations", &self.relocations)
            .field("user", &self.user)
            .field("root", &self.root.as_ref().map(|root| &root.layers))
            .field("network", &self.network)
            .field("limits", &self.limits)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// Shows a job's folders at a fixed path, for jobs that must not depend on where they run. Requires bubblewrap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relocation {
    /// Everything in the job's folders below this path …
    pub host: PathBuf,
    /// … appears below this one.
    pub inside: PathBuf,
}

/// The names that a job sees of its user and its machine. Under others than the default ones it sees less of a sandbox:
/// a network interface, though no network, and no name of bubblewrap. Without a sandbox they are the machine's own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JobUser {
    /// A login: ASCII letters, digits and `-`.
    pub name: String,
    /// A host name: ASCII letters, digits and `-`.
    pub host: String,
}

impl Default for JobUser {
    fn default() -> Self {
        Self { name: "journeyman".to_owned(), host: "journeyman".to_owned() }
    }
}

impl JobUser {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A file or folder of the host, seen at the same path inside unless relocated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Absolute and not a symbolic link, which anyone with write access beside it could redirect.
    pub path: PathBuf,
    /// The job's access.
    pub access: MountAccess,
}

/// A job's access to a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MountAccess {
    ReadOnly,
    ReadWrite,
}

/// A job's network access.
#[derive(Debug)]
pub enum SandboxNetwork {
    /// Only its own loopback interface.
    None,
    /// The host's whole network: for agents, and for installing test dependencies.
    Host,
    /// Like [`SandboxNetwork::None`], plus one address on its loopback where we listen.
    Gateway(EgressSocket),
}

/// Receives a job's output in chunks, which may end in the middle of a line or character.
pub trait Sink: Send {
    /// A chunk of standard output.
    fn stdout(&mut self, bytes: &[u8]);
    /// A chunk of standard error.
    fn stderr(&mut self, bytes: &[u8]);
}

/// Keeps all output in memory; limited by the job's `most_output`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct CollectedOutput {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl Sink for CollectedOutput {
    fn stdout(&mut self, bytes: &[u8]) {
        self.stdout.extend_from_slice(bytes);
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.stderr.extend_from_slice(bytes);
    }
}

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JobResult {
    /// In bubblewrap it is as in a shell. A program killed by signal N gives `Code(128 + N)`, because the monitor
    /// reports no more. One in the job's own folders that cannot start gives `Code(126)` or `Code(127)`. `Signal` means
    /// that the monitor itself was killed.
    pub exit: Exit,
    /// How long it took, including the sandbox's setup.
    pub duration: Duration,
    /// Whether output beyond `most_output` was dropped.
    pub output_cut: bool,
    /// The limit that it reached, if any. The job is then killed and `exit` is `Signal(9)`, unless it exited first.
    pub limit: Option<ExceededLimit>,
}

impl Job {
    /// The smallest possible job.
    pub(super) fn probe(home: &Path) -> Self {
        Self {
            program: vec!["true".into()],
            directory: home.to_owned(),
            environment: BTreeMap::new(),
            search: Vec::new(),
            stdin: Vec::new(),
            home: home.to_owned(),
            mounts: Vec::new(),
            layers: Vec::new(),
            relocations: Vec::new(),
            user: JobUser::default(),
            root: None,
            joins: None,
            network: SandboxNetwork::None,
            limits: JobLimits::small(),
            timeout: Duration::from_secs(20),
            most_output: 4_096,
        }
    }

    /// Where the job sees a path of the host.
    pub(super) fn inside(&self, path: &Path) -> PathBuf {
        let mut moved = self.relocations.iter().filter_map(|relocation| {
            let below = path.strip_prefix(&relocation.host).ok()?;
            // A joined empty path would end with a slash.
            Some(if below.as_os_str().is_empty() {
                relocation.inside.clone()
            } else {
                relocation.inside.join(below)
            })
        });
        moved.next().unwrap_or_else(|| path.to_owned())
    }

    /// Where on the host the job's writes to its home or a mount end up.
    pub(super) fn written(&self, path: &Path) -> PathBuf {
        let stack = self.layers.iter().find(|stack| stack.at == path);
        stack.map_or_else(|| path.to_owned(), |stack| stack.upper.clone())
    }

    /// Its home and mounts, parents first; of two at the same place the later wins.
    pub(super) fn own_mounts(&self) -> Vec<(&Path, MountAccess)> {
        let mounts = self.mounts.iter().map(|mount| (mount.path.as_path(), mount.access));
        let mut own: Vec<_> =
            std::iter::once((self.home.as_path(), MountAccess::ReadWrite)).chain(mounts).collect();
        own.sort_by_key(|(path, _)| self.inside(path).components().count());
        own
    }

    /// Its variables in bubblewrap; of two with the same name the later wins.
    pub(super) fn variables(&self, reads: &ReadablePaths) -> Vec<(String, OsString)> {
        let of_root = self.root.as_ref().map(JobRoot::own_environment);
        let of_place = of_root.unwrap_or_else(|| reads.own_environment());
        let mut all = of_place.all(&self.inside(&self.home), Path::new("/tmp"), &self.search);
        all.extend(self.environment.iter().map(|(name, value)| (name.clone(), value.into())));
        all
    }

    /// Whether a path is in the home or in a mount.
    pub(super) fn holds(&self, path: &Path) -> bool {
        path.starts_with(&self.home) || self.mounts.iter().any(|mount| path.starts_with(&mount.path))
    }

    /// Rejects what would only fail later, with a worse message.
    pub(super) fn check(&self) -> Result<(), SandboxError> {
        let bad = |why: String| Err(SandboxError::BadJob(why));
        if self.program.first().is_none_or(|program| program.is_empty()) {
            return bad("it names no program".to_owned());
        }
        let moved = self.relocations.iter().flat_map(|moved| [&moved.host, &moved.inside]);
        let paths =
            self.mounts.iter().map(|mount| &mount.path).chain([&self.home, &self.directory]).chain(moved);
        for path in paths {
            let climbs = path.components().any(|part| part == std::path::Component::ParentDir);
            if !path.is_absolute() || climbs || path.as_os_str().as_bytes().contains(&0) {
                return bad(format!("{path:?} is not an absolute path without `..`"));
            }
        }
        if !self.holds(&self.directory) {
            return bad(format!(
                "its directory {:?} lies neither in a mount nor in its home",
                self.directory
            ));
        }
        for stack in &self.layers {
            let is_known = stack.at == self.home || self.mounts.iter().any(|mount| mount.path == stack.at);
            if !is_known || !(1..=MOST_LAYERS).contains(&stack.lower.len()) {
                let (at, number) = (&stack.at, stack.lower.len());
                return bad(format!(
                    "{number} layers at {at:?}: too many or too few, or neither its home nor a mount"
                ));
            }
        }
        if self.joins.is_some() && matches!(self.network, SandboxNetwork::Host) {
            return bad("it cannot have the host's network and one in common with other jobs".to_owned());
        }
        let of_root = self.root.as_ref().map(|root| root.layers.lower.len());
        if let Some(number) = of_root.filter(|number| !(1..=MOST_LAYERS).contains(number)) {
            return bad(format!("its root has {number} layers"));
        }
        for mount in &self.mounts {
            match std::fs::symlink_metadata(&mount.path) {
                Ok(found) if found.is_symlink() => {
                    return bad(format!("the mount {:?} is a symbolic link", mount.path));
                }
                Ok(_) => {}
                Err(error) => return bad(format!("the mount {:?} cannot be used: {error}", mount.path)),
            }
        }
        if std::fs::symlink_metadata(&self.home).is_ok_and(|found| !found.is_dir()) {
            return bad(format!("its home {:?} is not a folder", self.home));
        }
        for (name, value) in &self.environment {
            if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                return bad(format!("the variable {name:?} cannot stand in an environment"));
            }
        }
        Ok(())
    }
}
