//! The tests in a source file, by its grammar, each with the part of the tree that is its own.

use std::collections::HashSet;
use std::ops::Range;

use crate::chain::{ChainLink, chain};
use crate::grammar_kind::GrammarKind;
use crate::rust::tests_inside::attributes;
use crate::syntax_tokens::{SyntaxToken, syntax_tokens, tokens_with_comments};
use crate::syntax_tree::{NodeId, SyntaxTree, is_comment, is_function, is_string};
use journeyman_order::bounds::LONGEST_LINE;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestItem {
    /// The name of its function, or the words that it is called with.
    pub title: String,
    /// The classes, modules, groups and tests around it, the outermost first.
    pub groups: Vec<String>,
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

    /// Its place in the file.
    pub fn place(&self, tree: &SyntaxTree<'_>) -> Range<usize> {
        let last = self.nodes.end.saturating_sub(1);
        tree.bytes(self.nodes.start).start..tree.bytes(last).end
    }
}

/// Everything in the file but these tests.
pub fn tokens_outside<'s>(tree: &SyntaxTree<'s>, tests: &[TestItem]) -> Vec<SyntaxToken<'s>> {
    let tests: Vec<Range<NodeId>> = tests.iter().map(|test| test.nodes.clone()).collect();
    syntax_tokens(tree, tree.everything(), &tests)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemKind {
    Test,
    Group,
    Function,
}

/// An item that has a name.
struct NamedItem {
    kind: ItemKind,
    title: String,
    nodes: Range<NodeId>,
    left_out: Vec<Range<NodeId>>,
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
    let mut open: Vec<OpenItem> = Vec::new();
    let mut tests: Vec<TestItem> = Vec::new();
    for node in tree.everything() {
        while open.pop_if(|item| item.past <= node).is_some() {}
        let Some(item) = named_item(tree, node).filter(|_| can_hold_tests(tree, node, &open)) else {
            continue;
        };
        let test = (item.kind == ItemKind::Test).then_some(tests.len());
        if test.is_some() {
            let around = open.iter().rev().find_map(|item| item.test);
            if let Some(outer) = around.and_then(|at| tests.get_mut(at)) {
                outer.left_out.push(item.nodes.clone());
            }
            let groups = open.iter().filter(|item| item.kind != ItemKind::Function);
            let groups = groups.map(|item| item.title.clone()).chain(receiver_of(tree, node));
            tests.push(TestItem {
                title: item.title.clone(),
                groups: groups.collect(),
                nodes: item.nodes.clone(),
                left_out: item.left_out,
                is_example: tree.grammar == GrammarKind::Go && item.title.starts_with("Example"),
            });
        }
        open.push(OpenItem { kind: item.kind, title: item.title, past: item.nodes.end, test });
    }
    if tree.grammar == GrammarKind::Python {
        // Of two functions of a block with one name, the later one is run.
        let mut known = HashSet::new();
        tests.reverse();
        tests.retain(|test| known.insert((tree.parent(test.nodes.start), test.title.clone())));
        tests.reverse();
    }
    tests
}

/// Whether a runner finds tests there: in most languages not inside functions.
fn can_hold_tests(tree: &SyntaxTree<'_>, node: NodeId, open: &[OpenItem]) -> bool {
    match tree.grammar {
        GrammarKind::JavaScript | GrammarKind::TypeScript | GrammarKind::Tsx => true,
        GrammarKind::Go => {
            tree.kind(node) != "call_expression" || open.iter().any(|item| item.kind == ItemKind::Test)
        }
        GrammarKind::Python | GrammarKind::Rust | GrammarKind::Java => {
            open.iter().all(|item| item.kind == ItemKind::Group)
        }
    }
}

fn named_item(tree: &SyntaxTree<'_>, node: NodeId) -> Option<NamedItem> {
    match tree.grammar {
        GrammarKind::Python => of_python(tree, node),
        GrammarKind::Rust => of_rust(tree, node).or_else(|| in_a_macro(tree, node)),
        GrammarKind::JavaScript | GrammarKind::TypeScript | GrammarKind::Tsx => of_javascript(tree, node),
        GrammarKind::Go => of_go(tree, node).or_else(|| run_in_go(tree, node)),
        GrammarKind::Java => of_java(tree, node),
    }
}

fn of_python(tree: &SyntaxTree<'_>, node: NodeId) -> Option<NamedItem> {
    let kind = match tree.kind(node) {
        "class_definition" => ItemKind::Group,
        "function_definition" => match tree.field_text(node, "name").starts_with("test") {
            true => ItemKind::Test,
            false => ItemKind::Function,
        },
        _ => return None,
    };
    let name = tree.field(node, "name")?;
    let whole = tree.parent(node).filter(|up| tree.kind(*up) == "decorated_definition").unwrap_or(node);
    let own = tree.field(node, "parameters").and_then(|list| own_parameter(tree, list));
    let left_out = std::iter::once(tree.all(name)).chain(own).collect();
    Some(NamedItem { kind, title: tree.text(name).to_owned(), nodes: tree.all(whole), left_out })
}

/// `self` with the comma behind it, which a function gets when it is moved into a class.
fn own_parameter(tree: &SyntaxTree<'_>, list: NodeId) -> Option<Range<NodeId>> {
    let first = tree.part(list, 0).filter(|first| tree.text(*first) == "self")?;
    let next = tree.all(first).end;
    let has_comma = next < tree.all(list).end && tree.text(next) == ",";
    Some(first..next + usize::from(has_comma))
}

fn of_rust(tree: &SyntaxTree<'_>, node: NodeId) -> Option<NamedItem> {
    let above = match tree.kind(node) {
        "function_item" | "mod_item" => attributes(tree, node),
        _ => return None,
    };
    let kind = if tree.kind(node) == "mod_item" {
        ItemKind::Group
    } else if above.iter().any(|attribute| marks_a_test(tree.text(*attribute))) {
        ItemKind::Test
    } else {
        ItemKind::Function
    };
    let name = tree.field(node, "name")?;
    let start = above.last().copied().unwrap_or(node);
    Some(NamedItem {
        kind,
        title: tree.text(name).to_owned(),
        nodes: start..tree.all(node).end,
        left_out: vec![tree.all(name)],
    })
}

/// A test inside a macro such as `proptest!`, where the grammar has only tokens.
fn in_a_macro(tree: &SyntaxTree<'_>, keyword: NodeId) -> Option<NamedItem> {
    let list = tree.parent(keyword).filter(|up| tree.kind(*up) == "token_tree")?;
    if tree.kind(keyword) != "fn" || tree.kind(keyword + 1) != "identifier" {
        return None;
    }
    let (name, end) = (keyword + 1, tree.all(list).end);
    let first_byte = |node: NodeId| tree.source().get(tree.bytes(node).start).copied();
    let body = std::iter::successors(Some(name + 1), |node| Some(tree.all(*node).end))
        .take_while(|node| *node < end)
        .find(|node| matches!(first_byte(*node), Some(b'{' | b';')))
        .filter(|node| first_byte(*node) == Some(b'{'))?;
    let (mut start, mut is_test) = (keyword, false);
    for before in std::iter::successors(tree.previous(keyword), |node| tree.previous(*node)) {
        let text = tree.text(before);
        if text.starts_with('[') {
            is_test |= marks_a_test(text);
        } else if !is_comment(tree.kind(before)) && !["#", "pub", "async", "unsafe", "const"].contains(&text)
        {
            break;
        }
        start = before;
    }
    is_test.then(|| NamedItem {
        kind: ItemKind::Test,
        title: tree.text(name).to_owned(),
        nodes: start..tree.all(body).end,
        left_out: vec![tree.all(name)],
    })
}

/// Whether an attribute marks a test: `#[test]`, `#[tokio::test]`, `#[test_case(1)]`.
fn marks_a_test(attribute: &str) -> bool {
    const WORDS: [&str; 7] = ["test", "tests", "rstest", "gtest", "proptest", "quickcheck", "gpui"];
    let flat: String = attribute.chars().filter(|c| !c.is_whitespace()).collect();
    let path = flat.trim_start_matches(['#', '[']).split(['(', ']', '=']).next().unwrap_or_default();
    let last = path.rsplit("::").next().unwrap_or_default();
    last.split('_').any(|word| WORDS.contains(&word))
}

/// A call of a runner's function: `it("adds", …)`, `t.test("adds", …)`, `describe.each(…)("adds", …)`.
fn of_javascript(tree: &SyntaxTree<'_>, call: NodeId) -> Option<NamedItem> {
    const TESTS: [&str; 6] = ["it", "test", "specify", "xit", "fit", "xtest"];
    const GROUPS: [&str; 5] = ["describe", "suite", "context", "xdescribe", "fdescribe"];
    const OTHERS: [&str; 9] =
        ["step", "use", "extend", "before", "beforeAll", "beforeEach", "after", "afterAll", "afterEach"];
    if tree.kind(call) != "call_expression" || tree.field_of(call) == Some("function") {
        return None;
    }
    let arguments = tree.field(call, "arguments")?;
    let links = chain(tree, call);
    let is_word = |link: &ChainLink<'_>| TESTS.contains(&link.name) || GROUPS.contains(&link.name);
    let words = links.get(links.iter().take(2).position(is_word)?..)?;
    // `it("adds", …).timeout(9)` calls something else last.
    let mut pairs = links.iter().zip(links.iter().skip(1));
    if pairs.any(|(link, next)| link.arguments.is_some() && !next.name.is_empty())
        || words.iter().any(|link| OTHERS.contains(&link.name))
    {
        return None;
    }
    let whole = with_statement(tree, call);
    // `pattern.test("text")` is another function.
    if whole == call && !tree.parts(arguments).any(|part| is_function(tree.kind(part))) {
        return None;
    }
    let first = tree.part(arguments, 0)?;
    let name = match tree.kind(first) {
        "object" => return None,
        kind if is_function(kind) => tree.field(first, "name")?,
        _ => first,
    };
    let kind = match words.iter().any(|link| GROUPS.contains(&link.name)) {
        true => ItemKind::Group,
        false => ItemKind::Test,
    };
    let title = title_of(tree, name);
    Some(NamedItem { kind, title, nodes: tree.all(whole), left_out: vec![tree.all(name)] })
}

/// The words of a string, otherwise the expression that makes the title.
fn title_of(tree: &SyntaxTree<'_>, node: NodeId) -> String {
    let text = tree.text(node);
    let mut title = text.to_owned();
    if is_string(tree.kind(node)) {
        let bare = text.get(1..text.len().saturating_sub(1)).unwrap_or(text);
        title = bare.replace("\\'", "'").replace("\\\"", "\"");
    }
    title.chars().take(LONGEST_LINE).collect()
}

/// The statement that consists of this call, otherwise the call.
fn with_statement(tree: &SyntaxTree<'_>, call: NodeId) -> NodeId {
    let is_around = |up: &NodeId| matches!(tree.kind(*up), "await_expression" | "expression_statement");
    tree.ancestors(call).take_while(is_around).last().unwrap_or(call)
}

fn of_go(tree: &SyntaxTree<'_>, node: NodeId) -> Option<NamedItem> {
    let is_method = match tree.kind(node) {
        "function_declaration" => false,
        "method_declaration" => true,
        _ => return None,
    };
    let name = tree.field(node, "name")?;
    let title = tree.text(name).to_owned();
    let is_run = title.starts_with("Test") && title != "TestMain"
        || !is_method && (title.starts_with("Example") || title.starts_with("Fuzz"));
    let kind = if is_run { ItemKind::Test } else { ItemKind::Function };
    Some(NamedItem { kind, title, nodes: tree.all(node), left_out: vec![tree.all(name)] })
}

/// `t.Run("adds two", …)`, whose title the runner prints with underscores.
fn run_in_go(tree: &SyntaxTree<'_>, call: NodeId) -> Option<NamedItem> {
    if tree.kind(call) != "call_expression" {
        return None;
    }
    let links = chain(tree, call);
    let [_, ChainLink { name: "Run", arguments: Some(arguments) }] = links.as_slice() else { return None };
    let name = tree.part(*arguments, 0).filter(|first| is_string(tree.kind(*first)))?;
    let title = title_of(tree, name).replace(' ', "_");
    let whole = with_statement(tree, call);
    Some(NamedItem { kind: ItemKind::Test, title, nodes: tree.all(whole), left_out: vec![tree.all(name)] })
}

/// The type of a Go method, which groups its tests.
fn receiver_of(tree: &SyntaxTree<'_>, node: NodeId) -> Option<String> {
    let receiver = tree.field(node, "receiver").filter(|_| tree.kind(node) == "method_declaration")?;
    let mut words = tree.text(receiver).split(|c: char| !c.is_alphanumeric() && c != '_');
    words.rfind(|word| !word.is_empty()).map(str::to_owned)
}

fn of_java(tree: &SyntaxTree<'_>, node: NodeId) -> Option<NamedItem> {
    let kind = match tree.kind(node) {
        "class_declaration" | "interface_declaration" | "record_declaration" | "enum_declaration" => {
            ItemKind::Group
        }
        "method_declaration" if is_test_of_java(tree, node) => ItemKind::Test,
        "method_declaration" | "constructor_declaration" => ItemKind::Function,
        _ => return None,
    };
    let name = tree.field(node, "name")?;
    let title = tree.text(name).to_owned();
    Some(NamedItem { kind, title, nodes: tree.all(node), left_out: vec![tree.all(name)] })
}

/// By its annotations, or as JUnit 3 finds it.
fn is_test_of_java(tree: &SyntaxTree<'_>, method: NodeId) -> bool {
    const OTHERS: [&str; 4] = ["TestFactory", "TestTemplate", "Property", "Example"];
    let modifiers = tree.children(method).filter(|child| tree.kind(*child) == "modifiers");
    let mut annotations = modifiers.flat_map(|list| tree.children(list));
    let marks = |annotation: NodeId| {
        let name = tree.field_text(annotation, "name");
        let name = name.rsplit('.').next().unwrap_or(name);
        name.ends_with("Test") || OTHERS.contains(&name)
    };
    let is_void = || tree.field(method, "type").is_some_and(|given| tree.kind(given) == "void_type");
    annotations.any(marks) || tree.field_text(method, "name").starts_with("test") && is_void()
}

#[cfg(test)]
mod tests {
    use super::*;

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
