//! An order's budget and today's figures.

use journeyman_order::{BudgetLimits, GivenChange, PullNumber, UserId};
use journeyman_store::{PlannedAgentRun, RunCost, StatementLine};

use super::*;

async fn spend(fixture: &DashboardFixture, order: OrderId) {
    let run = PlannedAgentRun {
        order,
        key: MoveKey("plan/1/agent".to_owned()),
        attempt: 1,
        repository: RepositoryId(1),
        sender: Some(UserId(7)),
        agent: "claude".to_owned(),
        stage: "plan".to_owned(),
        role: "developer".to_owned(),
        model: "<b>opus</b>".to_owned(),
        begins_at: Utc::now(),
        most: RunCost { usd: 0.25, seconds: 599.0 },
    };
    fixture.state.store.reserve(&run, &DayLimits::default()).await.unwrap();
}

#[actix_web::test]
async fn where_nothing_limits_the_runs_of_an_order_its_page_says_so() {
    let fixture = DashboardFixture::new().await;
    let order = fixture.order().await;
    let (_, page) = fixture.page(&format!("/orders/{order}")).await;
    assert!(page.contains("0, no limit") && !page.contains("4294967295"), "{page}");
    assert!(page.contains("0 of 1<br><meter"), "minutes have one: {page}");
}

#[actix_web::test]
async fn today_stands_beside_the_limits_that_hold_for_it() {
    let mut fixture = DashboardFixture::new().await;
    let limited = BudgetLimits { usd: Some(2.0), minutes: Some(5), runs: None };
    fixture.state.day_limits = DayLimits { repository: limited, ..DayLimits::default() };
    let (_, page) = fixture.page("/statistics").await;
    assert!(page.contains("No agent has worked today") && page.contains("nothing to add up"), "{page}");

    let order = fixture.order().await;
    spend(&fixture, order).await;
    let (_, page) = fixture.page("/statistics").await;
    for shown in [
        "<th scope=\"row\">octo-org/sums</th>",
        "$0.25 of $2.00 <meter",
        // An unknown agent's run counts at an estimate.
        "5 of 5 <meter",
        "<th scope=\"row\">All repositories</th>",
        "<th scope=\"row\">Counted against the person with the id 7</th>",
        "claude, &#60;b&#62;opus&#60;/b&#62;",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
}

#[actix_web::test]
async fn a_verification_is_counted_against_who_opened_the_pull_request_by_their_login() {
    let fixture = DashboardFixture::new().await;
    let change = GivenChange {
        pull: PullNumber(1),
        url: String::new(),
        head: "6113728f27ae82c7b1a177c8d03f9e96e0adf246".parse().unwrap(),
        base: "main".to_owned(),
        author: "eve".to_owned(),
        author_id: Some(UserId(7)),
        fork: None,
        closes: None,
        merge_group: false,
        continued: None,
    };
    let input = OrderInput { change: Some(change), by: Requester::Repository, ..opened(1) };
    let order = input.order;
    fixture.state.store.open_order(input, Utc::now(), None).await.unwrap();
    spend(&fixture, order).await;
    let (_, page) = fixture.page("/statistics").await;
    assert!(page.contains("<th scope=\"row\">Counted against eve</th>"), "{page}");
}

#[actix_web::test]
async fn what_became_of_an_examiners_statements_stands_beside_who_made_them() {
    let fixture = DashboardFixture::new().await;
    let order = fixture.order().await;
    let (_, page) = fixture.page("/statistics").await;
    assert!(!page.contains("Statements of the examiner"), "{page}");
    let counts = [("holds", 6), ("disputed", 1), ("unconfirmed", 1)];
    let line = StatementLine {
        agent: "claude".to_owned(),
        model: "opus".to_owned(),
        counts: counts.map(|(verdict, count)| (verdict.to_owned(), count)).into(),
    };
    fixture.state.store.keep_statements(order, &line).await.unwrap();
    let (_, page) = fixture.page("/statistics").await;
    for shown in ["claude, opus", "6 of 8 (75 %)", "1 of 8 (12 %)", "0 of 8 (0 %)", "Dropped by people"] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
}
