//! Large files of a local repository: we copy those in the clone and fetch nothing.

use git2::{Commit, Repository};

use super::store::open_plain;
use crate::{GitError, Workspaces, folder};
use journeyman_order::RepositoryName;

const MISSING: &str = "it is not in this clone; `git lfs pull` gets it";

impl Workspaces {
    /// Copies the contents for the checked-out commit from git-lfs's own storage.
    pub(crate) fn import_local_large_files(
        &self,
        repository: &RepositoryName,
        lender: &Repository,
        head: &Commit<'_>,
    ) -> Result<(), GitError> {
        let files = self.large_files(repository, &lender.odb()?, head.tree_id())?;
        if files.pointers().is_empty() {
            return Ok(());
        }
        let _held = self.lock_of(format!("lfs {}", folder(repository)));
        files.store.clear()?;
        // Another user may have made the clone: accept only regular files, and check their hashes.
        let objects = lender.commondir().join("lfs/objects");
        for pointer in files.pointers().values().filter(|pointer| !files.store.has(pointer)) {
            let id = pointer.id.as_str();
            let [first, second] = [id.get(..2), id.get(2..4)].map(Option::unwrap_or_default);
            let taken = match open_plain(&objects.join(first).join(second).join(id)) {
                Ok(mut file) => files.store.take(pointer, &mut file)?,
                Err(_) => Err(MISSING),
            };
            if let Err(why) = taken {
                files.store.note(&pointer.id, why)?;
            }
        }
        Ok(())
    }
}
