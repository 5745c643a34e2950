//! Passes that are not believed: weakened tests, tests that prove nothing, tests that were red before.

use super::world::{OrderEnding, SimulatedOrder, imported, quiet, said, sha, tested};
use crate::comparison::{ComparedBy, Comparison, ComparisonVerdict, TestList};
use crate::network::{NetworkRecord, NetworkRefusal};
use crate::next::*;
use crate::proof::{Proof, ProofGrade};
use crate::scrutiny::{Baseline, ChangedTest, OldTests, Scrutiny, TestChange};
use crate::settings::ProofSettings;
use crate::signal::SignalKind;
use crate::test_run::{CommandRun, Exit, TestRun, TestVerdict};
use crate::trace::StageChecksOutcome;
use crate::weakening::{Weakening, WeakeningKind};

const PIPELINE: &str = "
name: scrutinized
version: 1
stages:
  - { name: classify, agent: code_reviewer, output: { one_of: [/bug, /feature, /chore] } }
  - { name: implement, agent: developer, checks: [pushed_commit, policy, tests], escalate_on_exhaust: tech_lead, depends_on: [classify] }
  - { name: publish, uses: publish, agent: developer, command: create_pull_request, depends_on: [implement] }
  - { name: ready, uses: ready, depends_on: [publish] }
";

fn reviewed() -> String {
    PIPELINE.replace(
        "  - { name: ready, uses: ready, depends_on: [publish] }",
        "  - { name: review, agent: developer, begins_with: checks, checks: [pushed_commit, policy, tests, verifier], verifier: code_reviewer, depends_on: [publish] }
  - { name: ready, uses: ready, depends_on: [review] }",
    )
}

fn world(class: &str) -> SimulatedOrder {
    SimulatedOrder::with(PIPELINE).when("classify/1/agent", vec![said(class)])
}

fn seen(
    verdict: TestVerdict,
    judged: ComparisonVerdict,
    proof: Proof,
    against: Vec<String>,
) -> EffectOutcome {
    let EffectOutcome::Tested(mut run) = tested(&sha(9), verdict, 3, 0) else { unreachable!() };
    let tests = TestList::default;
    let comparison = Comparison {
        by: ComparedBy::Test,
        base: None,
        after: None,
        still_green: 3,
        still_skipped: 0,
        fixed: tests(),
        by_data: tests(),
        newly_broken: tests(),
        already_red: tests(),
        untold: tests(),
        flaky: tests(),
        gone: tests(),
        new: tests(),
        new_failing: tests(),
        skipped: tests(),
        unloaded: Vec::new(),
        unnamed: Default::default(),
        programs: Vec::new(),
    };
    run.scrutiny = Some(Box::new(Scrutiny {
        baseline: Baseline { commit: sha(1), test: None, counts: None, kept: true },
        comparison,
        judged,
        reruns: Vec::new(),
        old_tests: (!against.is_empty()).then(|| OldTests {
            laid: vec!["tests/a.py".to_owned()],
            unloaded: Vec::new(),
            test: None,
            counts: None,
            against: Vec::new(),
        }),
        against,
        examples: Vec::new(),
        unanswered: Vec::new(),
        examination: None,
        neighbours: None,
        user_place: None,
        unnamed_inputs: Vec::new(),
        lies: None,
        changed_tests: Vec::new(),
        died: Vec::new(),
        rewritten: Vec::new(),
        touches_code: true,
        dependencies: Vec::new(),
        only_dependencies: false,
        packages: Vec::new(),
        mutants: None,
        proof: Some(proof),
        base_setup: None,
        old_code: None,
        weakenings: Vec::new(),
        runs: Vec::new(),
        without_result: Vec::new(),
    }));
    EffectOutcome::Tested(run)
}

fn against(test: &str) -> String {
    format!("{test} fails as the base has it")
}

fn bent(test: &str) -> EffectOutcome {
    seen(TestVerdict::Weakened, ComparisonVerdict::Passed, Proof::NoTestsChanged, vec![against(test)])
}

fn proven() -> EffectOutcome {
    let proof = Proof::Proven { by: ProofGrade::Test, red: vec!["sum".to_owned()] };
    seen(TestVerdict::Passed, ComparisonVerdict::Passed, proof, Vec::new())
}

/// Proven by its own test, but a test of the base that passed before fails in its old form.
fn proven_with_a_changed_test() -> EffectOutcome {
    let EffectOutcome::Tested(mut run) = proven() else { unreachable!() };
    let changed =
        |test: &str, how| ChangedTest { test: test.to_owned(), how, removed: false, old: None, new: None };
    run.scrutiny.as_mut().unwrap().changed_tests =
        vec![changed("mean", TestChange::FailsAsItWas), changed("median", TestChange::Edited)];
    EffectOutcome::Tested(run)
}

pub(super) fn unproven() -> EffectOutcome {
    let because = "the new tests pass on the old code as well".to_owned();
    seen(TestVerdict::Passed, ComparisonVerdict::Passed, Proof::NotProven { because }, Vec::new())
}

fn own_checks(world: &SimulatedOrder) -> Option<StageChecksOutcome> {
    world.projection().trace.work.map(|work| work.checks)
}

#[test]
fn a_test_that_never_ends_is_told_with_its_seconds_and_with_what_to_look_for() {
    let EffectOutcome::Tested(mut run) = tested(&sha(9), TestVerdict::Failed, 0, 0) else { unreachable!() };
    run.counts = None;
    run.failing = Vec::new();
    run.test = Some(CommandRun {
        command: "make test".to_owned(),
        exit: Exit::TimedOut,
        duration_seconds: 20.04,
        output_sha256: String::new(),
    });
    let feedback = crate::checks::of_tests(&run).feedback;
    assert_eq!(feedback.summary, "the test command did not end within 20 s, and was stopped");
    let hint = feedback.issues[0].suggestion.as_deref().unwrap();
    assert!(hint.contains("infinite loop") && hint.contains("input"), "{hint}");
}

#[test]
fn without_a_reviewer_a_test_that_fails_in_its_old_form_keeps_the_change_from_being_verified() {
    let mut world = world("/bug").when("/tests", vec![proven_with_a_changed_test()]);
    let OrderEnding::Unverified { because, .. } = world.settle() else {
        panic!("{:?}", world.projection().next)
    };
    assert!(because.contains("in their old form") && because.ends_with(": mean"), "{because}");
}

#[test]
fn a_test_that_fails_in_its_old_form_is_verified_only_by_a_reviewers_word_on_it_by_name() {
    let review = |of_tests: &str| {
        said(&format!(
            r#"{{"passed": true, "score": 1, "summary": "Right.", "issues": [], "changed_tests": [{of_tests}]}}"#
        ))
    };
    let of = |test: &str, wanted: bool| {
        format!(r#"{{"test": "{test}", "wanted": {wanted}, "why": "It says so."}}"#)
    };
    let ending = |answers: Vec<EffectOutcome>| {
        let mut world = SimulatedOrder::with(&reviewed())
            .when("classify/1/agent", vec![said("/bug")])
            .when("/tests", vec![proven_with_a_changed_test()])
            .when("review/1/verify-1", answers[..1].to_vec())
            .when("review/1/verify-2", answers[1..].to_vec());
        let ending = world.settle();
        (ending, world)
    };
    let (verified, world) = ending(vec![review(&of("mean", true)), review("")]);
    assert!(matches!(verified, OrderEnding::Verified { .. }), "{verified:?}");
    let asked = world.task("review/1/verify-1").unwrap();
    let form = asked.schema.clone().unwrap();
    assert_eq!(form["properties"]["changed_tests"]["items"]["properties"]["test"]["enum"][0], "mean");
    assert!(asked.arguments[3].contains("- mean: the base's version fails on the new code"), "{asked:?}");
    // A missing answer is requested once more and then fails the review, and so does one about another test.
    let (verified, _) = ending(vec![review(""), review(&of("mean", true))]);
    assert!(matches!(verified, OrderEnding::Verified { .. }), "{verified:?}");
    for silent in [review(""), review(&of("median", true)), review(&of("mean", false))] {
        let (failed, _) = ending(vec![silent.clone(), silent]);
        assert!(
            matches!(&failed, OrderEnding::Failed { because } if because.contains("could not be completed") && because.contains("mean")),
            "{failed:?}"
        );
    }
}

#[test]
fn a_reviewer_is_asked_by_file_and_line_about_new_code_that_looks_at_where_it_runs() {
    let EffectOutcome::Tested(mut run) = proven() else { unreachable!() };
    run.scrutiny.as_mut().unwrap().weakenings = vec![Weakening {
        kind: WeakeningKind::LooksAround,
        path: "src/a.py".to_owned(),
        line: Some(3),
        test: None,
        what: "new code has isatty".to_owned(),
        severe: false,
    }];
    let passed = said(r#"{"passed": true, "score": 1, "summary": "Right.", "issues": []}"#);
    let mut world = SimulatedOrder::with(&reviewed())
        .when("classify/1/agent", vec![said("/bug")])
        .when("/tests", vec![EffectOutcome::Tested(run)])
        .when("review/1/verify-1", vec![passed]);
    // The line alone counts against nothing.
    let verified = world.settle();
    assert!(matches!(verified, OrderEnding::Verified { .. }), "{verified:?}");
    let asked = world.task("review/1/verify-1").unwrap().arguments[3].clone();
    assert!(asked.contains("- looks at where it runs, src/a.py:3: new code has isatty"), "{asked}");
    assert!(asked.contains("The change looks at where it runs: src/a.py:3. Say of each"), "{asked}");
}

#[test]
fn whoever_bends_a_test_is_told_and_may_mend_it() {
    let mut world = world("/feature").when("/tests", vec![bent("sum"), proven()]);
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }));
    let task = world.task("implement/2/agent").unwrap();
    let told = &task.rework.unwrap().feedback[0];
    assert!(told.summary.contains("do not show that the change is right"), "{}", told.summary);
    assert_eq!(told.issues[0].location.as_deref(), Some("tests/a.py"));
    assert!(told.issues[0].description.contains("sum fails as the base has it"));
}

#[test]
fn whoever_bends_the_tests_again_is_left_to_a_person_and_no_agent_is_asked_for_advice() {
    let mut world = world("/feature").when("/tests", vec![bent("sum"), bent("mean"), proven()]);
    let OrderEnding::Escalated { because, .. } = world.settle() else {
        panic!("{:?}", world.projection().next)
    };
    assert!(
        because.contains("mean fails as the base has it") && because.contains("tried 2 times"),
        "{because}"
    );
    assert_eq!((world.made("diagnosis"), world.made("implement/3")), (0, 0));
    assert!(matches!(own_checks(&world), Some(StageChecksOutcome::Failed { .. })));
}

#[test]
fn a_fix_that_is_shown_beside_tests_that_failed_before_is_paid_for_once() {
    let proof = || Proof::Proven { by: ProofGrade::Test, red: vec!["sum".to_owned()] };
    let right = || seen(TestVerdict::Failed, ComparisonVerdict::PassedBesideRed, proof(), Vec::new());
    let mut world = world("/bug").when("/tests", vec![right(), right()]);
    let OrderEnding::Escalated { because, .. } = world.settle() else {
        panic!("{:?}", world.projection().next)
    };
    assert!(
        because.contains("fails without the change and passes with it; `accept: no_new_failures`"),
        "{because}"
    );
    assert_eq!((world.made("implement/2"), world.made("diagnosis")), (0, 0));
    // The issue may be about another test that fails on the base.
    let mut world = self::world("/bug").when(
        "/tests",
        vec![
            seen(TestVerdict::Failed, ComparisonVerdict::PassedBesideRed, Proof::NoTestsChanged, Vec::new()),
            proven(),
        ],
    );
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }));
}

#[test]
fn a_setup_that_the_operator_alone_can_let_through_is_paid_for_once() {
    let kept_out = |refused: &[&str]| {
        let EffectOutcome::Tested(run) = tested(&sha(9), TestVerdict::SetupFailed, 0, 0) else {
            unreachable!()
        };
        let refusal =
            |what: &&str| NetworkRefusal { what: (*what).into(), why: "not allowed".into(), times: 1 };
        let refused = refused.iter().map(refusal).collect();
        let record = NetworkRecord { refused, ..NetworkRecord::default() };
        let doubt = Some("it asked for pypi.org:443; who runs the server can allow that".to_owned());
        let network = [("setup".to_owned(), record)].into();
        EffectOutcome::Tested(Box::new(TestRun { doubt, network, ..*run }))
    };
    let mut order = world("/bug").when("/tests", vec![kept_out(&["pypi.org:443"]), proven()]);
    let OrderEnding::Escalated { because, .. } = order.settle() else {
        panic!("{:?}", order.projection().next)
    };
    assert!(because.contains("who runs the server can allow that"), "{because}");
    assert_eq!((order.made("implement/2"), order.made("diagnosis")), (0, 0));
    // A setup that requested nothing fails because of the change.
    let mut order = world("/bug").when("/tests", vec![kept_out(&[]), proven()]);
    assert!(matches!(order.settle(), OrderEnding::Verified { .. }));
    assert_eq!(order.made("implement/2/agent"), 1);
}

#[test]
fn an_honest_failure_is_handed_over_rather_than_a_bent_pass() {
    let mut world = world("/feature")
        .when("implement/1/tests", vec![super::world::red(1, 2)])
        .when("implement/2/tests", vec![bent("sum")])
        .when("implement/3/tests", vec![bent("mean")]);
    assert!(matches!(world.settle(), OrderEnding::Escalated { .. }));
    assert_eq!(world.projection().trace.work.unwrap().round, 1);
}

#[test]
fn a_bug_fix_whose_tests_prove_nothing_is_asked_for_one_and_then_called_unproven() {
    let mut world = world("/bug").when("/tests", vec![unproven(), unproven()]);
    let OrderEnding::Unproven { because } = world.settle() else { panic!("{:?}", world.projection().next) };
    assert!(because.contains("passing, not proven"), "{because}");
    assert_eq!((world.made("implement/2/agent"), world.made("implement/3/agent")), (1, 0));
}

#[test]
fn who_pushes_no_test_when_asked_for_one_is_not_asked_a_third_time() {
    let same = || imported(7, Some("Fix the sum"));
    let mut world = SimulatedOrder::with(&reviewed())
        .when("classify/1/agent", vec![said("/bug")])
        .when("/import", vec![same(), same()])
        .when("/tests", vec![unproven()]);
    let OrderEnding::Unproven { because } = world.settle() else { panic!("{:?}", world.projection().next) };
    assert_eq!(because, "passing, not proven: the new tests pass on the old code as well");
    assert_eq!(
        (world.made("implement/2/agent"), world.made("implement/2/tests"), world.made("implement/3")),
        (1, 0, 0)
    );
    assert_eq!(world.made("review/2"), 0, "nor by another stage, for the same commit");
}

#[test]
fn a_fix_without_proof_is_unproven_whichever_stage_runs_the_tests() {
    let tested = PIPELINE
        .replace(", tests], escalate", "], escalate")
        .replace("depends_on: [implement]", "depends_on: [test]")
        .replace(
            "  - { name: publish",
            "  - { name: test, uses: tests, depends_on: [implement] }\n  - { name: publish",
        );
    let world = |runs| {
        SimulatedOrder::with(&tested)
            .when("classify/1/agent", vec![said("/bug")])
            .when("/tests", runs)
            .settle()
    };
    assert!(matches!(world(vec![unproven()]), OrderEnding::Unproven { .. }));
    assert!(matches!(world(vec![proven()]), OrderEnding::Verified { .. }));
}

#[test]
fn why_no_test_can_show_the_change_is_quoted_and_no_round_is_paid_for() {
    let answer = "The timeout is longer now.\n\n**No test:** it needs a slow disk.";
    let mut world =
        world("/bug").when("implement/1/agent", vec![said(answer)]).when("/tests", vec![unproven()]);
    let OrderEnding::Unproven { because } = world.settle() else { panic!("{:?}", world.projection().next) };
    assert_eq!(
        because,
        "passing, not proven: the new tests pass on the old code as well; the agent says of a test: “it needs a slow \
         disk.”"
    );
    assert_eq!(world.made("implement/2"), 0);
    let mut world =
        self::world("/bug").when("implement/1/agent", vec![said(answer)]).when("/tests", vec![proven()]);
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }), "what it says takes nothing away either");
}

#[test]
fn a_person_who_wants_a_test_after_all_gets_another_attempt() {
    let same = || imported(7, Some("Fix the sum"));
    let mut world = world("/bug")
        .when("/import", vec![same(), same(), imported(8, Some("Fix the sum, with a test"))])
        .when("/tests", vec![unproven(), proven()]);
    assert!(matches!(world.settle(), OrderEnding::Unproven { .. }));
    world.say("/retry call it with a stubbed clock");
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }), "{:?}", world.projection().next);
    assert_eq!(world.advice("implement/3/agent").as_deref(), Some("call it with a stubbed clock"));
    let told = world.task("implement/3/agent").unwrap().rework.unwrap();
    assert_eq!((told.attempt, told.of), (1, 3), "of a new set");
}

#[test]
fn what_is_made_on_a_retry_is_reviewed_anew() {
    let same = || imported(7, Some("Fix the sum"));
    let mut world = SimulatedOrder::with(&reviewed())
        .when("classify/1/agent", vec![said("/bug")])
        .when("/import", vec![same(), same(), imported(8, Some("Fix the sum, with a test"))])
        .when("/tests", vec![unproven(), proven()]);
    assert!(matches!(world.settle(), OrderEnding::Unproven { .. }));
    let before = world.made("/verify-");
    world.say("/retry");
    let ending = world.settle();
    assert!(matches!(ending, OrderEnding::Verified { .. }), "{:?}", world.made);
    assert_eq!((before, world.made("/verify-")), (1, 2), "{:?}", world.made);
    assert_eq!(world.made("review/1/comment"), 2, "and people see it: {:?}", world.made);
}

#[test]
fn a_bug_fix_that_is_proven_in_the_second_attempt_is_verified() {
    let mut world = world("/bug").when("/tests", vec![unproven(), proven()]);
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }));
}

#[test]
fn a_feature_without_a_test_is_unproven_and_a_chore_is_not_asked() {
    use crate::settings::{ProofRequirement, RepositorySettings};
    let new = || {
        let proof = Proof::NamesWhatIsNew { tests: vec!["export".to_owned()] };
        seen(TestVerdict::Passed, ComparisonVerdict::Passed, proof, Vec::new())
    };
    let twice = || vec![unproven(), unproven()];
    for (class, of, runs, is_verified) in [
        ("/feature", ProofRequirement::Changes, twice(), false),
        ("/feature", ProofRequirement::Changes, vec![new()], true),
        ("/feature", ProofRequirement::Bugs, twice(), true),
        ("/chore", ProofRequirement::Changes, twice(), true),
        ("/chore", ProofRequirement::Always, twice(), false),
        ("/bug", ProofRequirement::Never, twice(), true),
    ] {
        let settings = RepositorySettings {
            prove: ProofSettings { of, ..ProofSettings::default() },
            ..RepositorySettings::default()
        };
        let mut world = world(class).settings(settings).when("/tests", runs);
        let ending = world.settle();
        assert_eq!(matches!(ending, OrderEnding::Verified { .. }), is_verified, "{class} {of:?} {ending:?}");
    }
}

#[test]
fn who_makes_the_change_cannot_say_that_it_needs_no_proof() {
    let pipeline = PIPELINE.replace("classify, agent: code_reviewer", "classify, agent: developer");
    let world = |runs| {
        SimulatedOrder::with(&pipeline).when("classify/1/agent", vec![said("/feature")]).when("/tests", runs)
    };
    assert!(matches!(world(vec![unproven(), unproven()]).settle(), OrderEnding::Unproven { .. }));
    assert!(matches!(world(vec![proven()]).settle(), OrderEnding::Verified { .. }));
}

#[test]
fn what_was_red_before_excuses_nothing_and_is_said() {
    let red =
        || seen(TestVerdict::Failed, ComparisonVerdict::PassedBesideRed, Proof::NoTestsChanged, Vec::new());
    let mut world = world("/feature").when("/tests", vec![red(), proven()]);
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }), "{:?}", world.projection().next);
    let told = world.task("implement/2/agent").unwrap().rework.unwrap();
    assert!(told.feedback[0].summary.contains("on the base commit as well"), "{}", told.feedback[0].summary);
}

#[test]
fn what_is_not_proven_stays_so_when_a_person_pushes_to_it() {
    let theirs = sha(900);
    let without_scrutiny = tested(&theirs, TestVerdict::Passed, 3, 0);
    for (told, is_verified) in [(without_scrutiny, false), (unproven(), false), (proven(), true)] {
        let mut world = world("/bug").when("/tests", vec![unproven(), unproven()]);
        assert!(matches!(world.settle(), OrderEnding::Unproven { .. }));
        let read = EffectOutcome::PullRead(Box::new(quiet(&theirs)));
        let mut world = world.when("answer/1/read", vec![read]).when("answer/1/taken-in/tests", vec![told]);
        let pull = crate::ids::PullNumber(8);
        world.hear(SignalKind::PullPushed { pull, head: theirs.clone() });
        let ending = world.settle();
        assert_eq!(world.projection().trace.work.unwrap().commit, theirs);
        assert_eq!(matches!(ending, OrderEnding::Verified { .. }), is_verified, "{ending:?}");
        assert_eq!(matches!(ending, OrderEnding::Unproven { .. }), !is_verified, "{ending:?}");
    }
}
