//! Sends messages to a real receiver on loopback.

use super::*;
use journeyman_test_support::message_receiver::{MessageReceiver, ReceivedMessage};

const SECRET: &str = "a-secret-that-messages-are-signed-with";

fn json(message: &ReceivedMessage) -> serde_json::Value {
    serde_json::from_slice(&message.body).unwrap()
}

fn notifier(url: &str, format: NotificationFormat) -> Notifier {
    let settings = NotificationSettings { url: url.into(), secret: Some(SECRET.into()), format };
    Notifier::new(settings, &OutgoingNetwork::default()).unwrap()
}

fn escalated() -> Notification {
    Notification {
        event: NotificationEvent::NeedsPerson,
        order: "one".to_owned(),
        repository: "acme/app".to_owned(),
        issue: 7,
        title: "\"quoted\" & <b>".to_owned(),
        issue_url: "https://github.com/acme/app/issues/7".to_owned(),
        state: "escalated".to_owned(),
        headline: "Needs a person".to_owned(),
        because: None,
        pull_request_url: None,
    }
}

#[tokio::test]
async fn a_message_is_signed_as_github_signs_and_tried_again_under_the_same_id() {
    let receiver = MessageReceiver::start().await;
    assert!(notifier(&receiver.url, NotificationFormat::Json).send(&escalated()).await);
    let came = receiver.came();
    let [refused, taken] = &came[..] else { panic!("{came:?}") };
    assert_eq!(refused.body, taken.body, "the same is tried again");
    let delivery = taken.header("x-journeyman-delivery");
    assert!(delivery.is_some() && refused.header("x-journeyman-delivery") == delivery, "under the same id");
    assert_eq!(taken.header("x-journeyman-event"), Some("needs_person"));
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(&taken.body);
    let signed = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
    assert_eq!(taken.header("x-hub-signature-256"), Some(signed.as_str()));
    let said = json(taken);
    assert_eq!(
        (&said["event"], &said["title"]),
        (&"needs_person".into(), &"\"quoted\" & <b>".into()),
        "{said}"
    );
    assert!(said.get("because").is_none(), "{said}");
}

#[tokio::test]
async fn slack_gets_a_text_and_nothing_else() {
    let receiver = MessageReceiver::start().await;
    assert!(notifier(&receiver.url, NotificationFormat::Slack).send(&escalated()).await);
    let said = json(&receiver.came()[1]);
    let text = said["text"].as_str().unwrap();
    assert!(text.contains("|acme/app#7>") && text.contains("&lt;b&gt;"), "{text}");
    assert_eq!(said.as_object().map(serde_json::Map::len), Some(1), "{said}");
}

#[tokio::test]
async fn an_error_says_nothing_of_the_address() {
    let nobody = notifier("http://127.0.0.1:9/s3cret-of-the-address", NotificationFormat::Json);
    let because = nobody.try_once(b"{}", "done", Uuid::nil()).await.unwrap_err();
    assert!(!because.contains("s3cret") && !because.is_empty(), "{because}");
}
