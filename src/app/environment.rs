//! The environment of a commit of a local repository: prepared, kept for the next time, and tested, as an order would.
//!
//! May know: the engine, the settings for test runs. Must never know: who asks, and how it is shown.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc::UnboundedSender;

use crate::config::TestRunSettings;
use crate::engine::testing::{BaselineSource, CommitTester, TestRunRequest};
use crate::engine::{EnvironmentProgress, EnvironmentSurvey};
use crate::environment::EnvironmentPlan;
use crate::order::environment_report::EnvironmentProblem;
use crate::order::{CommitSha, RepositoryName, RepositorySettings};
use crate::sandbox::IsolationMode;
use crate::workspace::Workspaces;

/// Separate from a server's folder: two processes do not know what the other is using.
const FOLDER: &str = "local";

/// A commit of a local repository, and where its environment is kept.
pub struct LocalEnvironment {
    testing: CommitTester,
    ask: TestRunRequest,
    /// While this is open, no other process works in the folder.
    _lock: File,
}

impl LocalEnvironment {
    /// Gets everything ready without running anything from the repository. `wait` is called if another process is
    /// working in the same folder.
    ///
    /// # Errors
    /// If the repository or the folder cannot be used, its settings are wrong, or there is no sandbox.
    pub async fn open(
        rules: &TestRunSettings,
        repository: &Path,
        commit: &CommitSha,
        data: &Path,
        wait: impl FnOnce() + Send + 'static,
    ) -> anyhow::Result<Self> {
        let folder = data.join(FOLDER);
        let lock = lock(folder.clone(), wait).await?;
        let workspaces =
            Workspaces::new(&folder).with_context(|| format!("cannot keep environments in {folder:?}"))?;
        let name: RepositoryName = format!("local/{}", name_by_place(repository)?).parse()?;
        let (commits, of, at, path) =
            (workspaces.clone(), name.clone(), commit.clone(), repository.to_owned());
        let settings = tokio::task::spawn_blocking(move || {
            commits.import_local(&of, &path)?;
            super::settings_on(&commits, &of, &at)
        })
        .await??;
        let [runs, own] = ["runs", "own"].map(|kind| folder.join(kind).join(name.name()));
        let ask = TestRunRequest {
            base_is_of_the_default_branch: true,
            folder: runs,
            environments: own,
            ..TestRunRequest::new(name, [commit.clone(), commit.clone()], settings, &folder)
        };
        let testing = super::commit_tester(rules, rules.testing.clone(), workspaces).await?;
        Ok(Self { testing, ask, _lock: lock })
    }

    /// The sandbox's isolation mode.
    pub fn mode(&self) -> IsolationMode {
        self.testing.sandbox.mode()
    }

    /// Whether each run copies the installed files.
    pub fn is_copied(&self) -> bool {
        self.testing.environments.are_copied()
    }

    /// The sandbox, described in one line.
    pub fn isolation(&self) -> String {
        self.testing.sandbox.describe_isolation()
    }

    /// The environment that the commit asks for.
    ///
    /// # Errors
    /// If the commit cannot be read.
    pub async fn plan(&self) -> anyhow::Result<EnvironmentPlan> {
        self.plan_with(self.ask.settings.clone()).await
    }

    /// The environment that the commit would get with other settings.
    ///
    /// # Errors
    /// As [`Self::plan`].
    pub async fn plan_with(&self, settings: RepositorySettings) -> anyhow::Result<EnvironmentPlan> {
        let ask = TestRunRequest { settings, ..self.ask.clone() };
        self.testing.environment_plan(&ask).await.map_err(|trouble| anyhow::anyhow!(trouble.message))
    }

    /// Reports progress to this channel.
    #[must_use]
    pub fn watched_by(mut self, progress: UnboundedSender<EnvironmentProgress>) -> Self {
        self.testing.environments = self.testing.environments.reporting_to(progress);
        self
    }

    /// Prepares the environment and runs the tests in it. Any obstacle, such as an unreachable registry or a full disk,
    /// is reported as a problem of the environment.
    pub async fn survey(&self) -> EnvironmentSurvey {
        let surveyed = Box::pin(self.testing.survey(&self.ask, BaselineSource::Run)).await;
        surveyed.unwrap_or_else(|trouble| {
            EnvironmentSurvey::without_plan(EnvironmentProblem {
                what: trouble.message,
                line: None,
                remedy: "Call this again once that is mended.".to_owned(),
            })
        })
    }
}

async fn lock(folder: PathBuf, wait: impl FnOnce() + Send + 'static) -> anyhow::Result<File> {
    let locked = tokio::task::spawn_blocking(move || {
        std::fs::create_dir_all(&folder)?;
        let file = File::create(folder.join("lock"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                wait();
                file.lock()?;
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        Ok(file)
    });
    locked.await?.context("cannot keep environments: the folder of data.dir cannot be used")
}

/// The name of a repository's folder, reduced to characters that GitHub allows in a name.
pub fn plain_name(repository: &Path) -> String {
    let path = repository.canonicalize().unwrap_or_else(|_| repository.to_owned());
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let plain: String = name.chars().filter(is_plain).take(60).collect();
    if plain.is_empty() { "repository".to_owned() } else { plain }
}

/// A name for a repository by its path, so that folders of the same name differ.
///
/// # Errors
/// If the folder cannot be found.
pub fn name_by_place(repository: &Path) -> anyhow::Result<String> {
    use std::os::unix::ffi::OsStrExt as _;
    let path = repository.canonicalize().with_context(|| repository.display().to_string())?;
    let digest = Sha256::digest(path.as_os_str().as_bytes());
    let digest: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{}-{digest}", plain_name(&path)))
}
