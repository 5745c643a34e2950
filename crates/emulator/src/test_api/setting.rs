//! Sets up tests: repositories, accounts, roles and tokens. Also changes repositories and the App's installation.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;

use super::views::RepositorySource;
use crate::state::checks::EmulatedChecks;
use crate::state::rules::RepositoryRules;
use crate::state::{EmulatedLabel, EmulatedRepository, RepositoryRole};
use crate::{Emulator, git_child, repos};

/// The labels of a new repository.
const FIRST_LABELS: [(&str, &str); 3] =
    [("bug", "d73a4a"), ("documentation", "0075ca"), ("enhancement", "a2eeef")];

impl Emulator {
    /// Creates a public repository `owner/name`; the owner's account is created if missing.
    pub async fn create_repository(&self, name: &str, from: RepositorySource) -> anyhow::Result<()> {
        let parsed: journeyman_order::ids::RepositoryName = name.parse()?;
        anyhow::ensure!(self.shared.lock().repository(name).is_none(), "{name} exists already");
        let git = self
            .shared
            .directory
            .path()
            .join("repositories")
            .join(parsed.owner())
            .join(format!("{}.git", parsed.name()));
        let default_branch = match from {
            RepositorySource::Files(files) => {
                repos::create(&git, "main")?;
                let files = files.into_iter().map(|(name, bytes)| (name, Some(bytes))).collect();
                let first = repos::CommitTarget { branch: "main", start: None };
                repos::commit(&git, &first, parsed.owner(), "Initial commit", &files)?;
                "main".to_owned()
            }
            RepositorySource::Path(path) => self.import(&git, &path).await?,
        };
        self.shared.change(|world| {
            let owner = world.ensure_account(parsed.owner());
            let id = world.new_id();
            let labels = FIRST_LABELS
                .into_iter()
                .map(|(name, color)| EmulatedLabel {
                    id: world.new_id(),
                    name: name.to_owned(),
                    color: color.to_owned(),
                })
                .collect();
            let repository = EmulatedRepository {
                id,
                owner,
                name: parsed.name().to_owned(),
                full_name: parsed.to_string(),
                is_private: false,
                default_branch,
                git,
                labels,
                threads: BTreeMap::new(),
                roles: BTreeMap::from([(owner, RepositoryRole::Admin)]),
                checks: EmulatedChecks::default(),
                rules: RepositoryRules::default(),
                merge_queue: Vec::new(),
                receiving: std::sync::Arc::default(),
            };
            world.repositories.insert(name.to_ascii_lowercase(), repository);
        });
        Ok(())
    }

    /// Imports branches and tags of a local repository, and returns its default branch.
    async fn import(&self, git: &Path, from: &Path) -> anyhow::Result<String> {
        let place = self.shared.directory.path();
        let source = from.canonicalize().with_context(|| format!("{} is not there", from.display()))?;
        if let Some(parent) = git.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let mut complaint = String::new();
        // Copying object files is a hundred times faster than packing them again. If git refuses, for instance because
        // of symbolic links, use the slow way.
        for way in ["--local", "--no-local"] {
            let mut command = git_child::git(place);
            command.args(["clone", "--quiet", "--bare", "--template=", way, "--"]).arg(&source).arg(git);
            let done = command.output().await.context("git could not be started: is it installed?")?;
            complaint = String::from_utf8_lossy(&done.stderr).trim().to_owned();
            if done.status.success() {
                return repos::adopt(git).with_context(|| {
                    format!("{} has no commit to start from: commit something first", from.display())
                });
            }
        }
        anyhow::bail!("{} could not be read as a git repository: {complaint}", from.display())
    }

    /// Hides a repository from everyone without a role.
    pub fn make_private(&self, repository: &str) -> anyhow::Result<()> {
        self.shared.change(|world| {
            world.require_repository_mut(repository)?.is_private = true;
            Ok(())
        })
    }

    /// Returns the id of the account with this login, created if missing.
    pub fn add_user(&self, login: &str) -> u64 {
        self.shared.change(|world| world.ensure_account(login))
    }

    /// Sets a person's role in a repository; the account is created if missing.
    pub fn set_permission(
        &self,
        repository: &str,
        login: &str,
        permission: RepositoryRole,
    ) -> anyhow::Result<()> {
        self.shared.change(|world| {
            let account = world.ensure_account(login);
            world.require_repository_mut(repository)?.roles.insert(account, permission);
            Ok(())
        })
    }

    /// A token for a person's git access: any user name, with the token as password.
    pub fn personal_token(&self, login: &str) -> String {
        self.shared.change(|world| {
            let account = world.ensure_account(login);
            world.personal_token(account)
        })
    }

    /// A repository's id, which never changes.
    pub fn repository_id(&self, name: &str) -> Option<u64> {
        self.shared.lock().repository(name).map(|found| found.id)
    }

    /// Renames or transfers a repository. The old name redirects to the new one until another repository takes it.
    pub async fn rename_repository(&self, name: &str, to: &str) -> anyhow::Result<()> {
        let parsed: journeyman_order::ids::RepositoryName = to.parse()?;
        self.shared.change(|world| {
            anyhow::ensure!(world.repository(to).is_none(), "{to} exists already");
            let old = name.to_ascii_lowercase();
            let mut repository = world.repositories.remove(&old).with_context(|| format!("no {name}"))?;
            repository.owner = world.ensure_account(parsed.owner());
            (repository.name, repository.full_name) = (parsed.name().to_owned(), parsed.to_string());
            world.moved.insert(old, repository.id);
            world.moved.remove(&to.to_ascii_lowercase());
            world.repositories.insert(to.to_ascii_lowercase(), repository);
            Ok(())
        })
    }

    /// Suspends the installation, or lifts the suspension.
    pub fn suspend_installation(&self, suspended: bool) {
        self.shared.change(|world| world.app.suspended = suspended);
    }

    /// Gives an account an installation of its own, and returns its id.
    pub fn install_apart(&self, owner: &str) -> u64 {
        self.shared.change(|world| {
            let (owner, installation) = (world.ensure_account(owner), world.new_id());
            world.app.apart.insert(owner, installation);
            installation
        })
    }

    /// Expires all deliveries; GitHub does so after some days.
    pub fn forget_deliveries(&self) {
        self.shared.change(|world| world.deliveries.clear());
    }
}
