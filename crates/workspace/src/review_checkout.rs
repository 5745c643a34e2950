//! Where somebody sits who only looks: a commit's files, which can be mounted for reading only, and a home of their
//! own. Nobody who judges shares a home or a work tree with whom they judge.

use std::path::PathBuf;
use std::sync::PoisonError;

use sha2::{Digest, Sha256};

use super::{GitError, Workspaces};
use journeyman_order::{CommitSha, OrderId, RepositoryName};

/// A place to look from. Its paths are the same in every round, so that a session can be gone on with: Claude Code
/// finds one by the folder in which it began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewCheckout {
    pub tree: PathBuf,
    /// The home, sessions included. It stays from round to round.
    pub home: PathBuf,
}

impl Workspaces {
    /// Where the agent of this role sits in this stage, whether it is there yet or not.
    pub fn review_checkout(&self, order: OrderId, stage: &str, role: &str) -> ReviewCheckout {
        let folder = self.order_dirs(order).reviews.join(format!("{}.{}", part(stage), part(role)));
        ReviewCheckout { tree: folder.join("tree"), home: folder.join("home") }
    }

    /// Puts a commit's files before a seat, anew each time: nothing of a run before is left among them. The rounds of
    /// a stage follow one another, so that nobody is sitting there.
    ///
    /// # Errors
    /// When the commit is not here, or the disk fails.
    pub fn prepare_review_checkout(
        &self,
        repository: &RepositoryName,
        commit: &CommitSha,
        seat: &ReviewCheckout,
    ) -> Result<(), GitError> {
        // A run that was given up may still be writing here, in a thread that nobody could stop.
        let lock = self.lock_of(seat.tree.to_string_lossy().into_owned());
        let _held = lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.checkout(repository, commit, &seat.tree)
    }
}

/// A name as a folder's, without a full stop. What had to be changed, or is long, is told apart by its digest.
fn part(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' })
        .take(60)
        .collect();
    if plain == name {
        return plain;
    }
    let digest = hex::encode(Sha256::digest(name));
    format!("{plain}_{}", digest.get(..12).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn every_name_has_a_folder_of_its_own() {
        assert_eq!(part("review"), "review");
        let long = "x".repeat(300);
        let names = ["", "a/b", "a_b", "a.b", "..", "A", "a", "ä", long.as_str(), &long[1..]];
        let parts: std::collections::BTreeSet<String> = names.iter().map(|name| part(name)).collect();
        assert_eq!(parts.len(), names.len());
        assert!(parts.iter().all(|part| part.len() < 80 && !part.contains(['.', '/'])), "{parts:?}");
    }
}
