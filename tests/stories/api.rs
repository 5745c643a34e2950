//! The REST API, as scripts use it.

use serde_json::json;

use crate::world::{REPOSITORY, STUBBORN, Story, WELL};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_work_order_is_made_and_read_over_the_api() {
    let world = Story::of(WELL).begin().await;
    let asked = json!({"repository": REPOSITORY, "issue": world.issue});
    let (status, made) = world.api("POST", "/api/v1/work-orders", Some(asked.clone())).await;
    assert_eq!(status, 202, "{made}");
    let id = made["id"].as_str().expect("an id").to_owned();
    let (again, same) = world.api("POST", "/api/v1/work-orders", Some(asked)).await;
    assert_eq!(again, 200, "{same}");
    assert!(same.to_string().contains(&id), "the active order is named: {same}");
    let ended = world.settled_as("verified").await;
    assert_eq!(ended.order.to_string(), id);

    let (status, list) = world.api("GET", "/api/v1/work-orders", None).await;
    assert_eq!(status, 200);
    assert!(list.to_string().contains(&id), "{list}");
    let (status, one) = world.api("GET", &format!("/api/v1/work-orders/{id}"), None).await;
    assert_eq!(status, 200);
    assert!(one.to_string().contains("verified") && one.to_string().contains(&world.pull().head), "{one}");

    let (status, steps) = world.api("GET", &format!("/api/v1/work-orders/{id}/steps"), None).await;
    assert_eq!(status, 200);
    let steps = steps.as_array().or_else(|| steps["steps"].as_array()).expect("a list").clone();
    let implement = steps.iter().find(|step| step["stage"] == "implement").expect("the work");
    assert_eq!(implement["success"], true, "{implement}");
    assert_eq!(implement["result"], "The answer is right now.");
    assert_eq!(implement["agent"], "scripted");
    assert_eq!(implement["round"], 1);
    assert_eq!(implement["usage"]["usd"], 0.05);
    assert!(implement["session_id"].is_string() && implement["started_at"].is_string(), "{implement}");
    assert!(implement["checks"].as_array().is_some_and(|checks| checks.len() == 3), "{implement}");

    let (status, journal) = world.api("GET", &format!("/api/v1/work-orders/{id}/journal"), None).await;
    assert_eq!(status, 200);
    let entries = journal.as_array().or_else(|| journal["entries"].as_array()).expect("a list").clone();
    assert_eq!(entries.len(), ended.journal.entries().len());
    assert_eq!(entries[0]["event"], "opened");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_that_has_ended_is_tried_again_over_the_api_and_wakes_at_once() {
    let world = Story::of(STUBBORN).labeled().await;
    let ended = world.settled_as("blocked").await;
    let url = format!("/api/v1/work-orders/{}", ended.order);
    let advice = json!({"guidance": "The answer is in the question."});
    let (status, told) = world.api("POST", &format!("{url}/retry"), Some(advice)).await;
    assert_eq!((status, &told["signal"]["answer"]), (202, &json!("taken")), "{told}");
    world.until_begun("implement/3/agent").await;
    let again = world.settled().await;
    assert_eq!((again.word(), again.order), ("verified", ended.order), "{}", again.because());
    assert!(again.said("implement/3/agent").contains("The answer is in the question."));
    // It is done: nothing of this changes anything, and that is said.
    for (word, because) in [
        (
            "retry",
            "the pull request has no known problem: write what to change after the command, or review it",
        ),
        ("approve", "nothing is waiting for approval"),
        ("cancel", "it has already ended"),
    ] {
        let (status, told) = world.api("POST", &format!("{url}/{word}"), None).await;
        assert_eq!(status, 202, "{told}");
        assert_eq!(told["signal"]["answer"], "ignored", "{word}: {told}");
        assert_eq!(told["signal"]["because"], because, "{told}");
    }
    world.end().await;
}
