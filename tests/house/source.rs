//! The source files: where each is, and which no other file declares.

use std::fs;
use std::path::Path;

/// One `.rs` file.
pub struct Source {
    /// From the repository's root, with `/`.
    pub path: String,
    pub text: String,
}

/// Folders with our Rust code.
pub const FOLDERS: [&str; 3] = ["crates", "src", "tests"];

/// Every `.rs` file under a folder of the repository, without fixtures and the samples of languages.
pub fn sources(folder: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut folders = vec![root.join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the repository can be read") {
            let path = entry.expect("an entry of a folder can be read").path();
            if path.is_dir() {
                if !path.ends_with("fixtures") && !path.ends_with("samples") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let relative = path.strip_prefix(root).expect("it is under the root").display().to_string();
                let text = fs::read_to_string(&path).expect("sources are UTF-8");
                found.push(Source { path: relative, text });
            }
        }
    }
    assert!(!found.is_empty(), "there is nothing under {folder}/");
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

impl Source {
    /// A crate's root, or the root of a folder of modules.
    pub fn is_module_root(&self) -> bool {
        self.path.ends_with("/mod.rs") || self.path.ends_with("/lib.rs")
    }

    /// Whether one of these files declares it. Roots are declared in a manifest, or known to cargo.
    pub fn is_declared_in(&self, sources: &[Self]) -> bool {
        let is_program = self.path.contains("/bin/");
        if self.path.ends_with("/lib.rs") || self.path.ends_with("/main.rs") || is_program {
            return true;
        }
        let Some((folder, file)) = self.path.trim_end_matches("/mod.rs").rsplit_once('/') else {
            return false;
        };
        let name = file.trim_end_matches(".rs");
        let parents = [
            format!("{folder}.rs"),
            format!("{folder}/mod.rs"),
            format!("{folder}/lib.rs"),
            format!("{folder}/main.rs"),
        ];
        sources.iter().any(|parent| {
            // With `#[path]`, a file may declare a sibling under another name.
            let is_parent = parents.contains(&parent.path)
                || parent.path.rsplit_once('/').is_some_and(|(beside, _)| {
                    beside == folder && parent.text.contains(&format!("#[path = \"{file}\"]"))
                });
            let declares = |line: &str| {
                line.split_once("mod ").is_some_and(|(before, after)| {
                    !before.contains("//") && after.trim_end() == format!("{name};")
                })
            };
            is_parent
                && (parent.text.lines().any(declares)
                    || parent.text.contains(&format!("#[path = \"{file}\"]")))
        })
    }
}
