//! A test file, scanned by words and brackets: what is code, what is text, and where assertions are.

use std::ops::Range;

use super::family::LanguageFamily;
use super::text::{find, is_bare, is_comment_start, line_end, other_number, string_end};
use journeyman_order::bounds::LONGEST_TEXT;

mod values;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByteKind {
    Code,
    Text,
    Comment,
}

pub(super) struct SourceScan<'a> {
    text: &'a str,
    family: LanguageFamily,
    is: Vec<ByteKind>,
    /// Strings, including their quotes.
    strings: Vec<Range<usize>>,
    lines: Vec<usize>,
}

pub(super) struct AssertionSite {
    /// The asserted expressions: both sides of a comparison.
    sides: Vec<Range<usize>>,
    kind: AssertionKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AssertionKind {
    Equality,
    /// These words are in the raised error.
    Words,
    Error,
    Something,
}

/// An error that no test expects.
const ANOTHER_ERROR: &str = "MemoryError";

impl<'a> SourceScan<'a> {
    pub(super) fn of(text: &'a str, family: LanguageFamily) -> Self {
        let bytes = text.as_bytes();
        let mut is = vec![ByteKind::Code; bytes.len()];
        let mut strings = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            let is_line_comment = match family.has_hash_comments() {
                true => rest[0] == b'#' && is_comment_start(bytes, at),
                false => rest.starts_with(b"//"),
            };
            let end = if is_line_comment {
                line_end(bytes, at)
            } else if !family.has_hash_comments() && rest.starts_with(b"/*") {
                find(bytes, at + 2, b"*/").map_or(bytes.len(), |end| end + 2)
            } else {
                at
            };
            if end > at {
                is[at..end].fill(ByteKind::Comment);
                at = end;
                continue;
            }
            match string_end(bytes, at, family) {
                Some(end) => {
                    is[at..end].fill(ByteKind::Text);
                    strings.push(at..end);
                    at = end;
                }
                None => at += 1,
            }
        }
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, family, is, strings, lines }
    }

    /// Counted from 1.
    pub(super) fn line(&self, at: usize) -> u32 {
        u32::try_from(self.lines.partition_point(|start| *start <= at)).unwrap_or(u32::MAX)
    }

    pub(super) fn is_code(&self, at: usize) -> bool {
        self.is.get(at) == Some(&ByteKind::Code)
    }

    pub(super) fn is_comment(&self, at: usize) -> bool {
        self.is.get(at) == Some(&ByteKind::Comment)
    }

    fn part(&self, range: &Range<usize>) -> &'a str {
        self.text.get(range.clone()).unwrap_or_default()
    }

    fn trimmed(&self, range: &Range<usize>) -> Range<usize> {
        let text = self.part(range);
        let start = range.start + text.len() - text.trim_start().len();
        start..start + text.trim().len()
    }

    /// Every assertion that this scan recognizes.
    pub(super) fn assertions(&self) -> Vec<AssertionSite> {
        let mut spots = Vec::new();
        let calls = pattern!(r"([A-Za-z_][\w.]*)(!?)[ \t]*\(");
        for found in calls.captures_iter(self.text) {
            let (Some(name), Some(whole)) = (found.get(1), found.get(0)) else { continue };
            if !self.is_code(name.start()) || self.is_definition(name.start()) {
                continue;
            }
            let Some(arguments) = self.arguments(whole.end() - 1) else { continue };
            spots.extend(self.call(name.as_str(), name.start(), &arguments));
        }
        if self.family == LanguageFamily::Python {
            let statements = pattern!(r"(?m)^[ \t]*assert[ \t(]");
            for found in statements.find_iter(self.text) {
                let word = found.start() + found.as_str().find("assert").unwrap_or(0);
                if self.is_code(word) {
                    let claim = self.to_the_end_of_the_statement(word + 6);
                    spots.push(self.condition(self.until_comma(claim)));
                }
            }
        }
        if self.family == LanguageFamily::Go {
            let failing = pattern!(r"(?m)^[ \t]*if[ \t](.*)\{[ \t]*$");
            for found in failing.captures_iter(self.text) {
                let (Some(whole), Some(condition)) = (found.get(0), found.get(1)) else { continue };
                let after = self.text.get(whole.end()..).unwrap_or_default();
                let body: String = after.lines().take(4).collect();
                let fails = ["t.Error", "t.Fatal", "t.Fail", "b.Fatal", "panic("]
                    .iter()
                    .any(|word| body.contains(word));
                if let Some(at) = self.find_top(&condition.range(), "!=").filter(|_| fails) {
                    let from = self.text.get(condition.start()..at).and_then(|left| left.rfind(';'));
                    let left = condition.start() + from.map_or(0, |from| from + 1)..at;
                    spots.push(AssertionSite {
                        sides: vec![left, at + 2..condition.end()],
                        kind: AssertionKind::Equality,
                    });
                }
            }
        }
        if self.family == LanguageFamily::Shell {
            spots.extend(self.commands());
        }
        if self.family == LanguageFamily::Rust {
            spots.extend(self.macros_of_tests());
        }
        spots
    }

    /// Calls of this file's macros that generate tests, such as `t!(adds: "1+1" => "2");`.
    fn macros_of_tests(&self) -> Vec<AssertionSite> {
        let definitions = pattern!(r"(?s)macro_rules![ \t]*(\w+)[ \t]*\{(.{0,2000}?)\n[ \t]*\}\n");
        let makers = definitions.captures_iter(self.text);
        let makers: Vec<&str> = makers
            .filter(|found| found.get(2).is_some_and(|body| body.as_str().contains("#[test]")))
            .filter_map(|found| found.get(1).map(|name| name.as_str()))
            .collect();
        let calls = pattern!(r"(?m)^[ \t]*(\w+)![ \t]*[(\[{]");
        let found = calls.captures_iter(self.text);
        found
            .filter_map(|found| {
                let (whole, name) = (found.get(0)?, found.get(1)?);
                let is_one = makers.contains(&name.as_str()) && self.is_code(name.start());
                let arguments = is_one.then(|| self.arguments(whole.end() - 1)).flatten()?;
                Some(AssertionSite { sides: vec![arguments.last()?.clone()], kind: AssertionKind::Something })
            })
            .collect()
    }

    /// Assertions in shell lines: `[ a = b ]`, or a helper that is called with the expected value.
    fn commands(&self) -> Vec<AssertionSite> {
        let mut spots = Vec::new();
        let brackets = pattern!(
            r#"(?:\[\[?|\btest)[ \t]+(.+?)[ \t]+(?:==?|-eq|eq)[ \t]+("[^"\n]*"|'[^'\n]*'|[^\s\];]+)"#
        );
        for found in brackets.captures_iter(self.text) {
            if let (Some(whole), Some(value)) = (found.get(0), found.get(2))
                && self.is.get(whole.start()) == Some(&ByteKind::Code)
                && !value.as_str().contains('$')
            {
                spots.push(AssertionSite { sides: vec![value.range()], kind: AssertionKind::Equality });
            }
        }
        let helpers = pattern!(
            r"(?m)^[ \t]*(?:assert\w*|check\w*|expect\w*|is|is_deeply|ok|eq|equals?|should\w*|verify\w*|t|run_case)[ \t]+(\S.*)$"
        );
        for found in helpers.captures_iter(self.text) {
            let (Some(whole), Some(rest)) = (found.get(0), found.get(1)) else { continue };
            let first = whole.start() + whole.as_str().len() - whole.as_str().trim_start().len();
            let is_definition = rest.as_str().starts_with("()") || rest.as_str().starts_with('=');
            if self.is_code(first) && !is_definition {
                // An unquoted last word is the expected value, if it is a value.
                let line = rest.as_str().trim_end();
                let last = line.rsplit([' ', '\t']).next().unwrap_or(line);
                let start = rest.start() + line.len() - last.len();
                let side = if is_bare(last) { start..start + last.len() } else { rest.range() };
                spots.push(AssertionSite { sides: vec![side], kind: AssertionKind::Something });
            }
        }
        spots
    }

    fn call(&self, name: &str, at: usize, arguments: &[Range<usize>]) -> Option<AssertionSite> {
        let last = name.rsplit('.').next().unwrap_or(name);
        let lower = last.to_ascii_lowercase();
        let before = self.text.get(..at).unwrap_or_default().trim_end();
        let is_matcher = name.starts_with("to.") || before.ends_with(").") || before.ends_with(')');
        if name.starts_with("not.")
            || name.contains(".not.")
            || lower.contains("not")
            || lower.contains("ne(")
        {
            return None;
        }
        let equality = [
            "assertequal",
            "assertequals",
            "assert_eq",
            "debug_assert_eq",
            "prop_assert_eq",
            "equal",
            "equals",
            "strictequal",
            "deepequal",
            "deepstrictequal",
            "assertlistequal",
            "assertdictequal",
            "assertsetequal",
            "asserttupleequal",
            "assertsequenceequal",
            "assertmultilineequal",
            "assertis",
            "assertcountequal",
            "is_deeply",
            "assertsame",
            "assert_equal",
            "expect_eq",
            "assert_streq",
            "expect_streq",
            "check_eq",
            "areequal",
            "assertarrayequals",
            "require_equal",
            "tu_assert_equal",
            "ck_assert_int_eq",
            "ck_assert_str_eq",
            "assertiterableequals",
            "same",
            "eq",
            "eql",
            "is",
            "cmp_ok",
        ];
        if is_matcher {
            let is_equal = matches!(
                last,
                "toBe" | "toEqual" | "toStrictEqual" | "eql" | "eq" | "equal" | "isEqualTo" | "toMatchObject"
            );
            let first = arguments.first()?.clone();
            if is_equal {
                return Some(AssertionSite { sides: vec![first], kind: AssertionKind::Equality });
            }
        }
        if equality.contains(&lower.as_str()) && arguments.len() >= 2 {
            return Some(AssertionSite {
                sides: arguments.iter().take(2).cloned().collect(),
                kind: AssertionKind::Equality,
            });
        }
        let conditions = [
            "assert",
            "asserttrue",
            "assert_true",
            "expect_true",
            "check",
            "require",
            "ok",
            "debug_assert",
            "prop_assert",
            "istrue",
            "verify",
            "ck_assert",
            "tu_assert",
        ];
        if conditions.contains(&lower.as_str()) && arguments.len() <= 2 {
            return Some(self.condition(arguments.first()?.clone()));
        }
        // In JavaScript the matcher after it holds the expected value.
        if self.family == LanguageFamily::JavaScript && last == "expect" {
            return None;
        }
        // For an expected error, the lie is another error or other words in it.
        if self.family == LanguageFamily::Python
            && matches!(last, "assertRaises" | "assertRaisesRegex" | "raises")
        {
            return self.raised(arguments);
        }
        let is_helper = ["assert", "check", "expect", "verify", "should", "ensure"]
            .iter()
            .any(|word| lower.starts_with(word))
            && !lower.contains("raises")
            && !lower.contains("throws");
        // Frameworks prefix a name: `TEST_ASSERT_EQUAL_INT`, `BOOST_CHECK_EQUAL`, `g_assert_cmpint`.
        let is_prefixed =
            ["_assert", "_check", "_expect", "_require", "_verify"].iter().any(|word| lower.contains(word));
        // A C project may have its own helper, called with a title, the expected value and the actual value.
        let is_own = self.family == LanguageFamily::C && lower.ends_with("test") && arguments.len() >= 3;
        let sides = arguments.get(usize::from(is_own)..).unwrap_or_default().to_vec();
        ((is_helper || is_prefixed || is_own) && !sides.is_empty())
            .then_some(AssertionSite { sides, kind: AssertionKind::Something })
    }

    /// The words in `assertRaisesRegex(Error, "…")` and `raises(Error, match="…")`, otherwise the error.
    fn raised(&self, arguments: &[Range<usize>]) -> Option<AssertionSite> {
        let words = arguments.iter().skip(1).find(|argument| {
            let text = self.part(argument).trim_start();
            let text =
                text.strip_prefix("match").map_or(text, |rest| rest.trim_start().trim_start_matches('='));
            text.trim_start().trim_start_matches(['r', 'f', 'R']).starts_with(['"', '\''])
        });
        let kind = match words {
            Some(_) => AssertionKind::Words,
            None => AssertionKind::Error,
        };
        Some(AssertionSite { sides: vec![words.or(arguments.first())?.clone()], kind })
    }

    fn condition(&self, claim: Range<usize>) -> AssertionSite {
        let is_joined = [" or ", "||", " if ", "?"].iter().any(|word| self.find_top(&claim, word).is_some());
        let operator = ["===", "=="].iter().find_map(|word| Some((self.find_top(&claim, word)?, word.len())));
        // `!==` is not an equality.
        let operator =
            operator.filter(|(at, _)| !self.text.get(..*at).is_some_and(|before| before.ends_with('!')));
        match operator {
            Some((at, length))
                if !is_joined
                    && self.find_top(&claim, " and ").is_none()
                    && self.find_top(&claim, "&&").is_none() =>
            {
                AssertionSite {
                    sides: vec![claim.start..at, at + length..claim.end],
                    kind: AssertionKind::Equality,
                }
            }
            Some(_) | None => AssertionSite { sides: vec![claim], kind: AssertionKind::Something },
        }
    }

    /// The first occurrence of `word` outside brackets and strings.
    fn find_top(&self, range: &Range<usize>, word: &str) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut depth = 0_i32;
        let mut at = range.start;
        while at < range.end.min(bytes.len()) {
            if self.is_code(at) {
                match bytes[at] {
                    b'(' | b'[' | b'{' => depth += 1,
                    b')' | b']' | b'}' => depth -= 1,
                    _ => {}
                }
                if depth == 0 && bytes[at..range.end.min(bytes.len())].starts_with(word.as_bytes()) {
                    return Some(at);
                }
            }
            at += 1;
        }
        None
    }

    fn until_comma(&self, claim: Range<usize>) -> Range<usize> {
        let end = self.find_top(&claim, ",").unwrap_or(claim.end);
        claim.start..end
    }

    fn to_the_end_of_the_statement(&self, from: usize) -> Range<usize> {
        let bytes = self.text.as_bytes();
        let mut depth = 0_i32;
        let mut at = from;
        while at < bytes.len() && at < from + LONGEST_TEXT {
            match (self.is[at], bytes[at]) {
                (ByteKind::Comment, _) if depth == 0 => break,
                (ByteKind::Code, b'(' | b'[' | b'{') => depth += 1,
                (ByteKind::Code, b')' | b']' | b'}') => depth -= 1,
                (ByteKind::Code, b'\n') if depth <= 0 && bytes.get(at.wrapping_sub(1)) != Some(&b'\\') => {
                    break;
                }
                _ => {}
            }
            at += 1;
        }
        from..at
    }

    fn is_definition(&self, at: usize) -> bool {
        let before = self.text.get(..at).unwrap_or_default().trim_end();
        ["def", "fn", "func", "function", "class", "macro_rules!"].iter().any(|word| {
            before.strip_suffix(word).is_some_and(|rest| {
                !rest.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_')
            })
        })
    }

    /// The arguments of the call whose bracket opens here. `None` if the bracket is not closed or opens a body.
    fn arguments(&self, open: usize) -> Option<Vec<Range<usize>>> {
        let bytes = self.text.as_bytes();
        let mut depth = 0_i32;
        let mut arguments = Vec::new();
        let mut from = open + 1;
        for (at, byte) in bytes.iter().enumerate().take(open + LONGEST_TEXT).skip(open) {
            if !self.is_code(at) {
                continue;
            }
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => {
                    depth -= 1;
                    if depth == 0 {
                        if !self.part(&(from..at)).trim().is_empty() {
                            arguments.push(from..at);
                        }
                        return Some(arguments);
                    }
                }
                b',' if depth == 1 => {
                    arguments.push(from..at);
                    from = at + 1;
                }
                _ => {}
            }
        }
        None
    }
}

impl AssertionSite {
    /// Whether it asserts inequality, which many answers satisfy.
    pub(super) fn is_negative(&self, scan: &SourceScan<'_>) -> bool {
        let [claim] = self.sides.as_slice() else { return false };
        let words = [" != ", " !== "];
        self.kind == AssertionKind::Something && words.iter().any(|word| scan.find_top(claim, word).is_some())
    }

    /// What to replace and with what, so that the assertion changes, and whether a true one surely becomes false.
    pub(super) fn lie(&self, scan: &SourceScan<'_>) -> Option<(Range<usize>, String, bool)> {
        if scan.family == LanguageFamily::Shell
            && let [side] = self.sides.as_slice()
        {
            let word = scan.part(side);
            if is_bare(word) {
                let number = other_number(word.trim_start_matches('-'));
                let sign = if word.starts_with('-') { "-" } else { "" };
                let now = number.map_or_else(|| format!("q{word}q"), |number| format!("{sign}{number}"));
                // A comparison inside a helper belongs to no particular test.
                return Some((side.clone(), now, false));
            }
        }
        if let (AssertionKind::Error, [side]) = (self.kind, self.sides.as_slice()) {
            let at = scan.trimmed(side);
            let is_error = scan.part(&at).ends_with(|c: char| c.is_alphanumeric() || c == ')');
            return (is_error && !at.is_empty()).then(|| (at, ANOTHER_ERROR.to_owned(), true));
        }
        if let (AssertionKind::Words, [side]) = (self.kind, self.sides.as_slice()) {
            return scan.literals(side).into_iter().next_back().map(|(at, now)| (at, now, true));
        }
        if self.kind == AssertionKind::Equality {
            // The expected value is last in most languages, and first in some.
            for side in self.sides.iter().rev().filter(|side| scan.is_value(side)) {
                if let Some((at, now)) = scan.literals(side).into_iter().next_back() {
                    // A call with both sides is not shell: it is Perl or Ruby.
                    return Some((at, now, scan.family != LanguageFamily::Shell || self.sides.len() > 1));
                }
            }
            if let Some(wrapped) = self.sides.last().and_then(|side| wrapped(scan, side)) {
                return Some(wrapped);
            }
        }
        let literal = self.sides.iter().rev().find_map(|side| scan.literals(side).into_iter().next_back());
        literal.map(|(at, now)| (at, now, false))
    }
}

/// For languages that compare any values: the expected value wrapped in a list, which it does not equal.
fn wrapped(scan: &SourceScan<'_>, side: &Range<usize>) -> Option<(Range<usize>, String, bool)> {
    let at = scan.trimmed(side);
    let inner = scan.part(&at);
    let is_one = !inner.is_empty()
        && !inner.starts_with(['*', '.', '='])
        && !inner.contains('\n')
        && !inner.contains(" for ")
        && !inner.contains("pytest.approx")
        && !inner.starts_with("expect.");
    let is_keyword = scan.find_top(side, "=").is_some() || scan.find_top(side, "=>").is_some();
    let now = match scan.family {
        LanguageFamily::Python => format!("(\"q\", {inner})"),
        LanguageFamily::JavaScript => format!("[\"q\", {inner}]"),
        LanguageFamily::Rust | LanguageFamily::Go | LanguageFamily::C | LanguageFamily::Shell => return None,
    };
    (is_one && !is_keyword).then_some((at, now, true))
}
