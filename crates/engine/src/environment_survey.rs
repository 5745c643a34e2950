//! Prepares a repository's environment, runs its tests once, and says what to change if they cannot run.
//!
//! May know: environments, test runs, what their output says. Must never know: orders, agents, GitHub, the command line.

use std::path::Path;

use crate::command::{CommandOutput, FinishedCommand};
use crate::environment::{EnvironmentRequest, PlanFault, Preparation, ServiceFailure};
use crate::testing::{BaselineSource, CachedBaseline, CommitTester, TestRunRequest};
use journeyman_environment::{EnvironmentPlan, EnvironmentSource, RequiredTool, ToolFit};
use journeyman_order::bounds::MOST_IN_A_SENTENCE;
use journeyman_order::environment_report::{BaselineRun, EnvironmentProblem, EnvironmentReport};
use journeyman_order::settings::AcceptedRun;
use journeyman_order::test_run::CommandRun;
use journeyman_order::{EffectError, Exit, PinnedImages, TestReport, TestVerdict};
use journeyman_verify::{
    failing_alike, missing_for_tests, missing_program, not_loaded, ran_any, telling_line, tells_of_failure,
    unset_variable, untrusted_certificate, wants_credentials,
};
use journeyman_workspace::SourceTree;

const OWN_SETTINGS: &str = crate::SETTINGS_FILE;
const CERTIFICATE: &str = "Somebody answers for the registry whose certificate its package manager does not know, as a company's \
                           proxy does. Install the proxy's authority on this machine, or name its file as network.ca_file \
                           in journeyman.toml: setups trust both. A package manager with a list of its own, such as \
                           Java's, needs the file named in `env` of .github/journeyman.yml.";
const CREDENTIAL: &str = "A setup never holds a credential: name the registry that wants one, with its token, as [registries.NAME] \
                          in journeyman.toml, or install from a public one.";
const NEW_PROJECT: &str = "The repository has no manifest yet. A change that brings one installs dependencies only if the server has \
                           sandbox.setup_network_for_changes = true in journeyman.toml.";

#[derive(Debug, Clone, Default, PartialEq)]
pub struct EnvironmentSurvey {
    pub report: EnvironmentReport,
    /// Each setup command, including one that failed. For a kept environment, as they ran originally.
    pub steps: Vec<CommandRun>,
    pub setup_failure: Option<CommandOutput>,
    /// The command that judges changes, if it is not the planned one.
    pub tests_alone: Option<String>,
    /// The tests' verdict. `None` if they did not run.
    pub verdict: Option<TestVerdict>,
    pub reading: TestReport,
    pub tail: String,
    pub remedy: String,
}

impl EnvironmentSurvey {
    pub fn without_plan(problem: EnvironmentProblem) -> Self {
        let remedy = problem.remedy.clone();
        let report = EnvironmentReport { problem: Some(problem), ..EnvironmentReport::default() };
        Self { report, remedy, ..Self::default() }
    }
}

impl CommitTester {
    /// Prepares the environment of the base commit, and runs its tests there.
    pub async fn survey(
        &self,
        ask: &TestRunRequest,
        enough: BaselineSource,
    ) -> Result<EnvironmentSurvey, EffectError> {
        Box::pin(self.survey_in(&ask.only_folder(), ask, enough)).await
    }

    /// The plan of the base commit.
    pub async fn environment_plan(&self, ask: &TestRunRequest) -> Result<EnvironmentPlan, EffectError> {
        match self.environment_request(ask, &ask.only_folder()).await {
            Ok((request, _)) => Ok(request.plan),
            // The plan is known even though its image is unavailable.
            Err(fault) => {
                let source = self.base_source(ask).await?;
                let planned = self.environments.plan_on(ask.settings.clone(), source, None).await;
                let of_image = |plan: EnvironmentPlan| match plan.image {
                    // Its tools are unknown.
                    Some(_) => EnvironmentPlan { required_tools: Vec::new(), ..plan },
                    None => plan,
                };
                planned.map(of_image).map_err(|_| fault.into())
            }
        }
    }

    async fn base_source(&self, ask: &TestRunRequest) -> Result<SourceTree, EffectError> {
        let (repository, base) = (ask.repository.clone(), ask.base.clone());
        self.git(move |workspaces| workspaces.source_tree(&repository, &base)).await
    }

    /// The environment of the base commit for jobs in a folder, and what image names mean. Without a sandbox, an
    /// environment works at one path only.
    pub(crate) async fn environment_request(
        &self,
        ask: &TestRunRequest,
        folder: &Path,
    ) -> Result<(EnvironmentRequest, PinnedImages), PlanFault> {
        let source = self.base_source(ask).await?;
        let planned = self.environments.plan(ask.settings.clone(), source.clone(), &ask.images).await?;
        let (plan, images) = planned;
        let inside = self.environments.inside(folder);
        let of = (ask.repository.clone(), ask.base.clone());
        let asked = EnvironmentRequest::of_base(&self.settings, of, source, plan, ask.owner(), inside);
        Ok((asked, images))
    }

    /// The same as [`Self::survey`], with the environment for jobs in a folder.
    pub(crate) async fn survey_in(
        &self,
        folder: &Path,
        tests: &TestRunRequest,
        enough: BaselineSource,
    ) -> Result<EnvironmentSurvey, EffectError> {
        let (ask, images) = match self.environment_request(tests, folder).await {
            Ok(planned) => planned,
            Err(PlanFault::Problem(problem)) => return Ok(EnvironmentSurvey::without_plan(problem)),
            Err(PlanFault::Trouble(trouble)) => return Err(trouble),
        };
        let (ask, tests) = (&ask, &TestRunRequest { images: images.clone(), ..tests.clone() });
        let report = EnvironmentReport {
            source: ask.plan.source.to_string(),
            image: ask.plan.image.clone(),
            images,
            notes: notes(&ask.plan),
            ..EnvironmentReport::default()
        };
        let remedy = change_the(&ask.plan, "setup");
        let mut survey = EnvironmentSurvey { report, remedy, ..EnvironmentSurvey::default() };
        let is_new = ask.plan.source == EnvironmentSource::Nothing && ask.plan.test.is_none();
        if is_new && !self.settings.setup_network_for_changes {
            survey.report.notes.push(NEW_PROJECT.to_owned());
        }
        match Box::pin(self.environments.prepare(ask)).await? {
            Preparation::Failed(failed) => {
                survey.report.problem = Some(of_setup(&ask.plan, &failed));
                survey.report.setup = Some(failed.run.clone());
                survey.report.tail = journeyman_verify::tail(&failed.output.text);
                survey.steps.push(failed.run);
                survey.setup_failure = Some(failed.output);
            }
            Preparation::Ready(environment) => {
                survey.report.setup = environment.record.setup.clone();
                survey.report.kept = environment.is_kept;
                survey.steps = environment.record.steps.clone();
                let lifetime = self.settings.test_time;
                if let Err(failure) = self.environments.start_services(&ask.plan.services, lifetime).await? {
                    survey.report.problem = Some(of_service(&failure));
                    return Ok(survey);
                }
                if ask.plan.test.is_some() {
                    self.try_tests(ask, tests, enough, &mut survey).await?;
                }
            }
        }
        Ok(survey)
    }

    /// Runs the tests on the base commit, which every verdict on a change of it needs anyway.
    async fn try_tests(
        &self,
        ask: &EnvironmentRequest,
        tests: &TestRunRequest,
        enough: BaselineSource,
        survey: &mut EnvironmentSurvey,
    ) -> Result<(), EffectError> {
        let (mut outcome, mut tests_alone) = self.run_base(tests, enough).await?;
        let mut problem = of_tests(ask, tests, &outcome);
        if outcome.kept && problem.is_some() {
            // A missing program may have been installed on this machine since.
            (outcome, tests_alone) = self.run_base(tests, BaselineSource::Run).await?;
            problem = of_tests(ask, tests, &outcome);
        }
        let CachedBaseline { test, reading, tail, .. } = outcome;
        let Some(run) = test else { return Ok(()) };
        if let (Some(whole), Some(alone)) = (ask.plan.test_command(), &tests_alone) {
            survey.report.notes.push(judged_by(whole, alone, &reading));
        }
        survey.tests_alone = tests_alone;
        survey.report.problem = problem;
        survey.verdict = Some(journeyman_verify::verdict(&run.exit, reading.counts.as_ref()));
        survey.report.baseline = Some(BaselineRun { run, counts: reading.counts });
        (survey.reading, survey.tail) = (reading, tail);
        Ok(())
    }
}

/// Says that changes are judged by another command than the planned one.
pub fn judged_by(whole: &str, other: &str, reading: &TestReport) -> String {
    let why = match reading.counts.is_some_and(|counts| counts.failed > 0) {
        true => "runs no test",
        false => "fails although no test fails",
    };
    format!("`{whole}` {why}, so changes are judged by `{other}`")
}

fn of_setup(plan: &EnvironmentPlan, failed: &FinishedCommand) -> EnvironmentProblem {
    if let Some(limit) = &failed.limit {
        return EnvironmentProblem {
            what: format!("The setup `{}` {limit}", failed.run.command),
            line: None,
            remedy: match limit.setting() {
                Some(key) => format!("Raise {key} in journeyman.toml, or install less."),
                None => "Install less.".to_owned(),
            },
        };
    }
    let command = &failed.run.command;
    let what = match failed.run.exit {
        Exit::TimedOut => format!("The setup `{command}` did not end in time"),
        exit @ (Exit::Code(_) | Exit::Signal(_)) => format!("The setup `{command}` ended with {exit}"),
    };
    let refused = failed.network.iter().flat_map(|network| &network.refused);
    let refused: Vec<String> = refused.map(|refused| refused.what.clone()).take(MOST_IN_A_SENTENCE).collect();
    let unset = unset_variable(&failed.output.text);
    let remedy = match (failed.run.exit, refused.as_slice()) {
        (Exit::TimedOut, _) => "Raise limits.setup_seconds in journeyman.toml.".to_owned(),
        _ if untrusted_certificate(&failed.output.text).is_some() => CERTIFICATE.to_owned(),
        _ if let Some(name) = &unset => format!(
            "Set {name} as `env` in {OWN_SETTINGS} on the default branch; in place of a token any word will do. {CREDENTIAL}"
        ),
        _ if wants_credentials(&failed.output.text) => CREDENTIAL.to_owned(),
        (_, [_, ..]) => format!(
            "It was kept from {}: allow that with sandbox.setup_network in journeyman.toml, or {}.",
            refused.join(", "),
            match matches!(plan.source, EnvironmentSource::Settings { .. }) {
                true => "install it from a registry".to_owned(),
                false => format!("name a `setup` in {OWN_SETTINGS} that does without"),
            }
        ),
        (_, []) => change_the(plan, "setup"),
    };
    EnvironmentProblem { what, line: telling_line(&failed.output.text), remedy }
}

fn of_service(failure: &ServiceFailure) -> EnvironmentProblem {
    let remedy = format!(
        "Change the service in {OWN_SETTINGS}, or where else it stands, on the default branch: its `image`, `env`, or \
         `ready`, a command that succeeds in it once it can be used."
    );
    EnvironmentProblem { what: failure.to_string(), line: telling_line(&failure.said), remedy }
}

fn of_tests(
    ask: &EnvironmentRequest,
    tests: &TestRunRequest,
    outcome: &CachedBaseline,
) -> Option<EnvironmentProblem> {
    let run = outcome.test.as_ref()?;
    let problem = |what: &str, line: Option<String>, remedy: String| {
        Some(EnvironmentProblem { what: format!("The tests `{}` {what}", run.command), line, remedy })
    };
    let is_own = |module: &str| is_own(&ask.source, module);
    let missing = missing_for_tests(run.exit, &outcome.reading, &outcome.tail, &is_own);
    if missing.is_some() {
        return problem("cannot run", missing, change_the(&ask.plan, "setup"));
    }
    let missing = match tests.settings.accept {
        AcceptedRun::AllPass => missing_program(run.exit, &outcome.tail),
        // A missing program fails before and after alike, and the tests that run are judged.
        AcceptedRun::NoNewFailures => None,
    };
    if missing.is_some() {
        let what = "cannot pass while a program is missing";
        return problem(what, missing, change_the(&ask.plan, "setup"));
    }
    let not_loaded = not_loaded(run.exit, &outcome.reading, &outcome.tail);
    let is_red = matches!(run.exit, Exit::Code(code) if code != 0) && !ran_any(&outcome.reading);
    // Each begins with its path. Without counts, tests may have run: then only a path in the output counts.
    let is_cause = |lacking: &String| {
        let path = lacking.split(": ").next().unwrap_or(lacking);
        is_red && (not_loaded.is_some() || outcome.reading.counts.is_some() || outcome.tail.contains(path))
    };
    for (missing, and, these) in [
        (ask.source.missing_submodules(), "submodules are empty", "Submodules that are not checked out"),
        (ask.source.missing_large_files(), "files of Git LFS are pointers", "Files that are not here"),
    ] {
        let causes: Vec<String> = missing.into_iter().filter(is_cause).collect();
        if !causes.is_empty() {
            let remedy = format!("{these}: {}.", causes.join("; ").trim_end_matches('.'));
            return problem(&format!("cannot run, and {and}"), telling_line(&outcome.tail), remedy);
        }
    }
    if not_loaded.is_some() {
        let change = change_the(&ask.plan, "setup");
        let remedy = format!("{change} If the code itself is at fault, fix it on the default branch.");
        return problem("cannot run, since none of them compiles or loads", not_loaded, remedy);
    }
    let alike = failing_alike(run.exit, &outcome.reading, &outcome.tail, &is_own);
    // Where the issue is about that, or red tests are expected, the failure may be the work.
    let is_work = |line: &String| {
        tests.settings.accept == AcceptedRun::NoNewFailures || tells_of_failure(&tests.issue, line)
    };
    if let Some(line) = alike.filter(|line| !is_work(line)) {
        let what = "all fail in the same way, so that the environment is probably wrong";
        return problem(what, Some(line), mend_alike(&ask.plan));
    }
    if run.exit != Exit::TimedOut {
        return None;
    }
    let remedy = format!(
        "Raise limits.test_seconds in journeyman.toml, or name a `test` in {OWN_SETTINGS} that is shorter and ends by \
         itself."
    );
    problem("did not end in time", None, remedy)
}

/// What to change where every test fails alike: the command if it is a guess, else what it needs.
fn mend_alike(plan: &EnvironmentPlan) -> String {
    let guess = plan.test.as_ref().filter(|test| !test.is_stated).map(|test| {
        format!(
            "The command is a guess from {}: if it is not how the tests are run, name that as `test` in {OWN_SETTINGS} on \
             the default branch. Else: ",
            test.because
        )
    });
    format!(
        "{}{} If the issue is that these tests fail, say so in it or in a comment.",
        guess.unwrap_or_default(),
        change_the(plan, "setup")
    )
}

/// What to change: a missing tool first, then whatever the plan's source suggests.
fn change_the(plan: &EnvironmentPlan, key: &str) -> String {
    let change = match &plan.source {
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
    };
    let lacking: Vec<String> = lacking(plan)
        .map(|tool| match &tool.version {
            Some(version) => format!("{} {version}", tool.tool),
            None => tool.tool.to_owned(),
        })
        .collect();
    if lacking.is_empty() {
        return change;
    }
    let place = if plan.image.is_some() { "in its image" } else { "on this machine" };
    format!(
        "{} is asked for and not {place}: install it there, or name an `image` that has it in {OWN_SETTINGS}. If that \
         is not why: {change}",
        lacking.join(" and ")
    )
}

/// What was left out, and tools that are not what the repository asks for.
fn notes(plan: &EnvironmentPlan) -> Vec<String> {
    lacking(plan).map(ToString::to_string).chain(plan.notes.iter().cloned()).collect()
}

fn lacking(plan: &EnvironmentPlan) -> impl Iterator<Item = &RequiredTool> {
    plan.required_tools.iter().filter(|tool| matches!(tool.fit, ToolFit::Missing | ToolFit::OtherVersion))
}

fn is_own(source: &SourceTree, module: &str) -> bool {
    let top = module.split(['.', '/']).next().unwrap_or(module);
    source
        .paths()
        .any(|path| path.iter().any(|part| Path::new(part).file_stem().is_some_and(|stem| stem == top)))
}
