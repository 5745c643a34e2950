//! Whether two names are of one test: one as a runner prints it, one as it is read from the source.

use std::collections::BTreeMap;

/// Endings of source files; they are part of a name with some runners and not with others.
const ENDINGS: [&str; 12] = ["py", "rs", "js", "ts", "mjs", "cjs", "mts", "cts", "jsx", "tsx", "go", "java"];

/// The parts of a name, outermost first: `tests/test_a.py::Group::test_b[1]` and `tests.test_a.Group.test_b` have the
/// same ones.
fn parts(name: &str) -> Vec<&str> {
    without_parameters(name)
        .split(['/', '.', '>', '›'])
        .flat_map(|part| part.split("::"))
        .map(str::trim)
        .filter(|part| !part.is_empty() && !ENDINGS.contains(part))
        .collect()
}

/// `test_b[1]` is a run of `test_b`.
fn without_parameters(name: &str) -> &str {
    match name.find('[') {
        Some(at) if at > 0 && name.ends_with(']') => name.get(..at).unwrap_or(name),
        Some(_) | None => name,
    }
}

/// A name that a runner printed, made fit to be compared with many.
pub(super) struct Printed<'a> {
    parts: Vec<&'a str>,
    parameters: &'a str,
}

impl<'a> Printed<'a> {
    pub(super) fn new(name: &'a str) -> Self {
        let parameters = name.get(without_parameters(name).len()..).unwrap_or_default();
        Self { parts: parts(name), parameters }
    }

    /// The parts that can be its function's own name: the last, and those before of which it may be a part itself.
    fn own_parts(&self) -> impl Iterator<Item = usize> + '_ {
        let last = self.parts.len().saturating_sub(1);
        (0..self.parts.len())
            .rev()
            .filter(move |at| *at == last || self.parts.get(*at).is_some_and(|part| has_parts(part)))
    }

    /// The names that its function can have, and which run of that function it then is.
    pub(super) fn runs(&self) -> impl Iterator<Item = (&'a str, Which<'_>)> + '_ {
        self.own_parts().filter_map(|at| {
            let below = self.parts.get(at + 1..)?;
            Some((*self.parts.get(at)?, Which { below, parameters: self.parameters }))
        })
    }
}

/// Which run of a test it is: the parts below it, and its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Which<'a> {
    below: &'a [&'a str],
    parameters: &'a str,
}

/// In Go a test is a function with such a name, and its parts are named below it.
fn has_parts(part: &str) -> bool {
    ["Test", "Example", "Fuzz", "Benchmark"].iter().any(|start| part.starts_with(start))
}

/// A name from the source, made fit to be compared with many. It may be shorter than what a runner prints, or longer.
pub(super) struct SourceName<'a> {
    parts: Vec<&'a str>,
}

impl<'a> SourceName<'a> {
    pub(super) fn new(name: &'a str) -> Self {
        Self { parts: parts(name) }
    }

    /// The test's own name.
    pub(super) fn last(&self) -> Option<&'a str> {
        self.parts.last().copied()
    }

    /// Whether a runner's name is this test's, and of which of its runs.
    pub(super) fn is<'b>(&self, printed: &'b Printed<'b>) -> Option<Which<'b>> {
        let depth = if self.last().is_some_and(has_parts) { printed.parts.len() } else { 1 };
        (0..depth).find_map(|below| {
            let at = printed.parts.len().checked_sub(below)?;
            let (own, below) = printed.parts.split_at(at);
            let shared = self.parts.len().min(own.len());
            let source = self.parts.iter().rev().take(shared);
            let is_this =
                shared > 0 && own.iter().rev().zip(source).all(|(one, other)| is_made_of(one, other));
            is_this.then_some(Which { below, parameters: printed.parameters })
        })
    }
}

/// Many names from the source, to find the one that a runner's name is of.
pub(super) struct SourceNames<'a> {
    names: Vec<SourceName<'a>>,
    /// By the last part alone: of those that have no other, and of all.
    short: BTreeMap<&'a str, Vec<usize>>,
    by_last: BTreeMap<&'a str, Vec<usize>>,
    /// By the last part and the one before.
    by_two: BTreeMap<(&'a str, &'a str), Vec<usize>>,
    /// Titles that leave places open.
    open: Vec<usize>,
}

/// The most names that are alike and are told apart: more of them are not found.
const MOST_ALIKE: usize = 200;

impl<'a> SourceNames<'a> {
    pub(super) fn new(names: impl Iterator<Item = &'a str>) -> Self {
        let names = names.map(SourceName::new).collect();
        let empty = BTreeMap::new;
        let mut found =
            Self { names, short: empty(), by_last: empty(), by_two: BTreeMap::new(), open: Vec::new() };
        for (at, name) in found.names.iter().enumerate() {
            let Some((last, before)) = name.parts.split_last() else { continue };
            let before = before.last();
            if is_open(last) || before.is_some_and(|before| is_open(before)) {
                found.open.push(at);
                continue;
            }
            found.by_last.entry(last).or_default().push(at);
            match before {
                Some(before) => found.by_two.entry((last, before)).or_default().push(at),
                None => found.short.entry(last).or_default().push(at),
            }
        }
        found
    }

    /// Where in the list the test stands, and which of its runs the runner speaks of.
    pub(super) fn find<'b>(&self, printed: &'b Printed<'b>) -> Option<(usize, Which<'b>)> {
        let of = |at: &usize| Some((*at, self.names.get(*at)?.is(printed)?));
        let alike = |own: usize| {
            let last = printed.parts.get(own).copied().unwrap_or_default();
            let before = own.checked_sub(1).and_then(|before| printed.parts.get(before)).copied();
            let longer = match before {
                Some(before) => self.by_two.get(&(last, before)),
                None => self.by_last.get(last),
            };
            [self.short.get(last), longer]
                .into_iter()
                .flatten()
                .flat_map(|alike| alike.iter().take(MOST_ALIKE))
        };
        let found = printed.own_parts().flat_map(alike).find_map(of);
        found.or_else(|| self.open.iter().take(MOST_ALIKE).find_map(of))
    }
}

fn is_open(title: &str) -> bool {
    title.contains(['%', '$'])
}

/// Whether a printed title is one of the source's: as it stands there, or with values in the places that it leaves
/// open, as `adds %i` or `adds ${a}` do in JavaScript.
fn is_made_of(printed: &str, source: &str) -> bool {
    if printed == source || !is_open(source) {
        return printed == source;
    }
    let mut fixed = literals(source);
    let (Some(first), Some(last)) = (fixed.next(), { fixed }.last()) else { return false };
    if !printed.starts_with(first) {
        return false;
    }
    let mut rest = printed.get(first.len()..).unwrap_or_default();
    let mut between = literals(source).skip(1).peekable();
    while let Some(literal) = between.next() {
        if between.peek().is_none() {
            return rest.ends_with(last);
        }
        let Some(at) = rest.find(literal) else { return false };
        rest = rest.get(at + literal.len()..).unwrap_or_default();
    }
    false
}

/// What stands between the open places of a title; one piece where there is none.
fn literals(title: &str) -> impl Iterator<Item = &str> {
    static OPEN: std::sync::LazyLock<Option<regex::Regex>> =
        std::sync::LazyLock::new(|| regex::Regex::new(r"%[sdifjopc#$]|\$\{[^}]*\}|\$[A-Za-z_#]\w*").ok());
    let places = OPEN.iter().flat_map(move |open| open.find_iter(title).map(|found| found.range()));
    let mut start = 0;
    places.chain(std::iter::once(title.len()..title.len())).map(move |place| {
        let literal = title.get(start..place.start).unwrap_or_default();
        start = place.end;
        literal
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_known_by_what_each_runner_calls_it() {
        let same = |printed: &str, source: &str| SourceName::new(source).is(&Printed::new(printed)).is_some();
        for (printed, source) in [
            ("calc > src/lib.rs > tests::adds", "tests::adds"),
            ("calc > src/lib.rs > tests::adds", "src/lib.rs::tests::adds"),
            ("tests/more.rs > fails", "fails"),
            ("tests/test_calc.py::TestGroup::test_inner[a.b]", "tests/test_calc.py::TestGroup::test_inner"),
            ("tests.test_calc.TestGroup.test_inner", "tests/test_calc.py::TestGroup::test_inner"),
            ("test_calc.CalcTest.test_adds", "CalcTest.test_adds"),
            ("example.org/calc.TestGroup/inner_fails", "TestGroup/inner_fails"),
            ("group › inner fails", "group > inner fails"),
            ("calc.test.mjs > group > inner fails", "calc.test.mjs > group > inner fails"),
            ("inner fails", "group > inner fails"),
            ("example.org/calc.TestGroup/inner/deep", "TestGroup"),
            ("calc.test.mjs > adds 1 + 2", "adds %i + %i"),
            ("adds one to two", "adds ${a} to $b"),
        ] {
            assert!(same(printed, source), "{printed} is {source}");
        }
        for (printed, source) in [
            ("tests/test_calc.py::test_inner", "test_other"),
            ("a::TestGroup::test_inner", "OtherGroup::test_inner"),
            ("tests/test_a.py::test_inner", "tests/test_b.py::test_inner"),
            ("inner fails", "fails"),
            ("example.org/calc.TestGroup/inner", "TestOther"),
            ("adds > one", "adds"),
            ("adds 1 + 2", "adds %i - %i"),
            ("subtracts 1", "adds %i"),
            ("adds", "adds %i %i"),
            ("tests::adds", ""),
            ("", "adds"),
        ] {
            assert!(!same(printed, source), "{printed} is not {source}");
        }
    }
}
