//! What becomes of a repository and of the App's installation.

use anyhow::Context as _;

use crate::Emulator;

impl Emulator {
    /// A repository's id, which it keeps.
    pub fn repository_id(&self, name: &str) -> Option<u64> {
        self.shared.lock().repository(name).map(|found| found.id)
    }

    /// A repository is renamed, or transferred: its old name leads to the new one until something else has it.
    ///
    /// # Errors
    /// When there is none, or the new name is taken or none.
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

    /// The installation is suspended, or that is lifted.
    pub fn suspend_installation(&self, suspended: bool) {
        self.shared.change(|world| world.app.suspended = suspended);
    }

    /// An account has an installation of its own from now on; its id.
    pub fn install_apart(&self, owner: &str) -> u64 {
        self.shared.change(|world| {
            let (owner, installation) = (world.ensure_account(owner), world.new_id());
            world.app.apart.insert(owner, installation);
            installation
        })
    }

    /// GitHub keeps deliveries for some days only; now all are over.
    pub fn forget_deliveries(&self) {
        self.shared.change(|world| world.deliveries.clear());
    }
}
