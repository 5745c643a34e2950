//! Long lists of what happened: nothing is passed over because there is much of it, or because something happens meanwhile.

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

/// Issues by when they were changed; some of them in one second, as when somebody labels many at once.
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
        // With each page somebody changes an issue that is on it.
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

/// As when somebody moves a whole project, or labels by a script: more than a page in one second, and first of all.
#[tokio::test]
async fn more_than_a_page_in_one_second_keeps_nobody_from_looking() {
    let in_one_second = || (1..=250).map(|number| (number, start() + TimeDelta::seconds(5))).collect();
    let server = ScriptedServer::start(move |seen| match seen.call.contains("/issues?") {
        true => ok(page_of(in_one_second(), seen)),
        false => not_found(),
    })
    .await;
    let listed = server.github.changed_threads(&server.at, start()).await.unwrap();
    assert_eq!(listed.len(), 250);
}

#[tokio::test]
async fn a_page_that_is_not_full_is_the_last_only_where_github_says_so() {
    let linked = |seen: &RecordedRequest, body: Value| match query(seen, "page") {
        Some("1") => ScriptedReply::With(200, &[("link", "<https://x?page=2>; rel=\"next\"")], body),
        _ => ScriptedReply::With(200, &[("link", "<https://x?page=1>; rel=\"prev\"")], body),
    };
    let server = ScriptedServer::start(move |seen| {
        let page: u64 = query(seen, "page").map_or(0, |page| page.parse().unwrap());
        let path = seen.call.split('?').next().unwrap_or_default();
        let list = match path {
            "GET /app/installations" => json!([{"id": page}]),
            "GET /installation/repositories" => {
                json!({"repositories": [{"id": page, "full_name": format!("octo/r{page}")}]})
            }
            _ if path.ends_with("/check-runs") => {
                let run = json!({"id": page, "name": format!("run {page}"), "status": "queued", "conclusion": null});
                json!({"check_runs": [run]})
            }
            _ if path.ends_with("/status") => {
                json!({"statuses": [{"context": format!("status {page}"), "state": "pending"}]})
            }
            _ => return not_found(),
        };
        linked(seen, list)
    })
    .await;
    let (github, at) = (&server.github, &server.at);
    let installations = github.installations().await.unwrap();
    assert_eq!(installations.iter().map(|one| one.id.0).collect::<Vec<_>>(), [1, 2]);
    let repositories = github.installed_repositories(at.installation).await.unwrap();
    assert_eq!(repositories.iter().map(|one| one.id.0).collect::<Vec<_>>(), [1, 2]);
    let checks = github.checks_of_others(at, "main").await.unwrap();
    let names: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(names, ["run 1", "run 2", "status 1", "status 2"]);
}

/// As of a proxy that always answers with what it has kept, or of an issue that somebody's program changes all the time.
#[tokio::test]
async fn a_list_whose_pages_never_end_is_given_up() {
    let seen_so_far = AtomicUsize::new(0);
    let server = ScriptedServer::start(move |seen| {
        let so_far = TimeDelta::seconds(seen_so_far.fetch_add(1, Ordering::Relaxed).try_into().unwrap());
        let link = &[("link", "<https://x/y?cursor=v1_7>; rel=\"next\"")];
        match seen.call.contains("/issues?") {
            true => {
                let changed = json!({"id": 1, "number": 1, "state": "open", "updated_at": start() + so_far});
                ScriptedReply::With(200, link, json!([changed]))
            }
            false => ScriptedReply::With(200, link, json!([])),
        }
    })
    .await;
    let threads = server.github.changed_threads(&server.at, start()).await;
    assert!(threads.unwrap_err().message.contains("again and again"));
    let deliveries = server.github.hook_deliveries(start()).await;
    assert!(deliveries.unwrap_err().message.contains("has no end"));
    assert!(server.requests().len() < 200, "{}", server.requests().len());
}
