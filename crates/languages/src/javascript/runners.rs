//! The runners of JavaScript, and scripts of package.json that call them.

use std::collections::BTreeSet;

use crate::counts::{javascript, native, node};
use crate::runner::{
    Asked, Helper, PrintedResult, RunnerCall, SelectedRun, SummaryForm, TestRunner, TestSelection,
};
use crate::script::{ScriptCall, script_of};
use journeyman_order::bounds::MOST_NAMED;

/// Node loads the first before every program. In a runner's own process it loads the runner's.
const HELPERS: [(&str, &str); 7] = [
    ("preload.cjs", include_str!("helpers/preload.cjs")),
    ("report.cjs", include_str!("helpers/report.cjs")),
    ("node.cjs", include_str!("helpers/node.cjs")),
    ("jest.cjs", include_str!("helpers/jest.cjs")),
    ("vitest.cjs", include_str!("helpers/vitest.cjs")),
    ("mocha.cjs", include_str!("helpers/mocha.cjs")),
    ("ava.cjs", include_str!("helpers/ava.cjs")),
];

pub(super) const RUNNERS: &[TestRunner] = &[
    TestRunner {
        name: "node",
        runs: |words| words.first() == Some(&"node") && words.contains(&"--test"),
        ask: |call| {
            // Node takes anything after a file as a file.
            let are_options = call.words.iter().skip(1).all(|word| word.starts_with('-'));
            let takes_options = call.is_script && are_options && !call.outer.contains(&"--");
            Asked { takes_options, ..report_by_helper(call, &[]) }
        },
        // The helper reaches the other runners, too.
        behind: &["package.json"],
        select: select_in_node,
        printed: Some(PrintedResult { read: node::node, form: SummaryForm::OneRun }),
        ..TestRunner::NONE
    },
    TestRunner {
        name: "vitest",
        runs: |words| words.first() == Some(&"vitest"),
        ask: |call| {
            let own: &[_] = &[("--reporter", "default"), ("--reporter", "vitest.cjs")];
            report_by_helper(call, own.get(usize::from(call.has(&["--reporter"]))..).unwrap_or_default())
        },
        select: |selection| selection.with_option(&format!("-t {}", selection.titles()?)),
        printed: Some(PrintedResult { read: javascript::vitest, form: SummaryForm::OneRun }),
        ..TestRunner::NONE
    },
    TestRunner {
        name: "jest",
        runs: |words| matches!(words, ["jest", ..] | ["react-scripts", "test", ..]),
        ask: |call| report_by_helper(call, &[("--testResultsProcessor", "jest.cjs")]),
        select: |selection| selection.with_option(&format!("-t {}", selection.titles()?)),
        printed: Some(PrintedResult { read: javascript::jest, form: SummaryForm::OneRun }),
        ..TestRunner::NONE
    },
    TestRunner {
        name: "mocha",
        runs: |words| words.first() == Some(&"mocha"),
        ask: |call| report_by_helper(call, &[("--require", "preload.cjs")]),
        select: |selection| selection.with_option(&format!("-g {}", selection.titles()?)),
        printed: Some(PrintedResult { read: javascript::mocha, form: SummaryForm::OneRun }),
        ..TestRunner::NONE
    },
    TestRunner {
        name: "bun",
        runs: |words| words.starts_with(&["bun", "test"]),
        ask: report_of_bun,
        select: |selection| selection.with_option(&format!("-t {}", selection.titles()?)),
        printed: Some(PrintedResult { read: native::bun, form: SummaryForm::OneRun }),
        ..TestRunner::NONE
    },
    TestRunner {
        name: "ava",
        runs: |words| words.first() == Some(&"ava"),
        ask: |call| report_by_helper(call, &[]),
        select: select_in_ava,
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

/// Makes node load our helper, which reaches a runner behind scripts and make as well. What the call sets for node
/// itself comes instead of that: then `own` options load the helper.
fn report_by_helper(call: &RunnerCall<'_>, own: &[(&str, &str)]) -> Asked {
    let asked = Asked { takes_options: true, ..Asked::default() };
    let Some(report) = call.report else { return asked };
    let path = |name: &str| format!("{report}-helper/{name}");
    let option = |(option, value): &(&str, &str)| match value.ends_with(".cjs") {
        true => format!("{option}={}", shell_words::quote(&path(value))),
        false => format!("{option}={value}"),
    };
    let words = if call.sets("NODE_OPTIONS") { own.iter().map(option).collect() } else { Vec::new() };
    // Node reads a word in quotes as JavaScript does.
    let preload = serde_json::Value::String(path("preload.cjs"));
    let helper = |&(name, text): &(&str, &'static str)| Helper { path: path(name), text };
    Asked {
        words,
        variables: vec![("NODE_OPTIONS", format!("--require={preload}"))],
        report: Some(report.to_owned()),
        helpers: HELPERS.iter().map(helper).collect(),
        ..asked
    }
}

fn report_of_bun(call: &RunnerCall<'_>) -> Asked {
    let report = call.report.filter(|_| !call.has(&["--reporter", "--reporter-outfile"]));
    let option = |report| format!("--reporter-outfile={}", shell_words::quote(report));
    let words = report.map(|report| vec!["--reporter=junit".to_owned(), option(report)]);
    Asked {
        words: words.unwrap_or_default(),
        report: report.map(str::to_owned),
        takes_options: true,
        ..Asked::default()
    }
}

/// A test runs only if the tests and groups around it do.
fn select_in_node(selection: &TestSelection<'_>) -> Option<SelectedRun> {
    let parts = |name: &String| {
        let own: Vec<String> = name.split(" > ").map(str::to_owned).collect();
        let file = usize::from(own.len() > 1);
        own.into_iter().skip(file)
    };
    let names: BTreeSet<String> = selection.names.iter().flat_map(parts).collect();
    let names: Vec<String> = names.into_iter().collect();
    let names = TestSelection { names: &names, ..*selection };
    let option = format!("--test-name-pattern={}", names.titles()?);
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

/// AVA knows stars, and an exclamation mark for all others.
fn select_in_ava(selection: &TestSelection<'_>) -> Option<SelectedRun> {
    let titles = selection.names.iter().map(|name| name.split_once(" > ").map_or("", |(_, title)| title));
    let titles: Vec<String> = titles.map(|title| title.replace([' ', '\''], "*")).collect();
    let is_plain = |title: &String| !title.is_empty() && !title.contains(['\\', '!', '\0']);
    let options: Vec<String> = titles.iter().map(|title| format!("--match='{title}'")).collect();
    let can_be = titles.len() <= MOST_NAMED && titles.iter().all(is_plain);
    can_be.then(|| selection.with_option(&options.join(" "))).flatten()
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
