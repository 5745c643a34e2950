//! The same tests in other words. Nothing in them is false, so they fail only for a change that knows how they are
//! written, or for a mistake of ours in the edit, and the two are told apart: by what they print, and by a remark.

use std::collections::BTreeSet;

use super::example_lies::is_shown_in_a_session;
use super::family::SourceLanguage;
use super::lie::Lie;
use super::lies::TestTexts;
use super::text::{byte_before, is_bare, is_of_name, last_before};
use journeyman_languages::text::plain;
use journeyman_order::bounds::LONGEST_TAIL;

impl TestTexts<'_> {
    /// For each of these expectations, the edit that says it in other words: its value spelled differently, or a remark
    /// at the end of its file. The lines of the file stay where they are. What is such an edit becomes a remark.
    pub(super) fn in_other_words(&self, lies: &[&Lie]) -> Vec<Lie> {
        let edit = |lie: &&Lie| {
            let text = self.text_of(&lie.path)?;
            let language = SourceLanguage::of(&lie.path, text)?;
            // The text of an interactive session is compared letter by letter.
            let spelled = match lie.is_reworded || is_shown_in_a_session(lie, text) {
                true => None,
                false => other_spelling(lie, text, language),
            };
            let spelled = spelled.map(|now| Lie { now, ..(*lie).clone() });
            let edit = spelled.or_else(|| remark(lie, text, language))?;
            Some(Lie { is_reworded: true, ..edit })
        };
        lies.iter().filter_map(edit).collect()
    }
}

/// A run of tests in other words that fails.
#[derive(Debug, Clone, Copy)]
pub(super) struct RewordedRun<'a> {
    /// What was edited for it.
    pub(super) edits: &'a [Lie],
    /// What it printed.
    pub(super) output: &'a str,
    /// What the tests printed on the same code as they are written, where they pass.
    pub(super) passing: &'a str,
    /// What they printed on the code of the base, where they fail.
    pub(super) failing: &'a str,
}

impl RewordedRun<'_> {
    /// Whether its failure is evidence against the change, given which lies were noticed. If every lie was noticed, the
    /// tests compare, and the edit may have broken them. Then it is evidence only if the failure of the base is back:
    /// the change does what is wanted only for tests that are written as it knows them.
    pub(super) fn is_evidence(&self, told: &[(Lie, bool)]) -> bool {
        let is_unheard = told.iter().any(|(lie, noticed)| !noticed && lie.is_sure && !lie.is_reworded);
        self.edits.is_empty() || is_unheard || self.fails_as_before()
    }

    /// Whether it prints nothing but what the tests print on the code of the base, or where they pass.
    fn fails_as_before(&self) -> bool {
        let [now, passing, failing] =
            [self.output, self.passing, self.failing].map(|said| self.said_in(said));
        let is_old = |line: &BTreeSet<String>| failing.iter().any(|known| line.is_subset(known));
        now.iter().filter(|line| !passing.contains(*line)).all(is_old)
    }

    /// The lines of an output, each as its words: with the edits undone, and without what differs from run to run.
    fn said_in(&self, output: &str) -> BTreeSet<BTreeSet<String>> {
        let counts = pattern!(
            r"\b\d+ (?:tests?|passed|failed|failures?|errors?|examples?|assertions?|skip(?:s|ped)|pending|suites?|subtests?|todo|cancelled|runs?|items?|total|of)\b|\b(?:[Tt]ests?|[Ff]ailures?|[Ee]rrors?|[Ff]ailed|[Pp]assed|[Ss]kipped|[Pp]ass|[Ff]ail|[Aa]ssertions|[Rr]an|[Tt]otal|[Ss]eed|[Dd]uration\w*|cancelled|todo|suites|time)\s*[=:,]?\s*\d"
        );
        let varying = pattern!(
            r"0x[0-9a-fA-F]+|\b[0-9a-f]{16,}\b|\b\d+(?:\.\d+)?\s?(?:ms|s|secs?|seconds?|µs|us|ns)\b|^\s*(?:not )?ok \d+|^\s*\d+\)|thread '[^']*' \(\d+\)|(?:[\w.@+~-]*/)+"
        );
        let words = pattern!(r"[\w.+-]*[\w+-]");
        let start = output.floor_char_boundary(output.len().saturating_sub(LONGEST_TAIL));
        let mut text = plain(output.get(start..).unwrap_or_default());
        for edit in self.edits.iter().filter(|edit| !edit.was.is_empty()) {
            text = text.replace(&edit.now, &edit.was);
        }
        let lines = text.lines().filter(|line| !counts.is_match(line)).map(|line| {
            let steady = varying.replace_all(line, " ");
            words.find_iter(&steady).map(|word| word.as_str().to_owned()).collect::<BTreeSet<String>>()
        });
        lines.filter(|words| !words.is_empty()).collect()
    }
}

/// The same value, spelled differently. `None` if equality is not certain where it stands.
fn other_spelling(lie: &Lie, text: &str, language: SourceLanguage) -> Option<String> {
    let was = lie.was.as_str();
    if language.is_of_words() {
        let quote = was.chars().next().filter(|c| matches!(c, '"' | '\''));
        let bare = quote.map_or(Some(was), |quote| was.get(1..)?.strip_suffix(quote))?;
        let is_word = stands_between_blanks(text, lie) && language == SourceLanguage::Shell;
        let (one, other) = halves(bare).filter(|_| is_word)?;
        return Some(format!("\"{one}\"\"{other}\""));
    }
    let is_negative = stands_alone(text, lie, language)?;
    if was.bytes().all(|byte| byte.is_ascii_digit()) {
        let value = was.parse::<u64>().ok().filter(|value| (1..100_000).contains(value))?;
        let sum = format!("{} + 1", value - 1);
        // Brackets keep a sign applied to the whole.
        return Some(if is_negative { format!("({sum})") } else { sum });
    }
    let quote = was.chars().next().filter(|c| matches!(c, '"' | '\'') && !is_negative)?;
    let (one, other) = halves(was.get(1..)?.strip_suffix(quote)?)?;
    let (one, other) = (format!("{quote}{one}{quote}"), format!("{quote}{other}{quote}"));
    match language {
        SourceLanguage::Python | SourceLanguage::C | SourceLanguage::Cpp => Some(format!("{one} {other}")),
        SourceLanguage::JavaScript
        | SourceLanguage::Go
        | SourceLanguage::Java
        | SourceLanguage::Kotlin
        | SourceLanguage::CSharp
        | SourceLanguage::Swift
        | SourceLanguage::Scala
        | SourceLanguage::Groovy
        | SourceLanguage::Dart
        | SourceLanguage::Ruby => Some(format!("{one} + {other}")),
        SourceLanguage::Perl | SourceLanguage::Php => Some(format!("{one} . {other}")),
        SourceLanguage::Elixir => Some(format!("{one} <> {other}")),
        SourceLanguage::Rust => Some(format!("concat!({one}, {other})")),
        SourceLanguage::Zig | SourceLanguage::Shell | SourceLanguage::Tcl => None,
    }
}

/// Both halves of a text without special characters.
fn halves(text: &str) -> Option<(&str, &str)> {
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || " -_.,".contains(c));
    (text.len() >= 2 && is_plain).then(|| text.split_at(text.len() / 2))
}

/// Whether a value is a whole argument, element or side of a comparison, where a sum of constants is the same. Returns
/// whether a minus sign stands before it.
fn stands_alone(text: &str, lie: &Lie, language: SourceLanguage) -> Option<bool> {
    let bytes = text.as_bytes();
    let is_negative = byte_before(bytes, lie.at.start) == Some(b'-');
    let start = lie.at.start - usize::from(is_negative);
    let before = byte_before(bytes, start).unwrap_or(b'\n');
    let after = bytes.get(lie.at.end).copied().unwrap_or(b'\n');
    let is_part = |byte: u8| is_of_name(byte) || b".$@#:\\\"'`".contains(&byte);
    let opens = last_before(bytes, start).is_some_and(|(_, last)| b"(,=[".contains(&last));
    let rest = text.get(lie.at.end..)?.trim_start_matches([' ', '\t', '\r']);
    let closes = rest.is_empty()
        || rest.starts_with([')', ',', ']', ';', '\n', '}'])
        || rest.starts_with('{') && language == SourceLanguage::Go
        || rest.starts_with('#') && language.remark() == "#";
    (opens && closes && !is_part(before) && !is_part(after)).then_some(is_negative)
}

fn stands_between_blanks(text: &str, lie: &Lie) -> bool {
    let before = text.get(..lie.at.start).unwrap_or_default();
    let after = text.get(lie.at.end..).unwrap_or_default();
    let is_word = is_bare(&lie.was) || lie.was.starts_with(['"', '\'']);
    is_word
        && before.ends_with([' ', '\t'])
        && (after.is_empty() || after.starts_with([' ', '\t', '\n', ';', ')']))
}

/// A remark at the end of a file, which no line has to make room for and no header has to stand behind. `None` if the
/// file does not end in code.
fn remark(lie: &Lie, text: &str, language: SourceLanguage) -> Option<Lie> {
    let is_html = language == SourceLanguage::Php && text.rfind("?>") > text.rfind("<?");
    // Data follows.
    let has_data = matches!(language, SourceLanguage::Ruby | SourceLanguage::Perl);
    let data = pattern!(r"(?m)^__(?:END|DATA)__[ \t\r]*$").find(text).filter(|_| has_data);
    let end = data.map_or(text.len(), |data| data.start());
    let code = text.get(..end)?;
    let is_open = !code.is_empty() && !code.ends_with('\n');
    let line = code.matches('\n').count() + 1 + usize::from(is_open);
    let begins = if is_open { "\n" } else { "" };
    (!is_html).then(|| Lie {
        line: u32::try_from(line).unwrap_or(u32::MAX),
        at: end..end,
        was: String::new(),
        now: format!("{begins}{} A remark.\n", language.remark()),
        ..lie.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::super::lie::lies_in;
    use super::*;
    use crate::{Overlay, OverlayAction};

    /// What becomes of a file whose first expectation is said in other words.
    fn reworded(path: &str, text: &str) -> String {
        let files = vec![(path.to_owned(), text.as_bytes().to_vec())];
        let texts = TestTexts { files: &files };
        let lies = lies_in(path, text.as_bytes());
        let first = lies.first().unwrap_or_else(|| panic!("{path}: no expectation in {text}"));
        let edits = texts.in_other_words(&[first]);
        match texts.overlays_of(&edits.iter().collect::<Vec<_>>()).pop().map(|laid| laid.action) {
            Some(OverlayAction::Write(bytes)) => String::from_utf8(bytes).unwrap(),
            _ => text.to_owned(),
        }
    }

    #[test]
    fn a_value_is_spelled_otherwise_where_it_stands_alone() {
        for (path, text, other) in [
            ("t.c", "assert(cents(s) == -350);\n", "assert(cents(s) == -(349 + 1));\n"),
            ("t.cpp", "EXPECT_EQ(name(), \"ada\");\n", "EXPECT_EQ(name(), \"a\" \"da\");\n"),
            ("t.py", "assert name() == 'ada'\n", "assert name() == 'a' 'da'\n"),
            ("t.js", "assert.equal(name(), 'ada');\n", "assert.equal(name(), 'a' + 'da');\n"),
            ("t.rs", "assert_eq!(name(), \"ada\");\n", "assert_eq!(name(), concat!(\"a\", \"da\"));\n"),
            (
                "t_test.go",
                "\tif got := cents(s); got != 350 {\n\t\tt.Fatal(got)\n\t}\n",
                "\tif got := cents(s); got != 349 + 1 {\n\t\tt.Fatal(got)\n\t}\n",
            ),
            ("T.java", "assertEquals(1200, cents(s));\n", "assertEquals(1199 + 1, cents(s));\n"),
            (
                "T.php",
                "<?php\n$this->assertSame('ada', name());\n",
                "<?php\n$this->assertSame('a' . 'da', name());\n",
            ),
            ("a_spec.rb", "expect(name).to eq('ada')\n", "expect(name).to eq('a' + 'da')\n"),
            ("a_test.exs", "assert name() == \"ada\"\n", "assert name() == \"a\" <> \"da\"\n"),
            ("t/a.t", "#!/usr/bin/perl\nis(mean(1, 3), 12);\n", "#!/usr/bin/perl\nis(mean(1, 3), 11 + 1);\n"),
            ("run.sh", "check 1 ada\n", "check 1 \"a\"\"da\"\n"),
        ] {
            assert_eq!(reworded(path, text), other, "{text}");
        }
    }

    #[test]
    fn where_another_spelling_may_be_another_value_a_remark_stands_at_the_end() {
        for (path, text) in [
            ("t.py", "assert ratio(x) == 150.5\n"),
            ("t.py", "assert raw(x) == b'ada'\n"),
            ("t.py", "assert page(x) == {'ada': 'eve'}\n"),
            ("t.js", "assert.deepEqual(x, { eve: 'ada' });\n"),
            ("t.js", "assert.equal(x, 150n);\n"),
            ("t.rs", "assert_eq!(x, 150u8);\n"),
            ("T.kt", "assertEquals(150L, x)\n"),
            ("T.cs", "Assert.Equal(@\"ada\", x);\n"),
            ("a_test.rb", "assert_equal 150, x\n"),
            ("a_test.rb", "assert_raises(ArgumentError) { x }\n"),
            ("t/a.t", "is 150, $x;\n"),
            ("a.tcl", "assert_equal 150 ada\n"),
        ] {
            let remark =
                if [".py", ".rb", ".t", ".tcl"].iter().any(|end| path.ends_with(end)) { '#' } else { '/' };
            let other = reworded(path, text);
            let rest = other.strip_prefix(text).unwrap_or_else(|| panic!("{path}: {other}"));
            assert!(rest.starts_with(remark) && rest.ends_with(" A remark.\n"), "{path}: {other}");
        }
    }

    #[test]
    fn a_remark_leaves_headers_lines_and_data_where_they_are() {
        for (path, text, other) in [
            (
                "a.test.js",
                "/** @jest-environment jsdom */\nassert.ok(a);",
                "/** @jest-environment jsdom */\nassert.ok(a);\n// A remark.\n",
            ),
            (
                "T.php",
                "<?php\nnamespace A;\nself::assertTrue($a);\n",
                "<?php\nnamespace A;\nself::assertTrue($a);\n// A remark.\n",
            ),
            ("T.php", "<?php self::assertTrue($a); ?>\n", "<?php self::assertTrue($a); ?>\n"),
            ("t/a.t", "ok $a;\n__DATA__\nrow\n", "ok $a;\n# A remark.\n__DATA__\nrow\n"),
        ] {
            assert_eq!(reworded(path, text), other, "{path}");
        }
    }

    #[test]
    fn the_edit_that_is_named_is_the_one_that_was_made() {
        let text = "def test_a():\n    assert cents('12') == 1200\n\ndef test_b():\n    assert rows() == rows_of(1)\n";
        let files = vec![("test_a.py".to_owned(), text.as_bytes().to_vec())];
        let texts = TestTexts { files: &files };
        let lies = lies_in("test_a.py", text.as_bytes());
        let edits = texts.in_other_words(&lies.iter().collect::<Vec<_>>());
        let named: Vec<_> =
            edits.iter().map(|edit| (edit.line, edit.was.as_str(), edit.now.as_str())).collect();
        assert_eq!(named, [(2, "1200", "1199 + 1"), (6, "", "# A remark.\n")]);
        let laid = texts.overlays_of(&edits.iter().collect::<Vec<_>>());
        let [Overlay { action: OverlayAction::Write(bytes), .. }] = laid.as_slice() else { panic!("a file") };
        let laid = String::from_utf8_lossy(bytes);
        for (line, _, now) in named {
            let place = laid.lines().nth(usize::try_from(line).unwrap() - 1).unwrap();
            assert!(place.contains(now.trim()), "{now} in {place}");
        }
    }

    fn told(noticed: bool) -> (Lie, bool) {
        (lies_in("t.py", b"assert cents('12') == 1200\n").remove(0), noticed)
    }

    fn edit(was: &str, now: &str) -> Lie {
        Lie { was: was.to_owned(), now: now.to_owned(), ..told(true).0 }
    }

    #[test]
    fn a_change_that_knows_how_its_tests_are_written_fails_them_as_the_base_did() {
        let pytest = "tests/test_parse.py F\n>       assert seconds(\"2m30\") == 150\nE       assert 120 == 150\nE        +  where 120 = seconds('2m30')\n1 failed, 3 passed in 0.03s\n";
        let calendar = "./test/calendar_test\ncalendar_test: test/calendar_test.c:10: main: Assertion `day_of_year(1900, 12, 31) == 365' failed.\nmake: *** [Makefile:10: test] Aborted (core dumped)\n";
        let silent =
            "./test/trim_test\nFAIL: [tabs\t], not [tabs]\n1 failed\nmake: *** [Makefile:9: test] Error 1\n";
        for (failing, output, edit) in [
            (pytest, pytest.replace("150", "149 + 1").replace("120 == 149 + 1", "120 == (149 + 1)").replace("1 failed, 3", "1 failed, 0").replace("0.03", "1.5"), edit("150", "149 + 1")),
            (calendar, calendar.replace("== 365", "== 364 + 1"), edit("365", "364 + 1")),
            // Its own assertion says less.
            (calendar, "./test/calendar_test\nday_of_year(1900, 12, 31) == 364 + 1\nmake: *** [Makefile:10: test] Aborted (core dumped)\n".to_owned(), edit("365", "364 + 1")),
            (silent, silent.to_owned(), edit("\"tabs\"", "\"ta\" \"bs\"")),
        ] {
            let run = RewordedRun { edits: &[edit], output: &output, passing: "./test/calendar_test\n4 passed in 0.02s\n", failing };
            assert!(run.is_evidence(&[told(true)]), "{output}");
        }
    }

    #[test]
    fn a_failure_that_the_base_did_not_have_is_ours_where_every_lie_was_noticed() {
        let failing = "SumTest#test_kind [test/sum_test.rb:4]:\nExpected: PartialWithModule\n  Actual: nil\n\n1 runs, 1 assertions, 1 failures, 0 errors, 0 skips\n";
        let passing = "1 runs, 1 assertions, 0 failures, 0 errors, 0 skips\n";
        for output in [
            "SumTest#test_kind [test/sum_test.rb:4]:\nExpected: \"PartialWithModule\"\n  Actual: PartialWithModule\n\n1 runs, 1 assertions, 1 failures, 0 errors, 0 skips\n",
            "NameError: uninitialized constant Partial\n    test/sum_test.rb:4:in `test_kind'\n\n1 runs, 0 assertions, 0 failures, 1 errors, 0 skips\n",
        ] {
            let edits = [edit("PartialWithModule", "\"Partial\" + \"WithModule\"")];
            let run = RewordedRun { edits: &edits, output, passing, failing };
            assert!(!run.is_evidence(&[told(true)]), "{output}");
            assert!(run.is_evidence(&[told(true), told(false)]), "an assertion is bent");
            assert!(RewordedRun { edits: &[], ..run }.is_evidence(&[told(true)]), "nothing was edited");
        }
    }
}
