//! What package managers downloaded for a base commit, kept for all runs of the repository.
//!
//! A run gets a copy of its own to read and write, so that none can poison another; what it adds is gone with it. Only the
//! setup of a commit of the default branch fills what is kept: no order's change has a hand in it. Kept are caches in
//! which things lie by version or checksum, and nothing that would count as installed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{CommitTester, TestRunRequest, remove};
use crate::job::{make_folder, readable, succeed, writable};
use journeyman_order::EffectError;
use journeyman_sandbox::{Job, JobLimits, Mount, SandboxNetwork};

/// In a home.
const CACHES: [&str; 14] = [
    ".bundle/cache",
    ".cache/composer",
    ".cache/deno",
    ".cache/pip",
    ".cache/pnpm",
    ".cache/uv",
    ".cache/yarn",
    ".cargo/git/db",
    ".cargo/registry/cache",
    ".cargo/registry/index",
    ".gradle/caches/modules-2/files-2.1",
    ".local/share/pnpm/store",
    ".npm/_cacache",
    "go/pkg/mod/cache/download",
];

/// More than this is downloaded anew each time, rather than copied.
const LARGEST: u64 = 4 << 30;

/// `$1` is where to, the others are folders in this one.
const COPY: &str = r#"to=$1; shift
for cache; do
    [ -d "$cache" ] || continue
    mkdir -p "$to/${cache%/*}" && cp -R -P -p --reflink=auto -- "$cache" "$to/$cache" || exit 1
done"#;

impl CommitTester {
    /// Gives a run's empty home a copy of what is kept. Without it things take longer, and that is all.
    pub(super) async fn lay_downloads(&self, ask: &TestRunRequest, home: &Path) -> Result<(), EffectError> {
        let Some(kept) = newest(&self.workspaces.downloads(&ask.repository)) else { return Ok(()) };
        if let Err(trouble) = self.copy(&kept, home, vec![readable(&kept)], home).await {
            tracing::info!("downloads are not taken from {}: {}", kept.display(), trouble.message);
            // Half a cache is worse than none.
            remove(home).await?;
            make_folder(home)?;
        }
        Ok(())
    }

    /// Keeps what the setup of the base commit downloaded, in place of what was kept before.
    pub(super) async fn keep_downloads(&self, ask: &TestRunRequest, home: &Path) -> Result<(), EffectError> {
        let folder = self.workspaces.downloads(&ask.repository);
        let kept = folder.join(ask.base.to_string());
        if !ask.base_is_of_the_default_branch || kept.exists() {
            return Ok(());
        }
        let made = ask.folder.join("downloads");
        make_folder(&made)?;
        make_folder(&folder)?;
        if let Err(trouble) = self.copy(home, &made, vec![writable(&made)], home).await {
            tracing::info!("what the setup downloaded is not kept: {}", trouble.message);
            return Ok(());
        }
        // Where nothing was downloaded no run has anything to copy.
        if std::fs::read_dir(&made).is_ok_and(|mut made| made.next().is_none()) {
            return Ok(());
        }
        let before = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let before: Vec<PathBuf> = before.map(|entry| entry.path()).collect();
        // Another order may have been faster: its copy is as good.
        if let Err(error) = std::fs::rename(&made, &kept) {
            tracing::info!("{} is not kept: {error}", kept.display());
            return Ok(());
        }
        for older in before {
            remove(&older).await?;
        }
        Ok(())
    }

    /// What is kept may itself be what a setup fails by.
    pub(super) async fn forget_downloads(&self, ask: &TestRunRequest) -> Result<(), EffectError> {
        remove(&self.workspaces.downloads(&ask.repository)).await
    }

    /// In a sandbox: what is copied was written by code of the repository.
    async fn copy(&self, from: &Path, to: &Path, mounts: Vec<Mount>, home: &Path) -> Result<(), EffectError> {
        let mut program: Vec<OsString> = ["sh", "-c", COPY, "copy"].map(OsString::from).to_vec();
        program.push(to.into());
        program.extend(CACHES.map(OsString::from));
        let job = Job {
            program,
            directory: from.to_owned(),
            environment: Default::default(),
            stdin: Vec::new(),
            home: home.to_owned(),
            mounts,
            layers: Vec::new(),
            relocation: None,
            network: SandboxNetwork::None,
            limits: JobLimits { disk: LARGEST, ..JobLimits::small() },
            timeout: self.settings.setup_time,
            most_output: 64 * 1024,
        };
        succeed(&self.sandbox, job, "copying").await.map(drop)
    }
}

/// What was kept last; a run that is under way may still read the one before.
fn newest(folder: &Path) -> Option<PathBuf> {
    let kept = std::fs::read_dir(folder).ok()?.flatten();
    let kept = kept.filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())));
    kept.max().map(|(_, path)| path)
}
