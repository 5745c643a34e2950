//! The location of each test in a file, by its title.

use std::borrow::Cow;
use std::ops::Range;

use regex::Regex;

use super::family::{LanguageFamily, SourceLanguage};
use super::scan::SourceScan;
use journeyman_languages::grammar_kind::file_name;
use journeyman_order::bounds::{MOST_ITEMS, MOST_LOOKED_AT};

/// One test, group of tests, or function in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TestTitle {
    pub(super) text: String,
    pub(super) group: Option<String>,
    /// From its leading comments and attributes to the next title of the same depth.
    pub(super) span: Range<usize>,
}

impl TestTitle {
    pub(super) fn called(text: &str) -> Self {
        Self { text: text.to_owned(), group: None, span: 0..0 }
    }

    pub(super) fn own_text<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.span.clone()).unwrap_or_default()
    }

    /// Whether a runner's name refers to this title.
    pub(super) fn is_called(&self, name: &str) -> bool {
        // PHPUnit names the data of a case behind it, and Minitest the place of a spec before it.
        let own = super::names::without_parameters(name);
        let own = own.split_once(" with data set ").map_or(own, |(own, _)| own);
        let numbered = pattern!(r"(?:^|\W)test_\d{4}_$");
        // Runners print a line break or several blanks as one.
        let is_one =
            |text: &str| !text.contains("  ") && !text.contains(|c: char| c.is_whitespace() && c != ' ');
        let folded = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text =
            if is_one(&self.text) { Cow::Borrowed(self.text.as_str()) } else { folded(&self.text).into() };
        [name, own].into_iter().any(|name| {
            let name = if is_one(name) { Cow::Borrowed(name) } else { folded(name).into() };
            name.strip_suffix(&*text).is_some_and(|before| {
                !before.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_')
                    || numbered.is_match(before)
            })
        })
    }

    /// Whether a runner's name contains its group.
    pub(super) fn is_in_a_group_of(&self, name: &str) -> bool {
        self.group.as_deref().is_some_and(|group| super::names::has_word(name, group))
    }

    /// Whether a position is inside it and inside no smaller one.
    pub(super) fn holds(&self, at: usize, all: &[Self]) -> bool {
        self.span.contains(&at)
            && !all.iter().any(|other| {
                other.span.contains(&at)
                    && other.span.len() < self.span.len()
                    && other.span.start > self.span.start
            })
    }
}

/// The titles of a file that a runner's name refers to. Of several equal titles, those whose group the name contains.
pub(super) fn meant_by<'t>(name: &str, all: &'t [TestTitle]) -> Vec<&'t TestTitle> {
    let mut own: Vec<&TestTitle> = all.iter().filter(|title| title.is_called(name)).collect();
    if own.len() > 1 && own.iter().any(|title| title.is_in_a_group_of(name)) {
        own.retain(|title| title.is_in_a_group_of(name));
    }
    own
}

/// Where classes, modules and groups of tests begin, with their indentation.
fn groups(path: &str, text: &str) -> Vec<(usize, usize, String)> {
    let head = match LanguageFamily::of(path) {
        Some(LanguageFamily::Python) => pattern!(r"(?m)^([ \t]*)class[ \t]+(\w+)"),
        Some(LanguageFamily::Rust) => pattern!(r"(?m)^([ \t]*)(?:pub[ \t]+)?mod[ \t]+(\w+)"),
        Some(LanguageFamily::JavaScript) => {
            pattern!(r#"(?m)^([ \t]*)(?:describe|suite|context)(?:\.\w+)*\s*\(\s*["'`]([^"'`\n]+)"#)
        }
        Some(LanguageFamily::C) => pattern!(r"(?m)^([ \t]*)(?:\w+[ \t]+)*class[ \t]+(\w+)"),
        Some(LanguageFamily::Shell) if path.ends_with(".rb") => pattern!(
            r#"(?m)^([ \t]*)(?:(?:class|module)[ \t]+([\w:]+)|(?:RSpec\.)?(?:describe|context|feature)[ \t(]+["']?([^"'\n,]+?)["']?[ \t]*(?:,.*)?\)?[ \t]+do\b)"#
        ),
        Some(LanguageFamily::Shell) if path.ends_with(".exs") => {
            pattern!(r#"(?m)^([ \t]*)(?:defmodule[ \t]+([\w.]+)|describe[ \t]+"([^"\n]+)")"#)
        }
        Some(LanguageFamily::Go | LanguageFamily::Shell) | None => return Vec::new(),
    };
    head.captures_iter(text)
        .take(MOST_ITEMS)
        .filter_map(|found| {
            let name = found.iter().skip(2).flatten().next()?;
            let (whole, depth) = (found.get(0)?, found.get(1)?);
            Some((whole.start(), depth.len(), name.as_str().to_owned()))
        })
        .collect()
}

/// The tests of a file, and in languages with a grammar its other functions and its groups.
pub(super) fn titles(path: &str, text: &str) -> Vec<TestTitle> {
    let mut all = functions(path, text);
    if head_of_tests(path).is_some() {
        all.retain(|title| is_marked(title, text));
    }
    all
}

/// Whatever begins as tests do.
pub(super) fn functions(path: &str, text: &str) -> Vec<TestTitle> {
    if let Some(head) = head_of_tests(path) {
        return titled(path, text, head);
    }
    let head = match LanguageFamily::of(path) {
        Some(LanguageFamily::Python) => pattern!(r"(?m)^([ \t]*)(?:async[ \t]+)?def[ \t]+(\w+)"),
        Some(LanguageFamily::Rust) => {
            pattern!(r"(?m)^([ \t]*)(?:pub(?:\([^)]*\))?[ \t]+)?(?:async[ \t]+)?fn[ \t]+(\w+)")
        }
        Some(LanguageFamily::JavaScript) => pattern!(
            r#"(?m)^([ \t]*)(?:await[ \t]+)?(?:\w+\.)?(?:it|test|describe|suite|context|specify)(?:\.\w+)*\s*\(\s*["'`]([^"'`\n]+)"#
        ),
        Some(LanguageFamily::Go) => pattern!(r"(?m)^()func[ \t]+(?:\([^)\n]*\)[ \t]*)?(\w+)"),
        Some(LanguageFamily::C) => pattern!(
            r#"(?m)^([ \t]*)(?:\w*(?:TEST_CASE|SCENARIO)\w*[ \t]*\((?:[^"\n]*,)?[ \t]*"([^"\n]+)"|\w*TEST\w*[ \t]*\((?:[^"\n,]*,)?[ \t]*(\w+)[ \t]*\)\s*\{|(?:(?:public|private|protected|static|final|async|void|int|long|bool|@\w+)[ \t]+)*(\w+)[ \t]*\([^;\n]*\)[^;\n]*\{)"#
        ),
        Some(LanguageFamily::Shell) | None => return Vec::new(),
    };
    titled(path, text, head)
}

/// How tests, and what stands between them, begin in languages without a grammar. `None` for others.
pub(super) fn head_of_tests(path: &str) -> Option<&'static regex::Regex> {
    let (_, ending) = file_name(path).rsplit_once('.')?;
    Some(match ending {
        "php" => pattern!(
            r#"(?m)^([ \t]*)(?:(?:\w+[ \t]+)*function[ \t]+(\w+)|(?:it|test)[ \t]*\([ \t]*["']([^"'\n]+))"#
        ),
        "cs" => pattern!(r"(?m)^([ \t]*)(?:[\w<>\[\],.?]+[ \t]+)+(\w+)[ \t]*\("),
        "kt" | "kts" | "swift" | "scala" => pattern!(
            r#"(?m)^([ \t]*)(?:(?:[\w@]+[ \t]+)*(?:fun|func|def)[ \t]+(?:`([^`\n]+)`|(\w+))|test[ \t]*\([ \t]*"([^"\n]+))"#
        ),
        "rb" => pattern!(
            r#"(?m)^([ \t]*)(?:(?:it|specify|test|scenario|example)[ \t(]+["']([^"'\n]+)["'][^\n]*\bdo\b|def[ \t]+(test_\w+))"#
        ),
        "exs" => pattern!(r#"(?m)^([ \t]*)(?:test|property)[ \t]+"([^"\n]+)"[^\n]*\bdo\b"#),
        "bats" => pattern!(r#"(?m)^([ \t]*)@test[ \t]+["']([^"'\n]+)"#),
        _ => return None,
    })
}

/// Whether a function of a language without a grammar is a test: by its name, its quotes or what stands above it.
fn is_marked(title: &TestTitle, text: &str) -> bool {
    let mark = pattern!(
        r"(?i)[@\[](?:\w+\.)*(?:test|testcase|(?:data)?testmethod|testfactory|parameterizedtest|repeatedtest|\w*fact|\w*theory)\b"
    );
    let own = title.own_text(text);
    let above = own.find(title.text.as_str()).and_then(|at| own.get(..at)).unwrap_or_default();
    above.ends_with(['"', '\''])
        || mark.is_match(above)
        || title.text.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("test"))
}

/// The titles whose heads this pattern finds. Its first group is the indentation, one of the others the title.
fn titled(path: &str, text: &str, head: &Regex) -> Vec<TestTitle> {
    let heads: Vec<(usize, usize, String)> = head
        .captures_iter(text)
        .take(MOST_ITEMS)
        .filter_map(|found| {
            let title = found.iter().skip(2).flatten().next()?.as_str();
            let (whole, depth) = (found.get(0)?, found.get(1)?);
            // Rails makes a method of a test that is a sentence.
            let is_sentence = path.ends_with(".rb") && whole.as_str().trim_start().starts_with("test ");
            let title = match is_sentence {
                true => format!("test_{}", title.split_whitespace().collect::<Vec<_>>().join("_")),
                false => title.to_owned(),
            };
            (!is_no_head(&title)).then_some((whole.start(), depth.len(), title))
        })
        .collect();
    let groups = groups(path, text);
    let family = LanguageFamily::of(path).unwrap_or(LanguageFamily::Shell);
    let scan = SourceScan::of(text, SourceLanguage::of(path, text).unwrap_or(SourceLanguage::Shell));
    let is_decorated = !matches!(family, LanguageFamily::JavaScript | LanguageFamily::Shell);
    let before = std::iter::once(None).chain(heads.iter().map(|(start, ..)| Some(*start)));
    let above: Vec<usize> = before
        .zip(&heads)
        .map(
            |(before, (start, ..))| {
                if is_decorated { with_what_is_above(text, before, *start) } else { *start }
            },
        )
        .collect();
    heads
        .iter()
        .enumerate()
        .map(|(at, (head, depth, title))| {
            let next = heads.iter().zip(&above).skip(at + 1).find(|((_, other, _), _)| other <= depth);
            let next = next.map_or(text.len(), |(_, above)| *above);
            // A type or class that follows is not part of the test.
            let end = end_of(&scan, text, (*head, *depth), family).map_or(next, |own| own.min(next));
            let start = above.get(at).copied().unwrap_or_default();
            let group = groups.iter().rev().find(|(from, other, _)| from < head && other < depth);
            TestTitle { text: title.clone(), group: group.map(|(.., name)| name.clone()), span: start..end }
        })
        .collect()
}

/// The end of an item, by its brackets, or by its indentation in Python and where `end` closes it. `None` if it cannot be
/// determined.
fn end_of(
    scan: &SourceScan<'_>,
    text: &str,
    (head, depth): (usize, usize),
    family: LanguageFamily,
) -> Option<usize> {
    let line_end = |at: usize| text.get(at..).and_then(|rest| rest.find('\n')).map(|end| at + end + 1);
    if family == LanguageFamily::Python {
        let mut at = line_end(head)?;
        for line in text.get(at..)?.split_inclusive('\n') {
            let own = line.trim_start();
            let indent = line.len() - own.len();
            let is_closing = own.starts_with([')', ']', '}']);
            if !own.is_empty() && indent <= depth && !is_closing && scan.is_code(at + indent) {
                return Some(at);
            }
            at += line.len();
        }
        return None;
    }
    if family == LanguageFamily::Shell {
        let mut at = line_end(head)?;
        for line in text.get(at..)?.split_inclusive('\n') {
            let own = line.trim_start();
            let is_end = own.starts_with('}') || super::names::words_of(own).next() == Some("end");
            at += line.len();
            if line.len() - own.len() == depth && is_end && scan.is_code(at - own.len()) {
                return Some(at);
            }
        }
        return None;
    }
    let opener = if family == LanguageFamily::JavaScript { b'(' } else { b'{' };
    let (mut open, mut has_begun) = (0_usize, false);
    for (at, byte) in text.bytes().enumerate().skip(head).filter(|(at, _)| scan.is_code(*at)) {
        match byte {
            b'(' | b'[' | b'{' => {
                open += 1;
                has_begun |= byte == opener;
            }
            b')' | b']' | b'}' => {
                open = open.checked_sub(1)?;
                if open == 0 && has_begun {
                    return line_end(at);
                }
            }
            b';' if open == 0 => return None,
            _ => {}
        }
    }
    None
}

/// Looks like a function head but is not: statements, parts of a test, and assertion macros.
fn is_no_head(word: &str) -> bool {
    ["if", "for", "while", "switch", "catch", "else", "SECTION", "SUBCASE", "GIVEN", "WHEN", "THEN"]
        .contains(&word)
        || ["CHECK", "REQUIRE", "EXPECT_", "ASSERT_"].iter().any(|macros| word.starts_with(macros))
}

/// Includes the decorators and attributes above a title. They end at an empty line, at a line that ends a block, or at
/// the previous test, which may be one line. A decorator's list may be long.
fn with_what_is_above(text: &str, before: Option<usize>, start: usize) -> usize {
    let mut from = start;
    for line in text.get(..start).unwrap_or_default().split_inclusive('\n').rev().take(MOST_LOOKED_AT) {
        let trimmed = line.trim();
        let is_remark = trimmed.starts_with("//") || trimmed.starts_with('#');
        let is_end = trimmed.is_empty() || !is_remark && trimmed.ends_with(['{', '}', ';', ':']);
        let begins = from - line.len();
        if is_end || before.is_some_and(|before| begins <= before) {
            break;
        }
        from = begins;
    }
    from
}

/// Whether a title belongs to a test rather than to a helper or a group.
pub(super) fn is_a_test(path: &str, title: &TestTitle, text: &str) -> bool {
    let own = title.own_text(text);
    match LanguageFamily::of(path) {
        _ if head_of_tests(path).is_some() => is_marked(title, text),
        Some(LanguageFamily::Python) => title.text.starts_with("test"),
        Some(LanguageFamily::Rust) => {
            own.lines().take_while(|line| !line.contains("fn ")).any(|line| line.contains("test"))
        }
        Some(LanguageFamily::JavaScript) => {
            !own.trim_start().starts_with("describe") && !own.trim_start().starts_with("suite")
        }
        Some(LanguageFamily::Go) => title.text.starts_with("Test"),
        Some(LanguageFamily::C) => {
            own.contains("@Test") || own.contains("TEST") || title.text.to_ascii_lowercase().contains("test")
        }
        Some(LanguageFamily::Shell) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_two_tests_is_of_neither() {
        for (path, text, between) in [
            (
                "t.rs",
                "#[test]\nfn one() {\n    is('}');\n}\n\nstruct S {\n    x: u8,\n}\n\n#[test]\nfn two() {}\n",
                "struct S",
            ),
            (
                "test_a.py",
                "class A:\n    def test_one(\n        self,\n    ):\n        is_('''\nx\n''')\n\nclass B:\n    x = 1\n\n    \
                 def test_two(self):\n        pass\n",
                "class B",
            ),
            (
                "test_a.py",
                "def test_one():\n    is_(1)\n\nif __name__ == '__main__':\n    main()\n",
                "__main__",
            ),
            (
                "a.test.js",
                "test('one', () => {\n  is(')');\n});\n\nconst a = 1;\n\ntest('two', () => {});\n",
                "const a",
            ),
            (
                "a_test.go",
                "func TestOne(t *testing.T) {\n\tis(t)\n}\n\ntype s struct{}\n\nfunc TestTwo(t *testing.T) {}\n",
                "type s",
            ),
        ] {
            let all = titles(path, text);
            assert!(all[0].own_text(text).contains("is"), "{path}");
            assert!(all.iter().all(|title| !title.own_text(text).contains(between)), "{path}: {between}");
        }
        let documented = "/// Adds.\n///\n/// ```\n/// assert_eq!(add(1, 1), 2);\n/// ```\npub fn add() {}\n";
        assert!(titles("lib.rs", documented)[0].own_text(documented).starts_with("/// Adds."));
    }

    #[test]
    fn a_test_of_one_line_is_not_what_stands_above_the_next() {
        for (path, text) in [
            ("a.test.js", "test('one', () => is(1))\ntest('two', () => is(2))\n"),
            ("a.test.js", "test('one', () =>\n  is(1)\n)\ntest('two', () => is(2))\n"),
            ("test_a.py", "def test_one(): assert f() == 1\ndef test_two(): assert f() == 2\n"),
        ] {
            let all = titles(path, text);
            let own: Vec<_> = all.iter().map(|title| title.own_text(text)).collect();
            assert!(own[0].contains('1') && !own[0].contains('2'), "{own:?}");
            assert!(own[1].contains('2') && !own[1].contains('1'), "{own:?}");
        }
        let catch = "TEST_CASE(\"adds, twice\", \"[sum]\") {\n  SECTION(\"a\") {\n    CHECK(add(1, 1) == 2); }\n}\n\nTEST_CASE(\"subtracts\") {\n}\n\n\
            BOOST_AUTO_TEST_CASE(multiplies) {\n  if (true) {\n  }\n}\n\nTEST(Sums, Divides) {\n}\n";
        let found = titles("test/a.cpp", catch);
        let names: Vec<&str> = found.iter().map(|title| title.text.as_str()).collect();
        assert_eq!(names, ["adds, twice", "subtracts", "multiplies", "Divides"]);
        assert!(found[0].own_text(catch).contains("CHECK(add"), "what it expects is its own");
        let decorated = "import pytest\n\n@pytest.mark.slow\ndef test_one():\n    assert f() == 1\n";
        let all = titles("test_a.py", decorated);
        assert!(all[0].own_text(decorated).starts_with("@pytest"), "a decorator belongs to it");
        let cases = "    (1, 2),\n".repeat(63);
        let long = format!(
            "import pytest\n\n@pytest.mark.parametrize('a, b', [\n{cases}])\ndef test_one(a, b):\n    pass\n"
        );
        assert!(titles("test_a.py", &long)[0].own_text(&long).starts_with("@pytest"), "whatever it is given");
    }
    #[test]
    fn blanks_of_a_title_are_told_as_one() {
        let title = TestTitle::called("adds  two\u{a0}numbers");
        assert!(title.is_called("a.test.js > adds two numbers"));
        assert!(title.is_called("a.test.js > adds  two\u{a0}numbers"));
        assert!(!title.is_called("a.test.js > adds two more numbers"));
    }

    #[test]
    fn a_test_is_found_by_the_name_of_its_runner_in_every_language() {
        let ruby = "RSpec.describe Parser do\n  def row\n    1\n  end\n  it \"adds two\" do\n    is(1)\n  end\n  it 'adds three' do\n    is(2)\n  end\nend\n";
        let rails = "class SumTest < ActiveSupport::TestCase\n  test \"adds two\" do\n    is(1)\n  end\n\n  def test_three\n    is(2)\n  end\nend\n";
        let php = "<?php\nclass SumTest extends TestCase\n{\n    #[DataProvider('rows')]\n    public function testAdds(int $a): void\n    {\n        is(1);\n    }\n\n    private function row(): int\n    {\n        return 2;\n    }\n}\n";
        let pest =
            "<?php\nit('adds two', function () {\n    is(1);\n});\n\nit('adds three', fn () => is(2));\n";
        let kotlin = "class SumTest {\n    @Test\n    fun `adds two`() = runTest {\n        is(1)\n    }\n\n    @Test fun addsThree() {\n        is(2)\n    }\n}\n";
        let csharp = "public class SumTests\n{\n    [Fact]\n    public async Task Adds_two()\n    {\n        is(1);\n    }\n\n    [Theory]\n    public void Adds(int a) => is(2);\n}\n";
        let bats = "@test \"adds two\" {\n  is 1\n}\n\n@test 'adds three' {\n  is 2\n}\n";
        let elixir = "defmodule SumTest do\n  describe \"sum\" do\n    test \"adds two\" do\n      is(1)\n    end\n\n    test \"adds three\" do\n      is(2)\n    end\n  end\nend\n";
        for (path, text, name) in [
            ("spec/sum_spec.rb", ruby, "spec.sum_spec.Parser adds two"),
            ("test/sum_test.rb", rails, "SumTest#test_adds_two"),
            ("test/sum_test.rb", rails, "SumTest::test_0001_test_adds_two"),
            ("tests/SumTest.php", php, "Tests.SumTest.testAdds with data set \"one\""),
            ("tests/SumTest.php", pest, "it adds two"),
            ("src/test/kotlin/SumTest.kt", kotlin, "SumTest.adds two"),
            ("SumTests.cs", csharp, "Sum.SumTests.Adds_two"),
            ("test/sum.bats", bats, "adds two"),
            ("test/sum_test.exs", elixir, "SumTest > test sum adds two"),
        ] {
            let all = titles(path, text);
            let meant = meant_by(name, &all);
            let [one] = meant.as_slice() else { panic!("{path} {name}: {all:?}") };
            let own = one.own_text(text);
            assert!(own.contains('1') && !own.contains('2'), "{path}: {own}");
            assert!(is_a_test(path, one, text), "{path}: {own}");
            let mut helpers =
                all.iter().filter(|title| ["row", "Parser", "sum"].contains(&title.text.as_str()));
            assert!(helpers.all(|title| !is_a_test(path, title, text)), "{path}");
        }
    }
}
