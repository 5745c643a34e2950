//! What operators see of orders: traces at an OpenTelemetry collector, and counters for alerts.

use std::collections::{BTreeMap, BTreeSet};

use journeyman::order::TelemetrySettings;
use journeyman_test_support::message_receiver::MessageReceiver;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

use crate::world::{Story, WELL, World};

const TOKEN: &str = "Bearer s3cret-of-the-collector";

/// The received spans by id. None may arrive twice.
async fn received(receiver: &MessageReceiver, until: impl Fn(&BTreeMap<Vec<u8>, Span>) -> bool) -> Vec<Span> {
    for _ in 0..1_500 {
        let mut spans: BTreeMap<Vec<u8>, Span> = BTreeMap::new();
        // The receiver rejects the first message with 503, so its spans are sent again.
        for message in receiver.came().iter().skip(1) {
            assert_eq!(message.header("content-type"), Some("application/x-protobuf"));
            assert_eq!(message.header("authorization"), Some(TOKEN));
            let request = ExportTraceServiceRequest::decode(message.body.as_slice()).expect("protobuf");
            for span in
                request.resource_spans.into_iter().flat_map(|one| one.scope_spans).flat_map(|one| one.spans)
            {
                let before = spans.insert(span.span_id.clone(), span.clone());
                assert!(before.is_none(), "sent once: {span:?}");
            }
        }
        if until(&spans) {
            return spans.into_values().collect();
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("not everything came: {:?}", receiver.came())
}

fn attributes(span: &Span) -> BTreeMap<&str, String> {
    let shown = |value: &Value| {
        if let Value::StringValue(text) = value {
            text.clone()
        } else if let Value::IntValue(number) = value {
            number.to_string()
        } else if let Value::DoubleValue(number) = value {
            format!("{number:.2}")
        } else {
            panic!("{value:?}")
        }
    };
    let value =
        |one: &KeyValue| shown(one.value.as_ref().expect("a value").value.as_ref().expect("it is one"));
    span.attributes.iter().map(|one| (one.key.as_str(), value(one))).collect()
}

async fn traced(url: &str) -> World {
    let settings = TelemetrySettings {
        endpoint: url.parse().expect("an address"),
        headers: vec![("authorization".to_owned(), TOKEN.into())],
    };
    Story::of(WELL).settings(|all| all.telemetry = Some(settings)).labeled().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_is_one_trace_of_stages_rounds_and_moves_and_comes_once_through_a_collector_that_was_away() {
    let receiver = MessageReceiver::start().await;
    let mut world = traced(&receiver.url).await;
    let ended = world.settled_as("verified").await;
    // A stopping server sends the spans it still has, and the next one does not repeat them.
    world.stop_bot().await;
    world.start_bot().await;
    let is_root = |span: &Span| span.parent_span_id.is_empty();
    let spans = received(&receiver, |spans| spans.values().any(is_root)).await;

    assert!(spans.iter().all(|span| span.trace_id == ended.order.0.as_bytes()), "one trace");
    let roots: Vec<_> = spans.iter().filter(|span| is_root(span)).collect();
    let [root] = roots[..] else { panic!("{roots:?}") };
    let said = attributes(root);
    assert_eq!((root.name.as_str(), said["journeyman.end"].as_str()), ("order", "verified"));
    assert_eq!(
        (said["journeyman.repository"].as_str(), said["journeyman.issue"].as_str()),
        ("acme/answers", "1")
    );
    let ids: BTreeSet<_> = spans.iter().map(|span| &span.span_id).collect();
    let has_parent = |span: &&Span| is_root(span) || ids.contains(&span.parent_span_id);
    assert_eq!(spans.iter().filter(has_parent).count(), spans.len(), "{spans:#?}");
    let named = |name: &str| spans.iter().filter(|span| span.name == name).collect::<Vec<_>>();
    let parent = |span: &Span| spans.iter().find(|other| other.span_id == span.parent_span_id);

    // The agent's run, in its round, its stage and its order, each within its parent's time.
    let is_work =
        |span: &&Span| attributes(span).get("journeyman.move").is_some_and(|key| key == "implement/1/agent");
    let run = spans.iter().find(is_work).expect("the developer's run");
    let said = attributes(run);
    assert_eq!(said["gen_ai.operation.name"], "invoke_agent");
    assert_eq!(run.name, format!("invoke_agent {}", said["gen_ai.agent.name"]));
    assert_eq!((said["journeyman.agent"].as_str(), said["journeyman.usd"].as_str()), ("scripted", "0.05"));
    assert!(
        said.contains_key("gen_ai.usage.input_tokens") && said.contains_key("gen_ai.usage.output_tokens")
    );
    let round = parent(run).expect("its round");
    let stage = parent(round).expect("its stage");
    assert_eq!((round.name.as_str(), stage.name.as_str()), ("round 1", "stage implement"));
    assert_eq!(parent(stage).map(|span| span.name.as_str()), Some("order"));
    for (within, around) in [(run, round), (round, stage), (stage, root)] {
        assert!(around.start_time_unix_nano <= within.start_time_unix_nano, "{within:?} {around:?}");
        assert!(within.end_time_unix_nano <= around.end_time_unix_nano, "{within:?} {around:?}");
        assert!(within.start_time_unix_nano < within.end_time_unix_nano, "{within:?}");
    }
    let tests = named("run_tests");
    assert_eq!(attributes(tests[0])["journeyman.tests.verdict"], "passed");
    assert_eq!(parent(tests[0]).map(|span| &span.span_id), Some(&round.span_id));
    assert_eq!((named("push").len(), named("open_pull").len()), (1, 1));

    // Only names and numbers, no text of people or agents.
    let all = format!("{spans:?}");
    for words in
        ["The answer is wrong", "it should say 42", "The answer is right now", "right-answer", "s3cret"]
    {
        assert!(!all.contains(words), "{words}");
    }
    world.end().await;
}
