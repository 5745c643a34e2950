//! Mutants of the lines that a change brings: the same file with one small mistake in it. Tests that prove a change
//! notice; the mutants that they do not notice say where the proof is thin.
//!
//! May know: languages and their grammars, which mistakes mean something.
//! Must never know: how tests are run, files on a disk, what comes of a mutant that survives.
//!
//! Bytes in, mutants out. What is read was written by an agent: nothing recurses on it, everything is bounded, and the
//! same file always has the same mutants. They are made to compile where the grammar alone can tell, and only there:
//! whoever runs them has to tell a mutant that no test likes from one that does not build.

mod lines;
mod literals;
mod names;
mod operators;
mod places;
mod returns;
mod statements;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Range, RangeInclusive};

use super::tamper::language::{Language, file_name};
use super::tamper::syntax::{NodeId, Syntax};
use journeyman_order::bounds::LONGEST_TEXT;

pub use lines::changed_lines;

/// Mutants of one file that are thought of; of more each second is, or each fourth, so that all of its lines have some.
const MOST_CANDIDATES: usize = 5_000;
/// Code in a sentence for people.
const MOST_WORDS: usize = 40;
/// How far up a place is asked about.
const MOST_CLIMB: usize = 300;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    pub path: String,
    /// Where the mistake begins, from 1.
    pub line: u32,
    /// The mistake for people, as "`<` became `<=`". Code in it is the change's, and as hostile as that.
    pub what: String,
    pub at: Range<usize>,
    /// What stands there instead.
    pub text: String,
    rank: MutantRank,
}

impl Mutant {
    /// The file with the mistake in it. A file that it was not made from stays what it is, where it is too short.
    pub fn apply(&self, file: &[u8]) -> Vec<u8> {
        match (file.get(..self.at.start), file.get(self.at.end..)) {
            (Some(head), Some(tail)) => [head, self.text.as_bytes(), tail].concat(),
            (Some(_) | None, Some(_) | None) => file.to_vec(),
        }
    }
}

/// How soon a mutant is tried, where not all are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MutantRank {
    /// A mistake that people make.
    First,
    /// A value that is another.
    Second,
    /// What others mostly tell as well.
    Third,
    /// May not end, which costs as much time as there is.
    Last,
}

struct MutantCollector<'f, 'a> {
    path: &'f str,
    syntax: &'f Syntax<'a>,
    names: names::NameTable<'f>,
    /// Those that are asked about, in order and apart.
    lines: &'f [RangeInclusive<u32>],
    /// Mistakes that people make, and all others.
    candidates: [CandidateList; 2],
}

/// Mutants that may be taken, of all lines alike.
#[derive(Debug)]
struct CandidateList {
    kept: Vec<Mutant>,
    /// How many were met, and that one of so many is kept.
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
    /// A node or a token that becomes another.
    fn becomes(&mut self, node: NodeId, rank: MutantRank, text: impl Into<String>) {
        let text = text.into();
        let what = |old: &str, new: &str| format!("{old} became {new}");
        self.add(node, self.syntax.bytes(node), rank, text, what);
    }

    /// Keeps a mutant that begins at a node, if its line was changed.
    fn add(
        &mut self,
        node: NodeId,
        at: Range<usize>,
        rank: MutantRank,
        text: String,
        what: impl FnOnce(&str, &str) -> String,
    ) {
        let line = self.syntax.line(node);
        let old = self.syntax.source().get(at.clone()).and_then(|old| std::str::from_utf8(old).ok());
        let Some(old) = old.filter(|old| !old.is_empty() && **old != text) else { return };
        if self.has(line) && text.len() <= LONGEST_TEXT {
            let [first, others] = &mut self.candidates;
            let list = if rank == MutantRank::First { first } else { others };
            list.meet(|| {
                let what = what(&quoted(old), &quoted(&text));
                Mutant { path: self.path.to_owned(), line, what, at, text, rank }
            });
        }
    }

    fn has(&self, line: u32) -> bool {
        let past = self.lines.partition_point(|range| *range.start() <= line);
        past.checked_sub(1).and_then(|at| self.lines.get(at)).is_some_and(|range| range.contains(&line))
    }
}

/// A piece of code in a sentence: one line, short, and closed where it ends.
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

/// Mutants of some lines of a file that holds code, at most so many; none where it is too large or too tangled to be read. The
/// lines are in order and apart, as of [`changed_lines`]. Those of different lines come first, so that who stops early has
/// seen something of each.
pub fn mutants(path: &str, after: &[u8], lines: &[RangeInclusive<u32>], most: usize) -> Option<Vec<Mutant>> {
    let name = file_name(path);
    // Files of types run nothing.
    let declares = name.ends_with(".pyi") || name.contains(".d.") && name.ends_with("ts");
    let Some(language) = Language::of(path).filter(|_| !declares && most > 0 && !lines.is_empty()) else {
        return Some(Vec::new());
    };
    let syntax = Syntax::read(language, after).ok()?;
    let mut found = MutantCollector {
        path,
        syntax: &syntax,
        names: names::NameTable::of(&syntax),
        lines,
        candidates: [CandidateList::NONE; 2],
    };
    let mut at = Syntax::ROOT;
    let end = syntax.everything().end;
    while at < end {
        if let Some(past) = places::passed_over(&syntax, at) {
            at = past.max(at + 1);
            continue;
        }
        operators::look(&mut found, at);
        literals::look(&mut found, at);
        returns::look(&mut found, at);
        statements::look(&mut found, at);
        at += 1;
    }
    if syntax.is_exhausted() {
        return None;
    }
    Some(spread(found.candidates.into_iter().flat_map(|list| list.kept).collect(), most))
}

/// The best of each line, then the next best; of more lines than are wanted some, evenly over the file, those first in which
/// people make mistakes: a table of data has more lines than the code that reads it.
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
