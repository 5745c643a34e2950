//! Daily limits: a repository's limit is reached in the middle of an order.

use journeyman::order::BudgetLimits;

use crate::world::{MAINTAINER, Story, World};

/// Wrong at first, right after feedback. With classify, branch and plan the first round costs $0.09.
const SECOND_TIME: &str = "
- stage: implement
  round: 1
  usd: 0.05
  run: |
    echo 43 > answer
    git commit -q -a -m 'Try an answer' && git push -q origin HEAD
- stage: implement
  usd: 0.05
  run: |
    echo 42 > answer
    git commit -q -a -m 'Give the right answer' && git push -q origin HEAD
";

const SPENT: &str = "for this repository are spent; the next run costs about $0.05; from ";

async fn waits_for_more(world: &World) {
    let ended = world.settled_as("escalated").await;
    assert!(
        ended.because().contains("$0.09 of today's $0.10 ") && ended.because().contains(SPENT),
        "{}",
        ended.because()
    );
    assert_eq!(ended.runs_of("implement"), 1, "the second round was not paid for");
    let status = world.status_comment();
    assert!(
        status.contains("the next run costs about \\$0.05") || status.contains("the next run costs"),
        "{status}"
    );
    assert!(status.contains("/retry"), "{status}");
    assert!(world.pull().draft);
    assert_eq!(world.handed_over("answer"), "43\n", "the best round there is");
    assert_eq!(world.labels(), ["journeyman", "journeyman:needs-human"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repositorys_limit_of_the_day_keeps_the_work_until_there_is_more() {
    let cents = |usd| BudgetLimits { usd: Some(usd), ..BudgetLimits::default() };
    let mut world = Story::of(SECOND_TIME)
        .settings(move |settings| settings.limits.per_day.repository = cents(0.10))
        .labeled()
        .await;
    waits_for_more(&world).await;
    let number = world.pull().issue.number;

    // `/retry` changes nothing until the next day.
    world.comment(MAINTAINER, "/retry").await;
    waits_for_more(&world).await;

    world.stop_bot().await;
    world.change_settings(move |settings| settings.limits.per_day.repository = cents(0.50));
    world.start_bot().await;
    world.comment(MAINTAINER, "/retry").await;
    let ended = world.settled_as("verified").await;
    assert_eq!(ended.runs_of("implement"), 2);
    assert_eq!((world.pull().issue.number, world.pull().draft), (number, false));
    assert_eq!(world.labels(), ["journeyman", "journeyman:done"]);

    let url = format!("/api/v1/work-orders/{}", ended.order);
    let (status, receipt) = world.api("GET", &format!("{url}/receipt"), None).await;
    assert_eq!((status, &receipt["verified"]), (200, &serde_json::json!(true)), "{receipt}");
    let (_, shown) = world.api("GET", &url, None).await;
    let spent = shown["budget"]["usd_spent"].as_f64().expect("dollars");
    let whole = receipt["usage"]["usd"].as_f64().expect("dollars");
    assert!(spent < whole && whole < 0.25, "since the last /retry, and in all: {shown} {receipt}");
    world.end().await;
}
