//! A workbench beside the engine: commits of orders laid out as files, and commands tried on them behind the same
//! walls as everything else. For judging finished work from outside, as `journeyman eval` does.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::order::{CommitSha, Exit, OrderId, RepositoryName};
use crate::sandbox::{Access, Collected, Job, Limits, Mount, Network, Sandbox};
use crate::workspace::Workspaces;

/// What of a command's output is kept.
const MOST_OUTPUT: u64 = 4 * 1024 * 1024;

/// Lays out commits and tries commands on them. Cheap to clone.
#[derive(Clone)]
pub struct Bench {
    pub(super) sandbox: Sandbox,
    pub(super) workspaces: Workspaces,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// Its exit.
    pub exit: Exit,
    /// What it printed, on both outputs.
    pub output: String,
}

/// What a command may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Its folder alone.
    Folder,
    /// The network too, to install things.
    Network,
}

impl Bench {
    /// Writes the files of an order's commit into a folder, which is emptied before.
    ///
    /// # Errors
    /// When the commit is not here, or the disk fails.
    pub async fn lay_out(
        &self,
        repository: &RepositoryName,
        commit: &CommitSha,
        into: &Path,
    ) -> anyhow::Result<()> {
        let workspaces = self.workspaces.clone();
        let (repository, commit, into) = (repository.clone(), commit.clone(), into.to_owned());
        tokio::task::spawn_blocking(move || workspaces.checkout(&repository, &commit, &into)).await??;
        Ok(())
    }

    /// Takes an order's workspace away; what its runs printed is kept. For orders that have ended.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub async fn clear(&self, order: OrderId) -> anyhow::Result<()> {
        let workspaces = self.workspaces.clone();
        tokio::task::spawn_blocking(move || workspaces.remove(order)).await??;
        Ok(())
    }

    /// Runs a shell command in a folder, which it may write, and with an empty home beside it.
    ///
    /// # Errors
    /// When it could not be started. One that was started and failed is not an error.
    pub async fn try_out(
        &self,
        folder: &Path,
        home: &Path,
        command: &str,
        reach: Reach,
        time: Duration,
    ) -> anyhow::Result<Tried> {
        let job = Job {
            program: ["sh", "-c", command].map(Into::into).to_vec(),
            directory: folder.to_owned(),
            environment: BTreeMap::from([("CI".to_owned(), "true".to_owned())]),
            stdin: Vec::new(),
            home: home.to_owned(),
            mounts: vec![Mount { path: folder.to_owned(), access: Access::ReadWrite }],
            relocation: None,
            network: match reach {
                Reach::Folder => Network::None,
                Reach::Network => Network::Host,
            },
            limits: Limits::default(),
            timeout: time,
            most_output: MOST_OUTPUT,
        };
        let mut said = Collected::default();
        let ended = self.sandbox.run(job, &mut said).await?;
        let mut output = String::from_utf8_lossy(&said.stdout).into_owned();
        output.push_str(&String::from_utf8_lossy(&said.stderr));
        Ok(Tried { exit: ended.exit, output })
    }
}
