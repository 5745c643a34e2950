//! Our check run: one per order and commit, whatever goes wrong on the way.

use journeyman_emulator::{
    CheckConclusion, EmulatedAnnotation as Annotated, EmulatedCheckRun, Fault, FaultKind,
};
use journeyman_github::{CheckButton, InstalledRepository, OrderCheckRun};
use journeyman_order::conversation::{
    AnnotationLevel, CheckAnnotation, CheckRunOutput, CheckRunState, ChecksSnapshot,
};
use journeyman_order::moves::Retry;
use journeyman_order::{CommitSha, EffectOutcome, InstallationId, Move};

use super::{EffectsFixture, REPOSITORY, name};

impl EffectsFixture {
    pub(super) async fn base(&self) -> CommitSha {
        self.journal().await.prepared().expect("prepared").base.clone()
    }

    pub(super) fn at(&self) -> InstalledRepository {
        InstalledRepository {
            repository: name(),
            installation: InstallationId(self.emulator.installation_id()),
        }
    }

    pub(super) fn strike(&self, method: &str, path: &str, kind: FaultKind) {
        let (method, path_contains) = (Some(method.to_owned()), path.to_owned());
        self.emulator.inject(Fault { method, path_contains, times: 1, kind });
    }

    fn ours(&self, head: &CommitSha) -> Vec<EmulatedCheckRun> {
        let mut runs = self.emulator.check_runs(REPOSITORY, head.as_str());
        runs.retain(|run| run.by_app);
        runs
    }

    fn writes(&self) -> usize {
        let calls = self.emulator.calls();
        calls.iter().filter(|call| call.method != "GET" && call.path.contains("check-runs")).count()
    }
}

fn text(annotations: usize) -> CheckRunOutput {
    let annotation = |at: usize| CheckAnnotation {
        path: "sums.py".to_owned(),
        line: 2,
        level: AnnotationLevel::Warning,
        title: "major".to_owned(),
        message: format!("number {at}"),
    };
    CheckRunOutput {
        title: "Not verified".to_owned(),
        summary: "As it stands.\r\n".to_owned(),
        annotations: (0..annotations).map(annotation).collect(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn there_is_one_check_run_and_the_same_again_writes_nothing() {
    let world = EffectsFixture::new().await;
    let head = world.base().await;
    let show = |state| Move::ShowCheck { head: head.clone(), state };
    assert_eq!(world.make("check/1", show(CheckRunState::InProgress)).await, EffectOutcome::Done);
    assert_eq!(world.make("check/1", show(CheckRunState::InProgress)).await, EffectOutcome::Done);
    assert_eq!(world.writes(), 1);
    let [run] = world.ours(&head).try_into().expect("one");
    assert_eq!((run.name.as_str(), run.status.as_str()), ("journeyman", "in_progress"));
    assert_eq!(run.external_id, world.order.to_string());
    assert!(!run.title.is_empty() && !run.summary.is_empty());
    for (state, conclusion) in [
        (CheckRunState::Failure, CheckConclusion::Failure),
        (CheckRunState::Neutral, CheckConclusion::Neutral),
        (CheckRunState::Success, CheckConclusion::Success),
        (CheckRunState::Cancelled, CheckConclusion::Cancelled),
    ] {
        assert_eq!(world.make("check/2", show(state)).await, EffectOutcome::Done);
        let [run] = world.ours(&head).try_into().expect("one");
        assert_eq!(run.conclusion, Some(conclusion));
    }
    // Active again after its end: GitHub shows the newest run of a name.
    assert_eq!(world.make("check/3", show(CheckRunState::InProgress)).await, EffectOutcome::Done);
    assert_eq!(world.make("check/3", show(CheckRunState::InProgress)).await, EffectOutcome::Done);
    let [_, again] = world.ours(&head).try_into().expect("two");
    assert_eq!(again.conclusion, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn annotations_are_sent_fifty_at_a_time_and_each_once() {
    let world = EffectsFixture::new().await;
    let (head, at) = (world.base().await, world.at());
    let text = text(120);
    let buttons = [CheckButton::Retry, CheckButton::Approve];
    let details = "https://bot.example.org/".parse().expect("a URL");
    let run = OrderCheckRun {
        head: &head,
        order: world.order,
        state: CheckRunState::Failure,
        text: &text,
        details: Some(&details),
        buttons: &buttons,
    };
    let github = &world.parts.github;
    // The second request is carried out, but its answer is lost.
    world.strike("PATCH", "/check-runs", FaultKind::AppliedThen(502));
    github.show_check(&at, run).await.expect_err("the answer is lost");
    github.show_check(&at, run).await.expect("what was lost is seen to be there");
    github.show_check(&at, run).await.expect("the same again");
    let [shown] = world.ours(&head).try_into().expect("one");
    let said: std::collections::BTreeSet<&str> =
        shown.annotations.iter().map(|one| one.message.as_str()).collect();
    assert_eq!((shown.annotations.len(), said.len()), (120, 120));
    assert_eq!(world.writes(), 3);
    assert_eq!(shown.details_url.as_deref(), Some("https://bot.example.org/"));
    let identifiers: Vec<&str> = shown.actions.iter().map(|button| button.identifier.as_str()).collect();
    assert_eq!(identifiers, ["retry", "approve"]);
}

async fn read(world: &EffectsFixture, head: &CommitSha) -> ChecksSnapshot {
    world.context("read/1").await.read_checks(&world.at(), head).await.expect("they are read")
}

async fn pushed(world: &EffectsFixture, branch: &str, text: &str) -> CommitSha {
    let files = [("sums.py".to_owned(), Some(text.as_bytes().to_vec()))].into();
    let pushed =
        world.emulator.push_commit(REPOSITORY, branch, "ada", "Change", files).await.expect("a commit");
    pushed.parse().expect("a SHA")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_ci_says_is_read_with_the_end_of_its_logs() {
    let world = EffectsFixture::new().await;
    let (base, head) = (world.base().await, pushed(&world, "work", "x = 1\n").await);
    assert_eq!(read(&world, &head).await, ChecksSnapshot::default(), "nobody has said anything");
    let ci = world.emulator.ci(REPOSITORY);
    let lint = |ci: &journeyman_emulator::EmulatedCi<'_>, sha: &CommitSha| {
        ci.fail_job(sha.as_str(), "lint", "", Vec::new())
    };
    lint(&ci, &base).expect("lint fails on the base, too");
    lint(&ci, &head).expect("so it is not ours");
    ci.fail_job(base.as_str(), "test", "it failed once", Vec::new()).expect("failed");
    ci.pass_job(base.as_str(), "test").expect("and was mended");
    ci.start_job(head.as_str(), "slow").expect("begun");
    ci.pass_job(head.as_str(), "build").expect("passed");
    ci.finish_job(head.as_str(), "docs", CheckConclusion::Skipped).expect("skipped");
    ci.finish_job(head.as_str(), "approval", CheckConclusion::ActionRequired).expect("waits");
    ci.status(head.as_str(), "jenkins", "pending").expect("set");
    ci.status(head.as_str(), "jenkins", "error").expect("set");
    ci.status(head.as_str(), "coverage", "success").expect("set");
    let log = format!(
        "{}\n\u{1b}[31mFAILED test_add\u{1b}[0m ghp_0123456789abcdefghij\n##[error]exit code 1",
        "x".repeat(5_000)
    );
    let annotation = Annotated::failure("sums.py", 2, "assert 1 == 2");
    let job = ci.fail_job(head.as_str(), "test", &log, vec![annotation]).expect("failed");
    assert_eq!(
        world.make("check/1", Move::ShowCheck { head: head.clone(), state: CheckRunState::Failure }).await,
        EffectOutcome::Done
    );

    let reading = read(&world, &head).await;
    assert_eq!(reading.passed, 3, "build, docs, coverage");
    assert_eq!(reading.pending, ["approval", "slow"]);
    assert_eq!(reading.failing_on_base, ["lint"]);
    let [test, jenkins] = reading.failing.as_slice() else { panic!("{reading:?}") };
    assert_eq!((test.name.as_str(), test.job), ("test", Some(job)));
    assert!(test.url.ends_with(&format!("/job/{job}")), "{}", test.url);
    assert_eq!(test.annotations, ["sums.py:2: assert 1 == 2"]);
    assert!(test.log.ends_with("FAILED test_add [redacted]\n##[error]exit code 1"), "{}", test.log);
    assert!(test.log.chars().count() <= 3_000);
    assert_eq!((jenkins.name.as_str(), jenkins.job, jenkins.log.as_str()), ("jenkins", None, ""));
    assert_eq!(
        (jenkins.summary.as_str(), jenkins.url.as_str()),
        ("jenkins: error", "https://ci.example.org/jenkins")
    );

    // The base branch has moved on and is broken there, which is not our fault either.
    let moved = pushed(&world, "main", "y = 2\n").await;
    ci.fail_job(moved.as_str(), "test", "", Vec::new()).expect("failed");
    let reading = read(&world, &head).await;
    assert_eq!(reading.failing_on_base, ["lint", "test"]);
    assert_eq!(reading.failing.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_may_not_be_read_counts_as_not_there() {
    let world = EffectsFixture::new().await;
    let head = pushed(&world, "work", "x = 1\n").await;
    let ci = world.emulator.ci(REPOSITORY);
    let job = ci.fail_job(head.as_str(), "test", "FAILED", Vec::new()).expect("failed");
    ci.status(head.as_str(), "jenkins", "error").expect("set");
    world.emulator.remove_permission("actions");
    world.emulator.remove_permission("statuses");
    let reading = read(&world, &head).await;
    let [test] = reading.failing.as_slice() else { panic!("{reading:?}") };
    assert_eq!((test.name.as_str(), test.log.as_str()), ("test", ""));
    let rerun = Move::RerunJobs { head: head.clone(), jobs: vec![job, 99] };
    assert_eq!(world.make("rerun/1", rerun).await, EffectOutcome::Done, "it is left");
    // An unavailable GitHub leads to a retry.
    let fault = FaultKind::Status {
        code: 503,
        headers: vec![("Retry-After".to_owned(), "9".to_owned())],
        body: String::new(),
    };
    world.strike("GET", "/check-runs", fault);
    let trouble = world.context("read/1").await.read_checks(&world.at(), &head).await.expect_err("trouble");
    assert_eq!(trouble.retry, Retry::Outage, "nobody knows how long an outage takes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failing_jobs_are_run_again_once() {
    let world = EffectsFixture::new().await;
    let head = pushed(&world, "work", "x = 1\n").await;
    let ci = world.emulator.ci(REPOSITORY);
    let one = ci.fail_job(head.as_str(), "one", "", Vec::new()).expect("failed");
    let two = ci.fail_job(head.as_str(), "two", "", Vec::new()).expect("failed");
    ci.pass_job(head.as_str(), "three").expect("passed");
    let queued = || {
        let runs = world.emulator.check_runs(REPOSITORY, head.as_str());
        runs.into_iter().filter(|run| run.status == "queued").map(|run| run.name).collect::<Vec<_>>()
    };
    let rerun = Move::RerunJobs { head: head.clone(), jobs: vec![one, two] };
    world.strike("POST", "rerun", FaultKind::AppliedThen(502));
    assert!(matches!(world.attempt("rerun/1", rerun.clone()).await, EffectOutcome::Trouble(_)));
    assert_eq!(world.attempt("rerun/1", rerun.clone()).await, EffectOutcome::Done);
    assert_eq!(queued(), ["one", "two"], "both, and each once");
    ci.fail_job(head.as_str(), "one", "", Vec::new()).expect("failed");
    ci.pass_job(head.as_str(), "two").expect("passed");
    assert_eq!(world.attempt("rerun/1", rerun).await, EffectOutcome::Done);
    assert!(queued().is_empty(), "the jobs that were named have had their second chance");
}
