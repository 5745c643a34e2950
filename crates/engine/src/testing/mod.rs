//! The tests, run by us: on the commit to publish, checked out afresh, without credentials and without network; and
//! beside it what shows whether a pass can be believed.
//!
//! May know: the sandbox, our commits, what test commands there are and what their output says.
//! Must never know: orders, journals, agents, GitHub. Whoever wants a verdict names two commits and the settings.

mod baseline;
mod change;
mod checkout;
mod checkout_run;
mod command;
mod detector;
mod downloads;
mod experiment;
mod mutants;
mod overlay;
mod tracked;

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::effect_error::never;
use journeyman_order::test_run::CommandRun;
use journeyman_order::{
    CommitSha, EffectError, Exit, RepositoryName, RepositorySettings, Scrutiny, TestRun, TestVerdict,
    TestingSettings, TreeSha,
};
use journeyman_sandbox::Sandbox;
use journeyman_verify::TestPlan;
use journeyman_workspace::{GitError, Workspaces, remove_all};

use change::read_change;
use checkout::CheckoutPool;
use checkout_run::CheckoutRunSpec;
use experiment::ExperimentContext;

/// Runs the tests of repositories on commits of ours. Cheap to clone.
#[derive(Clone)]
pub struct CommitTester {
    pub sandbox: Sandbox,
    /// Where the commits are.
    pub workspaces: Workspaces,
    pub settings: TestingSettings,
}

/// What is to be tested.
#[derive(Debug, Clone)]
pub struct TestRunRequest {
    /// Whose commits they are.
    pub repository: RepositoryName,
    /// The commit that says how it is tested, and whose tests are guarded.
    pub base: CommitSha,
    /// Whether it is a commit of the default branch, and nothing that an agent wrote is in it.
    pub base_is_of_the_default_branch: bool,
    /// The commit to test.
    pub commit: CommitSha,
    pub tree: TreeSha,
    pub settings: RepositorySettings,
    /// A folder of this run's own; emptied before and after.
    pub folder: PathBuf,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct TestRunResult {
    /// The verdict and its evidence.
    pub run: TestRun,
    /// The end of what each command printed.
    pub outputs: Vec<CommandOutput>,
}

/// What of the end of an output is kept, in bytes.
const MOST_KEPT: usize = 2 << 20;

/// The end of what one command printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    /// Which it was, such as `tests` or `setup-base`.
    pub name: String,
    /// At most 2 MiB.
    pub text: String,
}

/// By what a commit is judged, and what it changes.
struct VerdictBasis {
    before: TestPlan,
    plan: TestPlan,
    /// Why a pass verifies nothing.
    doubt: Option<String>,
    checkouts: CheckoutPool,
}

impl CommitTester {
    /// Runs the tests on a commit, and whatever else it takes to believe the verdict.
    ///
    /// # Errors
    /// When the sandbox, the disk or the repository fails; never by what the tests do.
    pub async fn run(&self, ask: &TestRunRequest) -> Result<TestRunResult, EffectError> {
        // What was left by one that was killed is gone before this one begins: every run is on a fresh checkout.
        remove(&ask.folder).await?;
        let tested = self.judge(ask).await;
        if let Err(trouble) = remove(&ask.folder).await {
            tracing::warn!("left behind: {}", trouble.message);
        }
        tested
    }

    async fn judge(&self, ask: &TestRunRequest) -> Result<TestRunResult, EffectError> {
        let judging = self.verdict_basis(ask).await?;
        let mut outputs = Vec::new();
        let mut run = TestRun {
            commit: ask.commit.clone(),
            tree: ask.tree.clone(),
            verdict: TestVerdict::NoTests,
            doubt: judging.doubt.clone(),
            setup: None,
            test: None,
            counts: None,
            failing: Vec::new(),
            tail: String::new(),
            sandbox: self.sandbox.mode().to_string(),
            network: BTreeMap::new(),
            scrutiny: None,
            artifacts: Vec::new(),
        };
        if judging.plan.test.is_none() {
            return Ok(TestRunResult { run, outputs });
        }
        let first = CheckoutRunSpec {
            what: "",
            commit: &ask.commit,
            overlays: Vec::new(),
            plan: &judging.plan,
            only: None,
            environment: BTreeMap::new(),
        };
        // Where the base has no tests of its own, and where the commit is the base, there is nothing to hold it against.
        let is_compared = judging.before.test.is_some() && ask.commit != ask.base;
        let compared = async {
            if !is_compared {
                return Ok(None);
            }
            let baseline = self.baseline(ask, &judging).await?;
            let change = read_change(self, ask, &judging).await?;
            let bench = ExperimentContext { testing: self, ask, judging: &judging, change, baseline };
            let early = bench.old_tests_early().await?;
            Ok(Some((bench, early)))
        };
        let (ran, compared) =
            tokio::try_join!(self.run_in_checkout(ask, &judging.checkouts, first), compared)?;
        outputs.extend(ran.outputs());
        run.network = ran.network();
        run.setup = ran.setup.as_ref().map(|ended| ended.run.clone());
        run.tail = journeyman_verify::tail(ran.last_output());
        let Some(ended) = &ran.test else {
            run.verdict = TestVerdict::SetupFailed;
            return Ok(TestRunResult { run, outputs });
        };
        run.verdict = journeyman_verify::verdict(&ended.run.exit, ran.reading.counts.as_ref());
        (run.counts, run.failing) = (ran.reading.counts, ran.reading.failing.clone());
        run.test = Some(ended.run.clone());
        if let Some((mut bench, early)) = compared {
            outputs.append(&mut bench.baseline.outputs);
            let scrutiny = bench.experiment(&ran, early, &mut outputs).await?;
            run.verdict = verdict(run.verdict, &scrutiny);
            run.doubt = run.doubt.or_else(|| scrutiny.never_seen_to_fail());
            run.scrutiny = Some(Box::new(scrutiny));
        }
        Ok(TestRunResult { run, outputs })
    }

    /// The command is the base commit's affair: settings come from there, and what is found is found there.
    async fn verdict_basis(&self, ask: &TestRunRequest) -> Result<VerdictBasis, EffectError> {
        let TestRunRequest { repository, base, commit, settings, .. } = ask.clone();
        let places = CheckoutPool::for_mode(self.sandbox.mode());
        self.git(move |workspaces| {
            let base_root = workspaces.root_files(&repository, &base)?;
            let root = workspaces.root_files(&repository, &commit)?;
            let read_base = |path: &str| workspaces.file(&repository, &base, path).ok().flatten();
            let read = |path: &str| workspaces.file(&repository, &commit, path).ok().flatten();
            let before = journeyman_verify::plan(&settings, &base_root, &read_base);
            let after = journeyman_verify::plan(&settings, &root, &read);
            let plan = journeyman_verify::judge_by(before.clone(), after);
            let doubt = journeyman_verify::without_own_tests(&before, &plan);
            Ok(VerdictBasis { plan, before, doubt, checkouts: places })
        })
        .await
    }

    async fn git<T: Send + 'static>(
        &self,
        work: impl FnOnce(Workspaces) -> Result<T, GitError> + Send + 'static,
    ) -> Result<T, EffectError> {
        let workspaces = self.workspaces.clone();
        blocking(move || work(workspaces)).await?.map_err(EffectError::from)
    }
}

/// What a run comes to, with the experiment around it: a pass can only be taken away, unless what failed was flaky. A
/// test that is red on the base excuses nothing: it may be the very one that the issue is about.
fn verdict(alone: TestVerdict, scrutiny: &Scrutiny) -> TestVerdict {
    use journeyman_order::ComparisonVerdict;
    let is_bent = !scrutiny.objections().is_empty();
    match (alone, scrutiny.judged) {
        (TestVerdict::Passed | TestVerdict::NoTests, _) if is_bent => TestVerdict::Weakened,
        (TestVerdict::Passed, ComparisonVerdict::Failed) => TestVerdict::Failed,
        // What failed once passed on the same commit: flaky, and named as that.
        (TestVerdict::Failed, ComparisonVerdict::Passed) if !is_bent => TestVerdict::Passed,
        (alone, _) => alone,
    }
}

/// Work that would keep a thread of the runtime busy.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, EffectError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| never(format!("a fault of Journeyman's own: {error}")))
}

/// Also folders that somebody made unwritable, as Go does with its module cache. Takes time where there is much.
async fn remove(place: &std::path::Path) -> Result<(), EffectError> {
    let place = place.to_owned();
    blocking(move || {
        remove_all(&place)
            .map_err(|error| super::effect_error::soon(format!("cannot clear {}: {error}", place.display())))
    })
    .await?
}

/// Whether a command ended well.
fn is_good(run: &CommandRun) -> bool {
    run.exit == Exit::Code(0)
}
