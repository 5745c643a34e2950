//! What is known of a kept environment, in a file beside its layers. It is written last: what has none is half of one.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use journeyman_order::CommitSha;
use journeyman_order::network::NetworkRecord;
use journeyman_order::test_run::CommandRun;
use journeyman_workspace::write_whole;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct EnvironmentRecord {
    pub(super) commit: CommitSha,
    pub(super) laid: Vec<PathBuf>,
    /// None where there was nothing to install.
    pub(super) setup: Option<CommandRun>,
    #[serde(default)]
    pub(super) steps: Vec<CommandRun>,
    pub(super) output: Option<String>,
    pub(super) network: Option<NetworkRecord>,
    /// What shows that the setup made something of the sources; none: it is as good for others.
    pub(super) is_of_sources: Option<String>,
    /// Paths that the setup made, those that lie in another left out.
    pub(super) installed: Vec<String>,
    /// The environments whose homes lie below this one's, the uppermost first, by their folders' names.
    pub(super) home_below: Vec<String>,
    /// The image, by digest; none: the machine's own system.
    #[serde(default)]
    pub(super) image: Option<String>,
    pub(super) bytes: u64,
}

impl EnvironmentRecord {
    /// One that cannot be read is none.
    pub(super) fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(file(folder)).ok()?).ok()
    }

    pub(super) fn forget(folder: &Path) -> std::io::Result<()> {
        match std::fs::remove_file(file(folder)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    pub(super) fn write(&self, folder: &Path) -> std::io::Result<()> {
        write_whole(&file(folder), &serde_json::to_vec(self)?)
    }
}

fn file(folder: &Path) -> PathBuf {
    folder.join("environment.json")
}
