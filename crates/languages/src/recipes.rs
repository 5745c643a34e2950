//! Makefiles and justfiles: the shell lines that a target or a recipe runs.
//!
//! May know: the form of these files. Must never know: what the lines do.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

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
    /// Parameters of a recipe of just.
    parameters: Vec<String>,
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
                    '?' if !known.is_empty() => {}
                    '+' => known.push_str(&format!(" {value}")),
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
                    ..RecipeRule::default()
                });
            }
        }
        // Expanded once all variables are known, as make does.
        let left = Cell::new(LARGEST_SOURCE);
        all.rules = all.rules.iter().map(|rule| all.expanded(rule, &left)).collect();
        all
    }

    fn of_just(text: &str) -> Self {
        let mut all = Self::default();
        for line in text.replace("\\\n", " ").lines().take(MOST_ITEMS) {
            if line.starts_with([' ', '\t']) {
                if let Some(rule) = all.rules.last_mut() {
                    rule.lines.push(line.trim().to_owned());
                }
            } else if let Some((name, value)) = line.split_once(":=") {
                let name = name.trim().trim_start_matches("export ").to_owned();
                all.variables.insert(name, value.trim().trim_matches(['"', '\'']).to_owned());
            } else if let Some((head, needs)) = line.split_once(':').filter(|_| !line.starts_with(['#', '[']))
            {
                let mut words = head.split_whitespace();
                let target = words.next().map(|name| name.trim_start_matches('@').to_owned());
                let parameter = |word: &str| {
                    word.trim_start_matches(['*', '+', '$']).split('=').next().map(str::to_owned)
                };
                all.rules.push(RecipeRule {
                    targets: target.into_iter().collect(),
                    parameters: words.filter_map(parameter).collect(),
                    needs: needs.split_whitespace().map(str::to_owned).collect(),
                    lines: Vec::new(),
                });
            }
        }
        for rule in &mut all.rules {
            for line in &mut rule.lines {
                *line = without_parameters(line, &rule.parameters, &all.variables);
            }
        }
        all
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
            ..RecipeRule::default()
        }
    }

    /// As in make, a variable that is not set is empty. What only make can tell stays as it is.
    fn expand(&self, line: &str, target: &str, depth: usize, left: &Cell<usize>) -> String {
        let mut text = String::new();
        let mut rest = line;
        while let Some((before, after)) = rest.split_once('$') {
            text.push_str(before);
            rest = after;
            if let Some(after) = rest.strip_prefix('$') {
                text.push('$');
                rest = after;
            } else if let Some(after) = rest.strip_prefix('@') {
                text.push_str(target);
                rest = after;
            } else if let Some((name, after)) = reference(rest) {
                let value = self.variables.get(name).map_or("", String::as_str);
                let value = if name == "MAKE" { "make" } else { value };
                let fewer = left.get().checked_sub(value.len() + 1);
                let Some(fewer) = fewer.filter(|_| depth <= MOST_HOPS) else {
                    text.push('$');
                    continue;
                };
                left.set(fewer);
                text.push_str(&self.expand(value, target, depth + 1, left));
                rest = after;
            } else {
                text.push('$');
            }
        }
        text.push_str(rest);
        text
    }
}

/// The first of these files in a folder, by its path, and its text.
fn first(files: &RepositoryFiles<'_>, folder: &str, names: &[&str]) -> Option<(String, String)> {
    let path = |name: &&str| if folder.is_empty() { (*name).to_owned() } else { format!("{folder}/{name}") };
    names.iter().map(path).find_map(|path| files.text(&path).map(|text| (path, text)))
}

/// `NAME = value`, with the character before the equals sign.
fn assignment(line: &str) -> Option<(&str, char, &str)> {
    let (before, value) = line.split_once('=')?;
    let operator = before.chars().next_back()?;
    let name = before.trim_end_matches([':', '?', '+', '!']).trim();
    let name = name.trim_start_matches("export ").trim_start_matches("override ").trim();
    (!name.is_empty() && name.chars().all(is_of_name)).then_some((name, operator, value.trim()))
}

/// `(NAME)` or `{NAME}` at the start, and what follows.
fn reference(text: &str) -> Option<(&str, &str)> {
    let (inner, after) = match text.strip_prefix('(') {
        Some(rest) => rest.split_once(')')?,
        None => text.strip_prefix('{')?.split_once('}')?,
    };
    (!inner.is_empty() && inner.chars().all(is_of_name)).then_some((inner, after))
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.".contains(c)
}

/// A line of just without what a caller may add. Without arguments, parameters are mostly empty.
fn without_parameters(line: &str, parameters: &[String], variables: &BTreeMap<String, String>) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, inner)) = rest.split_once("{{")
        && let Some((name, after)) = inner.split_once("}}")
    {
        text.push_str(before);
        let name = name.trim();
        match variables.get(name) {
            Some(value) => text.push_str(value),
            None if parameters.iter().any(|known| known == name) => {}
            // It stands for a text that only just knows.
            None => text.push('$'),
        }
        rest = after;
    }
    text.push_str(rest);
    text
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
