//! The tests and functions in a source file, by its grammar, each with the part of the tree that is its own.

use std::collections::HashSet;
use std::ops::Range;

use crate::named_item::ItemKind;
use crate::syntax_tokens::{SyntaxToken, syntax_tokens, tokens_with_comments};
use crate::syntax_tree::{NodeId, SyntaxTree, is_comment, is_string};
use crate::table::syntax_of;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestItem {
    /// The name of its function, or the words that it is called with.
    pub title: String,
    /// The classes, modules, groups and tests around it, the outermost first.
    pub groups: Vec<String>,
    /// Otherwise it is a function beside the tests.
    pub is_test: bool,
    /// With its decorators, attributes and annotations.
    nodes: Range<NodeId>,
    /// Its name, and the tests inside it.
    left_out: Vec<Range<NodeId>>,
    /// What an example of Go has to print is a comment.
    is_example: bool,
}

impl TestItem {
    /// What the test does: everything but its name and the tests inside it.
    pub fn tokens<'s>(&self, tree: &SyntaxTree<'s>) -> Vec<SyntaxToken<'s>> {
        let nodes = self.nodes.clone();
        if self.is_example {
            tokens_with_comments(tree, nodes, &self.left_out)
        } else {
            syntax_tokens(tree, nodes, &self.left_out)
        }
    }

    /// Its place in the file, with the comments above it.
    pub fn place(&self, tree: &SyntaxTree<'_>) -> Range<usize> {
        let above = std::iter::successors(tree.previous(self.nodes.start), |node| tree.previous(*node));
        let first = above.take_while(|node| is_comment(tree.kind(*node))).last().unwrap_or(self.nodes.start);
        let last = self.nodes.end.saturating_sub(1);
        tree.bytes(first).start..tree.bytes(last).end
    }

    /// Whether its title is the words that a runner prints, and no expression that makes them.
    pub fn is_titled(&self, tree: &SyntaxTree<'_>) -> bool {
        let name = self.left_out.first().map_or(SyntaxTree::ROOT, |name| name.start);
        let is_argument = || tree.parent(name).is_some_and(|up| tree.kind(up) == "arguments");
        !self.title.is_empty() && (is_string(tree.kind(name)) || !is_argument())
    }
}

/// Everything in the file but these tests.
pub fn tokens_outside<'s>(tree: &SyntaxTree<'s>, tests: &[TestItem]) -> Vec<SyntaxToken<'s>> {
    let tests: Vec<Range<NodeId>> = tests.iter().map(|test| test.nodes.clone()).collect();
    syntax_tokens(tree, tree.everything(), &tests)
}

/// An item around the current node.
struct OpenItem {
    kind: ItemKind,
    title: String,
    past: NodeId,
    test: Option<usize>,
}

/// The tests of a file in the order of its text.
pub fn test_items(tree: &SyntaxTree<'_>) -> Vec<TestItem> {
    functions(tree).into_iter().filter(|item| item.is_test).collect()
}

/// The tests of a file, and the functions that are in no test, in the order of its text.
pub fn functions(tree: &SyntaxTree<'_>) -> Vec<TestItem> {
    let Some(rules) = syntax_of(tree.grammar) else { return Vec::new() };
    let mut open: Vec<OpenItem> = Vec::new();
    let mut found: Vec<TestItem> = Vec::new();
    for node in tree.everything() {
        while open.pop_if(|item| item.past <= node).is_some() {}
        let Some(item) = (rules.item)(tree, node) else { continue };
        let around: Vec<ItemKind> = open.iter().map(|item| item.kind).collect();
        if !(rules.can_hold_tests)(tree, node, &around) {
            continue;
        }
        let test = (item.kind == ItemKind::Test).then_some(found.len());
        if test.is_some()
            && let Some(around) = open.iter().rev().find_map(|item| item.test)
            && let Some(outer) = found.get_mut(around)
        {
            outer.left_out.push(item.nodes.clone());
        }
        if item.kind != ItemKind::Group {
            let groups = open.iter().filter(|item| item.kind != ItemKind::Function);
            let groups = groups.map(|item| item.title.clone()).chain(item.owner);
            found.push(TestItem {
                title: item.title.clone(),
                groups: groups.collect(),
                is_test: test.is_some(),
                nodes: item.nodes.clone(),
                left_out: item.left_out,
                is_example: rules.example.is_some_and(|name| item.title.starts_with(name)),
            });
        }
        open.push(OpenItem { kind: item.kind, title: item.title, past: item.nodes.end, test });
    }
    if rules.is_redefined {
        // Of two functions of a block with one name, the later one is run.
        let mut known = HashSet::new();
        found.reverse();
        found.retain(|one| !one.is_test || known.insert((tree.parent(one.nodes.start), one.title.clone())));
        found.reverse();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar_kind::GrammarKind;

    fn found(grammar: GrammarKind, text: &str) -> Vec<String> {
        let tree = SyntaxTree::read(grammar, text.as_bytes()).unwrap();
        let names = |test: TestItem| [test.groups, vec![test.title]].concat().join(" > ");
        test_items(&tree).into_iter().map(names).collect()
    }

    #[test]
    fn tests_are_found_in_every_language_with_a_grammar() {
        let python = "def helper(): pass\n\n@pytest.mark.slow\ndef test_a(): pass\n\nclass TestB:\n    async def test_c(self):\n        \
            def test_inner(): pass\n\n    def help(self): pass\n\nif True:\n    def test_d(): pass\n";
        let rust = "fn help() {}\n#[cfg(test)]\nmod tests {\n    #[tokio::test]\n    async fn a() {}\n\n    #[cfg(test)]\n    fn help() {}\n}\n\
            #[rstest]\n#[case(1)]\nfn b(n: u8) {}\nproptest! {\n    #[test]\n    fn c(n in 0..9) { f(n); }\n\n    fn help() {}\n}\n";
        let javascript = "describe('outer', function () {\n  beforeEach(function before() {});\n  describe.each([1])('inner', () => {\n    it('a', () => {});\n  });\n\
            \x20 it.each([[1]])('adds %i', (n) => {});\n});\nawait test('b', async (t) => { await t.test('c', f); await test.step('d', () => {}); });\n\
            test.skipIf(x)(`e`, () => {});\nit('it\\'s f', () => {}).timeout(9);\nQUnit.test('g', (assert) => {});\nDeno.test(function h() {});\n\
            if (pattern.test('text')) {}\nit(title + 1, () => {});\n";
        let go = "package a\nfunc help() {}\nfunc TestMain(m *testing.M) {}\nfunc TestA(t *testing.T) {\n\tt.Run(\"b c\", func(t *testing.T) {})\n\tt.Run(c.name, f)\n}\n\
            func (s *Suite) TestD() {}\nfunc ExampleE() {}\nfunc FuzzF(f *testing.F) {}\n";
        let java = "class ATest {\n  @BeforeEach void help() {}\n  @Test void a() { new B() { @Test void no() {} }; }\n  @Nested class Inner {\n    \
            @ParameterizedTest void b(int n) {}\n  }\n  public void testC() {}\n  private int testData() { return 1; }\n  @VisibleForTesting void d() {}\n}\n";
        for (grammar, text, expected) in [
            (GrammarKind::Python, python, &["test_a", "TestB > test_c", "test_d"][..]),
            (GrammarKind::Rust, rust, &["tests > a", "b", "c"]),
            (
                GrammarKind::JavaScript,
                javascript,
                &["outer > inner > a", "outer > adds %i", "b", "b > c", "e", "it's f", "g", "h", "title + 1"],
            ),
            (GrammarKind::Go, go, &["TestA", "TestA > b_c", "Suite > TestD", "ExampleE", "FuzzF"]),
            (GrammarKind::Java, java, &["ATest > a", "ATest > Inner > b", "ATest > testC"]),
        ] {
            assert_eq!(found(grammar, text), expected, "{grammar:?}");
        }
    }

    #[test]
    fn of_two_functions_with_one_name_the_later_one_is_the_test() {
        let text = "def test_a():\n    assert a()\n\ndef test_a():\n    pass\n";
        let tree = SyntaxTree::read(GrammarKind::Python, text.as_bytes()).unwrap();
        let tests = test_items(&tree);
        let places: Vec<_> = tests.iter().map(|test| text.get(test.place(&tree)).unwrap()).collect();
        assert_eq!(places, ["def test_a():\n    pass"]);
        let either = "if a:\n    def test_a(): pass\nelse:\n    def test_a(): b()\n";
        assert_eq!(found(GrammarKind::Python, either), ["test_a", "test_a"]);
    }

    #[test]
    fn a_test_has_its_decorators_and_not_the_tests_inside_it() {
        let says = |grammar: GrammarKind, text: &str| {
            let tree = SyntaxTree::read(grammar, text.as_bytes()).unwrap();
            let tokens = test_items(&tree).first().unwrap().tokens(&tree);
            tokens.into_iter().map(|token| token.text.into_owned()).collect::<Vec<_>>()
        };
        let is_in = |tokens: Vec<String>, word: &str| tokens.iter().any(|token| token == word);
        assert!(is_in(says(GrammarKind::Python, "@skip\ndef test_a(): pass\n"), "skip"));
        assert!(is_in(says(GrammarKind::Rust, "#[test]\n#[ignore]\nfn a() {}\n"), "ignore"));
        assert!(is_in(says(GrammarKind::Java, "class A { @Test @Disabled void a() {} }"), "Disabled"));
        assert!(is_in(says(GrammarKind::JavaScript, "it.skip('a', () => {})"), "skip"));
        let one = "test('a', async (t) => {\n  await t.test('b', () => { f(); });\n});\n";
        let two = "test('a', async (t) => {\n  await t.test('b', () => { f(); });\n  await t.test('c', () => {});\n});\n";
        assert_eq!(says(GrammarKind::JavaScript, one), says(GrammarKind::JavaScript, two));
        let example = "package a\nfunc ExampleA() {\n\tp()\n\t// Output: 1\n}\n";
        assert!(is_in(says(GrammarKind::Go, example), "// Output: 1"));
    }
}
