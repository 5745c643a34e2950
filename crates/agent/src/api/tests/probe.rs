//! The check of the key that costs nothing.

use journeyman_order::model_service::Provider;
use serde_json::Value;

use super::*;

const PATIENCE: Duration = Duration::from_secs(5);

fn error(message: &str) -> Value {
    json!({ "error": { "message": message } })
}

async fn probed(says: FakeModelResponse) -> Option<String> {
    let service = FakeModelApi::start(vec![says]).await;
    let api = api(Provider::OpenAi, &service.url);
    api.refused_key(&api.key(&environment), PATIENCE).await
}

#[tokio::test]
async fn the_list_of_models_is_asked_for_with_the_key() {
    for (provider, path, header, value) in [
        (Provider::Anthropic, "/v1/models", "x-api-key", KEY.to_owned()),
        (Provider::OpenAi, "/models", "authorization", format!("Bearer {KEY}")),
    ] {
        let service = FakeModelApi::start(vec![FakeModelResponse::error(200, &json!({ "data": [] }))]).await;
        let api = api(provider, &service.url);
        assert_eq!(api.refused_key(&api.key(&environment), PATIENCE).await, None);
        let [asked] = &service.asked()[..] else { panic!("one request") };
        assert_eq!((asked.path.as_str(), &asked.headers[header], &asked.body), (path, &value, &Value::Null));
    }
}

#[tokio::test]
async fn only_a_refused_key_is_a_refusal() {
    let why = probed(FakeModelResponse::error(401, &error("invalid x-api-key"))).await.unwrap();
    assert!(why.contains("refuses the key") && why.contains(NAME) && !why.contains(KEY), "{why}");
    for says in [
        FakeModelResponse::error(403, &error("insufficient")),
        FakeModelResponse::error(404, &error("no such path")),
        FakeModelResponse::error(405, &error("POST only")),
        FakeModelResponse::error(429, &error("slow down")),
        FakeModelResponse::error(529, &error("overloaded")),
    ] {
        assert_eq!(probed(says.clone()).await, None, "{says:?}");
    }
    let silent = "http://127.0.0.1:9";
    let api = api(Provider::Anthropic, silent);
    assert_eq!(api.refused_key(&api.key(&environment), PATIENCE).await, None, "nobody is there");
    let why = api.refused_key(&api.key(&|_| None), PATIENCE).await.unwrap();
    assert!(why.contains(NAME), "{why}");
}

#[tokio::test]
async fn who_says_nothing_is_not_waited_for_long() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let api = api(Provider::OpenAi, &format!("http://{}", listener.local_addr().unwrap()));
    let begun = Instant::now();
    assert_eq!(api.refused_key(&api.key(&environment), Duration::from_millis(100)).await, None);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}
