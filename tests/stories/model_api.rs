//! Agents on a model's HTTP API: no program, no sandbox, but the same journal, cost and artifacts.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

use journeyman::config::{ApiSettings, Price, Prices, Provider, RuntimeKind, Settings};
use journeyman::order::agent_run::AgentFailureKind;

use crate::model_server::{ModelServer, Reply, Request};
use crate::world::Story;

/// A model without tools. It can classify and name things, but cannot write a plan into a file.
fn answers(request: &Request) -> Reply {
    let prompt = request.prompt();
    if prompt.contains("Classify issue #") {
        Reply::text("/feature")
    } else if prompt.contains("Name the branch") {
        Reply::text("right-answer")
    } else {
        Reply::text("I have no hands.")
    }
}

/// All agents use this service; a million tokens cost $1000 to read and $2000 to write.
fn on(address: &str) -> impl FnOnce(&mut Settings) + Send + use<> {
    let price = Price { input: 1000.0, output: 2000.0, cache_read: 0.0, cache_write: 0.0 };
    let prices = BTreeMap::from([("loopback".to_owned(), price)]);
    let api = ApiSettings {
        provider: Provider::OpenAi,
        base_url: address.parse().expect("an address"),
        model: "loopback".to_owned(),
        key_env: None,
        max_output_tokens: 1000,
        prices: Prices::new(prices.clone()),
    };
    move |settings| {
        for agent in settings.agents.values_mut() {
            agent.runtime = RuntimeKind::Api(Box::new(api.clone()));
            agent.resumes = false;
        }
        settings.prices = prices;
        settings.limits.order.usd = 1000.0;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_answers_waits_are_kept_and_tokens_are_counted() {
    let asked = AtomicU32::new(0);
    let model = ModelServer::start(move |request| match asked.fetch_add(1, Ordering::Relaxed) {
        0 => Reply::Wait { seconds: 2 },
        _ => answers(request),
    });
    let address = format!("{}/v1", model.url());
    let story = Story::of("").settings(on(&address));
    let world = story.labeled().await;
    let ended = world.settled().await;
    assert_eq!(ended.word(), "failed", "it has no hands");
    assert_eq!(
        (ended.said("classify/1/agent"), ended.said("branch/1/agent").as_str()),
        ("/feature".into(), "right-answer")
    );
    assert_eq!((ended.runs_of("classify"), ended.runs_of("branch")), (2, 1), "the same round again");

    let runs = ended.observed("classify/1/agent");
    let failure = runs[0].1.failure.as_ref().expect("the first was refused");
    assert_eq!((failure.kind, failure.retry_after_seconds), (AgentFailureKind::Unavailable, Some(2)));
    assert!(
        (runs[1].0 - runs[0].0).num_milliseconds() >= 2000,
        "asked again when it was told, and not before"
    );
    let usage = runs[1].1.usage;
    assert!(usage.input_tokens > 50 && usage.output_tokens == 3, "{usage:?}");
    let usd = (usage.input_tokens * 1000 + usage.output_tokens * 2000) as f64 / 1e6;
    assert!((usage.usd - usd).abs() < 1e-9 && runs[1].1.warnings.is_empty(), "{:?}", runs[1].1);

    // Request and response are stored for inspection.
    assert_eq!(runs[1].1.artifacts, ["classify-1-agent.jsonl", "classify-1-agent.request.json"]);
    let route = |name: &str| format!("/api/v1/work-orders/{}/artifacts/{name}", ended.order);
    let (status, request) = world.api("GET", &route("classify-1-agent.request.json"), None).await;
    assert_eq!((status, &request["model"], &request["max_tokens"]), (200, &"loopback".into(), &1000.into()));
    let (status, stream) = world.api("GET", &route("classify-1-agent.jsonl"), None).await;
    let stream = stream.as_str().expect("several lines");
    assert!(status == 200 && stream.contains("\"status\":200") && stream.contains("/feature"), "{stream}");
    assert!(model.requests().iter().all(|request| !request.has_key), "a server of one's own gets none");
    world.end().await;
}
