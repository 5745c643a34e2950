//! Random pipelines and outcomes: the same seed gives the same effect the same outcome, whatever is faster.
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at one kind")]

use std::hash::{DefaultHasher, Hash, Hasher};

use proptest::prelude::*;

use super::world::{
    OutcomeOracle, approves, failed, flags, guides, imported, nothing, objects, red, said, sha, tested,
};
use crate::agent_run::{AgentFailureKind, AgentRun, AgentUsage};
use crate::feedback::{Category, Feedback};
use crate::moves::EffectError;
use crate::next::*;
use crate::test_run::TestVerdict;

/// How many random orders each property is tested with.
pub(super) fn cases() -> u32 {
    if std::env::var_os("JOURNEYMAN_TEST_ALL").is_some() { 96 } else { 16 }
}

/// A number that depends only on the argument.
pub(super) fn chance(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// A repeatable sequence of random numbers.
struct SeededRandom {
    state: u64,
}

impl SeededRandom {
    fn of(&mut self, sides: u64) -> u64 {
        self.state = chance(&self.state);
        self.state % sides
    }

    /// True in `times` of a hundred cases.
    fn percent(&mut self, times: u64) -> bool {
        self.of(100) < times
    }
}

/// The outcome of each effect, by the seed, its name and how often it was made before.
pub(super) fn oracle(seed: u64) -> OutcomeOracle {
    Box::new(move |key, r#move, before| {
        let mut dice = SeededRandom { state: chance(&(seed, key, before)) };
        // Some orders do well, some badly.
        let badness = if seed.is_multiple_of(9) { 70 } else { 5 + seed % 40 };
        if !matches!(r#move, Move::Authorize { .. } | Move::ShowStatus { .. }) && dice.percent(2) {
            let retry = if dice.percent(20) { Retry::Never } else { Retry::Soon };
            return Some(EffectOutcome::Trouble(EffectError { message: "trouble".to_owned(), retry }));
        }
        if dice.of(400) == 0 {
            return Some(EffectOutcome::PullFinished);
        }
        match r#move {
            Move::RunAgent(task) => Some(agent(&task.command, key, badness, &mut dice)),
            Move::Import { .. } => Some(match dice.of(100) {
                n if n < badness / 2 => nothing(),
                n if n < badness => {
                    let what = ["Makefile", "a secret", ".github", "a link"][dice.of(4) as usize];
                    EffectOutcome::ImportRefused(Feedback::failed(
                        Category::Policy,
                        format!("{what} is refused"),
                    ))
                }
                // Sometimes the same commit or the same tree again.
                n => match imported(
                    if n < badness + 3 { 1 } else { (dice.of(1 << 20) + 10) as u32 },
                    Some("Change it"),
                ) {
                    EffectOutcome::Imported { pushed, tree, changed, message, warnings } => {
                        let tree =
                            if dice.percent(5) { sha(77).as_str().parse().expect("a tree") } else { tree };
                        let message = message.filter(|_| !dice.percent(10));
                        EffectOutcome::Imported { pushed, tree, changed, message, warnings }
                    }
                    other => other,
                },
            }),
            // The date is part of a commit, so no two are the same.
            Move::Commit { .. } => Some(EffectOutcome::Committed {
                commit: sha(chance(&(seed, key)) as u32),
                patch: key.to_string(),
            }),
            Move::RunTests { commit } => Some(match dice.of(100) {
                n if n < badness => red(dice.of(4), 1 + dice.of(3)),
                n if n < badness + 4 => tested(commit, TestVerdict::SetupFailed, 0, 0),
                n if n < badness + 10 => tested(commit, TestVerdict::NoTests, 0, 0),
                n => match tested(commit, TestVerdict::Passed, 5, 0) {
                    EffectOutcome::Tested(mut run) => {
                        run.doubt = (n > 96).then(|| "the change rewrites its judge".to_owned());
                        EffectOutcome::Tested(run)
                    }
                    other => other,
                },
            }),
            Move::Push { .. } if dice.percent(3) => Some(EffectOutcome::BranchTaken { at: Some(sha(66)) }),
            _ => None,
        }
    })
}

fn agent(command: &str, key: &MoveKey, badness: u64, dice: &mut SeededRandom) -> EffectOutcome {
    match dice.of(100) {
        0 | 1 => return failed(AgentFailureKind::Unavailable),
        2 => return failed(AgentFailureKind::UnknownSession),
        3 | 4 => return failed(AgentFailureKind::Ended),
        5 if dice.percent(30) => return failed(AgentFailureKind::Misconfigured),
        _ => {}
    }
    let nonsense = format!("well, {}", ["so", "then", "maybe", "hm"][dice.of(4) as usize]);
    let findings = ["an off by one", "a leak", "a race", "a wrong name", "a hole"];
    let outcome = match command {
        "review" if dice.percent(badness * 2) => {
            let from = dice.of(4) as usize;
            objects(&findings[from..=(from + dice.of(2) as usize).min(4)])
        }
        "review" if !dice.percent(12) => approves(),
        "diagnose" if dice.percent(40) => guides("look at the carry"),
        "diagnose" if dice.percent(60) => flags("it cannot be done"),
        "review" | "diagnose" => said(&nonsense),
        "generate_branch" if !dice.percent(20) => said("mend-it"),
        "create_pull_request" if !dice.percent(20) => said("Mend the sum\n\nIt was wrong."),
        "create_commit" if !dice.percent(20) => said("Mend the sum"),
        "choose" if !dice.percent(badness / 2) => said(if dice.percent(50) { "/one" } else { "/two" }),
        "work" if !dice.percent(6) => said(&format!("done with {key}")),
        _ => said(&nonsense),
    };
    match outcome {
        EffectOutcome::AgentRan(run) => EffectOutcome::AgentRan(Box::new(AgentRun {
            session_id: (!dice.percent(10)).then(|| format!("session of {key}")),
            usage: AgentUsage { usd: dice.of(30) as f64 / 100.0, ..AgentUsage::default() },
            ..*run
        })),
        other => other,
    }
}

/// A random stage without its name.
#[derive(Debug, Clone)]
struct StageDraft {
    kind: u64,
    depends: u64,
    checks: u64,
    escalation: &'static str,
    rounds: u64,
    retries: u64,
    policy: &'static str,
    budget: bool,
    when: bool,
}

fn any_sketch() -> impl Strategy<Value = StageDraft> {
    let escalation = prop::sample::select(vec!["none", "human_approval", "tech_lead", "tech_lead"]);
    let policy = prop::sample::select(vec!["blind", "exponential", "infrastructure_only"]);
    let numbers = (0_u64..10, any::<u64>(), any::<u64>(), 0_u64..5, 0_u64..4);
    (numbers, escalation, policy, prop::bool::weighted(0.1), prop::bool::weighted(0.3)).prop_map(
        |((kind, depends, checks, rounds, retries), escalation, policy, budget, when)| StageDraft {
            kind,
            depends,
            checks,
            escalation,
            rounds,
            retries,
            policy,
            budget,
            when,
        },
    )
}

/// A valid pipeline of at most seven stages.
pub(super) fn any_pipeline() -> impl Strategy<Value = String> {
    let around = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (prop::collection::vec(any_sketch(), 1..=4), any_sketch(), around)
        .prop_map(|(sketches, review, around)| drawn(&sketches, &review, around))
}

fn drawn(
    sketches: &[StageDraft],
    review: &StageDraft,
    (publishes, reviews, readies, backwards): (bool, bool, bool, bool),
) -> String {
    let mut stages: Vec<String> = Vec::new();
    let (mut writers, mut judges, mut choosers) = (Vec::new(), Vec::new(), Vec::new());
    for (number, sketch) in sketches.iter().enumerate() {
        let name = format!("s{number}");
        let mut depends: Vec<String> =
            (0..number).filter(|bit| sketch.depends >> bit & 1 == 1).map(|bit| format!("s{bit}")).collect();
        // A judge needs a stage that makes work.
        let maker = writers.last().cloned();
        let with_maker = |depends: &mut Vec<String>| {
            depends.extend(maker.clone().filter(|maker| !depends.contains(maker)));
        };
        let body = match (sketch.kind, maker.is_some()) {
            (0 | 1, _) => "agent: developer".to_owned(),
            (2, _) => {
                choosers.push(name.clone());
                "agent: developer, command: choose, output: { one_of: [/one, /two] }".to_owned()
            }
            (3, true) => {
                with_maker(&mut depends);
                judges.push(name.clone());
                "uses: tests".to_owned()
            }
            (4, true) => {
                with_maker(&mut depends);
                judges.push(name.clone());
                writers.push(name.clone());
                worker(sketch, "begins_with: checks, ")
            }
            (5, true) => {
                with_maker(&mut depends);
                judges.push(name.clone());
                format!(
                    "agent: developer, begins_with: checks, checks: [verifier], verifier: {}, \
                     max_adversarial_rounds: {}, escalate_on_exhaust: {}",
                    verifiers(sketch),
                    sketch.rounds,
                    sketch.escalation
                )
            }
            (_, _) => {
                writers.push(name.clone());
                judges.push(name.clone());
                worker(sketch, "")
            }
        };
        let when = choosers.iter().find(|chooser| sketch.when && depends.contains(chooser));
        let when =
            when.map_or(String::new(), |chooser| format!(", when: '{{{{{chooser}.result}}}} == /one'"));
        let limits = if body.starts_with("uses") { String::new() } else { limits(sketch) };
        stages
            .push(format!("{{ name: {name}, {body}{limits}{when}, depends_on: [{}] }}", depends.join(", ")));
    }
    if publishes && !writers.is_empty() {
        stages.push(format!(
            "{{ name: publish, uses: publish, agent: developer, command: create_pull_request, depends_on: [{}] }}",
            writers.join(", ")
        ));
        judges.push("publish".to_owned());
        if reviews {
            let body = worker(review, "begins_with: checks, ");
            stages.push(format!("{{ name: review, {body}{}, depends_on: [publish] }}", limits(review)));
            judges.push("review".to_owned());
        }
        if readies {
            stages.push(format!("{{ name: ready, uses: ready, depends_on: [{}] }}", judges.join(", ")));
        }
    }
    if backwards {
        stages.reverse();
    }
    let stages: String = stages.iter().map(|stage| format!("  - {stage}\n")).collect();
    format!("name: chance\nversion: 1\nstages:\n{stages}")
}

fn limits(sketch: &StageDraft) -> String {
    let budget = if sketch.budget { ", budget: 0.8" } else { "" };
    format!(", retry_count: {}, retry_policy: {}{budget}", sketch.retries, sketch.policy)
}

/// The verifiers, usually only one.
fn verifiers(sketch: &StageDraft) -> &'static str {
    match sketch.checks >> 40 & 7 {
        0 | 1 => "[code_reviewer, security_reviewer]",
        2 => "[logic_reviewer, security_reviewer, architecture_reviewer]",
        _ => "code_reviewer",
    }
}

fn worker(sketch: &StageDraft, begins: &str) -> String {
    let mut checks = vec!["pushed_commit"];
    for (bit, check) in ["policy", "tests", "verifier"].into_iter().enumerate() {
        // Most stages have most checks.
        if sketch.checks >> (2 * bit) & 3 != 0 {
            checks.push(check);
        }
    }
    let verifier = if checks.contains(&"verifier") {
        format!(", verifier: {}, max_adversarial_rounds: {}", verifiers(sketch), sketch.rounds)
    } else {
        String::new()
    };
    format!(
        "agent: developer, {begins}checks: [{}]{verifier}, escalate_on_exhaust: {}",
        checks.join(", "),
        sketch.escalation
    )
}
