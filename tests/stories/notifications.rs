//! A message to the configured receiver, once each time an order needs a person or is done.

use hmac::{Hmac, KeyInit as _, Mac as _};
use journeyman::order::{NotificationFormat, NotificationSettings};
use journeyman_test_support::message_receiver::{MessageReceiver, ReceivedMessage};
use sha2::Sha256;

use crate::world::{MAINTAINER, Story, WELL, World};

const SECRET: &str = "a-secret-that-messages-are-signed-with";

fn json(message: &ReceivedMessage) -> serde_json::Value {
    serde_json::from_slice(&message.body).expect("JSON")
}

/// Without tests, a person has to check.
async fn unverified(url: &str) -> World {
    let told = NotificationSettings {
        url: url.into(),
        secret: Some(SECRET.into()),
        format: NotificationFormat::Json,
    };
    let story = Story::of(WELL).without("test.sh").without(".github/journeyman.yml");
    let world = story.settings(|settings| settings.notifications = Some(told)).labeled().await;
    assert_eq!(world.settled().await.word(), "unverified");
    world
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_named_hears_once_that_a_person_is_needed_and_once_that_it_is_done() {
    let receiver = MessageReceiver::start().await;
    let world = unverified(&receiver.url).await;
    let came = receiver.until(2).await;
    let [refused, taken] = &came[..] else { panic!("{came:?}") };
    assert_eq!(refused.body, taken.body, "the same is tried again");
    let delivery = taken.header("x-journeyman-delivery");
    assert!(delivery.is_some() && refused.header("x-journeyman-delivery") == delivery, "under the same id");
    assert_eq!(taken.header("x-journeyman-event"), Some("needs_person"));
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("a key");
    mac.update(&taken.body);
    let signed = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
    assert_eq!(taken.header("x-hub-signature-256"), Some(signed.as_str()), "as GitHub signs");
    let said = json(taken);
    assert_eq!((&said["event"], &said["state"]), (&"needs_person".into(), &"unverified".into()), "{said}");
    assert_eq!(
        (&said["repository"], &said["issue"]),
        (&"acme/answers".into(), &world.issue.into()),
        "{said}"
    );
    assert!(said["pull_request_url"].as_str().is_some_and(|url| url.starts_with("http")), "{said}");

    world.comment(MAINTAINER, "/status").await;
    world.settled().await;
    world.comment(MAINTAINER, "/approve").await;
    assert_eq!(world.settled().await.word(), "approved");
    let came = receiver.until(3).await;
    assert_eq!(came.len(), 3, "once each: {came:?}");
    let said = json(&came[2]);
    assert_eq!((&said["event"], &said["state"]), (&"done".into(), &"approved".into()), "{said}");
    world.end().await;
}
