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
    let get = |path: &str| house.client.get(house.url(path));
    for path in ["/health", "/ready", "/metrics", "/nowhere", "/api/v1/work-orders?limit=7"] {
        get(path).bearer_auth(TOKEN).send().await.unwrap().bytes().await.unwrap();
    }
    get("/api/v1/work-orders").send().await.unwrap().bytes().await.unwrap();
    get("/api/v1/work-orders/1").bearer_auth("a guess").send().await.unwrap().bytes().await.unwrap();
    let asked = "/api/v1/work-orders?limit=7";
    let refused = "/api/v1/work-orders/1 begins".to_owned();
    assert_eq!(
        *told.lock().unwrap(),
        [format!("{asked} begins"), format!("{asked} is answered"), refused],
        "of strangers nothing is written down, and whoever is not let in forgives nothing"
    );

    let refused = get("/api/v1/work-orders/1/receipt").bearer_auth(TOKEN).send().await.unwrap();
    assert_eq!(refused.headers()["retry-after"], "60");
    assert_eq!(problem(refused, 503).await, "It ended the server three times.");
}
