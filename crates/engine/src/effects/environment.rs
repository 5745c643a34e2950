//! The environment, before an agent is paid: prepared, and the tests run in it once. What does not work is told with what to
//! change, and costs nobody a round.

use std::path::Path;

use super::{EffectContext, EffectResult};
use crate::command::FinishedCommand;
use crate::environment::{EnvironmentRequest, Preparation};
use crate::testing::{BaselineOutcome, CommitTester, TestRunRequest};
use journeyman_environment::{EnvironmentPlan, EnvironmentSource, ToolFit};
use journeyman_order::environment_report::{BaselineRun, EnvironmentProblem, EnvironmentReport};
use journeyman_order::{EffectError, EffectOutcome, Exit};
use journeyman_verify::{missing_for_tests, telling_line};
use journeyman_workspace::SourceTree;

/// Where a repository says how it is set up.
const OWN_SETTINGS: &str = ".github/journeyman.yml";

impl EffectContext {
    pub(super) async fn prepare_environment(&self) -> EffectResult {
        let ask = self.environment_request().await?;
        let mut report = EnvironmentReport {
            source: ask.plan.source.to_string(),
            notes: notes(&ask.plan),
            ..EnvironmentReport::default()
        };
        match Box::pin(self.parts.environments.prepare(&ask)).await? {
            Preparation::Failed(failed) => {
                self.keep_output("setup", &failed).await?;
                report.setup = Some(failed.run.clone());
                report.problem = Some(self.of_setup(&ask.plan, &failed));
            }
            Preparation::Ready(environment) => {
                report.setup = environment.setup().cloned();
                report.kept = environment.is_kept;
                if ask.plan.test.is_some() {
                    self.try_tests(&ask, &mut report).await?;
                }
            }
        }
        Ok(EffectOutcome::EnvironmentPrepared(Box::new(report)))
    }

    /// The tests on the base commit, which every verdict of the order needs anyway.
    async fn try_tests(
        &self,
        ask: &EnvironmentRequest,
        report: &mut EnvironmentReport,
    ) -> Result<(), EffectError> {
        let (repository, base) = (ask.repository.clone(), ask.commit.clone());
        let (of, at) = (repository.clone(), base.clone());
        let tree = self.git(move |workspaces| workspaces.tree_of(&of, &at)).await?;
        let name = format!("{}.{}", self.key.file_name(), self.attempt);
        let request = TestRunRequest {
            repository,
            base: base.clone(),
            base_is_of_the_default_branch: true,
            commit: base,
            tree,
            settings: self.settings(),
            folder: self.parts.workspaces.order_dirs(self.order).tests.join(name),
            environments: self.order_root().join("environments"),
        };
        let testing = CommitTester {
            sandbox: self.parts.sandbox.clone(),
            workspaces: self.parts.workspaces.clone(),
            environments: self.parts.environments.clone(),
            settings: self.parts.settings.testing.clone(),
        };
        let BaselineOutcome { test, reading, tail } = testing.run_base(&request).await?;
        let Some(run) = test else { return Ok(()) };
        let is_own = |module: &str| is_own(&ask.source, module);
        let missing = missing_for_tests(run.exit, &reading, &tail, &is_own);
        report.problem = missing.map(|line| of_tests(&ask.plan, &run.command, line));
        if report.problem.is_none() && run.exit == Exit::TimedOut {
            report.problem = Some(EnvironmentProblem {
                what: format!("The tests `{}` did not end in time on the default branch", run.command),
                line: None,
                remedy: "Raise limits.test_seconds in journeyman.toml, or name a shorter `test` in \
                         .github/journeyman.yml."
                    .to_owned(),
            });
        }
        report.baseline = Some(BaselineRun { run, counts: reading.counts });
        Ok(())
    }

    fn of_setup(&self, plan: &EnvironmentPlan, failed: &FinishedCommand) -> EnvironmentProblem {
        let what = match failed.run.exit {
            Exit::TimedOut => format!("The setup `{}` did not end in time", failed.run.command),
            exit @ (Exit::Code(_) | Exit::Signal(_)) => {
                format!("The setup `{}` ended with {exit}", failed.run.command)
            }
        };
        let refused =
            failed.network.iter().flat_map(|network| &network.refused).map(|refused| refused.what.clone());
        let refused: Vec<String> = refused.take(3).collect();
        let remedy = match (failed.run.exit, refused.as_slice()) {
            (Exit::TimedOut, _) => "Raise limits.setup_seconds in journeyman.toml.".to_owned(),
            (_, [_, ..]) => format!(
                "It was kept from {}: allow that with sandbox.setup_network in journeyman.toml, or install it from a \
                 registry.",
                refused.join(", ")
            ),
            (_, []) => change_the(plan, "setup"),
        };
        EnvironmentProblem { what, line: telling_line(&failed.output.text), remedy }
    }

    async fn keep_output(&self, name: &str, failed: &FinishedCommand) -> Result<(), EffectError> {
        let artifact = format!("{}-{name}.log", self.key.file_name());
        let text = failed.output.text.as_bytes();
        self.parts.store.put_artifact(self.order, &artifact, "text/plain", text).await?;
        Ok(())
    }
}

fn of_tests(plan: &EnvironmentPlan, command: &str, line: String) -> EnvironmentProblem {
    EnvironmentProblem {
        what: format!("The tests `{command}` cannot run on the default branch"),
        line: Some(line),
        remedy: change_the(plan, "setup"),
    }
}

/// What to change, by who said it.
fn change_the(plan: &EnvironmentPlan, key: &str) -> String {
    match &plan.source {
        EnvironmentSource::Settings { .. } => {
            format!("Change `{key}` in {OWN_SETTINGS} on the default branch, or what it installs.")
        }
        EnvironmentSource::Devcontainer { path } | EnvironmentSource::CopilotSetupSteps { path } => format!(
            "Change {path} on the default branch, or name `{key}` in {OWN_SETTINGS}, which comes before it."
        ),
        EnvironmentSource::Found { .. } | EnvironmentSource::Nothing => format!(
            "Name what installs all that the tests need as `{key}` in {OWN_SETTINGS} on the default branch; \
             `journeyman environment --repo PATH --init` writes one to begin with."
        ),
    }
}

/// What should be known: what was left out, and tools that are not what the repository asks for.
fn notes(plan: &EnvironmentPlan) -> Vec<String> {
    let tools = plan.required_tools.iter().filter(|tool| match tool.fit {
        ToolFit::Missing | ToolFit::OtherVersion => true,
        ToolFit::Fits | ToolFit::Unknown | ToolFit::Installed => false,
    });
    tools.map(ToString::to_string).chain(plan.notes.iter().cloned()).collect()
}

/// Whether a module of this name lies in the repository.
fn is_own(source: &SourceTree, module: &str) -> bool {
    let top = module.split(['.', '/']).next().unwrap_or(module);
    source
        .paths()
        .any(|path| path.iter().any(|part| Path::new(part).file_stem().is_some_and(|stem| stem == top)))
}
