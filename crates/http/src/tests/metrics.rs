//! The exported metrics match the documentation, the dashboard and the alert rules.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use super::*;
use journeyman_metrics::{CountedAgentRun, metrics};
use journeyman_order::projection;

fn file(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every word in a text that is a name of our metrics.
fn named(text: &str) -> BTreeSet<String> {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let words = text.split(|letter| !is_of_name(letter));
    words.filter(|word| word.starts_with("journeyman_")).map(str::to_owned).collect()
}

/// Counts each thing once, and has an order at work.
async fn with_all_of_them(house: &HttpFixture) {
    let counted = metrics();
    counted.order_ended("verified");
    counted.statements_ended("claude", "", &BTreeMap::from([("holds".to_owned(), 1)]));
    counted.stage_ended("implement", "passed", 1.0);
    counted.round_ended("implement", true, 1.0);
    counted.effect_ended("agent", true, Duration::from_secs(1));
    counted.agent_ran(&CountedAgentRun {
        agent: "claude",
        model: "",
        end: "done",
        seconds: 1.0,
        input_tokens: 1,
        output_tokens: 1,
        usd: 0.1,
    });
    counted.github_answered(200);
    counted.github_rate("core", 5_000, 4_999);
    counted.github_paused(Duration::from_secs(1));
    counted.github_write_waited(true, Duration::ZERO);
    counted.delivery_received("new");
    counted.delivery_concluded("opened");
    counted.sandbox_started(true);
    counted.store_failed("an entry");
    counted.notified(true);
    let order = opened("acme/app".parse().unwrap(), IssueNumber(1));
    let id = order.order;
    house.store.open_order(order, chrono::Utc::now(), None).await.unwrap();
    let journal = house.store.journal(id).await.unwrap();
    let projection = projection(journal.pipeline(), &journal, chrono::Utc::now());
    let (key, first) = projection.next.moves.first().expect("something to do").clone();
    let event = JournalEvent::Intended { key, r#move: Box::new(first) };
    house.store.append(id, event, chrono::Utc::now()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_exported_is_documented_and_what_is_asked_for_is_exported() {
    let house = http_fixture().await;
    with_all_of_them(&house).await;
    let shown = house.client.get(house.url("/metrics")).bearer_auth(TOKEN).send().await.unwrap();
    assert_eq!(shown.status(), StatusCode::OK);
    let shown = shown.text().await.unwrap();
    let mut series = BTreeSet::new();
    let mut exported = BTreeSet::new();
    for line in shown.lines() {
        let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) else {
            continue;
        };
        let endings: &[&str] = match kind {
            "counter" => &["_total"],
            "histogram" => &["_bucket", "_count", "_sum"],
            "gauge" => &[""],
            other => panic!("{name}: {other}"),
        };
        series.extend(endings.iter().map(|ending| format!("{name}{ending}")));
        exported.insert(if kind == "counter" { format!("{name}_total") } else { name.to_owned() });
    }

    let page = file("docs/OPERATIONS.md");
    let rows = page.lines().filter(|line| line.starts_with("| `journeyman_"));
    let documented: BTreeSet<String> =
        rows.flat_map(|row| named(row.split('|').nth(1).unwrap_or_default())).collect();
    assert_eq!(exported, documented, "the table of docs/OPERATIONS.md has each, and no other");

    for path in ["deploy/alerts.yml", "deploy/grafana/journeyman.json"] {
        let asked = named(&file(path));
        assert!(!asked.is_empty(), "{path}");
        let unknown: Vec<_> = asked.difference(&series).collect();
        assert!(unknown.is_empty(), "{path} asks for what is not exported: {unknown:?}");
    }
    let dashboard: Value = serde_json::from_str(&file("deploy/grafana/journeyman.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64()).collect();
    assert_eq!(ids.len(), panels.len(), "each panel has a number of its own");
}
