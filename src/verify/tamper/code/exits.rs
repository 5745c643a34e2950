//! The end of the process, before the runner can say what failed.

use super::Signs;
use crate::order::WeakeningKind;
use crate::verify::tamper::chain::{arguments, chain, dotted, function_name, is_call, is_function};
use crate::verify::tamper::language::{Language, file_name, folders, is_test_path};
use crate::verify::tamper::syntax::{NodeId, Syntax};

/// Ends that nothing can catch and no program needs for a good end.
const HARD: &[&str] = &[
    "os._exit",
    "_exit",
    "process.reallyExit",
    "libc._exit",
    "libc.exit",
    "syscall.Exit",
    "Runtime.getRuntime.halt",
];

/// Ends that programs have a use for at their entry.
const SOFT: &[&str] = &[
    "sys.exit",
    "exit",
    "quit",
    "SystemExit",
    "process.exit",
    "std.process.exit",
    "os.Exit",
    "System.exit",
    "Runtime.getRuntime.exit",
];

pub(super) fn look(signs: &mut Signs<'_, '_>, node: NodeId) {
    let syntax = &signs.file.syntax;
    let kind = syntax.kind(node);
    if is_call(kind) {
        call(signs, node);
    } else if kind == "raise_statement" && syntax.canonical(node) == "raise SystemExit" {
        soft(signs, node, "SystemExit");
    } else if matches!(kind, "assignment" | "assignment_expression") {
        let left = syntax.field_text(node, "left");
        let right = syntax.field_text(node, "right");
        if left == "process.exitCode" && matches!(right, "0" | "undefined" | "null") {
            signs.add(WeakeningKind::EarlyExit, node, true, "the exit code of the process is set to 0");
        }
    } else if kind == "attribute_item" {
        let text = syntax.canonical(node);
        if text.contains("link_section") && text.contains("init_array")
            || text == "# [ ctor ]"
            || text == "# [ ctor :: ctor ]"
        {
            signs.add(WeakeningKind::EarlyExit, node, true, "code runs before the tests do");
        }
    } else if kind == "function_declaration" && syntax.language == Language::Go {
        let body = syntax.field(node, "body").map_or("", |body| syntax.text(body));
        if syntax.field_text(node, "name") == "TestMain" && !body.contains(".Run()") {
            signs.add(WeakeningKind::EarlyExit, node, true, "TestMain does not run the tests");
        }
    }
}

fn call(signs: &mut Signs<'_, '_>, node: NodeId) {
    let syntax = &signs.file.syntax;
    let links = chain(syntax, node);
    let name = dotted(&links);
    let given: Vec<NodeId> =
        links.last().and_then(|link| link.arguments).map(|list| arguments(syntax, list)).unwrap_or_default();
    let first = given.first().map_or("", |first| syntax.text(*first));
    let is_failure = first.trim_start_matches('-').parse::<i64>().is_ok_and(|code| code != 0);
    if HARD.contains(&name.as_str()) && !is_failure {
        signs.add(
            WeakeningKind::EarlyExit,
            node,
            true,
            format!("`{name}` ends the process whatever the tests say"),
        );
    } else if matches!(name.as_str(), "os.kill" | "process.kill")
        && (first == "os.getpid()" || first == "process.pid")
    {
        signs.add(WeakeningKind::EarlyExit, node, true, "the process ends itself by a signal");
    } else if SOFT.contains(&name.as_str()) || name.ends_with("process.exit") {
        let succeeds = matches!(first, "" | "0" | "None" | "True" | "undefined");
        let is_known = name != "exit" || syntax.language != Language::Java;
        if succeeds && is_known && given.len() <= 1 {
            soft(signs, node, &name);
        }
    }
}

fn soft(signs: &mut Signs<'_, '_>, node: NodeId, name: &str) {
    let file = signs.file;
    let syntax = &file.syntax;
    let at_exit = syntax.ancestors(node).any(|up| {
        is_call(syntax.kind(up)) && {
            let text = syntax.text(up);
            text.starts_with("atexit.register")
                || text.starts_with("process.on('exit'")
                || text.starts_with("process.on(\"exit\"")
        }
    });
    let grave =
        at_exit || file.is_in_tests(node) || is_test_path(&file.path) || !is_entry(syntax, &file.path, node);
    let what = if grave {
        format!("`{name}` ends the process with success before the tests are through")
    } else {
        format!("`{name}` ends the process with success")
    };
    signs.add(WeakeningKind::EarlyExit, node, grave, what);
}

/// Whether a process may well end here: where a program begins, or where a signal is heard.
fn is_entry(syntax: &Syntax<'_>, path: &str, node: NodeId) -> bool {
    let name = file_name(path);
    let stem = name.split('.').next().unwrap_or(name);
    let is_program = matches!(stem, "main" | "__main__" | "cli" | "setup" | "manage" | "server" | "Main")
        || folders(path)
            .any(|folder| matches!(folder, "bin" | "scripts" | "cmd" | "cli" | "tools" | "examples"))
        || syntax.text(Syntax::ROOT).starts_with("#!");
    let functions: Vec<NodeId> = syntax.ancestors(node).filter(|up| is_function(syntax.kind(*up))).collect();
    let is_named = functions.iter().any(|function| {
        function_name(syntax, *function)
            .is_some_and(|name| matches!(name, "main" | "_main" | "run" | "cli" | "shutdown" | "usage"))
    });
    let is_guarded = syntax.ancestors(node).any(|up| {
        let text = syntax.text(up);
        match syntax.kind(up) {
            "if_statement" => {
                text.starts_with("if __name__")
                    || text.contains("require.main === module")
                    || text.contains("import.meta.main")
            }
            kind if is_call(kind) => text.starts_with("process.on") && text.contains("SIG"),
            _ => false,
        }
    });
    match syntax.language {
        // Within a function it is an exception, which a test hears of.
        Language::Python => is_guarded || !functions.is_empty() || is_program,
        Language::Go => {
            let in_start = functions.iter().any(|function| syntax.field_text(*function, "name") == "init");
            !in_start && (is_program || is_named)
        }
        Language::Rust | Language::JavaScript | Language::TypeScript | Language::Tsx | Language::Java => {
            is_guarded || is_named || is_program
        }
    }
}
