//! Tests on real databases: SQLite always, PostgreSQL if `JOURNEYMAN_TEST_POSTGRES_URL` names one.

mod artifact_files;
mod commit_order;
mod entries;
mod full_disk;
mod one_server;
mod pending;
mod retention;
mod signals;
mod spending;

use std::collections::BTreeSet;

use sqlx::Connection as _;

use super::*;
use journeyman_order::{
    AgentRun, AgentUsage, DeliveryGuid, EffectOutcome, InstallationId, IssueNumber, IssueText, JournalEvent,
    Move, MoveKey, OrderId, OrderInput, OrderLimits, Person, Pipeline, PullNumber, RepositoryId, Requester,
    Signal, SignalKind, SlashCommand, UserId,
};

/// A separate store, and what must live as long as it.
struct TestStore {
    store: Store,
    url: String,
    _folder: tempfile::TempDir,
}

#[tokio::test]
async fn a_database_of_a_newer_program_and_a_damaged_one_are_told_apart_and_what_to_do_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("journeyman.db");
    let url = format!("sqlite://{}", file.display());
    Store::open(&url).await.unwrap().close().await;
    assert_eq!(problem_of_sqlite(&file).await, None);

    let pool = sqlx::SqlitePool::connect(&url).await.unwrap();
    let newer = "INSERT INTO _sqlx_migrations SELECT 99, 'later', installed_on, success, checksum, execution_time \
                 FROM _sqlx_migrations WHERE version = 1";
    sqlx::query(newer).execute(&pool).await.unwrap();
    pool.close().await;
    let refused = Store::open(&url).await.err().unwrap();
    let says = "is of a newer Journeyman: start that one, or put back what was saved";
    assert!(refused.to_string().contains(says), "{refused}");
    assert!(problem_of_sqlite(&file).await.unwrap().starts_with(says));

    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, [&bytes[..100], &vec![0; bytes.len() - 100]].concat()).unwrap();
    let broken = Store::open(&url).await.err().unwrap().to_string();
    assert!(broken.contains("malformed") && !broken.contains("right now"), "{broken}");
    let told = problem_of_sqlite(&file).await.unwrap();
    assert!(told.starts_with("is damaged") && told.contains("put a backup in its place"), "{told}");
}

/// A power cut during a checkpoint: the first page refers to pages that are only in the log.
#[tokio::test]
async fn a_database_whose_newest_pages_are_in_its_log_alone_is_sound_and_without_the_log_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("journeyman.db");
    let _store = Store::open(&format!("sqlite://{}", file.display())).await.unwrap();
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&file);
    let mut beside = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    for statement in [
        "CREATE TABLE filler (bytes BLOB)",
        "INSERT INTO filler VALUES (randomblob(200000))",
        "PRAGMA wal_checkpoint(PASSIVE)",
    ] {
        sqlx::query(statement).execute(&mut beside).await.unwrap();
    }

    let copy = folder.path().join("copy.db");
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&copy, &whole[..whole.len() - 8 * 4_096]).unwrap();
    let log = folder.path().join("copy.db-wal");
    std::fs::copy(folder.path().join("journeyman.db-wal"), &log).unwrap();

    assert_eq!(problem_of_sqlite(&copy).await, None);

    for beside in [log, folder.path().join("copy.db-shm")] {
        let _ = std::fs::remove_file(beside);
    }
    let told = problem_of_sqlite(&copy).await.unwrap();
    assert!(told.starts_with("is damaged"), "{told}");
}

#[tokio::test]
async fn what_postgres_refuses_is_told_before_anything_is_opened() {
    let Ok(server) = std::env::var("JOURNEYMAN_TEST_POSTGRES_URL") else {
        println!("skipped for PostgreSQL: JOURNEYMAN_TEST_POSTGRES_URL is not set");
        return;
    };
    let home = postgres_home(&server).await;
    assert_eq!(problem_of_postgres(&home.url).await, None);
    let (base, query) = server.split_once('?').unwrap_or((&server, ""));
    let (base, _) = base.rsplit_once('/').unwrap();
    let another = format!("{base}/no_such_database?{query}");
    let elsewhere = format!("{}&user=no_such_role", home.url);
    for (url, words) in
        [(another, "database \"no_such_database\" does not exist"), (elsewhere, "no_such_role")]
    {
        let told = problem_of_postgres(&url).await.unwrap();
        assert!(
            told.contains(words) && told.ends_with("create what is missing, or change store.url"),
            "{told}"
        );
    }
    let nowhere =
        format!("{}{}options[search_path]=nowhere", server, if server.contains('?') { '&' } else { '?' });
    assert!(problem_of_postgres(&nowhere).await.unwrap().contains("may not create tables there"));
}

async fn homes() -> Vec<TestStore> {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/new/journeyman.db", folder.path().display());
    let mut homes = vec![TestStore { store: Store::open(&url).await.unwrap(), url, _folder: folder }];
    match std::env::var("JOURNEYMAN_TEST_POSTGRES_URL") {
        Ok(server) => homes.push(postgres_home(&server).await),
        Err(_) => println!("skipped for PostgreSQL: JOURNEYMAN_TEST_POSTGRES_URL is not set"),
    }
    homes
}

/// A separate schema on the server, so that tests do not interfere.
async fn postgres_home(server: &str) -> TestStore {
    let schema = format!("t{}", uuid::Uuid::now_v7().simple());
    let pool = sqlx::PgPool::connect(server).await.unwrap();
    sqlx::query(sqlx::AssertSqlSafe(format!("CREATE SCHEMA {schema}"))).execute(&pool).await.unwrap();
    pool.close().await;
    let separator = if server.contains('?') { '&' } else { '?' };
    let url = format!("{server}{separator}options[search_path]={schema}");
    TestStore { store: Store::open(&url).await.unwrap(), url, _folder: tempfile::tempdir().unwrap() }
}

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp_micros(1_700_000_000_123_456).unwrap()
}

fn delivery(guid: &str) -> NewDelivery {
    NewDelivery {
        guid: guid.parse().unwrap(),
        event: "issues".to_owned(),
        action: Some("labeled".to_owned()),
        body: vec![0, 159, 146, 150, b'{'],
        received_at: now(),
    }
}

/// Incompressible bytes.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let bytes = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    });
    bytes.take(length).collect()
}

async fn conclude(store: &Store, delivery: &str, conclusion: DeliveryConclusion) {
    store.conclude_deliveries(&[(guid(delivery), conclusion)]).await.unwrap();
}

/// The folder of a store's large artifacts.
fn artifact_folder(store: &Store) -> &std::path::Path {
    &store.files.as_ref().unwrap().folder
}

fn guid(text: &str) -> DeliveryGuid {
    text.parse().unwrap()
}

fn anna() -> Person {
    Person { login: "anna".to_owned(), id: UserId(7) }
}

fn opened(issue: u64) -> OrderInput {
    OrderInput {
        format: journeyman_order::journal::JOURNAL_FORMAT,
        order: OrderId(uuid::Uuid::now_v7()),
        repository: "octo-org/sums".parse().unwrap(),
        repository_id: RepositoryId(99),
        installation: Some(InstallationId(3)),
        default_branch: "main".to_owned(),
        issue: IssueText {
            number: IssueNumber(issue),
            title: "The sum is \u{0} wrong \u{1f9ee}".to_owned(),
            body: String::new(),
            url: "https://example.org/octo-org/sums/issues/1".to_owned(),
            labels: Vec::new(),
        },
        by: Requester::Person(anna()),
        pipeline: Pipeline::parse(
            "{name: p, version: 1, stages: [{name: plan, agent: developer, command: feature, \
             output: {one_of: [a, b]}}]}",
        )
        .unwrap(),
        agent: "claude".to_owned(),
        limits: OrderLimits { minutes: 60, usd: 5.0, ..OrderLimits::default() },
        roles: Default::default(),
        earlier: Vec::new(),
        request: Default::default(),
        comment: None,
        labeled_at: None,
        commented_at: None,
        change: None,
    }
}

fn retry() -> Signal {
    Signal {
        by: Requester::Person(anna()),
        kind: SignalKind::Commanded {
            comment: None,
            pull: None,
            command: SlashCommand::Retry { guidance: None },
        },
    }
}

#[tokio::test]
async fn a_delivery_is_kept_once_and_waits_until_it_is_concluded() {
    for TestStore { store, .. } in homes().await {
        assert_eq!(store.save_delivery(delivery("b")).await.unwrap(), DeliverySaveOutcome::New);
        assert_eq!(store.save_delivery(delivery("a")).await.unwrap(), DeliverySaveOutcome::New);
        assert_eq!(store.save_delivery(delivery("b")).await.unwrap(), DeliverySaveOutcome::Seen);

        let pending = store.pending_deliveries(0, 10).await.unwrap();
        let guids: Vec<&str> = pending.iter().map(|delivery| delivery.guid.as_str()).collect();
        assert_eq!(guids, ["b", "a"], "the oldest first");
        assert_eq!(pending[0].body, delivery("b").body);
        let later = store.pending_deliveries(pending[0].id, 10).await.unwrap();
        assert_eq!(later.iter().map(|delivery| delivery.guid.as_str()).collect::<Vec<_>>(), ["a"]);
        assert_eq!(pending[0].received_at, now());

        for (name, body) in
            [("long", b"https://api.github.com/".repeat(500)), ("noise", noise(9_000)), ("none", vec![])]
        {
            let last = store.pending_deliveries(0, 10).await.unwrap().last().unwrap().id;
            store.save_delivery(NewDelivery { body: body.clone(), ..delivery(name) }).await.unwrap();
            assert_eq!(store.pending_deliveries(last, 10).await.unwrap()[0].body, body, "byte for byte");
            conclude(&store, name, DeliveryConclusion::Ignored { because: String::new() }).await;
        }

        let ignored = DeliveryConclusion::Ignored { because: "a \0 push".to_owned() };
        conclude(&store, "b", ignored.clone()).await;
        let late = DeliveryConclusion::Refused { because: "too late".to_owned() };
        conclude(&store, "b", late).await;
        let kept = DeliveryConclusion::Ignored { because: "a \u{fffd} push".to_owned() };
        assert_eq!(store.conclusion(&guid("b")).await.unwrap(), Some(kept), "the first conclusion stands");
        assert_eq!(store.conclusion(&guid("a")).await.unwrap(), None);
        assert_eq!(store.pending_deliveries(0, 10).await.unwrap().len(), 1);

        conclude(&store, "c", ignored).await;
        let missing = store.conclusion(&guid("c")).await;
        assert!(matches!(missing, Err(StoreError::NotFound { .. })), "{missing:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_delivery_a_thousand_times_at_once_is_new_once() {
    for TestStore { store, .. } in homes().await {
        let calls = (0..1_000).map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.save_delivery(delivery("same")).await.unwrap() })
        });
        let saved = futures_util::future::join_all(calls).await;
        let new =
            saved.into_iter().filter(|saved| *saved.as_ref().unwrap() == DeliverySaveOutcome::New).count();
        assert_eq!(new, 1);
    }
}

#[tokio::test]
async fn opening_writes_the_order_its_first_entry_and_the_conclusion_together() {
    for TestStore { store, .. } in homes().await {
        store.save_delivery(delivery("d1")).await.unwrap();
        let first = opened(1);
        let order = first.order;
        let outcome = store.open_order(first.clone(), now(), Some(&guid("d1"))).await.unwrap();
        assert_eq!(outcome, OpenOutcome::Opened);
        assert_eq!(store.conclusion(&guid("d1")).await.unwrap(), Some(DeliveryConclusion::Opened { order }));
        let journal = store.journal(order).await.unwrap();
        assert_eq!(journal.opened(), &first);
        assert_eq!(journal.opened_at(), now());
        let row = store.order(order).await.unwrap();
        assert!(row.active);
        assert_eq!(store.latest_order(RepositoryId(99), IssueNumber(1), None).await.unwrap(), Some(row));

        let again = store.open_order(opened(1), now(), Some(&guid("d1"))).await.unwrap();
        assert_eq!(again, OpenOutcome::DeliveryConcluded);

        store.save_delivery(delivery("d2")).await.unwrap();
        let second = store.open_order(opened(1), now(), Some(&guid("d2"))).await.unwrap();
        assert_eq!(second, OpenOutcome::Active(order));
        assert_eq!(
            store.conclusion(&guid("d2")).await.unwrap(),
            None,
            "whoever asked still has to conclude it"
        );
        assert_eq!(store.waking_orders().await.unwrap(), [order]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_is_to_be_traced_until_its_last_entry_was_sent_and_when_it_grows_again() {
    for TestStore { store, .. } in homes().await {
        let recently = now() - chrono::TimeDelta::hours(1);
        let order = opened(1).order;
        store.open_order(OrderInput { order, ..opened(1) }, now(), None).await.unwrap();
        let asked = async |since| {
            let found = store.untraced_orders(since, 10).await.unwrap();
            found.iter().map(|one| (one.sent, one.last)).collect::<Vec<_>>()
        };
        assert_eq!(asked(recently).await, [(0, 1)]);
        assert_eq!(asked(now()).await, [], "what is older is left");
        store.set_traced(order, 1).await.unwrap();
        assert_eq!(asked(recently).await, []);
        let key = MoveKey("prepare".to_owned());
        let event = JournalEvent::Intended { key, r#move: Box::new(Move::Prepare) };
        store.append(order, event, now()).await.unwrap();
        assert_eq!(asked(recently).await, [(1, 2)]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_calls_at_once_open_one_order() {
    for TestStore { store, .. } in homes().await {
        let calls = (0..50).map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                let opened = opened(5);
                let order = opened.order;
                (order, store.open_order(opened, now(), None).await.unwrap())
            })
        });
        let outcomes: Vec<(OrderId, OpenOutcome)> =
            futures_util::future::join_all(calls).await.into_iter().map(Result::unwrap).collect();
        let winners: Vec<OrderId> =
            outcomes.iter().filter(|(_, out)| *out == OpenOutcome::Opened).map(|(order, _)| *order).collect();
        assert_eq!(winners.len(), 1);
        for (_, outcome) in &outcomes {
            assert!(matches!(outcome, OpenOutcome::Opened) || *outcome == OpenOutcome::Active(winners[0]));
        }
        assert_eq!(store.waking_orders().await.unwrap(), winners);
    }
}

#[tokio::test]
async fn a_settled_order_makes_room_for_the_next_and_cannot_come_back_beside_it() {
    for TestStore { store, .. } in homes().await {
        let (first, second) = (opened(1), opened(1));
        let (old, new) = (first.order, second.order);
        store.open_order(first, now(), None).await.unwrap();
        let settled = OrderSummary {
            active: false,
            state: "done".to_owned(),
            branch: Some("journeyman/issue-1-sum".parse().unwrap()),
            pull: Some(PullNumber(4)),
            ..OrderSummary::default()
        };
        store.set_summary(old, &settled, Some(1)).await.unwrap();
        assert_eq!(store.open_order(second, now(), None).await.unwrap(), OpenOutcome::Opened);

        let row = store.order_by_pull(RepositoryId(99), PullNumber(4)).await.unwrap().unwrap();
        assert_eq!((row.id, row.state.as_str(), row.branch.is_some()), (old, "done", true));
        let latest = store.latest_order(RepositoryId(99), IssueNumber(1), None).await.unwrap().unwrap();
        assert_eq!(latest.id, new);

        let back = store.set_summary(old, &OrderSummary { active: true, ..settled }, None).await;
        assert!(matches!(back, Err(StoreError::Refused { .. })), "{back:?}");
        let nobody = OrderId(uuid::Uuid::now_v7());
        let settled = OrderSummary::default();
        assert!(matches!(store.set_summary(nobody, &settled, None).await, Err(StoreError::NotFound { .. })));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn entries_appended_at_once_get_numbers_without_gaps() {
    for TestStore { store, .. } in homes().await {
        let first = opened(1);
        let order = first.order;
        store.open_order(first, now(), None).await.unwrap();
        let calls = (0..100).map(|number| {
            let store = store.clone();
            let event = JournalEvent::Observed {
                key: MoveKey(format!("status/{number}")),
                outcome: Box::new(EffectOutcome::StatusShown { comment: None }),
            };
            tokio::spawn(async move { store.append(order, event, now()).await.unwrap().seq })
        });
        let seqs: BTreeSet<u64> =
            futures_util::future::join_all(calls).await.into_iter().map(Result::unwrap).collect();
        assert_eq!(seqs, (2..=101).collect());
        assert_eq!(store.journal(order).await.unwrap().last_seq(), 101);
    }
}

#[tokio::test]
async fn an_entry_is_returned_as_it_will_be_read_after_a_restart() {
    for TestStore { store, url, _folder } in homes().await {
        let first = opened(1);
        let order = first.order;
        store.open_order(first, now(), None).await.unwrap();
        let run = AgentRun {
            result: Some("done \u{2028}\0".to_owned()),
            usage: AgentUsage { usd: 0.1 + 0.2, ..AgentUsage::default() },
            duration_seconds: 1.0 / 3.0,
            ..AgentRun::default()
        };
        let at = DateTime::from_timestamp_nanos(1_700_000_000_123_456_789);
        let key = MoveKey("implement/1/agent".to_owned());
        let prepare = JournalEvent::Intended { key: key.clone(), r#move: Box::new(Move::Prepare) };
        let ran = JournalEvent::Observed { key, outcome: Box::new(EffectOutcome::AgentRan(Box::new(run))) };
        let written =
            [store.append(order, prepare, at).await.unwrap(), store.append(order, ran, at).await.unwrap()];
        store.close().await;

        let store = Store::open(&url).await.unwrap();
        let journal = store.journal(order).await.unwrap();
        assert_eq!(journal.entries()[1..], written);
        assert_eq!(store.entries_after(order, 2).await.unwrap(), written[1..]);
        let mut known = journal.prefix(1).unwrap();
        store.catch_up(&mut known).await.unwrap();
        assert_eq!(known, journal);
        assert_eq!(store.order(order).await.unwrap().updated_at, written[1].at);
    }
}

#[tokio::test]
async fn an_entry_that_could_not_be_read_again_is_refused_and_leaves_no_gap() {
    for TestStore { store, .. } in homes().await {
        let first = opened(1);
        let order = first.order;
        store.open_order(first, now(), None).await.unwrap();
        let run = AgentRun { duration_seconds: f64::NAN, ..AgentRun::default() };
        let event = JournalEvent::Observed {
            key: MoveKey("implement/1/agent".to_owned()),
            outcome: Box::new(EffectOutcome::AgentRan(Box::new(run))),
        };
        let refused = store.append(order, event, now()).await;
        assert!(matches!(refused, Err(StoreError::Refused { .. })), "{refused:?}");
        assert_eq!(store.signal(order, retry(), now()).await.unwrap().seq, 2);
    }
}

#[tokio::test]
async fn orders_are_listed_latest_first_in_pages() {
    for TestStore { store, .. } in homes().await {
        let mut ids = Vec::new();
        for issue in 1..=5 {
            let next = opened(issue);
            ids.push(next.order);
            store.open_order(next, now(), None).await.unwrap();
        }
        ids.reverse();
        let settled =
            OrderSummary { state: "done".to_owned(), needs_person: true, ..OrderSummary::default() };
        store.set_summary(ids[0], &settled, Some(1)).await.unwrap();
        let list = async |filter: OrderFilter| -> Vec<OrderId> {
            store.orders(&filter).await.unwrap().into_iter().map(|row| row.id).collect()
        };
        let page = OrderFilter { limit: 2, ..OrderFilter::default() };
        assert_eq!(list(page.clone()).await, ids[..2]);
        assert_eq!(list(OrderFilter { before: Some(ids[1]), ..page.clone() }).await, ids[2..4]);
        assert_eq!(list(OrderFilter { active: Some(false), ..page.clone() }).await, ids[..1]);
        let elsewhere = Some("octo-org/other".parse().unwrap());
        assert!(list(OrderFilter { repository: elsewhere, ..page.clone() }).await.is_empty());
        let here = Some("octo-org/sums".parse().unwrap());
        assert_eq!(
            list(OrderFilter { repository: here, active: Some(true), limit: 9, ..page.clone() }).await,
            ids[1..]
        );
        let said = |text: &str| OrderFilter { text: Some(text.to_owned()), limit: 9, ..page.clone() };
        assert_eq!(list(said("SUMS #3")).await, [ids[2]], "the issues are 5, 4, 3, 2, 1");
        assert_eq!(list(said("_ums")).await, [], "what is looked for is no pattern");
        assert_eq!(list(OrderFilter { needs_person: Some(true), ..page.clone() }).await, ids[..1]);
        assert_eq!(list(OrderFilter { state: Some("done".to_owned()), ..page.clone() }).await, ids[..1]);
        assert_eq!(list(OrderFilter { agent: Some("nobody".to_owned()), ..page.clone() }).await, []);
        assert_eq!(store.tally(None).await.unwrap(), OrderTally { active: 4, needs_person: 1 });
    }
}

#[tokio::test]
async fn artifacts_are_kept_by_name_and_replaced_under_the_same() {
    for TestStore { store, .. } in homes().await {
        let first = opened(1);
        let order = first.order;
        store.open_order(first, now(), None).await.unwrap();
        store.put_artifact(order, "implement-1-agent.jsonl", "application/x-ndjson", b"{}").await.unwrap();
        let bytes: Vec<u8> = (0..=255).cycle().take(1 << 20).collect();
        let info = store.put_artifact(order, "implement-1-agent.jsonl", "text/plain", &bytes).await.unwrap();
        assert_eq!(store.artifacts(order).await.unwrap(), std::slice::from_ref(&info));
        let artifact = store.artifact(order, "implement-1-agent.jsonl").await.unwrap();
        assert_eq!(artifact, Artifact { info, content: bytes });

        for name in ["", "..", "a/b", ".hidden", "a b", "\0", &"x".repeat(201)] {
            let put = store.put_artifact(order, name, "text/plain", b"").await;
            assert!(matches!(put, Err(StoreError::Refused { .. })), "{name:?}: {put:?}");
        }
        let nobody = OrderId(uuid::Uuid::now_v7());
        assert!(store.put_artifact(nobody, "a", "text/plain", b"").await.is_err());
        assert!(matches!(store.artifact(order, "b").await, Err(StoreError::NotFound { .. })));
        assert!(matches!(store.journal(nobody).await, Err(StoreError::NotFound { .. })));
    }
}

#[tokio::test]
async fn what_cannot_be_opened_is_said_with_its_key_and_without_its_password() {
    let folder = tempfile::tempdir().unwrap();
    let garbage = folder.path().join("garbage.db");
    std::fs::write(&garbage, "this is not a database, whatever its name says ".repeat(100)).unwrap();
    for url in [
        "mysql://root:s3cret@localhost/x".to_owned(),
        "postgres://anna:s3cret@127.0.0.1:port/journeyman".to_owned(),
        format!("sqlite://{}", garbage.display()),
        "sqlite:///proc/nowhere/journeyman.db".to_owned(),
    ] {
        let error = Store::open(&url).await.unwrap_err().to_string();
        assert!(error.contains("store.url"), "{error}");
        assert!(!error.contains("s3cret"), "{error}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn nobody_else_can_read_the_file_and_those_beside_it() {
    use std::os::unix::fs::PermissionsExt;
    let homes = homes().await;
    let TestStore { store, _folder, .. } = &homes[0];
    store.save_delivery(delivery("d")).await.unwrap();
    let files: Vec<_> = std::fs::read_dir(_folder.path().join("new")).unwrap().map(Result::unwrap).collect();
    assert!(files.len() > 1, "the database and its log");
    for file in files {
        let mode = file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", file.path());
    }
}

#[tokio::test]
async fn a_row_that_was_tampered_with_is_named() {
    let homes = homes().await;
    let TestStore { store, url, .. } = &homes[0];
    let first = opened(1);
    let order = first.order;
    store.open_order(first, now(), None).await.unwrap();
    let pool = sqlx::SqlitePool::connect(url).await.unwrap();
    sqlx::query("UPDATE journal SET event = '{\"event\":\"unheard_of\"}'").execute(&pool).await.unwrap();
    let error = store.journal(order).await.unwrap_err();
    assert!(matches!(error, StoreError::UnreadableJournal { .. }), "{error:?}");
    let says = format!("the journal of order {order} cannot be read: entry 1: unknown variant `unheard_of`");
    assert!(error.to_string().starts_with(&says), "{error}");
}
