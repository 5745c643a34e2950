//! Deliveries with odd answers of GitHub, and with large bodies.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::{DateTime, SubsecRound as _, TimeDelta, Utc};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::crash_matrix::{engine_parts, github_over};
use super::intake::DeliveryIntake;
use super::{Clock, Engine};
use journeyman_github::{GitHubConnection, GitHubError, IncomingAnswer, OutgoingRequest, WriteLimits};
use journeyman_order::{Backoff, DeliveryGuid};
use journeyman_store::{DeliveryConclusion, NewDelivery, Store};

/// The answer to a route.
type RouteScript = dyn Fn(&str) -> (u16, String) + Send + Sync;

struct ScriptedGitHub {
    script: Box<RouteScript>,
}

#[async_trait::async_trait]
impl GitHubConnection for ScriptedGitHub {
    async fn exchange(&self, request: OutgoingRequest<'_>) -> Result<IncomingAnswer, GitHubError> {
        let (status, body) = match request.route.ends_with("/access_tokens") {
            true => {
                (201, json!({"token": "ghs_1", "expires_at": Utc::now() + TimeDelta::hours(1)}).to_string())
            }
            false => (self.script)(request.route),
        };
        Ok(IncomingAnswer { status, body: body.into_bytes(), ..IncomingAnswer::default() })
    }
}

struct DeliveriesFixture {
    engine: Engine,
    store: Store,
    _place: TempDir,
}

async fn fixture(script: impl Fn(&str) -> (u16, String) + Send + Sync + 'static) -> DeliveriesFixture {
    let place = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite://{}", place.path().join("journeyman.db").display());
    let store = Store::open(&url).await.expect("a store");
    let github = Arc::new(ScriptedGitHub { script: Box::new(script) });
    let once = Backoff { retries: Some(0), ..Backoff::REQUEST };
    let over = github_over(github as Arc<dyn GitHubConnection>, WriteLimits::NONE, once);
    let at = store.clone();
    // The parts were made in another runtime.
    let parts = tokio::task::spawn_blocking(move || engine_parts(&at, over, Clock::system()));
    let engine = Engine::new(parts.await.expect("the parts"));
    engine.caught_up.store(true, Ordering::Relaxed);
    DeliveriesFixture { engine, store, _place: place }
}

fn guid(name: &str) -> DeliveryGuid {
    name.parse().expect("a GUID")
}

fn listed(id: u64, name: &str, at: DateTime<Utc>, status: u16) -> Value {
    json!({
        "id": id, "guid": name, "event": "issues", "action": "opened", "delivered_at": at, "status_code": status,
    })
}

fn payload() -> (u16, String) {
    (200, json!({"request": {"payload": {"action": "opened"}}}).to_string())
}

impl DeliveriesFixture {
    /// Which of these deliveries are kept, by name.
    async fn kept(&self, names: &[&'static str]) -> Vec<&'static str> {
        let guids = names.iter().map(|name| guid(name)).collect();
        let unknown = self.store.unknown_deliveries(guids).await.expect("a list");
        names.iter().copied().filter(|name| !unknown.contains(&guid(name))).collect()
    }
}

#[tokio::test]
async fn a_delivery_that_github_refuses_to_give_holds_up_the_others_for_some_comparisons_only() {
    for (status, answer) in [(418, "{}"), (200, "<html>Sign in</html>"), (403, "{}"), (422, "{}")] {
        let now = Utc::now().trunc_subsecs(0);
        let minute = move |minute| now - TimeDelta::minutes(minute);
        let house = fixture(move |route| match route.trim_start_matches("/app/hook/deliveries") {
            "/1" => (status, answer.to_owned()),
            "/2" => payload(),
            "/3" => (410, "{}".to_owned()),
            _ => {
                let list = [
                    listed(2, "b", minute(1), 0),
                    listed(3, "c", minute(2), 0),
                    listed(1, "a", minute(3), 0),
                ];
                (200, json!(list).to_string())
            }
        });
        let house = house.await;
        house.store.set_heard_until(minute(5)).await.expect("it is kept");
        assert!(house.engine.reconcile(false).await.is_err(), "{status}");
        assert_eq!(house.kept(&["a", "b", "c"]).await, [""; 0], "what it waits for may come yet");

        for taken_in in [1, 0] {
            assert_eq!(house.engine.reconcile(true).await.expect("it is skipped"), taken_in, "{status}");
        }
        assert_eq!(house.kept(&["a", "b", "c"]).await, ["b"]);
        let heard = house.store.heard_until().await.expect("a time").map(|heard| heard.at);
        assert_eq!(heard, Some(minute(3)), "the next comparison lists it");
    }
}

#[tokio::test]
async fn a_delivery_that_cannot_be_given_in_an_outage_is_waited_for() {
    for status in [502, 429] {
        let now = Utc::now();
        let is_back = Arc::new(AtomicBool::new(false));
        let gives = Arc::clone(&is_back);
        let house = fixture(move |route| match route.trim_start_matches("/app/hook/deliveries") {
            "/1" if !gives.load(Ordering::Relaxed) => (status, "{}".to_owned()),
            "/1" => payload(),
            _ => (200, json!([listed(1, "a", now, 0)]).to_string()),
        });
        let house = house.await;
        house.store.set_heard_until(now - TimeDelta::minutes(5)).await.expect("it is kept");
        assert!(house.engine.reconcile(true).await.is_err(), "{status}");

        is_back.store(true, Ordering::Relaxed);
        assert_eq!(house.engine.reconcile(true).await.expect("a comparison"), 1, "{status}");
    }
}

fn labeled(name: &str) -> NewDelivery {
    let body = json!({
        "action": "labeled",
        "label": {"name": "journeyman"},
        "issue": {"number": 3, "title": "Mend the sum", "state": "open"},
        "repository": {"id": 7, "full_name": "acme/sums", "default_branch": "main"},
        "sender": {"login": "mona", "id": 8, "type": "User"},
        "installation": {"id": 9},
    });
    NewDelivery {
        guid: guid(name),
        event: "issues".to_owned(),
        action: None,
        body: body.to_string().into_bytes(),
        received_at: Utc::now(),
    }
}

#[tokio::test]
async fn a_delivery_about_which_github_says_what_nobody_understands_is_refused() {
    let house = fixture(|_| (418, json!({"message": "I am a teapot"}).to_string())).await;
    house.store.save_delivery(labeled("a")).await.expect("it is kept");
    house.engine.process_deliveries(&mut DeliveryIntake::default()).await.expect("a look");

    let concluded = house.store.conclusion(&guid("a")).await.expect("it is there");
    let Some(DeliveryConclusion::Refused { because }) = concluded else { panic!("{concluded:?}") };
    assert!(because.contains("418") && because.contains("I am a teapot"), "{because}");
}

#[tokio::test]
async fn deliveries_of_many_megabytes_are_taken_in_one_after_the_other_in_one_look() {
    let house = fixture(|route| panic!("{route} is asked for")).await;
    for name in ["a", "b", "c"] {
        let body = vec![b' '; 17 << 20];
        house.store.save_delivery(NewDelivery { body, ..labeled(name) }).await.expect("it is kept");
    }
    assert_eq!(house.store.pending_deliveries(0, 200).await.expect("a list").len(), 1, "of 32 MiB");
    house.engine.process_deliveries(&mut DeliveryIntake::default()).await.expect("a look");
    for name in ["a", "b", "c"] {
        let concluded = house.store.conclusion(&guid(name)).await.expect("it is there");
        assert!(matches!(concluded, Some(DeliveryConclusion::Refused { .. })), "{concluded:?}");
    }
}
