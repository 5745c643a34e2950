//! People sign in to the dashboard with GitHub: they see and do there what they may read and write on GitHub.

use std::net::TcpListener;
use std::time::Duration;

use journeyman::config::AppClientSettings;
use journeyman::emulator::RepositoryRole;
use journeyman::order::{JournalEvent, OrderId, Requester};
use serde_json::json;
use url::Url;

use crate::browser::Browser;
use crate::world::{MAINTAINER, REPOSITORY, Story, TRIAGER, World};

/// Has an account but no rights.
const STRANGER: &str = "stella";
const BUSY: &str = "- stage: implement\n  think: 120000\n  say: Nothing to do.\n";

/// A running order, on a server whose address differs from GitHub's, so that each is another site.
async fn busy() -> (World, String, OrderId) {
    let mut world = Story::of(BUSY).begin().await;
    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
    let origin = format!("http://localhost:{port}");
    world.github.add_user(STRANGER);
    let (id, secret) = world.github.let_sign_in(&format!("{origin}/sign-in/github/back"));
    world.stop_bot().await;
    let public_url: Url = origin.parse().expect("an address");
    world.change_settings(move |settings| {
        settings.server.listen.set_port(port);
        settings.server.public_url = Some(public_url);
        settings.github.client = Some(AppClientSettings { id, secret });
    });
    world.start_bot().await;
    world.label().await;
    world.until_begun("implement/1/agent").await;
    let order = world.latest_order().await.expect("it is open");
    (world, origin, order)
}

/// An HTTP client that follows no redirects.
struct Visitor {
    client: reqwest::Client,
    origin: String,
    /// As set by the last answers.
    cookies: Vec<String>,
}

struct Answer {
    status: u16,
    location: String,
    text: String,
}

impl Visitor {
    fn new(origin: &str) -> Self {
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(Duration::from_secs(60));
        Self { client: client.build().expect("a client"), origin: origin.to_owned(), cookies: Vec::new() }
    }

    async fn send(&mut self, request: reqwest::RequestBuilder) -> Answer {
        let answer = request.header("cookie", self.cookies.join("; ")).send().await.expect("an answer");
        for cookie in answer.headers().get_all("set-cookie") {
            let pair = cookie.to_str().expect("text").split(';').next().expect("a pair").to_owned();
            let name = pair.split('=').next().expect("a name").to_owned();
            self.cookies.retain(|one| !one.starts_with(&format!("{name}=")));
            self.cookies.push(pair);
        }
        let location =
            answer.headers().get("location").map_or("", |to| to.to_str().expect("text")).to_owned();
        Answer { status: answer.status().as_u16(), location, text: answer.text().await.expect("a body") }
    }

    async fn get(&mut self, path: &str) -> Answer {
        self.send(self.client.get(format!("{}{path}", self.origin))).await
    }

    async fn post(&mut self, path: &str, form: &serde_json::Value) -> Answer {
        self.send(self.client.post(format!("{}{path}", self.origin)).form(form)).await
    }

    /// Confirms the sign-in on GitHub as this person; returns the path back.
    async fn on_github(&mut self, login: &str) -> String {
        let left = self.get("/sign-in/github").await;
        assert_eq!(left.status, 303, "{}", left.text);
        let page: Url = left.location.parse().expect("an address");
        let mut fields: Vec<(String, String)> = page.query_pairs().into_owned().collect();
        fields.push(("login".to_owned(), login.to_owned()));
        let github = page.join("/login/oauth/authorize").expect("an address");
        let said = self.client.post(github).form(&fields).send().await.expect("an answer");
        assert_eq!(said.status(), 302);
        let back = said.headers()["location"].to_str().expect("text");
        back.strip_prefix(&self.origin).expect("it leads back").to_owned()
    }

    async fn sign_in(&mut self, login: &str) {
        let back = self.on_github(login).await;
        let inside = self.get(&back).await;
        assert_eq!(inside.status, 200, "{}", inside.text);
    }

    /// The word that its session's forms contain.
    async fn word(&mut self) -> String {
        let page = self.get("/statistics").await.text;
        let word = page.split("name=\"word\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
        word.expect("a word").to_owned()
    }
}

/// Ends the story of a running order.
async fn cancel(world: World, order: OrderId) {
    assert_eq!(world.api("POST", &format!("/api/v1/work-orders/{order}/cancel"), None).await.0, 202);
    assert_eq!(world.settled().await.word(), "cancelled");
    world.end().await;
}

async fn is_said(world: &World, order: OrderId) -> Vec<Requester> {
    let (journal, _) = world.look(order).await;
    let said = journal.entries().iter().filter_map(|entry| match &entry.event {
        JournalEvent::Signaled { signal, .. } => Some(signal.by.clone()),
        _ => None,
    });
    said.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sign_in_holds_once_and_for_the_browser_that_began_it() {
    let (world, origin, order) = busy().await;
    let (mut ours, mut other) = (Visitor::new(&origin), Visitor::new(&origin));
    let path = format!("/orders/{order}");

    // A state other than the one that was sent.
    let back = ours.on_github(MAINTAINER).await;
    let (code, _) = back.split_once("&state=").expect("a state");
    for wrong in [format!("{code}&state=0"), format!("{code}&state="), "/sign-in/github/back".to_owned()] {
        assert_eq!(ours.get(&wrong).await.status, 403, "{wrong}");
    }
    // The right state, in another browser.
    other.on_github(TRIAGER).await;
    assert_eq!(other.get(&back).await.status, 403);
    // The code of another sign-in.
    let theirs = other.on_github(TRIAGER).await;
    let ours_back = ours.on_github(MAINTAINER).await;
    let code_of_theirs = theirs.split_once("&state=").expect("a state").0;
    let state_of_ours = ours_back.split_once("&state=").expect("a state").1;
    let mixed = ours.get(&format!("{code_of_theirs}&state={state_of_ours}")).await;
    assert!(mixed.status == 403 && mixed.text.contains("does not confirm"), "{}", mixed.text);
    // A person who declines is not signed in, and is told so.
    let back = ours.on_github("").await;
    assert!(back.contains("error=access_denied"), "{back}");
    let refused = ours.get(&back).await;
    assert!(refused.status == 403 && refused.text.contains("do not want to sign in"), "{}", refused.text);
    // After all of that, neither is signed in.
    for visitor in [&mut ours, &mut other] {
        assert_eq!(visitor.get(&path).await.status, 303);
    }

    let back = ours.on_github(MAINTAINER).await;
    assert_eq!(other.get(&back).await.status, 403, "which takes nothing from ours");
    assert_eq!(ours.get(&back).await.status, 200);
    let page = ours.get(&path).await;
    assert!(page.status == 200 && page.text.contains(MAINTAINER) && !page.text.contains("ghu_"));
    // A second use fails, and the session continues.
    assert_eq!(ours.get(&back).await.status, 403);
    assert_eq!(ours.get(&path).await.status, 200);
    // After signing out, the old cookie is invalid.
    let kept = ours.cookies.clone();
    let word = ours.word().await;
    assert_eq!(ours.post("/sign-out", &json!({"word": word})).await.status, 303);
    ours.cookies = kept;
    assert_eq!(ours.get(&path).await.status, 303);
    cancel(world, order).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_see_what_they_may_read_and_lose_it_with_their_right() {
    let (world, origin, order) = busy().await;
    let path = format!("/orders/{order}");
    let mut stranger = Visitor::new(&origin);
    stranger.sign_in(STRANGER).await;
    for hidden in
        ["", "/events", "/cancel", "/runs/implement-1-agent", "/files/x"].map(|rest| format!("{path}{rest}"))
    {
        assert_eq!(stranger.get(&hidden).await.status, 404, "{hidden}");
    }
    let list = stranger.get("/").await.text;
    assert!(list.contains("There is no order yet") && !list.contains(REPOSITORY), "{list}");
    let figures = stranger.get("/statistics").await.text;
    assert!(figures.contains("nothing to add up") && !figures.contains(REPOSITORY), "{figures}");
    assert!(
        figures.contains(&format!("Counted against {STRANGER}")),
        "their own day, though it is empty: {figures}"
    );
    let word = stranger.word().await;
    assert_eq!(stranger.post(&format!("{path}/cancel"), &json!({"word": word})).await.status, 404);

    let mut reader = Visitor::new(&origin);
    reader.sign_in(TRIAGER).await;
    let page = reader.get(&path).await;
    assert!(page.status == 200 && !page.text.contains(&format!("{path}/cancel")), "{}", page.text);
    assert!(reader.get("/").await.text.contains(REPOSITORY));
    assert!(reader.get("/statistics").await.text.contains(REPOSITORY));
    assert_eq!(reader.get(&format!("{path}/cancel")).await.status, 403);
    let word = reader.word().await;
    let forged = reader.post(&format!("{path}/cancel"), &json!({"word": word})).await;
    assert!(forged.status == 403 && forged.text.contains("not write to it"), "{}", forged.text);
    // Pages that concern no single repository are only for the server's operator.
    for hidden in ["/deliveries", "/settings"] {
        assert_eq!(reader.get(hidden).await.status, 404, "{hidden}");
    }
    assert_eq!(is_said(&world, order).await, Vec::new(), "nobody has said anything");

    // Open pages end when the person loses access.
    let request =
        reader.client.get(format!("{origin}{path}/events")).header("cookie", reader.cookies.join("; "));
    let open = request.send().await.expect("an answer");
    assert_eq!(open.status(), 200);
    world.github.set_permission(REPOSITORY, TRIAGER, RepositoryRole::None).expect("it is there");
    open.text().await.expect("the stream ends");
    assert_eq!(reader.get(&path).await.status, 404);
    assert!(!reader.get("/").await.text.contains(REPOSITORY));
    cancel(world, order).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn somebody_who_may_write_signs_in_and_cancels_and_the_journal_names_them() {
    let Some(mut browser) = tokio::task::block_in_place(Browser::start) else { return };
    let (world, origin, order) = busy().await;
    let path = format!("{origin}/orders/{order}");
    let sign_in = |browser: &mut Browser, login: &str| {
        browser.follow("a[href^='/sign-in/github']");
        browser.eval(&format!("document.querySelector('button[value={login}]').click()"));
    };
    tokio::task::block_in_place(|| {
        browser.size(1200, 900);
        browser.open(&path);
        browser.is_for_everybody("sign-in-github");
        sign_in(&mut browser, TRIAGER);
        // Signing in leads to the order that was requested.
        browser.until("document.querySelector('#head h1') && document.querySelector('.login')");
        assert!(browser.text().contains(TRIAGER), "{}", browser.text());
        assert_eq!(browser.eval("document.querySelectorAll('#head .actions a').length"), 0);
        browser.is_for_everybody("order-reader");
        browser.follow("header form button");
        browser.open(&path);
        sign_in(&mut browser, STRANGER);
        browser.until("document.querySelector('h1')?.textContent === 'There is nothing here'");
        browser.open(&origin);
        assert!(browser.text().contains("There is no order yet"), "{}", browser.text());
        browser.follow("header form button");
        browser.open(&path);
        sign_in(&mut browser, MAINTAINER);
        browser.until("document.querySelector('#head a.danger')");
        browser.follow("#head a.danger");
        assert!(browser.text().contains(&format!("as said by {MAINTAINER}")), "{}", browser.text());
        browser.follow("button.danger");
        browser.until("document.querySelector('#head .badge').textContent === 'cancelled'");
        assert!(browser.text().contains(&format!("/cancel by {MAINTAINER}")), "{}", browser.text());
    });
    let ended = world.settled().await;
    assert_eq!((ended.word(), ended.order), ("cancelled", order), "{}", ended.because());
    let said = is_said(&world, order).await;
    let [Requester::Person(person)] = said.as_slice() else { panic!("{said:?}") };
    assert_eq!(person.login, MAINTAINER);
    world.end().await;
}
