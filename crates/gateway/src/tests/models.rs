//! The model's endpoint.

use http::Response;
use serde_json::{Value, json};

use super::super::refusal::whole;
use super::super::{GatewayBudget, InvalidUpstream, ModelUpstream};
use super::service::{FakeUpstream, KEY, json_answer, message, post, streamed, words};
use super::*;
use journeyman_order::model_service::{Credential, Provider};
use journeyman_order::network::MeteredTokens;

#[tokio::test]
async fn the_key_is_put_in_outside_and_what_the_job_sent_for_one_is_dropped() {
    for (provider, path, line, name, value) in [
        (
            Provider::Anthropic,
            "/v1/messages?beta=true",
            "POST /base/v1/messages",
            "x-api-key",
            KEY.to_owned(),
        ),
        (
            Provider::OpenAi,
            "/v1/responses",
            "POST /base/v1/responses",
            "authorization",
            format!("Bearer {KEY}"),
        ),
        (
            Provider::OpenAi,
            "/v1/chat/completions",
            "POST /base/v1/chat/completions",
            "authorization",
            format!("Bearer {KEY}"),
        ),
    ] {
        let service = FakeUpstream::start(|_| message(3, 4)).await;
        let (gateway, guard) = opened(
            service.policy(provider, GatewayBudget::default()),
            leading_home(),
            ProxyLimits::default(),
        );
        let heard = say(gateway, post(path, &words())).await;
        assert!(heard.starts_with("HTTP/1.1 200") && heard.contains("Hello"), "{heard}");
        let [request] = &service.heard()[..] else { panic!("one request") };
        assert_eq!(request.line, line);
        assert_eq!(request.headers[name], value);
        assert_eq!(request.headers["host"], service.address.to_string());
        assert_eq!(request.headers["accept-encoding"], "identity");
        assert_eq!(request.headers["anthropic-version"], "2023-06-01");
        for gone in ["cookie", "api-key", "openai-organization", "proxy-authorization", "te", "connection"] {
            assert!(!request.headers.contains_key(gone), "{gone}");
        }
        assert!(!format!("{:?}", request.headers).contains("placeholder"));
        assert_eq!(serde_json::from_str::<Value>(&request.body).unwrap(), words());
        assert_eq!(guard.end().await.metered.unwrap().requests, 1);
    }
}

#[tokio::test]
async fn an_answer_passes_as_it_comes_and_is_counted_while_it_does() {
    let (send, answer) = streamed();
    let answer = std::sync::Mutex::new(Some(answer));
    let service = FakeUpstream::start(move |_| answer.lock().unwrap().take().unwrap()).await;
    let (gateway, guard) = opened(
        service.policy(Provider::Anthropic, GatewayBudget::default()),
        leading_home(),
        ProxyLimits::default(),
    );
    let mut job = TcpStream::connect(gateway).await.unwrap();
    job.write_all(post("/v1/messages", &words()).as_bytes()).await.unwrap();
    let start = json!({ "type": "message_start", "message": { "model": "m",
        "usage": { "input_tokens": 10, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 30,
            "output_tokens": 1 } } });
    send.send(format!("event: message_start\ndata: {start}\n\n")).unwrap();
    let mut heard = String::new();
    while !heard.contains("message_start\"") {
        let mut some = [0; 4_096];
        let count =
            timeout(LONG, job.read(&mut some)).await.expect("the first event is not held back").unwrap();
        heard.push_str(std::str::from_utf8(&some[..count]).unwrap());
    }
    let sofar = guard.metered().unwrap();
    assert_eq!(sofar.tokens, MeteredTokens { input: 10, output: 1, cache_read: 20, cache_write: 30 });
    send.send(
        "data: {\"type\":\"message_delta\",\"delta\":{},\"usage\":{\"output_tokens\":40}}\n\n".to_owned(),
    )
    .unwrap();
    drop(send);
    timeout(LONG, job.read_to_string(&mut heard)).await.unwrap().unwrap();
    let metered = guard.end().await.metered.unwrap();
    assert_eq!(metered.tokens, MeteredTokens { input: 10, output: 40, cache_read: 20, cache_write: 30 });
    assert_eq!((metered.requests, metered.failed, metered.estimated), (1, 0, 0));
    assert_eq!(metered.usd, Some(0.1));
}

#[tokio::test]
async fn a_job_has_a_few_operations_and_not_the_account() {
    for provider in [Provider::Anthropic, Provider::OpenAi] {
        let service = FakeUpstream::start(|_| json_answer(&json!({ "data": [] }))).await;
        let (gateway, guard) = opened(
            service.policy(provider, GatewayBudget::default()),
            leading_home(),
            ProxyLimits::default(),
        );
        for path in [
            "/v1/files", "/v1/messages/batches", "/v1/organizations/api_keys", "/v1/messages/../files",
            "/v1/messages/%2e%2e/files", "//evil.example/v1/messages", "/v1/messages/", "/",
            "/v1/responses/resp_1", "/v1/realtime", "/v1/fine_tuning/jobs", "/v1/messages;x",
            "/v1//messages", "/v1/messages%3F",
        ] {
            let heard = say(gateway, post(path, &words())).await;
            assert!(heard.starts_with("HTTP/1.1 404") && heard.contains("\"error\""), "{path}: {heard}");
        }
        let looks = "HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        assert!(say(gateway, looks).await.starts_with("HTTP/1.1 200"));
        assert_eq!(service.heard().len(), 0);
        let named = format!("http://127.0.0.1:{}/v1/models", gateway.port());
        let heard =
            say(gateway, format!("GET {named} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).await;
        assert!(heard.starts_with("HTTP/1.1 200"), "the door taken for a proxy to itself: {heard}");
        assert_eq!(service.heard().len(), 1);
        let record = guard.end().await;
        assert_eq!(record.refused.len(), 14);
        assert_eq!(record.metered.unwrap().requests, 0);
    }
}

#[tokio::test]
async fn what_would_be_a_way_out_through_the_service_is_no_way_out() {
    let service = FakeUpstream::start(|_| message(3, 4)).await;
    let (gateway, guard) = opened(
        service.policy(Provider::Anthropic, GatewayBudget::default()),
        leading_home(),
        ProxyLimits::default(),
    );
    let mut asked = words();
    asked["mcp_servers"] = json!([{ "type": "url", "url": "https://evil.example" }]);
    asked["tools"] = json!([{ "type": "web_fetch_20250910", "name": "web_fetch" }, { "name": "Bash" }]);
    assert!(say(gateway, post("/v1/messages", &asked)).await.starts_with("HTTP/1.1 200"));
    let body: Value = serde_json::from_str(&service.heard()[0].body).unwrap();
    assert_eq!((body.get("mcp_servers"), &body["tools"]), (None, &json!([{ "name": "Bash" }])));
    let mut asked = words();
    let source = json!({ "type": "url", "url": "https://evil.example/?secret" });
    asked["messages"][0]["content"] = json!([{ "type": "image", "source": source }]);
    let heard = say(gateway, post("/v1/messages", &asked)).await;
    assert!(heard.starts_with("HTTP/1.1 400") && heard.contains("other servers"), "{heard}");
    assert_eq!(service.heard().len(), 1);
    let record = guard.end().await;
    assert_eq!(record.refused.len(), 3, "{record:?}");
}

#[tokio::test]
async fn a_service_that_repeats_the_key_does_not_tell_it_to_the_job() {
    let (send, mut answer) = streamed();
    answer.headers_mut().insert("request-id", format!("for {KEY}").parse().unwrap());
    answer.headers_mut().insert("x-echo", KEY.parse().unwrap());
    let answer = std::sync::Mutex::new(Some(answer));
    let service = FakeUpstream::start(move |_| answer.lock().unwrap().take().unwrap()).await;
    let access = service.policy(Provider::Anthropic, GatewayBudget::default());
    assert!(!format!("{access:?}").contains(KEY));
    let (gateway, guard) = opened(access, leading_home(), ProxyLimits::default());
    let (begin, rest) = KEY.split_at(7);
    for piece in ["data: you sent ", begin, rest, "\n\ndata: ", KEY, "\n\ndata: ", begin] {
        send.send(piece.to_owned()).unwrap();
    }
    drop(send);
    let heard = say(gateway, post("/v1/messages", &words())).await;
    assert_eq!(heard.matches(&"*".repeat(KEY.len())).count(), 2, "{heard}");
    assert!(heard.ends_with(&format!("{begin}\r\n0\r\n\r\n")), "what only begins as the key passes: {heard}");
    assert!(!heard.contains(KEY) && !heard.contains(rest), "{heard}");
    assert!(!serde_json::to_string(&guard.end().await).unwrap().contains(KEY));
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_key() {
    let elsewhere = FakeUpstream::start(|_| message(1, 1)).await;
    let to = format!("http://{}/", elsewhere.address);
    let service = FakeUpstream::start(move |_| {
        Response::builder().status(307).header("location", &to).body(whole("")).unwrap()
    })
    .await;
    let (gateway, guard) = opened(
        service.policy(Provider::OpenAi, GatewayBudget::default()),
        leading_home(),
        ProxyLimits::default(),
    );
    let heard = say(gateway, post("/v1/responses", &words())).await;
    assert!(heard.starts_with("HTTP/1.1 502") && !heard.contains("location"), "{heard}");
    assert_eq!((service.heard().len(), elsewhere.heard().len()), (1, 0));
    drop(guard);
}

#[tokio::test]
async fn a_request_has_an_end_and_a_size() {
    let service = FakeUpstream::start(|_| message(1, 1)).await;
    let limits =
        ProxyLimits { request_bytes: 1_000, body: Duration::from_millis(300), ..ProxyLimits::default() };
    let (gateway, guard) =
        opened(service.policy(Provider::Anthropic, GatewayBudget::default()), leading_home(), limits);
    let mut large = words();
    large["system"] = json!("x".repeat(2_000));
    assert!(say(gateway, post("/v1/messages", &large)).await.starts_with("HTTP/1.1 413"));
    let head =
        "POST /v1/messages HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunked = format!("{head}7d0\r\n{}\r\n0\r\n\r\n", "x".repeat(2_000));
    assert!(say(gateway, chunked).await.starts_with("HTTP/1.1 413"));
    let never = "POST /v1/messages HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 100\r\n\r\n{";
    assert!(say(gateway, never).await.starts_with("HTTP/1.1 400"));
    let empty = "POST /v1/messages HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    assert!(say(gateway, empty).await.starts_with("HTTP/1.1 400"));
    assert_eq!(service.heard().len(), 0);
    assert_eq!(guard.end().await.metered.unwrap().requests, 0);
}

#[test]
fn an_address_or_key_that_could_betray_is_refused() {
    let made = |base: &str, key: &str| {
        let credential = Credential::Bearer(key.into());
        let price: super::super::PriceLookup = Arc::new(|_, _| None);
        ModelUpstream::new(
            base.parse().unwrap(),
            credential,
            Provider::OpenAi,
            GatewayBudget::default(),
            price,
        )
        .map(|_| ())
    };
    for base in
        ["https://api.example/v1", "http://127.0.0.1:8080", "http://[::1]:8080/", "http://localhost:1/v1"]
    {
        assert_eq!(made(base, KEY), Ok(()), "{base}");
    }
    for base in [
        "http://api.example",
        "http://10.0.0.1",
        "http://127.0.0.1.evil.example",
        "https://user:pw@api.example",
        "https://api.example/?a=b",
        "https://api.example/#a",
        "file:///etc/passwd",
        "ftp://api.example",
        "data:x",
    ] {
        assert_eq!(made(base, KEY), Err(InvalidUpstream::Address), "{base}");
    }
    assert_eq!(made("https://api.example", "a\nb"), Err(InvalidUpstream::Key));
}
