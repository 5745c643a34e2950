//! From bytes to a signal, and what is rejected.

mod corpus;
mod signals;

use proptest::prelude::*;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::*;
use journeyman_order::{
    CommitSha, IssueNumber, Person, PullNumber, RepositoryId, Requester, Signal, SignalKind, UserId,
};

const SECRET: &str = "It's a Secret to Everybody";
const SIGNED: &str = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

fn secrets(texts: &[&str]) -> Vec<SecretString> {
    texts.iter().map(|text| SecretString::from(*text)).collect()
}

#[test]
fn githubs_published_signature_is_taken_and_nothing_near_it() {
    let body = b"Hello, World!";
    let right = secrets(&[SECRET]);
    assert_eq!(verify(&right, Some(SIGNED), body), Ok(()));
    for (header, error) in [
        (None, SignatureError::Missing),
        (Some(""), SignatureError::Form),
        (Some("sha256="), SignatureError::Form),
        (Some(&SIGNED[7..]), SignatureError::Form),
        (Some(&SIGNED[..70]), SignatureError::Form),
        (Some("sha1=757107ea0eb2509fc211221cce984b8a37570b6d"), SignatureError::Form),
        (Some(&*SIGNED.replace("sha256", "sha512")), SignatureError::Form),
        (Some(&*SIGNED.replace('7', "z")), SignatureError::Form),
        (Some(&*format!("{SIGNED}00")), SignatureError::Form),
        (Some(&*SIGNED.replace("e17", "e18")), SignatureError::Mismatch),
    ] {
        assert_eq!(verify(&right, header, body), Err(error), "{header:?}");
    }
    assert_eq!(verify(&right, Some(SIGNED), b"Hello, World! "), Err(SignatureError::Mismatch));
    assert_eq!(verify(&secrets(&["another"]), Some(SIGNED), body), Err(SignatureError::Mismatch));
}

#[test]
fn during_a_rotation_both_secrets_count_and_an_empty_one_never() {
    let body = b"Hello, World!";
    assert_eq!(verify(&secrets(&["new", SECRET]), Some(SIGNED), body), Ok(()));
    assert_eq!(verify(&secrets(&[SECRET, "new"]), Some(SIGNED), body), Ok(()));
    assert_eq!(verify(&[], Some(SIGNED), body), Err(SignatureError::Mismatch));
    // HMAC-SHA256 with an empty key over an empty body.
    let empty = "sha256=b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad";
    assert_eq!(verify(&secrets(&[""]), Some(empty), b""), Err(SignatureError::Mismatch));
}

fn fixture(name: &str) -> Vec<u8> {
    let folder = journeyman_test_support::repository().join("tests/fixtures/payloads");
    std::fs::read(folder.join(name)).unwrap()
}

#[test]
fn a_label_becomes_a_signal_with_the_issue_as_it_was() {
    let DeliveryMeaning::Signal(incoming) = understand("issues", &fixture("issues.labeled.1.json")) else {
        panic!("no signal");
    };
    assert_eq!(incoming.repository.to_string(), "Codertocat/Hello-World");
    assert_eq!(incoming.repository_id, RepositoryId(186_853_002));
    assert_eq!(incoming.installation, None);
    assert_eq!(incoming.default_branch.as_deref(), Some("master"));
    let SignalSubject::Issue(issue) = incoming.subject else { panic!("not about an issue") };
    assert_eq!((issue.number, issue.title.as_str()), (IssueNumber(1), "Spelling error in the README file"));
    let by = Person { login: "Codertocat".to_owned(), id: UserId(21_031_067) };
    assert_eq!(
        incoming.signal,
        Signal {
            by: Requester::Person(by),
            kind: SignalKind::Labeled {
                label: "bug".to_owned(),
                pull: None,
                at: "2019-05-15T15:20:18Z".parse().ok()
            }
        }
    );
}

const HEAD: &str = "6113728f27ae82c7b1a177c8d03f9e96e0adf246";

fn head() -> CommitSha {
    HEAD.parse().unwrap()
}

/// A small delivery of all events at once. Each case changes it.
fn small() -> Value {
    // A suite and a workflow run name their branch; a check run gets it from its suite.
    let suite = json!({
        "head_branch": "journeyman/issue-7-sum", "head_sha": HEAD, "app": {"id": 15_368},
        "pull_requests": [{"head": {"ref": "journeyman/issue-7-sum", "repo": {"id": 9}}}],
        "head_repository": {"id": 9},
    });
    let run =
        json!({"name": "journeyman", "head_sha": HEAD, "app": {"id": 15_368}, "check_suite": suite.clone()});
    json!({
        "action": "labeled",
        "label": {"name": "journeyman"},
        "issue": {"number": 7, "title": "T", "body": null, "html_url": "https://example.org/7", "state": "open"},
        "changes": {"title": {"from": "S"}},
        "comment": {"id": 12, "body": "/retry be careful", "user": {"id": 5}},
        "pull_request": {"number": 8, "merged": true, "head": {"sha": HEAD}},
        "review": {"id": 13, "state": "changes_requested", "user": {"id": 5}},
        "check_suite": suite.clone(),
        "check_run": run,
        "workflow_run": suite,
        "requested_action": {"identifier": "retry"},
        "state": "failure",
        "sha": HEAD,
        "branches": [
            {"name": "trunk", "commit": {"sha": HEAD}},
            {"name": "journeyman/issue-6-old", "commit": {"sha": "f95f852bd8fca8fcc58a9a2d6c842781e32a215e"}},
            {"name": "journeyman/issue-7-sum", "commit": {"sha": HEAD}},
        ],
        "ref": "refs/heads/trunk",
        "after": HEAD,
        "deleted": false,
        "reason": "dequeued",
        "merge_group": {
            "head_sha": HEAD, "head_ref": format!("refs/heads/gh-readonly-queue/release/2/pr-8-{HEAD}"),
            "base_ref": "refs/heads/release/2",
        },
        "repository": {"id": 9, "full_name": "o/r", "default_branch": "trunk"},
        "installation": {"id": 3},
        "sender": {"login": "anna", "id": 5, "type": "User"},
    })
}

fn changed(changes: &[(&str, Value)]) -> Vec<u8> {
    let mut payload = small();
    for (pointer, value) in changes {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = payload.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        if value.is_null() {
            parent.remove(key);
        } else {
            parent.insert(key.to_owned(), value.clone());
        }
    }
    serde_json::to_vec(&payload).unwrap()
}

#[test]
fn what_cannot_be_read_is_malformed_and_names_the_field() {
    for (changes, because) in [
        (vec![("/repository", Value::Null)], "repository.full_name"),
        (vec![("/repository/full_name", json!("../r"))], "repository.full_name"),
        (vec![("/repository/id", json!(u64::MAX))], "repository.id"),
        (vec![("/repository/id", json!(-1))], "repository.id"),
        (vec![("/repository/id", json!("9"))], "repository.id"),
        (vec![("/sender", Value::Null)], "sender.login"),
        (vec![("/sender/id", Value::Null)], "sender.id"),
        (vec![("/label", Value::Null)], "label.name"),
        (vec![("/issue", json!([]))], "issue.number"),
    ] {
        let understood = understand("issues", &changed(&changes));
        let DeliveryMeaning::Malformed { because: said } = &understood else {
            panic!("{changes:?}: {understood:?}")
        };
        assert!(said.contains(because), "{changes:?}: {said}");
    }
    for (body, because) in [
        (b"".to_vec(), "not JSON"),
        (b"[]".to_vec(), "not a JSON object"),
        (b"payload=%7B%7D".to_vec(), "application/json"),
        (b"{\"action\": \"\xff\"}".to_vec(), "not JSON"),
        ([b"{\"action\":".repeat(10_000), b"1".to_vec()].concat(), "not JSON"),
        (b"[".repeat(10_000), "not JSON"),
    ] {
        let understood = understand("issues", &body);
        let DeliveryMeaning::Malformed { because: said } = &understood else { panic!("{understood:?}") };
        assert!(said.contains(because), "{said}");
    }
}

#[test]
fn of_keys_that_are_twice_there_the_last_counts() {
    let text = String::from_utf8(changed(&[])).unwrap();
    let twice = text.replacen('{', "{\"action\":\"opened\",\"repository\":null,", 1);
    assert!(matches!(understand("issues", twice.as_bytes()), DeliveryMeaning::Signal(_)));
}

#[test]
fn a_default_branch_that_git_could_not_have_is_not_believed() {
    for branch in [json!(""), json!("-rf"), json!("a b"), json!("a\u{0}"), json!("x".repeat(300)), json!(7)] {
        let DeliveryMeaning::Signal(incoming) =
            understand("issues", &changed(&[("/repository/default_branch", branch)]))
        else {
            panic!("no signal");
        };
        assert_eq!(incoming.default_branch, None);
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z/ \\PC]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 20, 5, |inner| {
        let keys = "number|id|login|name|body|full_name|state|user|pull_request|[a-z]{1,3}";
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((keys, inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Every event that we answer, and some others.
fn any_event() -> impl Strategy<Value = String> {
    let known: Vec<&str> = events().collect();
    prop_oneof![
        9 => proptest::sample::select(known).prop_map(str::to_owned),
        1 => "star|installation|\\PC{0,8}",
    ]
}

/// The pointers to all values of an object.
fn pointers(value: &Value) -> Vec<String> {
    let Value::Object(fields) = value else { return Vec::new() };
    let mut found = Vec::new();
    for (key, value) in fields {
        found.push(format!("/{key}"));
        found.extend(pointers(value).into_iter().map(|rest| format!("/{key}{rest}")));
    }
    found
}

proptest! {
    #[test]
    fn any_bytes_have_an_answer(event in any_event(), body: Vec<u8>) {
        let understood = understand(&event, &body);
        prop_assert!(!matches!(understood, DeliveryMeaning::Signal(_)));
    }

    #[test]
    fn any_json_has_an_answer(event in any_event(), body in any_json()) {
        understand(&event, &serde_json::to_vec(&body).unwrap());
    }

    #[test]
    fn any_change_of_a_payload_has_an_answer(
        event in any_event(),
        action in "labeled|unlabeled|edited|closed|created|opened|reopened|synchronize|submitted|completed|requested_action|rerequested",
        at in any::<proptest::sample::Index>(),
        value in any_json(),
    ) {
        let fields = pointers(&small());
        let body = changed(&[("/action", json!(action)), (fields[at.index(fields.len())].as_str(), value)]);
        if let DeliveryMeaning::Signal(incoming) = understand(&event, &body) {
            prop_assert!(i64::try_from(incoming.repository_id.0).is_ok());
            let Requester::Person(by) = incoming.signal.by else { panic!("not a person") };
            prop_assert!(i64::try_from(by.id.0).is_ok());
            if let SignalSubject::Branches(branches) = incoming.subject {
                prop_assert!(!branches.is_empty());
            }
        }
    }

    #[test]
    fn any_header_has_an_answer(header in "(sha256=)?\\PC{0,80}", body: Vec<u8>) {
        prop_assert!(verify(&secrets(&[SECRET]), Some(&header), &body).is_err());
    }
}
