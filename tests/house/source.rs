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
    /// Whether any other file declares it, so that it is compiled at all.
    pub is_reached: bool,
    module: Vec<String>,
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

/// A module that stands in a file of its own.
struct Declared {
    name: String,
    /// Where the file may be.
    files: Vec<String>,
    in_test: bool,
}

/// Every `.rs` file under a folder of the repository, fixtures excepted. Each knows how it is reached: a file may
/// stand under another name (`#[path]`), and for tests only.
pub fn sources(folder: &str) -> Vec<Source> {
    let mut found = read_all(folder);
    let mut queue: Vec<usize> = (0..found.len()).filter(|at| found[*at].is_root()).collect();
    while let Some(at) = queue.pop() {
        found[at].is_reached = true;
        for declared in found[at].declared() {
            let child =
                found.iter().position(|source| !source.is_reached && declared.files.contains(&source.path));
            let Some(child) = child else { continue };
            let mut module = if found[at].room() == "lib" { Vec::new() } else { found[at].module.clone() };
            module.push(declared.name);
            found[child].module = module;
            if declared.in_test {
                found[child].scopes.iter_mut().for_each(|scope| scope.in_test = true);
            }
            queue.push(child);
        }
    }
    found
}

fn read_all(folder: &str) -> Vec<Source> {
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
                found.push(Source::new(&relative, &text));
            }
        }
    }
    assert!(!found.is_empty(), "there is nothing under {folder}/");
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

impl Source {
    /// Reads a file's text. Where it stands decides what module it is, until another file declares it otherwise.
    pub fn new(path: &str, text: &str) -> Self {
        let tokens = tokens(text);
        let scopes = scopes(&tokens);
        let inside = path.split_once('/').map_or("", |(_, inside)| inside);
        let module =
            inside.trim_end_matches(".rs").trim_end_matches("/mod").split('/').map(str::to_owned).collect();
        Self { path: path.to_owned(), text: text.to_owned(), is_reached: false, module, tokens, scopes }
    }

    /// The room that it belongs to; `lib` and `main` are rooms of their own.
    pub fn room(&self) -> &str {
        self.module.first().map_or("", String::as_str)
    }

    /// `mod.rs`, `lib.rs`, or a room in a single file.
    pub fn is_module_root(&self) -> bool {
        self.path.ends_with("/mod.rs") || (self.module.len() == 1 && self.room() != "main")
    }

    /// The root of a crate: the library, a program, or the tests.
    fn is_root(&self) -> bool {
        let parts: Vec<&str> = self.path.split('/').collect();
        matches!(parts[..], [_, "lib.rs" | "main.rs"] | ["src", "bin", _] | ["src", "bin", _, "main.rs"])
    }

    /// `mod name;`, with the files that it may mean.
    fn declared(&self) -> Vec<Declared> {
        let (folder, file) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        let below = match file {
            "mod.rs" => folder.to_owned(),
            _ if self.is_root() => folder.to_owned(),
            _ => self.path.trim_end_matches(".rs").to_owned(),
        };
        let (mut declared, mut path) = (Vec::new(), None);
        for at in 0..self.tokens.len() {
            match self.text_at(at) {
                "path" if self.text_at(at + 1) == "=" => path = self.text_at(at + 2).strip_prefix('"'),
                "mod" if self.text_at(at + 2) == ";" => {
                    let name = self.text_at(at + 1).to_owned();
                    let files = match path.take() {
                        Some(path) => vec![format!("{folder}/{path}")],
                        None => vec![format!("{below}/{name}.rs"), format!("{below}/{name}/mod.rs")],
                    };
                    declared.push(Declared { name, files, in_test: self.scopes[at].in_test });
                }
                ";" | "{" | "}" => path = None,
                _ => {}
            }
        }
        declared
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
                "crate" if !is_program => Some(at + 1),
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
        let above = if self.room() == "lib" { 0 } else { self.module.len() };
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
