use std::path::Path;

use proptest::prelude::*;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::*;
use crate::order::Requester;
use crate::order::{
    Command, InstallationId, IssueNumber, IssueText, Person, PullNumber, RepositoryId, Signal, SignalKind,
    UserId,
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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/payloads");
    std::fs::read(folder.join(name)).unwrap()
}

#[test]
fn every_published_payload_is_read_and_none_is_malformed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/payloads");
    let mut seen = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".json") {
            continue;
        }
        seen += 1;
        let (event, _) = name.split_once('.').unwrap();
        let understood = understand(event, &fixture(&name));
        let fits = match event {
            "ping" => understood == Understood::Ping,
            "issues" | "pull_request" => matches!(understood, Understood::Signal(_)),
            _ => matches!(understood, Understood::Ignored { .. }),
        };
        assert!(fits, "{name}: {understood:?}");
    }
    assert!(seen >= 6, "only {seen} payloads");
}

#[test]
fn a_label_becomes_a_signal_with_the_issue_as_it_was() {
    let Understood::Signal(incoming) = understand("issues", &fixture("issues.labeled.1.json")) else {
        panic!("no signal");
    };
    assert_eq!(incoming.repository.to_string(), "Codertocat/Hello-World");
    assert_eq!(incoming.repository_id, RepositoryId(186_853_002));
    assert_eq!(incoming.installation, None);
    assert_eq!(incoming.default_branch.as_deref(), Some("master"));
    let Subject::Issue(issue) = incoming.subject else { panic!("not about an issue") };
    assert_eq!((issue.number, issue.title.as_str()), (IssueNumber(1), "Spelling error in the README file"));
    let by = Person { login: "Codertocat".to_owned(), id: UserId(21_031_067) };
    assert_eq!(
        incoming.signal,
        Signal { by: Requester::Person(by), kind: SignalKind::Labeled { label: "bug".to_owned() } }
    );
}

/// A small delivery, to which each case makes one change.
fn small() -> Value {
    json!({
        "action": "labeled",
        "label": {"name": "journeyman"},
        "issue": {"number": 7, "title": "T", "body": null, "html_url": "https://example.org/7", "state": "open"},
        "comment": {"id": 12, "body": "/retry be careful", "user": {"id": 5}},
        "pull_request": {"number": 8, "merged": true},
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

fn issue() -> Subject {
    Subject::Issue(IssueText {
        number: IssueNumber(7),
        title: "T".to_owned(),
        body: String::new(),
        url: "https://example.org/7".to_owned(),
    })
}

fn retry() -> SignalKind {
    SignalKind::Commanded {
        comment: Some(12),
        pull: None,
        command: Command::Retry { guidance: Some("be careful".to_owned()) },
    }
}

#[test]
fn which_delivery_leads_to_which_signal() {
    let label = || "journeyman".to_owned();
    let action = |action: &str| ("/action", json!(action));
    let pull = ("/issue/pull_request", json!({"url": "https://example.org"}));
    let bot = ("/sender/type", json!("Bot"));
    let number = PullNumber(8);
    for (event, changes, subject, kind) in [
        ("issues", vec![], issue(), SignalKind::Labeled { label: label() }),
        ("issues", vec![action("unlabeled")], issue(), SignalKind::Unlabeled { label: label() }),
        ("issues", vec![action("unlabeled"), bot.clone()], issue(), SignalKind::Unlabeled { label: label() }),
        ("issues", vec![action("closed")], issue(), SignalKind::IssueClosed),
        ("issues", vec![action("closed"), bot.clone()], issue(), SignalKind::IssueClosed),
        ("issue_comment", vec![action("created")], issue(), retry()),
        ("issue_comment", vec![action("created"), ("/issue/state", json!("closed"))], issue(), retry()),
        ("issue_comment", vec![action("created"), ("/comment/user", Value::Null)], issue(), retry()),
        ("issue_comment", vec![action("created"), pull], Subject::Pull(PullNumber(7)), retry()),
        (
            "pull_request",
            vec![action("closed"), bot],
            Subject::Pull(number),
            SignalKind::PullClosed { pull: number, merged: true },
        ),
        (
            "pull_request",
            vec![action("closed"), ("/pull_request/merged", Value::Null)],
            Subject::Pull(number),
            SignalKind::PullClosed { pull: number, merged: false },
        ),
    ] {
        let expected = Incoming {
            repository: "o/r".parse().unwrap(),
            repository_id: RepositoryId(9),
            installation: Some(InstallationId(3)),
            default_branch: Some("trunk".to_owned()),
            subject,
            signal: Signal {
                by: Requester::Person(Person { login: "anna".to_owned(), id: UserId(5) }),
                kind,
            },
        };
        let understood = understand(event, &changed(&changes));
        assert_eq!(understood, Understood::Signal(Box::new(expected)), "{event} {changes:?}");
    }
}

#[test]
fn what_means_nothing_is_ignored_with_a_reason() {
    let action = |action: &str| ("/action", json!(action));
    let created = || action("created");
    for (event, changes, because) in [
        ("star", vec![], "event \"star\""),
        ("", vec![], "event \"\""),
        ("issues", vec![action("opened")], "issues.opened"),
        ("issues", vec![("/action", Value::Null)], "without an action"),
        ("issues", vec![("/issue/state", json!("closed"))], "closed"),
        ("issues", vec![("/issue/pull_request", json!({}))], "pull request"),
        ("issues", vec![("/sender/type", json!("Bot"))], "bots"),
        ("issues", vec![("/sender/login", json!("journeyman[bot]"))], "bots"),
        ("issue_comment", vec![action("edited")], "issue_comment.edited"),
        ("issue_comment", vec![created(), ("/comment/body", json!("please /retry"))], "command"),
        ("issue_comment", vec![created(), ("/comment/body", json!("> /retry"))], "command"),
        ("issue_comment", vec![created(), ("/comment/user/id", json!(6))], "sender's own"),
        ("issue_comment", vec![created(), ("/sender/type", json!("Bot"))], "bots"),
        ("pull_request", vec![action("opened")], "pull_request.opened"),
    ] {
        let understood = understand(event, &changed(&changes));
        let Understood::Ignored { because: said } = &understood else {
            panic!("{event} {changes:?}: {understood:?}");
        };
        assert!(said.contains(because), "{event} {changes:?}: {said}");
    }
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
        let Understood::Malformed { because: said } = &understood else {
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
        let Understood::Malformed { because: said } = &understood else { panic!("{understood:?}") };
        assert!(said.contains(because), "{said}");
    }
}

#[test]
fn of_keys_that_are_twice_there_the_last_counts() {
    let text = String::from_utf8(changed(&[])).unwrap();
    let twice = text.replacen('{', "{\"action\":\"opened\",\"repository\":null,", 1);
    assert!(matches!(understand("issues", twice.as_bytes()), Understood::Signal(_)));
}

#[test]
fn a_default_branch_that_git_could_not_have_is_not_believed() {
    for branch in [json!(""), json!("-rf"), json!("a b"), json!("a\u{0}"), json!("x".repeat(300)), json!(7)] {
        let Understood::Signal(incoming) =
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

proptest! {
    #[test]
    fn any_bytes_have_an_answer(event in "issues|issue_comment|pull_request|ping|\\PC{0,8}", body: Vec<u8>) {
        let understood = understand(&event, &body);
        prop_assert!(!matches!(understood, Understood::Signal(_)));
    }

    #[test]
    fn any_change_of_a_payload_has_an_answer(
        event in "issues|issue_comment|pull_request",
        action in "labeled|unlabeled|closed|created",
        field in "/(label|issue|comment|pull_request|repository|installation|sender|issue/(number|title|body|state|pull_request)|sender/(id|login|type)|comment/(body|user)|repository/(id|full_name))",
        value in any_json(),
    ) {
        let body = changed(&[("/action", json!(action)), (&field, value)]);
        if let Understood::Signal(incoming) = understand(&event, &body) {
            prop_assert!(i64::try_from(incoming.repository_id.0).is_ok());
            let Requester::Person(by) = incoming.signal.by else { panic!("not a person") };
            prop_assert!(i64::try_from(by.id.0).is_ok());
        }
    }

    #[test]
    fn any_header_has_an_answer(header in "(sha256=)?\\PC{0,80}", body: Vec<u8>) {
        prop_assert!(verify(&secrets(&[SECRET]), Some(&header), &body).is_err());
    }
}
