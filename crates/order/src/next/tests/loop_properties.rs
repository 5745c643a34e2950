//! What holds for any pipeline, whatever workers and judges do, whichever is faster and whatever people interrupt.
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at one kind")]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::chance::{any_pipeline, cases, chance, oracle};
use super::world::{OrderEnding, SimulatedOrder};
use crate::ids::*;
use crate::judge_answer;
use crate::moves::{AgentTaskWorkspace, DiagnosisDecision};
use crate::next::*;
use crate::pipeline::{Check, Escalation, Stage, StageKind};
use crate::replay::best::rank;
use crate::replay::signal_log::SignalLog;
use crate::signal::{SignalKind, SlashCommand};
use crate::test_run::TestVerdict;
use crate::trace::{CandidateWork, OpenFindings, StageChecksOutcome, StageState};

/// An order whose outcomes come from the seed, with enough time and money for everything.
fn world(pipeline: &str, seed: u64) -> SimulatedOrder {
    SimulatedOrder::with(pipeline).without_limits().asking(oracle(seed))
}

fn stage_of<'a>(pipeline: &'a Pipeline, key: &MoveKey) -> Option<&'a Stage> {
    pipeline.stage(key.stage())
}

/// What runs in parallel: at most one writer and four stages, and none before its dependencies.
fn holds_while_at_work(world: &SimulatedOrder) -> Result<(), TestCaseError> {
    let pipeline = world.journal.pipeline();
    let at_work: BTreeMap<&str, &Stage> = world
        .under_way
        .iter()
        // A push has the publisher's name, whichever stage it belongs to.
        .filter(|(_, r#move)| !matches!(r#move, Move::Push { .. }))
        .filter_map(|(key, _)| stage_of(pipeline, key))
        .map(|stage| (stage.name.as_str(), stage))
        .collect();
    prop_assert!(at_work.len() <= 4, "{:?}", world.under_way);
    let writers = at_work.values().filter(|stage| stage.writes_tree()).count();
    prop_assert!(writers <= 1, "two writers at once: {:?}", world.under_way);
    let trace = world.projection().trace;
    let state = |name: &str| trace.stages.iter().rfind(|stage| stage.name == name).map(|stage| stage.state);
    let is_handed_over = trace.stages.iter().any(|stage| stage.state == StageState::Escalated);
    for stage in at_work.values() {
        if is_handed_over && matches!(stage.uses, StageKind::Publish | StageKind::Ready) {
            continue;
        }
        for name in &stage.depends_on {
            let is_done =
                matches!(state(name), Some(StageState::Passed | StageState::Approved | StageState::Skipped));
            prop_assert!(is_done, "{} runs, and {name} is {:?}", stage.name, state(name));
        }
    }
    Ok(())
}

/// Finishes effects one by one, in the order that the seed `order` gives.
fn settle(world: &mut SimulatedOrder, order: u64) -> Result<OrderEnding, TestCaseError> {
    let mut result = Ok(());
    let mut turn = 0;
    let settlement = world.settle_watched(|world| {
        turn += 1;
        if result.is_ok() {
            result = holds_while_at_work(world);
        }
        chance(&(order, turn)) as usize % world.under_way.len()
    });
    result.map(|()| settlement)
}

/// A move without its times.
fn timeless(r#move: &Move) -> Move {
    match r#move.clone() {
        Move::RunAgent(mut task) => {
            task.timeout_seconds = 0;
            Move::RunAgent(task)
        }
        Move::Commit { tree, parent, merges: None, message, .. } => {
            Move::Commit { tree, parent, merges: None, message, date: DateTime::UNIX_EPOCH }
        }
        other => other,
    }
}

/// A move without what a retry may change: an unknown session is dropped.
fn same_again(r#move: &Move) -> Move {
    match timeless(r#move) {
        Move::RunAgent(mut task) => {
            task.session = None;
            Move::RunAgent(task)
        }
        other => other,
    }
}

/// Every effect by key, as first proposed, without status and check runs: their content is the news so far.
fn effects(world: &SimulatedOrder) -> BTreeMap<String, Move> {
    let mut effects = BTreeMap::new();
    for entry in world.journal.entries() {
        if let JournalEvent::Intended { key, r#move } = &entry.event
            && !["status/", "check/"].iter().any(|aside| key.0.starts_with(aside))
        {
            effects.entry(key.0.clone()).or_insert_with(|| timeless(r#move));
        }
    }
    effects
}

/// Where rounds start again: the entries at which a `/retry` takes effect. It was given earlier, perhaps during the
/// last round, and waited for the author's rights. An ignored one starts nothing.
fn fresh_starts(world: &SimulatedOrder) -> BTreeSet<u64> {
    let log = SignalLog::read(world.journal.pipeline(), &world.journal, world.now);
    log.commands.iter().filter(|applied| applied.command.is_retry()).map(|applied| applied.seq).collect()
}

/// Between two fresh starts, no check sends work back more often than its limit.
fn limits_are_kept(world: &SimulatedOrder) -> Result<(), TestCaseError> {
    let pipeline = world.journal.pipeline();
    let fresh_starts = fresh_starts(world);
    let mut failures: BTreeMap<(String, &str), u32> = BTreeMap::new();
    let mut guided: BTreeMap<String, u32> = BTreeMap::new();
    let mut objected_to: BTreeSet<String> = BTreeSet::new();
    let mut ever_guided: BTreeSet<String> = BTreeSet::new();
    for entry in world.journal.entries() {
        if fresh_starts.contains(&entry.seq) {
            failures.clear();
            guided.clear();
        }
        let JournalEvent::Observed { key, outcome } = &entry.event else { continue };
        let outcome = &**outcome;
        let Some(stage) = stage_of(pipeline, key) else { continue };
        let parts: Vec<&str> = key.0.split('/').collect();
        let answer = || match outcome {
            EffectOutcome::AgentRan(run) if run.failure.is_none() => run.result.clone().unwrap_or_default(),
            _ => String::new(),
        };
        let (judge, limit) = match (outcome, parts.last().copied().unwrap_or_default()) {
            (EffectOutcome::NothingPushed { .. }, _) => ("pushed_commit", 3),
            (EffectOutcome::ImportRefused(_), _) => ("policy", 3),
            (EffectOutcome::Tested(run), "tests")
                if stage.uses == StageKind::Agent
                    && matches!(run.verdict, TestVerdict::Failed | TestVerdict::SetupFailed) =>
            {
                ("tests", 3)
            }
            (EffectOutcome::AgentRan(_), last) if last.starts_with("verify-") => {
                match judge_answer::feedback(&answer(), &[]) {
                    // Several objections to one round count as one failure.
                    Ok(feedback) if !feedback.passed && objected_to.insert(key.round().to_owned()) => {
                        ("verifier", stage.max_adversarial_rounds)
                    }
                    Ok(_) | Err(_) => continue,
                }
            }
            (EffectOutcome::AgentRan(_), last) if last.starts_with("diagnosis-") => {
                if judge_answer::diagnosis(&answer())
                    .is_ok_and(|said| said.decision == DiagnosisDecision::Guide)
                {
                    failures.retain(|(name, _), _| *name != stage.name);
                    *guided.entry(stage.name.clone()).or_default() += 1;
                    ever_guided.insert(stage.name.clone());
                }
                prop_assert!(guided.get(&stage.name).is_none_or(|times| *times <= 1), "guided twice: {key}");
                continue;
            }
            _ => continue,
        };
        let count = failures.entry((stage.name.clone(), judge)).or_default();
        *count += 1;
        // After a `/retry`, a stage that only judges continues with the guidance from before.
        let goes_on = !stage.checks.contains(&Check::PushedCommit) && ever_guided.contains(&stage.name);
        let limit = if goes_on { 2 * limit } else { limit };
        prop_assert!(*count <= limit, "{key}: {judge} has failed it {count} times, {limit} are allowed");
    }
    Ok(())
}

/// The best round of a stage that was given up or accepted is no worse than its other rounds.
fn the_best_is_kept(world: &SimulatedOrder) -> Result<(), TestCaseError> {
    let trace = world.projection().trace;
    let given_up = |state| matches!(state, StageState::Escalated | StageState::Approved);
    let mut stages = trace.stages.iter().filter(|stage| given_up(stage.state));
    let (Some(stage), None, Some(work)) = (stages.next(), stages.next(), &trace.work) else { return Ok(()) };
    if (work.accepted.is_none() && !matches!(work.checks, StageChecksOutcome::Failed { .. }))
        || !stage.rounds.iter().any(|round| round.commit.as_ref() == Some(&work.commit))
    {
        return Ok(());
    }
    let mut reviewed: Option<OpenFindings> = None;
    for round in &stage.rounds {
        reviewed = round.review.as_ref().map(OpenFindings::of).or(reviewed);
        let Some(feedback) = round.feedback.as_ref().filter(|_| round.commit.is_some()) else { continue };
        let open = reviewed.unwrap_or_else(|| OpenFindings::of(feedback));
        let other = rank(&CandidateWork { tests: round.tests.clone(), open, ..work.clone() });
        prop_assert!(rank(work) >= other, "{:?} is kept, {other:?} was better", rank(work));
    }
    Ok(())
}

/// Only commits that passed pushed_commit and policy are published, each over the one before.
fn only_what_may_leave_leaves(world: &SimulatedOrder) -> Result<(), TestCaseError> {
    let mut made: Vec<CommitSha> = Vec::new();
    let mut imported: BTreeSet<String> = BTreeSet::new();
    let mut there: Option<CommitSha> = None;
    let mut pushing: BTreeMap<&MoveKey, &CommitSha> = BTreeMap::new();
    for entry in world.journal.entries() {
        match &entry.event {
            JournalEvent::Intended { key, r#move } => match &**r#move {
                Move::Push { commit, lease, .. } => {
                    prop_assert!(made.contains(commit), "{key} was not made of an import");
                    prop_assert_eq!(lease, &there, "{} leases something else than the last push", key);
                    pushing.insert(key, commit);
                }
                Move::Commit { .. } => {
                    let round = key.0.trim_end_matches("/commit");
                    prop_assert!(imported.contains(round), "{key} without an import");
                }
                _ => {}
            },
            JournalEvent::Observed { key, outcome } => match &**outcome {
                EffectOutcome::Imported { .. } => {
                    imported.insert(key.0.trim_end_matches("/import").to_owned());
                }
                EffectOutcome::Committed { commit, .. } => {
                    made.push(commit.clone());
                }
                EffectOutcome::Pushed => there = pushing.get(key).map(|commit| (*commit).clone()),
                _ => {}
            },
            JournalEvent::Opened(_) | JournalEvent::Signaled { .. } => {}
        }
    }
    Ok(())
}

/// Whether this commit passed its tests, and every reviewer's last answer about it has no objection.
fn is_proved(world: &SimulatedOrder, commit: &CommitSha) -> Result<(), TestCaseError> {
    let mut tests: BTreeMap<&MoveKey, &CommitSha> = BTreeMap::new();
    let mut reviews: BTreeMap<&MoveKey, &str> = BTreeMap::new();
    let mut has_passed = false;
    let mut objected: BTreeMap<&str, bool> = BTreeMap::new();
    for entry in world.journal.entries() {
        match &entry.event {
            JournalEvent::Intended { key, r#move } => match &**r#move {
                Move::RunTests { commit } => {
                    tests.insert(key, commit);
                }
                Move::RunAgent(task)
                    if task.command == "review"
                        && task.place == AgentTaskWorkspace::Checkout { commit: commit.clone() } =>
                {
                    reviews.insert(key, &task.role);
                }
                _ => {}
            },
            JournalEvent::Observed { key, outcome } => match &**outcome {
                EffectOutcome::Tested(run) if tests.get(key) == Some(&commit) => {
                    has_passed |= run.verdict == TestVerdict::Passed && run.doubt.is_none();
                }
                EffectOutcome::AgentRan(run) => {
                    let Some(role) = reviews.get(key) else { continue };
                    let said = judge_answer::feedback(run.result.as_deref().unwrap_or_default(), &[]);
                    objected.insert(role, !said.is_ok_and(|feedback| feedback.passed));
                }
                _ => {}
            },
            JournalEvent::Opened(_) | JournalEvent::Signaled { .. } => {}
        }
    }
    prop_assert!(has_passed, "its tests did not pass");
    prop_assert!(
        objected.values().all(|objects| !objects),
        "a verifier's last word is no pass: {objected:?}"
    );
    Ok(())
}

fn claims_are_proved(world: &SimulatedOrder, settlement: &OrderEnding) -> Result<(), TestCaseError> {
    let trace = world.projection().trace;
    if let OrderEnding::Verified { pull } = settlement {
        let commit = trace.work.as_ref().map(|work| work.commit.clone());
        is_proved(world, commit.as_ref().expect("verified work"))?;
        let tests = trace.work.as_ref().and_then(|work| work.tests.as_ref());
        prop_assert!(tests.is_some_and(|run| run.verdict == TestVerdict::Passed && run.doubt.is_none()));
        if pull.is_some() {
            prop_assert_eq!(&trace.pushed, &commit, "another commit is published");
        }
        // An overtaken answer is repeated, so only the last stage of each name counts.
        let last: BTreeMap<&str, _> = trace.stages.iter().map(|stage| (stage.name.as_str(), stage)).collect();
        for stage in last.values() {
            prop_assert!(matches!(stage.state, StageState::Passed | StageState::Skipped), "{stage:?}");
        }
    }
    for entry in world.journal.entries() {
        if let JournalEvent::Intended { r#move, .. } = &entry.event
            && matches!(**r#move, Move::FinishPull { ready: true, .. })
            && !world.projection().answers.iter().any(|answered| answered.answer == SignalAnswer::Taken)
        {
            is_proved(world, trace.pushed.as_ref().expect("something is published"))?;
        }
    }
    Ok(())
}

/// Every prefix of the journal proposes what was done next.
fn every_prefix_names_what_was_done(world: &SimulatedOrder) -> Result<(), TestCaseError> {
    let mut first: BTreeMap<&MoveKey, Move> = BTreeMap::new();
    for (place, entry) in world.journal.entries().iter().enumerate() {
        let (key, r#move) = match &entry.event {
            JournalEvent::Intended { key, r#move }
                if !key.0.starts_with("status/") && !key.0.starts_with("check/") =>
            {
                (key, r#move)
            }
            // A person's retry can bring advice, or another commit to publish.
            JournalEvent::Signaled { .. } => {
                first.clear();
                continue;
            }
            _ => continue,
        };
        let before = world.journal.prefix(place).expect("a journal");
        let again = next(before.pipeline(), &before, entry.at);
        let named = again.moves.iter().find(|(named, _)| named == key).map(|(_, named)| timeless(named));
        prop_assert_eq!(named, Some(timeless(r#move)), "{} at {}", key, place);
        let known = first.entry(key).or_insert_with(|| same_again(r#move));
        prop_assert_eq!(&*known, &same_again(r#move), "{} names two moves", key);
    }
    Ok(())
}

fn holds_afterwards(world: &SimulatedOrder, settlement: &OrderEnding) -> Result<(), TestCaseError> {
    limits_are_kept(world)?;
    the_best_is_kept(world)?;
    only_what_may_leave_leaves(world)?;
    claims_are_proved(world, settlement)
}

fn any_signal() -> impl Strategy<Value = SignalKind> {
    let commanded = |command| SignalKind::Commanded { comment: None, pull: None, command };
    prop::sample::select(vec![
        commanded(SlashCommand::Approve),
        commanded(SlashCommand::Retry { guidance: None }),
        commanded(SlashCommand::Retry { guidance: Some("mind the carry".to_owned()) }),
        commanded(SlashCommand::Cancel),
        SignalKind::IssueClosed,
    ])
}

/// People interrupt at any moment, and again after the end.
fn interrupted(
    pipeline: &str,
    (seed, order): (u64, u64),
    signals: &[(usize, SignalKind)],
    afterwards: Vec<SignalKind>,
) -> Result<SimulatedOrder, TestCaseError> {
    let mut world = world(pipeline, seed);
    for moment in 0..40_usize {
        for (_, kind) in signals.iter().filter(|(at, _)| *at == moment) {
            world.hear(kind.clone());
        }
        if world.begin_all() && !world.under_way.is_empty() {
            holds_while_at_work(&world)?;
            let turn = chance(&(order, moment)) as usize % world.under_way.len();
            let key = world.under_way[turn].0.0.clone();
            world.finish(&key);
        }
    }
    let mut settled = settle(&mut world, order)?;
    holds_afterwards(&world, &settled)?;
    for kind in afterwards {
        world.hear(kind);
        settled = settle(&mut world, order)?;
        holds_afterwards(&world, &settled)?;
    }
    let heard =
        world.journal.entries().iter().filter(|entry| matches!(entry.event, JournalEvent::Signaled { .. }));
    let answers = world.projection().answers;
    prop_assert_eq!(answers.len(), heard.count(), "every signal is answered");
    prop_assert!(answers.iter().all(|answered| answered.answer != SignalAnswer::Asking));
    Ok(world)
}

/// Costs of three parallel verifiers are added in the order in which they end, and half a cent rounds either way.
#[test]
fn what_a_round_costs_does_not_depend_on_who_is_quicker() -> Result<(), TestCaseError> {
    let pipeline = "name: chance\nversion: 1\nstages:\n  - { name: s1, agent: developer, checks: [pushed_commit, policy, tests, \
        verifier], verifier: [logic_reviewer, security_reviewer, architecture_reviewer], max_adversarial_rounds: 4, \
        escalate_on_exhaust: tech_lead, retry_count: 3, retry_policy: exponential, budget: 0.8, depends_on: [] }\n  \
        - { name: s0, agent: developer, retry_count: 2, retry_policy: infrastructure_only, depends_on: [] }\n";
    let (mut first, mut second) =
        (world(pipeline, 11363494052902256139), world(pipeline, 11363494052902256139));
    prop_assert_eq!(settle(&mut first, 6234002311389348695)?, settle(&mut second, 7907013537074177371)?);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 120, failure_persistence: None, ..ProptestConfig::default() })]

    /// Two orders of finishing give the same end, the same tree and the same effects, by name and content.
    #[test]
    fn what_comes_out_does_not_depend_on_who_is_quicker(
        pipeline in any_pipeline(), seed in any::<u64>(), one in any::<u64>(), other in any::<u64>(),
    ) {
        let (mut first, mut second) = (world(&pipeline, seed), world(&pipeline, seed));
        let settled = settle(&mut first, one)?;
        prop_assert_eq!(&settled, &settle(&mut second, other)?);
        holds_afterwards(&first, &settled)?;
        let tree = |world: &SimulatedOrder| world.projection().trace.work.map(|work| work.tree);
        prop_assert_eq!(tree(&first), tree(&second));
        prop_assert_eq!(effects(&first), effects(&second));
    }

    #[test]
    fn whoever_interrupts_it_settles_and_nothing_is_claimed_that_is_not_so(
        pipeline in any_pipeline(), seed in any::<u64>(), order in any::<u64>(),
        signals in prop::collection::vec((0_usize..40, any_signal()), 0..3),
        afterwards in prop::collection::vec(any_signal(), 0..4),
    ) {
        interrupted(&pipeline, (seed, order), &signals, afterwards)?;
    }

    /// After a crash at any moment, the journal alone gives the same next moves.
    #[test]
    fn a_journal_tells_at_each_moment_what_is_next(
        pipeline in any_pipeline(), seed in any::<u64>(), order in any::<u64>(),
        crash in 0_usize..60, retry in any::<bool>(),
    ) {
        let mut calm = world(&pipeline, seed);
        let expected = settle(&mut calm, order)?;
        let mut world = world(&pipeline, seed);
        for turn in 0..crash {
            if world.begin_all() && !world.under_way.is_empty() {
                let key = world.under_way[chance(&(order, turn)) as usize % world.under_way.len()].0.0.clone();
                world.finish(&key);
            }
        }
        world.begin_all();
        world.under_way.clear();
        prop_assert_eq!(settle(&mut world, order)?, expected, "as without the crash");
        prop_assert_eq!(effects(&world), effects(&calm));
        let is_paid = |key: &&String| key.ends_with("/agent") || key.contains("/verify-");
        let runs = |world: &SimulatedOrder| world.made.iter().filter(is_paid).count();
        prop_assert_eq!(runs(&world), runs(&calm), "nothing is paid twice");
        if retry {
            world.say("/retry look again");
            settle(&mut world, order)?;
        }
        every_prefix_names_what_was_done(&world)?;
    }
}

#[test]
fn the_random_pipelines_are_worth_their_name() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in 0..150 {
        let pipeline = any_pipeline().new_tree(&mut runner).unwrap().current();
        let mut world = world(&pipeline, seed);
        world.settle_choosing(|_| 0);
        let pipeline = world.journal.pipeline();
        let mut note = |what| *seen.entry(what).or_default() += 1;
        note(world.projection().surfaces().outcome);
        for (what, is_so) in [
            ("side by side", world.most_at_once > 2),
            ("reviewed", world.made("/verify-") > 0),
            ("reviewed by several", world.made("/verify-security_reviewer-1") > 0),
            ("asked again, of several", world.made("/verify-security_reviewer-2") > 0),
            ("diagnosed", world.made("/diagnosis-") > 0),
            ("pushed again", world.pushes().len() > 1),
            ("fourth round", world.made("/4/agent") > 0),
            ("escalates", pipeline.stages.iter().any(|stage| stage.escalate_on_exhaust != Escalation::None)),
            (
                "two writers",
                pipeline.stages.iter().filter(|stage| stage.checks.contains(&Check::PushedCommit)).count()
                    > 1,
            ),
            ("when", pipeline.stages.iter().any(|stage| stage.when.is_some())),
        ] {
            if is_so {
                note(what);
            }
        }
    }
    for what in [
        "verified", "unverified", "escalated", "blocked", "failed", "side by side", "reviewed",
        "reviewed by several", "asked again, of several", "diagnosed", "pushed again", "fourth round",
        "escalates", "two writers", "when",
    ] {
        assert!(seen.get(what).is_some_and(|times| *times >= 2), "{what} is rare: {seen:?}");
    }
}

/// A `/retry` during the last round counts only once its author's rights are known.
#[test]
fn a_round_that_fails_before_a_retry_counts_is_of_the_rounds_before() {
    let pipeline = "name: chance\nversion: 1\nstages:\n  - { name: s0, agent: developer, \
        checks: [pushed_commit, policy, tests], escalate_on_exhaust: tech_lead, retry_count: 3, \
        retry_policy: infrastructure_only, depends_on: [] }\n";
    let retry = |guidance: Option<&str>| SignalKind::Commanded {
        comment: None,
        pull: None,
        command: SlashCommand::Retry { guidance: guidance.map(str::to_owned) },
    };
    let advised = retry(Some("mind the carry"));
    let seeds = (36, 252);
    let world = interrupted(pipeline, seeds, &[(33, retry(None))], vec![advised.clone(), advised]);
    let world = world.unwrap();
    let said = world.projection().answers[0].signal;
    let starts = fresh_starts(&world);
    assert_eq!(starts.len(), 2, "the third is ignored");
    let counts = *starts.first().unwrap();
    let failed = world.journal.entries().iter().filter(|entry| (said..counts).contains(&entry.seq)).filter(
        |entry| matches!(&entry.event, JournalEvent::Observed { outcome, .. } if matches!(&**outcome, EffectOutcome::NothingPushed { .. })),
    );
    assert_eq!(failed.count(), 1);
}

/// A parallel stage gives up while the review pushes a later commit. The handover is the commit that the remote has in
/// the end, whichever of the two was faster.
#[test]
fn what_is_handed_over_is_what_the_remote_has() {
    let pipeline = "name: chance\nversion: 1\nstages:
  - { name: s0, agent: developer, retry_count: 1, retry_policy: exponential, depends_on: [] }
  - { name: s1, agent: developer, retry_count: 1, retry_policy: blind, depends_on: [s0] }
  - { name: s2, agent: developer, checks: [pushed_commit, policy, tests, verifier], verifier: code_reviewer, \
        max_adversarial_rounds: 1, escalate_on_exhaust: tech_lead, retry_count: 3, \
        retry_policy: infrastructure_only, depends_on: [s0] }
  - { name: s3, agent: developer, begins_with: checks, checks: [verifier], verifier: code_reviewer, \
        max_adversarial_rounds: 1, escalate_on_exhaust: tech_lead, retry_count: 2, \
        retry_policy: infrastructure_only, budget: 0.8, depends_on: [s2] }
  - { name: publish, uses: publish, agent: developer, command: create_pull_request, depends_on: [s2] }
  - { name: review, agent: developer, begins_with: checks, checks: [pushed_commit, policy, tests, verifier], \
        verifier: code_reviewer, max_adversarial_rounds: 4, escalate_on_exhaust: none, retry_count: 1, \
        retry_policy: blind, depends_on: [publish] }
  - { name: ready, uses: ready, depends_on: [s2, s3, publish, review] }\n";
    for order in [78_862_633_096_466_729, 10_037_455_889_228_213_045] {
        let mut world = world(pipeline, 17_449_592_721_998_931_655);
        settle(&mut world, order).unwrap();
        let pushed: Vec<String> =
            world.pushes().iter().map(|(commit, _)| commit.short().to_owned()).collect();
        assert_eq!(pushed, ["36a0332000", "d99cf72c00", "36a0332000"]);
    }
}
