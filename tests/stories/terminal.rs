//! Queries and commands for a running server from a terminal.

use std::process::Output;
use std::time::Duration;

use serde_json::json;

use crate::world::{API_TOKEN, MAINTAINER, REPOSITORY, STUBBORN, Story, WELL, World, slowly};

/// `journeyman` with these arguments and the server's address.
fn journeyman(world: &World, arguments: &[&str]) -> Output {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_journeyman"));
    command.args(arguments).env("JOURNEYMAN_URL", world.address()).env("JOURNEYMAN_API_TOKEN", API_TOKEN);
    command.env_remove("RUST_LOG").output().expect("it runs")
}

/// The output of a successful command.
fn printed(world: &World, arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = tokio::task::block_in_place(|| journeyman(world, arguments));
    assert!(status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).expect("UTF-8")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_at_work_is_listed_with_what_it_waits_for_and_can_be_followed_to_its_end() {
    let world = Story::of(&slowly(3_000)).labeled().await;
    world.until_begun("implement/1/agent").await;
    let name = format!("{REPOSITORY}#{}", world.issue);

    let list = printed(&world, &["orders"]);
    assert!(list.starts_with(&format!("{name}  implement  ")), "{list}");
    assert!(list.contains("implement/1/agent, for "), "{list}");
    let (status, metrics) = world.api("GET", "/metrics", None).await;
    let metrics = metrics.as_str().expect("text");
    assert_eq!(status, 200, "{metrics}");
    for line in [
        "journeyman_orders{state=\"at work\",active=\"true\"} 1",
        "journeyman_order_waits{kind=\"effect\",effect=\"agent\"} 1",
        "journeyman_ready 1",
        "# EOF",
    ] {
        assert!(metrics.lines().any(|own| own == line), "{line}: {metrics}");
    }

    let followed =
        tokio::time::timeout(Duration::from_secs(60), async { printed(&world, &["logs", "-f", &name]) });
    let followed = followed.await.expect("it ends with the order");
    let ended = world.settled_as("verified").await;
    assert!(followed.contains("asked GitHub: the sender may write here"), "{followed}");
    assert!(followed.lines().last().is_some_and(|line| line.contains("pull request")), "{followed}");

    let (_, metrics) = world.api("GET", "/metrics", None).await;
    let metrics = metrics.as_str().expect("text");
    for line in [
        "journeyman_orders_ended_total{end=\"verified\"} ",
        "journeyman_round_seconds_count{stage=\"implement\",passed=\"true\"} ",
        "journeyman_stage_seconds_count{stage=\"implement\",end=\"passed\"} ",
        "journeyman_agent_runs_total{agent=\"scripted\",model=\"\",end=\"done\"} ",
        "journeyman_agent_usd_total{agent=\"scripted\",model=\"\"} 0.",
        "journeyman_effect_seconds_count{effect=\"tests\",done=\"true\"} ",
        "journeyman_github_requests_total{answer=\"2xx\"} ",
        "journeyman_deliveries_concluded_total{conclusion=\"opened\"} ",
        "journeyman_sandbox_starts_total{started=\"true\"} ",
        "journeyman_store_write_seconds_count{what=\"an entry\"} ",
    ] {
        assert!(metrics.lines().any(|own| own.starts_with(line)), "{line}: {metrics}");
    }

    let shown = printed(&world, &["show", &name]);
    assert!(shown.starts_with(&format!("{name}: verified\n  order        {}\n", ended.order)), "{shown}");
    for words in ["✔ implement, round 1, scripted, ", "spent        $0.", "pull request #2"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let nothing =
        "nothing is at work; `--all` lists what has ended, `--needs-person` what a person has to look at\n";
    assert_eq!(printed(&world, &["orders"]), nothing);
    assert_eq!(printed(&world, &["orders", "--needs-person"]), "nothing waits for a person\n");
    assert!(printed(&world, &["orders", "--all"]).starts_with(&format!("{name}  verified  ")));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_is_stopped_and_tried_again_from_a_terminal() {
    let world = Story::of(&slowly(3_000)).labeled().await;
    world.until_begun("implement/1/agent").await;
    let name = format!("{REPOSITORY}#{}", world.issue);
    let said = printed(&world, &["cancel", &name]);
    assert_eq!(said, format!("{name}: told to cancel\n"));
    let first = world.settled_as("cancelled").await;
    let list = printed(&world, &["orders", "--all"]);
    assert!(list.starts_with(&format!("{name}  stopped  ")), "{list}");
    assert!(list.contains("said /cancel; next: /retry"), "{list}");
    let shown = printed(&world, &["show", &name]);
    assert!(shown.starts_with(&format!("{name}: stopped\n")), "{shown}");
    for words in
        ["■ implement, round 1, scripted: stopped", "because      ", "next         /retry, as a comment"]
    {
        assert!(shown.contains(words), "{words}: {shown}");
    }

    world.rescript(WELL);
    printed(&world, &["retry", &first.order.to_string(), "--advice", "Write digits."]);
    let ended = world.settled().await;
    assert_eq!((ended.order, ended.word()), (first.order, "verified"), "{}", ended.because());
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn why_an_order_stopped_and_what_a_person_can_say_is_told_where_it_is_listed() {
    let world = Story::of(STUBBORN).labeled().await;
    let ended = world.settled_as("blocked").await;
    let name = format!("{REPOSITORY}#{}", world.issue);
    let because = ended.because();

    let list = printed(&world, &["orders", "--needs-person"]);
    assert!(list.starts_with(&format!("{name}  blocked  ")) && list.contains("; next: /retry"), "{list}");
    assert!(list.contains(because.get(..30).expect("a sentence")), "{list}");
    let shown = printed(&world, &["show", &name]);
    for words in [&format!("because      {because}"), "next         /retry, as a comment or"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    for (query, many) in [("needs_person=true", 1), ("needs_person=false", 0), ("active=true", 0)] {
        let (status, list) = world.api("GET", &format!("/api/v1/work-orders?{query}"), None).await;
        let orders = list["work_orders"].as_array().expect("orders");
        assert_eq!((status, orders.len()), (200, many), "{query}: {list}");
        for order in orders {
            assert_eq!((&order["because"], &order["needs_person"]), (&json!(because), &json!(true)));
            assert_eq!(order["next_commands"], json!(["/retry"]));
        }
    }
    world.comment(MAINTAINER, "/retry push it").await;
    let ended = world.settled_as("verified").await;
    let path = format!("/api/v1/work-orders/{}", ended.order);
    let (_, order) = world.api("GET", &path, None).await;
    assert_eq!(order["pull_request_url"], json!(ended.projection.trace.pull.expect("one").url), "{order}");
    assert!(order["because"].is_null() && order["needs_person"] == false, "{order}");
    world.end().await;
}
