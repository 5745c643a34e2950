//! What holds for every order, whatever goes wrong and whenever people interrupt.

use chrono::TimeDelta;
use proptest::prelude::*;

use super::chance::cases;
use super::world::{SimulatedOrder, failed, imported, nothing, red, said, sha, tested};
use crate::PullNumber;
use crate::agent_run::AgentFailureKind;
use crate::moves::{EffectError, PreparedRepository, Retry};
use crate::next::*;
use crate::settings::RepositorySettings;
use crate::signal::{SignalKind, SlashCommand};
use crate::test_run::TestVerdict;

fn any_outcome() -> impl Strategy<Value = (&'static str, EffectOutcome)> {
    let trouble = |retry| EffectOutcome::Trouble(EffectError { message: "m".to_owned(), retry });
    prop::sample::select(vec![
        ("/agent", said("")),
        ("/agent", failed(AgentFailureKind::Unavailable)),
        ("/agent", failed(AgentFailureKind::Ended)),
        ("/agent", failed(AgentFailureKind::Misconfigured)),
        ("/agent", failed(AgentFailureKind::UnknownSession)),
        ("/tests", red(1, 2)),
        ("/tests", red(2, 1)),
        ("/tests", tested(&sha(3), TestVerdict::NoTests, 0, 0)),
        ("/tests", tested(&sha(3), TestVerdict::SetupFailed, 0, 0)),
        ("/import", nothing()),
        ("/import", imported(5, None)),
        ("/files", EffectOutcome::FilesFound { files: vec![], content: None }),
        ("/push-1", EffectOutcome::BranchTaken { at: None }),
        ("prepare", trouble(Retry::Soon)),
        ("/pull", trouble(Retry::After { seconds: 60 })),
        ("/tests", trouble(Retry::Never)),
        ("", trouble(Retry::Soon)),
        ("", EffectOutcome::PullFinished),
    ])
}

fn any_signal() -> impl Strategy<Value = SignalKind> {
    prop::sample::select(vec![
        SignalKind::Commanded { comment: None, pull: None, command: SlashCommand::Cancel },
        SignalKind::Commanded { comment: None, pull: None, command: SlashCommand::Retry { guidance: None } },
        SignalKind::Labeled { label: "journeyman".to_owned(), pull: None, at: None },
        SignalKind::Unlabeled { label: "journeyman".to_owned() },
        SignalKind::IssueClosed,
        SignalKind::PullClosed { pull: PullNumber(8), merged: true },
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    /// The order settles, whatever happens. Every prefix of its journal has a move, a time to wake at or an end, and
    /// gives the same moves when asked again.
    #[test]
    fn every_order_settles_and_every_prefix_names_what_is_next(
        script in prop::collection::vec(any_outcome(), 0..12),
        signals in prop::collection::vec((0_usize..60, any_signal()), 0..4),
    ) {
        let mut world = SimulatedOrder::new();
        for (end, outcome) in script {
            world = world.when(end, vec![outcome]);
        }
        for moment in 0..60 {
            for (_, kind) in signals.iter().filter(|(at, _)| *at == moment) {
                world.hear(kind.clone());
            }
            world.step();
        }
        world.settle();
        for length in 1..=world.journal.entries().len() {
            let prefix = world.journal.prefix(length).unwrap();
            let now = prefix.entries()[length - 1].at;
            let first = next(prefix.pipeline(), &prefix, now);
            prop_assert!(!first.moves.is_empty() || first.wake_at.is_some() || first.settled.is_some());
            prop_assert_eq!(first, next(prefix.pipeline(), &prefix, now));
        }
        for length in 1..world.journal.entries().len() {
            let (before, after) = (world.journal.prefix(length).unwrap(), world.journal.prefix(length + 1).unwrap());
            let answers = |journal: &Journal| {
                let now = journal.entries().last().unwrap().at;
                projection(journal.pipeline(), journal, now).answers
            };
            for given in answers(&before).iter().filter(|given| given.answer != SignalAnswer::Asking) {
                prop_assert!(answers(&after).contains(given), "an answer that was given changed: {given:?}");
            }
        }
        let projection = world.projection();
        let heard = world.journal.entries().iter().filter(|e| matches!(e.event, JournalEvent::Signaled { .. })).count();
        prop_assert_eq!(projection.answers.len(), heard, "every signal is answered");
    }

    /// The same signal twice leads to the same end as once.
    #[test]
    fn a_signal_twice_is_harmless(at in 0_usize..40, kind in any_signal()) {
        let run = |times: usize| {
            let mut world = SimulatedOrder::new().when("implement/1/tests", vec![red(0, 1)]);
            for moment in 0..60 {
                if moment == at {
                    (0..times).for_each(|_| world.hear(kind.clone()));
                }
                world.step();
            }
            world.settle()
        };
        prop_assert_eq!(run(1), run(2));
    }

    #[test]
    fn settings_never_stop_an_order(label in ".*", minutes in proptest::option::of(0_u64..u64::MAX)) {
        let settings = RepositorySettings {
            label: Some(label),
            budget: Some(crate::settings::BudgetLimits { usd: None, minutes, runs: None }),
            ..RepositorySettings::default()
        };
        let prepared = EffectOutcome::Prepared(Box::new(PreparedRepository { default: None, base: sha(1), settings, pipeline: None, roles: Default::default(), commands: Default::default(), subjects: Vec::new(), comments: Default::default(), attachments: Vec::new(), template: None }));
        SimulatedOrder::new().when("prepare", vec![prepared]).settle();
    }
}

#[test]
fn the_status_waits_as_long_as_github_asks() {
    let limited = EffectError { message: "limited".to_owned(), retry: Retry::After { seconds: 120 } };
    let mut undisturbed = SimulatedOrder::new();
    undisturbed.settle();
    let first = undisturbed.made.into_iter().find(|key| key.starts_with("status/")).expect("a status");
    let first: &'static str = first.leak();
    let mut world = SimulatedOrder::new().when(first, vec![EffectOutcome::Trouble(limited)]);
    world.settle();
    let shown: Vec<DateTime<Utc>> = world
        .journal
        .entries()
        .iter()
        .filter(|entry| matches!(&entry.event, JournalEvent::Observed { key, .. } if key.0 == first))
        .map(|entry| entry.at)
        .collect();
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert!(shown[1] - shown[0] >= TimeDelta::seconds(120), "{shown:?}");
}
