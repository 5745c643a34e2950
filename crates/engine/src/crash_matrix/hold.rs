//! What must hold in the end, whatever happened on the way.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::faults::Fate;
use super::people::markers;
use super::setting::{Heard, REPOSITORY};
use super::world::World;
use journeyman_github::OrderLabel;
use journeyman_order::next::OrderProjection;
use journeyman_order::{Journal, JournalEvent, MoveKey, SignalAnswer, projection};
use journeyman_render as render;
use journeyman_store::{JournalStore, OrderFilter, OrderRow, Store};

struct SeenOrder {
    row: OrderRow,
    journal: Journal,
    projection: OrderProjection,
}

async fn orders(world: &World, store: &Store) -> Result<Vec<SeenOrder>, String> {
    let rows = store.orders(&OrderFilter { limit: 50, ..OrderFilter::default() }).await;
    let mut seen = Vec::new();
    for row in rows.map_err(|error| error.to_string())? {
        let journal = JournalStore::journal(store, row.id).await.map_err(|error| error.to_string())?;
        let projection = projection(journal.pipeline(), &journal, world.steps.now());
        seen.push(SeenOrder { row, journal, projection });
    }
    Ok(seen)
}

/// Checks the world from every side. The error is what does not hold.
pub(super) async fn check(world: &World, heard: &Heard) -> Result<(), String> {
    let store = world.reading().await;
    let seen = orders(world, &store).await?;
    let mut wrong: Vec<String> = Vec::new();
    let pending = store.pending_deliveries(0, 10).await.map_err(|error| error.to_string())?;
    if !pending.is_empty() {
        wrong.push(format!("{} deliveries are not concluded", pending.len()));
    }
    let acknowledged = heard.acknowledged.iter().cloned().collect();
    let lost = store.unknown_deliveries(acknowledged).await.map_err(|error| error.to_string())?;
    if !lost.is_empty() {
        wrong.push(format!("acknowledged and lost: {lost:?}"));
    }
    let said = said(world).await;
    for (issue, times) in &world.people.lock().unwrap().labeled {
        let of = seen.iter().filter(|one| one.row.issue.0 == *issue).count();
        let labels = said.iter().filter(|one| one.thread == *issue && one.event == "issues.labeled");
        // GitHub refused what is needed to begin, and the log says so.
        let may_be_none = labels.into_iter().all(|one| one.conclusion == "refused");
        if of > *times || (of == 0 && !may_be_none) {
            wrong.push(format!("issue {issue} was labeled {times} times and has {of} orders"));
        }
    }
    wrong.extend(unheard(world, &said, &seen));
    for one in &seen {
        wrong.extend(shown(world, one));
        wrong.extend(replayed(one));
        wrong.extend(written_once(one));
    }
    for ((thread, marker), times) in markers(&world.scene()) {
        if times > 1 {
            wrong.push(format!("#{thread} has {times} comments with the marker {marker}"));
        }
    }
    wrong.extend(on_github(world, &seen));
    wrong.extend(paid(world));
    wrong.extend(accounted(world).await);
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n  ")) }
}

/// What a person asked for, and the result of its delivery.
#[derive(Debug)]
struct SaidDelivery {
    event: String,
    /// The number of the issue or pull request.
    thread: u64,
    conclusion: String,
    because: String,
    /// What the comment says.
    words: String,
    /// The search for missed events found it, and so an order heard of it.
    was_found: bool,
}

impl SaidDelivery {
    /// Whether it was read before the label that it followed.
    fn is_nobodys(&self) -> bool {
        self.conclusion == "ignored" && self.because == "no order belongs to it" && !self.was_found
    }
}

/// When the next search for missed events must begin, because a request belongs to no order yet.
pub(super) async fn looks_again_after(world: &World, store: &Store) -> Option<DateTime<Utc>> {
    if !said(world).await.iter().any(SaidDelivery::is_nobodys) {
        return None;
    }
    orders(world, store).await.ok()?.iter().map(|one| one.row.opened_at).max()
}

/// All that people asked for, whether or not its webhook came.
async fn said(world: &World) -> Vec<SaidDelivery> {
    let concluded: BTreeMap<String, (String, String)> = world
        .database
        .conclusions()
        .await
        .into_iter()
        .map(|(guid, _, became, because)| (guid, (became.unwrap_or_default(), because.unwrap_or_default())))
        .collect();
    let mut said = BTreeMap::new();
    for delivery in world.emulator.deliveries() {
        let payload: serde_json::Value = serde_json::from_str(&delivery.payload).expect("a payload");
        let event = format!("{}.{}", delivery.event, delivery.action.as_deref().unwrap_or_default());
        let text = |path: &str| payload.pointer(path).and_then(|value| value.as_str()).unwrap_or_default();
        let asks = match event.as_str() {
            "issues.labeled" => text("/label/name") == "journeyman",
            "issue_comment.created" => text("/comment/body").starts_with('/'),
            "pull_request_review.submitted" => text("/review/state") == "changes_requested",
            _ => false,
        };
        if !asks {
            continue;
        }
        let number = ["/issue/number", "/pull_request/number"].map(|path| payload.pointer(path));
        let thread = number.into_iter().flatten().find_map(|value| value.as_u64()).unwrap_or_default();
        let (conclusion, because) = concluded.get(&delivery.guid).cloned().unwrap_or_default();
        let id = ["/comment/id", "/review/id"].into_iter().find_map(|path| payload.pointer(path)?.as_u64());
        let found = id.and_then(|id| concluded.get(&format!("missed:{event}:{id}")));
        let was_found = found.is_some_and(|(conclusion, _)| conclusion == "signaled");
        let words = text("/comment/body").to_owned();
        said.insert(delivery.guid, SaidDelivery { event, thread, conclusion, because, words, was_found });
    }
    said.into_values().collect()
}

/// An order must hear what a person asked for, unless GitHub refused what is needed to hear it.
fn unheard(world: &World, said: &[SaidDelivery], seen: &[SeenOrder]) -> Vec<String> {
    let refused = &world.steps.state().refused;
    let mut wrong = Vec::new();
    for one in said {
        let is_heard = match one.conclusion.as_str() {
            "opened" | "signaled" => true,
            // Another delivery or the search for missed events was first.
            "ignored" => {
                // The order had merged before it could hear it.
                let is_too_late = one.words == "/cancel"
                    && seen.iter().any(|of| of.row.issue.0 == one.thread && of.row.state == "merged");
                one.because == "an order of the issue has heard of it"
                    || (one.because == "no order belongs to it" && (one.was_found || is_too_late))
            }
            "refused" => !refused.is_empty(),
            _ => false,
        };
        if !is_heard {
            wrong.push(format!("{one:?} was not heard"));
        }
    }
    for one in seen {
        for answered in &one.projection.answers {
            match &answered.answer {
                SignalAnswer::NoRight(who) if refused.is_empty() => {
                    wrong.push(format!("{who} was told to have no right"));
                }
                SignalAnswer::Asking => wrong.push(format!("it is still asked whether {answered:?} may")),
                _ => {}
            }
        }
    }
    wrong
}

/// Status, label and check must show what the journal says.
fn shown(world: &World, one: &SeenOrder) -> Vec<String> {
    let mut wrong = Vec::new();
    let Some(settled) = &one.projection.next.settled else {
        return vec![format!("order of issue {} is not settled: {}", one.row.issue, one.row.state)];
    };
    let surfaces = one.projection.surfaces();
    if one.row.state != surfaces.outcome || one.row.active {
        wrong.push(format!("its row says {}, and its journal {}", one.row.state, surfaces.outcome));
    }
    let Some(issue) = world.emulator.issue(REPOSITORY, one.row.issue.0) else {
        return vec![format!("issue {} is gone", one.row.issue)];
    };
    let labels: Vec<&str> =
        issue.labels.iter().map(String::as_str).filter(|label| label.starts_with("journeyman:")).collect();
    let expected = match render::label(&one.projection) {
        OrderLabel::Working => vec!["journeyman:working"],
        OrderLabel::NeedsHuman => vec!["journeyman:needs-human"],
        OrderLabel::NeedsInfo => vec!["journeyman:needs-info"],
        OrderLabel::Done => vec!["journeyman:done"],
        OrderLabel::None => Vec::new(),
    };
    if labels != expected {
        wrong.push(format!("settled as {settled:?}, and the labels are {labels:?}, not {expected:?}"));
    }
    let status = render::status(&one.journal, &one.projection, None);
    let id = one.row.id.to_string();
    let ours = issue.comments.iter().find(|comment| comment.body.contains(&format!("status:{id}")));
    match ours {
        None => wrong.push(format!("no status comment for {id}")),
        Some(comment) => {
            // What happened, stage by stage, and why it ended. Notes and answered commands appear with the next update.
            let is_news =
                |line: &&str| ["###", "- [", "> ", "**Pull"].iter().any(|start| line.starts_with(start));
            // A stage's duration may still grow after its end was shown.
            let untimed = |line: &str| line.split(" · ").next().unwrap_or_default().to_owned();
            let differs = |line: &&str| is_news(line) && !comment.body.contains(&untimed(line));
            let missing: Vec<&str> = status.lines().filter(differs).collect();
            if !missing.is_empty() {
                wrong.push(format!("the status does not say {missing:?}, but {:?}", comment.body));
            }
        }
    }
    wrong
}

/// Every prefix of the journal must name the move that began after it.
fn replayed(one: &SeenOrder) -> Vec<String> {
    let entries = one.journal.entries();
    let mut wrong = Vec::new();
    // Checking all of them would cost more than the rest of the life.
    let nth = 1 + one.row.issue.0 as usize % 5;
    for (at, entry) in entries.iter().enumerate().skip(1).step_by(nth) {
        let JournalEvent::Intended { key, .. } = &entry.event else { continue };
        // Moves planned together begin together, and a later status makes an earlier one unnecessary.
        let is_same = |known: &MoveKey| known == key || (is_status(known) && is_status(key));
        let named = |length: usize| {
            let before = Journal::new(entries[..length].to_vec()).expect("the beginning of a journal");
            projection(before.pipeline(), &before, entry.at).next.moves
        };
        // Moves decided together begin one after the other, and signals can arrive in between.
        let since = entries[..at].iter().rev();
        let since = since.take_while(|entry| !matches!(entry.event, JournalEvent::Observed { .. })).count();
        let is_decided_at = |length: usize| {
            let named = named(length);
            let is_named = |key: &MoveKey| named.iter().any(|(known, _)| known == key);
            named.iter().any(|(known, _)| is_same(known))
                && entries[length..at].iter().all(|entry| match &entry.event {
                    JournalEvent::Intended { key, .. } => is_named(key) || is_status(key),
                    _ => true,
                })
        };
        if !(0..=since).any(|before| is_decided_at(at - before)) {
            let named: Vec<MoveKey> = named(at).into_iter().map(|(key, _)| key).collect();
            wrong.push(format!("entry {}: {key} was begun, and the journal names {named:?}", entry.seq));
        }
    }
    wrong
}

/// The outcome of each try must be written once, even if the writer did not hear of its success.
fn written_once(one: &SeenOrder) -> Vec<String> {
    let mut begun: BTreeSet<&MoveKey> = BTreeSet::new();
    let mut wrong = Vec::new();
    for entry in one.journal.entries() {
        match &entry.event {
            JournalEvent::Intended { key, .. } => drop(begun.insert(key)),
            JournalEvent::Observed { key, .. } if !begun.remove(key) => {
                wrong.push(format!("entry {}: {key} was observed, and not begun again before", entry.seq));
            }
            JournalEvent::Observed { .. } | JournalEvent::Opened(_) | JournalEvent::Signaled { .. } => {}
        }
    }
    wrong
}

fn is_status(key: &MoveKey) -> bool {
    key.0.starts_with("status/")
}

fn on_github(world: &World, seen: &[SeenOrder]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut pulls: BTreeMap<String, u32> = BTreeMap::new();
    for pull in world.emulator.pulls(REPOSITORY) {
        *pulls.entry(pull.head).or_default() += 1;
    }
    if let Some((head, times)) = pulls.iter().find(|(_, times)| **times > 1) {
        wrong.push(format!("{times} pull requests for {head}"));
    }
    if pulls.len() > seen.len() {
        wrong.push(format!("{} orders and {} pull requests: {pulls:?}", seen.len(), pulls.len()));
    }
    let branches: Vec<String> =
        world.emulator.branches(REPOSITORY).into_keys().filter(|branch| branch != "main").collect();
    if branches.len() > seen.len() {
        wrong.push(format!("{} orders and the branches {branches:?}", seen.len()));
    }
    for one in seen {
        if let (Some(pull), Some(known)) = (&one.projection.trace.pull, &one.projection.trace.pushed) {
            let on_github = world.emulator.pulls(REPOSITORY);
            let on_github = on_github.iter().find(|view| view.issue.number == pull.number.0);
            match on_github {
                None => wrong.push(format!("pull request {} is not there", pull.number)),
                Some(view) if view.head_sha != known.as_str() => {
                    wrong.push(format!("#{} is at {}, and not at {known}", pull.number, view.head_sha));
                }
                Some(_) => {}
            }
        }
    }
    wrong
}

/// An agent is started once, and once more for each time that it was stopped while it may have been running: a process
/// died, or a person stopped it.
fn paid(world: &World) -> Vec<String> {
    let mut stopped = world.people.lock().unwrap().stops;
    for (_, fate) in &world.steps.state().struck {
        if matches!(fate, Fate::DieBefore { .. } | Fate::DieAfter { .. } | Fate::Terminate { .. }) {
            stopped += 1;
        }
    }
    let diary = world.diary.lock().unwrap();
    let mut wrong = Vec::new();
    for (name, starts) in diary.starts.iter().filter(|(_, starts)| **starts > 1 + stopped) {
        wrong.push(format!("{} was started {starts} times, and stopped {stopped} times at most", name.1));
    }
    for (name, ends) in diary.ends.iter().filter(|(_, ends)| **ends > 1) {
        wrong.push(format!("{} came to its end {ends} times", name.1));
    }
    let extra: u32 = diary.starts.values().map(|starts| starts.saturating_sub(1)).sum();
    // At most two orders are active at once.
    if extra > 2 * stopped {
        wrong.push(format!("{extra} starts too many, with {stopped} stops"));
    }
    wrong
}

/// Each start of an agent is in the spending records, with what it cost or may have cost.
async fn accounted(world: &World) -> Vec<String> {
    let known: BTreeMap<_, _> = world
        .database
        .spending()
        .await
        .into_iter()
        .map(|(order, key, attempt, state, microusd)| ((order, key, attempt), (state, microusd)))
        .collect();
    let diary = world.diary.lock().unwrap();
    let wrong = diary.starts.keys().filter_map(|name| {
        let (order, key, attempt) = name;
        let ended = diary.ends.contains_key(name);
        let attempt = i64::try_from(*attempt).expect("few tries");
        match known.get(&(order.to_string(), key.clone(), attempt)) {
            // If a run is no longer wanted when it ends, the estimate stays.
            Some((state, None)) if state == "open" => None,
            Some((state, Some(microusd))) if state == "done" && *microusd > 0 => None,
            found => Some(format!("{key} (try {attempt}, ended: {ended}) is accounted for as {found:?}")),
        }
    });
    wrong.collect()
}

/// What was written: journal entries, and requests that change something on GitHub.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Writes {
    entries: Vec<u64>,
    on_github: usize,
}

impl Writes {
    pub(super) async fn of(world: &World) -> Self {
        let store = world.reading().await;
        let seen = orders(world, &store).await.unwrap_or_default();
        let changes = world.emulator.calls().into_iter().filter(|call| {
            call.method != "GET"
                && !call.path.contains("access_tokens")
                && !call.body.starts_with("{\"query\":\"query")
        });
        Self { entries: seen.iter().map(|one| one.journal.last_seq()).collect(), on_github: changes.count() }
    }
}

/// Prints the journals for debugging.
pub(super) async fn tell(world: &World) {
    let store = world.reading().await;
    for (guid, event, conclusion, because) in world.database.conclusions().await {
        let (conclusion, because) = (conclusion.unwrap_or_default(), because.unwrap_or_default());
        println!("{guid} {event}: {conclusion} {because}");
    }
    for one in orders(world, &store).await.unwrap_or_default() {
        println!("order of issue {}: {}", one.row.issue, one.row.state);
        for entry in one.journal.entries() {
            println!(
                "  {} {} {:.260}",
                entry.seq,
                entry.at.format("%H:%M:%S%.3f"),
                format!("{:?}", entry.event)
            );
        }
    }
}

/// Why it has not settled.
pub(super) async fn unsettled(world: &World, store: &Store) -> String {
    let waking = store.waking_orders().await;
    let seen = orders(world, store).await.unwrap_or_default();
    let states: Vec<String> = seen
        .iter()
        .map(|one| {
            let last = one.journal.entries().last();
            let moves: Vec<_> = one.projection.next.moves.iter().map(|(key, _)| key.0.clone()).collect();
            format!(
                "issue {}: {} ({:?}), moves {moves:?}, wakes {:?}, last entry {:.300}",
                one.row.issue,
                one.row.state,
                one.projection.surfaces().because,
                one.projection.next.wake_at,
                format!("{last:?}")
            )
        })
        .collect();
    let waits = world.people.lock().unwrap().wait_for();
    let labels = seen.iter().filter_map(|one| world.emulator.issue(REPOSITORY, one.row.issue.0));
    let labels: Vec<_> = labels.map(|issue| issue.labels).collect();
    let pulls = world.emulator.pulls(REPOSITORY);
    let drafts: Vec<_> = pulls.iter().map(|pull| (&pull.head, pull.draft)).collect();
    let pending = store.pending_deliveries(0, 5).await;
    let sent: Vec<_> =
        world.emulator.deliveries().into_iter().map(|one| (one.guid, one.event, one.outcome)).collect();
    let unknown =
        store.unknown_deliveries(sent.iter().filter_map(|(guid, ..)| guid.parse().ok()).collect()).await;
    let unknown = unknown.unwrap_or_default();
    let unknown: Vec<_> =
        sent.iter().filter(|(guid, ..)| unknown.iter().any(|one| one.to_string() == *guid)).collect();
    let looked = store.looked_until().await;
    format!(
        "does not settle within two hours; people wait for {waits}; labels {labels:?}; drafts {drafts:?}; waking {waking:?}; pending {:?}; unknown {unknown:?}; looked {looked:?}; {states:#?}",
        pending.map(|all| all.len()),
    )
}
