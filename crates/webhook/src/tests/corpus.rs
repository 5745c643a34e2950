//! Every delivery in GitHub's published examples, and the App's manifest: the App subscribes to what we answer.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::*;

/// Which delivery can lead to which signals. `docs/EVENTS.md` has the same table, with the order's reaction.
const TABLE: [(&str, &[&str]); 25] = [
    ("issues.labeled", &["labeled"]),
    ("issues.unlabeled", &["unlabeled"]),
    ("issues.edited", &["issue_edited"]),
    ("issues.closed", &["issue_closed"]),
    ("issues.transferred", &["issue_transferred"]),
    ("issues.deleted", &["issue_deleted"]),
    ("issues.locked", &["issue_locked"]),
    ("issue_comment.created", &["commanded", "misspoken", "remarked", "issue_commented"]),
    ("pull_request.closed", &["pull_closed"]),
    ("pull_request.labeled", &["labeled"]),
    ("pull_request.reopened", &["pull_reopened"]),
    ("pull_request.opened", &["pull_opened"]),
    ("pull_request.ready_for_review", &["pull_opened"]),
    ("pull_request.synchronize", &["pull_pushed"]),
    ("pull_request_review.submitted", &["reviewed"]),
    ("pull_request_review_comment.created", &["remarked"]),
    ("check_suite.completed", &["checks_finished"]),
    ("check_run.completed", &["checks_finished"]),
    ("check_run.requested_action", &["commanded"]),
    ("check_run.rerequested", &["commanded"]),
    ("workflow_run.completed", &["checks_finished"]),
    ("status", &["checks_finished"]),
    ("push", &["base_moved"]),
    ("merge_group.checks_requested", &["group_checks_requested"]),
    ("merge_group.destroyed", &["group_destroyed"]),
];

/// GitHub publishes no example of these.
const WITHOUT_EXAMPLE: [&str; 2] = ["issues.closed", "merge_group.destroyed"];

/// How many published examples lead to a signal unchanged. The others concern branches, tags and comments that mean
/// nothing to us.
const AS_PUBLISHED: [(&str, usize); 16] = [
    ("issue_comment.created", 5),
    ("issues.deleted", 1),
    ("issues.labeled", 2),
    ("issues.locked", 2),
    ("issues.transferred", 1),
    ("issues.unlabeled", 2),
    ("merge_group.checks_requested", 2),
    ("pull_request.closed", 2),
    ("pull_request.labeled", 2),
    ("pull_request.opened", 4),
    ("pull_request.ready_for_review", 3),
    ("pull_request.reopened", 2),
    ("pull_request.synchronize", 1),
    ("pull_request_review.submitted", 3),
    ("pull_request_review_comment.created", 3),
    ("push", 2),
];

#[derive(Deserialize)]
struct PublishedExamples {
    name: String,
    examples: Vec<Value>,
}

/// From `make fetch`: `@octokit/webhooks-examples`.
fn published() -> Vec<(String, String, Value)> {
    let path = journeyman_test_support::repository().join(".cache/github/webhooks.json");
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; run `make fetch`", path.display()));
    let events: Vec<PublishedExamples> = serde_json::from_str(&text).unwrap();
    let named = |event: String, example: Value| {
        let name = match example.get("action").and_then(Value::as_str) {
            Some(action) => format!("{event}.{action}"),
            None => event.clone(),
        };
        (event, name, example)
    };
    let examples = events.into_iter().map(|event| (event.name, event.examples));
    examples.flat_map(|(event, all)| all.into_iter().map(move |one| named(event.clone(), one))).collect()
}

fn read(event: &str, example: &Value) -> DeliveryMeaning {
    understand(event, &serde_json::to_vec(example).unwrap())
}

/// The signal's name in the journal.
fn word(incoming: &RoutedSignal) -> String {
    let kind = serde_json::to_value(&incoming.signal.kind).unwrap();
    kind["signal"].as_str().unwrap().to_owned()
}

fn row(name: &str) -> Option<&'static [&'static str]> {
    TABLE.iter().find(|(known, _)| *known == name).map(|(_, words)| *words)
}

#[test]
fn every_published_example_is_read_and_lands_where_the_table_says() {
    let examples = published();
    assert!(examples.len() >= 329, "only {} examples", examples.len());
    let mut signals: BTreeMap<String, usize> = BTreeMap::new();
    for (event, name, example) in &examples {
        match (read(event, example), row(name)) {
            (DeliveryMeaning::Ping, _) => assert_eq!(event, "ping"),
            (DeliveryMeaning::Signal(incoming), Some(words)) => {
                assert!(words.contains(&word(&incoming).as_str()), "{name}: {incoming:?}");
                *signals.entry(name.clone()).or_default() += 1;
            }
            (DeliveryMeaning::Ignored { because }, _) => assert!(!because.is_empty(), "{name}"),
            (DeliveryMeaning::Signal(incoming), None) => panic!("{name} is not in the table: {incoming:?}"),
            (DeliveryMeaning::Malformed { because }, _) => panic!("{name}: {because}"),
        }
    }
    let signals: Vec<(&str, usize)> = signals.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(signals, AS_PUBLISHED);
}

/// Changes an example to concern us: our branch, our check, a person, a command.
fn made_ours(event: &str, example: &Value) -> Value {
    let mut ours = example.clone();
    let mut set = |pointer: &str, value: Value| {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        if let Some(parent) = ours.pointer_mut(parent).and_then(Value::as_object_mut) {
            parent.insert(key.to_owned(), value);
        }
    };
    let branch = "journeyman/issue-7-sum";
    let here = example.pointer("/repository/id").cloned().unwrap_or_default();
    set("/sender/type", json!("User"));
    set("/sender/login", json!("anna"));
    for author in ["comment", "review"] {
        set(&format!("/{author}/user"), json!({"id": example.pointer("/sender/id")}));
    }
    match event {
        "issues" => {
            set("/issue/state", json!("open"));
            set("/changes", json!({"title": {"from": "It was called differently"}}));
        }
        "issue_comment" => set("/comment/body", json!("/retry please")),
        "check_suite" => set("/check_suite/head_branch", json!(branch)),
        "check_run" => {
            set("/check_run/check_suite/head_branch", json!(branch));
            set("/check_run/name", json!("journeyman"));
            set("/requested_action", json!({"identifier": "approve"}));
        }
        "workflow_run" => {
            set("/workflow_run/head_branch", json!(branch));
            set("/workflow_run/head_repository/id", here);
        }
        "status" => set("/branches", json!([{"name": branch, "commit": {"sha": example["sha"]}}])),
        "push" => {
            set(
                "/ref",
                json!(format!("refs/heads/{}", example["repository"]["default_branch"].as_str().unwrap())),
            );
            set("/after", json!(HEAD));
            set("/deleted", json!(false));
        }
        _ => {}
    }
    ours
}

#[test]
fn every_published_example_that_is_made_ours_is_a_signal() {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let examples = published();
    for (event, name, example) in &examples {
        let understood = read(event, &made_ours(event, example));
        match (understood, row(name)) {
            (DeliveryMeaning::Signal(incoming), Some(words)) => {
                assert!(words.contains(&word(&incoming).as_str()), "{name}: {incoming:?}");
                seen.insert(name);
            }
            (DeliveryMeaning::Ping | DeliveryMeaning::Ignored { .. }, None) => {}
            (other, row) => panic!("{name}, {row:?}: {other:?}"),
        }
    }
    let unseen: Vec<&str> = TABLE.iter().map(|(name, _)| *name).filter(|name| !seen.contains(name)).collect();
    assert_eq!(unseen, WITHOUT_EXAMPLE);
}

/// A missing field must neither cause a panic nor lead to another signal.
#[test]
fn a_published_example_of_each_kind_without_any_one_of_its_fields_has_an_answer() {
    let examples = published();
    for (name, words) in TABLE.iter().filter(|(name, _)| !WITHOUT_EXAMPLE.contains(name)) {
        let (event, _, example) = examples.iter().find(|(_, known, _)| known == name).unwrap();
        let ours = made_ours(event, example);
        let mut malformed = 0;
        // Deeper values are not read.
        for pointer in pointers(&ours).iter().filter(|pointer| pointer.matches('/').count() <= 3) {
            let mut without = ours.clone();
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            without.pointer_mut(parent).and_then(Value::as_object_mut).unwrap().remove(key);
            match read(event, &without) {
                DeliveryMeaning::Signal(incoming) => {
                    assert!(words.contains(&word(&incoming).as_str()), "{name} without {pointer}");
                }
                DeliveryMeaning::Malformed { .. } => malformed += 1,
                DeliveryMeaning::Ignored { .. } => {}
                DeliveryMeaning::Ping => panic!("{name} without {pointer}"),
            }
        }
        // The repository's name and id, and the sender's login and id.
        assert!(malformed >= 6, "{name}: only {malformed}");
    }
}

#[test]
fn the_table_in_the_documents_is_this_one() {
    let path = journeyman_test_support::repository().join("docs/EVENTS.md");
    let text = std::fs::read_to_string(path).unwrap();
    let quoted =
        |cell: &str| -> Vec<String> { cell.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let written: Vec<(String, Vec<String>)> = rows
        .map(|line| {
            let cells: Vec<&str> = line.split('|').collect();
            assert!(!cells[3].trim().is_empty(), "{line}");
            (quoted(cells[1]).join(" "), quoted(cells[2]))
        })
        .collect();
    let expected: Vec<(String, Vec<String>)> = TABLE
        .iter()
        .map(|(name, words)| ((*name).to_owned(), words.iter().map(|word| (*word).to_owned()).collect()))
        .collect();
    assert_eq!(written, expected);
}

#[test]
fn the_app_subscribes_to_every_event_that_we_answer_and_may_hear_it() {
    #[derive(Deserialize)]
    struct Manifest {
        default_permissions: BTreeMap<String, String>,
        default_events: BTreeSet<String>,
    }
    // An App needs at least read permission to subscribe to an event.
    let needs = |event: &str| match event {
        "issues" | "issue_comment" => "issues",
        "pull_request" | "pull_request_review" | "pull_request_review_comment" => "pull_requests",
        "check_suite" | "check_run" => "checks",
        "workflow_run" => "actions",
        "status" => "statuses",
        "push" => "contents",
        "merge_group" => "merge_queues",
        other => panic!("which permission does {other} need?"),
    };
    let path = journeyman_test_support::repository().join("app-manifest.yml");
    let manifest: Manifest = serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let answered: BTreeSet<String> = events().map(str::to_owned).collect();
    assert_eq!(manifest.default_events, answered, "no event in vain, and none that we do not hear");
    for event in events() {
        let permission = needs(event);
        let level = manifest.default_permissions.get(permission).map(String::as_str);
        assert!(matches!(level, Some("read" | "write")), "{event} needs {permission}: {level:?}");
    }
    let in_table: BTreeSet<&str> = TABLE.iter().map(|(name, _)| name.split('.').next().unwrap()).collect();
    assert_eq!(in_table, events().collect());
}
