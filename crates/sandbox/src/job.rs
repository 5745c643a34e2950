//! What is to be run, what it may see, and how it ended.

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
    /// The program and its arguments. A bare name is looked up on the PATH; an absolute path outside the mounts is
    /// made visible with what belongs to it; anything else is the job's own affair, inside.
    pub program: Vec<OsString>,
    /// Where it starts: in one of the mounts, or in the home.
    pub directory: PathBuf,
    /// Variables besides PATH, HOME, LANG, TMPDIR and those that toolchains need; they win over these.
    pub environment: BTreeMap<String, String>,
    /// Folders of programs in front of all others on its PATH, as it sees them.
    pub search: Vec<PathBuf>,
    /// What it reads on its standard input.
    pub stdin: Vec<u8>,
    /// Its private home, readable and writable; made when it is not there.
    pub home: PathBuf,
    /// What else of the host it sees.
    pub mounts: Vec<Mount>,
    /// Which of these, and whether the home, are made of layers. Only where [`super::Sandbox::check_layers`] says so.
    pub layers: Vec<LayerStack>,
    /// Where inside that is seen, if not where it is on the host.
    pub relocation: Option<Relocation>,
    /// What it sees as its `/`; none: the system's programs and toolchains. Only where [`super::Sandbox::check_layers`]
    /// says so.
    pub root: Option<JobRoot>,
    /// Whether it has a network.
    pub network: SandboxNetwork,
    /// The network that it has in common with other jobs; with [`SandboxNetwork::None`] or a gateway.
    pub joins: Option<SharedNetwork>,
    /// What it may use of the machine.
    pub limits: JobLimits,
    /// After this it is killed.
    pub timeout: Duration,
    /// Bytes that are handed on of each of its two outputs; the rest is read and dropped.
    pub most_output: u64,
}

/// Values of variables are kept out: they may be keys.
impl fmt::Debug for Job {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Job")
            .field("program", &self.program.first())
            .field("directory", &self.directory)
            .field("environment", &self.environment.keys())
            .field("home", &self.home)
            .field("mounts", &self.mounts)
            .field("layers", &self.layers)
            .field("relocation", &self.relocation)
            .field("root", &self.root.as_ref().map(|root| &root.layers))
            .field("network", &self.network)
            .field("limits", &self.limits)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// Jobs that must not be told apart by where they run are shown their folders at one path. Only walls can do that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relocation {
    /// What of the job's folders lies below this one …
    pub host: PathBuf,
    /// … is seen below this one.
    pub inside: PathBuf,
}

/// A file or folder of the host, seen at the same path inside, but for a relocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Absolute; not itself a symbolic link, because whoever may write beside it could point it anywhere.
    pub path: PathBuf,
    /// What the job may do with it.
    pub access: MountAccess,
}

/// What a job may do with a mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MountAccess {
    ReadOnly,
    ReadWrite,
}

/// Whether a job has a network.
#[derive(Debug)]
pub enum SandboxNetwork {
    /// A loopback interface of its own, and nothing else.
    None,
    /// The host's, whole: for agents and for installing what tests need.
    Host,
    /// As [`SandboxNetwork::None`], but for one address on its loopback at which we listen.
    Gateway(EgressSocket),
}

/// Where a job's output goes, in pieces as they come: a piece may end in the middle of a line or a character.
pub trait Sink: Send {
    /// A piece of the standard output.
    fn stdout(&mut self, bytes: &[u8]);
    /// A piece of the standard error.
    fn stderr(&mut self, bytes: &[u8]);
}

/// Keeps all output in memory; bounded by the job's `most_output`.
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
    /// Behind walls it is as in a shell: a program that signal N ended shows as `Code(128 + N)`, because that is
    /// all that the monitor tells, and one in the job's own folders that cannot be started as `Code(126)` or
    /// `Code(127)`. `Signal` there means that the monitor itself was killed.
    pub exit: Exit,
    /// How long it took, walls included.
    pub duration: Duration,
    /// Whether output was dropped, because it was more than `most_output`.
    pub output_cut: bool,
    /// The limit that it ran into, if any. A job that reaches one is ended, and then `exit` is `Signal(9)`, unless it
    /// ended by itself first.
    pub limit: Option<ExceededLimit>,
}

impl Job {
    /// The smallest job there is.
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
            relocation: None,
            root: None,
            joins: None,
            network: SandboxNetwork::None,
            limits: JobLimits::small(),
            timeout: Duration::from_secs(20),
            most_output: 4_096,
        }
    }

    /// Where a path of the host is seen by the job.
    pub(super) fn inside(&self, path: &Path) -> PathBuf {
        let moved = self.relocation.as_ref().and_then(|relocation| {
            let below = path.strip_prefix(&relocation.host).ok()?;
            Some(relocation.inside.join(below))
        });
        moved.unwrap_or_else(|| path.to_owned())
    }

    /// Where on the host that lies which the job writes into its home or a mount.
    pub(super) fn written(&self, path: &Path) -> PathBuf {
        let stack = self.layers.iter().find(|stack| stack.at == path);
        stack.map_or_else(|| path.to_owned(), |stack| stack.upper.clone())
    }

    /// Its home and its mounts: parents before what lies in them; of two at the same place the later counts.
    pub(super) fn own_mounts(&self) -> Vec<(&Path, MountAccess)> {
        let mounts = self.mounts.iter().map(|mount| (mount.path.as_path(), mount.access));
        let mut own: Vec<_> =
            std::iter::once((self.home.as_path(), MountAccess::ReadWrite)).chain(mounts).collect();
        own.sort_by_key(|(path, _)| path.components().count());
        own
    }

    /// Its variables behind walls; of two of the same name the later counts.
    pub(super) fn variables(&self, reads: &ReadablePaths) -> Vec<(String, OsString)> {
        let of_root = self.root.as_ref().map(JobRoot::own_environment);
        let of_place = of_root.unwrap_or_else(|| reads.own_environment());
        let mut all = of_place.all(&self.inside(&self.home), Path::new("/tmp"), &self.search);
        all.extend(self.environment.iter().map(|(name, value)| (name.clone(), value.into())));
        all
    }

    /// Whether a path lies in the home or in a mount.
    pub(super) fn holds(&self, path: &Path) -> bool {
        path.starts_with(&self.home) || self.mounts.iter().any(|mount| path.starts_with(&mount.path))
    }

    /// Refuses what could only go wrong later, and with a worse message.
    pub(super) fn check(&self) -> Result<(), SandboxError> {
        let bad = |why: String| Err(SandboxError::BadJob(why));
        if self.program.first().is_none_or(|program| program.is_empty()) {
            return bad("it names no program".to_owned());
        }
        let moved = self.relocation.iter().flat_map(|moved| [&moved.host, &moved.inside]);
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
