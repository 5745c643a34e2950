//! To which paths a tree's `.gitattributes` give the filter of Git LFS, as git decides it.
//!
//! May know: the texts of these files, and where they lie. Must never know: what is in any other file.
//!
//! Who wrote them may want us to work for ever: how many they are, what they hold and what it costs to compare them is
//! bounded, and what is over a bound is said.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use git2::{ObjectType, Oid};

use super::attribute_glob::{AttributePattern, NoStepsLeft, StepsLeft};
use super::attribute_lines::{AttributeSubject, AttributeValue, lines};
use crate::GitError;
use crate::tree::{EntryMode, parse};

pub(crate) const NAME: &str = ".gitattributes";
/// Git reads larger ones; an agent's are refused.
pub(crate) const LARGEST: usize = 1 << 20;
/// Files with attributes that are read, and their bytes.
const MOST: usize = 50_000;
const MOST_BYTES: u64 = 4 << 20;
/// Entries of a tree that are looked at for them, and the bytes of their paths. No system has a path as long.
const MOST_ENTRIES: usize = 2_000_000;
const MOST_PATH_BYTES: usize = 256 << 20;
const LONGEST_PATH: usize = 4_096;
/// Macros that set the filter, be it by other macros.
const MOST_MACROS: usize = 200;
/// What may be done to compare patterns with paths: some seconds.
const MOST_STEPS: u64 = 1_000_000_000;
const FILTER: &[u8] = b"filter";

/// The attributes of one tree.
pub(crate) struct TreeAttributes {
    /// The lines that matter, by the folders that their files lie in.
    files: HashMap<Vec<u8>, Vec<AttributeRule>>,
    /// What macros stand for.
    macros: Vec<Given>,
    /// Whether some line gives the filter.
    gives_lfs: bool,
    steps: StepsLeft,
}

/// Why nobody can say which paths have the filter. It is the repository's fault, or an agent's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AttributesOverBound(pub(crate) &'static str);

struct AttributeRule {
    pattern: AttributePattern,
    gives: Given,
}

/// What a line sets, as far as it matters.
type Given = Box<[(GivenAttribute, FilterValue)]>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GivenAttribute {
    Filter,
    /// By its place among the macros.
    Macro(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FilterValue {
    Set,
    Lfs,
    Other,
}

/// How objects of a tree are read: none where there is none of this kind.
pub(crate) type ReadObject<'a> = dyn Fn(Oid, ObjectType) -> Result<Option<Vec<u8>>, GitError> + 'a;
/// How many bytes an object has.
pub(crate) type SizeOfObject<'a> = dyn Fn(Oid) -> Result<u64, GitError> + 'a;

impl From<NoStepsLeft> for AttributesOverBound {
    fn from(_: NoStepsLeft) -> Self {
        Self("the patterns of .gitattributes would take too long to compare with the paths")
    }
}

impl TreeAttributes {
    /// Of these files, each with its path from the root.
    fn new(files: &[(Vec<u8>, Vec<u8>)], steps: u64) -> Result<Self, AttributesOverBound> {
        let mut all = Self {
            files: HashMap::new(),
            macros: Vec::new(),
            gives_lfs: false,
            steps: StepsLeft::new(steps),
        };
        let says_lfs = |(_, bytes): &(Vec<u8>, Vec<u8>)| bytes.windows(3).any(|piece| piece == b"lfs");
        if !files.iter().any(says_lfs) {
            return Ok(all);
        }
        // Git takes macros from the file at the root alone, and of those of one name the last.
        let root = files.iter().find(|(path, _)| path == NAME.as_bytes());
        let mut macros = HashMap::new();
        for line in root.into_iter().flat_map(|(_, bytes)| lines(bytes)) {
            if let AttributeSubject::Macro(name) = line.of {
                macros.insert(name.into_owned(), line.settings);
            }
        }
        let (known, in_order) = known_attributes(&macros)?;
        let mut given = |settings: &[(&[u8], AttributeValue<'_>)]| -> Given {
            let one = |(name, value): &(&[u8], AttributeValue<'_>)| {
                let attribute = *known.get(name)?;
                let value = match value {
                    AttributeValue::Set => FilterValue::Set,
                    AttributeValue::Text(b"lfs") if attribute == GivenAttribute::Filter => FilterValue::Lfs,
                    AttributeValue::Text(_) | AttributeValue::Off => FilterValue::Other,
                };
                Some((attribute, value))
            };
            let given: Given = settings.iter().filter_map(one).collect();
            all.gives_lfs |= given.iter().any(|(_, value)| *value == FilterValue::Lfs);
            given
        };
        all.macros = in_order.iter().filter_map(|name| macros.get(*name)).map(|sets| given(sets)).collect();
        for (path, bytes) in files {
            let mut rules = Vec::new();
            for line in lines(bytes) {
                let gives = given(&line.settings);
                match line.of {
                    AttributeSubject::Paths(pattern) if !gives.is_empty() => {
                        rules.extend(
                            AttributePattern::new(&pattern).map(|pattern| AttributeRule { pattern, gives }),
                        );
                    }
                    AttributeSubject::Paths(_) | AttributeSubject::Macro(_) => {}
                }
            }
            all.files.insert(split(path).0.to_vec(), rules);
        }
        Ok(all)
    }

    /// Of a tree whose objects are read so; an object that is not there has nothing to say.
    pub(crate) fn of_tree(
        read: &ReadObject<'_>,
        size: &SizeOfObject<'_>,
        tree: Oid,
    ) -> Result<Result<Self, AttributesOverBound>, GitError> {
        let (mut files, mut open) = (Vec::new(), vec![(tree, Vec::new())]);
        let (mut looked, mut path_bytes, mut bytes) = (0, 0, 0_u64);
        while let Some((tree, folder)) = open.pop() {
            let entries = read(tree, ObjectType::Tree)?.and_then(|bytes| parse(&bytes)).unwrap_or_default();
            for entry in entries {
                let path = [folder.as_slice(), &entry.name].concat();
                looked += 1;
                path_bytes += path.len();
                if looked > MOST_ENTRIES || path_bytes > MOST_PATH_BYTES || path.len() > LONGEST_PATH {
                    return Ok(Err(AttributesOverBound("the tree has too many files, or too deep folders")));
                }
                match entry.mode {
                    EntryMode::Tree | EntryMode::Other(0o40_000) => {
                        open.push((entry.id, [path.as_slice(), b"/"].concat()));
                    }
                    // Git reads none through a link.
                    EntryMode::File | EntryMode::Executable if entry.name == NAME.as_bytes() => {
                        bytes = bytes.saturating_add(size(entry.id)?);
                        if bytes > MOST_BYTES || files.len() >= MOST {
                            return Ok(Err(AttributesOverBound("the attributes are more than are read")));
                        }
                        files.extend(read(entry.id, ObjectType::Blob)?.map(|bytes| (path, bytes)));
                    }
                    EntryMode::File
                    | EntryMode::Executable
                    | EntryMode::Link
                    | EntryMode::Gitlink
                    | EntryMode::Other(_) => {}
                }
            }
        }
        Ok(Self::new(&files, MOST_STEPS))
    }

    /// Whether no path can have the filter.
    pub(crate) fn are_without_lfs(&self) -> bool {
        !self.gives_lfs
    }

    /// Whether a path has the filter: the deepest file decides that says something of it, and in it the last line.
    pub(crate) fn is_lfs(&self, path: &[u8]) -> Result<bool, AttributesOverBound> {
        if self.are_without_lfs() {
            return Ok(false);
        }
        let (mut folder, name) = split(path);
        let mut is_known = vec![false; self.macros.len()];
        loop {
            self.steps.take(1 + (self.macros.len() + folder.len()) / 8)?;
            let below = if folder.is_empty() { Some(path) } else { path.get(folder.len() + 1..) };
            for rule in self.files.get(folder).into_iter().flatten().rev() {
                if rule.pattern.matches(below.unwrap_or_default(), name, &self.steps)?
                    && let Some(value) = self.filter_of(&rule.gives, &mut is_known)?
                {
                    return Ok(value == FilterValue::Lfs);
                }
            }
            if folder.is_empty() {
                return Ok(false);
            }
            folder = split(folder).0;
        }
    }

    /// What a line makes of the filter. The last that is set counts, and of each macro what was said of it first: as git
    /// goes through them, from the end.
    fn filter_of(
        &self,
        gives: &Given,
        is_known: &mut [bool],
    ) -> Result<Option<FilterValue>, AttributesOverBound> {
        self.steps.take(gives.len())?;
        for (attribute, value) in gives.iter().rev() {
            let place = match attribute {
                GivenAttribute::Filter => return Ok(Some(*value)),
                GivenAttribute::Macro(place) => *place,
            };
            let was_known = std::mem::replace(&mut is_known[place], true);
            if was_known || *value != FilterValue::Set {
                continue;
            }
            // Each macro but once: it does not go deeper than there are macros.
            if let Some(value) = self.filter_of(&self.macros[place], is_known)? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }
}

type KnownAttributes<'m> = HashMap<&'m [u8], GivenAttribute>;

/// The filter, and the macros that set it, be it by others; and these in the order of their places.
fn known_attributes<'m>(
    macros: &'m HashMap<Vec<u8>, Vec<(&'m [u8], AttributeValue<'m>)>>,
) -> Result<(KnownAttributes<'m>, Vec<&'m [u8]>), AttributesOverBound> {
    let mut set_by: HashMap<&[u8], Vec<&[u8]>> = HashMap::new();
    for (name, settings) in macros {
        settings.iter().for_each(|(set, _)| set_by.entry(set).or_default().push(name));
    }
    let mut known = KnownAttributes::from([(FILTER, GivenAttribute::Filter)]);
    let (mut in_order, mut open) = (Vec::new(), vec![FILTER]);
    while let Some(set) = open.pop() {
        for &name in set_by.get(set).into_iter().flatten() {
            if let Entry::Vacant(new) = known.entry(name) {
                new.insert(GivenAttribute::Macro(in_order.len()));
                in_order.push(name);
                open.push(name);
            }
        }
        if in_order.len() > MOST_MACROS {
            return Err(AttributesOverBound("there are too many macros of attributes"));
        }
    }
    Ok((known, in_order))
}

/// The folder and the name.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (path.get(..slash).unwrap_or_default(), path.get(slash + 1..).unwrap_or_default()),
        None => (b"", path),
    }
}

#[cfg(test)]
mod tests;
