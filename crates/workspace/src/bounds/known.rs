//! How large trees are that were looked through: most questions are about the same ones, and the next commit has mostly the
//! same folders.
//!
//! What was not asked for the longest goes first, so that a tree with more folders than are kept takes nothing from others.

use std::collections::HashMap;

use git2::Oid;

use super::TreeSize;

/// Folders that are kept: 15 MiB of them.
const MOST_FOLDERS: usize = 200_000;
/// Whole trees that are kept, with what is too much in them: 2 MiB, with the longest names.
const MOST_TREES: usize = 4_000;

/// Trees of any repository of ours: an object of this name is the same everywhere.
#[derive(Debug)]
pub(in super::super) struct KnownTreeSizes {
    folders: RecentTrees<TreeSize>,
    whole: RecentTrees<Result<TreeSize, String>>,
}

impl Default for KnownTreeSizes {
    fn default() -> Self {
        Self { folders: RecentTrees::new(MOST_FOLDERS), whole: RecentTrees::new(MOST_TREES) }
    }
}

impl KnownTreeSizes {
    pub(super) fn folder(&mut self, id: Oid) -> Option<TreeSize> {
        self.folders.get(id)
    }

    pub(super) fn tree(&mut self, id: Oid) -> Option<Result<TreeSize, String>> {
        self.whole.get(id)
    }

    pub(super) fn keep_tree(&mut self, id: Oid, size: Result<TreeSize, String>) {
        self.whole.insert(id, size);
    }

    /// Keeps the folders of one tree, of more than fit the largest: they stand for those in them.
    pub(super) fn keep_folders(&mut self, folders: impl Iterator<Item = (Oid, TreeSize)>) {
        let mut folders: Vec<_> = folders.collect();
        folders.sort_unstable_by_key(|(_, size)| size.entries);
        let too_many = folders.len().saturating_sub(self.folders.half);
        for (id, size) in folders.into_iter().skip(too_many) {
            self.folders.insert(id, size);
        }
    }
}

/// In two halves: once the newer one is full, it is the older one, and what nobody asked for in that is gone.
#[derive(Debug)]
struct RecentTrees<V> {
    half: usize,
    newer: HashMap<Oid, V>,
    older: HashMap<Oid, V>,
}

impl<V: Clone> RecentTrees<V> {
    fn new(most: usize) -> Self {
        Self { half: most / 2, newer: HashMap::new(), older: HashMap::new() }
    }

    fn get(&mut self, id: Oid) -> Option<V> {
        if let Some(found) = self.newer.get(&id) {
            return Some(found.clone());
        }
        let found = self.older.remove(&id)?;
        self.insert(id, found.clone());
        Some(found)
    }

    fn insert(&mut self, id: Oid, value: V) {
        if self.newer.len() >= self.half {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert(id, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_kept_than_may_be_and_what_nobody_asks_for_goes_first() {
        let id = |number: u8| Oid::from_bytes(&[number; 20]).unwrap();
        let mut recent = RecentTrees::new(4);
        for number in 0..100 {
            recent.insert(id(number), number);
            assert!(recent.newer.len() + recent.older.len() <= 4);
            assert_eq!(recent.get(id(0)), Some(0), "it is asked for all the time");
        }
        assert_eq!((recent.get(id(99)), recent.get(id(50))), (Some(99), None));
    }
}
