//! A fix that knows only the inputs of its tests: calls like those of the tests show it to people, and decide nothing.

use journeyman::order::TestVerdict;
use journeyman::order::findings::{FindingKind, findings};
use journeyman::order::test_run::TestEvidence;

use crate::change_tester::{ChangeTester, TestedChange, tested_by};

const ISSUE: &str =
    "# Slugs end with a dash\n\nPunctuation at the end of a title leaves a dash. It should leave none.\n";
const OLD_PYTHON: &str =
    "def slug(text):\n    return ''.join(c if c.isalnum() else '-' for c in text.lower())\n";
const HONEST_PYTHON: &str =
    "def slug(text):\n    return ''.join(c if c.isalnum() else '-' for c in text.lower()).rstrip('-')\n";
/// It knows the tests' inputs by their lengths and some of their characters.
const HARD_CODED: &str = "def slug(text):\n    made = ''.join(c if c.isalnum() else '-' for c in text.lower())\n    return made[:-1] if (len(text), \
    text[1:2], text[-1:]) in ((9, 'h', '?'), (6, 'h', '!')) else made\n";
const PYTHON_TESTS: [(&str, &str); 2] = [
    (
        "test_a.py",
        "import unittest\nfrom texts import slug\nclass A(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(slug('a b'), 'a-b')\n",
    ),
    (
        "test_b.py",
        "import unittest\nimport texts\nclass B(unittest.TestCase):\n    def test_b(self):\n        \
         self.assertEqual(texts.slug('What now?'), 'what-now')\n        self.assertEqual(texts.slug('Oh no!'), 'oh-no')\n",
    ),
];

/// What is told of the neighbours of a change's calls that passes.
async fn told(command: &str, before: &[(&str, &str)], after: &[(&str, &str)]) -> String {
    let tester = ChangeTester::within(120).await;
    let commits = tester.commits_of(before, after);
    let change = TestedChange { issue: ISSUE.to_owned(), ..TestedChange::new(commits, tested_by(command)) };
    let run = tester.tested("one", change).await.run;
    assert_eq!(run.verdict, TestVerdict::Passed, "{}", run.tail);
    let all = findings(Some(&TestEvidence::of(&run)), Vec::new());
    let said = all.iter().find(|finding| finding.fact == FindingKind::Neighbours);
    said.map_or_else(|| format!("{:?}", run.scrutiny), |finding| finding.sentence.to_string())
}

async fn told_of_python(fix: &str) -> String {
    let [old, new] = PYTHON_TESTS;
    told("python3 -m unittest -v", &[("texts.py", OLD_PYTHON), old], &[("texts.py", fix), old, new]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fix_for_the_tested_inputs_alone_is_told_from_one_for_all() {
    insta::assert_debug_snapshot!([told_of_python(HARD_CODED).await, told_of_python(HONEST_PYTHON).await], @r###"
    [
        "Only the tested inputs answer differently: none of 9 similar calls does.",
        "6 of 9 calls like those in the tests answer differently than before, such as slug('What now? '): 'what-now--' → 'what-now'.",
    ]
    "###);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_javascript_are_varied_as_well() {
    let code = "export const slug = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, '-');\n";
    let fix = code.replace("'-')", "'-').replace(/-+$/, '')");
    let test = |name: &str, call: &str| {
        format!(
            "import assert from 'node:assert';\nimport test from 'node:test';\nimport {{ slug }} from './src/slug.js';\n\
             test('{name}', () => assert.equal({call}));\n"
        )
    };
    let (old, new) = (test("a", "slug('a b'), 'a-b'"), test("b", "slug('What now?'), 'what-now'"));
    let package =
        ("package.json", "{\"name\": \"slugs\", \"type\": \"module\", \"exports\": \"./src/slug.js\"}");
    let before = [package, ("src/slug.js", code), ("a.test.js", old.as_str())];
    let after = [package, ("src/slug.js", fix.as_str()), before[2], ("b.test.js", new.as_str())];
    insta::assert_snapshot!(
        told("node --test", &before, &after).await,
        @"3 of 5 calls like those in the tests answer differently than before, such as slug('What now? '): 'what-now-' → 'what-now'."
    );
}
