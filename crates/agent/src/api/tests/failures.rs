//! Failures of a service and the network, and how to react to each.

use chrono::{TimeDelta, Utc};
use journeyman_order::model_service::Provider;

use super::*;

/// Asserts that the run failed with this kind and that the message contains these texts.
#[track_caller]
fn failed(run: &AgentRun, kind: AgentFailureKind, says: &[&str]) {
    let failure = run.failure.as_ref().unwrap_or_else(|| panic!("{run:?}"));
    assert_eq!(failure.kind, kind, "{}", failure.message);
    for part in says {
        assert!(failure.message.contains(part), "{part}: {}", failure.message);
    }
}

fn error(kind: &str, message: &str) -> serde_json::Value {
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}

fn broken(events: &[serde_json::Value], rest: &str) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>() + rest
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_none_and_what_it_used_is_counted() {
    let whole = anthropic(&["Forty-", "two"]);
    let half = broken(&whole[..4], "data: {\"type\":\"content_block_del");
    for says in [
        FakeModelResponse::stream(&half),
        FakeModelResponse::stream(&half).cut(),
        FakeModelResponse::events(&whole[..6]).cut(),
    ] {
        let run = told(Provider::Anthropic, says).await;
        failed(&run, AgentFailureKind::Ended, &["the answer broke off"]);
        assert_eq!((run.result.as_deref(), run.usage.input_tokens), (None, 1140));
    }
    for says in [
        FakeModelResponse::events(&openai(&["Forty-", "two"])[..3]),
        FakeModelResponse::events(&openai(&["a"])[..2]).cut(),
    ] {
        let run = told(Provider::OpenAi, says).await;
        failed(&run, AgentFailureKind::Ended, &["the answer broke off"]);
        assert!(run.usage.input_tokens > 0 && run.usage.usd > 0.0, "estimated: {:?}", run.usage);
    }
    // Nothing arrived: counts as unreachable, and costs nothing.
    let run = told(Provider::Anthropic, FakeModelResponse::stream("").cut()).await;
    failed(&run, AgentFailureKind::Unavailable, &["engineer.base_url"]);
    assert_eq!(run.usage.input_tokens, 0);
}

#[tokio::test]
async fn an_overloaded_service_is_waited_for_as_it_says() {
    let date = (Utc::now() + TimeDelta::seconds(100)).format("%a, %d %b %Y %H:%M:%S GMT").to_string();
    for (status, kind, wait, seconds) in [
        (429, "rate_limit_error", Some("17"), 17..=17),
        (429, "rate_limit_error", Some(date.as_str()), 90..=100),
        (529, "overloaded_error", Some("3"), 3..=3),
        (503, "", Some("1"), 1..=1),
        (429, "rate_limit_error", None, 0..=0),
        (529, "overloaded_error", None, 0..=0),
        (500, "api_error", None, 0..=0),
        (502, "", None, 0..=0),
    ] {
        let mut says = FakeModelResponse::error(status, &error(kind, "Come again"));
        if let Some(wait) = wait {
            says = says.header("retry-after", wait);
        }
        let run = told(Provider::Anthropic, says).await;
        failed(
            &run,
            AgentFailureKind::Unavailable,
            &["cannot answer now", "Come again", &status.to_string()],
        );
        let told = run.failure.and_then(|failure| failure.retry_after_seconds);
        assert_eq!(told.is_some(), wait.is_some(), "{status} {wait:?}");
        assert!(seconds.contains(&told.unwrap_or(0)), "{status} {wait:?}: {told:?}");
        assert!(run.result.is_none() && run.usage.input_tokens == 0);
    }
    // The same in the middle of a stream, where it has cost money.
    let overloaded = [&anthropic(&["Forty-"])[..4], &[error("overloaded_error", "Overloaded")]].concat();
    let run = told(Provider::Anthropic, FakeModelResponse::events(&overloaded)).await;
    failed(&run, AgentFailureKind::Unavailable, &["Overloaded"]);
    assert_eq!(run.usage.input_tokens, 1140);
    let busy = json!({ "error": { "code": 429, "message": "Slow down" } });
    let run =
        told(Provider::OpenAi, FakeModelResponse::events(&[&openai(&["a"])[..2], &[busy]].concat())).await;
    failed(&run, AgentFailureKind::Unavailable, &["429: Slow down"]);
}

#[tokio::test]
async fn what_a_person_has_to_mend_names_what_to_mend() {
    for (status, kind, message, says) in [
        (
            401,
            "authentication_error",
            "invalid x-api-key",
            &["TEST_MODEL_KEY", "agents.engineer.key_env"][..],
        ),
        (403, "permission_error", "not yours", &["TEST_MODEL_KEY", "refused the key"]),
        (402, "", "no money", &["requires payment"]),
        (400, "invalid_request_error", "Your credit balance is too low", &["requires payment"]),
        (429, "insufficient_quota", "You exceeded your quota", &["requires payment", "TEST_MODEL_KEY"]),
        (404, "not_found_error", "model: nope", &["model: nope", "agents.engineer.model", "base_url"]),
        (307, "", "", &["elsewhere", "agents.engineer.base_url", "http://127.0.0.1:9/"]),
    ] {
        let says_no =
            FakeModelResponse::error(status, &error(kind, message)).header("location", "http://127.0.0.1:9/");
        let run = told(Provider::Anthropic, says_no.header("retry-after", "5")).await;
        failed(&run, AgentFailureKind::Misconfigured, says);
        assert_eq!(run.failure.and_then(|failure| failure.retry_after_seconds), None);
    }
    let page = FakeModelResponse::stream("<html>Welcome to nginx</html>").header("content-type", "text/html");
    let run = told(Provider::OpenAi, page).await;
    failed(&run, AgentFailureKind::Misconfigured, &["text/html", "agents.engineer.base_url"]);
    let said_no = FakeModelResponse::error(400, &error("invalid_request_error", "max_tokens: 32000 > 8192"));
    failed(
        &told(Provider::Anthropic, said_no).await,
        AgentFailureKind::Ended,
        &["400: max_tokens: 32000 > 8192"],
    );
    let said_no =
        FakeModelResponse::stream("no such thing\u{202e}\n\u{0}here").header("content-type", "text/plain");
    let run = told(Provider::OpenAi, said_no.status(418)).await;
    failed(&run, AgentFailureKind::Ended, &["418: no such thing\nhere"]);
}

#[tokio::test]
async fn without_its_key_nobody_is_asked() {
    let service = FakeModelApi::start(vec![FakeModelResponse::events(&anthropic(&["Hello"]))]).await;
    for (value, says) in [
        (None, "TEST_MODEL_KEY, which is not set"),
        (Some("  \n"), "TEST_MODEL_KEY, which is not set"),
        (Some("sk\u{7}secret"), "characters that no key has"),
    ] {
        let api = api(Provider::Anthropic, &service.url);
        let key = api.key(&|_| value.map(str::to_owned));
        let run = api.call(call("x"), &key, &mut RecordedCall::default()).await;
        failed(&run, AgentFailureKind::Misconfigured, &[says, "agents.engineer.key_env"]);
        assert!(!format!("{run:?}").contains("secret"));
    }
    assert_eq!(service.asked().len(), 0);
}

#[tokio::test]
async fn a_service_that_is_not_there_may_be_there_later() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let (run, _) = ask(&api(Provider::OpenAi, &url), call("x")).await;
    failed(&run, AgentFailureKind::Unavailable, &[&url, "onnection refused", "agents.engineer.base_url"]);
}

#[tokio::test]
async fn when_the_time_is_up_or_no_token_is_left_what_has_come_is_kept() {
    let talked = broken(&anthropic(&["Forty-"])[..4], "");
    let service = FakeModelApi::start(vec![FakeModelResponse::stream(&talked).then_silence()]).await;
    let short = ModelCall { timeout: Duration::from_millis(300), ..call("x") };
    let (run, _) = ask(&api(Provider::Anthropic, &service.url), short).await;
    failed(&run, AgentFailureKind::LimitReached, &["its time was up"]);
    assert_eq!((run.result.as_deref(), run.usage.input_tokens), (Some("Forty-"), 1140));
    assert!(run.duration_seconds >= 0.3);

    let mut events = anthropic(&["Forty-"]);
    events[5]["delta"]["stop_reason"] = json!("max_tokens");
    let run = told(Provider::Anthropic, FakeModelResponse::events(&events)).await;
    failed(&run, AgentFailureKind::LimitReached, &["max_output_tokens"]);
    assert_eq!((run.result.as_deref(), run.usage.output_tokens), (Some("Forty-"), 20));
    let mut events = openai(&["Forty-"]);
    events[2]["choices"][0]["finish_reason"] = json!("length");
    let run = told(Provider::OpenAi, FakeModelResponse::events(&events)).await;
    failed(&run, AgentFailureKind::LimitReached, &["max_output_tokens"]);
    assert_eq!(run.result.as_deref(), Some("Forty-"));
}

#[tokio::test]
async fn a_model_that_will_not_answer_has_not() {
    let mut events = anthropic(&["I can"]);
    events[5]["delta"] =
        json!({ "stop_reason": "refusal", "stop_details": { "explanation": "It is a key." } });
    let run = told(Provider::Anthropic, FakeModelResponse::events(&events)).await;
    failed(&run, AgentFailureKind::Ended, &["refused to answer: It is a key."]);
    assert_eq!((run.result.as_deref(), run.usage.output_tokens), (None, 20));
    let mut events = openai(&[""]);
    events[1]["choices"][0]["delta"] = json!({ "refusal": "I cannot." });
    failed(
        &told(Provider::OpenAi, FakeModelResponse::events(&events)).await,
        AgentFailureKind::Ended,
        &["refused", "I cannot."],
    );
    let run = told(Provider::OpenAi, FakeModelResponse::events(&openai(&[" \n"]))).await;
    failed(&run, AgentFailureKind::Ended, &["has no text"]);
    let mut events = anthropic(&["Forty-two"]);
    events[5]["delta"]["stop_reason"] = json!("something_new");
    let run = told(Provider::Anthropic, FakeModelResponse::events(&events)).await;
    assert_eq!((run.result.as_deref(), &run.failure), (Some("Forty-two"), &None));
    assert!(run.warnings.join("").contains("something_new"), "{:?}", run.warnings);
}

#[tokio::test]
async fn a_providers_own_service_is_not_asked_for_a_model_without_a_price() {
    for base in
        ["https://api.anthropic.com", "https://API.anthropic.com./v1/", "https://eu.api.openai.com/v1"]
    {
        let mut settings = settings(Provider::Anthropic, base);
        settings.model = "claude-sonnet-99".to_owned();
        // A real call would give another message, about the network or a wrong key.
        let (run, kept) =
            ask(&ModelApi::new("engineer", settings, Default::default()).unwrap(), call("x")).await;
        let failure = run.failure.expect("it is not asked");
        assert_eq!(failure.kind, AgentFailureKind::Misconfigured, "{base}");
        for words in ["\"claude-sonnet-99\"", "not known", "[prices.\"claude-sonnet-99\"]", "journeyman.toml"]
        {
            assert!(failure.message.contains(words), "{base}: {}", failure.message);
        }
        assert!(kept.requests.is_empty());
    }
}
