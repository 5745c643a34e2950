//! Liveness and readiness.

use chrono::Utc;

use super::*;
use journeyman_store::NewDelivery;

#[tokio::test(flavor = "multi_thread")]
async fn anybody_may_ask_whether_it_lives_and_can_work() {
    let house = http_fixture().await;
    for path in ["/health", "/ready"] {
        assert_eq!(house.client.get(house.url(path)).send().await.unwrap().status(), StatusCode::OK);
        assert_eq!(house.client.head(house.url(path)).send().await.unwrap().status(), StatusCode::OK);
    }
    let told = json_of(house.client.get(house.url("/ready")).send().await.unwrap()).await;
    let free = 1_u64 << 40;
    assert_eq!(
        told,
        json!({
            "status": "ready",
            "disk_free_bytes": free,
            "oldest_pending_delivery_seconds": null,
            "orders_wait_because": null,
        })
    );
    let delivery = NewDelivery {
        guid: "waits".parse().unwrap(),
        event: "issues".to_owned(),
        action: None,
        body: Vec::new(),
        received_at: Utc::now() - chrono::TimeDelta::minutes(7),
    };
    house.store.save_delivery(delivery).await.unwrap();
    let told = json_of(house.client.get(house.url("/ready")).send().await.unwrap()).await;
    let waits = told["oldest_pending_delivery_seconds"].as_i64();
    assert!(waits.is_some_and(|waits| (420..480).contains(&waits)), "{told}");
    let because = || Readiness::NotReady { because: "it is ending".to_owned() };
    let house = http_fixture_with(|state| HttpState { ready: Arc::new(because), ..state }).await;
    let response = house.client.get(house.url("/ready")).send().await.unwrap();
    assert_eq!(problem(response, 503).await, "it is ending");
}
