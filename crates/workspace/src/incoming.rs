//! A fetch arrives in a repository beside its target and moves over after a check. Refused content leaves nothing
//! behind.
//!
//! May know: git's folders. Must never know: where something comes from, or why it is refused.

use std::path::{Path, PathBuf};

use git2::{Oid, Repository};

use super::{GitError, init_bare, keep_whole, leftovers, remove_all};

/// The name of the fetched reference there.
pub(super) const FETCHED: &str = "refs/incoming";

/// A repository that sees all objects of another and receives a fetch. Dropping it deletes it.
pub(super) struct IncomingObjects<'r> {
    into: &'r Repository,
    place: PathBuf,
}

impl<'r> IncomingObjects<'r> {
    /// Call it only with the target repository's lock. The server learns which commits are known; without any, it sends
    /// everything.
    pub(super) fn begin(into: &'r Repository, known: &[Oid]) -> Result<Self, GitError> {
        let incoming = Self { into, place: into.path().join(leftovers::COMING) };
        remove_all(&incoming.place)?;
        init_bare(&incoming.place, "main")?;
        if known.is_empty() {
            return Ok(incoming);
        }
        let names: String = known.iter().map(|id| format!("{id} refs/known/{id}\n")).collect();
        for (file, text) in [("objects/info/alternates", "../../objects\n"), ("packed-refs", &names)] {
            keep_whole(&incoming.place.join(file), text.as_bytes())?;
        }
        Ok(incoming)
    }

    pub(super) fn path(&self) -> &Path {
        &self.place
    }

    pub(super) fn tip(&self) -> Result<Oid, GitError> {
        Repository::open_bare(&self.place)
            .and_then(|here| here.refname_to_id(FETCHED))
            .map_err(GitError::from)
    }

    /// The target repository as it will be after [`Self::keep`].
    pub(super) fn seen(&self) -> Result<Repository, GitError> {
        let objects = self.place.join("objects");
        let objects =
            objects.to_str().ok_or_else(|| GitError::broken("the data folder's name is no text"))?;
        let seen = Repository::open_bare(self.into.path())?;
        seen.odb().and_then(|odb| odb.add_disk_alternate(objects))?;
        Ok(seen)
    }

    /// Moves everything into the target. The objects are synced already; this syncs their names.
    pub(super) fn keep(&self) -> Result<(), GitError> {
        let packs = self.into.path().join("objects/pack");
        let mut files = leftovers::entries(&self.place.join("objects/pack"))?;
        // A pack becomes visible with its index, so move indexes last.
        files.sort_by_key(|(path, _)| path.extension().is_some_and(|ending| ending == "idx"));
        let failed = |error: std::io::Error| GitError::file("write into", &packs, &error);
        std::fs::create_dir_all(&packs).map_err(failed)?;
        for (path, _) in files {
            std::fs::rename(&path, packs.join(path.file_name().unwrap_or_default())).map_err(failed)?;
        }
        std::fs::File::open(&packs).and_then(|folder| folder.sync_all()).map_err(failed)
    }
}

impl Drop for IncomingObjects<'_> {
    fn drop(&mut self) {
        if let Err(error) = remove_all(&self.place) {
            tracing::warn!("what was fetched is left for the next fetch to remove: {error}");
        }
    }
}
