//! Tests the commit to publish in a fresh checkout, and runs the experiments that show whether to believe a pass.
//!
//! May know: the sandbox, our commits, test commands and their output.
//! Must never know: orders, journals, agents, GitHub.

mod base_setup;
mod baseline;
mod change;
mod checkout;
mod checkout_run;
mod context;
mod examination;
mod examples;
mod experiment;
mod mutants;
mod report;
mod runner;
mod unrun;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use journeyman_environment::{EnvironmentPlan, edited_setup, judge_by, without_own_tests};
use journeyman_order::scrutiny::VerdictRun;
use journeyman_order::{
    CommitSha, ComparisonVerdict, EffectError, IssueExamination, PinnedImages, RepositoryName,
    RepositorySettings, TestRun, TestVerdict, TestingSettings, TreeSha, UnrunProject,
};
use journeyman_sandbox::Sandbox;
use journeyman_verify::experiment::{ExperimentName, commit_verdict, fatal_signal, to_come, words_of};
use journeyman_verify::{Overlay, ran_any};
use journeyman_workspace::{GitError, SourceTree, Workspaces};

pub use crate::command::CommandOutput;
use crate::environment::{EnvironmentOwner, Environments};
use crate::job::{blocking, remove};
use base_setup::BaseSetup;
pub(crate) use baseline::CachedBaseline;
use change::read_change;
use checkout::CheckoutPool;
use checkout_run::CheckoutRunSpec;
use context::{ExperimentContext, recorded};
use unrun::not_tested;

/// What the run with the base's setup is called.
const BASE_SETUP: &str = "-base-setup";

#[derive(Clone)]
pub struct CommitTester {
    pub sandbox: Sandbox,
    pub workspaces: Workspaces,
    pub environments: Environments,
    pub settings: TestingSettings,
}

/// A change to verify: a commit, the base that it is compared with, and how the repository is tested.
#[derive(Debug, Clone)]
pub struct TestRunRequest {
    pub repository: RepositoryName,
    /// The commit that says how to test, and whose tests are guarded.
    pub base: CommitSha,
    /// Whether the base is a commit of the default branch and contains nothing that an agent wrote.
    pub base_is_of_the_default_branch: bool,
    pub commit: CommitSha,
    /// Whether anybody can have written it: then the server's settings for changes give its setup no network.
    pub is_of_a_fork: bool,
    pub settings: RepositorySettings,
    /// The issue's text, whose examples are run; empty if unknown.
    pub issue: String,
    /// The examiner's statements on the issue. `None` if it was not examined.
    pub examination: Option<IssueExamination>,
    /// What image names are known to mean. The others are looked up.
    pub images: PinnedImages,
    /// A folder for this run only; deleted before and after.
    pub folder: PathBuf,
    /// Where private environments are kept.
    pub environments: PathBuf,
}

impl TestRunRequest {
    /// A change of which nothing else is known, with its folders in a place.
    #[must_use]
    pub fn new(
        repository: RepositoryName,
        [base, commit]: [CommitSha; 2],
        settings: RepositorySettings,
        place: &Path,
    ) -> Self {
        Self {
            repository,
            base,
            base_is_of_the_default_branch: false,
            commit,
            is_of_a_fork: false,
            settings,
            issue: String::new(),
            examination: None,
            images: PinnedImages::default(),
            folder: place.join("tests"),
            environments: place.join("environments"),
        }
    }

    /// The owner of the base's environment: shared only if the base is on the default branch.
    pub(crate) fn owner(&self) -> EnvironmentOwner {
        match self.base_is_of_the_default_branch {
            true => EnvironmentOwner::Repository,
            false => EnvironmentOwner::Folder(self.environments.clone()),
        }
    }

    /// The one folder for all runs of a verdict that have none of their own.
    pub(crate) fn only_folder(&self) -> PathBuf {
        self.folder.join("run")
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct TestRunResult {
    pub run: TestRun,
    pub outputs: Vec<CommandOutput>,
    pub is_image_by_digest: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaselineSource {
    KnownOrRun,
    Run,
}

/// What all runs of a verdict share.
#[derive(Clone)]
struct VerdictBasis<'a> {
    testing: &'a CommitTester,
    ask: &'a TestRunRequest,
    tree: TreeSha,
    before: EnvironmentPlan,
    base: SourceTree,
    plan: EnvironmentPlan,
    doubt: Option<String>,
    /// Projects that the change edits and whose tests are not known to run.
    unrun: Vec<UnrunProject>,
    checkouts: Arc<CheckoutPool>,
    edited_setup: Vec<String>,
    /// Files of the base that overlay the change in each run.
    put_back: Vec<Overlay>,
    /// Whether only the tests in the planned command run, because the whole command fails on the base.
    is_by_tests_alone: bool,
    is_image_by_digest: bool,
}

impl CommitTester {
    /// Creates a tester with its own environments.
    pub async fn new(
        sandbox: Sandbox,
        workspaces: Workspaces,
        settings: TestingSettings,
    ) -> Result<Self, EffectError> {
        let environments = Environments::new(sandbox.clone(), workspaces.clone(), settings.clone()).await?;
        Ok(Self { sandbox, workspaces, environments, settings })
    }

    /// Runs the tests on a commit, and the experiments around them.
    pub async fn run(&self, ask: &TestRunRequest) -> Result<TestRunResult, EffectError> {
        // A killed run may have left files here, and every run needs a fresh checkout.
        remove(&ask.folder).await?;
        let tested = self.judge(ask).await;
        if let Err(trouble) = remove(&ask.folder).await {
            tracing::warn!("left behind: {}", trouble.message);
        }
        tested
    }

    /// Runs the tests on the base commit, or returns the known result if that is enough. And the narrower command that
    /// judges changes, if there is one.
    pub(crate) async fn run_base(
        &self,
        ask: &TestRunRequest,
        enough: BaselineSource,
    ) -> Result<(CachedBaseline, Option<String>), EffectError> {
        remove(&ask.folder).await?;
        let basis = self.verdict_basis(ask, enough).await?;
        // A basis that depends on a run has made that run already.
        let is_made = basis.is_by_tests_alone || basis.before.tests_alone().is_some();
        let source = if is_made { BaselineSource::KnownOrRun } else { enough };
        let ran = Box::pin(basis.baseline(source)).await;
        remove(&ask.folder).await?;
        let mut ran = ran?;
        ran.kept &= enough == BaselineSource::KnownOrRun;
        let tests_alone = basis.is_by_tests_alone.then(|| basis.before.test_command().map(str::to_owned));
        Ok((ran, tests_alone.flatten()))
    }

    async fn judge(&self, ask: &TestRunRequest) -> Result<TestRunResult, EffectError> {
        let basis = self.verdict_basis(ask, BaselineSource::KnownOrRun).await?;
        let is_image_by_digest = basis.is_image_by_digest;
        let mut outputs = Vec::new();
        let mut run = TestRun {
            commit: ask.commit.clone(),
            tree: basis.tree.clone(),
            verdict: TestVerdict::NoTests,
            doubt: basis.doubt.clone(),
            left_out: basis.plan.left_out.clone(),
            unrun: basis.unrun.clone(),
            setup: None,
            test: None,
            signal: None,
            counts: None,
            failing: Vec::new(),
            tail: String::new(),
            image: basis.plan.image.clone(),
            sandbox: self.sandbox.mode().to_string(),
            network: BTreeMap::new(),
            scrutiny: None,
            artifacts: Vec::new(),
        };
        if basis.plan.test.is_none() {
            return Ok(TestRunResult { run, outputs, is_image_by_digest });
        }
        // If the base has no tests, or the commit is the base, there is nothing to compare with.
        let is_compared = basis.before.test.is_some() && ask.commit != ask.base;
        let mut words = words_of(ExperimentName::Change);
        if is_compared {
            words.push_str(&format!(" · run 2 of about {}", to_come(&[])));
        }
        let all = |what, plan| CheckoutRunSpec::all(what, &ask.commit, plan);
        let first = |what, plan| CheckoutRunSpec { words: &words, ..all(what, plan) };
        let compared = async {
            if !is_compared {
                return Ok(None);
            }
            let baseline = basis.baseline(BaselineSource::KnownOrRun).await?;
            Ok(Some(ExperimentContext::new(&basis, read_change(&basis).await?, baseline)))
        };
        let set_up = match is_compared {
            true => basis.with_base_setup().await?,
            false => None,
        };
        let by_base = async {
            let Some(BaseSetup::PutBack(by_base)) = &set_up else { return Ok(None) };
            let ran = by_base.run_in_checkout(first(BASE_SETUP, &by_base.plan)).await?;
            Ok(Some((&**by_base, ran)))
        };
        let own = basis.run_in_checkout(first("", &basis.plan));
        let (own, by_base, compared) = tokio::try_join!(own, by_base, compared)?;
        outputs.extend(own.outputs());
        outputs.extend(by_base.iter().flat_map(|(_, ran)| ran.outputs()));
        let mut runs: Vec<VerdictRun> = own.commands().map(|run| recorded("", run)).collect();
        let by_base_setup = by_base.iter().flat_map(|(_, ran)| ran.commands());
        runs.extend(by_base_setup.map(|run| recorded(BASE_SETUP, run)));
        let by_base = by_base.filter(|(_, ran)| ran.is_passed());
        let is_offline = by_base.is_some() && basis.is_offline_failure(&own).await?;
        if is_offline {
            run.doubt.get_or_insert_with(|| basis.offline_setup_doubt());
        } else if set_up.is_some() && (by_base.is_none() || !own.is_passed()) {
            run.doubt.get_or_insert_with(|| basis.own_setup_doubt());
        }
        // The run that the experiment uses, and the run that is reported for the commit.
        let by_base = by_base.filter(|_| is_offline || own.is_passed());
        let judged = by_base.as_ref().map_or(&own, |(_, ran)| ran);
        let ran = if is_offline { judged } else { &own };
        run.network = ran.network();
        run.setup = ran.setup.as_ref().map(|ended| ended.run.clone());
        run.tail = ran.tail();
        let Some(ended) = &ran.test else {
            run.verdict = TestVerdict::SetupFailed;
            if let Some(record) = basis.asked_in_vain(&own).await? {
                run.doubt = Some(own.kept_out(&record));
                run.network.insert("setup".to_owned(), record);
            }
            return Ok(TestRunResult { run, outputs, is_image_by_digest });
        };
        run.verdict = journeyman_verify::verdict(&ended.run.exit, ran.reading.counts.as_ref());
        (run.counts, run.failing) = (ran.reading.counts, ran.reading.failing.clone());
        run.test = Some(ended.run.clone());
        if let Some((signal, said)) = fatal_signal(&ran.cell()) {
            // What ran after the crash says nothing about it.
            (run.signal, run.tail) = (Some(signal), journeyman_verify::tail(said));
        }
        run.doubt = run.doubt.or_else(|| not_tested(&basis.unrun, &ran.without_tests));
        if let Some(mut context) = compared {
            outputs.append(&mut context.baseline.outputs);
            if let Some((basis, _)) = &by_base {
                context.basis = basis;
            }
            let mut scrutiny = context.experiment(judged, &mut outputs).await?;
            runs.append(&mut scrutiny.runs);
            scrutiny.runs = runs;
            scrutiny.base_setup = by_base.as_ref().and_then(|(_, ran)| Some(ran.test.as_ref()?.run.clone()));
            run.verdict = commit_verdict(run.verdict, &scrutiny, ask.settings.accept, &ask.issue);
            run.doubt = run.doubt.or_else(|| scrutiny.never_seen_to_fail());
            let compiled = &context.change.compiled;
            if !compiled.is_empty() {
                let named = compiled.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
                run.doubt.get_or_insert_with(|| {
                    format!("compiled code came with the change, which nobody can read: {named}")
                });
            }
            // Unreadable code may simply contain the answers that the tests expect.
            if let Some((path, because)) = context.change.overgrown.first_key_value() {
                run.doubt.get_or_insert_with(|| {
                    format!(
                        "nobody can read what comes with {path}, since {because}: make it smaller, keep data in a file that is \
                         no program, or decide yourself"
                    )
                });
            }
            if scrutiny.judged == ComparisonVerdict::PassedBesideRed {
                run.doubt = run.doubt.or_else(|| scrutiny.unshown_beside_red());
            }
            run.scrutiny = Some(Box::new(scrutiny));
        }
        Ok(TestRunResult { run, outputs, is_image_by_digest })
    }

    /// The base commit decides the test command: it provides the settings and the files to detect it from.
    async fn verdict_basis<'a>(
        &'a self,
        ask: &'a TestRunRequest,
        enough: BaselineSource,
    ) -> Result<VerdictBasis<'a>, EffectError> {
        let TestRunRequest { repository, base, commit, .. } = ask.clone();
        let checkouts = Arc::new(CheckoutPool::for_mode(self.sandbox.mode()));
        let sources = self.git(move |workspaces| {
            let source = |commit: &CommitSha| workspaces.source_tree(&repository, commit);
            Ok((source(&base)?, source(&commit)?, workspaces.tree_of(&repository, &commit)?))
        });
        let (base, commit, tree) = sources.await?;
        let (before, images) =
            self.environments.plan(ask.settings.clone(), base.clone(), &ask.images).await?;
        let (changed, changed_source) = (commit.difference(&base), commit.clone());
        let image = before.image.as_deref();
        // Whether the image was named by digest.
        let is_named =
            |pinned: &str| images.iter().any(|(name, means)| means == pinned && name.contains('@'));
        let is_image_by_digest = image.is_some_and(is_named);
        let after = self.environments.plan_on(ask.settings.clone(), commit, image).await?;
        let below = before.projects_concerned(&changed, &after);
        let with = |below: &[String]| {
            let both = [&before, &after].map(|plan| plan.clone().with_projects(below).for_change(&changed));
            let [before, after] = both;
            let edited_setup = edited_setup(&before, &after, &changed);
            let plan = judge_by(before.clone(), after);
            VerdictBasis {
                testing: self,
                ask,
                tree: tree.clone(),
                doubt: without_own_tests(&before, &plan),
                plan,
                before,
                base: base.clone(),
                unrun: Vec::new(),
                checkouts: Arc::clone(&checkouts),
                edited_setup,
                put_back: Vec::new(),
                is_by_tests_alone: false,
                is_image_by_digest,
            }
        };
        let mut basis = Box::pin(with(&below).by_tests_alone(enough)).await?;
        if !Box::pin(basis.runs_on_base(&below, enough)).await? {
            basis = Box::pin(with(&[]).by_tests_alone(enough)).await?;
        }
        basis.unrun = unrun::projects(&basis, changed_source, changed).await?;
        Ok(basis)
    }

    pub(crate) async fn git<T: Send + 'static>(
        &self,
        work: impl FnOnce(Workspaces) -> Result<T, GitError> + Send + 'static,
    ) -> Result<T, EffectError> {
        let workspaces = self.workspaces.clone();
        blocking(move || work(workspaces)).await?.map_err(EffectError::from)
    }
}

impl VerdictBasis<'_> {
    /// If the base fails although its tests do not, a narrower command judges the change.
    async fn by_tests_alone(self, enough: BaselineSource) -> Result<Self, EffectError> {
        let Some(other) = self.before.tests_alone() else { return Ok(self) };
        let whole = self.baseline(enough).await?;
        // A test that fails in the whole run may be the issue's. A test that does not build is not.
        let is_red =
            whole.reading.counts.is_some_and(|counts| counts.failed > whole.reading.unloaded.len() as u64);
        if is_red || whole.is_passed() != Some(false) {
            return Ok(self);
        }
        let mut by_other = Self { is_by_tests_alone: true, ..self.clone() };
        (by_other.plan.test, by_other.plan.folders) = (other.test.clone(), other.folders.clone());
        by_other.before = other;
        let ran = by_other.baseline(enough).await?;
        let runs_more = ran_any(&ran.reading) && !ran_any(&whole.reading);
        Ok(if runs_more || ran.is_passed() == Some(true) { by_other } else { self })
    }
}
