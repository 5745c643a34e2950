//! pytest and unittest.

use std::collections::BTreeSet;

use crate::counts::python;
use crate::names::{is_of, without_parameters};
use crate::runner::{
    Asked, Helper, PrintedResult, RunnerCall, SelectedRun, SummaryForm, TestRunner, TestSelection, WordsPlace,
};
use crate::words::is_python;
use journeyman_order::bounds::LONGEST_ARGUMENT;

pub(super) const RUNNERS: &[TestRunner] = &[
    TestRunner {
        name: "pytest",
        runs: |words| match words {
            ["pytest" | "py.test", ..] => true,
            [python, "-m", "pytest", ..] => is_python(python),
            _ => false,
        },
        ask: report_of_pytest,
        behind: &[""],
        select: select_in_pytest,
        loads: Some(is_test_file),
        printed: Some(PrintedResult { read: python::pytest, form: SummaryForm::OneRun }),
        ..TestRunner::NONE
    },
    TestRunner {
        name: "unittest",
        runs: |words| matches!(words, [python, "-m", "unittest", ..] if is_python(python)),
        ask: report_of_unittest,
        select: |selection| {
            let names = selection.identifiers()?;
            let options: Vec<String> = names.into_iter().map(|name| format!("-k {name}")).collect();
            selection.with_words(&options.join(" "))
        },
        printed: Some(PrintedResult { read: python::unittest, form: SummaryForm::WholeRun }),
        ..TestRunner::NONE
    },
];

/// A helper runs unittest with a result of its own, and prints the same.
fn report_of_unittest(call: &RunnerCall<'_>) -> Asked {
    let (Some(report), [python, ..]) = (call.report, call.words) else { return Asked::default() };
    // The helper is written for Python 3.
    if python.contains("python2") {
        return Asked::default();
    }
    let path = format!("{report}-helper/unittest_report.py");
    Asked {
        words: vec![(*python).to_owned(), shell_words::quote(&path).into_owned()],
        place: WordsPlace::Instead(3),
        report: Some(report.to_owned()),
        helpers: vec![Helper { path, text: include_str!("unittest_report.py") }],
        ..Asked::default()
    }
}

/// Pytest splits the variable like a shell. A file that cannot be collected must not stop the others.
fn report_of_pytest(call: &RunnerCall<'_>) -> Asked {
    let Some(report) = call.report else { return Asked::default() };
    let option = format!("--continue-on-collection-errors --junitxml={}", shell_words::quote(report));
    Asked { variables: vec![("PYTEST_ADDOPTS", option)], report: Some(report.to_owned()), ..Asked::default() }
}

fn select_in_pytest(selection: &TestSelection<'_>) -> Option<SelectedRun> {
    let names = selection.identifiers()?.join(" or ");
    let ignored = ignored(selection.names, selection.files);
    selection.with_variable("PYTEST_ADDOPTS", &format!(" -k '{names}'{ignored}"))
}

/// Whether pytest takes a file of this name for tests.
fn is_test_file(name: &str) -> bool {
    name.strip_suffix(".py").is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test"))
}

/// Options that make pytest skip the files with none of these tests.
fn ignored(names: &[String], files: &[String]) -> String {
    // Parametrized cases of a test are in one file.
    let names: BTreeSet<&str> = names.iter().map(|name| without_parameters(name)).collect();
    let is_other = |file: &&String| names.iter().all(|name| is_of(name, file) == Some(false));
    let mut options = String::new();
    for file in files.iter().filter(is_other) {
        options.push_str(&format!(" --ignore={}", shell_words::quote(file)));
        if options.len() > LONGEST_ARGUMENT {
            return String::new();
        }
    }
    options
}
