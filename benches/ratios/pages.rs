//! The deployed program with its dashboard: pages with 100,000 ended orders, compared with few. Then deliveries while
//! many orders are at work and many pages follow them, compared with neither.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use journeyman::emulator::{Emulator, EmulatorOptions, RepositoryRole, RepositorySource, keys};
use journeyman::order::{JournalEntry, JournalEvent, OrderId};
use journeyman::store::Store;
use reqwest::header::{COOKIE, SET_COOKIE};
use secrecy::SecretString;

use super::intake::deliver;
use super::resume::{connected, execute, numbered_copies};
use super::server::{SECRET, Settings};
use super::{heading, line, middle_and_tail, ratio};

const TOKEN: &str = "a token for this measurement";
/// An order that went through reviews, in this version's format.
const JOURNAL: &str = include_str!(
    "../../crates/order/journals/2026-11-24/a_person_asks_for_changes_and_every_thread_is_answered.jsonl"
);
const FEW: u32 = 100;
const MANY: u32 = 100_000;
/// Number of ended orders with a readable journal.
const JOURNALS: u32 = 500;
const LOOKS: usize = 60;

const REPOSITORY: &str = "acme/sums";
const PERSON: &str = "alice";
const AT_WORK: usize = 50;
const PAGES: usize = 200;
/// Number of measured deliveries, and the interval between them.
const DELIVERIES: usize = 600;
const APART: Duration = Duration::from_millis(40);
const PATIENCE: Duration = Duration::from_secs(90);
/// Prints the time twice a second and does nothing else.
const AGENT: &str = "cat > /dev/null\nwhile sleep 0.5; do echo \"It is $(date +%s%N) now.\"; done\n";

pub async fn measure() {
    let folder = tempfile::tempdir().expect("a folder");
    let keys = keys::generate().expect("keys");
    let options = EmulatorOptions::local(1, keys.public_pem.clone(), SecretString::from(SECRET));
    let github = Emulator::start(options).await.expect("GitHub, emulated");
    let files = [("README.md".to_owned(), b"Sums.\n".to_vec())].into();
    github.create_repository(REPOSITORY, RepositorySource::Files(files)).await.expect("a repository");
    github.add_user(PERSON);
    github.set_permission(REPOSITORY, PERSON, RepositoryRole::Write).expect("permission");
    let agent = folder.path().join("agent");
    std::fs::create_dir(&agent).expect("a folder");
    std::fs::write(agent.join("agent.sh"), AGENT).expect("a file");
    let more = format!(
        "server.api_token = \"{TOKEN}\"\n\
         limits.concurrent_orders = {AT_WORK}\n\
         defaults.agent = \"speaker\"\n\
         agents.speaker.runtime = \"command\"\n\
         agents.speaker.program = [\"sh\", \"{0}/agent.sh\"]\n\
         agents.speaker.read = [\"{0}\"]\n",
        agent.display()
    );
    let settings = |name: &str| Settings::write(&folder.path().join(name), &github, &keys.private_pem, &more);

    heading(&format!("pages: the dashboard beside {FEW} and {MANY} orders that have ended"));
    let few = settings("few");
    let order = fill(&few.url(), &few.database(), FEW).await;
    let server = few.start();
    let least = PageTimes::of(few.address, order).await;
    server.end();
    let many = settings("many");
    let order = fill(&many.url(), &many.database(), MANY).await;
    let server = many.start();
    let times = PageTimes::of(many.address, order).await;
    for ((what, (took, slowest)), (_, (least, _))) in times.0.iter().zip(&least.0) {
        let slowest = slowest.as_secs_f64() * 1_000.0;
        line(what, *took, &format!("{}, the slowest {slowest:.1} ms", ratio(*took, *least)));
    }

    heading(&format!("pages: deliveries while {AT_WORK} orders are at work and {PAGES} pages follow them"));
    github.set_webhook_url(&format!("http://{}/webhook", many.address));
    let alone = deliveries(many.address).await;
    let orders = begin(&github, &many.database()).await;
    let beside = deliveries(many.address).await;
    let (mut pages, lags) = follow(many.address, &orders).await;
    let followed = deliveries(many.address).await;
    let lags = std::mem::take(&mut *lags.lock().expect("the lags"));
    pages.abort_all();
    server.end();
    for (what, (took, tail), (least, least_tail)) in [
        ("a delivery, nothing at work", alone, alone),
        (&format!("  {AT_WORK} orders at work"), beside, alone),
        (&format!("  and {PAGES} pages that follow them"), followed, beside),
    ] {
        let tail_ratio = ratio(tail, least_tail);
        let tail = tail.as_secs_f64() * 1_000.0;
        line(what, took, &format!("{}; p99 {tail:.1} ms, {tail_ratio}", ratio(took, least)));
    }
    let heard = lags.len();
    let (lag, slowest) = middle_and_tail(lags);
    line("from an agent's word to a page", lag, &format!("{heard} words"));
    line("  the slowest in a hundred", slowest, "");
}

/// Creates one order from its journal, and copies of it.
async fn fill(url: &str, file: &Path, ended: u32) -> OrderId {
    let store = Store::open(url).await.expect("a store");
    let mut order = None;
    for text in JOURNAL.lines() {
        let JournalEntry { at, event, .. } = serde_json::from_str(text).expect("an entry");
        match (event, order) {
            (JournalEvent::Opened(opened), _) => {
                order = Some(opened.order);
                store.open_order(*opened, at, None).await.expect("an order");
            }
            (event, Some(order)) => {
                store.append(order, event, at).await.expect("an entry");
            }
            (_, None) => unreachable!("a journal begins with its opening"),
        }
    }
    store.close().await;
    let order = order.expect("an order");
    let mut copies = numbered_copies(file, ended + 1).await;
    let columns: Vec<String> = sqlx::query_scalar("SELECT name FROM pragma_table_info('orders')")
        .fetch_all(&mut copies)
        .await
        .expect("the columns");
    let chosen = columns.iter().map(|column| match column.as_str() {
        "id" => "copies.id",
        "issue" => "copies.number",
        "active" => "FALSE",
        "state" => "'merged'",
        // Never check it again.
        "rested_seq" => "last_seq",
        // Spread over several months.
        "opened_at" => "opened_at - copies.number * 60000000",
        other => other,
    });
    for text in [
        format!(
            "INSERT INTO orders ({}) SELECT {} FROM orders, copies WHERE orders.id = '{order}'",
            columns.join(", "),
            chosen.collect::<Vec<_>>().join(", ")
        ),
        format!(
            "UPDATE orders SET active = FALSE, state = 'merged', rested_seq = last_seq WHERE id = '{order}'"
        ),
        format!(
            "INSERT INTO journal SELECT copies.id, seq, at, replace(event, '{order}', copies.id) FROM journal, copies \
             WHERE journal.order_id = '{order}' AND copies.number <= {JOURNALS}"
        ),
    ] {
        execute(&mut copies, text).await;
    }
    order
}

fn client() -> reqwest::Client {
    let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    client.build().expect("a client")
}

/// The cookie of a person who signed in with the token.
async fn signed_in(client: &reqwest::Client, address: SocketAddr) -> String {
    let form = client.post(format!("http://{address}/sign-in"));
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    let answer = form.body(format!("token={}", TOKEN.replace(' ', "+"))).send().await.expect("an answer");
    assert_eq!(answer.status(), 303, "nobody is signed in");
    let cookie = answer.headers().get(SET_COOKIE).and_then(|cookie| cookie.to_str().ok());
    cookie.and_then(|cookie| cookie.split(';').next()).expect("a cookie").to_owned()
}

/// Each page with its median and its 99th percentile.
struct PageTimes(Vec<(&'static str, (Duration, Duration))>);

impl PageTimes {
    async fn of(address: SocketAddr, order: OrderId) -> Self {
        let client = client();
        let cookie = signed_in(&client, address).await;
        let mut all = Vec::new();
        for (what, path) in [
            ("the orders", "/".to_owned()),
            ("  of one state", "/?state=merged".to_owned()),
            ("  with a word that is in none", "/?text=nowhere".to_owned()),
            ("one order", format!("/orders/{order}")),
            ("statistics", "/statistics".to_owned()),
            ("deliveries", "/deliveries".to_owned()),
        ] {
            let mut looks = Vec::new();
            for look in 0..=LOOKS {
                let begun = Instant::now();
                let asked = client.get(format!("http://{address}{path}")).header(COOKIE, &cookie);
                let answer = asked.send().await.expect("an answer");
                assert_eq!(answer.status(), 200, "{path}");
                answer.bytes().await.expect("a page");
                // The first request finds an empty cache.
                if look > 0 {
                    looks.push(begun.elapsed());
                }
            }
            all.push((what, middle_and_tail(looks)));
        }
        Self(all)
    }
}

/// Sends deliveries at a steady pace, however long earlier ones take. Returns the median and the 99th percentile.
async fn deliveries(address: SocketAddr) -> (Duration, Duration) {
    let (client, request) = (client(), deliver(address, SECRET));
    let mut pace = tokio::time::interval(APART);
    let mut sent = Vec::new();
    for _ in 0..DELIVERIES {
        pace.tick().await;
        let asked = request(&client);
        sent.push(tokio::spawn(async move {
            let begun = Instant::now();
            let answer = asked.send().await.expect("an answer");
            assert_eq!(answer.status(), 202);
            begun.elapsed()
        }));
    }
    let mut waits = Vec::new();
    for one in sent {
        waits.push(one.await.expect("a delivery"));
    }
    middle_and_tail(waits)
}

/// Starts this many orders, each with an agent that prints lines.
async fn begin(github: &Emulator, database: &Path) -> Vec<OrderId> {
    for number in 0..AT_WORK {
        let title = format!("The sum is wrong, {number}");
        let issue = github.open_issue(REPOSITORY, PERSON, &title, "").await.expect("an issue");
        github.label(REPOSITORY, issue, "journeyman", PERSON).await.expect("the label");
    }
    let mut connection = connected(database).await;
    let begun = Instant::now();
    loop {
        let active = "SELECT id FROM orders WHERE active AND EXISTS (SELECT 1 FROM journal \
            WHERE order_id = orders.id AND json_extract(event, '$.move.move') = 'run_agent')";
        let orders: Vec<String> =
            sqlx::query_scalar(active).fetch_all(&mut connection).await.expect("orders");
        if orders.len() == AT_WORK {
            return orders.iter().map(|id| id.parse().expect("an id")).collect();
        }
        if begun.elapsed() > PATIENCE {
            let states = "SELECT state || ' ' || count(*) FROM orders GROUP BY state";
            let states: Vec<String> =
                sqlx::query_scalar(states).fetch_all(&mut connection).await.expect("states");
            panic!("{} of {AT_WORK} are at work: {states:?}", orders.len());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Opens pages that follow orders, equally many for each. Once all have seen output, measures its delay.
async fn follow(
    address: SocketAddr,
    orders: &[OrderId],
) -> (tokio::task::JoinSet<()>, Arc<Mutex<Vec<Duration>>>) {
    let client = client();
    let cookie = signed_in(&client, address).await;
    let (lags, hearing) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
    let mut pages = tokio::task::JoinSet::new();
    for order in orders.iter().cycle().take(PAGES) {
        let asked = client.get(format!("http://{address}/orders/{order}/events?seq=0"));
        let mut answer = asked.header(COOKIE, &cookie).send().await.expect("an answer");
        assert_eq!(answer.status(), 200, "no page");
        let (lags, hearing) = (Arc::clone(&lags), Arc::clone(&hearing));
        pages.spawn(async move {
            let mut has_heard = false;
            while let Ok(Some(event)) = answer.chunk().await {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
                let text = String::from_utf8_lossy(&event);
                let said =
                    text.split("It is ").skip(1).filter_map(|rest| rest.split(" now").next()?.parse().ok());
                for said in said.map(Duration::from_nanos) {
                    if !has_heard {
                        // Lines from before the page was opened do not count.
                        (has_heard, _) = (true, hearing.fetch_add(1, Ordering::Relaxed));
                    } else if hearing.load(Ordering::Relaxed) == PAGES {
                        lags.lock().expect("the lags").push(now.saturating_sub(said));
                    }
                }
            }
        });
    }
    let begun = Instant::now();
    while hearing.load(Ordering::Relaxed) < PAGES {
        assert!(begun.elapsed() < PATIENCE, "only {} pages hear", hearing.load(Ordering::Relaxed));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    (pages, lags)
}
