//! The objects of an examination: from an agent's push, and the part of our repository that the agent may use.

use std::cell::OnceCell;
use std::collections::HashSet;

use git2::{ObjectType, Odb, Oid};

use super::GitError;
use super::bounds::TreeObjects;
use super::export::{ExportedObjects, MOST_OBJECT};
use super::tree::{EntryMode, parse};

/// Largest folder listing in bytes: some hundred thousand entries.
const MOST_LISTING: u64 = 8 << 20;

pub(super) struct ObjectSource<'a> {
    /// An agent's push; `None` for a person's tree that is here already.
    pushed: Option<&'a ExportedObjects>,
    ours: &'a Odb<'a>,
    base: Oid,
    /// All objects in the base's tree, collected on first use.
    of_base: OnceCell<HashSet<Oid>>,
}

impl<'a> ObjectSource<'a> {
    pub(super) fn new(pushed: Option<&'a ExportedObjects>, ours: &'a Odb<'a>, base: Oid) -> Self {
        Self { pushed, ours, base, of_base: OnceCell::new() }
    }

    pub(super) fn is_agents(&self) -> bool {
        self.pushed.is_some()
    }

    /// Whether the push contains an object.
    pub(super) fn is_pushed(&self, id: Oid) -> bool {
        self.pushed.is_some_and(|pushed| pushed.header(id).is_some())
    }

    /// Kind and size of an object; `None` if missing.
    ///
    /// From our repository an agent gets only objects of its base's tree. Other orders' work and people's branches are
    /// there too, and knowing an object's id must not be enough to publish it.
    pub(super) fn header(&self, id: Oid) -> Result<Option<(ObjectType, u64)>, GitError> {
        if let Some(found) = self.pushed.and_then(|pushed| pushed.header(id)) {
            return Ok(Some(found));
        }
        if self.is_agents() && !self.of_base()?.contains(&id) {
            return Ok(None);
        }
        TreeObjects::header(self.ours, id)
    }

    /// The bytes of an object of this kind; `None` if missing or too large.
    pub(super) fn read(&self, id: Oid, kind: ObjectType) -> Result<Option<Vec<u8>>, GitError> {
        let most = if kind == ObjectType::Tree { MOST_LISTING } else { MOST_OBJECT };
        if !self.header(id)?.is_some_and(|(found, size)| found == kind && size <= most) {
            return Ok(None);
        }
        match self.pushed.filter(|_| self.is_pushed(id)) {
            Some(pushed) => {
                let read = pushed.read(id);
                let read =
                    read.map_err(|error| GitError::broken(format!("could not read an object: {error}")))?;
                Ok(read.map(|(_, bytes)| bytes))
            }
            None => self.bytes_of_ours(id).map(Some),
        }
    }

    /// The base's objects, by the same rules: a malformed object counts as missing.
    fn of_base(&self) -> Result<&HashSet<Oid>, GitError> {
        if let Some(found) = self.of_base.get() {
            return Ok(found);
        }
        let (mut found, mut folders) = (HashSet::from([self.base]), vec![self.base]);
        while let Some(folder) = folders.pop() {
            let is_listing = |(kind, size)| kind == ObjectType::Tree && size <= MOST_LISTING;
            if !TreeObjects::header(self.ours, folder)?.is_some_and(is_listing) {
                continue;
            }
            for entry in parse(&self.bytes_of_ours(folder)?).unwrap_or_default() {
                match entry.mode {
                    EntryMode::Tree | EntryMode::Other(0o40_000) if found.insert(entry.id) => {
                        folders.push(entry.id)
                    }
                    EntryMode::Gitlink => {}
                    EntryMode::Tree
                    | EntryMode::File
                    | EntryMode::Executable
                    | EntryMode::Link
                    | EntryMode::Other(_) => {
                        found.insert(entry.id);
                    }
                }
            }
        }
        Ok(self.of_base.get_or_init(|| found))
    }

    fn bytes_of_ours(&self, id: Oid) -> Result<Vec<u8>, GitError> {
        Ok(self.ours.read(id)?.data().to_vec())
    }
}

impl TreeObjects for ObjectSource<'_> {
    fn header(&self, id: Oid) -> Result<Option<(ObjectType, u64)>, GitError> {
        Self::header(self, id)
    }

    fn folder(&self, id: Oid) -> Result<Option<Vec<u8>>, GitError> {
        self.read(id, ObjectType::Tree)
    }
}
