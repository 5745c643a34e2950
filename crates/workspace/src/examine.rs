//! Examines every entry of a pushed tree that differs from the base: what must not be published, and what people should
//! know. A budget of entries bounds the work on any tree.

use std::collections::{HashMap, HashSet};

use git2::{ObjectType, Oid};

use super::contents::{self, ContentRemark};
use super::export::MOST_OBJECT;
use super::links::{LinkTarget, TreeLinks};
use super::names::EntryNameProblem;
use super::protected::{PathProtection, ProtectedPaths};
use super::remarks::ExaminationReport;
use super::secrets::SecretScan;
use super::source::ObjectSource;
use super::tree::{EntryMode, GitTreeEntry, find, parse};
use super::{GitError, names};
use journeyman_order::bounds::{DEEPEST, LARGEST_SOURCE, LONGEST_PATH, MOST_ITEMS, MOST_PARTS};

/// Files that git itself reads; a link could mislead it.
const NEVER_LINKS: [&str; 4] = [".gitmodules", ".gitattributes", ".gitignore", ".mailmap"];

pub(super) struct Examination<'a> {
    source: &'a ObjectSource<'a>,
    protected: &'a ProtectedPaths,
    /// `None`: no search for secrets.
    secrets: Option<&'a SecretScan<'a>>,
    /// What must not be published, and warnings for people.
    pub(super) remarks: ExaminationReport,
    pub(super) changed: Vec<String>,
    /// Exported objects that the tree needs, children before parents.
    pub(super) needed: Vec<Oid>,
    seen: HashSet<Oid>,
    read: HashSet<Oid>,
    looked_at: usize,
    links_differ: bool,
}

impl<'a> Examination<'a> {
    /// Examines an agent's push. Without protected paths and secrets, it examines people's commits: they may change
    /// every path including submodules, and push files of any size. Anything unsafe to check out is still refused.
    pub(super) fn new(
        source: &'a ObjectSource<'a>,
        protected: &'a ProtectedPaths,
        secrets: Option<&'a SecretScan<'a>>,
    ) -> Self {
        Self {
            source,
            protected,
            secrets,
            remarks: ExaminationReport::default(),
            changed: Vec::new(),
            needed: Vec::new(),
            seen: HashSet::new(),
            read: HashSet::new(),
            looked_at: 0,
            links_differ: false,
        }
    }

    /// Refuses a path. A path that contains a secret is not shown.
    fn refuse(&mut self, path: &str, why: &str) {
        match self.secrets.and_then(|secrets| secrets.names(path)) {
            Some(what) => self.remarks.refuse("", &format!("the name of a file holds {what}, and {why}")),
            None => self.remarks.refuse(path, why),
        }
    }

    pub(super) fn compare(&mut self, base: Oid, new: Oid) -> Result<(), GitError> {
        self.folder(Some(base), Some(new), "", 0)?;
        self.changed.sort();
        if self.remarks.are_enough() { Ok(()) } else { self.links(base, new) }
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
        // A malformed base counts as empty, so everything is examined.
        let before = match base {
            Some(id) => self.listing(id)?.unwrap_or_default(),
            None => Vec::new(),
        };
        let after = match new {
            Some(id) => self.listing(id)?,
            None => Some(Vec::new()),
        };
        let Some(after) = after else {
            self.refuse(path, "the folder is malformed, huge, or was not pushed whole");
            return Ok(());
        };
        let old: HashMap<&[u8], &GitTreeEntry> =
            before.iter().map(|entry| (entry.name.as_slice(), entry)).collect();
        let kept: HashSet<&[u8]> = after.iter().map(|entry| entry.name.as_slice()).collect();
        let differs = |entry: &GitTreeEntry| old.get(entry.name.as_slice()).is_none_or(|old| *old != entry);
        self.together(&after, differs, path);
        for entry in after.iter().filter(|entry| differs(entry)) {
            self.entry(old.get(entry.name.as_slice()).copied(), entry, path, depth)?;
            if self.remarks.are_enough() {
                return Ok(());
            }
        }
        for entry in before.iter().filter(|entry| !kept.contains(entry.name.as_slice())) {
            self.gone(entry, path, depth)?;
            if self.remarks.are_enough() {
                return Ok(());
            }
        }
        if let Some(id) = new {
            self.need(id);
        }
        Ok(())
    }

    fn listing(&self, id: Oid) -> Result<Option<Vec<GitTreeEntry>>, GitError> {
        Ok(self.source.read(id, ObjectType::Tree)?.and_then(|bytes| parse(&bytes)))
    }

    /// Whether the budget allows one more entry.
    fn pay(&mut self) -> bool {
        self.looked_at += 1;
        if self.looked_at > MOST_PARTS {
            self.remarks.end("", &format!("more than {MOST_PARTS} entries of folders differ from the base"));
        }
        !self.remarks.are_enough()
    }

    /// Examines a new or changed entry.
    fn entry(
        &mut self,
        old: Option<&GitTreeEntry>,
        new: &GitTreeEntry,
        folder: &str,
        depth: usize,
    ) -> Result<(), GitError> {
        let path = join(folder, &new.name);
        if !self.pay() || !self.named(&new.name, &path, old.is_none()) {
            return Ok(());
        }
        if let Some(old) = old.filter(|old| old.mode == EntryMode::Tree && new.mode != EntryMode::Tree) {
            self.gone(old, folder, depth)?;
        }
        self.links_differ |= old.is_some_and(|old| old.mode == EntryMode::Link);
        // A folder in its place is reported by `gone`, for the old entry.
        if old.is_some_and(|old| old.mode == EntryMode::Gitlink)
            && !matches!(new.mode, EntryMode::Gitlink | EntryMode::Tree)
        {
            self.refuse_without_submodule(&path);
        }
        match new.mode {
            EntryMode::Tree => {
                let (before, other) = old.map_or((None, None), |old| match old.mode {
                    EntryMode::Tree => (Some(old.id), None),
                    EntryMode::File
                    | EntryMode::Executable
                    | EntryMode::Link
                    | EntryMode::Gitlink
                    | EntryMode::Other(_) => (None, Some(old)),
                });
                if let Some(old) = other {
                    self.gone(old, folder, depth)?;
                }
                self.folder(before, Some(new.id), &path, depth + 1)?;
            }
            EntryMode::File | EntryMode::Executable => {
                self.touched(&path);
                self.blob(old, new, &path)?;
            }
            EntryMode::Link => {
                self.touched(&path);
                self.link(new, &path, depth)?;
            }
            // We treat a submodule as an empty folder.
            EntryMode::Gitlink if !self.source.is_agents() => self.touched(&path),
            EntryMode::Gitlink => {
                self.refuse(&path, "it is a nested repository: push its files, or leave it out");
            }
            EntryMode::Other(_) => self.refuse(&path, "it has a mode that git does not write"),
        }
        Ok(())
    }

    /// Checks a name. False if the entry needs no further examination.
    fn named(&mut self, name: &[u8], path: &str, is_new: bool) -> bool {
        let is_an_agents = is_new && self.source.is_agents();
        match names::entry_name_problem(name) {
            Some(EntryNameProblem::Unsafe(why)) => {
                self.refuse(path, why);
                return false;
            }
            Some(EntryNameProblem::Alias(why)) if is_an_agents => {
                self.refuse(path, why);
                return false;
            }
            Some(EntryNameProblem::Unportable(why)) if is_an_agents => self.remarks.tell(path, why),
            Some(EntryNameProblem::Alias(_) | EntryNameProblem::Unportable(_)) | None => {}
        }
        if path.len() > LONGEST_PATH {
            self.refuse(path, "its path is longer than 1,024 bytes");
            return false;
        }
        let secret = if is_new { self.secrets.and_then(|secrets| secrets.names_path(path)) } else { None };
        if let Some(what) = secret {
            // The path itself is the secret, so it is not shown.
            self.remarks.refuse("", &format!("the name of a file holds {what}"));
            return false;
        }
        true
    }

    /// Examines a deleted entry.
    fn gone(&mut self, old: &GitTreeEntry, folder: &str, depth: usize) -> Result<(), GitError> {
        let path = join(folder, &old.name);
        if !self.pay() {
            return Ok(());
        }
        self.links_differ |= old.mode == EntryMode::Link;
        if old.mode == EntryMode::Gitlink {
            self.refuse_without_submodule(&path);
        }
        match old.mode {
            EntryMode::Tree => self.folder(Some(old.id), None, &path, depth + 1),
            EntryMode::File
            | EntryMode::Executable
            | EntryMode::Link
            | EntryMode::Gitlink
            | EntryMode::Other(_) => {
                self.touched(&path);
                Ok(())
            }
        }
    }

    /// Our tests do not see that a submodule's files are gone, and `.gitmodules` still names it.
    fn refuse_without_submodule(&mut self, path: &str) {
        if self.source.is_agents() {
            self.refuse(path, "it is a submodule: a person removes it, or puts something in its place");
        }
    }

    /// Checks the entries of a folder against each other.
    fn together(&mut self, all: &[GitTreeEntry], differs: impl Fn(&GitTreeEntry) -> bool, path: &str) {
        let mut folded: HashMap<String, &GitTreeEntry> = HashMap::new();
        for entry in all {
            let name = names::fold(&String::from_utf8_lossy(&entry.name));
            if let Some(other) = folded.insert(name, entry)
                && (differs(entry) || differs(other))
            {
                let other = String::from_utf8_lossy(&other.name).escape_debug().to_string();
                let why =
                    format!("its name differs from {other:?} by case only, or by how letters are written");
                self.remarks.refuse(&join(path, &entry.name), &why);
            }
        }
        // Git accepts a folder as a repository if it has a head and either both objects and refs or a file that points
        // to them. Links to folders count too.
        let parts = ["head", "objects", "refs", "commondir"].map(|name| folded.get(name).copied());
        let [head, objects, refs, elsewhere] = parts;
        let is_repository = head.is_some() && (objects.is_some() && refs.is_some() || elsewhere.is_some());
        if is_repository && parts.into_iter().flatten().any(differs) {
            self.refuse(path, "the folder is a bare git repository, whose settings git would obey");
        }
    }

    fn blob(&mut self, old: Option<&GitTreeEntry>, new: &GitTreeEntry, path: &str) -> Result<(), GitError> {
        match self.source.header(new.id)? {
            Some((ObjectType::Blob, size)) if size <= MOST_OBJECT || !self.source.is_agents() => {
                self.need(new.id);
                self.content(old, new, path)?;
            }
            Some((ObjectType::Blob, _)) => {
                self.remarks.refuse(path, &format!("the file is larger than {} MiB", MOST_OBJECT >> 20));
            }
            Some(_) => self.refuse(path, "it is not what its mode says"),
            None => self.refuse(path, "its content was not pushed"),
        }
        Ok(())
    }

    /// Examines a file of an agent, each content once.
    fn content(
        &mut self,
        old: Option<&GitTreeEntry>,
        new: &GitTreeEntry,
        path: &str,
    ) -> Result<(), GitError> {
        let Some(secrets) = self.secrets else { return Ok(()) };
        let is_attributes = contents::is_attributes(&String::from_utf8_lossy(&new.name));
        if !self.read.insert(new.id) && !is_attributes {
            return Ok(());
        }
        let Some(bytes) = self.source.read(new.id, ObjectType::Blob)? else { return Ok(()) };
        let before = match old.filter(|old| matches!(old.mode, EntryMode::File | EntryMode::Executable)) {
            Some(old) => self.source.read(old.id, ObjectType::Blob)?,
            None => None,
        };
        // A file moved or copied unchanged adds nothing new.
        let before = if self.source.is_pushed(new.id) { before.as_deref() } else { Some(bytes.as_slice()) };
        for spot in secrets.spots(&bytes, before) {
            self.remarks.spot(path, &spot);
        }
        if is_attributes {
            let is_read = bytes.len() <= LARGEST_SOURCE;
            if !is_read {
                self.remarks.refuse(path, "its attributes are more than are read");
            }
            // The old version is not an attributes file either if it is larger than that.
            let before = before.filter(|before| before.len() <= LARGEST_SOURCE);
            for remark in is_read.then(|| contents::attributes(&bytes, before)).into_iter().flatten() {
                match remark {
                    ContentRemark::Refused(why) => self.remarks.refuse(path, &why),
                    ContentRemark::Warning(why) => self.remarks.tell(path, &why),
                }
            }
        }
        if before.is_none_or(|before| !contents::is_program(before)) && contents::is_program(&bytes) {
            self.remarks.tell(path, "it is a program that nobody can read");
        }
        if before.is_none_or(|before| contents::turned_line(before).is_none())
            && let Some(line) = contents::turned_line(&bytes)
        {
            self.remarks.tell(path, &format!("line {line} has characters that turn the direction of text"));
        }
        Ok(())
    }

    fn link(&mut self, new: &GitTreeEntry, path: &str, depth: usize) -> Result<(), GitError> {
        self.links_differ = true;
        let name = String::from_utf8_lossy(&new.name);
        if NEVER_LINKS.contains(&names::fold(&name).as_str()) {
            self.refuse(path, "it is read by git and must not be a symbolic link");
        }
        // A link in place of a protected folder replaces all that the folder could contain.
        if self.protected.is_match(&format!("{path}/_")) {
            self.refuse(path, "the path is protected");
        }
        match self.source.read(new.id, ObjectType::Blob)? {
            Some(target) => match names::link_problem(&target, depth) {
                Some(why) => {
                    self.remarks.refuse(path, &format!("the symbolic link cannot be taken: {why}"));
                }
                None => {
                    self.need(new.id);
                    let target = String::from_utf8_lossy(&target);
                    if let Some(what) = self.secrets.and_then(|secrets| secrets.names(&target)) {
                        self.remarks.refuse(path, &format!("where the symbolic link leads holds {what}"));
                    }
                }
            },
            None => self.refuse(path, "where the symbolic link leads was not pushed"),
        }
        Ok(())
    }

    /// Checks links across the whole tree: where chains of links lead, and what they expose.
    fn links(&mut self, base: Oid, new: Oid) -> Result<(), GitError> {
        let Some(links) = TreeLinks::of(self.source, new)? else {
            self.remarks.refuse("", "the repository has too many files to follow its symbolic links");
            return Ok(());
        };
        if self.links_differ {
            let before = TreeLinks::of(self.source, base)?.unwrap_or_default();
            for path in links.paths() {
                let is_new = self.changed.binary_search_by(|changed| changed.as_str().cmp(path)).is_ok();
                match links.follow(path) {
                    LinkTarget::Inside(end) if is_new => self.behind(new, path, &end)?,
                    LinkTarget::Inside(_) => {}
                    // A link that led outside before is not this change's doing.
                    LinkTarget::Outside if is_new || before.follow(path) != LinkTarget::Outside => {
                        let why = "with the other symbolic links it leads out of the repository";
                        self.refuse(path, why);
                    }
                    LinkTarget::Endless if is_new => self.refuse(path, "the symbolic link leads in a circle"),
                    LinkTarget::Outside | LinkTarget::Endless => {}
                }
            }
        }
        for (seen, path) in links.seen_as(&self.changed) {
            if self.protected.is_match(&seen) {
                let why =
                    format!("a symbolic link shows it as `{}`, which is protected", seen.escape_debug());
                self.refuse(&path, &why);
            }
        }
        if links.are_too_many() {
            let why = "the symbolic links lead over more names than can be followed";
            self.remarks.refuse("", why);
        }
        Ok(())
    }

    /// Checks what a new link exposes under its own name.
    fn behind(&mut self, tree: Oid, link: &str, end: &str) -> Result<(), GitError> {
        let read = |folder| self.source.read(folder, ObjectType::Tree);
        // An empty path is the root.
        let found = match end {
            "" => Some((EntryMode::Tree, tree)),
            end => find(read, tree, end.as_bytes())?,
        };
        let Some((EntryMode::Tree, folder)) = found else { return Ok(()) };
        let (mut folders, mut left) = (vec![(folder, link.to_owned(), 0)], MOST_ITEMS);
        while let Some((folder, path, depth)) = folders.pop() {
            for entry in self.listing(folder)?.unwrap_or_default() {
                let Some(fewer) = left.checked_sub(1).filter(|_| depth <= DEEPEST) else {
                    self.remarks.refuse(link, "the symbolic link leads to more files than can be looked at");
                    return Ok(());
                };
                left = fewer;
                let path = join(&path, &entry.name);
                if entry.mode == EntryMode::Tree {
                    folders.push((entry.id, path, depth + 1));
                } else if self.protected.is_match(&path) {
                    let why = format!("it would stand for `{}`, which is protected", path.escape_debug());
                    self.remarks.refuse(link, &why);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn touched(&mut self, path: &str) {
        match self.protected.protection(path) {
            PathProtection::Protected => self.refuse(path, "the path is protected"),
            PathProtection::Reported => {
                self.remarks.tell(path, "it decides what code of others is fetched, built or run");
            }
            PathProtection::Unprotected => {}
        }
        if self.changed.len() == MOST_ITEMS {
            self.remarks.end("", &format!("more than {MOST_ITEMS} files differ from the base"));
        } else {
            self.changed.push(path.to_owned());
        }
    }

    fn need(&mut self, id: Oid) {
        if self.source.is_pushed(id) && self.seen.insert(id) {
            self.needed.push(id);
        }
    }
}

fn join(folder: &str, name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    if folder.is_empty() { name.into_owned() } else { format!("{folder}/{name}") }
}
