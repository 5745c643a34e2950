//! Turns a survey of an environment into a word, an exit code and what to change, and everything into JSON.
//!
//! May know: plans, surveys. Must never know: the terminal.

use serde_json::{Value, json};

use crate::engine::EnvironmentSurvey;
use crate::environment::{EnvironmentPlan, ProgramFolder, ToolFit};
use crate::order::environment_report::EnvironmentProblem;
use crate::order::test_run::CommandRun;
use crate::order::{Exit, TestVerdict};
use crate::verify::{tail, telling_line};

/// The outcome, in words that scripts rely on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EnvironmentOutcome {
    Passed,
    /// They run, but some fail.
    Failed,
    SetupFailed(EnvironmentProblem),
    CannotRun(EnvironmentProblem),
    /// There is no test command, or it ran no tests.
    NoTests(EnvironmentProblem),
}

const NO_TESTS: &str = "Name the command that runs the tests as `test` in .github/journeyman.yml: without tests, nothing \
                        that an agent does can be verified.";

impl EnvironmentOutcome {
    pub(super) fn of(plan: &EnvironmentPlan, survey: &EnvironmentSurvey) -> Self {
        let report = &survey.report;
        let problem = |what: String, line: Option<String>, remedy: &str| EnvironmentProblem {
            what,
            line,
            remedy: remedy.to_owned(),
        };
        if let Some(found) = &report.problem {
            return match survey.setup_failure {
                Some(_) => Self::SetupFailed(found.clone()),
                None => Self::CannotRun(found.clone()),
            };
        }
        let Some(test) = &plan.test else {
            return Self::NoTests(problem("No tests were found".to_owned(), None, NO_TESTS));
        };
        let (Some(verdict), Some(baseline)) = (survey.verdict, &report.baseline) else {
            let what = format!("The tests `{}` were not run", test.command);
            return Self::CannotRun(problem(what, telling_line(&survey.tail), &survey.remedy));
        };
        let none_ran =
            survey.reading.counts.map_or(!survey.reading.unloaded.is_empty(), |counts| counts.ran() == 0);
        let ran_none = format!("`{}` ended with {} and ran no test", test.command, baseline.run.exit);
        match verdict {
            TestVerdict::Passed => Self::Passed,
            TestVerdict::NoTests => Self::NoTests(problem(ran_none, None, NO_TESTS)),
            TestVerdict::Failed
            | TestVerdict::Weakened
            | TestVerdict::Unmended
            | TestVerdict::SetupFailed
                if none_ran =>
            {
                Self::CannotRun(problem(ran_none, telling_line(&survey.tail), &survey.remedy))
            }
            TestVerdict::Failed
            | TestVerdict::Weakened
            | TestVerdict::Unmended
            | TestVerdict::SetupFailed => Self::Failed,
        }
    }

    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::SetupFailed(_) => "setup_failed",
            Self::CannotRun(_) => "cannot_run",
            Self::NoTests(_) => "no_tests",
        }
    }

    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failed => 4,
            Self::SetupFailed(_) | Self::CannotRun(_) | Self::NoTests(_) => 1,
        }
    }

    /// The problem to fix, if any.
    pub(super) fn problem(&self) -> Option<&EnvironmentProblem> {
        match self {
            Self::Passed | Self::Failed => None,
            Self::SetupFailed(problem) | Self::CannotRun(problem) | Self::NoTests(problem) => Some(problem),
        }
    }
}

pub(super) fn found_as_json(plan: &EnvironmentPlan, isolation: &str) -> Value {
    let tools: Vec<Value> = plan
        .required_tools
        .iter()
        .map(|tool| {
            json!({
                "tool": tool.tool, "wanted": tool.version, "file": tool.file, "present": tool.present,
                "fit": fit(tool.fit),
            })
        })
        .collect();
    let setup: Vec<Value> =
        plan.setup.iter().map(|setup| json!({"command": setup.command, "because": setup.because})).collect();
    let services: Vec<Value> =
        plan.services.iter().map(|service| json!({"name": service.name, "image": service.image})).collect();
    let search: Vec<String> = plan
        .search_path
        .iter()
        .map(|folder| match folder {
            ProgramFolder::Tree(path) => path.clone(),
            ProgramFolder::Home(path) => format!("~/{path}"),
        })
        .collect();
    json!({
        "source": plan.source.to_string(),
        "image": plan.image,
        "isolation": isolation,
        "tools": tools,
        "services": services,
        "setup": setup,
        "test": plan.test.as_ref().map(|test| json!({"command": test.command, "because": test.because})),
        "search_path": search,
        "variables": plan.variables.keys().collect::<Vec<_>>(),
        "notes": plan.notes.iter().cloned().chain(plan.note_of_projects()).collect::<Vec<_>>(),
    })
}

fn fit(fit: ToolFit) -> &'static str {
    match fit {
        ToolFit::Fits => "fits",
        ToolFit::OtherVersion => "other_version",
        ToolFit::Missing => "missing",
        ToolFit::Unknown => "unknown",
        ToolFit::Installed => "installed_by_setup",
    }
}

/// Null if nothing needed installing.
pub(super) fn setup_as_json(survey: &EnvironmentSurvey) -> Value {
    let Some(setup) = &survey.report.setup else { return Value::Null };
    json!({
        "installed_before": survey.report.kept,
        "seconds": setup.duration_seconds,
        "commands": survey.steps.iter().map(run_as_json).collect::<Vec<_>>(),
        "output": survey.setup_failure.as_ref().map(|printed| tail(&printed.text)),
    })
}

/// Null if the tests did not run.
pub(super) fn tests_as_json(survey: &EnvironmentSurvey) -> Value {
    let Some(baseline) = &survey.report.baseline else { return Value::Null };
    let mut tests = run_as_json(&baseline.run);
    tests["counts"] = json!(baseline.counts);
    tests["failing"] = json!(survey.reading.failing);
    let is_good = baseline.run.exit == Exit::Code(0);
    tests["output"] = json!((!is_good).then(|| tail(&survey.tail)));
    tests
}

fn run_as_json(run: &CommandRun) -> Value {
    let code = match run.exit {
        Exit::Code(code) => Some(code),
        Exit::Signal(_) | Exit::TimedOut => None,
    };
    json!({
        "command": run.command, "ended": run.exit.to_string(), "exit_code": code, "seconds": run.duration_seconds,
    })
}
