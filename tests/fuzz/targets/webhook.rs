//! A delivery's body with a valid signature, read as every event that we handle.

use journeyman::order::{Requester, SignalKind};
use journeyman::webhook::{
    DeliveryMeaning, RoutedSignal, SignalCondition, SignalSubject, events, names, understand, verify,
};
use secrecy::SecretString;

use super::text;

pub const WORDS: &[&str] = &[
    "\"action\":",
    "\"labeled\"",
    "\"created\"",
    "\"completed\"",
    "\"submitted\"",
    "\"synchronize\"",
    "\"requested_action\"",
    "\"rerequested\"",
    "\"edited\"",
    "\"closed\"",
    "\"issue\":",
    "\"pull_request\":",
    "\"comment\":",
    "\"review\":",
    "\"merge_group\":",
    "\"checks_requested\"",
    "\"head_ref\":\"refs/heads/gh-readonly-queue/main/pr-",
    "\"base_ref\":\"refs/heads/",
    "\"check_run\":",
    "\"check_suite\":",
    "\"workflow_run\":",
    "\"sender\":",
    "\"repository\":",
    "\"id\":",
    "\"body\":",
    "\"/retry ",
    "\"/cancel\"",
    "\"@journeyman ",
    "\"head_branch\":\"",
    "journeyman/issue-1-",
    "\"head_sha\":",
    "\"0000000000000000000000000000000000000000\"",
    "\"ref\":\"refs/heads/",
    "\"login\":\"x[bot]\"",
    "\"type\":\"Bot\"",
    "\"state\":",
    "\"conclusion\":",
    "\"branches\":",
    "\"default_branch\":\"-x\"",
    "payload=",
];

/// Reads it as each event, and as an unknown one.
pub fn deliveries(bytes: &[u8]) {
    for event in events() {
        let understood = understand(event, bytes);
        assert_eq!(understood, understand(event, bytes), "the same delivery means two things");
        match understood {
            DeliveryMeaning::Ping => panic!("{event} is no ping"),
            DeliveryMeaning::Ignored { because } | DeliveryMeaning::Malformed { because } => {
                assert!(
                    because.chars().count() <= 300 && !because.chars().any(char::is_control),
                    "{because:?}"
                );
            }
            DeliveryMeaning::Signal(incoming) => is_sound(&incoming),
        }
    }
    let head = text(bytes.get(..bytes.len().min(300)).unwrap_or_default());
    if !events().any(|event| event == head) && head != "ping" {
        assert!(
            matches!(understand(&head, bytes), DeliveryMeaning::Ignored { because } if because.len() < 400)
        );
    }
    let secret = SecretString::from("it's a secret".to_owned());
    assert!(verify(&[secret], Some(&head), bytes).is_err(), "nobody knows the secret");
    // An App's name contains no Markdown, so a comment that mentions it contains it literally.
    let comment = text(bytes);
    assert!(!names(&comment, "journeyman") || comment.to_ascii_lowercase().contains("journeyman"));
}

fn is_login(name: &str) -> bool {
    (1..=39).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

fn is_sound(incoming: &RoutedSignal) {
    let RoutedSignal {
        repository, repository_id, default_branch, subject, condition: provided, signal, ..
    } = incoming;
    let path = repository.to_string();
    assert_eq!(path.split('/').count(), 2, "{path}");
    assert!(!path.split('/').any(|part| matches!(part, "" | "." | "..")), "{path}");
    assert!(i64::try_from(repository_id.0).is_ok());
    if let Some(branch) = default_branch {
        assert!(!branch.starts_with('-') && !branch.is_empty() && branch.len() <= 255);
        assert!(!branch.contains(char::is_whitespace) && !branch.contains(char::is_control));
    }
    if let SignalSubject::Branches(branches) = subject {
        assert!(!branches.is_empty());
    }
    if let SignalCondition::Named(names) = provided {
        assert!(!names.is_empty() && names.iter().all(|name| is_login(name)));
    }
    // If a bot could open or control orders, bots could talk to each other forever.
    if let Requester::Person(person) = &signal.by
        && person.login.ends_with("[bot]")
    {
        let steers = matches!(
            signal.kind,
            SignalKind::Labeled { .. }
                | SignalKind::Commanded { .. }
                | SignalKind::Misspoken { .. }
                | SignalKind::Reviewed { .. }
                | SignalKind::Remarked { .. }
                | SignalKind::PullReopened { .. }
        );
        assert!(!steers, "{signal:?}");
    }
}
