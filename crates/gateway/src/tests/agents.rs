//! What programs are told of the door.

use serde_json::json;

use super::super::GatewayBudget;
use super::super::environment::PLACEHOLDER;
use super::service::{FakeUpstream, KEY, message, streamed};
use super::*;
use journeyman_order::model_service::Provider;

#[tokio::test]
async fn a_job_is_told_of_its_door_and_not_of_the_key() {
    let service = FakeUpstream::start(|_| message(1, 1)).await;
    for (provider, base, key) in [
        (Provider::Anthropic, ("ANTHROPIC_BASE_URL", "http://127.0.0.1:3128"), "ANTHROPIC_API_KEY"),
        (Provider::OpenAi, ("OPENAI_BASE_URL", "http://127.0.0.1:3128/v1"), "OPENAI_API_KEY"),
    ] {
        let gateway = super::super::open(service.door(provider, GatewayBudget::default()));
        let told = gateway.environment(3128);
        for (name, value) in [base, (key, PLACEHOLDER), ("https_proxy", "http://127.0.0.1:3128")] {
            assert!(told.contains(&(name.to_owned(), value.to_owned())), "{name}");
        }
        assert!(told.iter().all(|(_, value)| !value.contains(KEY)));
        let mut once: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), told.len(), "a variable is said once");
    }
    let told = super::super::open(names(&[])).environment(1);
    assert!(told.iter().all(|(name, _)| !name.contains("API_KEY") && !name.contains("BASE_URL")));
}

/// The real program, where `GATEWAY_CLAUDE` says where it lies. What a budget's end looks like to it is what the
/// answer's status was chosen by.
#[tokio::test]
#[ignore = "needs Claude Code"]
async fn claude_code_works_at_the_door_and_ends_at_the_budgets_end() {
    let program = std::env::var("GATEWAY_CLAUDE").unwrap();
    let service = FakeUpstream::start(|heard| {
        let (send, answer) = streamed();
        let message = json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": { "input_tokens": 7, "output_tokens": 1 } });
        for event in [
            json!({ "type": "message_start", "message": message }),
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "Hello there" } }),
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn", "stop_sequence": null },
                "usage": { "output_tokens": 9 } }),
            json!({ "type": "message_stop" }),
        ] {
            send.send(format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).unwrap();
        }
        println!("{} {}", heard.line, heard.headers["x-api-key"] == KEY);
        answer
    })
    .await;
    for (requests, said, is_error) in [(100, "Hello there", false), (0, "0 of 0 requests are used", true)] {
        let budget = GatewayBudget { requests: Some(requests), ..GatewayBudget::default() };
        let gateway = super::super::open(service.door(Provider::Anthropic, budget));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let variables = gateway.environment(listener.local_addr().unwrap().port());
        let guard = gateway.serve(listener).unwrap();
        let home = tempfile::tempdir().unwrap();
        let mut claude = tokio::process::Command::new(&program);
        claude.args(["-p", "Say hello", "--output-format", "json"]).env_clear().envs(variables);
        claude.env("HOME", home.path()).env("PATH", "/usr/bin:/bin").current_dir(home.path());
        let begun = std::time::Instant::now();
        let ended = claude.stdin(std::process::Stdio::null()).output().await.unwrap();
        let record = guard.end().await;
        println!("{:?} {} {record:#?}", begun.elapsed(), String::from_utf8_lossy(&ended.stdout));
        let result: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
        assert!(result["result"].as_str().unwrap().contains(said), "{result}");
        assert_eq!(result["is_error"], is_error);
        assert!(begun.elapsed() < Duration::from_secs(30), "it tried for long");
        let refused = record.refused.iter().find(|refused| refused.what == "POST /v1/messages");
        assert_eq!(refused.map(|refused| refused.times), is_error.then_some(1), "it tried again");
        let metered = record.metered.unwrap();
        assert_eq!(metered.exhausted.is_some(), is_error);
        assert_eq!(metered.requests > 0, !is_error);
    }
}
