//! Long lists of events: nothing is missed because there are many, or because something changes meanwhile.

use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::scripted::{RecordedRequest, ScriptedReply, ScriptedServer, not_found, ok};

fn start() -> DateTime<Utc> {
    "2026-05-01T12:00:00Z".parse().unwrap()
}

fn query<'q>(seen: &'q RecordedRequest, name: &str) -> Option<&'q str> {
    let pairs = seen.call.split(['?', '&']).filter_map(|pair| pair.split_once('='));
    pairs.filter(|(key, _)| *key == name).map(|(_, value)| value).next()
}

#[tokio::test]
async fn deliveries_are_listed_back_to_the_time_that_is_asked_for_however_many_there_are() {
    const PAGES: usize = 60;
    let server = ScriptedServer::start(|seen| {
        let page: usize = query(seen, "cursor").map_or(0, |cursor| cursor.parse().unwrap());
        let one = json!({"id": page, "guid": format!("guid-{page}"), "event": "issues", "action": "labeled",
            "delivered_at": start() - TimeDelta::seconds(page.try_into().unwrap())});
        let link = format!("<https://x/app/hook/deliveries?cursor={}>; rel=\"next\"", page + 1).leak();
        ScriptedReply::With(200, Box::leak(Box::new([("link", &*link)])), json!([one]))
    })
    .await;
    let since = start() - TimeDelta::seconds(PAGES.try_into().unwrap());
    let listed = server.github.hook_deliveries(since).await.unwrap();
    assert_eq!((listed.len(), listed.last().map(|one| one.id)), (PAGES + 1, Some(PAGES as u64)));
}

/// Issues by time of change; some share a second, as when someone labels many at once.
fn changed() -> Vec<(u64, DateTime<Utc>)> {
    let second = |number: u64| if (150..400).contains(&number) { 150 } else { number };
    (1..=1_250)
        .map(|number| (number, start() + TimeDelta::seconds(second(number).try_into().unwrap())))
        .collect()
}

fn page_of(mut changed: Vec<(u64, DateTime<Utc>)>, seen: &RecordedRequest) -> Value {
    let since: DateTime<Utc> = query(seen, "since").unwrap().parse().unwrap();
    let page: usize = query(seen, "page").unwrap().parse().unwrap();
    changed.sort_by_key(|(_, at)| *at);
    let newer = changed.into_iter().filter(|(_, at)| *at >= since).skip((page - 1) * 100).take(100);
    newer
        .map(|(number, at)| json!({"id": number, "number": number, "state": "open", "updated_at": at}))
        .collect()
}

#[tokio::test]
async fn what_changes_while_it_is_listed_pushes_nothing_out_of_the_list() {
    let pages = AtomicUsize::new(0);
    let server = ScriptedServer::start(move |seen| {
        if !seen.call.contains("/issues?") {
            return not_found();
        }
        // With each page someone changes an issue on it.
        let so_far = pages.fetch_add(1, Ordering::Relaxed) as u64;
        let mut changed = changed();
        for touched in (0..so_far).map(|page| page * 7) {
            changed[usize::try_from(touched).unwrap()].1 = start() + TimeDelta::hours(1);
        }
        ok(page_of(changed, seen))
    })
    .await;
    let listed = server.github.changed_threads(&server.at, start()).await.unwrap();
    let mut numbers: Vec<u64> = listed.iter().map(|thread| thread.number.0).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=1_250).collect::<Vec<u64>>());
}
