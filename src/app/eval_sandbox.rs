//! A workbench beside the engine: checks out commits of orders and runs commands on them in the usual sandbox.
//! `journeyman eval` judges finished work with it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::order::Exit;
use crate::order::bounds::LARGEST_DOCUMENT;
use crate::sandbox::{CollectedOutput, Job, JobUser, Mount, MountAccess, Sandbox, SandboxNetwork};
use crate::workspace::Workspaces;

/// Checks out commits and runs commands on them. Cheap to clone.
#[derive(Clone)]
pub struct EvalSandbox {
    pub(super) sandbox: Sandbox,
    pub(super) workspaces: Workspaces,
}

impl EvalSandbox {
    /// Runs `work` with the commits and workspaces of orders.
    ///
    /// # Errors
    /// Those of `work`.
    pub async fn with_workspaces<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Workspaces) -> anyhow::Result<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        let workspaces = self.workspaces.clone();
        tokio::task::spawn_blocking(move || work(&workspaces)).await?
    }

    /// Runs a shell command in a writable folder, with an empty home beside it. Returns how it ended and what it
    /// printed on both outputs.
    ///
    /// # Errors
    /// If the command could not be started. A command that started and failed is no error.
    pub async fn run_command(
        &self,
        folder: &Path,
        home: &Path,
        command: &str,
        network: SandboxNetwork,
        time: Duration,
    ) -> anyhow::Result<(Exit, String)> {
        let job = Job {
            program: ["sh", "-c", command].map(Into::into).to_vec(),
            directory: folder.to_owned(),
            environment: BTreeMap::from([("CI".to_owned(), "true".to_owned())]),
            stdin: Vec::new(),
            home: home.to_owned(),
            mounts: vec![Mount { path: folder.to_owned(), access: MountAccess::ReadWrite }],
            layers: Vec::new(),
            search: Vec::new(),
            relocations: Vec::new(),
            user: JobUser::default(),
            root: None,
            joins: None,
            network,
            limits: self.sandbox.limits(),
            timeout: time,
            most_output: LARGEST_DOCUMENT as u64,
        };
        let mut said = CollectedOutput::default();
        let ended = self.sandbox.run(job, &mut said).await?;
        let mut output = String::from_utf8_lossy(&said.stdout).into_owned();
        output.push_str(&String::from_utf8_lossy(&said.stderr));
        Ok((ended.exit, output))
    }
}
