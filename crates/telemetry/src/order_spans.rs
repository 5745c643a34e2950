//! A journal as a trace: the order contains stages, stages contain rounds, rounds contain moves. Each span is created
//! when it ends. Its ids derive from the order and the journal, so the same span always has the same ids.
//!
//! May know: journals and their results. Must never know: which spans were sent before.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};
use sha2::{Digest, Sha256};

use journeyman_order::moves::EffectOutcome;
use journeyman_order::next::OrderProjection;
use journeyman_order::steps::{Step, steps};
use journeyman_order::trace::StageState;
use journeyman_order::{Journal, JournalEntry, JournalEvent, Move, MoveKey, OrderId, projection};

use super::attributes::{AgentFacts, amount, error_type, name, number, of_move, text};

type Part = (String, Option<u32>);

#[derive(Default)]
struct Standing {
    known: BTreeSet<Part>,
    ended: BTreeMap<Part, &'static str>,
    settled: Option<&'static str>,
    failed: bool,
    usd: f64,
}

/// The spans that ended with the entries after `seq`.
pub fn spans_since(journal: &Journal, seq: u64, facts: &dyn Fn(&str) -> AgentFacts) -> Vec<Span> {
    let begun = usize::try_from(seq).unwrap_or(usize::MAX).max(1);
    let Some(mut growing) = journal.prefix(begun) else { return Vec::new() };
    let mut before = Standing::of(&growing);
    let mut spans = Vec::new();
    for entry in journal.entries().iter().skip(begun) {
        // The entries come from one journal, so each is the next one.
        if growing.push(entry.clone()).is_err() {
            break;
        }
        if matches!(entry.event, JournalEvent::Intended { .. }) {
            continue;
        }
        let after = Standing::of(&growing);
        if let JournalEvent::Observed { key, outcome } = &entry.event {
            spans.extend(of_effect(&growing, (entry, key, outcome), &after.known, facts));
        }
        spans.extend(parts_that_ended(&growing, entry, &before, &after));
        spans.extend(end_of_order(&growing, entry, &before, &after));
        before = after;
    }
    spans
}

impl Standing {
    fn of(journal: &Journal) -> Self {
        let at = journal.entries().last().map_or_else(|| journal.opened_at(), |entry| entry.at);
        let projection = projection(journal.pipeline(), journal, at);
        let settled = projection.next.settled.is_some();
        let (mut known, mut ended) = (BTreeSet::new(), BTreeMap::new());
        for stage in &projection.trace.stages {
            let end = end_of(stage.state, settled);
            for (place, round) in stage.rounds.iter().enumerate() {
                known.extend([(stage.name.clone(), Some(round.round)), (stage.name.clone(), None)]);
                let is_last = place + 1 == stage.rounds.len();
                if !is_last || end.is_some() {
                    let passed = if round.feedback.is_none() { "passed" } else { "failed" };
                    ended.insert((stage.name.clone(), Some(round.round)), passed);
                }
            }
            if let (Some(end), false) = (end, stage.rounds.is_empty()) {
                ended.insert((stage.name.clone(), None), end);
            }
        }
        Self {
            known,
            ended,
            settled: settled.then(|| projection.surfaces().outcome),
            failed: settled && is_failure(&projection),
            usd: projection.trace.usage.usd,
        }
    }
}

/// A stage that still runs when the order settles counts as `left`.
fn end_of(state: StageState, settled: bool) -> Option<&'static str> {
    state.end().or_else(|| (settled && state == StageState::Running).then_some("left"))
}

fn is_failure(projection: &OrderProjection) -> bool {
    use journeyman_order::Settlement::*;
    matches!(projection.next.settled, Some(Blocked { .. } | Failed { .. } | Unprepared { .. }))
}

/// A move since its last intent. Earlier, interrupted attempts get no span.
fn of_effect(
    journal: &Journal,
    (entry, key, outcome): (&JournalEntry, &MoveKey, &EffectOutcome),
    known: &BTreeSet<Part>,
    facts: &dyn Fn(&str) -> AgentFacts,
) -> Option<Span> {
    let (begun, intended) = journal.entries().iter().rev().find_map(|earlier| {
        let JournalEvent::Intended { key: known, r#move } = &earlier.event else { return None };
        (known == key).then_some((earlier, r#move))
    })?;
    let order = journal.opened().order;
    let mut attributes = vec![text("journeyman.move", &key.0)];
    attributes.extend(of_move(journal, intended, outcome, facts));
    let failed = error_type(outcome).is_some();
    let id = span_id(order, "move", begun.seq);
    let parent = parent(order, known, key, intended);
    Some(span(order, (id, Some(parent)), &name(intended), (begun.at, entry.at), attributes, failed))
}

/// The move's round, otherwise its stage, otherwise the order.
fn parent(order: OrderId, known: &BTreeSet<Part>, key: &MoveKey, intended: &Move) -> Vec<u8> {
    let (stage, round) = if let Move::RunAgent(task) = intended {
        (task.stage.clone(), Some(task.round))
    } else {
        (key.stage().to_owned(), key.number())
    };
    let parts = [(stage.clone(), round), (stage, None)];
    parts
        .iter()
        .find(|part| known.contains(*part))
        .map_or_else(|| root_id(order), |part| part_id(order, part))
}

/// Spans of stages and rounds that ended with this entry.
fn parts_that_ended(
    journal: &Journal,
    entry: &JournalEntry,
    before: &Standing,
    after: &Standing,
) -> Vec<Span> {
    let ended: Vec<_> = after.ended.iter().filter(|(part, _)| !before.ended.contains_key(*part)).collect();
    if ended.is_empty() {
        return Vec::new();
    }
    let order = journal.opened().order;
    let (steps, earlier) = (steps(journal), earlier_ends(journal));
    let of_part = |(part, end): (&Part, &&'static str)| {
        let (stage, round) = part;
        // A part that ends again gets a second span, with what happened since the last signal.
        let again = earlier.iter().any(|before| before.ended.contains_key(part));
        let since = if again { last_signal(journal) } else { None };
        let is_of = |step: &&Step| step.stage == *stage && (round.is_none() || step.round == *round);
        let is_new = |step: &&Step| since.is_none_or(|since| step.started_at >= since);
        let begun = steps.iter().filter(is_of).filter(is_new).map(|step| step.started_at).min();
        let begun = begun.or(since)?;
        let mut attributes = vec![text("journeyman.stage", stage), text("journeyman.end", end)];
        let (name, parent) = match round {
            Some(round) => {
                attributes.push(number("journeyman.round", u64::from(*round)));
                (format!("round {round}"), part_id(order, &(stage.clone(), None)))
            }
            None => (format!("stage {stage}"), root_id(order)),
        };
        let id = if again {
            span_id(order, &format!("again {stage} {round:?}"), entry.seq)
        } else {
            part_id(order, part)
        };
        let ids = (id, Some(parent));
        Some(span(order, ids, &name, (begun, entry.at), attributes, false))
    };
    ended.into_iter().filter_map(of_part).collect()
}

/// The span of the order, at its first end. Later ends become spans inside it.
fn end_of_order(
    journal: &Journal,
    entry: &JournalEntry,
    before: &Standing,
    after: &Standing,
) -> Option<Span> {
    let end = after.settled.filter(|end| before.settled != Some(end))?;
    let opened = journal.opened();
    let order = opened.order;
    let ended_before =
        before.settled.is_some() || earlier_ends(journal).iter().any(|earlier| earlier.settled.is_some());
    let (ids, name, begun) = if ended_before {
        let begun = last_signal(journal).unwrap_or(entry.at);
        ((span_id(order, "end", entry.seq), Some(root_id(order))), "order again", begun)
    } else {
        ((root_id(order), None), "order", journal.opened_at())
    };
    let attributes = vec![
        text("journeyman.order", &order.to_string()),
        text("journeyman.repository", &opened.repository.to_string()),
        number("journeyman.issue", opened.issue.number.0),
        text("journeyman.pipeline", &journal.pipeline().name),
        text("journeyman.end", end),
        amount("journeyman.usd", after.usd),
    ];
    Some(span(order, ids, name, (begun, entry.at), attributes, after.failed))
}

fn last_signal(journal: &Journal) -> Option<DateTime<Utc>> {
    let is_signal = |entry: &&JournalEntry| matches!(entry.event, JournalEvent::Signaled { .. });
    journal.entries().iter().rev().find(is_signal).map(|entry| entry.at)
}

/// The states before each signal. Only a signal reopens an order, so all earlier ends are in them.
fn earlier_ends(journal: &Journal) -> Vec<Standing> {
    let signals = journal
        .entries()
        .iter()
        .enumerate()
        .filter(|(place, entry)| *place > 0 && matches!(entry.event, JournalEvent::Signaled { .. }));
    signals.filter_map(|(place, _)| journal.prefix(place)).map(|earlier| Standing::of(&earlier)).collect()
}

fn span(
    order: OrderId,
    (span_id, parent): (Vec<u8>, Option<Vec<u8>>),
    name: &str,
    (begun, ended): (DateTime<Utc>, DateTime<Utc>),
    attributes: Vec<KeyValue>,
    failed: bool,
) -> Span {
    let nanos = |at: DateTime<Utc>| {
        at.timestamp_nanos_opt().and_then(|nanos| u64::try_from(nanos).ok()).unwrap_or_default()
    };
    let code = if failed { StatusCode::Error } else { StatusCode::Unset };
    Span {
        trace_id: order.0.as_bytes().to_vec(),
        span_id,
        parent_span_id: parent.unwrap_or_default(),
        name: name.to_owned(),
        kind: SpanKind::Internal.into(),
        start_time_unix_nano: nanos(begun),
        // A clock can be set back, but a span cannot end before it starts.
        end_time_unix_nano: nanos(ended.max(begun)),
        attributes,
        status: Some(Status { code: code.into(), message: String::new() }),
        ..Span::default()
    }
}

fn root_id(order: OrderId) -> Vec<u8> {
    span_id(order, "order", 0)
}

fn part_id(order: OrderId, (stage, round): &Part) -> Vec<u8> {
    span_id(order, &format!("stage {stage}"), round.map_or(0, u64::from))
}

/// Never all zeros, which is an invalid id.
fn span_id(order: OrderId, what: &str, number: u64) -> Vec<u8> {
    let digest = Sha256::new()
        .chain_update(order.0.as_bytes())
        .chain_update(number.to_be_bytes())
        .chain_update(what.as_bytes())
        .finalize();
    let mut id: Vec<u8> = digest.iter().take(8).copied().collect();
    if let Some(first) = id.first_mut() {
        *first |= 1;
    }
    id
}
