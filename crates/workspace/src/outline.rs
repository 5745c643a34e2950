//! Describes a commit for an agent without tools: its paths, and the files that a text mentions, within a budget.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use git2::{ObjectType, Tree, TreeWalkMode, TreeWalkResult};

use super::remote::oid;
use super::{GitError, Workspaces};
use journeyman_order::bounds::{DEEPEST, LONGEST_PATH};
use journeyman_order::{CommitSha, RepositoryName};

/// Most tree entries examined.
const MOST_ENTRIES: usize = 100_000;
/// Largest file shown, in bytes.
const LARGEST: usize = 200 << 10;
/// One part in this many of the budget is for paths, the rest for files.
const FOR_PATHS: usize = 3;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    /// Sorted file paths. If they are too many, deep folders become one line each with their number of files. The last
    /// line says if more files exist than were examined.
    pub paths: Vec<String>,
    pub total: usize,
    /// Mentioned files with their contents, in order of mention.
    pub files: Vec<(String, String)>,
    /// Mentioned files that are not shown, each with the reason.
    pub left_out: Vec<String>,
}

impl Workspaces {
    /// The tree of a commit, and the files whose path, or end of it, the text `named` mentions. Paths and files
    /// together have at most `budget` characters; binary and large files are left out.
    pub fn outline(
        &self,
        repository: &RepositoryName,
        commit: &CommitSha,
        named: &str,
        budget: usize,
    ) -> Result<Outline, GitError> {
        let commits = self.commits(repository)?;
        let (files, is_cut) = files(&self.tree_within(&commits, oid(commit)?)?)?;
        let mut outline = Outline {
            paths: fitting(files.keys(), budget / FOR_PATHS),
            total: files.len(),
            ..Outline::default()
        };
        if is_cut {
            outline.paths.push(format!("… and more: the first {MOST_ENTRIES} files were looked at"));
        }
        let mut left = budget.saturating_sub(length(&outline.paths));
        let odb = commits.odb()?;
        for path in mentioned(files.keys(), named) {
            let Some(id) = files.get(path) else { continue };
            match content(&odb, *id) {
                Err(why) => outline.left_out.push(format!("{path}: {why}")),
                Ok(text) if text.chars().count() + path.chars().count() > left => {
                    outline.left_out.push(format!("{path}: no room"));
                }
                Ok(text) => {
                    left -= text.chars().count() + path.chars().count();
                    outline.files.push((path.clone(), text));
                }
            }
        }
        Ok(outline)
    }
}

/// The files of a commit by path, and whether there are more. Names that are not UTF-8 are left out.
fn files(tree: &Tree<'_>) -> Result<(BTreeMap<String, git2::Oid>, bool), GitError> {
    let (mut files, mut is_cut) = (BTreeMap::new(), false);
    let walked = tree.walk(TreeWalkMode::PreOrder, |folder, entry| {
        if let (Ok(name), Some(ObjectType::Blob)) = (entry.name(), entry.kind()) {
            is_cut = files.len() >= MOST_ENTRIES;
            if is_cut {
                return TreeWalkResult::Abort;
            }
            files.insert(format!("{folder}{name}"), entry.id());
        }
        TreeWalkResult::Ok
    });
    match walked {
        // We stopped the walk ourselves.
        Err(error) if !is_cut => Err(error.into()),
        Ok(()) | Err(_) => Ok((files, is_cut)),
    }
}

fn length(lines: &[String]) -> usize {
    lines.iter().map(|line| line.chars().count() + 1).sum()
}

/// All paths, or folders at the greatest depth that fits.
fn fitting<'a>(paths: impl Iterator<Item = &'a String> + Clone, most: usize) -> Vec<String> {
    let all: Vec<String> = paths.clone().cloned().collect();
    if length(&all) <= most {
        return all;
    }
    let deepest = paths.clone().map(|path| path.matches('/').count()).max().unwrap_or_default();
    for depth in (1..=deepest.min(DEEPEST)).rev() {
        let lines = folded(paths.clone(), depth);
        if length(&lines) <= most {
            return lines;
        }
    }
    let mut lines = folded(paths, 1);
    let (mut used, mut kept) = (40, 0);
    for line in &lines {
        used += line.chars().count() + 1;
        if used > most {
            break;
        }
        kept += 1;
    }
    let more = lines.len() - kept;
    lines.truncate(kept);
    lines.push(format!("… and {more} more"));
    lines
}

fn folded<'a>(paths: impl Iterator<Item = &'a String>, depth: usize) -> Vec<String> {
    let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
    for path in paths {
        let end = path.match_indices('/').nth(depth - 1).map_or(path.len(), |(at, _)| at + 1);
        *lines.entry(path.get(..end).unwrap_or(path)).or_default() += 1;
    }
    let line = |(path, count): (&str, usize)| {
        if path.ends_with('/') { format!("{path} ({count} files)") } else { path.to_owned() }
    };
    lines.into_iter().map(line).collect()
}

/// Paths that a text mentions, whole or from some `/` on, in order of first mention. A bare file name counts only with
/// a full stop, otherwise it is an ordinary word.
fn mentioned<'a>(paths: impl Iterator<Item = &'a String>, text: &str) -> Vec<&'a String> {
    let mut words: HashMap<&str, usize> = HashMap::new();
    for word in text.split(|c| !is_of_a_path(c)) {
        let at = word.as_ptr().addr() - text.as_ptr().addr();
        let word = word.trim_end_matches('.').trim_start_matches("./").trim_matches('/');
        words.entry(word).or_insert(at);
    }
    let mut found: Vec<(usize, &String)> = Vec::new();
    for path in paths {
        if path.contains(|c: char| !is_of_a_path(c)) {
            // Such a path is never a single word.
            found.extend(text.find(path.as_str()).map(|at| (at, path)));
        }
        let starts = path.match_indices('/').map(|(at, _)| at + 1);
        for start in std::iter::once(0).chain(starts) {
            let end = path.get(start..).unwrap_or_default();
            let is_name = end.len() <= LONGEST_PATH && (start == 0 || end.contains(['/', '.']));
            found.extend(is_name.then(|| words.get(end)).flatten().map(|at| (*at, path)));
        }
    }
    found.sort();
    let mut seen = BTreeSet::new();
    found.into_iter().map(|(_, path)| path).filter(|path| seen.insert(*path)).collect()
}

fn is_of_a_path(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '/' | '.' | '_' | '-' | '+' | '@' | '~')
}

fn content(odb: &git2::Odb<'_>, id: git2::Oid) -> Result<String, &'static str> {
    let (size, _) = odb.read_header(id).map_err(|_| "it cannot be read")?;
    if size > LARGEST {
        return Err("it is larger than 200 KiB");
    }
    let object = odb.read(id).map_err(|_| "it cannot be read")?;
    match std::str::from_utf8(object.data()) {
        Ok(text) if !text.contains('\0') => Ok(text.to_owned()),
        Ok(_) | Err(_) => Err("it is binary"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(list: &[&str]) -> Vec<String> {
        list.iter().map(|path| (*path).to_owned()).collect()
    }

    #[test]
    fn a_text_names_files_as_people_do() {
        let all =
            paths(&["Makefile", "src/a/sum.py", "src/b/sum.py", "src/lib.rs", "src/run", "my docs/x y.md"]);
        for (text, named) in [
            ("Change `src/lib.rs:12` and ./src/a/sum.py.", &["src/lib.rs", "src/a/sum.py"][..]),
            ("lib.rs, then \"b/sum.py\"", &["src/lib.rs", "src/b/sum.py"]),
            ("both sum.py", &["src/a/sum.py", "src/b/sum.py"]),
            ("the Makefile, and let it run", &["Makefile"]),
            ("read my docs/x y.md", &["my docs/x y.md"]),
            ("xlib.rs lib.rsx src/lib", &[]),
            ("", &[]),
        ] {
            assert_eq!(mentioned(all.iter(), text), named.iter().collect::<Vec<_>>(), "{text}");
        }
    }

    #[test]
    fn folders_are_folded_until_all_fits() {
        let mut all = paths(&["5", "a/4", "a/b/3"]);
        all.extend((1..10).map(|n| format!("a/b/c/{n}")));
        assert_eq!(fitting(all.iter(), 84), all);
        assert_eq!(fitting(all.iter(), 83), ["5", "a/4", "a/b/3", "a/b/c/ (9 files)"]);
        assert_eq!(fitting(all.iter(), 28), ["5", "a/4", "a/b/ (10 files)"]);
        assert_eq!(fitting(all.iter(), 21), ["5", "a/ (11 files)"]);
        let many: Vec<String> = (0..1_000).map(|n| format!("{n:04}")).collect();
        let lines = fitting(many.iter(), 100);
        assert_eq!((lines.len(), lines.last().unwrap().as_str()), (13, "… and 988 more"));
        assert!(length(&lines) <= 100);
    }

    proptest::proptest! {
        #[test]
        fn the_paths_fit_and_nothing_panics(
            all in proptest::collection::btree_set("[a-cé/. ]{1,12}", 0..60), most in 60_usize..400, text in ".{0,200}"
        ) {
            let lines = fitting(all.iter(), most);
            proptest::prop_assert!(length(&lines) <= most, "{:?}", lines);
            let named = mentioned(all.iter(), &text);
            proptest::prop_assert!(named.iter().all(|path| all.contains(*path)));
        }
    }
}
