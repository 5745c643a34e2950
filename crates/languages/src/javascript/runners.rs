//! The runners of JavaScript, and scripts of package.json that call them.

use crate::counts::{javascript, native, node};
use crate::runner::{Asked, PrintedResult, RunnerCall, SelectedRun, SummaryForm, TestRunner, TestSelection};
use crate::script::{ScriptCall, script_of};

pub(super) const RUNNERS: &[TestRunner] = &[
    TestRunner {
        name: "node",
        runs: |words| words.first() == Some(&"node") && words.contains(&"--test"),
        ask: |call| {
            // Node takes anything after a file as a file.
            let are_options = call.words.iter().skip(1).all(|word| word.starts_with('-'));
            let takes_options = call.is_script && are_options && !call.outer.contains(&"--");
            Asked { takes_options, ..Asked::default() }
        },
        select: select_in_node,
        printed: Some(PrintedResult { read: node::node, form: SummaryForm::OneRun }),
        ..TestRunner::NONE
    },
    TestRunner {
        name: "vitest",
        runs: |words| words.first() == Some(&"vitest"),
        ask: |call| named_with(call, "--reporter=verbose"),
        select: |selection| selection.with_option(&format!("-t '({})$'", selection.titles()?)),
        printed: Some(PrintedResult { read: javascript::vitest, form: SummaryForm::OneRun }),
        ..TestRunner::NONE
    },
    TestRunner {
        name: "jest",
        runs: |words| matches!(words, ["jest", ..] | ["react-scripts", "test", ..]),
        ask: |call| named_with(call, "--verbose"),
        select: |selection| selection.with_option(&format!("-t '({})$'", selection.titles()?)),
        printed: Some(PrintedResult { read: javascript::jest, form: SummaryForm::OneRun }),
        ..TestRunner::NONE
    },
    TestRunner {
        name: "mocha",
        runs: |words| words.first() == Some(&"mocha"),
        ask: |_| Asked { takes_options: true, ..Asked::default() },
        select: |selection| selection.with_option(&format!("-g '({})$'", selection.titles()?)),
        printed: Some(PrintedResult { read: javascript::mocha, form: SummaryForm::OneRun }),
        ..TestRunner::NONE
    },
    TestRunner {
        name: "bun",
        runs: |words| words.starts_with(&["bun", "test"]),
        printed: Some(PrintedResult { read: native::bun, form: SummaryForm::OneRun }),
        ..TestRunner::NONE
    },
    TestRunner {
        name: "ava",
        runs: |words| words.first() == Some(&"ava"),
        printed: Some(PrintedResult { read: native::ava, form: SummaryForm::WholeRun }),
        ..TestRunner::NONE
    },
    TestRunner {
        name: "uvu",
        runs: |words| words.first() == Some(&"uvu"),
        printed: Some(PrintedResult { read: native::uvu, form: SummaryForm::WholeRun }),
        ..TestRunner::NONE
    },
];

/// An option that makes a runner name each test, unless the command already sets its reporting.
fn named_with(call: &RunnerCall<'_>, option: &str) -> Asked {
    let is_said = call.has(&["--reporter", "--reporters", "--json", "--verbose", "--silent"]);
    let words = if is_said { Vec::new() } else { vec![option.to_owned()] };
    Asked { words, takes_options: true, ..Asked::default() }
}

fn select_in_node(selection: &TestSelection<'_>) -> Option<SelectedRun> {
    let option = format!("--test-name-pattern='^({})$'", selection.titles()?);
    let words: Vec<&str> = selection.command.split_whitespace().collect();
    // Its options come before the files.
    match selection.is_one() && words.first() == Some(&"node") && words.contains(&"--test") {
        true => {
            let command = selection.command.trim_start().replacen("node", &format!("node {option}"), 1);
            Some(selection.with_command(command))
        }
        false => selection.with_option(&option),
    }
}

/// A call of a script of package.json.
pub(super) fn script(words: &[&str], read: &dyn Fn(&str) -> Option<Vec<u8>>) -> Option<ScriptCall> {
    let [manager @ ("npm" | "pnpm" | "yarn" | "bun"), rest @ ..] = words else { return None };
    let (name, more, is_run) = match rest {
        ["run", name, more @ ..] => (*name, more, true),
        [name, more @ ..] => (*name, more, false),
        [] => return None,
    };
    if *manager == "bun" && !is_run {
        return None;
    }
    let name = if name == "t" { "test" } else { name };
    let line = script_of(&read("package.json")?, name)?;
    // pnpm consumes options itself, unless it runs a script explicitly.
    let words = match *manager == "pnpm" && !is_run {
        true => [&["pnpm", "run", name], more].concat(),
        false => words.to_vec(),
    };
    let between = if *manager == "npm" && !words.contains(&"--") { "--" } else { "" };
    Some(ScriptCall { words: words.into_iter().map(str::to_owned).collect(), line, between })
}
