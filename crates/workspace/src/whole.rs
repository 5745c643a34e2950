//! Whether all that commits lead to is here: each object is looked for once, however many commits have it.
//!
//! May know: commits and trees. Must never know: why somebody asks, or what becomes of those that are not whole.
//!
//! Nothing goes down into a tree by itself, so that none is too deep, and what is remembered is a name for each object that
//! there is.

use std::collections::HashSet;

use git2::{ObjectType, Odb, Oid, Repository, Revwalk};

use super::bounds::{LARGEST_FOLDER, TreeObjects};
use super::libgit2::oid;
use super::tree::raw_entries;
use super::{GitError, Workspaces};
use journeyman_order::{CommitSha, RepositoryName, TreeSha};

/// From as many commits on, a branch that is whole stands for all that is behind it.
const MANY_COMMITS: usize = 100;

/// The commits of a repository, one branch of them after the other.
pub(super) struct WholeCommits<'r> {
    repository: &'r Repository,
    walk: Revwalk<'r>,
    /// Those that are taken to be whole, with all that is behind them.
    known: Vec<Oid>,
    trees: WholeTrees<Odb<'r>>,
    /// Those whose own trees are whole, or are not.
    whole: HashSet<Oid>,
    broken: HashSet<Oid>,
}

impl<'r> WholeCommits<'r> {
    pub(super) fn new(repository: &'r Repository, known: Vec<Oid>) -> Result<Self, git2::Error> {
        let (walk, trees) = (repository.revwalk()?, WholeTrees::new(repository.odb()?));
        Ok(Self { repository, walk, known, trees, whole: HashSet::new(), broken: HashSet::new() })
    }

    /// What is missing, if anything is; `told` hears how many objects are looked for, now and then.
    pub(super) fn missing(
        &mut self,
        tip: Oid,
        told: &mut dyn FnMut(u64),
    ) -> Result<Option<String>, GitError> {
        let said = |error: git2::Error| GitError::local("look through the commits of a branch", &error);
        self.walk.reset().and_then(|()| self.walk.push(tip)).map_err(said)?;
        for known in &self.known {
            self.walk.hide(*known).map_err(said)?;
        }
        let mut count = 0;
        for commit in self.walk.by_ref() {
            let id = commit.map_err(said)?;
            count += 1;
            if self.whole.contains(&id) {
                continue;
            }
            if self.broken.contains(&id) {
                return Ok(Some(format!("the commit {id} is not whole")));
            }
            // Also where that cannot be said of it.
            self.broken.insert(id);
            let tree = self.repository.find_commit(id).map_err(said)?.tree_id();
            if let Some(missing) = self.trees.missing(tree, told)? {
                return Ok(Some(format!("of the commit {id}, {missing} is missing")));
            }
            self.broken.remove(&id);
            self.whole.insert(id);
        }
        if count >= MANY_COMMITS {
            self.known.push(tip);
        }
        Ok(None)
    }
}

/// Trees and commits of a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectNames {
    pub trees: Vec<TreeSha>,
    pub commits: Vec<CommitSha>,
}

impl Workspaces {
    /// Those of the trees, and of the commits, that are not here with all that is in them. What is behind a commit is not
    /// looked at.
    ///
    /// # Errors
    /// When our repository cannot be read.
    pub fn lacking(&self, repository: &RepositoryName, wanted: ObjectNames) -> Result<ObjectNames, GitError> {
        let commits = self.commits(repository)?;
        let objects = commits.odb().map_err(|error| GitError::local("look for objects", &error))?;
        let (mut trees, mut lacking) = (WholeTrees::new(objects), ObjectNames::default());
        for tree in wanted.trees {
            let id = tree.as_str().parse().map_err(|error| GitError::local("read a tree's name", &error))?;
            if trees.missing(id, &mut |_| {})?.is_some() {
                lacking.trees.push(tree);
            }
        }
        for commit in wanted.commits {
            if !trees.has_commit(&commits, oid(&commit)?)? {
                lacking.commits.push(commit);
            }
        }
        Ok(lacking)
    }
}

impl WholeTrees<Odb<'_>> {
    /// Whether a commit is here with all that is in its tree.
    fn has_commit(&mut self, repository: &Repository, commit: Oid) -> Result<bool, GitError> {
        match repository.find_commit(commit) {
            Ok(found) => Ok(self.missing(found.tree_id(), &mut |_| {})?.is_none()),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(false),
            Err(error) => Err(GitError::local("find a commit", &error)),
        }
    }
}

/// Trees of which all is here.
pub(super) struct WholeTrees<O> {
    objects: O,
    /// With all that is in them.
    whole: HashSet<Oid>,
}

impl<O: TreeObjects> WholeTrees<O> {
    fn new(objects: O) -> Self {
        Self { objects, whole: HashSet::new() }
    }

    /// The first that is missing, if any is.
    fn missing(&mut self, tree: Oid, told: &mut dyn FnMut(u64)) -> Result<Option<Oid>, GitError> {
        let mut looked_at = Vec::new();
        let missing = self.first_missing(tree, &mut looked_at, told);
        // What of them is whole nobody knows.
        if !matches!(missing, Ok(None)) {
            for id in &looked_at {
                self.whole.remove(id);
            }
        }
        missing
    }

    fn first_missing(
        &mut self,
        tree: Oid,
        looked_at: &mut Vec<Oid>,
        told: &mut dyn FnMut(u64),
    ) -> Result<Option<Oid>, GitError> {
        let mut open = Vec::new();
        if self.whole.insert(tree) {
            looked_at.push(tree);
            open.push(tree);
        }
        while let Some(folder) = open.pop() {
            let bytes = match self.objects.header(folder)? {
                // One that is larger than any that somebody works with.
                Some((ObjectType::Tree, size)) if size <= LARGEST_FOLDER => self.objects.folder(folder)?,
                Some(_) | None => None,
            };
            let Some(bytes) = bytes else { return Ok(Some(folder)) };
            let before = looked_at.len();
            for (mode, _, id) in raw_entries(&bytes) {
                let kind = mode & 0o170_000;
                if kind == 0o160_000 || !self.whole.insert(id) {
                    continue;
                }
                looked_at.push(id);
                if kind == 0o040_000 {
                    open.push(id);
                } else if self.objects.header(id)?.is_none() {
                    return Ok(Some(id));
                }
            }
            told((looked_at.len() - before) as u64);
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::HashMap;

    use super::*;

    /// Objects that are nowhere but here, and which of them were read or looked for.
    #[derive(Default)]
    struct CountedObjects {
        folders: HashMap<Oid, Vec<u8>>,
        gone: HashSet<Oid>,
        asked: RefCell<Vec<Oid>>,
    }

    impl CountedObjects {
        fn add(&mut self, entries: &[(&str, Oid)]) -> Oid {
            let mut bytes = Vec::new();
            for (mode, id) in entries {
                bytes.extend_from_slice(format!("{mode} {id}\0").as_bytes());
                bytes.extend_from_slice(id.as_bytes());
            }
            let id = Oid::hash_object(ObjectType::Tree, &bytes).unwrap();
            self.folders.insert(id, bytes);
            id
        }
    }

    impl TreeObjects for CountedObjects {
        fn header(&self, id: Oid) -> Result<Option<(ObjectType, u64)>, GitError> {
            self.asked.borrow_mut().push(id);
            let kind = if self.folders.contains_key(&id) { ObjectType::Tree } else { ObjectType::Blob };
            Ok((!self.gone.contains(&id)).then_some((kind, 1)))
        }

        fn folder(&self, id: Oid) -> Result<Option<Vec<u8>>, GitError> {
            Ok(self.folders.get(&id).cloned())
        }
    }

    fn file(number: u8) -> Oid {
        Oid::from_bytes(&[number; 20]).unwrap()
    }

    #[test]
    fn each_object_is_looked_for_once_over_all_trees_and_how_many_is_told() {
        let mut objects = CountedObjects::default();
        let mut inner = objects.add(&[("100644", file(1)), ("160000", file(99))]);
        for _ in 0..10_000 {
            inner = objects.add(&[("40000", inner), ("040000", inner)]);
        }
        let trees: Vec<Oid> = (2..100)
            .map(|number| objects.add(&[("40000", inner), ("100644", file(number)), ("120000", file(1))]))
            .collect();
        let (mut all, mut count) = (WholeTrees::new(objects), 0);
        for tree in &trees {
            assert_eq!(all.missing(*tree, &mut |some| count += some).unwrap(), None);
        }
        let asked = all.objects.asked.take();
        assert_eq!(asked.len(), 98 + 10_001 + 99);
        assert_eq!(asked.iter().collect::<HashSet<_>>().len(), asked.len());
        assert_eq!(count, 10_001 + 99);
    }

    #[test]
    fn what_is_missing_is_missing_from_each_tree_that_has_it_and_from_no_other() {
        let mut objects = CountedObjects::default();
        let hurt = objects.add(&[("100644", file(1)), ("100644", file(2))]);
        let sound = objects.add(&[("100644", file(1))]);
        let trees = [
            objects.add(&[("40000", sound), ("40000", hurt)]),
            objects.add(&[("40000", sound)]),
            objects.add(&[("100644", file(3)), ("40000", hurt)]),
            objects.add(&[("40000", file(2))]),
        ];
        objects.gone.insert(file(2));
        let mut all = WholeTrees::new(objects);
        for _ in 0..2 {
            let missing = trees.map(|tree| all.missing(tree, &mut |_| {}).unwrap());
            assert_eq!(missing, [Some(file(2)), None, Some(file(2)), Some(file(2))]);
        }
    }
}
