//! The runtime against a service on loopback.

mod failures;
mod probe;
mod service;

use journeyman_order::model_service::{Price, Provider};
use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use service::{FakeModelApi, FakeModelResponse, anthropic, openai};

const KEY: &str = "sk-secret-0123456789";
const NAME: &str = "TEST_MODEL_KEY";

fn settings(provider: Provider, url: &str) -> ApiSettings {
    ApiSettings {
        provider,
        base_url: url.parse().unwrap(),
        model: match provider {
            Provider::Anthropic => "claude-sonnet-4-5".to_owned(),
            Provider::OpenAi => "gpt-4.1".to_owned(),
        },
        key_env: Some(NAME.to_owned()),
        max_output_tokens: 32_000,
        prices: Prices::default(),
    }
}

fn api(provider: Provider, url: &str) -> ModelApi {
    ModelApi::new("engineer", settings(provider, url), Default::default()).unwrap()
}

fn environment(name: &str) -> Option<String> {
    // Ends in a newline, which `export KEY="$(cat file)"` strips and other ways keep.
    (name == NAME).then(|| format!("{KEY}\n"))
}

fn call(prompt: &str) -> ModelCall<'_> {
    ModelCall { system: None, prompt, model: None, timeout: Duration::from_secs(60) }
}

#[derive(Default)]
struct RecordedCall {
    requests: Vec<String>,
    lines: Vec<String>,
}

impl CallRecorder for RecordedCall {
    fn request(&mut self, body: &str) {
        self.requests.push(body.to_owned());
    }

    fn line(&mut self, line: &str) {
        self.lines.push(line.to_owned());
    }
}

/// Makes a call and asserts that no output contains the key.
async fn ask(api: &ModelApi, call: ModelCall<'_>) -> (AgentRun, RecordedCall) {
    let key = api.key(&environment);
    let mut kept = RecordedCall::default();
    let run = api.call(call, &key, &mut kept).await;
    for text in kept.requests.iter().chain(&kept.lines).chain([&format!("{run:?} {key:?}")]) {
        assert!(!text.contains(KEY), "{text}");
    }
    (run, kept)
}

/// The run for one answer of a service that speaks this dialect.
async fn told(provider: Provider, says: FakeModelResponse) -> AgentRun {
    let service = FakeModelApi::start(vec![says]).await;
    ask(&api(provider, &service.url), call("What is it?")).await.0
}

#[track_caller]
fn close(usd: f64, expected: f64) {
    assert!((usd - expected).abs() < 1e-12, "{usd} and not {expected}");
}

#[tokio::test]
async fn anthropics_messages_are_asked_and_their_text_tokens_and_dollars_are_read() {
    let service =
        FakeModelApi::start(vec![FakeModelResponse::events(&anthropic(&["Forty-", "two", " ü\u{2028}."]))])
            .await;
    let asked = ModelCall { system: Some("You count."), ..call("How many?") };
    let (run, kept) = ask(&api(Provider::Anthropic, &service.url), asked).await;
    assert_eq!(run.result.as_deref(), Some("Forty-two ü\u{2028}."));
    assert_eq!((&run.failure, &run.session_id, run.warnings.len()), (&None, &None, 0));
    assert_eq!(
        (run.usage.input_tokens, run.usage.output_tokens),
        (1140, 20),
        "those of a cache are read too"
    );
    close(run.usage.usd, (100.0 * 3.0 + 40.0 * 3.75 + 1000.0 * 0.3 + 20.0 * 15.0) / 1e6);
    let [request] = &service.asked()[..] else { panic!("one request") };
    assert_eq!(request.path, "/v1/messages");
    assert_eq!(request.headers["x-api-key"], KEY);
    assert_eq!(request.headers["anthropic-version"], "2023-06-01");
    let body = json!({
        "model": "claude-sonnet-4-5", "max_tokens": 32_000, "stream": true, "system": "You count.",
        "messages": [{ "role": "user", "content": "How many?" }],
    });
    assert_eq!(request.body, body);
    assert_eq!(kept.requests, [body.to_string()]);
    assert_eq!(kept.lines[0], r#"{"request_id":null,"status":200}"#);
    assert_eq!(kept.lines.len(), 1 + anthropic(&["", "", ""]).len(), "every event is kept");
}

#[tokio::test]
async fn openais_chat_is_asked_and_its_text_tokens_and_dollars_are_read() {
    let mut says = String::new();
    for event in openai(&["Forty-", "two"]) {
        says += &format!(": still there\r\n\r\ndata: {event}\r\n\r\n");
    }
    let service =
        FakeModelApi::start(vec![FakeModelResponse::stream(&format!("{says}data: [DONE]\r\n\r\n"))]).await;
    let mut settings = settings(Provider::OpenAi, &format!("{}/some/v1/", service.url));
    let own = Price { input: 1.0, output: 10.0, cache_read: 0.1, cache_write: 0.0 };
    settings.prices = Prices::new(BTreeMap::from([("other".to_owned(), own)]));
    let asked = ModelCall { system: Some("You count."), model: Some("other"), ..call("How?") };
    let (run, _) = ask(&ModelApi::new("engineer", settings, Default::default()).unwrap(), asked).await;
    assert_eq!((run.result.as_deref(), &run.failure), (Some("Forty-two"), &None));
    assert_eq!((run.usage.input_tokens, run.usage.output_tokens), (1100, 20));
    close(run.usage.usd, (100.0 * 1.0 + 1000.0 * 0.1 + 20.0 * 10.0) / 1e6);
    let [request] = &service.asked()[..] else { panic!("one request") };
    assert_eq!(request.path, "/some/v1/chat/completions");
    assert_eq!(request.headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(
        request.body,
        json!({
            "model": "other", "max_tokens": 32_000, "stream": true, "stream_options": { "include_usage": true },
            "messages": [{ "role": "system", "content": "You count." }, { "role": "user", "content": "How?" }],
        })
    );
}

#[tokio::test]
async fn a_server_of_ones_own_gets_no_key_and_what_it_costs_has_to_be_said() {
    let events = openai(&["Yes"]);
    let (_, without_usage) = events.split_last().unwrap();
    let service = FakeModelApi::start(vec![FakeModelResponse::events(without_usage)]).await;
    let own = |prices| ApiSettings {
        key_env: None,
        model: "qwen:30b".to_owned(),
        prices,
        ..settings(Provider::OpenAi, &service.url)
    };
    let prompt = "x".repeat(400);
    let (run, _) =
        ask(&ModelApi::new("engineer", own(Prices::default()), Default::default()).unwrap(), call(&prompt))
            .await;
    assert_eq!((run.result.as_deref(), &run.failure), (Some("Yes"), &None));
    assert_eq!((run.usage.input_tokens, run.usage.usd), (100, 0.0), "what nobody counted is estimated");
    let warnings = run.warnings.join("\n");
    for part in ["\"qwen:30b\"", "[prices.\"qwen:30b\"]", "$0", "journeyman.toml", "estimated"] {
        assert!(warnings.contains(part), "{part}: {warnings}");
    }
    assert!(!service.asked()[0].headers.contains_key("authorization"));
    let free = Price { input: 0.0, output: 0.0, cache_read: 0.0, cache_write: 0.0 };
    let known = Prices::new(BTreeMap::from([("qwen:30b".to_owned(), free)]));
    let (run, _) =
        ask(&ModelApi::new("engineer", own(known), Default::default()).unwrap(), call(&prompt)).await;
    assert!(!run.warnings.join("\n").contains("prices"), "{:?}", run.warnings);
}

#[tokio::test]
async fn a_key_that_a_service_repeats_is_taken_out_everywhere() {
    let text = format!("The key is {KEY}.");
    let run = told(Provider::Anthropic, FakeModelResponse::events(&anthropic(&[&text]))).await;
    assert_eq!(run.result.as_deref(), Some("The key is [TEST_MODEL_KEY]."));
    let error = json!({ "error": { "message": format!("Incorrect key: {KEY}"), "code": "invalid_api_key" } });
    let run = told(Provider::OpenAi, FakeModelResponse::error(401, &error)).await;
    let message = run.failure.unwrap().message;
    assert!(message.contains("Incorrect key: [TEST_MODEL_KEY]"), "{message}");
    // A prompt may contain the key too: the recorded request must not.
    let service = FakeModelApi::start(vec![FakeModelResponse::events(&anthropic(&["No."]))]).await;
    let (_, kept) = ask(&api(Provider::Anthropic, &service.url), call(&text)).await;
    assert!(kept.requests[0].contains("[TEST_MODEL_KEY]"), "{:?}", kept.requests);
    let shown = format!("{:?}", settings(Provider::Anthropic, &service.url));
    assert!(shown.contains(NAME) && !shown.contains(KEY), "{shown}");
}
