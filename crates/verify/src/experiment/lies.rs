//! The lie detector's lies: one expectation of a test made false, which any honest test run must report.
//!
//! Parsed by words and brackets, so that all languages work alike. Not every lie has to be found. If no lie can be
//! told, that is reported. A lie that shows nothing is detected by telling it to the code of the base as well.

use std::collections::{BTreeSet, HashMap};

use super::example_lies::{all_lies_in, is_code, is_shown_in_a_session};
use super::family::LanguageFamily;
use super::lie::{Lie, lies_in};
use super::titles::{TestTitle, meant_by, titles};
use crate::overlay::{Overlay, OverlayAction};
use journeyman_order::bounds::LARGEST_SOURCE;

/// Test files, to find lies in.
pub struct TestTexts<'a> {
    pub files: &'a [(String, Vec<u8>)],
}

/// A test file with its tests and its possible lies.
struct ReadFile<'a> {
    path: &'a str,
    text: &'a str,
    titles: Vec<TestTitle>,
    lies: Vec<Lie>,
}

impl<'a> TestTexts<'a> {
    fn read(&self) -> Vec<ReadFile<'a>> {
        let read = |(path, bytes): &'a (String, Vec<u8>)| {
            let text = std::str::from_utf8(bytes).ok()?;
            Some(ReadFile { path, text, titles: titles(path, text), lies: all_lies_in(path, bytes) })
        };
        self.files.iter().filter_map(read).collect()
    }

    fn text_of(&self, path: &str) -> Option<&'a str> {
        let (_, bytes) = self.files.iter().find(|(known, _)| known == path)?;
        std::str::from_utf8(bytes).ok()
    }

    /// For each of these tests, by its runner's name, the possible lies in it. Those that `hints` mention come first,
    /// such as what failed on the base.
    pub fn of_tests(&self, names: &[String], hints: &str) -> Vec<(String, Vec<Lie>)> {
        let read = self.read();
        let of = |name: &String| {
            let mut lies: Vec<Lie> = read
                .iter()
                .filter(|file| super::names::is_of(name, file.path) != Some(false))
                .flat_map(|ReadFile { titles, lies, .. }| {
                    meant_by(name, titles).into_iter().flat_map(move |title| {
                        lies.iter().filter(move |lie| title.holds(lie.at.start, titles)).cloned()
                    })
                })
                .collect();
            rank(&mut lies, hints);
            for lie in &mut lies {
                lie.test = Some(name.clone());
            }
            (name.clone(), lies)
        };
        names.iter().map(of).collect()
    }

    /// The lie that the old code tells: its answer in place of what each test expects. `said` is the output of the runs
    /// in which these tests failed.
    pub fn old_answers(&self, lies: &[(String, Vec<Lie>)], said: &str) -> Vec<Lie> {
        let answers = |lie: &Lie, test: &str| {
            let own = super::names::title_of(test);
            old_answer(said, own, lie).map(|now| Lie { now, ..lie.clone() })
        };
        lies.iter()
            .filter_map(|(test, own)| own.iter().filter(|lie| lie.is_sure).find_map(|lie| answers(lie, test)))
            .collect()
    }

    /// The same without test names. A value that a failure reports as expected is a sure one.
    pub fn old_answer_anywhere(&self, lies: &[Lie], said: &str) -> Option<Lie> {
        lies.iter()
            .find_map(|lie| Some(Lie { now: old_answer(said, "", lie)?, is_sure: true, ..lie.clone() }))
    }

    /// A lie closer to the truth: a number's sign, or a space at the end of a text.
    pub fn slight_lie(&self, lie: &Lie) -> Option<Lie> {
        let text = self.text_of(&lie.path)?;
        if lie.was.bytes().all(|byte| byte.is_ascii_digit()) && lie.was.bytes().any(|byte| byte != b'0') {
            let is_negative = text.get(..lie.at.start)?.ends_with('-');
            let at = lie.at.start - usize::from(is_negative)..lie.at.end;
            let now = if is_negative { lie.was.clone() } else { format!("-{}", lie.was) };
            let was = text.get(at.clone())?.to_owned();
            return Some(Lie { at, was, now, ..lie.clone() });
        }
        let quote = lie.was.chars().next_back().filter(|c| matches!(c, '"' | '\''))?;
        let inner = lie.was.strip_suffix(quote)?;
        let is_long = inner.ends_with(quote) || inner.len() < 2 || inner.ends_with('\\');
        (!is_long).then(|| Lie { now: format!("{inner}\\t{quote}"), ..lie.clone() })
    }

    /// Lies in the data that tests read: the last number of each file.
    pub fn in_data(&self) -> Vec<Lie> {
        let mut lies = Vec::new();
        for (path, bytes) in self.files.iter().filter(|(path, _)| !super::sides::is_source(path)) {
            let Some(text) = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= LARGEST_SOURCE)
            else {
                continue;
            };
            let numbers = pattern!(r"\b[0-9]{2,9}\b");
            let Some(found) = numbers.find_iter(text).last() else { continue };
            let Some(now) = super::text::other_number(found.as_str()) else { continue };
            let line = text.get(..found.start()).unwrap_or_default().matches('\n').count() + 1;
            lies.push(Lie {
                path: path.clone(),
                line: u32::try_from(line).unwrap_or(u32::MAX),
                at: found.range(),
                was: found.as_str().to_owned(),
                now,
                is_sure: false,
                is_negative: false,
                test: None,
            });
        }
        lies
    }

    /// The same tests in other words: a comment at the top, and each of these expectations spelled differently. An
    /// honest test run does not notice.
    pub fn reworded(&self, lies: &[&Lie]) -> Vec<Overlay> {
        // The text of an interactive session is compared letter by letter.
        let is_code = |lie: &&&Lie| !is_shown_in_a_session(lie, self.text_of(&lie.path).unwrap_or_default());
        let spelled = lies.iter().filter(is_code);
        let spelled: Vec<Lie> =
            spelled.filter_map(|lie| Some(Lie { now: other_spelling(lie)?, ..(*lie).clone() })).collect();
        let mut laid = self.overlays_of(&spelled.iter().collect::<Vec<_>>());
        for lie in lies {
            let bytes =
                || self.files.iter().find(|(path, _)| *path == lie.path).map(|(_, bytes)| bytes.clone());
            if !laid.iter().any(|overlay| overlay.path == lie.path)
                && let Some(bytes) = bytes()
            {
                laid.push(Overlay { path: lie.path.clone(), action: OverlayAction::Write(bytes) });
            }
        }
        for overlay in &mut laid {
            let Some(family) = LanguageFamily::of(&overlay.path) else { continue };
            let comment = if family.has_hash_comments() { "# A remark.\n" } else { "// A remark.\n" };
            if let OverlayAction::Write(bytes) = &mut overlay.action {
                // The first line may have to stay first.
                let is_first = bytes.starts_with(b"#!/") || bytes.starts_with(b"# -*-");
                let line_end = bytes.iter().position(|byte| *byte == b'\n').filter(|_| is_first);
                let at = line_end.map_or(0, |end| end + 1);
                bytes.splice(at..at, comment.bytes());
            }
        }
        laid
    }

    /// The tests that can hold a lie and mention most of these words. They are the nearest to what a change touches.
    pub fn nearest(&self, names: &[String], words: &BTreeSet<String>, most: usize) -> Vec<String> {
        let read = self.read();
        // Per test: how many of the words its text mentions. `None` if no lie can be told in it.
        let mut known: HashMap<*const TestTitle, Option<usize>> = HashMap::new();
        let mut spoken = |file: &ReadFile<'_>, title: &TestTitle| {
            *known.entry(std::ptr::from_ref(title)).or_insert_with(|| {
                let has_lies = file.lies.iter().any(|lie| title.holds(lie.at.start, &file.titles));
                let own: BTreeSet<&str> = super::names::words_of(title.own_text(file.text)).collect();
                has_lies.then(|| own.into_iter().filter(|word| words.contains(*word)).count())
            })
        };
        // All cases of a test share its text.
        let mut seen = BTreeSet::new();
        let names = names.iter().filter(|name| seen.insert(super::names::without_parameters(name)));
        let mut ranked: Vec<(usize, usize, &String)> = names
            .enumerate()
            .filter_map(|(at, name)| {
                let own = read.iter().filter(|file| super::names::is_of(name, file.path) != Some(false));
                let meant = own.flat_map(|file| {
                    meant_by(name, &file.titles).into_iter().map(move |title| (file, title))
                });
                let most = meant.filter_map(|(file, title)| spoken(file, title)).max()?;
                Some((most, at, name))
            })
            .collect();
        ranked.sort_by_key(|(spoken, at, _)| (std::cmp::Reverse(*spoken), *at));
        ranked.into_iter().take(most).map(|(_, _, name)| name.clone()).collect()
    }

    /// The files that mention any of these words.
    pub fn files_with<'t>(&'t self, words: &'t BTreeSet<String>) -> impl Iterator<Item = &'t str> {
        let speaks = |bytes: &[u8]| super::edits::words_in(bytes).iter().any(|word| words.contains(word));
        self.files.iter().filter(move |(_, bytes)| speaks(bytes)).map(|(path, _)| path.as_str())
    }

    /// Lies in any of the files, the most noticeable first, for runners that name no tests.
    pub fn anywhere(&self, hints: &str) -> Vec<Lie> {
        let own = self.files.iter().filter(|(path, bytes)| !is_code(path, bytes));
        let mut lies: Vec<Lie> = own.flat_map(|(path, bytes)| lies_in(path, bytes)).collect();
        rank(&mut lies, hints);
        lies
    }

    /// The overlays that put these lies into the checkout.
    pub fn overlays_of(&self, lies: &[&Lie]) -> Vec<Overlay> {
        self.files
            .iter()
            .filter_map(|(path, bytes)| {
                let mut own: Vec<&&Lie> = lies.iter().filter(|lie| lie.path == *path).collect();
                own.sort_by_key(|lie| std::cmp::Reverse(lie.at.start));
                own.dedup_by_key(|lie| lie.at.start);
                (!own.is_empty()).then(|| {
                    let mut text = bytes.clone();
                    for lie in own {
                        if lie.at.end <= text.len() {
                            text.splice(lie.at.clone(), lie.now.bytes());
                        }
                    }
                    Overlay { path: path.clone(), action: OverlayAction::Write(text) }
                })
            })
            .collect()
    }
}

/// The same value, spelled differently. `None` if equality is not certain.
fn other_spelling(lie: &Lie) -> Option<String> {
    let (family, was) = (LanguageFamily::of(&lie.path)?, lie.was.as_str());
    let ending = lie.path.rsplit('.').next().unwrap_or_default();
    if !was.bytes().all(|byte| byte.is_ascii_digit()) {
        let quote = was.chars().next().filter(|c| matches!(c, '"' | '\''));
        let bare = quote.map_or(Some(was), |quote| was.get(1..)?.strip_suffix(quote))?;
        let is_plain = bare.chars().all(|c| c.is_ascii_alphanumeric() || " -_.,".contains(c));
        if bare.len() < 2 || !is_plain || (quote.is_none() && family != LanguageFamily::Shell) {
            return None;
        }
        let quote = quote.unwrap_or('"');
        let (one, other) = bare.split_at(bare.len() / 2);
        let (one, other) = (format!("{quote}{one}{quote}"), format!("{quote}{other}{quote}"));
        return match (family, ending) {
            (LanguageFamily::Shell, "t" | "pl") => Some(format!("({one} . {other})")),
            (LanguageFamily::Shell, "rb") | (LanguageFamily::Go, _) | (LanguageFamily::JavaScript, _) => {
                Some(format!("({one} + {other})"))
            }
            (LanguageFamily::Shell, _) => Some(format!("{one}{other}")),
            (LanguageFamily::Python, _) | (LanguageFamily::C, "c" | "h" | "cc" | "cpp" | "cxx" | "hpp") => {
                Some(format!("{one} {other}"))
            }
            (LanguageFamily::C, "java" | "kt" | "cs" | "swift" | "scala" | "groovy") => {
                Some(format!("({one} + {other})"))
            }
            (LanguageFamily::Rust, _) => Some(format!("concat!({one}, {other})")),
            (LanguageFamily::C, _) => None,
        };
    }
    if family == LanguageFamily::Shell && !(lie.is_sure && matches!(ending, "t" | "pl" | "rb")) {
        return None;
    }
    let value: u64 = was.parse().ok()?;
    // Parentheses keep a leading sign applied to the whole.
    (value > 0 && value < 100_000).then(|| format!("({} + 1)", value - 1))
}

/// What the old code answered instead of this expectation, by a failure's words: another value of the same kind.
fn old_answer(said: &str, test: &str, lie: &Lie) -> Option<String> {
    const AFTER: usize = 40;
    let expected = lie.was.trim_matches(['"', '\'', '`']);
    let mut until = if test.is_empty() { usize::MAX } else { 0 };
    // Rust prints both sides on separate lines.
    let joined = said.replace("\n right: ", ", right: ").replace("\n  right: ", ", right: ");
    // So do Perl and other TAP producers.
    let two_lines =
        pattern!(r"(?m)((?:got|actual|wanted|expected):[ \t]*\S+)[ \t]*\n[# \t]*((?:got|actual|expected):)");
    let joined = two_lines.replace_all(&joined, "$1 $2");
    for (at, line) in joined.lines().enumerate() {
        if !test.is_empty() && super::names::has_word(line, test) || !test.is_empty() && line.contains(test) {
            until = at + AFTER;
        }
        if at >= until || line.len() > 400 {
            continue;
        }
        let Some(answer) = beside(line, expected, lie) else { continue };
        return Some(answer);
    }
    None
}

/// In `120 != 150`, `assert 120 == 150`, `120 !== 150`: the side that is not the expected one.
fn beside(line: &str, expected: &str, lie: &Lie) -> Option<String> {
    let was = lie.was.as_str();
    let bare = |word: &str| {
        word.trim_matches(['"', '\'', '`', ':', '.', ',', '(', ')', ';']).trim_start_matches('-').to_owned()
    };
    let told = pattern!(
        r"(?i)\b(?:expected|want(?:ed)?|got|was|is|answers|actual|left|received)\b:?\s*(\S+)\W+(?:but\s+)?(?:expected|want(?:ed)?|got|was|not|actual|right|instead of|should be)\b:?\s*(\S+)"
    );
    let operator = [" !== ", " != ", " == ", " is not ", ", not ", " instead of ", ", want ", ", expected "];
    let (one, other) = match operator.into_iter().find(|word| line.contains(word)) {
        Some(operator) => {
            let (left, right) = line.split_once(operator)?;
            let ends: &[char] = if operator.starts_with(',') { &[' ', '('] } else { &[' ', '(', ','] };
            let last = left.rsplit(ends).next().unwrap_or_default();
            let first = right.split([' ', ')', ',', ';']).next().unwrap_or_default();
            (bare(last), bare(first))
        }
        None => {
            let found = told.captures(line)?;
            (bare(found.get(1)?.as_str()), bare(found.get(2)?.as_str()))
        }
    };
    let expected = expected.trim_start_matches('-');
    let answer = if one == expected {
        other
    } else if other == expected {
        one
    } else {
        return None;
    };
    let is_number = was.bytes().all(|byte| byte.is_ascii_digit());
    let fits = match is_number {
        true => !answer.is_empty() && answer.bytes().all(|byte| byte.is_ascii_digit()),
        false => answer.chars().all(|c| c.is_alphanumeric() || " -_.,".contains(c)),
    };
    let quote: String = was.chars().take_while(|c| matches!(c, '"' | '\'')).take(1).collect();
    let is_word = LanguageFamily::of(&lie.path) == Some(LanguageFamily::Shell) && super::text::is_bare(was);
    (fits && answer != expected && (is_number || !quote.is_empty() || is_word))
        .then(|| format!("{quote}{answer}{quote}"))
}

/// Sure lies first, then those whose place or value the hints mention.
fn rank(lies: &mut [Lie], hints: &str) {
    let words: BTreeSet<&str> = hints.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    lies.sort_by_key(|lie| {
        let name = lie.path.rsplit('/').next().unwrap_or(&lie.path);
        let is_placed = hints.contains(&format!("{name}:{}", lie.line))
            || hints.contains(&format!("{name}\", line {}", lie.line));
        let digits = lie.was.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_spoken_of = digits.len() > 1 && words.contains(digits);
        (!lie.is_sure, !is_placed, !is_spoken_of, lie.at.start)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &str, text: &str) -> Vec<String> {
        let lies = lies_in(path, text.as_bytes());
        lies.iter()
            .map(|lie| format!("{}{} -> {}", if lie.is_sure { "" } else { "? " }, lie.was, lie.now))
            .collect()
    }

    #[test]
    fn of_tests_that_are_called_alike_the_one_of_the_named_class_is_told_a_lie() {
        let text = "class OneTests(TestCase):\n    def test_negative(self):\n        self.assertEqual(one(-1), 11)\n\n\nclass TwoTests(TestCase):\n    def test_negative(self):\n        self.assertEqual(two(-1), 22)\n";
        let files = [("tests/test_more.py".to_owned(), text.as_bytes().to_vec())];
        let lies_of = |name: &str| {
            let told = TestTexts { files: &files }.of_tests(&[name.to_owned()], "");
            told[0].1.iter().map(|lie| lie.was.clone()).collect::<Vec<_>>()
        };
        assert_eq!(lies_of("tests.test_more.OneTests.test_negative"), ["11"]);
        assert_eq!(lies_of("tests.test_more.TwoTests.test_negative"), ["22"]);
        assert_eq!(lies_of("tests.test_more.Inherits.test_negative"), ["11", "22"], "it can be any of them");
    }

    #[test]
    fn an_expected_value_is_made_false_in_every_language() {
        for (path, text, lies) in [
            ("t.py", "    self.assertEqual(cents(\"-3.50\"), -350)\n", &["350 -> 257"][..]),
            ("t.py", "    assert cents('12') == 1200, 'no'\n", &["1200 -> 1107"]),
            ("t.py", "    assert cents(text) == want\n", &["want -> (\"q\", want)"]),
            ("t.py", "    assert name() == 'ada'\n", &["'ada' -> 'qadaq'"]),
            ("t.py", "    self.assertEqual(read(x), want)\n", &["want -> (\"q\", want)"]),
            ("t.py", "    # assert a == 1\n", &[]),
            ("t.py", "    with self.assertRaises(ValueError):\n", &["ValueError -> MemoryError"]),
            (
                "t.py",
                "    self.assertRaisesRegex(ValueError, 'at least 0', f)\n",
                &["'at least 0' -> 'qat least 0q'"],
            ),
            ("t.py", "    with pytest.raises(cents.Error, match=r'no 7'):\n", &["'no 7' -> 'qno 7q'"]),
            (
                "t.rs",
                "macro_rules! t {\n    ($t:ident: $a:expr => $b:expr) => {\n        #[test]\n        fn $t() {}\n    };\n}\n\nt!(one: \"a b\" => \"a-b\");\n",
                &["? \"a-b\" -> \"qa-bq\""],
            ),
            ("t.py", "    assert a() == 1 or b()\n", &["? 1 -> 18"]),
            ("t.py", "    self.assertTrue(is_right(12))\n", &["? 12 -> 29"]),
            ("t.py", "    check_cents(cents(\"12\"), 1200)\n", &["? 1200 -> 1107"]),
            ("t.rs", "    assert_eq!(cents(\"-3.50\").unwrap(), -350);\n", &["350 -> 257"]),
            ("t.rs", "    assert_eq!(cents(\"12\"), Some(1200), \"no 7\");\n", &["1200 -> 1107"]),
            ("t.rs", "    assert!(cents(\"1\") == Some(100));\n", &["100 -> 7"]),
            ("t.rs", "    assert_eq!(a, b);\n", &[]),
            ("t.js", "  assert.equal(cents('-3.50'), -350);\n", &["350 -> 257"]),
            ("t.js", "  expect(cents('1')).toBe(100);\n", &["100 -> 7"]),
            ("t.js", "  expect(cents('1')).not.toBe(100);\n", &[]),
            ("t.js", "  expect(cents(text)).toEqual(want);\n", &["want -> [\"q\", want]"]),
            ("t.c", "  assert(cents(\"-3.50\") == -350);\n", &["350 -> 257"]),
            ("t.c", "  TEST_ASSERT_EQUAL_INT(1200, cents(text));\n", &["? 1200 -> 1107"]),
            ("t.c", "  g_assert_cmpint(cents(text), ==, 1200);\n", &["? 1200 -> 1107"]),
            ("t.cpp", "  BOOST_CHECK_EQUAL(cents(text), 1200);\n", &["? 1200 -> 1107"]),
            ("t.cpp", "  XMLTest(\"of 7\", 1200, cents(text));\n", &["? 1200 -> 1107"]),
            ("T.java", "    assertEquals(1200, cents(\"12\"));\n", &["1200 -> 1107"]),
            (
                "t_test.go",
                "\tif got := cents(\"12\"); got != 1200 {\n\t\tt.Fatal(got)\n\t}\n",
                &["1200 -> 1107"],
            ),
            ("run.sh", "check -3.50 -350\n", &["? -350 -> -257"]),
            ("run.sh", "check \"Hello, World\" hello-world\n", &["? hello-world -> qhello-worldq"]),
            ("t/a.t", "is(median(10, 20), 15, \"two\");\n", &["15 -> 32"]),
            ("run.sh", "[ \"$(sh bin/cents 12)\" = 1200 ] || exit 1\n", &["? 1200 -> 1107"]),
        ] {
            assert_eq!(told(path, text), lies, "{text}");
        }
    }

    #[test]
    fn what_an_answer_must_not_be_is_negative() {
        for (path, text, expected) in [
            ("t.py", "    assert name() != 'ada'\n", true),
            ("t.rs", "    assert!(cents(\"1\") != 100);\n", true),
            ("t.py", "    assert len(cents('x')) <= 80, 'no'\n", false),
            ("t.js", "  assert(cents('x') !== 7);\n", true),
            ("t.py", "    assert name() == 'ada'\n", false),
            ("t.py", "    assert 'ada' in names()\n", false),
            ("t.py", "    assert is_right(1 < 2)\n", false),
        ] {
            let found: Vec<bool> = lies_in(path, text.as_bytes()).iter().map(|lie| lie.is_negative).collect();
            assert_eq!(found, [expected], "{text}");
        }
    }

    #[test]
    fn the_old_answer_is_a_lie_and_another_spelling_is_none() {
        let text =
            "def test_a():\n    assert seconds('2m30') == 150\n\ndef test_b():\n    assert name() == 'ada'\n";
        let files = vec![("tests/test_x.py".to_owned(), text.as_bytes().to_vec())];
        let texts = TestTexts { files: &files };
        let names = ["tests.test_x.test_a".to_owned(), "tests.test_x.test_b".to_owned()];
        let lies = texts.of_tests(&names, "");
        let said = "____ test_a ____\n>  assert seconds('2m30') == 150\nE   assert 120 == 150\n____ test_b ____\nE  AssertionError: 'eve' != 'ada'\n";
        let told: Vec<String> = texts.old_answers(&lies, said).into_iter().map(|lie| lie.now).collect();
        assert_eq!(told, ["120", "'eve'"]);
        let OverlayAction::Write(bytes) = &texts.reworded(&[&lies[0].1[0], &lies[1].1[0]])[0].action else {
            panic!("a file")
        };
        let now = String::from_utf8_lossy(bytes);
        assert!(
            now.starts_with("# A remark.\n") && now.contains("== (149 + 1)") && now.contains("== 'a' 'da'"),
            "{now}"
        );
    }

    #[test]
    fn where_tests_are_not_named_the_old_answer_is_read_from_what_failed() {
        let told = |path: &str, text: &str, said: &str| {
            let files = vec![(path.to_owned(), text.as_bytes().to_vec())];
            let texts = TestTexts { files: &files };
            let answer = texts.old_answer_anywhere(&texts.anywhere(said), said);
            let answer = answer.unwrap_or_else(|| panic!("{path}: no answer in {said}"));
            (answer.was, answer.now, answer.is_sure)
        };
        let said = |one: &str, other: &str| (one.to_owned(), other.to_owned(), true);
        let perl = "#   Failed test 'two'\n#          got: '20'\n#     expected: '15'\n";
        assert_eq!(told("t/a.t", "is(median(10, 20), 15, \"two\");\n", perl), said("15", "20"));
        let shell = "FAILED: Hello, World: hello,-world, not hello-world\n";
        let check = "check \"Hello, World\" hello-world\n";
        assert_eq!(told("run.sh", check, shell), said("hello-world", "hello,-world"));
    }

    #[test]
    fn a_near_lie_changes_a_sign_or_adds_a_blank_and_other_words_split_a_text() {
        let near = |path: &str, text: &str| {
            let files = vec![(path.to_owned(), text.as_bytes().to_vec())];
            let texts = TestTexts { files: &files };
            let lies = texts.anywhere("");
            let slight = texts.slight_lie(&lies[0]).map(|lie| lie.now);
            let OverlayAction::Write(other) = texts.reworded(&[&lies[0]]).remove(0).action else {
                panic!("a file")
            };
            (slight, String::from_utf8(other).unwrap())
        };
        for (path, text, slight, other) in [
            (
                "t.c",
                "assert(cents(s) == -350);\n",
                Some("350"),
                "// A remark.\nassert(cents(s) == -(349 + 1));\n",
            ),
            (
                "t.py",
                "assert name() == 'ada'\n",
                Some("'ada\\t'"),
                "# A remark.\nassert name() == 'a' 'da'\n",
            ),
            (
                "t.js",
                "assert.equal(name(), 'ada');\n",
                Some("'ada\\t'"),
                "// A remark.\nassert.equal(name(), ('a' + 'da'));\n",
            ),
            (
                "t.rs",
                "assert_eq!(name(), \"ada\");\n",
                Some("\"ada\\t\""),
                "// A remark.\nassert_eq!(name(), concat!(\"a\", \"da\"));\n",
            ),
            (
                "t/a.t",
                "#!/usr/bin/perl\nis(mean(1, 3), 12);\n",
                Some("-12"),
                "#!/usr/bin/perl\n# A remark.\nis(mean(1, 3), (11 + 1));\n",
            ),
            ("run.sh", "check 1 ada\n", None, "# A remark.\ncheck 1 \"a\"\"da\"\n"),
        ] {
            assert_eq!(near(path, text), (slight.map(str::to_owned), other.to_owned()), "{text}");
        }
    }

    #[test]
    fn each_test_has_its_own_lies() {
        let text = "class A:\n    def test_one(self):\n        self.assertEqual(a(), 1)\n        self.assertEqual(b(), 2)\n\n    \
                    def test_two(self):\n        self.assertEqual(c(), 3)\n";
        let files = vec![("tests/test_a.py".to_owned(), text.as_bytes().to_vec())];
        let texts = TestTexts { files: &files };
        let names = ["tests.test_a.A.test_one".to_owned(), "tests.test_a.A.test_two".to_owned()];
        let lies = texts.of_tests(&names, "b() is 2");
        let of = |at: usize| lies[at].1.iter().map(|lie| lie.was.as_str()).collect::<Vec<_>>();
        assert_eq!((of(0), of(1)), (vec!["1", "2"], vec!["3"]));
        let laid = texts.overlays_of(&[&lies[0].1[0], &lies[1].1[0]]);
        let OverlayAction::Write(bytes) = &laid[0].action else { panic!("a file") };
        let now = String::from_utf8_lossy(bytes);
        assert!(now.contains("a(), 18") && now.contains("c(), 20") && now.contains("b(), 2)"), "{now}");
    }
}
