//! A spent budget.

use serde_json::{Value, json};

use super::super::GatewayBudget;
use super::service::{FakeUpstream, json_answer, message, post, streamed, words};
use super::*;
use journeyman_order::model_service::Provider;
use journeyman_order::network::MeteredTokens;

#[tokio::test]
async fn once_the_budget_is_spent_nothing_more_is_asked_and_the_job_hears_why() {
    for (budget, passed, why) in [
        (GatewayBudget { requests: Some(2), ..GatewayBudget::default() }, 2, "2 of 2 requests"),
        (GatewayBudget { tokens: Some(1_500), ..GatewayBudget::default() }, 2, "2000 of 1500 tokens"),
        (GatewayBudget { usd: Some(1.0), ..GatewayBudget::default() }, 1, "$1.00 of $1.00"),
        (GatewayBudget { usd: Some(f64::NAN), ..GatewayBudget::default() }, 0, "are spent"),
        (GatewayBudget { requests: Some(0), ..GatewayBudget::default() }, 0, "0 of 0"),
    ] {
        for provider in [Provider::Anthropic, Provider::OpenAi] {
            let service = FakeUpstream::start(move |_| match provider {
                Provider::Anthropic => message(900, 100),
                Provider::OpenAi => json_answer(
                    &json!({ "model": "m", "usage": { "input_tokens": 900, "output_tokens": 100 } }),
                ),
            })
            .await;
            let (gateway, guard) =
                opened(service.policy(provider, budget), leading_home(), ProxyLimits::default());
            let path = match provider {
                Provider::Anthropic => "/v1/messages",
                Provider::OpenAi => "/v1/responses",
            };
            for _ in 0..passed {
                assert!(say(gateway, post(path, &words())).await.starts_with("HTTP/1.1 200"));
                assert_eq!(guard.metered().unwrap().exhausted, None);
            }
            for _ in 0..2 {
                let heard = say(gateway, post(path, &words())).await;
                // Neither Claude Code nor Codex retries after a 400, and neither reports it as a wrong key.
                assert!(heard.starts_with("HTTP/1.1 400"), "{heard}");
                assert!(heard.contains("x-should-retry: false"), "{heard}");
                let (_, body) = heard.split_once("\r\n\r\n").unwrap();
                let body: Value = serde_json::from_str(body).unwrap();
                let message = body["error"]["message"].as_str().unwrap();
                assert!(message.contains("the budget") && message.contains(why), "{message}");
                assert!(body["error"]["type"].is_string());
            }
            assert!(timeout(LONG, guard.exhausted()).await.unwrap().contains(why));
            assert_eq!(service.heard().len(), passed);
            let record = guard.end().await;
            let metered = record.metered.unwrap();
            assert_eq!(metered.requests, passed as u64);
            assert!(metered.exhausted.unwrap().contains(why));
            assert_eq!(record.refused[0].times, 2);
        }
    }
}

#[tokio::test]
async fn counting_tokens_is_free_and_goes_on() {
    let service = FakeUpstream::start(|_| json_answer(&json!({ "input_tokens": 5 }))).await;
    let budget = GatewayBudget { requests: Some(0), ..GatewayBudget::default() };
    let (gateway, guard) =
        opened(service.policy(Provider::Anthropic, budget), leading_home(), ProxyLimits::default());
    assert!(say(gateway, post("/v1/messages/count_tokens", &words())).await.starts_with("HTTP/1.1 200"));
    assert_eq!(service.heard().len(), 1);
    let metered = guard.end().await.metered.unwrap();
    assert_eq!((metered.requests, metered.tokens, metered.exhausted), (0, MeteredTokens::default(), None));
}

#[tokio::test]
async fn hanging_up_before_the_count_is_told_is_no_way_not_to_pay() {
    let (send, answer) = streamed();
    let answer = std::sync::Mutex::new(Some(answer));
    let service =
        FakeUpstream::start(move |_| answer.lock().unwrap().take().unwrap_or_else(|| message(1, 1))).await;
    let budget = GatewayBudget { tokens: Some(200), ..GatewayBudget::default() };
    let (gateway, guard) =
        opened(service.policy(Provider::Anthropic, budget), leading_home(), ProxyLimits::default());
    let mut job = TcpStream::connect(gateway).await.unwrap();
    job.write_all(post("/v1/messages", &words()).as_bytes()).await.unwrap();
    let text = "x".repeat(1_000);
    send.send(format!("data: {{\"type\":\"content_block_delta\",\"delta\":{{\"text\":\"{text}\"}}}}\n\n"))
        .unwrap();
    let mut some = [0; 2_048];
    timeout(LONG, job.read(&mut some)).await.unwrap().unwrap();
    drop(job);
    // The gateway notices a closed connection only when more data arrives.
    let counted = async {
        while guard.metered().unwrap().failed == 0 {
            let _ = send.send(": ping\n\n".to_owned());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LONG, counted).await.unwrap();
    let metered = guard.metered().unwrap();
    assert_eq!((metered.failed, metered.estimated), (1, 1));
    assert!(metered.tokens.output >= 250 && metered.tokens.input > 0, "{metered:?}");
    assert!(say(gateway, post("/v1/messages", &words())).await.starts_with("HTTP/1.1 400"));
    assert_eq!(service.heard().len(), 1);
}

#[tokio::test]
async fn requests_at_once_count_before_they_are_answered() {
    let (_send, answer) = streamed();
    let answer = std::sync::Mutex::new(Some(answer));
    let service = FakeUpstream::start(move |_| answer.lock().unwrap().take().unwrap()).await;
    let budget = GatewayBudget { usd: Some(0.1), ..GatewayBudget::default() };
    let (gateway, _guard) =
        opened(service.policy(Provider::Anthropic, budget), leading_home(), ProxyLimits::default());
    let mut asked = words();
    asked["system"] = json!("word ".repeat(200));
    let mut first = TcpStream::connect(gateway).await.unwrap();
    first.write_all(post("/v1/messages", &asked).as_bytes()).await.unwrap();
    let reached = async {
        while service.heard().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, reached).await.unwrap();
    let heard = say(gateway, post("/v1/messages", &words())).await;
    assert!(heard.starts_with("HTTP/1.1 400") && heard.contains("of $0.10"), "{heard}");
}

#[tokio::test]
async fn dollars_cannot_be_held_for_a_model_without_a_price() {
    let mut asked = words();
    for (usd, model, is_asked) in [
        (Some(5.0), json!("unheard-of"), false),
        (Some(5.0), json!("m "), false),
        (Some(5.0), json!(null), false),
        (Some(5.0), json!("m"), true),
        (None, json!("unheard-of"), true),
    ] {
        asked["model"] = model.clone();
        let unknown = FakeUpstream::start(|_| message(1, 1)).await;
        let budget = GatewayBudget { usd, ..GatewayBudget::default() };
        let (gateway, guard) =
            opened(unknown.policy(Provider::Anthropic, budget), leading_home(), ProxyLimits::default());
        for _ in 0..2 {
            let heard = say(gateway, post("/v1/messages", &asked)).await;
            assert_eq!(heard.starts_with("HTTP/1.1 200"), is_asked, "{model}: {heard}");
            let says = heard.contains("costs is not known") && heard.contains("where prices are");
            assert_eq!(says, !is_asked, "{heard}");
        }
        assert_eq!(unknown.heard().len(), if is_asked { 2 } else { 0 }, "{model}");
        // One wrong name does not end the work: the next may have a price.
        asked["model"] = json!("m");
        assert!(say(gateway, post("/v1/messages", &asked)).await.starts_with("HTTP/1.1 200"));
        assert_eq!(guard.end().await.metered.unwrap().exhausted, None);
    }
}

#[tokio::test]
async fn a_model_that_answers_by_another_name_costs_what_the_one_that_was_asked_costs() {
    let answers = json!({ "model": "m-of-today", "usage": { "input_tokens": 900, "output_tokens": 100 } });
    let service = FakeUpstream::start(move |_| json_answer(&answers)).await;
    let budget = GatewayBudget { usd: Some(1.5), ..GatewayBudget::default() };
    let (gateway, guard) =
        opened(service.policy(Provider::Anthropic, budget), leading_home(), ProxyLimits::default());
    for _ in 0..2 {
        assert!(say(gateway, post("/v1/messages", &words())).await.starts_with("HTTP/1.1 200"));
    }
    assert!(say(gateway, post("/v1/messages", &words())).await.contains("$2.00 of $1.50 are spent"));
    assert_eq!(guard.end().await.metered.unwrap().usd, Some(2.0));
}
