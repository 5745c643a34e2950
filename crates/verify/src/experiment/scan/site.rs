//! What an assertion says, and the edit that makes it false.

use std::ops::Range;

use super::SourceScan;
use crate::experiment::family::SourceLanguage;
use crate::experiment::text::other_number;
use journeyman_order::bounds::LONGEST_NAME;

pub(in crate::experiment) struct AssertionSite {
    /// What is asserted: both sides of a comparison.
    sides: Vec<Range<usize>>,
    kind: AssertionKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AssertionKind {
    Equality,
    /// These words are in the raised error.
    Words,
    Error,
    /// It is true, whatever it is.
    Claim,
    /// A word of RSpec that begins what must be true.
    Matcher,
    /// A shell word.
    Word,
    Something,
}

/// The edit that makes an assertion false.
pub(in crate::experiment) struct FalseExpectation {
    pub(in crate::experiment) at: Range<usize>,
    pub(in crate::experiment) now: String,
    /// Whether what was true is surely false now.
    pub(in crate::experiment) is_sure: bool,
    /// Whether it edits what is asked, as no answer stands there.
    pub(in crate::experiment) is_input: bool,
    /// Whether it asserts the opposite.
    pub(in crate::experiment) is_opposite: bool,
}

impl FalseExpectation {
    fn of((at, now): (Range<usize>, String), is_sure: bool) -> Self {
        Self { at, now, is_sure, is_input: false, is_opposite: false }
    }
}

impl AssertionSite {
    pub(super) fn of(kind: AssertionKind, sides: Vec<Range<usize>>) -> Self {
        Self { sides, kind }
    }

    pub(super) fn is_comparison(&self) -> bool {
        self.kind == AssertionKind::Equality
    }

    /// Whether it asserts inequality, which many answers satisfy.
    pub(in crate::experiment) fn is_negative(&self, scan: &SourceScan<'_>) -> bool {
        let [claim] = self.sides.as_slice() else { return false };
        let words = [" != ", " !== "];
        matches!(self.kind, AssertionKind::Something | AssertionKind::Claim)
            && words.iter().any(|word| scan.find_top(claim, word).is_some())
    }

    /// The edit that makes it false, if there is one of which nothing else can break.
    pub(in crate::experiment) fn falsified(&self, scan: &SourceScan<'_>) -> Option<FalseExpectation> {
        let last = self.sides.last()?;
        let literal = |side: &Range<usize>| scan.literals(side).into_iter().next_back();
        match self.kind {
            AssertionKind::Word => {
                // A comparison inside a helper belongs to no particular test.
                Some(FalseExpectation::of((last.clone(), other_word(scan.part(last))), false))
            }
            AssertionKind::Matcher => {
                let edit = FalseExpectation::of((last.clone(), "not_to".to_owned()), true);
                Some(FalseExpectation { is_opposite: true, ..edit })
            }
            AssertionKind::Error => {
                let at = scan.trimmed(last);
                let is_error = scan.part(&at).ends_with(|c: char| c.is_alphanumeric() || c == ')');
                let other =
                    if scan.language == SourceLanguage::Ruby { "NoMemoryError" } else { "MemoryError" };
                (is_error && scan.part(&at) != other)
                    .then(|| FalseExpectation::of((at, other.to_owned()), true))
            }
            AssertionKind::Words => {
                let (at, now) = literal(last)?;
                // Flags have to stand first in a pattern.
                let has_flags = scan.part(&at).trim_start_matches(['r', '"', '\'']).starts_with("(?");
                (!has_flags).then(|| FalseExpectation::of((at, now), true))
            }
            AssertionKind::Equality => {
                // The expected value is last in most languages, and first in some.
                let mut values = self.sides.iter().rev().filter(|side| scan.is_value(side));
                let is_sure = !scan.language.is_of_words();
                values
                    .find_map(literal)
                    .map(|value| FalseExpectation::of(value, is_sure))
                    .or_else(|| Some(FalseExpectation::of(wrapped(scan, last)?, true)))
                    .or_else(|| {
                        let found = self.sides.iter().rev().find_map(literal)?;
                        Some(FalseExpectation { is_input: true, ..FalseExpectation::of(found, false) })
                    })
            }
            AssertionKind::Claim => {
                let opposite = if self.is_negative(scan) { None } else { opposite(scan, last) };
                opposite.or_else(|| Some(FalseExpectation::of(literal(last)?, false)))
            }
            AssertionKind::Something => self.something(scan),
        }
    }

    /// For a helper whose arguments are not known: an argument that is a value.
    fn something(&self, scan: &SourceScan<'_>) -> Option<FalseExpectation> {
        let literal = |side: &Range<usize>| scan.literals(side).into_iter().next_back();
        if let [only] = self.sides.as_slice() {
            let is_answer = scan.is_value(only) || scan.find_top(only, "==").is_some();
            let is_input = !is_answer && !scan.language.is_of_words();
            return Some(FalseExpectation { is_input, ..FalseExpectation::of(literal(only)?, false) });
        }
        let is_value = |side: &&Range<usize>| scan.is_value(side) && literal(side).is_some();
        let mut values: Vec<&Range<usize>> = self.sides.iter().filter(is_value).collect();
        // The last of three or more may be a message.
        let is_message = |side: &&Range<usize>| {
            let text = scan.part(side).trim();
            text.starts_with(['"', '\'']) && text.contains(' ')
        };
        if values.len() > 1 && self.sides.len() > 2 && values.last().is_some_and(is_message) {
            values.pop();
        }
        Some(FalseExpectation::of(literal(values.last()?)?, false))
    }
}

fn other_word(word: &str) -> String {
    let bare = word.trim_start_matches('-');
    let sign = if word.starts_with('-') { "-" } else { "" };
    other_number(bare).map_or_else(|| format!("q{word}q"), |number| format!("{sign}{number}"))
}

/// What is claimed, with a sign that says the opposite.
fn opposite(scan: &SourceScan<'_>, claim: &Range<usize>) -> Option<FalseExpectation> {
    let at = scan.trimmed(claim);
    let inner = scan.part(&at);
    let is_one = !inner.is_empty()
        && inner.len() <= LONGEST_NAME
        && !inner.contains('\n')
        && !inner.starts_with(['*', '&'])
        && !inner.starts_with("...")
        && !scan.has_assignment(claim);
    if !is_one || scan.language.is_of_words() {
        return None;
    }
    let now = if scan.language == SourceLanguage::Python {
        format!("not ({inner})")
    } else {
        format!("!({inner})")
    };
    Some(FalseExpectation { is_opposite: true, ..FalseExpectation::of((at, now), true) })
}

/// For languages that compare any values: the expected value wrapped in a list, which it does not equal.
fn wrapped(scan: &SourceScan<'_>, side: &Range<usize>) -> Option<(Range<usize>, String)> {
    let at = scan.trimmed(side);
    let inner = scan.part(&at);
    let is_one = !inner.is_empty()
        && !inner.starts_with(['*', '.', '='])
        && !inner.contains('\n')
        && !inner.contains(" for ")
        && !inner.contains("pytest.approx")
        && !inner.starts_with("expect.")
        && !scan.has_assignment(side)
        && scan.find_top(side, "=>").is_none();
    let now = if scan.language == SourceLanguage::Python {
        format!("(\"q\", {inner})")
    } else {
        format!("[\"q\", {inner}]")
    };
    let is_of_any = matches!(scan.language, SourceLanguage::Python | SourceLanguage::JavaScript);
    (is_one && is_of_any).then_some((at, now))
}
