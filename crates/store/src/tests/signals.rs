//! Orders are found and get a delivery's signal.

use super::*;
use crate::HeardUntil;
use crate::orders::WAKING;
use journeyman_order::{BranchName, GivenChange};

#[tokio::test]
async fn what_a_delivery_said_is_written_once_for_each_however_often_it_is_worked_on() {
    for TestStore { store, .. } in homes().await {
        let mut orders = Vec::new();
        for issue in 1..=3 {
            let next = opened(issue);
            orders.push(next.order);
            store.open_order(next, now(), None).await.unwrap();
        }
        store.save_delivery(delivery("d")).await.unwrap();
        let twice = [orders[1], orders[0], orders[1]];
        let entries = store.signal_each(&twice, &retry(), &guid("d"), now()).await.unwrap().unwrap();
        let event = JournalEvent::Signaled { signal: retry(), delivery: Some(guid("d")) };
        let written: Vec<_> = entries.iter().map(|entry| (entry.seq, &entry.event)).collect();
        assert_eq!(written, [(2, &event), (2, &event)]);
        let told = DeliveryConclusion::Signaled { orders: orders[..2].to_vec() };
        assert_eq!(store.conclusion(&guid("d")).await.unwrap(), Some(told));

        assert_eq!(store.signal_each(&orders, &retry(), &guid("d"), now()).await.unwrap(), None);
        let lengths = async |store: &Store| {
            let mut lengths = Vec::new();
            for order in &orders {
                lengths.push(store.journal(*order).await.unwrap().last_seq());
            }
            lengths
        };
        assert_eq!(lengths(&store).await, [2, 2, 1], "nobody hears it twice, and nobody later");

        // If one order is missing, none gets the signal, and the delivery stays pending.
        store.save_delivery(delivery("e")).await.unwrap();
        let nobody = OrderId(uuid::Uuid::now_v7());
        let lost = store.signal_each(&[orders[0], nobody], &retry(), &guid("e"), now()).await;
        assert!(matches!(lost, Err(StoreError::NotFound { .. })), "{lost:?}");
        let none = store.signal_each(&[], &retry(), &guid("e"), now()).await;
        assert!(matches!(none, Err(StoreError::Refused { .. })), "{none:?}");
        assert_eq!(lengths(&store).await, [2, 2, 1]);
        assert_eq!(store.conclusion(&guid("e")).await.unwrap(), None, "nothing of it was written");
        let unknown = store.signal_each(&orders, &retry(), &guid("f"), now()).await;
        assert!(matches!(unknown, Err(StoreError::NotFound { .. })), "{unknown:?}");
        assert_eq!(lengths(&store).await, [2, 2, 1]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_deliveries_to_the_same_orders_at_once_lose_nothing_and_do_not_wait_for_one_another() {
    for TestStore { store, .. } in homes().await {
        let mut orders = Vec::new();
        for issue in 1..=5 {
            let next = opened(issue);
            orders.push(next.order);
            store.open_order(next, now(), None).await.unwrap();
        }
        let calls = (0..40_usize).map(|number| {
            let (store, mut orders) = (store.clone(), orders.clone());
            orders.rotate_left(number % 5);
            tokio::spawn(async move {
                let name = format!("d{}", number / 2);
                store.save_delivery(delivery(&name)).await.unwrap();
                store.signal_each(&orders, &retry(), &guid(&name), now()).await.unwrap().is_some()
            })
        });
        let told =
            futures_util::future::join_all(calls).await.into_iter().filter(|told| *told.as_ref().unwrap());
        assert_eq!(told.count(), 20, "each delivery is worked on twice, and told once");
        for order in orders {
            assert_eq!(store.journal(order).await.unwrap().last_seq(), 21);
        }
    }
}

#[tokio::test]
async fn orders_are_found_by_their_branch_and_by_their_open_pull_request() {
    let branch = |name: &str| Some(name.parse::<BranchName>().unwrap());
    let pull = PullNumber(8);
    for TestStore { store, .. } in homes().await {
        let mut ids = Vec::new();
        for (issue, state, branch, pull) in [
            (1, "implement, round 1", branch("journeyman/issue-1-a"), None),
            (2, "verified", branch("journeyman/issue-2-b"), Some(pull)),
            (3, "merged", None, Some(pull)),
            (4, "closed", None, Some(pull)),
            (2, "cancelled", branch("journeyman/issue-2-b"), Some(PullNumber(9))),
        ] {
            let next = opened(issue);
            let order = next.order;
            ids.push(order);
            assert_eq!(store.open_order(next, now(), None).await.unwrap(), OpenOutcome::Opened);
            let summary = OrderSummary { state: state.to_owned(), branch, pull, ..OrderSummary::default() };
            store.set_summary(order, &summary, None).await.unwrap();
        }
        let find = async |repository, name: &str| {
            let branch = branch(name).unwrap();
            let found = store.order_by_branch(RepositoryId(repository), &branch).await.unwrap();
            found.map(|row| row.id)
        };
        assert_eq!(find(99, "journeyman/issue-1-a").await, Some(ids[0]));
        assert_eq!(find(99, "journeyman/issue-2-b").await, Some(ids[4]), "the latest");
        assert_eq!(find(98, "journeyman/issue-1-a").await, None, "another repository's");
        assert_eq!(find(99, "journeyman/issue-1-b").await, None);

        let open = async |repository| -> Vec<OrderId> {
            let rows = store.orders_on_base(RepositoryId(repository)).await.unwrap();
            rows.into_iter().map(|row| row.id).collect()
        };
        assert_eq!(open(99).await, [ids[1], ids[4]]);
        assert!(open(98).await.is_empty());
    }
}

#[tokio::test]
async fn a_merge_group_has_its_own_order_beside_that_of_its_pull_request() {
    let (repository, number, pull) = (RepositoryId(99), IssueNumber(8), PullNumber(8));
    let given = |digit: char, merge_group| {
        let mut order = opened(8);
        order.change = Some(GivenChange {
            pull,
            url: "u".to_owned(),
            head: digit.to_string().repeat(40).parse().unwrap(),
            base: "main".to_owned(),
            author: "eve".to_owned(),
            author_id: None,
            fork: None,
            closes: None,
            merge_group,
            continued: None,
        });
        order
    };
    for TestStore { store, .. } in homes().await {
        let all = [given('a', false), given('b', true), given('c', true)];
        let [own, one, two] = [&all[0], &all[1], &all[2]].map(|opened| opened.order);
        let heads = [&all[1], &all[2]].map(|opened| opened.merge_group().cloned().unwrap());
        for opened in all {
            assert_eq!(store.open_order(opened, now(), None).await.unwrap(), OpenOutcome::Opened);
        }
        let again = store.open_order(given('b', true), now(), None).await.unwrap();
        assert_eq!(again, OpenOutcome::Active(one), "one for each head");

        let found = store.order_by_pull(repository, pull).await.unwrap().unwrap();
        assert_eq!((found.id, found.is_of_a_pull(), found.merge_group.clone()), (own, true, None));
        assert_eq!(store.latest_order(repository, number, None).await.unwrap(), Some(found));
        for (head, order) in heads.iter().zip([one, two]) {
            let group = store.latest_order(repository, number, Some(head)).await.unwrap().unwrap();
            assert_eq!((group.id, group.pull, group.merge_group.as_ref()), (order, None, Some(head)));
            assert!(group.is_of_a_pull() && group.title.starts_with("Merge group: "), "{group:?}");
        }
        assert_eq!(store.orders_of_issue(repository, number).await.unwrap().len(), 1);
        let on_base: Vec<OrderId> =
            store.orders_on_base(repository).await.unwrap().iter().map(|row| row.id).collect();
        assert_eq!(on_base, [own]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_never_kept_is_named_and_until_when_github_was_heard_is_remembered() {
    for TestStore { store, .. } in homes().await {
        assert_eq!(store.heard_until().await.unwrap(), None, "GitHub was never asked, and nothing came");
        store.save_delivery(delivery("came")).await.unwrap();
        let last = HeardUntil { at: now(), is_kept: false };
        assert_eq!(store.heard_until().await.unwrap(), Some(last), "what came last");
        let asked = ["lost", "came", "also-lost"].map(guid).to_vec();
        assert_eq!(store.unknown_deliveries(asked).await.unwrap(), ["lost", "also-lost"].map(guid));
        let later = now() + chrono::TimeDelta::minutes(7);
        store.set_heard_until(later).await.unwrap();
        assert_eq!(store.heard_until().await.unwrap(), Some(HeardUntil { at: later, is_kept: true }));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_is_not_looked_at_keeps_the_time_of_its_last_look() {
    for TestStore { store, .. } in homes().await {
        let after = |minutes| Some(now() + chrono::TimeDelta::minutes(minutes));
        let [known, looked_at, unknown] = [1, 2, 3].map(RepositoryId);
        let looked = async |repository| store.repository_looked_until(repository).await.unwrap();
        assert_eq!(store.looked_until().await.unwrap(), None, "it was never begun");
        for id in [known, looked_at] {
            let name = "octo/hello".parse().unwrap();
            store.set_whereabouts(id, &name, journeyman_order::InstallationId(5)).await.unwrap();
        }
        store.set_looked_until(now()).await.unwrap();
        assert_eq!(
            [looked(known).await, looked(looked_at).await, looked(unknown).await],
            [after(0), after(0), None]
        );

        store.set_repository_looked_until(looked_at, now() + chrono::TimeDelta::minutes(3)).await.unwrap();
        store.set_looked_until(now() + chrono::TimeDelta::minutes(4)).await.unwrap();
        store.set_looked_until(now() + chrono::TimeDelta::minutes(5)).await.unwrap();
        assert_eq!(store.looked_until().await.unwrap(), after(5));
        assert_eq!([looked(known).await, looked(looked_at).await], [after(0), after(3)]);
        let name = "octo/new".parse().unwrap();
        store.set_whereabouts(unknown, &name, journeyman_order::InstallationId(5)).await.unwrap();
        assert_eq!(looked(unknown).await, after(5), "before that it was nobody's");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_that_was_refused_is_worked_on_again_when_it_is_sent_again() {
    for TestStore { store, .. } in homes().await {
        let refused = guid("refused");
        for guid in ["refused", "ignored"] {
            store.save_delivery(delivery(guid)).await.unwrap();
        }
        let because = "the installation lacks a permission".to_owned();
        conclude(&store, "refused", DeliveryConclusion::Refused { because }).await;
        let because = "another label".to_owned();
        conclude(&store, "ignored", DeliveryConclusion::Ignored { because }).await;

        store.save_delivery(delivery("between")).await.unwrap();
        assert_eq!(store.save_delivery(delivery("refused")).await.unwrap(), DeliverySaveOutcome::New);
        assert_eq!(store.save_delivery(delivery("ignored")).await.unwrap(), DeliverySaveOutcome::Seen);

        let pending = store.pending_deliveries(0, 10).await.unwrap();
        let waiting: Vec<_> = pending.iter().map(|one| &one.guid).collect();
        assert_eq!(waiting, [&guid("between"), &refused], "whoever reads on from the last one finds it");
        assert_eq!(store.conclusion(&refused).await.unwrap(), None);
        store.save_delivery(delivery("refused")).await.unwrap();
        assert_eq!(store.pending_deliveries(0, 10).await.unwrap().len(), 2, "it waits once");
    }
}

#[tokio::test]
async fn what_may_have_something_to_do_is_found_without_a_look_at_what_has_ended() {
    for TestStore { store, url, _folder } in homes().await {
        let waking =
            format!("EXPLAIN {} {}", if store.kind() == "sqlite" { "QUERY PLAN" } else { "" }, WAKING);
        let plan = match store.kind() {
            "sqlite" => {
                let pool = sqlx::SqlitePool::connect(&url).await.unwrap();
                let plan: Vec<(i64, i64, i64, String)> =
                    sqlx::query_as(sqlx::AssertSqlSafe(waking)).fetch_all(&pool).await.unwrap();
                plan.into_iter().map(|(.., step)| step).collect::<Vec<_>>()
            }
            _ => {
                // PostgreSQL scans an empty table sequentially unless that is disabled.
                let pool =
                    sqlx::postgres::PgPoolOptions::new().max_connections(1).connect(&url).await.unwrap();
                sqlx::query("SET enable_seqscan = off").execute(&pool).await.unwrap();
                let plan: Vec<(String,)> =
                    sqlx::query_as(sqlx::AssertSqlSafe(waking)).fetch_all(&pool).await.unwrap();
                plan.into_iter().map(|(step,)| step).collect()
            }
        };
        assert!(plan.iter().any(|step| step.contains("orders_waking")), "{plan:?}");
    }
}
