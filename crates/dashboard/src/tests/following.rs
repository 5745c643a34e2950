//! Pages that follow an order: their events, and the cost of those.

use std::pin::Pin;
use std::task::Poll;

use actix_web::body::MessageBody;
use chrono::DateTime;

use super::*;
use journeyman_order::{Move, Signal, SignalKind};

struct OpenPage(Pin<Box<BoxBody>>);

impl DashboardFixture {
    async fn follow(&self, order: OrderId, seq: u64, cookie: &str) -> HttpResponse<BoxBody> {
        let path = format!("/orders/{order}/events?seq={seq}");
        self.send(TestRequest::get().uri(&path).insert_header((header::COOKIE, cookie))).await
    }

    async fn open_page(&self, order: OrderId, seq: u64) -> OpenPage {
        let answer = self.follow(order, seq, &self.cookie).await;
        assert_eq!(answer.status(), StatusCode::OK);
        OpenPage(Box::pin(answer.into_body()))
    }

    async fn said(&self, order: OrderId) -> JournalEntry {
        let command = SlashCommand::Retry { guidance: Some("Mind the sum.".to_owned()) };
        let kind = SignalKind::Commanded { comment: None, pull: None, command };
        let signal = Signal { by: Requester::ApiToken, kind };
        self.state.store.signal(order, signal, DateTime::UNIX_EPOCH).await.unwrap()
    }
}

impl OpenPage {
    /// The next event; `None` at the end.
    async fn next(&mut self) -> Option<String> {
        let next = std::future::poll_fn(|context| self.0.as_mut().poll_next(context)).await?;
        Some(String::from_utf8(next.unwrap().to_vec()).unwrap())
    }

    async fn until(&mut self, words: &str) {
        while !self.next().await.expect("it goes on").contains(words) {}
    }

    async fn is_silent(&mut self) -> bool {
        std::future::poll_fn(|context| Poll::Ready(self.0.as_mut().poll_next(context).is_pending())).await
    }
}

#[actix_web::test]
async fn every_open_page_of_an_order_is_told_what_is_new() {
    let pages = DashboardFixture::new().await;
    let (order, other) = (pages.order().await, pages.another_order().await);
    let mut open = Vec::new();
    for seq in [0, 0, 1] {
        open.push(pages.open_page(order, seq).await);
    }
    // An outdated page gets what it lacks at once; an up-to-date one gets nothing.
    open[0].until("\"id\":\"head\"").await;
    open[0].until("\"id\":\"receipt\"").await;
    open[1].until("\"id\":\"receipt\"").await;
    assert!(open[2].is_silent().await);

    let entry = pages.said(order).await;
    // Entries of other orders are ignored.
    let of_other = pages.said(other).await;
    pages.told.send((other, of_other)).unwrap();
    pages.told.send((order, entry)).unwrap();

    for page in &mut open {
        page.until("Mind the sum.").await;
    }
    // A later viewer sees the same.
    let mut late = pages.open_page(order, 1).await;
    late.until("Mind the sum.").await;
    // An entry without a notification is found by the next poll.
    pages.state.store.append(order, prepared(), Utc::now()).await.unwrap();
    late.until("Fetch the repository").await;
}

#[actix_web::test]
async fn an_open_page_says_what_runs_now() {
    let pages = DashboardFixture::new().await;
    let order = pages.order().await;
    let mut page = pages.open_page(order, 1).await;
    let what = "tests: the base's tests on the change's code · run 3 of about 9 · since 01:02:03 UTC";

    *pages.progress.lock().unwrap() = Some(what.to_owned());
    page.until(&format!("event: progress\ndata: {{\"text\":\"{what}\"}}")).await;
    *pages.progress.lock().unwrap() = None;
    page.until("event: progress\ndata: {\"text\":null}").await;
}

fn prepared() -> journeyman_order::JournalEvent {
    let key = MoveKey("prepare".to_owned());
    journeyman_order::JournalEvent::Intended { key, r#move: Box::new(Move::Prepare) }
}

#[actix_web::test]
async fn one_page_too_many_is_told_when_to_come_again_and_has_its_place_later() {
    let pages = DashboardFixture::new().await;
    let order = pages.order().await;
    let all = &pages.state.shared;
    let mut places: Vec<_> = std::iter::from_fn(|| all.place()).collect();
    assert!(places.len() >= 200, "{} pages can be open", places.len());

    let refused = pages.follow(order, 0, &pages.cookie).await;

    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.headers().contains_key(header::RETRY_AFTER));
    let text = to_bytes(refused.into_body()).await.unwrap();
    assert!(String::from_utf8_lossy(&text).contains("Too many pages follow the work at once."));
    places.pop();
    let mut page = pages.open_page(order, 0).await;
    page.until("\"id\":\"head\"").await;
    assert!(all.place().is_none());
    drop(page);
    assert!(all.place().is_some(), "a page that was closed has no place");
}

#[actix_web::test]
async fn whoever_signs_out_has_no_session_anywhere_and_pages_of_it_are_told_nothing_more() {
    let pages = DashboardFixture::new().await;
    let order = pages.order().await;
    let ours = pages.sign_in().await;
    let mut open = OpenPage(Box::pin(pages.follow(order, 1, &ours).await.into_body()));
    let mut of_other = pages.open_page(order, 1).await;
    let form = pages.send(TestRequest::get().uri("/").insert_header((header::COOKIE, ours.as_str()))).await;
    let form = String::from_utf8(to_bytes(form.into_body()).await.unwrap().to_vec()).unwrap();
    let word = form.split("name=\"word\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let sign_out = TestRequest::post().uri("/sign-out").insert_header((header::COOKIE, ours.as_str()));

    let left = pages.send(sign_out.set_form(json!({"word": word}))).await;

    assert_eq!(left.status(), StatusCode::SEE_OTHER);
    // The cookie still exists, with anyone who copied it.
    for path in ["/".to_owned(), format!("/orders/{order}")] {
        let copied = TestRequest::get().uri(&path).insert_header((header::COOKIE, ours.as_str()));
        assert_eq!(pages.send(copied).await.status(), StatusCode::SEE_OTHER, "{path}");
    }
    assert_eq!(pages.follow(order, 1, &ours).await.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(open.next().await, None, "it is over");
    // Another session of the same token continues.
    let entry = pages.said(order).await;
    pages.told.send((order, entry)).unwrap();
    of_other.until("Mind the sum.").await;
    assert_eq!(pages.ask("/").await.status(), StatusCode::OK);
}

#[actix_web::test]
async fn a_page_that_did_not_read_hears_nothing_of_what_waited_once_its_session_is_over() {
    let pages = DashboardFixture::new().await;
    let order = pages.order().await;
    let ours = pages.sign_in().await;
    let mut open = OpenPage(Box::pin(pages.follow(order, 0, &ours).await.into_body()));
    open.until("\"id\":\"head\"").await;
    // The rest of the page is still queued, and more is written.
    let entry = pages.said(order).await;
    pages.told.send((order, entry)).unwrap();
    pages.state.people.end(ours.split_once('=').unwrap().1);
    tokio::time::sleep(Duration::from_millis(3_100)).await;

    assert_eq!(open.next().await, None);
}

#[actix_web::test]
async fn where_browsers_come_by_https_no_other_host_of_the_domain_sets_the_cookie() {
    let mut pages = DashboardFixture::new().await;
    pages.state.public_url = Some("https://journeyman.example.org".parse().unwrap());
    assert_eq!(pages.ask("/").await.status(), StatusCode::SEE_OTHER, "one of a name that anybody can set");
    let form = TestRequest::post().uri("/sign-in").set_form(json!({"token": TOKEN}));
    let answer = pages.send(form).await;
    let cookie = answer.headers().get(header::SET_COOKIE).unwrap().to_str().unwrap();
    let (pair, rest) = cookie.split_once("; ").unwrap();
    assert!(pair.starts_with("__Host-journeyman_session="), "{pair}");
    assert_eq!(rest, "HttpOnly; SameSite=Strict; Secure; Path=/; Max-Age=43200");
    pages.cookie = pair.to_owned();
    assert_eq!(pages.ask("/").await.status(), StatusCode::OK);
}
