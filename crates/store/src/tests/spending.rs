//! The cost of runs: granted one at a time, corrected after the end.

use chrono::TimeDelta;

use super::*;
use journeyman_order::{BudgetLimits, DayLimits};

const FREE: DayLimits = DayLimits {
    repository: BudgetLimits { usd: None, minutes: None, runs: None },
    sender: BudgetLimits { usd: None, minutes: None, runs: None },
    all: BudgetLimits { usd: None, minutes: None, runs: None },
};

fn repository(usd: f64) -> DayLimits {
    DayLimits { repository: BudgetLimits { usd: Some(usd), ..BudgetLimits::default() }, ..FREE }
}

async fn order(store: &Store) -> OrderId {
    let opened = opened(another_issue());
    let order = opened.order;
    assert_eq!(store.open_order(opened, now(), None).await.unwrap(), OpenOutcome::Opened);
    order
}

/// A new number each time, because an issue has one active order.
fn another_issue() -> u64 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::SeqCst)
}

fn run(order: OrderId, key: &str) -> PlannedAgentRun {
    PlannedAgentRun {
        order,
        key: MoveKey(key.to_owned()),
        attempt: 1,
        repository: RepositoryId(99),
        sender: Some(UserId(7)),
        agent: "claude".to_owned(),
        stage: "implement".to_owned(),
        role: "developer".to_owned(),
        model: "opus".to_owned(),
        begins_at: now(),
        most: RunCost { usd: 5.0, seconds: 600.0 },
    }
}

fn cost(usd: f64) -> RunCost {
    RunCost { usd, seconds: 60.0 }
}

async fn granted(store: &Store, run: &PlannedAgentRun, limits: &DayLimits) -> RunCost {
    match store.reserve(run, limits).await.unwrap() {
        BudgetReservation::Granted(estimate) => estimate,
        BudgetReservation::Exceeded(over) => panic!("{over:?}"),
    }
}

async fn over(store: &Store, run: &PlannedAgentRun, limits: &DayLimits) -> DailyLimitExceeded {
    match store.reserve(run, limits).await.unwrap() {
        BudgetReservation::Exceeded(over) => over,
        BudgetReservation::Granted(estimate) => panic!("granted: {estimate:?}"),
    }
}

/// A finished run.
async fn ended(store: &Store, run: &PlannedAgentRun, usd: f64) {
    granted(store, run, &FREE).await;
    assert!(store.settle(run.order, &run.key, run.attempt, cost(usd), RunEnd::Worked).await.unwrap());
}

#[tokio::test]
async fn a_run_is_estimated_by_those_before_it_in_its_place_then_by_its_agents_then_guessed() {
    for TestStore { store, .. } in homes().await {
        let order = order(&store).await;
        let guess = granted(&store, &run(order, "a/1"), &FREE).await;
        assert_eq!(guess, RunCost { usd: 0.5, seconds: 300.0 });
        let poor = PlannedAgentRun { most: RunCost { usd: 0.2, seconds: 40.0 }, ..run(order, "a/2") };
        assert_eq!(granted(&store, &poor, &FREE).await, poor.most, "no more than the order has left");

        ended(&store, &run(order, "b/1"), 1.0).await;
        ended(&store, &run(order, "b/2"), 2.0).await;
        let elsewhere =
            PlannedAgentRun { repository: RepositoryId(98), stage: "plan".to_owned(), ..run(order, "c/1") };
        assert_eq!(granted(&store, &elsewhere, &FREE).await, cost(1.5), "by the agent's");
        assert!(store.settle(order, &elsewhere.key, 1, cost(0.3), RunEnd::Worked).await.unwrap());
        assert_eq!(
            granted(&store, &run(order, "b/3"), &FREE).await,
            cost(1.5),
            "by those in its place alone"
        );
        let judge = PlannedAgentRun { role: "code_reviewer".to_owned(), ..run(order, "b/4") };
        assert_eq!(granted(&store, &judge, &FREE).await.usd, 1.1, "another role has another place");
        let other = PlannedAgentRun { agent: "codex".to_owned(), ..run(order, "b/5") };
        assert_eq!(granted(&store, &other, &FREE).await, guess, "nothing is known of another agent");

        // A run that was kept from working says nothing about the cost of work.
        let settled = store.settle(order, &MoveKey("b/3".to_owned()), 1, cost(0.0), RunEnd::KeptOff).await;
        assert!(settled.unwrap());
        assert_eq!(granted(&store, &run(order, "b/6"), &FREE).await, cost(1.5));
        for n in 0..20 {
            let later = PlannedAgentRun {
                begins_at: now() + TimeDelta::seconds(n + 1),
                ..run(order, &format!("d/{n}"))
            };
            ended(&store, &later, 0.25).await;
        }
        let last = PlannedAgentRun { begins_at: now() + TimeDelta::hours(1), ..run(order, "b/7") };
        assert_eq!(granted(&store, &last, &FREE).await, cost(0.25), "the last 20 count");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn twenty_that_ask_at_once_stay_within_the_limit_together() {
    for TestStore { store, .. } in homes().await {
        let mut orders = Vec::new();
        for _ in 0..20 {
            orders.push(order(&store).await);
        }
        ended(
            &store,
            &PlannedAgentRun { begins_at: now() - TimeDelta::days(1), ..run(orders[0], "known/1") },
            0.3,
        )
        .await;
        let asked = orders.iter().map(|order| {
            let (store, run) = (store.clone(), run(*order, "implement/1/agent"));
            tokio::spawn(async move { (store.reserve(&run, &repository(2.0)).await.unwrap(), run) })
        });
        let asked: Vec<_> = asked.collect();
        let (mut begun, mut refused) = (Vec::new(), Vec::new());
        for one in asked {
            match one.await.unwrap() {
                (BudgetReservation::Granted(estimate), run) => {
                    assert_eq!(estimate.usd, 0.3);
                    begun.push(run);
                }
                (BudgetReservation::Exceeded(over), _) => refused.push(over),
            }
        }
        assert_eq!((begun.len(), refused.len()), (6, 14), "6 × $0.30 are within $2.00, and 7 are not");
        for over in refused {
            assert_eq!(over.limit, DailyLimitUsage::Usd { spent: 1.8, limit: 2.0 });
        }
        // They cost more than estimated, and only that exceeds the limit. Nothing more is granted until the next day.
        for run in &begun {
            store.settle(run.order, &run.key, 1, cost(0.35), RunEnd::Worked).await.unwrap();
        }
        let next = over(&store, &run(orders[0], "implement/2/agent"), &repository(2.0)).await;
        assert_eq!(next.limit, DailyLimitUsage::Usd { spent: 2.1, limit: 2.0 });
        assert_eq!(next.until.to_rfc3339(), "2023-11-15T00:00:00+00:00");
        let tomorrow = PlannedAgentRun { begins_at: next.until, ..run(orders[0], "implement/2/agent") };
        granted(&store, &tomorrow, &repository(2.0)).await;
    }
}

#[tokio::test]
async fn the_same_run_again_is_the_same_row() {
    for TestStore { store, url, .. } in homes().await {
        let order = order(&store).await;
        let first = run(order, "a/1");
        let estimate = granted(&store, &first, &repository(0.6)).await;
        // Its server is gone. A repeated reservation is granted unchanged, although nothing is left.
        store.close().await;
        let store = Store::open(&url).await.unwrap();
        let later = PlannedAgentRun { begins_at: now() + TimeDelta::minutes(5), ..first.clone() };
        assert_eq!(granted(&store, &later, &repository(0.6)).await, estimate);
        let second = PlannedAgentRun { attempt: 2, ..first.clone() };
        ended(&store, &PlannedAgentRun { agent: "codex".to_owned(), ..run(order, "z/1") }, 0.1).await;
        assert_eq!(
            over(&store, &second, &repository(0.6)).await.limit,
            DailyLimitUsage::Usd { spent: 0.6, limit: 0.6 }
        );

        for _ in 0..2 {
            assert!(store.settle(order, &first.key, 1, cost(0.2), RunEnd::Worked).await.unwrap());
        }
        assert_eq!(granted(&store, &second, &repository(0.6)).await, cost(0.2));
        store.release(order, &second.key, 2).await.unwrap();
        store.release(order, &first.key, 1).await.unwrap();
        let third = over(&store, &run(order, "a/3"), &repository(0.4)).await;
        assert_eq!(
            third.limit,
            DailyLimitUsage::Usd { spent: 0.3, limit: 0.4 },
            "what has ended stays, what never began goes"
        );
        assert!(
            !store.settle(order, &MoveKey("never".to_owned()), 1, cost(1.0), RunEnd::Worked).await.unwrap()
        );

        let nobody = run(OrderId(uuid::Uuid::now_v7()), "a/1");
        let refused = store.reserve(&nobody, &FREE).await;
        assert!(matches!(refused, Err(StoreError::Refused { .. })), "{refused:?}");
    }
}

#[tokio::test]
async fn each_purse_has_its_own_limits_of_dollars_minutes_and_runs() {
    for TestStore { store, .. } in homes().await {
        let order = order(&store).await;
        ended(&store, &run(order, "a/1"), 1.0).await;
        let kept_off = run(order, "a/2");
        granted(&store, &kept_off, &FREE).await;
        store.settle(order, &kept_off.key, 1, cost(0.0), RunEnd::KeptOff).await.unwrap();

        let one_run = BudgetLimits { runs: Some(1), ..BudgetLimits::default() };
        let two_minutes = BudgetLimits { minutes: Some(2), ..BudgetLimits::default() };
        let next = run(order, "a/3");
        let runs = over(&store, &next, &DayLimits { sender: one_run, ..FREE }).await;
        assert_eq!(
            (runs.scope, runs.limit),
            (BudgetScope::Sender, DailyLimitUsage::Runs { spent: 1, limit: 1 })
        );
        assert_eq!(runs.estimate, cost(1.0));
        let somebody = PlannedAgentRun { sender: Some(UserId(8)), ..next.clone() };
        granted(&store, &somebody, &DayLimits { sender: one_run, ..FREE }).await;
        store.release(order, &next.key, 1).await.unwrap();
        let nobody = PlannedAgentRun { sender: None, ..next.clone() };
        granted(&store, &nobody, &DayLimits { sender: one_run, ..FREE }).await;
        store.release(order, &next.key, 1).await.unwrap();

        let minutes = over(&store, &next, &DayLimits { all: two_minutes, ..FREE }).await;
        assert_eq!(minutes.limit, DailyLimitUsage::Minutes { spent: 2.0, limit: 2 });
        assert_eq!(minutes.scope, BudgetScope::All);
        let elsewhere = PlannedAgentRun { repository: RepositoryId(98), ..next.clone() };
        granted(&store, &elsewhere, &DayLimits { repository: two_minutes, ..FREE }).await;
        let both = over(
            &store,
            &PlannedAgentRun { attempt: 2, ..elsewhere },
            &DayLimits { all: two_minutes, ..FREE },
        )
        .await;
        assert_eq!(both.limit, DailyLimitUsage::Minutes { spent: 3.0, limit: 2 });
    }
}

#[tokio::test]
async fn a_guess_leaves_no_limit_unused_and_what_an_agent_says_is_taken_as_a_number() {
    for TestStore { store, .. } in homes().await {
        let order = order(&store).await;
        assert_eq!(granted(&store, &run(order, "a/1"), &repository(0.3)).await.usd, 0.3, "all that is left");
        let second = over(&store, &run(order, "a/2"), &repository(0.3)).await;
        assert_eq!(second.limit, DailyLimitUsage::Usd { spent: 0.3, limit: 0.3 });
        for (usd, counted) in [(f64::NAN, 0.0), (-5.0, 0.0), (0.1, 0.1), (f64::INFINITY, 1e9)] {
            let key = MoveKey("a/1".to_owned());
            store.settle(order, &key, 1, RunCost { usd, seconds: 1.0 }, RunEnd::Worked).await.unwrap();
            let next = PlannedAgentRun { most: RunCost { usd: 1e12, seconds: 1.0 }, ..run(order, "a/2") };
            assert_eq!(granted(&store, &next, &FREE).await.usd, counted, "{usd}");
            store.release(order, &next.key, 1).await.unwrap();
        }
    }
}

#[tokio::test]
async fn what_a_day_has_seen_is_told_as_its_limits_are_held_and_no_other_day() {
    for TestStore { store, .. } in homes().await {
        let (first, second) = (order(&store).await, order(&store).await);
        ended(&store, &run(first, "a/1"), 1.25).await;
        let elsewhere = PlannedAgentRun {
            repository: RepositoryId(98),
            sender: None,
            most: RunCost { usd: 0.25, seconds: 60.0 },
            ..run(second, "b/1")
        };
        granted(&store, &elsewhere, &FREE).await;
        let day = now().date_naive().and_hms_opt(0, 0, 0).unwrap().and_utc();
        let before = PlannedAgentRun { begins_at: day - TimeDelta::microseconds(1), ..run(first, "c/1") };
        ended(&store, &before, 3.0).await;
        let told = async |by, moment, among| {
            let lines = store.day_spending(by, moment, among).await.unwrap();
            lines
                .into_iter()
                .map(|line| (line.repository, line.sender, line.usd, line.runs))
                .collect::<Vec<_>>()
        };

        assert_eq!(told(DayGrouping::All, now(), None).await, [(None, None, 1.5, 2)]);
        let (here, there) = (Some(RepositoryId(99)), Some(RepositoryId(98)));
        assert_eq!(
            told(DayGrouping::Repository, now(), None).await,
            [(here, None, 1.25, 1), (there, None, 0.25, 1)]
        );
        let mine = [RepositoryId(98)];
        assert_eq!(told(DayGrouping::Repository, now(), Some(&mine)).await, [(there, None, 0.25, 1)]);
        assert_eq!(told(DayGrouping::Sender, now(), None).await, [(None, Some(UserId(7)), 1.25, 1)]);
        let one = |id| DayGrouping::OneSender(UserId(id));
        assert_eq!(told(one(7), now(), None).await, [(None, Some(UserId(7)), 1.25, 1)]);
        assert!(told(one(8), now(), None).await.is_empty());
        let yesterday = now() - TimeDelta::days(1);
        assert_eq!(told(DayGrouping::All, yesterday, None).await, [(None, None, 3.0, 1)]);
        let later = now() + TimeDelta::days(1);
        assert!(told(DayGrouping::All, later, None).await.is_empty());
    }
}

#[tokio::test]
async fn a_models_dollars_stand_beside_the_merged_pull_requests_that_it_worked_on() {
    for TestStore { store, .. } in homes().await {
        let (merged, closed) = (order(&store).await, order(&store).await);
        ended(&store, &run(merged, "a/1"), 1.0).await;
        ended(&store, &run(merged, "a/2"), 0.5).await;
        ended(&store, &run(closed, "a/1"), 2.0).await;
        let small = PlannedAgentRun { model: String::new(), ..run(closed, "a/2") };
        ended(&store, &small, 0.25).await;
        for (order, state) in [(merged, "merged"), (closed, "closed")] {
            let summary = OrderSummary { state: state.to_owned(), ..OrderSummary::default() };
            store.set_summary(order, &summary, Some(1)).await.unwrap();
        }
        let lines = store.model_statistics(now() - TimeDelta::weeks(1), None).await.unwrap();
        let told = |line: &ModelLine| (line.model.clone(), line.runs, line.microusd, line.merged);
        assert_eq!(
            lines.iter().map(told).collect::<Vec<_>>(),
            [("opus".to_owned(), 3, 3_500_000, 1), (String::new(), 1, 250_000, 0)]
        );
        let others = store.model_statistics(now() - TimeDelta::weeks(1), Some(&[RepositoryId(5)])).await;
        assert_eq!(others.unwrap(), []);
    }
}

#[tokio::test]
async fn statements_are_added_up_by_who_made_them_and_an_order_that_ends_again_counts_once() {
    for TestStore { store, .. } in homes().await {
        let (one, other) = (order(&store).await, order(&store).await);
        let line = |model: &str, counts: &[(&str, u64)]| StatementLine {
            agent: "claude".to_owned(),
            model: model.to_owned(),
            counts: counts.iter().map(|(verdict, count)| ((*verdict).to_owned(), *count)).collect(),
        };
        store.keep_statements(one, &line("opus", &[("holds", 3), ("fails", 2)])).await.unwrap();
        store.keep_statements(one, &line("opus", &[("holds", 5)])).await.unwrap();
        store.keep_statements(other, &line("opus", &[("holds", 1), ("dropped", 1)])).await.unwrap();
        let since = now() - TimeDelta::weeks(1);
        let added = store.statement_statistics(since, None).await.unwrap();
        assert_eq!(added, [line("opus", &[("holds", 6), ("dropped", 1)])]);
        store.keep_statements(other, &line("", &[("unconfirmed", 4)])).await.unwrap();
        let added = store.statement_statistics(since, None).await.unwrap();
        assert_eq!(added, [line("", &[("unconfirmed", 4)]), line("opus", &[("holds", 5)])]);
        assert_eq!(store.statement_statistics(since, Some(&[RepositoryId(5)])).await.unwrap(), []);
    }
}
