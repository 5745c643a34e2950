//! RSpec, minitest and test-unit. A helper names the tests of each.

use crate::counts::ruby;
use crate::grammar_kind::file_name;
use crate::runner::{
    Asked, Helper, PrintedResult, RunnerCall, SelectedRun, SummaryForm, TestRunner, TestSelection,
};
use crate::words::program_at;
use journeyman_order::bounds::{LONGEST_ARGUMENT, MOST_NAMED};

pub(super) const RUNNERS: &[TestRunner] = &[
    TestRunner {
        name: "rspec",
        runs: |words| words.first().is_some_and(|program| file_name(program) == "rspec"),
        ask: |call| {
            reported(call, "SPEC_OPTS", |helper| Some(format!("--require {}", shell_words::quote(helper))))
        },
        behind: &[".rspec", "spec/spec_helper.rb", "Gemfile", "Rakefile"],
        select: select_in_rspec,
        printed: Some(PrintedResult { read: ruby::rspec, form: SummaryForm::OneRun }),
        ..TestRunner::NONE
    },
    TestRunner {
        name: "minitest",
        runs: runs_rails_tests,
        ask: |call| {
            // Ruby splits the variable at spaces.
            let option =
                |helper: &str| (!helper.contains(char::is_whitespace)).then(|| format!("-r{helper}"));
            reported(call, "RUBYOPT", option)
        },
        behind: &["Gemfile", "Rakefile", "rakefile", "Rakefile.rb", "test/test_helper.rb"],
        select: select_in_minitest,
        printed: Some(PrintedResult { read: ruby::minitest, form: SummaryForm::OneRun }),
        ..TestRunner::NONE
    },
    // Asked with minitest.
    TestRunner {
        name: "test-unit",
        select: select_in_minitest,
        printed: Some(PrintedResult { read: ruby::test_unit, form: SummaryForm::OneRun }),
        ..TestRunner::NONE
    },
];

fn runs_rails_tests(words: &[&str]) -> bool {
    match words {
        [rails, task, ..] => file_name(rails) == "rails" && (*task == "t" || task.starts_with("test")),
        _ => false,
    }
}

/// The helper writes a file for each process, into its own folder.
fn reported(call: &RunnerCall<'_>, variable: &'static str, option: impl Fn(&str) -> Option<String>) -> Asked {
    let Some(report) = call.report else { return Asked::default() };
    let path = format!("{report}-helper/test_report.rb");
    let Some(value) = option(&path) else { return Asked::default() };
    Asked {
        variables: vec![(variable, value)],
        report: Some(format!("{report}-helper/*.jsonl")),
        helpers: vec![Helper { path, text: include_str!("test_report.rb") }],
        ..Asked::default()
    }
}

/// RSpec runs every example whose full description contains one of these.
fn select_in_rspec(selection: &TestSelection<'_>) -> Option<SelectedRun> {
    let mut options = String::new();
    for described in known_parts(selection, |rest| rest)? {
        options.push_str(&format!(" -e {}", shell_words::quote(described)));
    }
    (options.len() <= LONGEST_ARGUMENT).then(|| selection.with_variable("SPEC_OPTS", &options))?
}

/// Runs every test whose name contains one of these. Rake takes the option from a variable, and its loader wants it as
/// one word.
fn select_in_minitest(selection: &TestSelection<'_>) -> Option<SelectedRun> {
    let titles = known_parts(selection, |rest| rest.rsplit(" > ").next().unwrap_or(rest))?;
    let pattern = titles.into_iter().map(regex::escape).collect::<Vec<_>>().join("|");
    let is_plain = !pattern.contains(['\n', '\0']) && pattern.len() <= LONGEST_ARGUMENT;
    let option = is_plain.then(|| format!("--name={}", shell_words::quote(&format!("/({pattern})/"))))?;
    let words: Vec<&str> = selection.command.split_whitespace().collect();
    if runs_rails_tests(words.get(program_at(&words)..).unwrap_or_default()) {
        return selection.with_words(&option);
    }
    if !words.iter().any(|word| file_name(word) == "rake") {
        return None;
    }
    let mut environment = selection.environment.clone();
    environment.insert("TESTOPTS".to_owned(), option);
    Some(SelectedRun { command: selection.command.to_owned(), environment })
}

/// The part of each name that the runner itself has in its name: behind the file, and before what the helper or a list
/// of tests changes. `None` if a name is not of the helper.
fn known_parts<'s>(selection: &TestSelection<'s>, own: impl Fn(&'s str) -> &'s str) -> Option<Vec<&'s str>> {
    let numbered = pattern!(r" \(\d+\)$");
    let part = |name: &'s String| {
        let (file, rest) = name.split_once(" > ")?;
        let part = own(rest);
        let part = [" > ", "[", "0x…"].iter().fold(part, |part, end| part.split(end).next().unwrap_or(part));
        let part =
            numbered.find(part).map_or(part, |number| part.get(..number.start()).unwrap_or(part)).trim();
        (file.ends_with(".rb") && !part.is_empty()).then_some(part)
    };
    let parts: std::collections::BTreeSet<&str> = selection.names.iter().map(part).collect::<Option<_>>()?;
    (parts.len() <= MOST_NAMED).then(|| parts.into_iter().collect())
}
