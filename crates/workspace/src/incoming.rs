//! What a fetch brings comes into a repository beside the one that it is for, and goes over once it was looked at: of what is
//! refused nothing stays, and which commit that was is written down, so that it is not fetched again.
//!
//! May know: git's folders. Must never know: where something comes from, or why it is refused.

use std::path::{Path, PathBuf};

use git2::{Oid, Repository};

use super::{GitError, GitErrorKind, bounds, init_bare, leftovers, remove_all, write_whole};

/// What it is called there.
pub(super) const FETCHED: &str = "refs/incoming";
/// Beside it: how large a tree may be, and the commits that were refused for that, each with what was said.
const REFUSED: &str = "refused";
/// Commits of those that are written down, the newest first.
const MOST_REFUSED: usize = 100;

/// A repository that sees all that is in another, and takes what comes. It is gone when this is dropped.
pub(super) struct IncomingObjects<'r> {
    into: &'r Repository,
    place: PathBuf,
}

impl<'r> IncomingObjects<'r> {
    /// Only for who holds the lock of the repository that it is for. The server is told of the commits that are known; where
    /// none are, everything comes.
    pub(super) fn begin(into: &'r Repository, known: &[Oid]) -> Result<Self, GitError> {
        let incoming = Self { into, place: into.path().join(leftovers::COMING) };
        remove_all(&incoming.place)?;
        init_bare(&incoming.place, "main")?;
        if known.is_empty() {
            return Ok(incoming);
        }
        let names: String = known.iter().map(|id| format!("{id} refs/known/{id}\n")).collect();
        for (file, text) in [("objects/info/alternates", "../../objects\n"), ("packed-refs", &names)] {
            let file = incoming.place.join(file);
            write_whole(&file, text.as_bytes()).map_err(|error| GitError::file("write", &file, &error))?;
        }
        Ok(incoming)
    }

    pub(super) fn path(&self) -> &Path {
        &self.place
    }

    /// The commit that came.
    pub(super) fn tip(&self) -> Result<Oid, GitError> {
        Repository::open_bare(&self.place)
            .and_then(|here| here.refname_to_id(FETCHED))
            .map_err(|error| GitError::local("find what was fetched", &error))
    }

    /// The repository that it is for, as it is once all has gone over.
    pub(super) fn seen(&self) -> Result<Repository, GitError> {
        let objects = self.place.join("objects");
        let objects =
            objects.to_str().ok_or_else(|| GitError::broken("the data folder's name is no text"))?;
        let said = |error: git2::Error| GitError::local("look at what was fetched", &error);
        let seen = Repository::open_bare(self.into.path()).map_err(said)?;
        seen.odb().and_then(|odb| odb.add_disk_alternate(objects)).map_err(said)?;
        Ok(seen)
    }

    /// Has it go over. Objects are synced already, their names are now.
    pub(super) fn keep(&self) -> Result<(), GitError> {
        let packs = self.into.path().join("objects/pack");
        let mut files = leftovers::entries(&self.place.join("objects/pack"))?;
        // A pack is there for everybody once its index is.
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

/// Refuses a commit again that was refused before.
pub(super) fn require_not_refused(repository: &Path, commit: Oid) -> Result<(), GitError> {
    let id = commit.to_string();
    let said = refused(repository).into_iter().find_map(|line| {
        let (refused, said) = line.split_once(' ')?;
        (refused == id).then(|| said.to_owned())
    });
    said.map_or(Ok(()), |said| Err(GitError::new(GitErrorKind::NotForUs, said)))
}

/// Writes down that a commit is refused, and what is said of it.
pub(super) fn note_refused(repository: &Path, commit: Oid, said: &str) -> Result<(), GitError> {
    let before = refused(repository).into_iter().take(MOST_REFUSED - 1);
    let lines = [bounds::limits(), format!("{commit} {said}")].into_iter().chain(before);
    let text: String = lines.map(|line| line + "\n").collect();
    let file = repository.join(REFUSED);
    write_whole(&file, text.as_bytes()).map_err(|error| GitError::file("write", &file, &error))
}

/// Where trees may be as large as they might be then; otherwise none are. What cannot be read is only fetched again.
fn refused(repository: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(repository.join(REFUSED)).unwrap_or_default();
    let mut lines = text.lines().map(str::to_owned);
    if lines.next().is_some_and(|limits| limits == bounds::limits()) { lines.collect() } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_that_were_refused_are_known_the_last_hundred_of_them_while_trees_may_be_as_large_as_then() {
        let place = tempfile::tempdir().unwrap();
        let id = |number: u8| Oid::from_bytes(&[number; 20]).unwrap();
        let said =
            |number: u8| require_not_refused(place.path(), id(number)).err().map(|error| error.message);
        for number in 0..=100 {
            assert_eq!(said(number), None);
            note_refused(place.path(), id(number), &format!("the commit {number} is too much")).unwrap();
        }
        assert_eq!((said(0), said(1)), (None, Some("the commit 1 is too much".to_owned())));
        let file = place.path().join(REFUSED);
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace(&bounds::limits(), "others")).unwrap();
        assert_eq!(said(100), None);
        note_refused(place.path(), id(0), "again").unwrap();
        assert_eq!((said(0), said(100)), (Some("again".to_owned()), None));
        std::fs::write(&file, b"\xff\xfe").unwrap();
        assert_eq!(said(0), None);
    }
}
