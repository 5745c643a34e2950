//! Mutants of the lines that a change brings: the same file with one small mistake, or without one part of the change.
//! Tests that prove a change notice them. Mutants that survive show where the proof is thin.
//!
//! May know: languages and their grammars, which mistakes mean something.
//! Must never know: how tests are run, files on a disk, what happens to a mutant that survives.
//!
//! Bytes in, mutants out. An agent wrote the input, so nothing recurses on it and everything is bounded. The same file
//! always gives the same mutants. They compile only as far as the grammar can tell, so the caller must tell a killed
//! mutant from one that does not build.

mod lines;
mod literals;
mod operators;
mod parts;
mod places;
mod returns;
mod statements;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Range, RangeInclusive};

use journeyman_languages::grammar_kind::file_name;
use journeyman_languages::mutants::names::NameTable;
use journeyman_languages::roles::grammar_of;
use journeyman_languages::syntax_tree::{NodeId, SyntaxTree};
use journeyman_order::bounds::LONGEST_TEXT;

pub use journeyman_languages::roles::unparsed_language;
pub use lines::changed_lines;
pub use parts::parts_taken_back;

/// Limit of candidates in one file. Beyond it every second is kept, then every fourth, so that all lines are covered.
const MOST_CANDIDATES: usize = 5_000;
/// Limit of code quoted in a sentence for people.
const MOST_WORDS: usize = 40;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    pub path: String,
    /// Where the mistake begins, counted from 1.
    pub line: u32,
    /// The mistake for people, as "`<` became `<=`". It quotes code of the change, which may be hostile.
    pub what: String,
    pub at: Range<usize>,
    /// The replacement text.
    pub text: String,
    /// Whether it is no mistake, but a part of the change taken back.
    pub is_part: bool,
    rank: MutantRank,
}

impl Mutant {
    /// The file with the mistake in it. A different file that is too short stays unchanged.
    pub fn apply(&self, file: &[u8]) -> Vec<u8> {
        match (file.get(..self.at.start), file.get(self.at.end..)) {
            (Some(head), Some(tail)) => [head, self.text.as_bytes(), tail].concat(),
            (Some(_) | None, Some(_) | None) => file.to_vec(),
        }
    }
}

/// How early a mutant is tried if not all are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MutantRank {
    /// A mistake that people make.
    First,
    /// A different value.
    Second,
    /// Mostly caught along with other mutants.
    Third,
    /// May never end, and then costs the whole time limit.
    Last,
}

struct MutantCollector<'f, 'a> {
    path: &'f str,
    tree: &'f SyntaxTree<'a>,
    names: NameTable<'f>,
    /// Sorted and disjoint.
    lines: &'f [RangeInclusive<u32>],
    /// Mistakes that people make, then all others.
    candidates: [CandidateList; 2],
}

/// Candidate mutants, sampled evenly over all lines.
#[derive(Debug)]
struct CandidateList {
    kept: Vec<Mutant>,
    /// How many candidates were met; one of every `one_of` is kept.
    met: usize,
    one_of: usize,
}

impl CandidateList {
    const NONE: Self = Self { kept: Vec::new(), met: 0, one_of: 1 };

    fn meet(&mut self, candidate: impl FnOnce() -> Mutant) {
        self.met += 1;
        if !self.met.is_multiple_of(self.one_of) {
            return;
        }
        self.kept.push(candidate());
        if self.kept.len() >= MOST_CANDIDATES {
            let mut number = 0_usize;
            self.kept.retain(|_| {
                number += 1;
                number.is_multiple_of(2)
            });
            self.one_of = self.one_of.saturating_mul(2);
        }
    }
}

impl MutantCollector<'_, '_> {
    /// Adds a mutant that replaces a node or a token.
    fn becomes(&mut self, node: NodeId, rank: MutantRank, text: impl Into<String>) {
        let text = text.into();
        let what = |old: &str, new: &str| format!("{old} became {new}");
        self.add(node, self.tree.bytes(node), rank, text, what);
    }

    /// Keeps a mutant that starts at a node, if its line changed.
    fn add(
        &mut self,
        node: NodeId,
        at: Range<usize>,
        rank: MutantRank,
        text: String,
        what: impl FnOnce(&str, &str) -> String,
    ) {
        let line = self.tree.line(node);
        let old = self.tree.source().get(at.clone()).and_then(|old| std::str::from_utf8(old).ok());
        let Some(old) = old.filter(|old| !old.is_empty() && **old != text) else { return };
        if self.has(line) && text.len() <= LONGEST_TEXT {
            let [first, others] = &mut self.candidates;
            let list = if rank == MutantRank::First { first } else { others };
            list.meet(|| {
                let what = what(&quoted(old), &quoted(&text));
                Mutant { path: self.path.to_owned(), line, what, at, text, is_part: false, rank }
            });
        }
    }

    fn has(&self, line: u32) -> bool {
        let past = self.lines.partition_point(|range| *range.start() <= line);
        past.checked_sub(1).and_then(|at| self.lines.get(at)).is_some_and(|range| range.contains(&line))
    }
}

/// Code for a sentence: one line, short, with its quote closed.
fn quoted(code: &str) -> String {
    let mut words = String::new();
    for (at, word) in code.split_whitespace().enumerate() {
        if words.len() > MOST_WORDS {
            break;
        }
        if at > 0 {
            words.push(' ');
        }
        words.extend(word.chars().take(MOST_WORDS + 1).map(|c| match c {
            '`' => '\'',
            c if c.is_control() => '\u{fffd}',
            c => c,
        }));
    }
    if words.chars().count() > MOST_WORDS {
        words = words.chars().take(MOST_WORDS).chain(['…']).collect();
    }
    format!("`{words}`")
}

/// Whether a file declares types and contains no code that runs.
fn only_declares(path: &str) -> bool {
    let name = file_name(path);
    name.ends_with(".pyi") || name.contains(".d.") && name.ends_with("ts")
}

/// At most `most` mutants for some lines of a source file. `None` if it is too large or too tangled to parse. The lines
/// are sorted and disjoint, as [`changed_lines`] returns them. Mutants of different lines come first, so that stopping
/// early still covers each line.
pub fn mutants(path: &str, after: &[u8], lines: &[RangeInclusive<u32>], most: usize) -> Option<Vec<Mutant>> {
    let is_wanted = !only_declares(path) && most > 0 && !lines.is_empty();
    let Some(grammar) = grammar_of(path).filter(|_| is_wanted) else {
        return Some(Vec::new());
    };
    let tree = SyntaxTree::read(grammar, after).ok()?;
    let mut found = MutantCollector {
        path,
        tree: &tree,
        names: NameTable::of(&tree),
        lines,
        candidates: [CandidateList::NONE; 2],
    };
    let mut at = SyntaxTree::ROOT;
    let end = tree.everything().end;
    while at < end {
        if let Some(past) = places::passed_over(&tree, at) {
            at = past.max(at + 1);
            continue;
        }
        operators::look(&mut found, at);
        literals::look(&mut found, at);
        returns::look(&mut found, at);
        statements::look(&mut found, at);
        at += 1;
    }
    if tree.is_exhausted() {
        return None;
    }
    Some(spread(found.candidates.into_iter().flat_map(|list| list.kept).collect(), most))
}

/// The best mutant of each line, then the next best. Too many lines are sampled evenly over the file. Mistakes that
/// people make come first, since a data table has more lines than the code that reads it.
fn spread(mut candidates: Vec<Mutant>, most: usize) -> Vec<Mutant> {
    candidates.sort_by_cached_key(|one| (one.rank, one.at.start, one.at.end, one.text.clone()));
    let mut seen = BTreeSet::new();
    let mut of_line: BTreeMap<u32, usize> = BTreeMap::new();
    let mut rounds: BTreeMap<usize, Vec<Mutant>> = BTreeMap::new();
    for one in candidates {
        if seen.insert((one.at.start, one.at.end, one.text.clone())) {
            let round = of_line.entry(one.line).or_default();
            rounds.entry(*round).or_default().push(one);
            *round += 1;
        }
    }
    let mut taken: Vec<Mutant> = Vec::new();
    let by_rank = |round: Vec<Mutant>| {
        let (first, others) = round.into_iter().partition(|one| one.rank == MutantRank::First);
        <[Vec<Mutant>; 2]>::from((first, others))
    };
    for mut round in rounds.into_values().flat_map(by_rank) {
        let left = most - taken.len();
        let all = round.len();
        round.sort_by_key(|one| one.line);
        let place = |at: usize| at.saturating_mul(left) / all.max(1);
        let some = round.into_iter().enumerate().filter(|(at, _)| {
            all <= left || left > 0 && (*at == 0 || place(*at) != place(at.saturating_sub(1)))
        });
        taken.extend(some.map(|(_, one)| one).take(left));
        if taken.len() >= most {
            break;
        }
    }
    taken
}

#[cfg(test)]
mod tests;
