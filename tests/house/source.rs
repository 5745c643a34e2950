//! A file of the house: where it stands, and what it reaches for.

use std::fs;
use std::path::Path;

use super::tokens::{Token, tokens};

/// One `.rs` file.
pub struct Source {
    /// From the repository's root, with `/`.
    pub path: String,
    /// As it is.
    pub text: String,
    tokens: Vec<Token>,
    scopes: Vec<Scope>,
}

/// Where a token stands.
#[derive(Debug, Clone, Default)]
struct Scope {
    /// Inline modules around it.
    modules: usize,
    /// Whether it is compiled for tests only.
    in_test: bool,
}

/// Something of ours that a file names.
#[derive(Debug)]
pub struct Import {
    /// The first name under the crate's root.
    pub room: String,
    /// As written, more or less.
    pub text: String,
    /// From 1.
    pub line: usize,
    /// Whether only tests do so.
    pub in_test: bool,
}

/// Every `.rs` file under a folder of the repository, fixtures excepted.
pub fn sources(folder: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut folders = vec![root.join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the repository can be read") {
            let path = entry.expect("an entry of a folder can be read").path();
            if path.is_dir() {
                if !path.ends_with("fixtures") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let relative = path.strip_prefix(root).expect("it is under the root").display().to_string();
                let text = fs::read_to_string(&path).expect("sources are UTF-8");
                found.push(Source::new(&relative.replace('\\', "/"), &text));
            }
        }
    }
    assert!(!found.is_empty(), "there is nothing under {folder}/");
    let only_for_tests: Vec<String> = found
        .iter()
        .flat_map(|source| source.test_modules().into_iter().flat_map(|m| source.children(&m)))
        .collect();
    for source in &mut found {
        if only_for_tests.contains(&source.path) {
            source.scopes.iter_mut().for_each(|scope| scope.in_test = true);
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

impl Source {
    /// Reads a file's text.
    pub fn new(path: &str, text: &str) -> Self {
        let tokens = tokens(text);
        let scopes = scopes(&tokens);
        Self { path: path.to_owned(), text: text.to_owned(), tokens, scopes }
    }

    /// The module's path from the crate's root: `src/store/sqlite.rs` is `store`, `sqlite`.
    fn module(&self) -> Vec<&str> {
        let inside = self.path.split_once('/').map_or("", |(_, inside)| inside);
        let mut parts: Vec<&str> = inside.trim_end_matches(".rs").split('/').collect();
        if parts.last().is_some_and(|last| matches!(*last, "mod" | "lib" | "main"))
            && inside != "lib.rs"
            && inside != "main.rs"
        {
            parts.pop();
        }
        parts
    }

    /// The room that it belongs to; `lib` and `main` are rooms of their own.
    pub fn room(&self) -> &str {
        self.module().first().copied().unwrap_or_default()
    }

    /// `mod.rs`, `lib.rs`, or a room in a single file.
    pub fn is_module_root(&self) -> bool {
        self.path.ends_with("/mod.rs") || (self.module().len() == 1 && self.room() != "main")
    }

    /// The files of which one has to declare this one, and under what name; none for the roots of crates.
    pub fn parent(&self) -> Option<(Vec<String>, String)> {
        let (folder, file) = self.path.rsplit_once('/')?;
        let stem = file.trim_end_matches(".rs");
        if folder == "src/bin" || stem == "main" || (!folder.contains('/') && stem == "lib") {
            return None;
        }
        let (folder, name) = if stem == "mod" { folder.rsplit_once('/')? } else { (folder, stem) };
        let mut parents = vec![format!("{folder}/mod.rs"), format!("{folder}.rs")];
        if !folder.contains('/') {
            parents = vec![format!("{folder}/lib.rs"), format!("{folder}/main.rs")];
        }
        Some((parents, name.to_owned()))
    }

    /// Whether `mod name;` stands in it.
    pub fn declares(&self, name: &str) -> bool {
        self.tokens.windows(3).any(|w| w[0].text == "mod" && w[1].text == name && w[2].text == ";")
    }

    /// Modules in files of their own that are compiled for tests only.
    fn test_modules(&self) -> Vec<String> {
        let declared = self.tokens.windows(3).zip(&self.scopes);
        declared
            .filter(|(w, scope)| scope.in_test && w[0].text == "mod" && w[2].text == ";")
            .map(|(w, _)| w[1].text.clone())
            .collect()
    }

    fn children(&self, name: &str) -> [String; 2] {
        let folder = match self.path.rsplit_once('/') {
            Some((folder, "mod.rs" | "lib.rs" | "main.rs")) => folder,
            _ => self.path.trim_end_matches(".rs"),
        };
        [format!("{folder}/{name}.rs"), format!("{folder}/{name}/mod.rs")]
    }

    /// Lines with `.unwrap()` that are not in tests.
    pub fn unwraps(&self) -> Vec<usize> {
        let wanted = [".", "unwrap", "(", ")"];
        self.tokens
            .windows(wanted.len())
            .zip(&self.scopes)
            .filter(|(w, scope)| !scope.in_test && w.iter().map(|t| t.text.as_str()).eq(wanted))
            .map(|(w, _)| w[1].line)
            .collect()
    }

    /// Every path that leads to the crate's root: from `crate`, from enough `super`s, or, in a program, by name.
    pub fn imports(&self) -> Vec<Import> {
        let is_program = matches!(self.room(), "main" | "bin");
        let mut imports = Vec::new();
        for (at, token) in self.tokens.iter().enumerate() {
            let follows_path = at > 0 && self.text_at(at - 1) == "::";
            if follows_path {
                continue;
            }
            let end = match token.text.as_str() {
                "crate" => Some(at + 1),
                "journeyman" if is_program => Some(at + 1),
                "super" => self.climb(at),
                _ => None,
            };
            let Some(end) = end.filter(|end| self.text_at(*end) == "::") else { continue };
            for place in self.first_names(end + 1) {
                let room = self.text_at(place).to_owned();
                let text = format!(
                    "{}::{room}",
                    self.tokens[at..end].iter().map(|t| t.text.as_str()).collect::<String>()
                );
                let in_test = self.scopes[at].in_test;
                imports.push(Import { room, text, line: self.tokens[place].line, in_test });
            }
        }
        imports
    }

    fn text_at(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.text.as_str())
    }

    /// The end of `super::super` when it arrives at the crate's root.
    fn climb(&self, start: usize) -> Option<usize> {
        let above = if self.room() == "lib" { 0 } else { self.module().len() };
        let (mut left, mut at) = (above + self.scopes[start].modules, start);
        loop {
            left = left.checked_sub(1)?;
            at += 1;
            if self.text_at(at) == "::" && self.text_at(at + 1) == "super" {
                at += 1;
            } else {
                return (left == 0).then_some(at);
            }
        }
    }

    /// The places of the first names of `a::b`, or of each branch of `{a::b, c::{d, e}}`.
    fn first_names(&self, start: usize) -> Vec<usize> {
        if self.text_at(start) != "{" {
            return vec![start];
        }
        let (mut depth, mut names) = (0_usize, Vec::new());
        for at in start..self.tokens.len() {
            match self.text_at(at) {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            let begins = depth == 1 && matches!(self.text_at(at), "{" | ",");
            if begins && !matches!(self.text_at(at + 1), "}" | ",") {
                names.push(at + 1);
            }
        }
        names
    }
}

/// For every token: the inline modules around it, and whether it is under `#[cfg(test)]`.
fn scopes(tokens: &[Token]) -> Vec<Scope> {
    let text = |at: usize| tokens.get(at).map_or("", |token: &Token| token.text.as_str());
    let (mut scopes, mut open, mut now) = (Vec::with_capacity(tokens.len()), Vec::new(), Scope::default());
    // The depth of braces at which an item under `#[cfg(test)]` began.
    let mut item: Option<usize> = None;
    for at in 0..tokens.len() {
        let cfg_test = ["#", "[", "cfg", "(", "test", ")", "]"];
        if cfg_test.iter().enumerate().all(|(offset, wanted)| text(at + offset) == *wanted) {
            item = item.or(Some(open.len()));
        }
        scopes.push(Scope { in_test: now.in_test || item.is_some(), ..now.clone() });
        match text(at) {
            "{" => {
                open.push(now.clone());
                let is_module = at >= 2 && text(at - 2) == "mod";
                now.modules += usize::from(is_module);
                now.in_test |= item.is_some();
            }
            "}" => {
                now = open.pop().unwrap_or_default();
                if item == Some(open.len()) {
                    item = None;
                }
            }
            ";" if item == Some(open.len()) => item = None,
            _ => {}
        }
    }
    scopes
}
