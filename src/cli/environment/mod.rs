//! `journeyman environment`: prepares a repository's environment and reports whether its tests run there.
//!
//! May know: environments of local repositories, the settings for test runs, the terminal.
//! Must never know: how an environment is made, orders, GitHub.

mod checkout;
mod outcome;
mod pin;
mod progress;
mod words;

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use tokio::sync::mpsc::UnboundedReceiver;

use super::{INTERRUPTED, UsageError, asked_to_stop, cache_folder, log, user_settings};
use crate::app::LocalEnvironment;
use crate::config::TestRunSettings;
use crate::engine::{EnvironmentProgress, EnvironmentSurvey};
use crate::environment::{EnvironmentPlan, PlannedTest};
use checkout::{LocalCheckout, UncommittedFiles};
use outcome::EnvironmentOutcome;
use pin::PinnedFile;
use progress::ProgressOutput;

/// What `environment` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 the tests pass, 1 there are none, the setup fails, they cannot run or all fail in the same \
                  way, 2 wrong usage, 4 the tests run and some fail.\n\n\
                  The commit that is checked out (HEAD) is looked at, never your work tree: what is not committed is not \
                  used. Nothing is installed on this machine. The setup runs in the sandbox, with a network to package \
                  registries alone; what it makes is kept in data.dir of the settings, or else in your cache folder \
                  (~/.cache/journeyman), and a second call finds it there. The tests run without network.\n\n\
                  Where the environment comes from, in this order: .github/journeyman.yml, the development container, \
                  copilot-setup-steps.yml, manifests and lockfiles. docs/ENVIRONMENTS.md has examples for common stacks.\n\n\
                  Examples:\n  \
                  journeyman environment --repo .              whether agents could work here\n  \
                  journeyman environment --repo . --init       and write what was found to .github/journeyman.yml\n  \
                  journeyman environment --repo . --json       for scripts"
)]
pub(super) struct EnvironmentArguments {
    /// The git repository, or a folder in it.
    #[arg(long, value_name = "PATH")]
    repo: PathBuf,
    /// Write .github/journeyman.yml with what was found, to be adapted and committed. One that is there stays as it is.
    #[arg(long)]
    init: bool,
    /// Print one JSON document instead of words.
    #[arg(long)]
    json: bool,
    /// Settings for the sandbox, the limits and data.dir; ~/.config/journeyman/journeyman.toml when absent. Nothing is read
    /// from the current folder: the repository could bring its own.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(super) async fn main(arguments: EnvironmentArguments) -> anyhow::Result<u8> {
    log("error");
    let rules = TestRunSettings::load(user_settings(arguments.config.clone()).as_deref(), std::env::vars())?;
    let checkout = LocalCheckout::open(&arguments.repo)?;
    if arguments.init {
        checkout.work_tree()?;
    }
    let data = rules.data.clone().or_else(cache_folder).ok_or_else(|| {
        let problem = "neither HOME nor XDG_CACHE_HOME says where to keep environments: set data.dir, also as \
                       JOURNEYMAN_DATA__DIR";
        UsageError(problem.to_owned())
    })?;
    let asked = asked_to_stop()?;
    tokio::select! {
        done = Box::pin(look(&arguments, &rules, &checkout, &data)) => done,
        () = asked.cancelled() => {
            eprintln!("journeyman: stopped; what was installed so far is not kept");
            Ok(INTERRUPTED)
        }
    }
}

async fn look(
    arguments: &EnvironmentArguments,
    rules: &TestRunSettings,
    checkout: &LocalCheckout,
    data: &std::path::Path,
) -> anyhow::Result<u8> {
    let wait = || eprintln!("  … waiting: another `journeyman environment` is at work");
    let (sender, mut told) = tokio::sync::mpsc::unbounded_channel();
    let environment = LocalEnvironment::open(rules, &checkout.folder, &checkout.commit, data, wait).await?;
    let environment = environment.watched_by(sender);
    let (git, isolation) = (checkout.git_folder.clone(), environment.isolation());
    // In a blocking task, so that Ctrl-C is still handled.
    let uncommitted = tokio::task::spawn_blocking(move || UncommittedFiles::of(&git)).await??;
    let mut output = ProgressOutput::new(arguments.json);
    output.print(&words::heading(checkout, &uncommitted));
    let plan = watch("looking", environment.plan(), &mut told, &mut output).await?;
    output.print(&words::found(&plan, environment.mode(), environment.is_copied()));
    let survey = watch("preparing", environment.survey(), &mut told, &mut output).await;
    let (whole, plan) = (plan.test_command().map(str::to_owned), as_tested(plan, &survey));
    let outcome = EnvironmentOutcome::of(&plan, &survey);
    output.print(&words::setup(&plan, &survey));
    output.print(&words::tests(&plan, &survey, &outcome));
    if let Some(whole) = whole {
        output.print(&words::tests_alone(&whole, &survey));
    }
    let pinned = match arguments.init {
        true => Some(PinnedFile::write(checkout, &environment, &plan, &survey).await?),
        false => None,
    };
    if let Some(pinned) = &pinned {
        output.print(&words::pinned(pinned));
    }
    if arguments.json {
        let document = json!({
            "repository": checkout.folder.display().to_string(),
            "commit": checkout.commit.as_str(),
            "uncommitted": { "files": uncommitted.files, "settings": uncommitted.settings },
            "found": outcome::found_as_json(&plan, &isolation),
            "setup": outcome::setup_as_json(&survey),
            "tests": outcome::tests_as_json(&survey),
            "result": outcome.word(),
            "problem": outcome.problem(),
            "init": pinned.as_ref().map(PinnedFile::as_json),
            "exit_code": outcome.exit_code(),
        });
        println!("{}", serde_json::to_string_pretty(&document)?);
    }
    Ok(outcome.exit_code())
}

/// Replaces the test command by the one for the tests alone if the whole command fails for other reasons.
fn as_tested(plan: EnvironmentPlan, survey: &EnvironmentSurvey) -> EnvironmentPlan {
    let test = survey.tests_alone.as_ref().zip(plan.test.as_ref());
    match test.map(|(command, test)| PlannedTest::new(command, &test.because)) {
        Some(test) => EnvironmentPlan { test: Some(test), ..plan },
        None => plan,
    }
}

/// Shows progress until the work is done.
async fn watch<T>(
    what: &str,
    work: impl Future<Output = T>,
    told: &mut UnboundedReceiver<EnvironmentProgress>,
    output: &mut ProgressOutput,
) -> T {
    output.begin(what);
    let mut work = std::pin::pin!(work);
    let done = loop {
        tokio::select! {
            biased;
            Some(progress) = told.recv() => output.show(progress),
            done = &mut work => break done,
        }
    };
    while let Ok(progress) = told.try_recv() {
        output.show(progress);
    }
    output.end();
    done
}
