//! The tests of a file, each with what is its own: by the file's grammar, otherwise by its blocks of lines.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use journeyman_languages::roles::grammar_of;
use journeyman_languages::syntax_tokens::SyntaxToken;
use journeyman_languages::syntax_tree::SyntaxTree;
use journeyman_languages::test_items::{test_items, tokens_outside};
use journeyman_order::bounds::{DEEPEST, MOST_LOOKED_AT};

use crate::experiment::family::SourceLanguage;
use crate::experiment::names::words_of;
use crate::experiment::scan::SourceScan;
use crate::experiment::sides::is_source;
use crate::experiment::titles::by_heads;

pub(super) struct WrittenTest<'t> {
    pub(super) title: String,
    /// The classes, modules and groups around it, the outermost first.
    pub(super) groups: Vec<String>,
    place: Range<usize>,
    tokens: Vec<SyntaxToken<'t>>,
}

/// One side of a changed file.
pub(super) struct TestFile<'t> {
    pub(super) text: &'t str,
    line_starts: Vec<usize>,
    pub(super) tests: Vec<WrittenTest<'t>>,
    /// What is outside its tests: imports, helpers, data.
    pub(super) rest: WrittenTest<'t>,
}

impl WrittenTest<'_> {
    fn called(title: String, groups: Vec<String>, place: Range<usize>) -> Self {
        Self { title, groups, place, tokens: Vec::new() }
    }

    /// What it does, whatever its name and its place.
    pub(super) fn words(&self) -> Vec<&str> {
        self.tokens.iter().map(|token| &*token.text).collect()
    }

    fn does_the_same(&self, other: &Self) -> bool {
        let mut both = self.tokens.iter().zip(&other.tokens);
        self.tokens.len() == other.tokens.len() && both.all(|(one, other)| one.text == other.text)
    }
}

impl<'t> TestFile<'t> {
    /// Both sides, by the same means.
    pub(super) fn of_both(path: &str, before: &'t str, after: &'t str) -> (Self, Self) {
        match (Self::by_grammar(path, before), Self::by_grammar(path, after)) {
            (Some(old), Some(new)) => (old, new),
            (Some(_), None) | (None, _) => (Self::by_lines(path, before), Self::by_lines(path, after)),
        }
    }

    fn of(text: &'t str, tests: Vec<WrittenTest<'t>>, rest: Vec<SyntaxToken<'t>>) -> Self {
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let rest =
            WrittenTest { tokens: rest, ..WrittenTest::called(String::new(), Vec::new(), 0..text.len()) };
        Self { text, line_starts, tests, rest }
    }

    fn by_grammar(path: &str, text: &'t str) -> Option<Self> {
        let tree = SyntaxTree::read(grammar_of(path)?, text.as_bytes()).ok()?;
        let items = test_items(&tree);
        let written = items.iter().map(|item| WrittenTest {
            tokens: item.tokens(&tree),
            ..WrittenTest::called(item.title.clone(), item.groups.clone(), item.place(&tree))
        });
        let file = Self::of(text, written.collect(), tokens_outside(&tree, &items));
        (!tree.is_exhausted()).then_some(file)
    }

    /// Each line that is no comment is a token of the test that it stands in.
    fn by_lines(path: &str, text: &'t str) -> Self {
        let blocks = by_heads(path, text).into_iter().filter(|block| block.is_test);
        let mut tests: Vec<WrittenTest<'t>> = blocks
            .map(|block| WrittenTest::called(block.text, block.group.into_iter().collect(), block.span))
            .collect();
        tests.sort_by_key(|test| test.place.start);
        let language = SourceLanguage::of(path, text).filter(|_| is_source(path));
        let scan = language.map(|language| SourceScan::of(text, language));
        let mut rest = Vec::new();
        let (mut next, mut number) = (0, 0_u32);
        for line in text.split_inclusive('\n') {
            let first = next + line.len() - line.trim_start().len();
            next += line.len();
            number = number.saturating_add(1);
            // PHPUnit reads annotations in comments.
            let is_comment = scan.as_ref().is_some_and(|scan| scan.is_comment(first)) && !line.contains('@');
            if line.trim().is_empty() || is_comment {
                continue;
            }
            let token = SyntaxToken { text: line.trim().into(), lines: number..=number };
            let begun = tests.partition_point(|test| test.place.start <= first);
            let mut around = tests.iter_mut().take(begun).rev().take(DEEPEST);
            match around.find(|test| test.place.contains(&first)) {
                Some(test) => test.tokens.push(token),
                None => rest.push(token),
            }
        }
        Self::of(text, tests, rest)
    }

    /// The lines of a test.
    pub(super) fn lines_of(&self, test: &WrittenTest<'_>) -> Vec<&'t str> {
        self.lines(test, 0..test.tokens.len())
    }

    /// Whether a test is the `main` of a program that does the same but for calls of tests that only one side has.
    pub(super) fn runs_the_same(
        &self,
        test: &WrittenTest<'_>,
        (after, now): (&Self, &WrittenTest<'_>),
    ) -> bool {
        fn kept<'w>(test: &'w WrittenTest<'_>, own: &TestFile<'_>, other: &TestFile<'_>) -> Vec<&'w str> {
            let is_there = |file: &TestFile<'_>, word: &str| file.tests.iter().any(|test| test.title == word);
            let is_run = |line: &&str| {
                let mut named = words_of(line).filter(|word| is_there(own, word)).peekable();
                pattern!(r"^\w+[ \t]*\([^()]*\)[ \t]*;$").is_match(line)
                    && named.peek().is_some()
                    && named.all(|word| !is_there(other, word))
            };
            test.words().into_iter().filter(|line| !is_run(line)).collect()
        }
        test.title == "main" && kept(test, self, after) == kept(now, after, self)
    }

    /// The lines of some of its tokens.
    fn lines(&self, test: &WrittenTest<'_>, tokens: Range<usize>) -> Vec<&'t str> {
        let (tokens, place) = (test.tokens.get(tokens).unwrap_or_default(), &test.place);
        let numbered = tokens.iter().filter(|token| !token.text.is_empty());
        let numbers: BTreeSet<u32> = numbered.flat_map(|token| token.lines.clone()).collect();
        let line = |number: u32| {
            let at = usize::try_from(number).ok()?.checked_sub(1)?;
            let start = *self.line_starts.get(at)?;
            let end = self.line_starts.get(at + 1).copied().unwrap_or(self.text.len());
            let own = self.text.get(start.max(place.start)..end.min(place.end))?;
            let own = own.trim().trim_end_matches(',');
            own.chars().any(char::is_alphanumeric).then_some(own)
        };
        numbers.into_iter().filter_map(line).collect()
    }
}

/// The lines that only the old version of a test has, and those that only the new one has. `None` if both do the same.
pub(super) fn difference<'t>(
    (before, old): (&TestFile<'t>, &WrittenTest<'t>),
    (after, new): (&TestFile<'t>, &WrittenTest<'t>),
) -> Option<(Vec<&'t str>, Vec<&'t str>)> {
    let (gone, came) = differing(&old.tokens, &new.tokens);
    if gone.is_empty() && came.is_empty() {
        return None;
    }
    // With the tokens beside them, as those may be in the same line.
    let beside = |tokens: &[SyntaxToken<'_>], part: &Range<usize>| {
        part.start.saturating_sub(1)..(part.end + 1).min(tokens.len())
    };
    let without = |some: Vec<&'t str>, others: Vec<&'t str>| -> Vec<&'t str> {
        let others: BTreeSet<&str> = others.into_iter().collect();
        some.into_iter().filter(|line| !others.contains(line)).collect()
    };
    let removed = without(before.lines(old, beside(&old.tokens, &gone)), after.lines_of(new));
    let added = without(after.lines(new, beside(&new.tokens, &came)), before.lines_of(old));
    // The same lines may be in another order, or nested differently.
    let are_the_same = removed.is_empty() && added.is_empty();
    Some(if are_the_same { (before.lines(old, gone), after.lines(new, came)) } else { (removed, added) })
}

/// From the first token that differs to the last one.
fn differing(old: &[SyntaxToken<'_>], new: &[SyntaxToken<'_>]) -> (Range<usize>, Range<usize>) {
    fn is_same((one, other): &(&SyntaxToken<'_>, &SyntaxToken<'_>)) -> bool {
        one.text == other.text
    }
    let first = old.iter().zip(new).take_while(is_same).count();
    let most = old.len().min(new.len()) - first;
    let last = old.iter().rev().zip(new.iter().rev()).take(most).take_while(is_same).count();
    (first..old.len() - last, first..new.len() - last)
}

/// For each test of the base the one that it is after the change, and the tests of the change that are none of them.
pub(super) fn paired(old: &[WrittenTest<'_>], new: &[WrittenTest<'_>]) -> (Vec<Option<usize>>, Vec<usize>) {
    let mut by_title: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, test) in new.iter().enumerate() {
        by_title.entry(&test.title).or_default().push(at);
    }
    let mut pairs: Vec<Option<usize>> = vec![None; old.len()];
    let rules: [fn(&WrittenTest<'_>, &WrittenTest<'_>) -> bool; 3] = [
        |one, other| one.groups == other.groups && one.does_the_same(other),
        |one, other| one.groups == other.groups,
        |one, other| one.does_the_same(other),
    ];
    for is_one in rules {
        for (test, pair) in old.iter().zip(&mut pairs).filter(|(_, pair)| pair.is_none()) {
            let Some(left) = by_title.get_mut(test.title.as_str()) else { continue };
            let is_this = |at: &usize| new.get(*at).is_some_and(|other| is_one(test, other));
            if let Some(found) = left.iter().take(MOST_LOOKED_AT).position(is_this) {
                *pair = Some(left.remove(found));
            }
        }
    }
    // The only ones of their title that are left: moved to another group and edited.
    let mut open: HashMap<&str, Vec<&mut Option<usize>>> = HashMap::new();
    for (test, pair) in old.iter().zip(&mut pairs).filter(|(_, pair)| pair.is_none()) {
        open.entry(&test.title).or_default().push(pair);
    }
    for (title, olds) in open {
        let is_only = by_title.get(title).is_some_and(|left| left.len() == 1);
        let mut olds = olds.into_iter();
        if let (true, Some(pair), None) = (is_only, olds.next(), olds.next()) {
            *pair = by_title.remove(title).and_then(|left| left.first().copied());
        }
    }
    let mut left: Vec<usize> = by_title.into_values().flatten().collect();
    left.sort_unstable();
    (pairs, left)
}
