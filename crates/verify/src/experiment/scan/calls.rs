//! Assertions that are calls with brackets: which of them compare, which claim, and what each says.

use std::ops::Range;

use super::SourceScan;
use super::site::{AssertionKind, AssertionSite};
use crate::experiment::family::SourceLanguage;
use crate::experiment::text::{byte_before, is_of_name};

/// Functions that compare their first two arguments, in small letters.
const COMPARE: [&str; 40] = [
    "assertequal", "assertequals", "assert_eq", "debug_assert_eq", "prop_assert_eq", "equal", "equals",
    "strictequal", "deepequal", "deepstrictequal", "assertlistequal", "assertdictequal", "assertsetequal",
    "asserttupleequal", "assertsequenceequal", "assertmultilineequal", "assertis", "assertcountequal",
    "is_deeply", "assertsame", "assert_same", "aresame", "assert_equal", "expect_eq", "assert_streq",
    "expect_streq", "check_eq", "areequal", "assertarrayequals", "require_equal", "tu_assert_equal",
    "ck_assert_int_eq", "ck_assert_str_eq", "assertiterableequals", "same", "eq", "eql", "is",
    "assertalmostequal", "assert_almost_equal",
];

/// Functions that want their argument to be true, or to be false, in small letters.
const CLAIM: [&str; 18] = [
    "assert", "asserttrue", "assert_true", "assertfalse", "assert_false", "expect_true", "expect_false",
    "debug_assert", "prop_assert", "istrue", "isfalse", "ck_assert", "tu_assert", "g_assert",
    "g_assert_true", "g_assert_false", "test_assert", "refute",
];

/// What follows `expect(…).` and its like, with the expected value.
const MATCH: [&str; 17] = [
    "toBe", "toEqual", "toStrictEqual", "toMatchObject", "toContain", "toContainEqual", "toHaveLength",
    "toHaveBeenCalledTimes", "toHaveBeenCalledWith", "toBeCloseTo", "isEqualTo", "isSameAs", "hasSize",
    "containsExactly", "shouldBe", "Be", "BeEquivalentTo",
];

/// The same, though other things are called so as well.
const MATCH_IN_AN_ASSERTION: [&str; 5] = ["eq", "eql", "equal", "equals", "is"];

const HELPERS: [&str; 8] = ["assert", "check", "expect", "verify", "should", "ensure", "refute", "must"];

impl SourceScan<'_> {
    pub(super) fn calls(&self) -> Vec<AssertionSite> {
        let calls = pattern!(r"([A-Za-z_][\w.]*)(!?)[ \t]*\(");
        let found = calls.captures_iter(self.text).filter_map(|found| {
            let (name, whole) = (found.get(1)?, found.get(0)?);
            // Of a statement, brackets may be around a part.
            let is_statement = name.as_str() == "assert"
                && matches!(self.language, SourceLanguage::Python | SourceLanguage::Elixir);
            let is_one = may_assert(name.as_str())
                && self.is_code(name.start())
                && !is_statement
                && self.is_call(name.start());
            let arguments = is_one.then(|| self.arguments(whole.end() - 1)).flatten()?;
            self.call(name.as_str(), name.start(), &arguments)
        });
        found.collect()
    }

    /// Whether a name is not defined here, and does not annotate what follows.
    fn is_call(&self, at: usize) -> bool {
        const DEFINES: [&str; 8] = ["def", "fn", "func", "fun", "function", "class", "sub", "macro_rules!"];
        let before = self.before(at).trim_end();
        let is_defined = DEFINES.iter().any(|word| {
            let rest = before.strip_suffix(word);
            rest.is_some_and(|rest| !rest.bytes().next_back().is_some_and(is_of_name))
        });
        let is_attribute = |rest: &str| !rest.ends_with(|last: char| !last.is_whitespace());
        let annotates = before.ends_with('@')
            || before.ends_with("#[") && self.language != SourceLanguage::Rust
            || self.language == SourceLanguage::CSharp && before.strip_suffix('[').is_some_and(is_attribute);
        !is_defined && !annotates
    }

    /// What a call asserts, by its name.
    pub(super) fn call(&self, name: &str, at: usize, arguments: &[Range<usize>]) -> Option<AssertionSite> {
        let (receiver, last) = name.rsplit_once('.').unwrap_or(("", name));
        let lower = last.to_ascii_lowercase();
        let before = self.before(at).trim_end();
        let is_compile_time = lower.contains("static_assert");
        let is_denied = name.starts_with("not.") || name.contains(".not.") || before.ends_with(".not.");
        if is_denied || lower.contains("not") || lower == "isnt" || is_compile_time {
            return None;
        }
        let is_chained = is_after_a_call(before);
        if is_chained || ["to.", "have.", "be."].iter().any(|word| name.starts_with(word)) {
            let is_match =
                MATCH.contains(&last) || MATCH_IN_AN_ASSERTION.contains(&last) && is_in_an_assertion(before);
            if is_match {
                return Some(AssertionSite::of(AssertionKind::Equality, vec![arguments.first()?.clone()]));
            }
            if MATCH_IN_AN_ASSERTION.contains(&last) {
                return None;
            }
        }
        if COMPARE.contains(&lower.as_str()) && arguments.len() >= 2 {
            let sides = arguments.get(self.first_side(arguments)..).unwrap_or_default();
            let sides = sides.iter().take(2).cloned().collect();
            return Some(AssertionSite::of(AssertionKind::Equality, sides));
        }
        if lower == "cmp_ok" {
            let [got, operator, expected, ..] = arguments else { return None };
            let operator = self.part(operator).trim().trim_matches(['"', '\'']);
            let sides = vec![got.clone(), expected.clone()];
            return ["==", "eq"]
                .contains(&operator)
                .then(|| AssertionSite::of(AssertionKind::Equality, sides));
        }
        if self.is_claim(receiver, last, &lower) {
            let is_go = self.language == SourceLanguage::Go && arguments.len() >= 2;
            return Some(self.condition(arguments.get(usize::from(is_go))?.clone()));
        }
        // Otherwise the matcher after it holds the expected value, or it is another language's way to give up.
        let is_expect = ["expect", "assertThat", "assert_that"].contains(&last)
            && (arguments.len() < 2 || is_chained || last == "expect" && !receiver.is_empty());
        let is_import = self.language == SourceLanguage::JavaScript && last == "require";
        if is_expect || is_import {
            return None;
        }
        let is_python = self.language == SourceLanguage::Python;
        let is_ruby = self.language == SourceLanguage::Ruby;
        if is_python && matches!(last, "assertRaises" | "assertRaisesRegex" | "raises")
            || is_ruby && matches!(last, "assert_raises" | "assert_raise")
        {
            return self.raised(arguments);
        }
        if self.language == SourceLanguage::Rust && last == "should_panic" {
            return Some(AssertionSite::of(AssertionKind::Words, vec![arguments.first()?.clone()]));
        }
        (!lower.contains("raises") && !lower.contains("throws"))
            .then(|| self.helper(receiver, last, &lower, arguments))
            .flatten()
    }

    /// Where both sides begin: a test or a message may stand before them.
    fn first_side(&self, arguments: &[Range<usize>]) -> usize {
        let has_three = arguments.len() >= 3;
        let begins_with_text =
            arguments.first().is_some_and(|first| self.part(first).trim().starts_with('"'));
        let is_old_junit = || pattern!(r"org\.junit\.Assert|junit\.framework").is_match(self.text);
        let is_of_jvm =
            matches!(self.language, SourceLanguage::Java | SourceLanguage::Kotlin | SourceLanguage::Groovy);
        let has_message = is_of_jvm && begins_with_text && has_three && is_old_junit();
        usize::from(has_message || has_three && self.language == SourceLanguage::Go)
    }

    fn is_claim(&self, receiver: &str, last: &str, lower: &str) -> bool {
        let is_of_macros = matches!(self.language, SourceLanguage::C | SourceLanguage::Cpp);
        let is_ok = matches!(self.language, SourceLanguage::JavaScript | SourceLanguage::Perl);
        let is_of_a_test = ["t", "test", "assert", "Assert", "require"].contains(&receiver);
        CLAIM.contains(&lower)
            || is_of_macros && matches!(last, "CHECK" | "REQUIRE" | "VERIFY")
            || is_ok && lower == "ok"
            || is_of_a_test && matches!(lower, "true" | "false" | "truthy" | "falsy" | "ok")
    }

    /// The words in `assertRaisesRegex(Error, "…")` and `raises(Error, match="…")`, otherwise the error.
    fn raised(&self, arguments: &[Range<usize>]) -> Option<AssertionSite> {
        let is_text = |argument: &&Range<usize>| {
            let text = self.part(argument).trim_start();
            let text =
                text.strip_prefix("match").map_or(text, |rest| rest.trim_start().trim_start_matches('='));
            text.trim_start().trim_start_matches(['r', 'f', 'R']).starts_with(['"', '\''])
        };
        let words =
            arguments.iter().skip(1).find(is_text).filter(|_| self.language == SourceLanguage::Python);
        let kind = match words {
            Some(_) => AssertionKind::Words,
            None => AssertionKind::Error,
        };
        Some(AssertionSite::of(kind, vec![words.or(arguments.first())?.clone()]))
    }

    /// A helper of the tests by its name: `check_cents`, `TEST_ASSERT_EQUAL_INT`, `BOOST_CHECK_EQUAL`.
    fn helper(
        &self,
        receiver: &str,
        last: &str,
        lower: &str,
        arguments: &[Range<usize>],
    ) -> Option<AssertionSite> {
        // A C project may have its own helper, called with a title, the expected value and the actual value.
        let is_own = matches!(self.language, SourceLanguage::C | SourceLanguage::Cpp)
            && lower.ends_with("test")
            && arguments.len() >= 3;
        let is_of_a_test = self.language == SourceLanguage::Go && ["assert", "require"].contains(&receiver);
        if !(is_own || is_of_a_test || receiver == "Assert" || is_helper(last)) {
            return None;
        }
        let mut sides = arguments.get(usize::from(is_own || is_of_a_test)..)?.to_vec();
        if ["check", "require", "verify", "ensure", "expect"].contains(&lower)
            && sides.len() <= 2
            && let Some(site) = sides.first().map(|side| self.condition(side.clone()))
            && site.is_comparison()
        {
            return Some(site);
        }
        // What is given code to run is a test, or holds assertions of its own.
        if sides.iter().any(|side| self.is_code_to_run(side)) {
            return None;
        }
        // The last argument of these is what is said where they fail.
        if last.ends_with("_MESSAGE") {
            sides.pop();
        }
        let is_named = pattern!(r"^\s*\w+\s*(?:=[^=]|:[^:])");
        sides.retain(|side| !is_named.is_match(self.part(side)));
        (!sides.is_empty()).then(|| AssertionSite::of(AssertionKind::Something, sides))
    }

    fn is_code_to_run(&self, side: &Range<usize>) -> bool {
        const BEGIN: [&str; 8] = ["function", "async ", "func(", "func (", "lambda", "fn(", "fn (", "|"];
        let text = self.part(side).trim_start();
        let is_arrow = self.find_top(side, "=>").is_some()
            || self.language == SourceLanguage::Java && self.find_top(side, "->").is_some();
        is_arrow || BEGIN.iter().any(|word| text.starts_with(word))
    }

    pub(super) fn condition(&self, claim: Range<usize>) -> AssertionSite {
        let has = |word: &str| self.find_top(&claim, word).is_some();
        let is_joined = [" or ", " and ", "||", "&&", " if ", " ? "].into_iter().any(has);
        let operator = ["===", "=="].iter().find_map(|word| Some((self.find_top(&claim, word)?, word.len())));
        // `!==` is not an equality.
        let operator = operator.filter(|(at, _)| byte_before(self.text.as_bytes(), *at) != Some(b'!'));
        match operator {
            Some((at, length)) if !is_joined => {
                AssertionSite::of(AssertionKind::Equality, vec![claim.start..at, at + length..claim.end])
            }
            Some(_) => AssertionSite::of(AssertionKind::Something, vec![claim]),
            None => AssertionSite::of(AssertionKind::Claim, vec![claim]),
        }
    }
}

/// Whether a function may be an assertion by its name, before its arguments are looked for.
fn may_assert(name: &str) -> bool {
    let (receiver, last) = name.rsplit_once('.').unwrap_or(("", name));
    let lower = last.to_ascii_lowercase();
    is_helper(last)
        || ["t", "test", "assert", "Assert", "require"].contains(&receiver)
        || [&COMPARE[..], &CLAIM[..], &MATCH_IN_AN_ASSERTION[..]].iter().any(|known| known.contains(&&*lower))
        || MATCH.contains(&last)
        || ["ok", "cmp_ok", "raises"].contains(&last)
        || ["CHECK", "REQUIRE", "VERIFY"].contains(&last)
        || lower.ends_with("test")
}

/// Whether a text ends where the result of a call is asked something.
fn is_after_a_call(before: &str) -> bool {
    let asked =
        before.strip_suffix("->").or_else(|| before.strip_suffix("?.")).or_else(|| before.strip_suffix('.'));
    asked.is_some_and(|called| called.trim_end().ends_with([')', '}']))
}

/// Whether the statement that a text ends in has begun to assert.
fn is_in_an_assertion(before: &str) -> bool {
    const NEAR: usize = 300;
    let near =
        before.get(before.floor_char_boundary(before.len().saturating_sub(NEAR))..).unwrap_or_default();
    let statement = near.rsplit(';').next().unwrap_or(near);
    pattern!(r"expect|should|assert|Should|[tT]hat\(").is_match(statement)
}

/// Whether a name says that it asserts: as its first word, or after a framework's prefix.
pub(super) fn is_helper(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let begins = HELPERS.iter().any(|word| {
        let rest = lower.strip_prefix(word).and_then(|rest| name.get(name.len() - rest.len()..));
        // `checksum` and `expectation` do not.
        rest.is_some_and(|rest| !rest.trim_start_matches('s').starts_with(|c: char| c.is_ascii_lowercase()))
    });
    let is_prefixed = pattern!(r"_(?:assert|check|expect|require|verify)(?:_|$)").is_match(&lower);
    begins || is_prefixed
}
