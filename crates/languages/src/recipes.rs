//! Makefiles and justfiles: the shell lines that a target or a recipe runs.
//!
//! May know: the form of these files. Must never know: what the lines do.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use regex::Captures;

use crate::files::RepositoryFiles;
use journeyman_order::bounds::{LARGEST_SOURCE, MOST_HOPS, MOST_ITEMS, MOST_NAMED};

/// In the order in which make looks for them.
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
const JUSTFILES: [&str; 3] = ["justfile", "Justfile", ".justfile"];

/// A file of rules.
#[derive(Debug, Default)]
pub struct RecipeFile {
    pub name: String,
    variables: BTreeMap<String, String>,
    rules: Vec<RecipeRule>,
}

#[derive(Debug, Default)]
struct RecipeRule {
    targets: Vec<String>,
    needs: Vec<String>,
    lines: Vec<String>,
}

impl RecipeFile {
    /// The file that make reads in a folder, which is empty for the root.
    pub fn make(files: &RepositoryFiles<'_>, folder: &str) -> Option<Self> {
        let (name, text) = first(files, folder, &MAKEFILES)?;
        Some(Self { name, ..Self::of_make(&text) })
    }

    /// The file that just reads.
    pub fn just(files: &RepositoryFiles<'_>) -> Option<Self> {
        let (name, text) = first(files, "", &JUSTFILES)?;
        Some(Self { name, ..Self::of_just(&text) })
    }

    fn of_make(text: &str) -> Self {
        let mut all = Self::default();
        for line in text.replace("\\\n", " ").lines().take(MOST_ITEMS) {
            if let Some(recipe) = line.strip_prefix('\t') {
                if let Some(rule) = all.rules.last_mut() {
                    rule.lines.push(recipe.trim().to_owned());
                }
                continue;
            }
            let line = if line.trim_start().starts_with('#') { "" } else { line };
            if let Some((name, operator, value)) = assignment(line) {
                let known = all.variables.entry(name.to_owned()).or_default();
                match operator {
                    "?" if !known.is_empty() => {}
                    "+" => known.push_str(&format!(" {value}")),
                    _ => value.clone_into(known),
                }
            } else if let Some((targets, rest)) = line.split_once(':') {
                let (needs, inline) = rest.split_once(';').unwrap_or((rest, ""));
                // Variables of one target are no prerequisites.
                let needs = if needs.contains('=') { "" } else { needs.trim_start_matches(':') };
                let needs = needs.split('#').next().unwrap_or_default();
                let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
                let lines = Some(inline.trim().to_owned()).filter(|line| !line.is_empty());
                all.rules.push(RecipeRule {
                    targets: words(targets),
                    needs: words(needs),
                    lines: lines.into_iter().collect(),
                });
            }
        }
        // Expanded once all variables are known, as make does.
        let left = Cell::new(LARGEST_SOURCE);
        all.rules = all.rules.iter().map(|rule| all.expanded(rule, &left)).collect();
        all
    }

    /// Read as the Makefile that runs the same. A caller gives no arguments, and what only just can work out is no plain
    /// word.
    fn of_just(text: &str) -> Self {
        let text = text.replace('$', "$$");
        let text = pattern!(r"\{\{\s*([\w.-]+)\s*\}\}").replace_all(&text, "$$($1)");
        let text = pattern!(r"\{\{.*?\}\}").replace_all(&text, "$$$$");
        let text = pattern!(r"(?m)^ +").replace_all(&text, "\t");
        let value = pattern!(r#"(?m)^(?:(?:export|set|alias) +)?([\w-]+)\s*:=\s*['"]?(.*?)['"]?$"#);
        let text = value.replace_all(&text, "$1 := $2");
        let head = pattern!(r"(?m)^@?([\w-]+)(?:[ \t][^:\n]*)?:([^=\n]|$)");
        Self::of_make(&pattern!(r"(?m)^\[.*$").replace_all(&head.replace_all(&text, "$1:$2"), ""))
    }

    pub fn has(&self, target: &str) -> bool {
        self.rules.iter().any(|rule| rule.targets.iter().any(|one| one == target))
    }

    /// The target that is made if none is named.
    pub fn default_target(&self) -> Option<&str> {
        let mut targets = self.rules.iter().flat_map(|rule| &rule.targets);
        targets.find(|target| !target.starts_with('.')).map(String::as_str)
    }

    /// The shell lines of a target, after those of what it needs. Each is a shell of its own.
    pub fn lines(&self, target: &str) -> Vec<String> {
        let mut lines = Vec::new();
        self.add(target, &mut BTreeSet::new(), &mut lines);
        lines
    }

    fn add(&self, target: &str, known: &mut BTreeSet<String>, lines: &mut Vec<String>) {
        if known.len() >= MOST_NAMED || !known.insert(target.to_owned()) {
            return;
        }
        let rules = || self.rules.iter().filter(|rule| rule.targets.iter().any(|one| one == target));
        for need in rules().flat_map(|rule| &rule.needs) {
            self.add(need, known, lines);
        }
        // Lines with these are not shown, or may fail.
        let plain = |line: &String| line.trim_start_matches(['@', '-', '+']).trim().to_owned();
        lines.extend(rules().flat_map(|rule| &rule.lines).map(plain));
    }

    /// A rule of make with the values of variables, of which so many bytes are left.
    fn expanded(&self, rule: &RecipeRule, left: &Cell<usize>) -> RecipeRule {
        let target = rule.targets.first().map_or("", String::as_str);
        let expand = |line: &String| self.expand(line, target, 0, left);
        let words = |all: &[String]| -> Vec<String> {
            let expanded: Vec<String> = all.iter().map(expand).collect();
            expanded.iter().flat_map(|text| text.split_whitespace()).map(str::to_owned).collect()
        };
        RecipeRule {
            targets: words(&rule.targets),
            needs: words(&rule.needs),
            lines: rule.lines.iter().map(expand).collect(),
        }
    }

    /// As in make, a variable that is not set is empty. What only make can tell stays as it is.
    fn expand(&self, line: &str, target: &str, depth: usize, left: &Cell<usize>) -> String {
        let value = |reference: &Captures<'_>| {
            let whole = reference.get(0).map_or("", |whole| whole.as_str());
            let name = reference.get(1).or(reference.get(2)).map(|name| name.as_str());
            let value = match (whole, name) {
                ("$$", _) => return "$".to_owned(),
                ("$@", _) => return target.to_owned(),
                (_, Some("MAKE")) => "make",
                (_, name) => name.and_then(|name| self.variables.get(name)).map_or("", String::as_str),
            };
            match left.get().checked_sub(value.len() + 1).filter(|_| depth <= MOST_HOPS) {
                Some(fewer) => {
                    left.set(fewer);
                    self.expand(value, target, depth + 1, left)
                }
                None => whole.to_owned(),
            }
        };
        pattern!(r"\$[$@]|\$\(([\w.-]+)\)|\$\{([\w.-]+)\}").replace_all(line, value).into_owned()
    }
}

/// The first of these files in a folder, by its path, and its text.
fn first(files: &RepositoryFiles<'_>, folder: &str, names: &[&str]) -> Option<(String, String)> {
    let path = |name: &&str| if folder.is_empty() { (*name).to_owned() } else { format!("{folder}/{name}") };
    names.iter().map(path).find_map(|path| files.text(&path).map(|text| (path, text)))
}

/// `NAME = value`, with what stands before the equals sign.
fn assignment(line: &str) -> Option<(&str, &str, &str)> {
    let found =
        pattern!(r"^\s*(?:export |override )*\s*([\w.-]+)\s*([:?+!]*)=\s*(.*?)\s*$").captures(line)?;
    Some((found.get(1)?.as_str(), found.get(2)?.as_str(), found.get(3)?.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(make: &RecipeFile, target: &str) -> Vec<String> {
        let lines = make.lines(target);
        lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn a_target_runs_what_it_needs_before_its_own_lines() {
        let make = RecipeFile::of_make(
            "PYTHON ?= python3\nFLAGS = -q $(MORE)\nexport A := b\nall: build\n\n.PHONY: test\ntest: $(ALL) # all\n\t@echo \
             done\nunit: build\n\t$(PYTHON) -m pytest \\\n\t  ${FLAGS} tests\nbuild:\n\t-mkdir -p $@\nlint: ; flake8\n\
             ALL = unit lint\n",
        );
        assert_eq!(
            words(&make, "test"),
            ["mkdir -p build", "python3 -m pytest -q tests", "flake8", "echo done"]
        );
        assert_eq!(make.default_target(), Some("all"));
        assert!(make.has("lint") && !make.has("PYTHON"));
    }

    #[test]
    fn a_target_that_is_a_variable_or_only_has_some_runs_nothing() {
        let make = RecipeFile::of_make(
            "test := no\ncheck: CFLAGS = -g\ncheck::\n\t./check $$HOME $(shell pwd)\nnone:\n",
        );
        assert!(!make.has("test"));
        assert_eq!(make.lines("check"), ["./check $HOME $(shell pwd)"]);
        assert_eq!(make.lines("none"), [""; 0]);
    }

    #[test]
    fn targets_that_need_one_another_and_variables_that_name_themselves_come_to_an_end() {
        let make = RecipeFile::of_make("A = $(A)$(A)$(A)\na: b\n\techo $(A)\nb: a\n\techo b\n");
        assert_eq!(make.lines("a").len(), 2);
        let text: String =
            (0..40).map(|at| format!("V{at} = {}\n", format!("$(V{}) ", at + 1).repeat(900))).collect();
        let make = RecipeFile::of_make(&format!("{text}t:\n\t$(V0)\n"));
        assert!(make.lines("t").concat().len() < 64 << 20);
    }

    #[test]
    fn a_recipe_of_just_is_read_without_its_parameters() {
        let paths = ["justfile".to_owned()];
        let text = "python := \"python3\"\n\n# Tests: all\n[group('x')]\ntest *ARGS: (build) lint\n    @{{python}} -m pytest {{ARGS}}\n\n\
                    lint:\n    ruff {{ os() }}\n";
        let read = |path: &str| (path == "justfile").then(|| text.as_bytes().to_vec());
        let just = RecipeFile::just(&RepositoryFiles::new(&paths, &read)).unwrap();
        assert_eq!(words(&just, "test"), ["ruff $", "python3 -m pytest"]);
    }
}
