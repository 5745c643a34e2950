//! Looks at every entry of a pushed tree that differs from the base, and says what must not be published.

use std::collections::{HashMap, HashSet};

use git2::{ObjectType, Odb, Oid};
use globset::GlobSet;

use super::export::{MOST_OBJECT, Objects};
use super::tree::{Entry, Mode, parse};
use super::{GitError, names};
use crate::order::{Category, Finding, Severity};

/// Folders in folders.
const DEEPEST: usize = 64;
/// Files that one change may touch.
const MOST_CHANGED: usize = 20_000;
/// Findings that are worth telling; after these the rest is not looked at.
const MOST_FINDINGS: usize = 20;
/// Files that git itself reads, and must not be led astray by.
const NEVER_LINKS: [&str; 4] = [".gitmodules", ".gitattributes", ".gitignore", ".mailmap"];

/// What was seen.
pub(super) struct Examination<'a> {
    /// What an agent pushed; none: a tree that is here already, and a person's.
    objects: Option<&'a Objects>,
    ours: &'a Odb<'a>,
    protected: &'a GlobSet,
    /// What must not be published; empty: all of it may.
    pub(super) findings: Vec<Finding>,
    /// Paths of files that differ.
    pub(super) changed: Vec<String>,
    /// Exported objects that the tree needs, what is pointed to before what points to it.
    pub(super) needed: Vec<Oid>,
    seen: HashSet<Oid>,
}

impl<'a> Examination<'a> {
    /// Of what an agent pushed.
    pub(super) fn new(objects: &'a Objects, ours: &'a Odb<'a>, protected: &'a GlobSet) -> Self {
        Self::of(Some(objects), ours, protected)
    }

    /// Of what people committed, which is here already. They may change every path, submodules too, and push files
    /// of any size; what nobody can check out safely is refused all the same.
    pub(super) fn of_people(ours: &'a Odb<'a>, nothing: &'a GlobSet) -> Self {
        Self::of(None, ours, nothing)
    }

    fn of(objects: Option<&'a Objects>, ours: &'a Odb<'a>, protected: &'a GlobSet) -> Self {
        let (findings, changed, needed) = (Vec::new(), Vec::new(), Vec::new());
        Self { objects, ours, protected, findings, changed, needed, seen: HashSet::new() }
    }

    /// Compares two trees; none stands for an empty one.
    pub(super) fn compare(&mut self, base: Option<Oid>, new: Option<Oid>) -> Result<(), GitError> {
        self.folder(base, new, "", 0)?;
        self.changed.sort();
        Ok(())
    }

    fn folder(
        &mut self,
        base: Option<Oid>,
        new: Option<Oid>,
        path: &str,
        depth: usize,
    ) -> Result<(), GitError> {
        if depth > DEEPEST {
            self.refuse(path, "folders are nested too deeply");
            return Ok(());
        }
        // A base that is not sound is compared as if it were empty: then everything is looked at.
        let before = match base {
            Some(id) => self.read(id, ObjectType::Tree)?.and_then(|bytes| parse(&bytes)).unwrap_or_default(),
            None => Vec::new(),
        };
        let after = match new {
            Some(id) => match self.read(id, ObjectType::Tree)? {
                Some(bytes) => parse(&bytes),
                None => None,
            },
            None => Some(Vec::new()),
        };
        let Some(after) = after else {
            self.refuse(path, "the folder is malformed or was not pushed whole");
            return Ok(());
        };
        let old: HashMap<&[u8], &Entry> = before.iter().map(|entry| (entry.name.as_slice(), entry)).collect();
        let kept: HashSet<&[u8]> = after.iter().map(|entry| entry.name.as_slice()).collect();
        let differ: Vec<&Entry> =
            after.iter().filter(|entry| old.get(entry.name.as_slice()).is_none_or(|o| o != entry)).collect();
        self.together(&after, &differ, path);
        for entry in differ {
            self.entry(old.get(entry.name.as_slice()).copied(), entry, path, depth)?;
            if self.findings.len() >= MOST_FINDINGS {
                return Ok(());
            }
        }
        for entry in before.iter().filter(|entry| !kept.contains(entry.name.as_slice())) {
            self.gone(entry, path, depth)?;
        }
        if let Some(id) = new {
            self.need(id);
        }
        Ok(())
    }

    /// An entry that is new, or not what it was.
    fn entry(
        &mut self,
        old: Option<&Entry>,
        new: &Entry,
        folder: &str,
        depth: usize,
    ) -> Result<(), GitError> {
        let path = join(folder, &new.name);
        if let Some(why) = names::trouble(&new.name) {
            self.refuse(&path, why);
            return Ok(());
        }
        if let Some(old) = old.filter(|old| old.mode == Mode::Tree && new.mode != Mode::Tree) {
            self.gone(old, folder, depth)?;
        }
        match new.mode {
            Mode::Tree => {
                let (before, other) = old.map_or((None, None), |old| match old.mode {
                    Mode::Tree => (Some(old.id), None),
                    Mode::File | Mode::Executable | Mode::Link | Mode::Gitlink | Mode::Other(_) => {
                        (None, Some(old))
                    }
                });
                if let Some(old) = other {
                    self.gone(old, folder, depth)?;
                }
                self.folder(before, Some(new.id), &path, depth + 1)?;
            }
            Mode::File | Mode::Executable => {
                self.touched(&path);
                self.blob(new.id, &path)?;
            }
            Mode::Link => {
                self.touched(&path);
                self.link(new, &path, depth)?;
            }
            // A submodule is an empty folder to us.
            Mode::Gitlink if self.objects.is_none() => self.touched(&path),
            Mode::Gitlink => self.refuse(&path, "it is a nested repository: push its files, or leave it out"),
            Mode::Other(_) => self.refuse(&path, "it has a mode that git does not write"),
        }
        Ok(())
    }

    /// An entry that is there no longer.
    fn gone(&mut self, old: &Entry, folder: &str, depth: usize) -> Result<(), GitError> {
        let path = join(folder, &old.name);
        match old.mode {
            Mode::Tree => self.folder(Some(old.id), None, &path, depth + 1),
            Mode::File | Mode::Executable | Mode::Link | Mode::Gitlink | Mode::Other(_) => {
                self.touched(&path);
                Ok(())
            }
        }
    }

    /// What entries of one folder are only together.
    fn together(&mut self, all: &[Entry], differ: &[&Entry], path: &str) {
        let mut folded: HashMap<String, &Entry> = HashMap::new();
        for entry in all {
            let name = names::fold(&String::from_utf8_lossy(&entry.name));
            if let Some(other) = folded.insert(name, entry)
                && (differ.contains(&entry) || differ.contains(&other))
            {
                let other = String::from_utf8_lossy(&other.name).escape_debug().to_string();
                self.refuse(
                    &join(path, &entry.name),
                    &format!("its name differs from {other:?} by case only"),
                );
            }
        }
        let has = |name: &str, mode: Mode| all.iter().any(|e| e.name == name.as_bytes() && e.mode == mode);
        let new =
            differ.iter().any(|e| [b"HEAD".as_slice(), b"objects", b"refs"].contains(&e.name.as_slice()));
        if new && has("HEAD", Mode::File) && has("objects", Mode::Tree) && has("refs", Mode::Tree) {
            self.refuse(path, "the folder is a bare git repository, whose settings git would obey");
        }
    }

    fn blob(&mut self, id: Oid, path: &str) -> Result<(), GitError> {
        match self.header(id)? {
            Some((ObjectType::Blob, size)) if size <= MOST_OBJECT || self.objects.is_none() => self.need(id),
            Some((ObjectType::Blob, _)) => {
                self.refuse(path, &format!("the file is larger than {} MiB", MOST_OBJECT >> 20));
            }
            Some(_) => self.refuse(path, "it is not what its mode says"),
            None => self.refuse(path, "its content was not pushed"),
        }
        Ok(())
    }

    fn link(&mut self, new: &Entry, path: &str, depth: usize) -> Result<(), GitError> {
        let name = String::from_utf8_lossy(&new.name);
        if NEVER_LINKS.contains(&names::fold(&name).as_str()) {
            self.refuse(path, "it is read by git and must not be a symbolic link");
        }
        // A link where a protected folder could be stands for all that the folder could hold.
        if self.protected.is_match(format!("{path}/_")) {
            self.refuse(path, "the path is protected");
        }
        match self.read(new.id, ObjectType::Blob)? {
            Some(target) => match names::link_trouble(&target, depth) {
                Some(why) => self.refuse(path, &format!("the symbolic link cannot be taken: {why}")),
                None => self.need(new.id),
            },
            None => self.refuse(path, "where the symbolic link leads was not pushed"),
        }
        Ok(())
    }

    fn touched(&mut self, path: &str) {
        if self.protected.is_match(path) {
            self.refuse(path, "the path is protected");
        }
        if self.changed.len() == MOST_CHANGED {
            self.refuse("", &format!("more than {MOST_CHANGED} files differ from the base"));
        }
        self.changed.push(path.to_owned());
    }

    fn need(&mut self, id: Oid) {
        if self.objects.is_some_and(|objects| objects.header(id).is_some()) && self.seen.insert(id) {
            self.needed.push(id);
        }
    }

    fn refuse(&mut self, path: &str, why: &str) {
        if self.findings.len() >= MOST_FINDINGS {
            return;
        }
        let shown: String = path.escape_debug().to_string().chars().take(300).collect();
        let place = if shown.is_empty() { "the change".to_owned() } else { format!("`{shown}`") };
        self.findings.push(Finding {
            severity: Severity::Critical,
            category: Category::Policy,
            description: format!("{place} cannot be published: {why}."),
            location: (!shown.is_empty()).then_some(shown),
            suggestion: Some("Leave it as it is in the base commit, and push again.".to_owned()),
        });
    }

    fn header(&self, id: Oid) -> Result<Option<(ObjectType, u64)>, GitError> {
        if let Some(found) = self.objects.and_then(|objects| objects.header(id)) {
            return Ok(Some(found));
        }
        match self.ours.read_header(id) {
            Ok((size, kind)) => Ok(Some((kind, size as u64))),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(GitError::local("read an object", &error)),
        }
    }

    /// The bytes of an object of this kind, exported or ours; none when there is none, or it is too large.
    pub(super) fn read(&self, id: Oid, kind: ObjectType) -> Result<Option<Vec<u8>>, GitError> {
        let exported = match self.objects {
            Some(objects) => objects
                .read(id)
                .map_err(|error| GitError::broken(format!("could not read an object: {error}")))?,
            None => None,
        };
        if let Some((found, bytes)) = exported {
            return Ok((found == kind).then_some(bytes));
        }
        match self.header(id)? {
            Some((found, size)) if found == kind && size <= MOST_OBJECT => {
                let object = self.ours.read(id).map_err(|error| GitError::local("read an object", &error))?;
                Ok(Some(object.data().to_vec()))
            }
            Some(_) | None => Ok(None),
        }
    }
}

fn join(folder: &str, name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    if folder.is_empty() { name.into_owned() } else { format!("{folder}/{name}") }
}
