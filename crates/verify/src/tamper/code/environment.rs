//! Code that checks whether it is being tested.

use crate::tamper::read::ParsedFile;
use journeyman_languages::chain::{chain, is_call};
use journeyman_languages::grammar_kind::file_name;
use journeyman_languages::rust::tests_inside::attributes;
use journeyman_languages::syntax_tree::{NodeId, SyntaxTree, is_name, is_string};
use journeyman_order::test_path::is_test_path;

/// Names that only a test runner sets.
const OF_RUNNERS: &[&str] = &[
    "PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTEST_XDIST_WORKER", "JEST_WORKER_ID", "VITEST",
    "VITEST_WORKER_ID", "VITEST_POOL_ID", "NODE_TEST_CONTEXT", "MOCHA_COLORS", "NEXTEST", "NEXTEST_RUN_ID",
    "RUST_TEST_THREADS", "RUST_TEST_NOCAPTURE", "test.v", "test.run",
];

/// What a node checks, if it checks whether the code is being tested.
pub(super) fn asked(file: &ParsedFile<'_>, reads_environment: bool, node: NodeId) -> Option<String> {
    let tree = &file.tree;
    let name = file_name(&file.path);
    // Settings of tools have good reasons to check their environment.
    if is_test_path(&file.path)
        || name.contains(".config.")
        || name.starts_with('.')
        || file.is_in_tests(node)
    {
        return None;
    }
    let kind = tree.kind(node);
    let is_asked = if is_name(kind) || is_string(kind) {
        let word = tree.text(node).trim_matches(['"', '\'', '`']);
        let is_one = reads_environment && OF_RUNNERS.contains(&word)
            || is_string(kind) && is_runner(word) && asks_modules(tree, node);
        is_one.then(|| word.to_owned())
    } else if kind == "macro_invocation" && tree.field_text(node, "macro") == "cfg" {
        tree.canonical(node).split(' ').any(|word| word == "test").then(|| "cfg!(test)".to_owned())
    } else if kind == "attribute_item" && tree.canonical(node).contains("cfg ( not ( test ) )") {
        let is_main = tree
            .parent(node)
            .into_iter()
            .flat_map(|parent| tree.children(parent))
            .find(|item| tree.kind(*item) != "attribute_item" && attributes(tree, *item).contains(&node))
            .is_some_and(|item| tree.field_text(item, "name") == "main");
        (!is_main).then(|| "#[cfg(not(test))]".to_owned())
    } else if kind == "unary_expression" && tree.text(node).starts_with("typeof") {
        let of = tree.part(node, 0).map_or("", |part| tree.text(part));
        let of = of.rsplit('.').next().unwrap_or(of);
        matches!(of, "describe" | "it" | "jest" | "vi" | "vitest" | "expect" | "beforeEach")
            .then(|| of.to_owned())
    } else if is_call(kind) {
        let name = chain(tree, node).iter().map(|link| link.name).collect::<Vec<_>>().join(".");
        matches!(name.as_str(), "testing.Testing" | "testing.Short" | "testing.Verbose").then_some(name)
    } else {
        None
    };
    is_asked.map(|what| format!("code that is no test asks whether it is being tested: {what}"))
}

fn is_runner(word: &str) -> bool {
    matches!(
        word,
        "pytest"
            | "_pytest"
            | "unittest"
            | "--test"
            | "jest"
            | "mocha"
            | "vitest"
            | ".test"
            | "deps"
            | "/deps/"
            | "nose"
            | "--test-threads"
    ) || word.starts_with("org.junit")
        || word.contains(".test.exe")
}

/// The statement around a node, within a few levels and without the enclosing block.
fn around(tree: &SyntaxTree<'_>, node: NodeId) -> String {
    let mut widest = node;
    for up in tree.ancestors(node).take(8) {
        let kind = tree.kind(up);
        if kind.ends_with("_statement")
            || kind.ends_with("_declaration")
            || kind.contains("block")
            || kind.ends_with("_item")
            || kind == "program"
            || kind == "module"
        {
            break;
        }
        widest = up;
    }
    tree.canonical(widest)
}

fn asks_modules(tree: &SyntaxTree<'_>, node: NodeId) -> bool {
    let text = around(tree, node);
    [
        "sys . modules", "sys . argv", "process . argv", "process . execArgv", "Class . forName",
        "os . Args", "current_exe", "env :: args", "getStackTrace", "getClassName", "_getframe",
        "inspect . stack", "find_spec", "extract_stack", ". stack",
    ]
    .iter()
    .any(|word| text.contains(word))
}

/// Whether a file reads its environment at all. A name alone may be one that it sets for others.
pub(super) fn reads_environment(tree: &SyntaxTree<'_>) -> bool {
    let text = tree.text(SyntaxTree::ROOT);
    [
        "environ", "getenv", "process.env", "import.meta.env", "env::var", "Getenv", "LookupEnv",
        "option_env", "env!(", "flag.Lookup", "{ env }",
    ]
    .iter()
    .any(|word| text.contains(word))
}
