//! Other people's pull requests, verified as the label, a command or the repository's settings ask.

use std::collections::BTreeMap;

use journeyman::order::{EffectOutcome, JournalEvent, OrderId, Requester};
use serde_json::{Value, json};

use crate::world::judges::finds;
use crate::world::look::BOT;
use crate::world::{Ended, MAINTAINER, OUTSIDER, REPOSITORY, Story, World};

const APP: &str = "renovate[bot]";

fn files(list: &[(&str, &str)]) -> BTreeMap<String, Option<Vec<u8>>> {
    list.iter().map(|(name, text)| ((*name).to_owned(), Some(text.as_bytes().to_vec()))).collect()
}

/// A repository with this setting, and a reviewer without objections.
async fn begun(verify: &str) -> World {
    let scenes = finds("verify", "code_reviewer", None, &[]);
    let settings = format!("test: sh test.sh\nverify: {verify}\n");
    Story::of(&scenes).file(".github/journeyman.yml", &settings).begin().await
}

/// Somebody's pull request with the right answer.
fn proposed(world: &World, by: &str) -> u64 {
    let right = files(&[("answer", "42\n")]);
    world.github.open_pull_from_fork(REPOSITORY, by, "Give the right answer", &right).expect("it opens")
}

fn change_of(ended: &Ended) -> (u64, String, Option<String>) {
    let change = ended.journal.opened().change.clone().expect("a pull request");
    (change.pull.0, change.head.to_string(), change.fork)
}

/// Our comments on a pull request.
fn own_comments(world: &World, pull: u64) -> Vec<String> {
    let thread = world.github.issue(REPOSITORY, pull).expect("the pull request is there");
    thread.comments.into_iter().filter(|comment| comment.author == BOT).map(|comment| comment.body).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_all_are_verified_an_outsiders_pull_request_is_and_each_push_to_it() {
    let world = begun("all").await;
    let pull = proposed(&world, OUTSIDER);
    let ended = world.settled_as("verified").await;
    assert_eq!(ended.journal.opened().by, Requester::Repository);
    let (number, first, fork) = change_of(&ended);
    assert_eq!((number, fork.as_deref()), (pull, Some("oscar/answers")));
    assert!(ended.moves().iter().all(|name| !name.starts_with("authorize")), "{:?}", ended.moves());

    let wrong = files(&[("answer", "43\n")]);
    world.github.push_to_fork(REPOSITORY, OUTSIDER, pull, &wrong).expect("it is pushed");
    let ended = world.settled().await;
    let second = world.pull().head_sha;
    assert_eq!(change_of(&ended), (pull, second.clone(), fork));
    assert_ne!(first, second);
    assert_ne!(ended.word(), "verified");
    assert_eq!(world.orders().await.len(), 2);
    assert_eq!(own_comments(&world, pull).len(), 1, "all verifications share a comment");
    world.end().await;
}

/// Nobody writes a test for an update of dependencies. It has to break nothing, and says what it brings.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bots_update_of_dependencies_is_verified_without_a_test_and_lists_the_packages() {
    let lock = |packages: &[(&str, &str)]| {
        let one =
            |(name, version): &(&str, &str)| (format!("node_modules/{name}"), json!({"version": version}));
        let packages: serde_json::Map<String, Value> = packages.iter().map(one).collect();
        json!({"lockfileVersion": 3, "packages": packages}).to_string()
    };
    let before = lock(&[("left-pad", "1.2.0"), ("old", "1.0.0"), ("same", "1.0.0")]);
    let scenes = finds("verify", "code_reviewer", None, &[]);
    let story = Story::of(&scenes).file(".github/journeyman.yml", "test: sh test.sh\nverify: bots\n");
    let world = story.file("answer", "42\n").file("web/package-lock.json", &before).begin().await;

    let after = lock(&[("@a/new", "2.0.0"), ("left-pad", "1.3.0"), ("same", "1.0.0")]);
    let update = files(&[("web/package-lock.json", &after)]);
    let pull = world.github.open_pull_from_fork(REPOSITORY, APP, "Bump left-pad", &update).expect("it opens");
    let ended = world.settled_as("verified").await;

    let fold = "<summary>Changed packages</summary>\n\n- `@a/new` 2.0.0\n- left-pad 1.2.0 → 1.3.0\n- old 1.0.0, gone\n\n</details>";
    let comment = own_comments(&world, pull).remove(0);
    assert!(comment.contains(fold), "{comment}");
    let checks = world.github.check_runs(REPOSITORY, &change_of(&ended).1);
    assert!(checks.iter().any(|check| check.summary.contains(fold)), "{checks:#?}");

    let broken = files(&[("answer", "43\n"), ("web/package-lock.json", &before)]);
    world.github.push_to_fork(REPOSITORY, APP, pull, &broken).expect("it is pushed");
    assert_ne!(world.settled().await.word(), "verified");
    let comment = own_comments(&world, pull).remove(0);
    assert!(!comment.contains("Changed packages"), "{comment}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_settings_do_not_cover_waits_for_a_label() {
    for (verify, by, orders) in
        [("label", APP, 0), ("bots", OUTSIDER, 0), ("bots", APP, 1), ("never", APP, 0)]
    {
        let world = begun(verify).await;
        let pull = proposed(&world, by);
        world.quiet().await;
        assert_eq!(world.orders().await.len(), orders, "{verify}: {by}");
        world.github.label(REPOSITORY, pull, "journeyman:verify", MAINTAINER).await.expect("it is there");
        world.quiet().await;
        let labeled = if verify == "never" { 0 } else { 1 + orders };
        assert_eq!(world.orders().await.len(), labeled, "{verify}: {by}");
        world.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn never_is_said_to_who_commands_and_may_and_to_nobody_else() {
    let world = begun("never").await;
    let pull = proposed(&world, OUTSIDER);
    world.github.label(REPOSITORY, pull, "journeyman:verify", MAINTAINER).await.expect("it is there");
    world.github.comment(REPOSITORY, pull, OUTSIDER, "/journeyman verify").await.expect("it is there");
    world.quiet().await;
    assert_eq!(own_comments(&world, pull), Vec::<String>::new());
    for _ in 0..2 {
        world.github.comment(REPOSITORY, pull, MAINTAINER, "/journeyman verify").await.expect("it is there");
    }
    world.quiet().await;
    let said = own_comments(&world, pull);
    assert!(said.len() == 1 && said[0].contains("`verify: never`"), "{said:#?}");
    assert!(world.orders().await.is_empty());
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn re_run_on_the_check_verifies_the_commit_again() {
    let world = begun("all").await;
    let pull = proposed(&world, OUTSIDER);
    let first = world.settled_as("verified").await;
    world.github.comment(REPOSITORY, pull, MAINTAINER, "Once more, please").await.expect("it is there");
    world.quiet().await;
    let told = world.github.deliveries().into_iter();
    let told: Vec<Value> = told.map(|one| serde_json::from_str(&one.payload).expect("JSON")).collect();
    let sender = |login: &str| {
        let mut senders = told.iter().map(|payload| &payload["sender"]);
        senders.find(|sender| sender["login"] == login).cloned().expect("they did something")
    };
    let opened = &told[0];
    let rerun = |number: u32, order: OrderId, by: &str| {
        let body = json!({
            "action": "rerequested", "repository": opened["repository"], "installation": opened["installation"],
            "sender": sender(by), "check_run": {
                "name": "journeyman", "external_id": order.to_string(), "app": {"id": 77},
                "head_sha": change_of(&first).1, "check_suite": {"head_branch": "patch-1"},
            },
        });
        (format!("0b989ba4-242f-11e5-81e1-c7b6966d{number:04}"), body.to_string())
    };
    for (number, by, word) in [(1, OUTSIDER, "refused"), (2, MAINTAINER, "verified")] {
        let (guid, body) = rerun(number, first.order, by);
        assert_eq!(world.deliver(&guid, "check_run", body.as_bytes()).await, 202);
        let again = world.settled_as(word).await;
        assert_ne!(again.order, first.order);
        assert_eq!(change_of(&again).1, change_of(&first).1);
    }
    let (guid, body) = rerun(3, first.order, MAINTAINER);
    assert_eq!(world.deliver(&guid, "check_run", body.as_bytes()).await, 202);
    world.quiet().await;
    assert_eq!(world.orders().await.len(), 3, "a later verification has taken its place");
    assert_eq!(own_comments(&world, pull).len(), 1);
    world.end().await;
}

/// What a fork says of how it is set up and tested is a change like any other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forks_own_settings_and_setup_are_not_used() {
    let world = begun("all").await;
    let own = "test: echo 1..1; echo ok 1 - bought\nsetup: touch bought\nnetwork: [evil.example]\nenv: { BOUGHT: yes }\n\
               verify: { by: all, review: true }\n";
    let change = files(&[("answer", "43\n"), (".github/journeyman.yml", own)]);
    let opened = world.github.open_pull_from_fork(REPOSITORY, OUTSIDER, "Trust me", &change);
    let pull = opened.expect("it opens");
    let ended = world.settled().await;

    assert_ne!(ended.word(), "verified", "{}", ended.because());
    let prepared = ended.journal.prepared().expect("it was prepared");
    assert_eq!(prepared.settings.test.as_deref(), Some("sh test.sh"));
    assert_eq!((&prepared.settings.setup, &prepared.settings.network), (&None, &None));
    assert!(prepared.settings.env.is_empty() && !prepared.settings.verify.review);
    let runs = ended.journal.entries().iter().filter_map(|entry| {
        let JournalEvent::Observed { outcome, .. } = &entry.event else { return None };
        if let EffectOutcome::Tested(run) = &**outcome { Some(run) } else { None }
    });
    let failed: Vec<bool> = runs.map(|run| run.verdict.is_pass()).collect();
    assert_eq!(failed, [false], "the base's command found the wrong answer");
    assert_eq!(own_comments(&world, pull).len(), 1, "and no review of its own");
    world.end().await;
}
