//! Webhooks: signed, in order, recorded, redelivered.

use std::sync::{Arc, Mutex};

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use serde_json::Value;

use super::*;
use crate::{DeliveryResult, signature};

/// What a receiver saw of one delivery.
#[derive(Debug, Clone)]
struct ReceivedDelivery {
    event: String,
    guid: String,
    signature: String,
    agent: String,
    body: Vec<u8>,
}

/// A receiver that answers with this status; its address and what it saw.
fn receiver(status: u16) -> (String, Arc<Mutex<Vec<ReceivedDelivery>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let data = web::Data::new(Arc::clone(&seen));
    let server = HttpServer::new(move || {
        let take = move |request: HttpRequest,
                         body: web::Bytes,
                         seen: web::Data<Arc<Mutex<Vec<ReceivedDelivery>>>>| async move {
            let header = |name: &str| {
                request
                    .headers()
                    .get(name)
                    .and_then(|value| value.to_str().ok())
                    .unwrap_or_default()
                    .to_owned()
            };
            seen.lock().expect("no panic").push(ReceivedDelivery {
                event: header("x-github-event"),
                guid: header("x-github-delivery"),
                signature: header("x-hub-signature-256"),
                agent: header("user-agent"),
                body: body.to_vec(),
            });
            HttpResponse::build(crate::reply::status(status)).finish()
        };
        App::new()
            .app_data(data.clone())
            .app_data(web::PayloadConfig::new(1 << 20))
            .default_service(web::to(take))
    })
    .workers(1)
    .disable_signals()
    .bind(("127.0.0.1", 0))
    .expect("a port");
    let url = format!("http://{}/webhook", server.addrs()[0]);
    tokio::spawn(server.run());
    (url, seen)
}

async fn settled(emulator: &Emulator) {
    let quiet = |emulator: &Emulator| {
        let all = emulator.deliveries();
        all.iter().all(|one| one.outcome != DeliveryResult::Queued).then_some(())
    };
    emulator.wait_for("all deliveries are sent", SOON, quiet).await.expect("sent");
}

#[test]
fn the_signature_is_the_one_of_githubs_own_example() {
    assert_eq!(
        signature(b"It's a Secret to Everybody", b"Hello, World!"),
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    );
}

#[tokio::test]
async fn what_people_do_is_delivered_signed_and_in_order() {
    let emulator = stage().await;
    let (url, seen) = receiver(202);
    emulator.set_webhook_url(&url);
    emulator.ping();
    let number =
        emulator.open_issue(REPOSITORY, "ada", "Sum is wrong", "it subtracts").await.expect("an issue");
    emulator.label(REPOSITORY, number, "journeyman", "octo").await.expect("a label");
    emulator.comment(REPOSITORY, number, "ada", "/retry").await.expect("a comment");
    emulator.unlabel(REPOSITORY, number, "journeyman", "octo").await.expect("gone");
    emulator.close(REPOSITORY, number, "ada").await.expect("closed");
    settled(&emulator).await;
    let seen = seen.lock().expect("no panic").clone();
    let names: Vec<String> = seen
        .iter()
        .map(|one| {
            let body: Value = serde_json::from_slice(&one.body).expect("json");
            assert_eq!(one.signature, signature(SECRET.as_bytes(), &one.body));
            assert!(one.agent.starts_with("GitHub-Hookshot/"));
            format!("{}.{}", one.event, body["action"].as_str().unwrap_or("-"))
        })
        .collect();
    let told = [
        "ping.-",
        "issues.opened",
        "issues.labeled",
        "issue_comment.created",
        "issues.unlabeled",
        "issues.closed",
    ];
    assert_eq!(names, told);
    let labeled: Value = serde_json::from_slice(&seen[2].body).expect("json");
    assert_eq!(labeled["label"]["name"], "journeyman");
    assert_eq!(labeled["sender"]["login"], "octo");
    assert_eq!(labeled["issue"]["labels"][0]["name"], "journeyman");
    assert_eq!(labeled["installation"]["id"], emulator.installation_id());
    assert_eq!(labeled["repository"]["full_name"], REPOSITORY);
    assert!(emulator.deliveries().iter().all(|one| one.outcome == DeliveryResult::Answered(202)));
}

#[tokio::test]
async fn a_delivery_can_be_had_again_under_its_guid() {
    let emulator = stage().await;
    emulator.set_webhook_url("http://127.0.0.1:1/webhook");
    emulator.open_issue(REPOSITORY, "ada", "t", "").await.expect("an issue");
    settled(&emulator).await;
    let (_, list) = call(&emulator, "GET", "/app/hook/deliveries", &app_token(), Value::Null).await;
    assert_eq!(list[0]["status_code"], 502, "nobody was at home");
    let (url, seen) = receiver(200);
    emulator.set_webhook_url(&url);
    let guid = list[0]["guid"].as_str().expect("a guid");
    emulator.redeliver(guid).await.expect("again");
    settled(&emulator).await;
    let guids: Vec<String> = seen.lock().expect("no panic").iter().map(|one| one.guid.clone()).collect();
    assert_eq!(guids, [guid]);
    let (_, list) = call(&emulator, "GET", "/app/hook/deliveries", &app_token(), Value::Null).await;
    assert_eq!(list[0]["status_code"], 200);
    assert!(emulator.redeliver("no-such-guid").await.is_err());
}
