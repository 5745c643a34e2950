//! Access to a repository's files. Others wrote all of them.
//!
//! May know: paths from the root, and how to parse JSON, TOML and INI leniently. Must never know: which files matter.

use std::collections::BTreeSet;
use std::ops::Bound;

use journeyman_order::bounds::{LARGEST_SOURCE, MOST_LOOKED_AT};
use journeyman_order::byte_order_mark;
use serde_json::Value;

use crate::text::toml_table;

/// Limit of files of one kind that are read: each read may go over a network.
pub(crate) const MOST_READ: usize = 60;

/// The files of one commit.
pub struct RepositoryFiles<'a> {
    names: BTreeSet<&'a str>,
    /// Names in the root, of files and folders.
    root: BTreeSet<&'a str>,
    /// Whether all files of the commit are listed, rather than only the names in its root.
    is_whole: bool,
    /// Submodules that are not checked out, each with the reason.
    pub missing_submodules: Vec<String>,
    /// Git LFS files that are still pointers, each with the reason.
    pub missing_large_files: Vec<String>,
    read: &'a dyn Fn(&str) -> Option<Vec<u8>>,
}

impl<'a> RepositoryFiles<'a> {
    /// `paths` are all files of the commit, or only the names in its root, where folders may have a trailing slash.
    /// `read` reads a file by its path from the root.
    pub fn new(paths: &'a [String], read: &'a dyn Fn(&str) -> Option<Vec<u8>>) -> Self {
        let is_deep = |path: &String| path.trim_end_matches('/').contains('/');
        Self {
            names: paths.iter().map(|path| path.trim_end_matches('/')).collect(),
            root: paths.iter().map(|path| path.split('/').next().unwrap_or(path)).collect(),
            is_whole: paths.iter().any(is_deep),
            missing_submodules: Vec::new(),
            missing_large_files: Vec::new(),
            read,
        }
    }

    /// The files below a folder, as if it were the root. `read` takes paths relative to the folder.
    pub fn within<'n>(&self, folder: &str, read: &'n dyn Fn(&str) -> Option<Vec<u8>>) -> RepositoryFiles<'n>
    where
        'a: 'n,
    {
        let below = |path: &&'a str| match folder.is_empty() {
            true => Some(*path),
            false => path.strip_prefix(folder)?.strip_prefix('/'),
        };
        let names: BTreeSet<&'n str> = self.names.iter().filter_map(below).collect();
        let root = names.iter().filter_map(|path| path.split('/').next()).collect();
        RepositoryFiles {
            names,
            root,
            is_whole: self.is_whole,
            missing_submodules: Vec::new(),
            missing_large_files: Vec::new(),
            read,
        }
    }

    /// The same, with these submodules recorded as missing, each with the reason.
    #[must_use]
    pub fn without_submodules(self, missing_submodules: Vec<String>) -> Self {
        Self { missing_submodules, ..self }
    }

    /// The same, with these Git LFS files recorded as pointers, each with the reason.
    #[must_use]
    pub fn without_large_files(self, missing_large_files: Vec<String>) -> Self {
        Self { missing_large_files, ..self }
    }

    /// Whether a file or folder exists. If only the root is listed, this reads a deeper path.
    pub fn has(&self, path: &str) -> bool {
        if !path.contains('/') {
            return self.root.contains(path);
        }
        match self.is_whole {
            true => self.names.contains(path) || self.below(path).next().is_some(),
            false => self.text(path).is_some(),
        }
    }

    /// The files below a folder. Empty if only the root is listed.
    pub fn below(&self, folder: &str) -> impl Iterator<Item = &'a str> {
        let start = format!("{folder}/");
        let from = (Bound::Included(start.as_str()), Bound::Unbounded);
        let all = self.names.range::<str, _>(from).copied().take_while(|path| path.starts_with(&start));
        all.collect::<Vec<_>>().into_iter()
    }

    /// Every known path.
    pub fn all(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.names.iter().copied()
    }

    /// Whether the list of paths is complete.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }

    pub(crate) fn root(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.root.iter().copied()
    }

    /// The first of these that exists.
    pub(crate) fn first<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        names.iter().copied().find(|name| self.has(name))
    }

    /// Whether the list of paths allows that a file exists.
    pub fn may_have(&self, path: &str) -> bool {
        match path.split_once('/') {
            None => self.root.contains(path),
            Some((first, _)) => self.root.contains(first) && (!self.is_whole || self.names.contains(path)),
        }
    }

    pub fn text(&self, path: &str) -> Option<String> {
        // Reading may be slow.
        if !self.may_have(path) {
            return None;
        }
        let bytes = (self.read)(path).filter(|bytes| bytes.len() <= LARGEST_SOURCE)?;
        let text = String::from_utf8_lossy(&bytes);
        Some(byte_order_mark::strip(&text).to_owned())
    }

    pub fn json(&self, path: &str) -> Option<Value> {
        serde_json::from_str(&self.text(path)?).ok()
    }

    pub fn toml(&self, path: &str) -> Option<toml::Table> {
        toml_table(&self.text(path)?)
    }

    pub(crate) fn ini(&self, path: &str) -> Option<IniFile> {
        self.text(path).map(|text| IniFile::from_text(&text))
    }
}

/// An INI file as Python's configparser reads it: indented lines continue a value.
#[derive(Debug, Default)]
pub(crate) struct IniFile {
    sections: Vec<(String, Vec<(String, String)>)>,
}

impl IniFile {
    pub(crate) fn from_text(text: &str) -> Self {
        let mut sections: Vec<(String, Vec<(String, String)>)> = Vec::new();
        let mut left = MOST_LOOKED_AT;
        for line in text.lines() {
            if left == 0 {
                break;
            }
            let trimmed = line.trim();
            if trimmed.is_empty() || trimmed.starts_with('#') || trimmed.starts_with(';') {
                continue;
            }
            if line.starts_with([' ', '\t'])
                && let Some((_, value)) = sections.last_mut().and_then(|(_, keys)| keys.last_mut())
            {
                value.push('\n');
                value.push_str(trimmed.split(" #").next().unwrap_or_default().trim_end());
            } else if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                sections.push((name.trim().to_owned(), Vec::new()));
                left -= 1;
            } else if let Some((_, keys)) = sections.last_mut() {
                let at = trimmed.find(['=', ':']).unwrap_or(trimmed.len());
                let (key, value) = trimmed.split_at(at);
                let value = value.trim_start_matches(['=', ':']).split(" #").next().unwrap_or_default();
                keys.push((key.trim().to_lowercase(), value.trim().to_owned()));
                left -= 1;
            }
        }
        Self { sections }
    }

    pub(crate) fn has(&self, section: &str) -> bool {
        self.sections.iter().any(|(name, _)| name == section)
    }

    pub(crate) fn get(&self, section: &str, key: &str) -> Option<&str> {
        let of_it = self.sections.iter().filter(|(name, _)| name == section).flat_map(|(_, keys)| keys);
        of_it.into_iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    pub(crate) fn keys<'s>(&'s self, section: &'s str) -> impl Iterator<Item = (&'s str, &'s str)> {
        let of_it = self.sections.iter().filter(move |(name, _)| name == section);
        of_it.flat_map(|(_, keys)| keys.iter().map(|(key, value)| (key.as_str(), value.as_str())))
    }

    /// A value with one entry per line.
    pub(crate) fn lines(&self, section: &str, key: &str) -> Vec<String> {
        let lines = self.get(section, key).unwrap_or_default().lines();
        lines.map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }
}

/// A word of a shell command, quoted if necessary.
pub fn quote(word: &str) -> String {
    shell_words::quote(word).into_owned()
}

/// One star matches anything.
pub fn fits(sign: &str, name: &str) -> bool {
    match sign.split_once('*') {
        None => sign.eq_ignore_ascii_case(name),
        Some((start, end)) => {
            let (name, start, end) = (name.to_lowercase(), start.to_lowercase(), end.to_lowercase());
            name.len() >= start.len() + end.len() && name.starts_with(&start) && name.ends_with(&end)
        }
    }
}

/// Whether a path leads to a file of this name.
pub(crate) fn is_named(path: &str, name: &str) -> bool {
    path.rsplit('/').next() == Some(name)
}

/// Whether a sign fits the end of a path, with as many parts as it has. A slash at its end stands for whatever is in such
/// a folder.
pub(crate) fn fits_path(sign: &str, path: &str) -> bool {
    if let Some(folder) = sign.strip_suffix('/') {
        let parts: Vec<&str> = path.split('/').collect();
        return parts.windows(folder.split('/').count()).any(|some| fits(folder, &some.join("/")));
    }
    let depth = sign.matches('/').count();
    let start = path.rmatch_indices('/').nth(depth).map_or(0, |(slash, _)| slash + 1);
    path.get(start..).is_some_and(|end| fits(sign, end))
}

/// Folders that show or serve a project. They need no tests.
pub fn is_beside(folder: &str) -> bool {
    let beside = [
        "examples", "example", "_examples", "samples", "sample", "demo", "demos", "docs", "doc", "website",
        "benchmarks", "bench", "tools", "_tools", "tool", "hack", "testdata", "vendor",
    ];
    folder.split('/').any(|part| beside.contains(&part) || part.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_with_folders_fits_the_end_of_a_path() {
        for (sign, path, is_fit) in [
            ("conftest.py", "a/ConfTest.py", true),
            ("conftest.py", "a/my_conftest.py", false),
            ("jest.config.*", "web/jest.config.ts", true),
            (".cargo/config", "a/.cargo/config", true),
            (".cargo/config", "config", false),
            ("venv/bin/*", "venv/bin/python", true),
            ("venv/bin/*", "venv/bin/a/python", false),
            ("venv/bin/*", "bin/python", false),
            ("rakelib/*.rake", "lib/tasks/a.rake", false),
            ("*.egg-info/", "a/b.egg-info/entry_points.txt", true),
            ("*.egg-info/", "a/b.egg-info", true),
            ("*.egg-info/", "egg-info/a", false),
            ("requirements*.in", "api/requirements-dev.in", true),
            ("requirements*.in", "requirements.in/a", false),
            (".bundle/config", ".bundle/config", true),
            (".bundle/config", "a.bundle/config", false),
            (".yarn/releases/", "web/.yarn/releases/yarn.cjs", true),
            (".yarn/releases/", ".yarn/releases", true),
            (".yarn/releases/", ".yarn/releases-old/yarn.cjs", false),
            (".pip/", "a.pip/pip.conf", false),
            (".pip/", "a.pip/.pip/pip.conf", true),
        ] {
            assert_eq!(fits_path(sign, path), is_fit, "{sign}: {path}");
        }
    }

    #[test]
    fn an_ini_file_is_read_as_configparser_does() {
        let ini = IniFile::from_text(
            "# c\n[options.extras_require]\ntest =\n    pytest>=7  # the runner\n    a; python_version<'3.9'\n\n[x]\nk: v\n",
        );
        assert_eq!(ini.lines("options.extras_require", "test"), ["pytest>=7", "a; python_version<'3.9'"]);
        assert_eq!(ini.get("x", "k"), Some("v"));
        assert!(!ini.has("y"));
    }

    #[test]
    fn what_the_list_does_not_name_is_not_read() {
        let read = |path: &str| match path {
            "tests/conftest.py" | "secret" | "a/b" => Some(Vec::new()),
            _ => None,
        };
        let root = ["tests/".to_owned()];
        let files = RepositoryFiles::new(&root, &read);
        assert!(files.has("tests") && files.has("tests/conftest.py") && files.text("secret").is_none());
        let whole = ["tests/a.py".to_owned()];
        let files = RepositoryFiles::new(&whole, &read);
        assert!(files.has("tests") && !files.has("tests/conftest.py") && files.has("tests/a.py"));
        assert_eq!(files.below("tests").collect::<Vec<_>>(), ["tests/a.py"]);
    }
}
