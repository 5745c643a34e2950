//! Whatever happens: only the verdict makes a claim of verified, and an independent reading of the journal confirms
//! that the commit passed every check.
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at one kind")]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::chance::{any_pipeline, cases, chance, oracle};
use super::world::{OrderEnding, SimulatedOrder, nothing, said};
use crate::conversation::CheckRunState;
use crate::ids::CommitSha;
use crate::judge_answer;
use crate::moves::AgentTaskWorkspace;
use crate::next::*;
use crate::pipeline::{Check, StageKind};
use crate::receipt::Receipt;
use crate::signal::{SignalKind, SlashCommand};
use crate::surfaces::{AttestationResult, OrderLabel};
use crate::test_run::TestVerdict;

/// Names that look like parts of effect keys.
const NAMES: [&str; 8] = ["agent", "tests", "push", "text", "verify-all", "finish", "answers", "say_it"];

/// The same pipeline with these stage names.
fn renamed(pipeline: &str, seed: u64) -> String {
    (0..4).fold(pipeline.to_owned(), |yaml, number| {
        let place = (seed as usize).wrapping_add(number * 3) % NAMES.len();
        yaml.replace(&format!("s{number}"), NAMES[place])
    })
}

/// Whether the journal shows that every check passed on this commit, and that it is the published one.
fn is_so(
    world: &SimulatedOrder,
    projection: &OrderProjection,
    commit: &CommitSha,
) -> Result<(), TestCaseError> {
    let (mut runs, mut reviews) = (BTreeMap::new(), BTreeMap::new());
    let (mut pushes, mut there) = (BTreeMap::new(), None);
    let (mut tested, mut objected, mut is_reviewed): (Option<bool>, Option<bool>, bool) = (None, None, false);
    let mut is_accepted = false;
    let asked: BTreeSet<u64> = projection
        .answers
        .iter()
        .filter(|answered| answered.answer == SignalAnswer::Taken)
        .map(|answered| answered.signal)
        .collect();
    for entry in world.journal.entries() {
        match &entry.event {
            JournalEvent::Signaled { signal, .. } => {
                // A person who asks for another attempt withdraws the acceptance.
                if let SignalKind::Commanded { command, .. } = &signal.kind
                    && asked.contains(&entry.seq)
                {
                    is_accepted = match command {
                        SlashCommand::Approve => true,
                        SlashCommand::Retry { .. } => false,
                        _ => is_accepted,
                    };
                }
            }
            JournalEvent::Intended { key, r#move } => match &**r#move {
                Move::RunTests { commit } => drop(runs.insert(key, commit)),
                Move::Push { commit, .. } => drop(pushes.insert(key, commit)),
                Move::RunAgent(task) if task.command == "review" => {
                    is_reviewed = true;
                    reviews.insert(key, &task.place);
                }
                _ => {}
            },
            JournalEvent::Observed { key, outcome } => match &**outcome {
                EffectOutcome::Tested(run) if runs.get(key) == Some(&commit) => {
                    tested = Some(run.verdict == TestVerdict::Passed && run.doubt.is_none());
                }
                EffectOutcome::Pushed => there = pushes.get(key).copied(),
                EffectOutcome::AgentRan(run)
                    if reviews.get(key)
                        == Some(&&AgentTaskWorkspace::Checkout { commit: commit.clone() }) =>
                {
                    let said = judge_answer::feedback(run.result.as_deref().unwrap_or_default(), &[]);
                    objected = Some(!said.is_ok_and(|feedback| feedback.passed));
                }
                _ => {}
            },
            JournalEvent::Opened(_) => {}
        }
    }
    prop_assert!(!is_accepted, "a person accepted something");
    prop_assert_eq!(tested, Some(true), "its tests did not pass");
    let publishes = world.journal.pipeline().stages.iter().any(|stage| stage.uses == StageKind::Publish);
    match (publishes, there) {
        (true, there) | (false, there @ Some(_)) => {
            prop_assert_eq!(there, Some(commit), "something else is published");
        }
        // Without a publish stage, only the commit counts.
        (false, None) => {}
    }
    prop_assert_ne!(objected, Some(true), "its reviewer objects");
    prop_assert!(!is_reviewed || objected.is_some(), "another commit was reviewed");
    let judges = |stage: &&crate::pipeline::Stage| stage.checks.contains(&Check::Verifier);
    if world.journal.pipeline().stages.iter().filter(judges).all(|stage| stage.when.is_none()) {
        let asks = world.journal.pipeline().stages.iter().filter(judges);
        prop_assert!(asks.into_iter().all(|stage| stage.max_adversarial_rounds == 0) || objected.is_some());
    }
    Ok(())
}

/// Checks what is shown at this moment.
fn nothing_is_claimed(world: &SimulatedOrder) -> Result<(), TestCaseError> {
    let projection = world.projection();
    let (shown, receipt) = (projection.surfaces(), Receipt::of(&world.journal, &projection));
    let claims = [
        shown.outcome == "verified",
        shown.verified,
        shown.exit_code == 0,
        shown.heading.contains('✅'),
        shown.headline.starts_with("Verified"),
        shown.check == Some(CheckRunState::Success),
        shown.result == AttestationResult::Passed,
        receipt.verified,
        receipt.outcome == "verified",
        receipt.verdict == Some("verified"),
        shown.label == OrderLabel::Done
            && !matches!(projection.verdict, Verdict::Approved { .. } | Verdict::None),
    ];
    if matches!(projection.verdict, Verdict::Verified(_)) {
        is_so(world, &projection, &projection.trace.work.as_ref().expect("verified work").commit)
    } else {
        prop_assert!(claims.iter().all(|claim| !claim), "{:?}: {shown:?}", projection.verdict);
        Ok(())
    }
}

#[derive(Debug, Clone, Copy)]
enum OutsideEvent {
    Approve,
    Retry,
    Checks,
    BaseMoves,
}

fn happens(world: &mut SimulatedOrder, what: OutsideEvent) {
    let commanded = |command| SignalKind::Commanded { comment: None, pull: None, command };
    let head = world.projection().trace.pushed;
    match (what, head) {
        (OutsideEvent::Approve, _) => world.hear(commanded(SlashCommand::Approve)),
        (OutsideEvent::Retry, _) => {
            world.hear(commanded(SlashCommand::Retry { guidance: Some("again".to_owned()) }))
        }
        (OutsideEvent::Checks, Some(head)) => world.hear(SignalKind::ChecksFinished { head }),
        (OutsideEvent::BaseMoves, Some(head)) => world.hear(SignalKind::BaseMoved { head }),
        (OutsideEvent::Checks | OutsideEvent::BaseMoves, None) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_surface_says_verified_unless_the_journal_shows_it(
        pipeline in any_pipeline(), seed in any::<u64>(), order in any::<u64>(),
        foreign in prop::collection::vec(
            (0_usize..40, prop::sample::select(vec![OutsideEvent::Approve, OutsideEvent::Retry, OutsideEvent::Checks, OutsideEvent::BaseMoves])),
            0..5,
        ),
        afterwards in prop::collection::vec(
            prop::sample::select(vec![OutsideEvent::Approve, OutsideEvent::Retry, OutsideEvent::Checks, OutsideEvent::Approve]), 0..4,
        ),
    ) {
        let mut world = SimulatedOrder::with(&renamed(&pipeline, seed)).without_limits().asking(oracle(seed));
        for moment in 0..40 {
            for (_, what) in foreign.iter().filter(|(at, _)| *at == moment) {
                happens(&mut world, *what);
            }
            if world.begin_all() && !world.under_way.is_empty() {
                let turn = chance(&(order, moment)) as usize % world.under_way.len();
                let key = world.under_way[turn].0.0.clone();
                world.finish(&key);
            }
            if moment % 4 == 3 {
                nothing_is_claimed(&world)?;
            }
        }
        world.settle_choosing(|under_way| chance(&(order, under_way.len())) as usize % under_way.len());
        nothing_is_claimed(&world)?;
        for what in afterwards {
            happens(&mut world, what);
            world.settle_choosing(|under_way| chance(&(order, under_way.len())) as usize % under_way.len());
            nothing_is_claimed(&world)?;
        }
    }
}

#[test]
fn what_one_stage_had_accepted_is_not_verified_by_the_next_nor_by_a_foreign_check() {
    let yaml = "
name: two
version: 1
stages:
  - { name: implement, agent: developer, checks: [pushed_commit, policy, tests], escalate_on_exhaust: human_approval }
  - { name: polish, agent: developer, checks: [pushed_commit, policy, tests], depends_on: [implement] }
  - { name: publish, uses: publish, agent: developer, command: create_pull_request, depends_on: [polish] }
  - { name: ready, uses: ready, depends_on: [publish] }
";
    let red = || super::world::red(1, 2);
    let mut world = SimulatedOrder::with(yaml)
        .when("implement/1/tests", vec![red()])
        .when("implement/2/tests", vec![red()]);
    assert!(matches!(world.settle(), OrderEnding::Escalated { .. }));
    world.say("/approve");
    let approved = world.settle();
    assert!(matches!(&approved, OrderEnding::Approved { by, .. } if by == "ada"), "{approved:?}");
    assert_eq!(world.projection().trace.pushed, Some(world.commit("polish/1")));
    happens(&mut world, OutsideEvent::Checks);
    assert_eq!(world.settle(), approved);
    assert_eq!(world.made("answer/1/read"), 1);
    assert!(!Receipt::of(&world.journal, &world.projection()).verified);
}

#[test]
fn a_review_of_an_earlier_commit_is_none_of_this_one() {
    let yaml = "
name: two
version: 1
stages:
  - { name: implement, agent: developer, checks: [pushed_commit, policy, tests, verifier], verifier: code_reviewer }
  - { name: polish, agent: developer, checks: [pushed_commit, policy, tests], depends_on: [implement] }
  - { name: publish, uses: publish, agent: developer, command: create_pull_request, depends_on: [polish] }
  - { name: ready, uses: ready, depends_on: [publish] }
";
    let mut world = SimulatedOrder::with(yaml);
    assert!(
        matches!(world.settle(), OrderEnding::Unverified { because, .. } if because.contains("code_reviewer has not reviewed"))
    );
    assert!(world.projection().trace.pull.is_some_and(|pull| !pull.ready));
}

#[test]
fn a_stage_beside_it_does_not_undo_what_the_last_run_of_the_tests_found() {
    let yaml = "
name: beside
version: 1
stages:
  - { name: implement, agent: developer, checks: [pushed_commit, policy, tests] }
  - { name: again, uses: tests, depends_on: [implement] }
  - { name: review, agent: developer, begins_with: checks, checks: [verifier], verifier: code_reviewer, depends_on: [implement] }
";
    let no_tests = super::world::tested(&super::world::sha(9), TestVerdict::NoTests, 0, 0);
    for first in ["again/1/tests", "review/"] {
        let mut world = SimulatedOrder::with(yaml).when("again/1/tests", vec![no_tests.clone()]);
        let ending = world.settle_choosing(|under_way| {
            under_way.iter().position(|(key, _)| key.0.starts_with(first)).unwrap_or(0)
        });
        assert!(
            matches!(&ending, OrderEnding::Unverified { because, .. } if because.contains("no tests")),
            "{ending:?}"
        );
    }
}

#[test]
fn another_attempt_that_passes_takes_the_place_of_the_one_that_people_see() {
    let yaml = "
name: unpublished
version: 1
stages:
  - { name: implement, agent: developer, checks: [pushed_commit, policy, tests], escalate_on_exhaust: human_approval, retry_count: 0 }
";
    let red = || super::world::red(1, 2);
    let mut world = SimulatedOrder::with(yaml)
        .when("implement/1/tests", vec![red()])
        .when("implement/2/tests", vec![red()])
        .when("implement/3/tests", vec![red()]);
    assert!(matches!(world.settle(), OrderEnding::Escalated { pull: Some(_), .. }));
    world.say("/retry try the other one");
    // Until the new commit is pushed, people see the one before.
    while world.begin_all() && !world.under_way.is_empty() {
        let key = world.under_way[0].0.0.clone();
        world.finish(&key);
        nothing_is_claimed(&world).unwrap();
    }
    let ending = world.settle();
    assert!(matches!(ending, OrderEnding::Verified { .. }), "{ending:?}");
    let projection = world.projection();
    assert_eq!(projection.trace.pushed, projection.trace.work.map(|work| work.commit));
}

#[test]
fn what_a_person_accepts_after_an_answer_in_vain_is_approved_and_no_check_makes_it_verified() {
    let yaml = "
name: one
version: 1
stages:
  - { name: implement, agent: developer, checks: [pushed_commit, policy, tests] }
  - { name: publish, uses: publish, agent: developer, command: create_pull_request, depends_on: [implement] }
  - { name: ready, uses: ready, depends_on: [publish] }
";
    let mut world = SimulatedOrder::with(yaml)
        .when("answer/1/1/agent", vec![said("well, maybe")])
        .when("answer/1/2/agent", vec![said("well, so")])
        .when("answer/1/3/agent", vec![said("well, hm")]);
    for round in 1..=3 {
        world = world.when(format!("answer/1/{round}/import"), vec![nothing()]);
    }
    world.settle();
    assert!(matches!(world.projection().verdict, Verdict::Verified(_)));
    happens(&mut world, OutsideEvent::Retry);
    assert!(matches!(world.settle(), OrderEnding::Escalated { .. }));
    happens(&mut world, OutsideEvent::Approve);
    let approved = world.settle();
    assert!(matches!(&approved, OrderEnding::Approved { by, .. } if by == "ada"), "{approved:?}");
    happens(&mut world, OutsideEvent::Checks);
    assert_eq!(world.settle(), approved);
    assert!(!Receipt::of(&world.journal, &world.projection()).verified);
}

/// Regression: handed over, sent back in vain, then a person's command led to another commit.
#[test]
fn what_answers_people_is_not_pushed_over_by_what_was_handed_over_before() {
    let pipeline = "
name: chance
version: 1
stages:
  - { name: publish, uses: publish, agent: developer, command: create_pull_request, depends_on: [s1] }
  - { name: s1, agent: developer, checks: [pushed_commit, policy, tests, verifier], verifier: [code_reviewer, security_reviewer], max_adversarial_rounds: 1, escalate_on_exhaust: tech_lead, retry_count: 3, retry_policy: blind, depends_on: [s0] }
  - { name: s0, agent: developer, retry_count: 3, retry_policy: exponential, budget: 0.8, depends_on: [] }
";
    let world = answered_after_a_while(pipeline, 14_273_295_884_661_755_533, 3_407_246_135_894_743_821);
    assert_eq!(pushes_intended(&world), ["publish/cf0152b400/push-1", "answer/2/push/a4496cbf00"]);
    nothing_is_claimed(&world).unwrap();
}

/// Regression: a push was declined, then a person's command led to another commit.
#[test]
fn a_push_that_was_refused_is_not_made_again_after_an_answer_was_pushed() {
    let pipeline = "
name: chance
version: 1
stages:
  - { name: review, agent: developer, begins_with: checks, checks: [pushed_commit, policy, verifier], verifier: code_reviewer, max_adversarial_rounds: 3, escalate_on_exhaust: tech_lead, retry_count: 2, retry_policy: infrastructure_only, depends_on: [publish] }
  - { name: publish, uses: publish, agent: developer, command: create_pull_request, depends_on: [s0] }
  - { name: s0, agent: developer, checks: [pushed_commit, policy, tests, verifier], verifier: code_reviewer, max_adversarial_rounds: 4, escalate_on_exhaust: tech_lead, retry_count: 2, retry_policy: blind, depends_on: [] }
";
    let world = answered_after_a_while(pipeline, 8_329_890_201_225_334_147, 16_089_609_867_730_999_532);
    let pushed = pushes_intended(&world);
    assert_eq!(
        pushed[pushed.len() - 2..],
        ["publish/e66cd70000/over-1e18fdba00-1", "answer/2/push/52902d2f00"]
    );
    nothing_is_claimed(&world).unwrap();
}

/// Settles at random, then gets a `/retry`, finished checks and another `/retry`.
fn answered_after_a_while(pipeline: &str, seed: u64, order: u64) -> SimulatedOrder {
    let mut world = SimulatedOrder::with(&renamed(pipeline, seed)).without_limits().asking(oracle(seed));
    for moment in 0..40 {
        if world.begin_all() && !world.under_way.is_empty() {
            let turn = chance(&(order, moment)) as usize % world.under_way.len();
            let key = world.under_way[turn].0.0.clone();
            world.finish(&key);
        }
    }
    let choice = |under_way: &[(MoveKey, Move)]| chance(&(order, under_way.len())) as usize % under_way.len();
    world.settle_choosing(choice);
    for what in [OutsideEvent::Retry, OutsideEvent::Checks, OutsideEvent::Retry] {
        happens(&mut world, what);
        world.settle_choosing(choice);
    }
    world
}

fn pushes_intended(world: &SimulatedOrder) -> Vec<String> {
    let entries = world.journal.entries().iter();
    entries
        .filter_map(|entry| match &entry.event {
            JournalEvent::Intended { key, r#move } if matches!(**r#move, Move::Push { .. }) => {
                Some(key.to_string())
            }
            _ => None,
        })
        .collect()
}
