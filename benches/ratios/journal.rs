//! Appending an entry to a journal, compared with inserting a bare row in a bare database with the same guarantees.

use std::str::FromStr;
use std::time::Instant;

use chrono::Utc;
use journeyman::order::{
    InstallationId, IssueNumber, IssueText, JournalEvent, Move, MoveKey, OrderId, OrderInput, OrderLimits,
    OrderRequest, Pipeline, RepositoryId, Requester,
};
use journeyman::store::Store;
use sqlx::Connection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};

use super::{heading, line, middle_and_tail, ratio};

const TIMES: u64 = 300;

pub fn opened() -> OrderInput {
    let pipeline = include_str!("../../templates/pipelines/issue-to-pr.yaml");
    OrderInput {
        format: journeyman::order::journal::JOURNAL_FORMAT,
        order: OrderId(uuid::Uuid::now_v7()),
        repository: "octo-org/sums".parse().expect("a name"),
        repository_id: RepositoryId(1),
        installation: Some(InstallationId(1)),
        default_branch: "main".to_owned(),
        issue: IssueText {
            number: IssueNumber(1),
            title: "The sum is wrong".to_owned(),
            body: String::new(),
            url: "https://example.org/octo-org/sums/issues/1".to_owned(),
            labels: Vec::new(),
        },
        by: Requester::ApiToken,
        request: OrderRequest::default(),
        comment: None,
        labeled_at: None,
        commented_at: None,
        change: None,
        earlier: Vec::new(),
        pipeline: Pipeline::parse(pipeline).expect("the pipeline that ships"),
        agent: "claude".to_owned(),
        limits: OrderLimits { minutes: 60, usd: 5.0, ..OrderLimits::default() },
        roles: Default::default(),
    }
}

pub async fn measure() {
    heading("journal: one entry after another, each on disk (WAL, synchronous FULL)");
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite://{}/ours.db", folder.path().display());
    let store = Store::open(&url).await.expect("a store");
    let opened = opened();
    let order = opened.order;
    store.open_order(opened, Utc::now(), None).await.expect("an order");
    let event = |n: u64| JournalEvent::Intended {
        key: MoveKey(format!("bench/{n}")),
        r#move: Box::new(Move::Prepare),
    };

    let bare = SqliteConnectOptions::from_str(&format!("sqlite://{}/bare.db", folder.path().display()));
    let bare = bare.expect("a name").create_if_missing(true);
    let bare = bare.journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full);
    let mut bare = SqliteConnection::connect_with(&bare).await.expect("a database");
    sqlx::query("CREATE TABLE entries (seq INTEGER PRIMARY KEY, event TEXT NOT NULL)")
        .execute(&mut bare)
        .await
        .expect("a table");

    let (mut ours, mut least) = (Vec::new(), Vec::new());
    // Alternate, so that other load on the machine affects both.
    for n in 0..TIMES {
        let begun = Instant::now();
        store.append(order, event(n), Utc::now()).await.expect("an entry");
        ours.push(begun.elapsed());

        let text = serde_json::to_string(&event(n)).expect("JSON");
        let begun = Instant::now();
        sqlx::query("INSERT INTO entries (event) VALUES ($1)")
            .bind(text)
            .execute(&mut bare)
            .await
            .expect("a row");
        least.push(begun.elapsed());
    }
    let ((ours, tail), (least, _)) = (middle_and_tail(ours), middle_and_tail(least));
    line("a bare row", least, "");
    line("an entry of a journal", ours, &format!("{} a bare row", ratio(ours, least)));
    line("  the slowest in a hundred", tail, "");
}
