//! What is written down of those who are answered.

use super::*;

#[derive(Default)]
struct TestWatch(Arc<Mutex<Vec<String>>>);

impl RequestWatch for TestWatch {
    fn begin(&self, path: &str) -> Result<AnsweredCallback, String> {
        let (told, path) = (Arc::clone(&self.0), path.to_owned());
        if path.ends_with("/receipt") {
            return Err("It ended the server three times.".to_owned());
        }
        told.lock().unwrap().push(format!("{path} begins"));
        Ok(Box::new(move || told.lock().unwrap().push(format!("{path} is answered"))))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_answered_is_written_down_until_the_end_of_the_answer() {
    let told = Arc::default();
    let watch = Arc::new(TestWatch(Arc::clone(&told)));
    let house = http_fixture_with(|state| HttpState { watch, ..state }).await;
    for path in ["/health", "/ready", "/metrics", "/nowhere", "/api/v1/work-orders"] {
        house.client.get(house.url(path)).send().await.unwrap().bytes().await.unwrap();
    }
    assert_eq!(*told.lock().unwrap(), ["/api/v1/work-orders begins", "/api/v1/work-orders is answered"]);

    let refused = house.client.get(house.url("/api/v1/work-orders/1/receipt")).send().await.unwrap();
    assert_eq!(refused.headers()["retry-after"], "60");
    assert_eq!(problem(refused, 503).await, "It ended the server three times.");
}
