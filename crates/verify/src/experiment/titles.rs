//! The location of each test in a file, by its title.

use std::borrow::Cow;
use std::ops::Range;

use super::family::{LanguageFamily, SourceLanguage};
use super::names::{has_word, without_parameters, words_of};
use super::scan::SourceScan;
use journeyman_languages::roles::grammar_of;
use journeyman_languages::syntax_tree::SyntaxTree;
use journeyman_languages::test_items::functions;
use journeyman_order::bounds::{MOST_ITEMS, MOST_LOOKED_AT};

/// One test or function in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TestTitle {
    pub(super) text: String,
    pub(super) group: Option<String>,
    pub(super) is_test: bool,
    /// With its leading comments and attributes.
    pub(super) span: Range<usize>,
}

impl TestTitle {
    pub(super) fn called(text: &str) -> Self {
        Self { text: text.to_owned(), group: None, is_test: true, span: 0..0 }
    }

    pub(super) fn own_text<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.span.clone()).unwrap_or_default()
    }

    /// Whether a runner's name refers to this title.
    pub(super) fn is_called(&self, name: &str) -> bool {
        // Minitest names the place of a spec before it.
        let numbered = pattern!(r"(?:^|\W)test_\d{4}_$");
        let title = with_single_blanks(&self.text);
        [name, without_parameters(name)].into_iter().any(|name| {
            with_single_blanks(name).strip_suffix(&*title).is_some_and(|before| {
                !before.ends_with(|c: char| c.is_alphanumeric() || c == '_') || numbered.is_match(before)
            })
        })
    }

    /// Whether a runner's name contains its group.
    fn is_in_a_group_of(&self, name: &str) -> bool {
        self.group.as_deref().is_some_and(|group| has_word(name, group))
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

    /// Whether it is a test where no grammar tells: by its name, its quotes or what stands above it.
    fn is_marked(&self, text: &str, is_of_c: bool) -> bool {
        let mark = pattern!(
            r"(?i)[@\[](?:\w+(?:\.|::))*(?:r?test|testcase|(?:data)?testmethod|testfactory|parameterizedtest|repeatedtest|\w*fact|\w*theory)\b"
        );
        let own = self.own_text(text);
        let above = own.find(self.text.as_str()).and_then(|at| own.get(..at)).unwrap_or_default();
        let title = self.text.to_ascii_lowercase();
        above.ends_with(['"', '\''])
            || mark.is_match(above)
            || title.starts_with("test")
            || is_of_c && (title.contains("test") || own.contains("TEST"))
    }
}

/// Runners print a line break or several blanks as one.
fn with_single_blanks(text: &str) -> Cow<'_, str> {
    match text.contains("  ") || text.contains(|c: char| c.is_whitespace() && c != ' ') {
        true => text.split_whitespace().collect::<Vec<_>>().join(" ").into(),
        false => text.into(),
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

/// The tests of a file, and the functions that are in no test.
pub(super) fn titles(path: &str, text: &str) -> Vec<TestTitle> {
    by_grammar(path, text).unwrap_or_else(|| by_heads(path, text))
}

fn by_grammar(path: &str, text: &str) -> Option<Vec<TestTitle>> {
    let tree = SyntaxTree::read(grammar_of(path)?, text.as_bytes()).ok()?;
    let items = functions(&tree).into_iter().filter(|item| item.is_titled(&tree)).take(MOST_ITEMS);
    let mut all = Vec::new();
    for mut item in items {
        let span = item.place(&tree);
        all.push(TestTitle { text: item.title, group: item.groups.pop(), is_test: item.is_test, span });
    }
    (!tree.is_exhausted()).then_some(all)
}

/// Whether any line of a file may be a check: tests in it have no heads.
pub(super) fn is_script(path: &str) -> bool {
    LanguageFamily::of(path) == Some(LanguageFamily::Shell)
        && ![".rb", ".exs", ".bats"].iter().any(|ending| path.ends_with(ending))
}

/// The same without a grammar: by how tests and functions begin in most languages.
pub(super) fn by_heads(path: &str, text: &str) -> Vec<TestTitle> {
    let language = SourceLanguage::of(path, text).filter(|_| !is_script(path));
    let (Some(language), Some(family)) = (language, LanguageFamily::of(path)) else { return Vec::new() };
    let is_of_c = matches!(language, SourceLanguage::C | SourceLanguage::Cpp);
    let (heads, groups) = (heads(path, text, language), groups(text));
    let scan = SourceScan::of(text, language);
    let before = std::iter::once(None).chain(heads.iter().map(|(start, ..)| Some(*start)));
    let above = before.zip(&heads).map(|(before, (start, ..))| match family == LanguageFamily::Shell {
        true => *start,
        false => with_what_is_above(text, before, *start),
    });
    let above: Vec<usize> = above.collect();
    // What looks like a function in a test is a part of it.
    let mut until = 0;
    let mut all = Vec::new();
    for (at, ((head, depth, title), start)) in heads.iter().zip(&above).enumerate() {
        let next = heads.iter().zip(&above).skip(at + 1).find(|((_, other, _), _)| other <= depth);
        let next = next.map_or(text.len(), |(_, above)| *above);
        let own = match matches!(family, LanguageFamily::Python | LanguageFamily::Shell) {
            true => end_in_lines(&scan, text, *head, *depth),
            false => end_in_brackets(&scan, text, *head),
        };
        // A type or class that follows is not part of the test.
        let span = *start..own.map_or(next, |own| own.min(next));
        let group = groups.iter().rev().find(|(from, other, _)| from < head && other < depth);
        let group = group.map(|(.., name)| (*name).to_owned());
        let mut found = TestTitle { text: title.clone(), group, is_test: false, span };
        found.is_test = found.is_marked(text, is_of_c);
        if found.is_test {
            until = until.max(found.span.end);
        } else if *head < until {
            continue;
        }
        all.push(found);
    }
    all
}

/// Where whatever looks like a test or function begins, with its indentation and its name.
fn heads(path: &str, text: &str, language: SourceLanguage) -> Vec<(usize, usize, String)> {
    let has_types = matches!(
        language,
        SourceLanguage::C
            | SourceLanguage::Cpp
            | SourceLanguage::Java
            | SourceLanguage::CSharp
            | SourceLanguage::Groovy
    );
    let head = if has_types {
        pattern!(
            r#"(?m)^([ \t]*)(?:\w*(?:TEST_CASE|SCENARIO)\w*[ \t]*\((?:[^"\n]*,)?[ \t]*"([^"\n]+)"|\w*TEST\w*[ \t]*\((?:[^"\n,]*,)?[ \t]*(\w+)[ \t]*\)\s*\{|(?:[\w<>\[\],.?:*&@]+[ \t]+)*(\w+)[ \t]*\((?:[^;{}()]|\([^;{}()]*\))*\)[^;{}()]*(?:\{|=>))"#
        )
    } else {
        pattern!(
            r#"(?m)^([ \t]*)(?:(?:[\w@]+(?:\([^)\n]*\))?[ \t]+)*(?:def|fn|fun|func|function)[ \t]+(?:`([^`\n]+)`|(\w+))|(?:await[ \t]+)?(?:\w+\.)?@?(?:it|test|specify|scenario|example|property)(?:\.\w+)*[ \t(]+["'`]([^"'`\n]+))"#
        )
    };
    let found = head.captures_iter(text).take(MOST_ITEMS).filter_map(|found| {
        let title = found.iter().skip(2).flatten().next()?.as_str();
        let (whole, depth) = (found.get(0)?, found.get(1)?);
        // Rails makes a method of a test that is a sentence.
        let is_sentence = path.ends_with(".rb") && whole.as_str().trim_start().starts_with("test ");
        let title = match is_sentence {
            true => format!("test_{}", title.split_whitespace().collect::<Vec<_>>().join("_")),
            false => title.to_owned(),
        };
        let is_statement = ["if", "for", "while", "switch", "catch"].contains(&title.as_str());
        (!is_statement).then_some((whole.start(), depth.len(), title))
    });
    found.collect()
}

/// Where classes, modules and groups of tests begin, with their indentation and their name.
fn groups(text: &str) -> Vec<(usize, usize, &str)> {
    let head = pattern!(
        r#"(?m)^([ \t]*)(?:(?:\w+[ \t]+)*(?:class|mod|module|defmodule)[ \t]+([\w:.]+)|(?:RSpec\.)?(?:describe|suite|context|feature)(?:\.\w+)*[ \t(]+(?:["'`]([^"'`\n]+)|([\w:]+)))"#
    );
    let found = head.captures_iter(text).take(MOST_ITEMS).filter_map(|found| {
        let name = found.iter().skip(2).flatten().next()?;
        Some((name.start(), found.get(1)?.len(), name.as_str()))
    });
    found.collect()
}

fn line_end(text: &str, at: usize) -> Option<usize> {
    text.get(at..).and_then(|rest| rest.find('\n')).map(|end| at + end + 1)
}

/// The end of an item that a line with the same indentation closes. `None` if no line does.
fn end_in_lines(scan: &SourceScan<'_>, text: &str, head: usize, depth: usize) -> Option<usize> {
    let mut at = line_end(text, head)?;
    for line in text.get(at..)?.split_inclusive('\n') {
        let own = line.trim_start();
        let is_end = own.starts_with('}') || words_of(own).next() == Some("end");
        at += line.len();
        if line.len() - own.len() == depth && is_end && scan.is_code(at - own.len()) {
            return Some(at);
        }
    }
    None
}

/// The end of an item, by its brackets. `None` if it has none.
fn end_in_brackets(scan: &SourceScan<'_>, text: &str, head: usize) -> Option<usize> {
    let (mut open, mut has_begun) = (0_usize, false);
    for (at, byte) in text.bytes().enumerate().skip(head).filter(|(at, _)| scan.is_code(*at)) {
        match byte {
            b'(' | b'[' | b'{' => {
                open += 1;
                has_begun |= byte == b'{';
            }
            b')' | b']' | b'}' => {
                open = open.checked_sub(1)?;
                if open == 0 && has_begun {
                    return line_end(text, at);
                }
            }
            b';' if open == 0 => return None,
            _ => {}
        }
    }
    None
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
    fn a_title_is_what_a_runner_prints_and_a_function_in_a_test_is_part_of_it() {
        for (path, text, expected) in [
            ("a.test.js", "test(name, () => is(1));\ntest('it\\'s', () => is(2));\n", &["it's"][..]),
            (
                "test_a.py",
                "def test_a():\n    def row():\n        is_(1)\n\ndef row(): pass\n",
                &["test_a", "row"],
            ),
            (
                "ATest.kt",
                "@Test\nfun one() {\n    fun row() {\n    }\n}\n\nfun row() {\n}\n",
                &["one", "row"],
            ),
            ("a.test.c", "void\ntest_one(void)\n{\n}\n\nint row(void) {\n}\n", &["test_one", "row"]),
        ] {
            let all = titles(path, text);
            assert_eq!(all.iter().map(|title| title.text.as_str()).collect::<Vec<_>>(), expected, "{path}");
        }
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
            assert!(one.is_test, "{path}: {own}");
            let mut helpers =
                all.iter().filter(|title| ["row", "Parser", "sum"].contains(&title.text.as_str()));
            assert!(helpers.all(|title| !title.is_test), "{path}");
        }
    }
}
