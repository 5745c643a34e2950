//! Code that takes the place of a runner or of its assertions, or that is equal to everything.

use super::Signs;
use crate::order::WeakeningKind;
use crate::verify::tamper::chain::{arguments, chain, dotted, is_call};
use crate::verify::tamper::language::{Language, file_name, is_test_path};
use crate::verify::tamper::syntax::{NodeId, Syntax, is_string};

/// Hooks of pytest's that decide what is collected, how a test ends or how the run does.
const HOOKS: &[&str] = &[
    "pytest_cmdline_main",
    "pytest_cmdline_preparse",
    "pytest_load_initial_conftests",
    "pytest_collect_file",
    "pytest_collection",
    "pytest_collection_modifyitems",
    "pytest_collection_finish",
    "pytest_deselected",
    "pytest_exception_interact",
    "pytest_ignore_collect",
    "pytest_itemcollected",
    "pytest_make_collect_report",
    "pytest_pycollect_makeitem",
    "pytest_pycollect_makemodule",
    "pytest_pyfunc_call",
    "pytest_report_teststatus",
    "pytest_runtest_call",
    "pytest_runtest_logreport",
    "pytest_runtest_makereport",
    "pytest_runtest_protocol",
    "pytest_runtest_setup",
    "pytest_runtestloop",
    "pytest_sessionfinish",
    "pytest_terminal_summary",
    "pytest_unconfigure",
    "load_tests",
];

/// What belongs to runners: nothing else may be put in its place.
const OWNED: &[&str] = &[
    "unittest.",
    "TestCase.",
    "pytest.",
    "_pytest.",
    "assert.",
    "expect.",
    "globalThis.expect",
    "globalThis.assert",
    "globalThis.it",
    "globalThis.test",
    "globalThis.describe",
    "global.expect",
    "global.assert",
    "global.it",
    "global.test",
    "global.describe",
    "process.exit",
    "process.reallyExit",
    "process.emit",
    "sys.exit",
    "os._exit",
    "Module._load",
    "Module.prototype.require",
    "builtins.AssertionError",
    "sys.modules[\"unittest\"]",
    "sys.modules['unittest']",
    "sys.modules[\"pytest\"]",
    "sys.modules['pytest']",
];

/// Names that a test has from its runner.
const RUNNERS: &[&str] =
    &["assert", "expect", "test", "it", "describe", "unittest", "pytest", "TestCase", "suite"];

pub(super) fn look(signs: &mut Signs<'_, '_>, node: NodeId) {
    let file = signs.file;
    let syntax = &file.syntax;
    let in_tests = is_test_path(&file.path) || file.is_in_tests(node);
    match syntax.kind(node) {
        "function_definition" => {
            let name = syntax.field_text(node, "name");
            if HOOKS.contains(&name) && (in_tests || file_name(&file.path) == "conftest.py") {
                let what = format!("`{name}` changes what the runner collects or reports");
                signs.add(WeakeningKind::RunnerShadowed, node, true, what);
            } else if name == "__eq__" && answers_true(syntax, node) {
                signs.add(WeakeningKind::AssertionLoosened, node, true, "an object is equal to everything");
            }
        }
        "function_item" if syntax.field_text(node, "name") == "eq" && answers_true(syntax, node) => {
            signs.add(WeakeningKind::AssertionLoosened, node, true, "a value is equal to everything");
        }
        "method_declaration" if syntax.field_text(node, "name") == "equals" && answers_true(syntax, node) => {
            signs.add(WeakeningKind::AssertionLoosened, node, true, "an object is equal to everything");
        }
        "macro_definition" => {
            let name = syntax.field_text(node, "name");
            if matches!(name, "assert" | "assert_eq" | "assert_ne" | "panic" | "debug_assert_eq") {
                let what = format!("`{name}!` is no longer the language's own");
                signs.add(WeakeningKind::RunnerShadowed, node, true, what);
            }
        }
        "assignment" | "assignment_expression" => assigned(signs, node, in_tests),
        "import_from_statement" | "import_statement" | "variable_declarator" if in_tests => {
            imported(signs, node)
        }
        kind if is_call(kind) => called(signs, node, in_tests),
        _ => {}
    }
}

/// Whether a function's whole body is that something is true.
fn answers_true(syntax: &Syntax<'_>, function: NodeId) -> bool {
    let Some(body) = syntax.field(function, "body") else { return false };
    matches!(
        syntax.canonical(body).as_str(),
        "return True" | "{ true }" | "{ return true }" | "{ return true ; }"
    )
}

fn assigned(signs: &mut Signs<'_, '_>, node: NodeId, in_tests: bool) {
    let syntax = &signs.file.syntax;
    let left = syntax.field_text(node, "left");
    if OWNED.iter().any(|owned| left.starts_with(owned)) && left != "process.exitCode" {
        let what = format!("`{left}` is replaced, which belongs to the test runner");
        signs.add(WeakeningKind::RunnerShadowed, node, true, what);
    } else if in_tests && matches!(left, "collect_ignore" | "collect_ignore_glob") {
        signs.add(WeakeningKind::TestSkipped, node, true, format!("`{left}` hides files from the runner"));
    }
}

fn called(signs: &mut Signs<'_, '_>, node: NodeId, in_tests: bool) {
    let syntax = &signs.file.syntax;
    let links = chain(syntax, node);
    let name = dotted(&links);
    let given =
        links.last().and_then(|link| link.arguments).map(|list| arguments(syntax, list)).unwrap_or_default();
    let first = given.first().map_or("", |first| syntax.text(*first));
    let bare = first.trim_matches(['"', '\'', '`']);
    let replaces = name.ends_with("setattr")
        && ["unittest", "pytest", "TestCase"].iter().any(|owned| bare.starts_with(owned));
    let mocks = matches!(name.as_str(), "jest.mock" | "vi.mock" | "mock.module" | "mock.patch" | "patch")
        && ["node:assert", "assert", "chai", "unittest.TestCase", "unittest.case", "node:test"]
            .iter()
            .any(|owned| bare == *owned || bare.starts_with(&format!("{owned}.")));
    if replaces || mocks {
        let what = format!("`{bare}` is replaced, which belongs to the test runner");
        signs.add(WeakeningKind::RunnerShadowed, node, true, what);
    }
    let in_conftest = file_name(&signs.file.path) == "conftest.py";
    if in_tests
        && in_conftest
        && (matches!(name.as_str(), "pytest.skip" | "pytest.xfail" | "pytest.exit")
            || (name.ends_with("add_marker") && (first.contains("skip") || first.contains("xfail"))))
    {
        let what = format!("`{name}` in conftest.py keeps tests from running");
        signs.add(WeakeningKind::TestSkipped, node, true, what);
    }
}

/// A runner's name that comes from a file of the repository.
fn imported(signs: &mut Signs<'_, '_>, node: NodeId) {
    let syntax = &signs.file.syntax;
    let is_own = |text: &str| text.trim_matches(['"', '\'', '`']).starts_with('.');
    let found = match (syntax.language, syntax.kind(node)) {
        (Language::Python, "import_from_statement") => {
            let from = syntax.field_text(node, "module_name");
            let is_runner = |text: &str| RUNNERS.contains(&text.split('.').next().unwrap_or(text));
            let takes = syntax.parts(node).skip(1).any(|part| {
                let name = syntax.text(part);
                let name = name.rsplit(" as ").next().unwrap_or(name);
                matches!(name, "unittest" | "pytest" | "TestCase")
            });
            takes && !is_runner(from)
        }
        (Language::Python, "import_statement") => {
            let text = syntax.canonical(node);
            [" as unittest", " as pytest"].iter().any(|alias| text.contains(alias))
        }
        (Language::JavaScript | Language::TypeScript | Language::Tsx, "import_statement") => {
            let source = syntax.field_text(node, "source");
            is_own(source)
                && syntax
                    .all(node)
                    .any(|part| syntax.kind(part) == "identifier" && RUNNERS.contains(&syntax.text(part)))
        }
        (Language::JavaScript | Language::TypeScript | Language::Tsx, "variable_declarator") => {
            let Some(value) = syntax.field(node, "value") else { return };
            let links = chain(syntax, value);
            let requires = links.first().is_some_and(|link| link.name == "require");
            let source = syntax.all(value).find(|part| is_string(syntax.kind(*part)));
            let name = syntax.field(node, "name");
            requires
                && source.is_some_and(|source| is_own(syntax.text(source)))
                && name.is_some_and(|name| {
                    syntax.all(name).any(|part| {
                        matches!(syntax.kind(part), "identifier" | "shorthand_property_identifier_pattern")
                            && RUNNERS.contains(&syntax.text(part))
                    })
                })
        }
        _ => false,
    };
    if found {
        signs.add(
            WeakeningKind::RunnerShadowed,
            node,
            true,
            "what the tests assert with comes from the repository now",
        );
    }
}
