//! GitHub fails in every way it can, once for every write of the conversation; the result is the same.
//!
//! The writes are those that an undisturbed order makes.

use std::collections::BTreeSet;

use futures_util::{StreamExt as _, future, stream};
use journeyman::emulator::{ApiCall, Caller, Fault, FaultKind, IssueView, PullView};

use journeyman::order::{EffectOutcome, JournalEntry, JournalEvent};

use crate::is_all_asked_for;
use crate::world::{Story, WELL, World};

/// Worlds that run at the same time.
const AT_ONCE: usize = 6;
/// In a short run, each write gets one in this many faults, and the next write gets others.
const EACH: usize = 12;

/// What people see in the end, without what differs between orders.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    word: &'static str,
    branches: Vec<String>,
    labels: Vec<String>,
    comments: Vec<String>,
    pulls: Vec<(String, String, bool, Vec<String>, usize)>,
}

fn without_figures(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with("<!--") && !line.contains("updated"));
    // A stage's duration is at its line's end.
    let timed =
        |word: &str| word.ends_with(['s', 'm', 'h']) && word.starts_with(|c: char| c.is_ascii_digit());
    let lines = lines.map(|line| line.split(' ').filter(|word| !timed(word)).collect::<Vec<_>>().join(" "));
    let plain = lines.collect::<Vec<_>>().join("\n");
    // Addresses contain the emulator's port.
    plain
        .split("http://127.0.0.1:")
        .map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit()))
        .collect()
}

async fn seen(world: &World) -> Seen {
    let ended = world.settled().await;
    let IssueView { labels, comments, .. } = world.thread();
    let pull = |pull: PullView| {
        let body = pull.issue.body.lines().next().unwrap_or_default().to_owned();
        (
            pull.head,
            format!("{}\n{body}", pull.issue.title),
            pull.draft,
            pull.issue.labels,
            pull.issue.comments.len(),
        )
    };
    Seen {
        word: ended.word(),
        branches: world.branches(),
        labels,
        comments: comments.iter().map(|comment| without_figures(&comment.body)).collect(),
        pulls: world.pulls().into_iter().map(pull).collect(),
    }
}

/// A write as the target of a fault: the method, and the path without ids.
fn writes(calls: &[ApiCall]) -> BTreeSet<(String, String)> {
    let own = |call: &&ApiCall| matches!(call.caller, Caller::App | Caller::Installation);
    let is_write = |call: &&ApiCall| call.method != "GET" || call.path.contains("git-receive-pack");
    calls.iter().filter(own).filter(is_write).map(aim).collect()
}

fn aim(call: &ApiCall) -> (String, String) {
    let path = call.path.split('?').next().unwrap_or_default();
    let last =
        if call.path.ends_with("service=git-receive-pack") { "service=git-receive-pack" } else { path };
    let parts: Vec<&str> = last.split('/').filter(|part| !part.is_empty()).collect();
    let end = parts.iter().rposition(|part| !part.chars().all(|c| c.is_ascii_digit())).unwrap_or(0);
    let start = if parts[end].starts_with("journeyman") { end.saturating_sub(1) } else { end };
    (call.method.clone(), format!("/{}", parts[start..=end].join("/")).replace("/service=", "service="))
}

fn status(code: u16, headers: &[(&str, &str)], message: &str) -> FaultKind {
    FaultKind::Status {
        code,
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        body: format!("{{\"message\": \"{message}\"}}"),
    }
}

/// Every way in which a write can fail temporarily.
fn kinds() -> Vec<(&'static str, FaultKind)> {
    vec![
        ("502 instead", status(502, &[], "Server Error")),
        ("502 although it was done", FaultKind::AppliedThen(502)),
        ("lost before it was done", FaultKind::Lost),
        ("lost although it was done", FaultKind::AppliedThenLost),
        (
            "403, secondary limit",
            status(403, &[("Retry-After", "1")], "You have exceeded a secondary rate limit."),
        ),
        ("429", status(429, &[("Retry-After", "1")], "Too many requests")),
    ]
}

/// The failures in the journal.
async fn troubles(world: &World) -> String {
    let ended = world.settled().await;
    let trouble = |entry: &JournalEntry| match &entry.event {
        JournalEvent::Observed { key, outcome } if matches!(**outcome, EffectOutcome::Trouble(_)) => {
            Some(format!("  {} {key}: {outcome:?}", entry.at))
        }
        JournalEvent::Opened(_)
        | JournalEvent::Signaled { .. }
        | JournalEvent::Intended { .. }
        | JournalEvent::Observed { .. } => None,
    };
    ended.journal.entries().iter().filter_map(trouble).collect::<Vec<_>>().join("\n")
}

async fn disturbed(method: &str, path: &str, kind: FaultKind) -> World {
    let world = Story::of(WELL).begin().await;
    world.github.inject(Fault {
        method: Some(method.to_owned()),
        path_contains: path.to_owned(),
        times: 1,
        kind,
    });
    world.label().await;
    world
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_write_fails_once_in_whatever_way_the_end_is_the_same() {
    let undisturbed = Story::of(WELL).labeled().await;
    let expected = seen(&undisturbed).await;
    assert_eq!(expected.word, "verified");
    let writes = writes(&undisturbed.github.calls());
    undisturbed.end().await;
    for part in ["/comments", "/labels", "/pulls", "/graphql", "/access_tokens", "git-receive-pack"] {
        assert!(writes.iter().any(|(_, path)| path.contains(part)), "{part} is not among {writes:#?}");
    }
    let cases = writes.iter().enumerate().flat_map(|(nth, write)| {
        let kinds = kinds().into_iter().enumerate();
        let kinds = kinds.filter(move |(kind, _)| is_all_asked_for() || (nth + kind).is_multiple_of(EACH));
        kinds.map(move |(_, kind)| (write, kind))
    });
    let expected = &expected;
    let cases = cases.map(|((method, path), (name, kind))| async move {
        let world = disturbed(method, path, kind).await;
        let found = seen(&world).await;
        if found == *expected {
            world.end().await;
            return None;
        }
        Some(format!("{method} {path}, {name}: {found:#?}\n{}", troubles(&world).await))
    });
    // They spend most of their time waiting for a retry.
    let wrong: Vec<String> =
        stream::iter(cases).buffer_unordered(AT_ONCE).filter_map(future::ready).collect().await;
    assert!(wrong.is_empty(), "expected {expected:#?}\n{}", wrong.join("\n"));
}
