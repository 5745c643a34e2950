//! What kills the server each time that it is tried: an effect ends its own order with a word, a page is left out, and what is
//! beside them goes on.

use journeyman::order::{EffectOutcome, JournalEvent};

use super::moment::Moment;
use super::serve::{self, Serving};
use super::world::{Agent, Ended, PATIENCE, PERSON, REPOSITORY, World};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_kills_the_server_each_time_ends_its_own_order_and_not_the_one_beside_it() {
    let world = World::new(Agent::Quick).await;
    let guilty = world.issue;
    let title = "Take the mean of the middle two, again";
    let body = "`sh median.sh 1 2 3 5` prints 3. It should print 2.5.";
    let innocent = world.emulator.open_issue(REPOSITORY, PERSON, title, body).await.expect("an issue");
    let poison = Moment::Poisoned { issue: guilty, effect: "implement/1/tests".to_owned() };
    let mut server = world.start(Some(poison.clone())).await;
    for issue in [guilty, innocent] {
        world.emulator.label(REPOSITORY, issue, "journeyman", PERSON).await.expect("it is labeled");
    }

    let mut deaths = 0;
    while server.ended().await == Ended::Killed {
        deaths += 1;
        assert!(deaths < 10, "it dies again and again: {}", world.said());
        server = world.start(Some(poison.clone())).await;
    }

    assert_eq!(deaths, 5, "{}", world.said());
    let journals = world.journals().await;
    let of = |issue: u64| {
        let found = journals.iter().find(|(journal, _)| journal.opened().issue.number.0 == issue);
        found.expect("it has an order")
    };
    let (_, survey) = of(innocent);
    assert!(survey.surfaces().verified, "{}", world.said());
    let (journal, survey) = of(guilty);
    assert!(survey.next.settled.is_some() && !survey.surfaces().verified);
    let said = journal.entries().iter().find_map(|entry| match &entry.event {
        JournalEvent::Observed { key, outcome } if key.0 == "implement/1/tests" => match &**outcome {
            EffectOutcome::Trouble(trouble) => Some(trouble.message.as_str()),
            _ => None,
        },
        _ => None,
    });
    assert_eq!(
        said,
        Some(
            "the server died 5 times while this was under way, 3 times with nothing beside it; it is not tried again by \
             itself, and /retry tries it once more"
        )
    );
    let comments = world.emulator.issue(REPOSITORY, guilty).expect("the issue").comments;
    assert!(comments.iter().any(|comment| comment.body.contains("the server died 5 times")), "{comments:#?}");
}

/// A browser shows an order, and asks for its events again as soon as there is a server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_a_browser_asks_for_again_after_each_death_is_left_out_and_others_are_shown() {
    const TOKEN: &str = "a-token-for-the-stories-only";
    let world = World::new(Agent::Quick).await;
    let variables = [("JOURNEYMAN_SERVER__API_TOKEN", TOKEN)];
    let mut server = serve::start_with(&world, &variables).await;
    world.label().await;
    serve::run_to_the_end(&world).await;
    let of_api = format!("http://{}/api/v1/work-orders", server.address);
    let listed = reqwest::Client::new().get(of_api).bearer_auth(TOKEN).send().await.expect("it answers");
    let listed: serde_json::Value = listed.json().await.expect("JSON");
    let page = format!("/orders/{}", listed["work_orders"][0]["id"].as_str().expect("an order"));

    for _ in 0..3 {
        // It has to sign in again first, as the server is another one, and is refused until then.
        let stranger = reqwest::Client::new().get(format!("http://{}{page}/events", server.address));
        let stranger = stranger.header("cookie", "journeyman_session=old").send().await.expect("it answers");
        assert_eq!(stranger.status(), 401);
        // It is read until the server is gone.
        let events = look(&server, TOKEN, &format!("{page}/events")).await;
        assert_eq!(events.status(), 200);
        server.kill().await;
        drop(events);
        server = serve::start_with(&world, &variables).await;
    }

    let events = look(&server, TOKEN, &format!("{page}/events")).await;
    assert_eq!(events.status(), 503);
    assert_eq!(
        events.text().await.expect("a text"),
        "This is not answered for a day, so that it ends nothing else: the server died 3 times while this was under way, \
         0 times with nothing beside it. The server's log says what else was under way.\n"
    );
    assert_eq!(look(&server, TOKEN, &page).await.status(), 200);
}

/// What a browser sees that has signed in. While the server does alone what a dead one was doing it asks again, as it is told.
async fn look(server: &Serving, token: &str, page: &str) -> reqwest::Response {
    let begun = std::time::Instant::now();
    loop {
        if let Some(answer) = look_once(server, token, page).await {
            return answer;
        }
        assert!(begun.elapsed() < PATIENCE, "it does something alone for ever");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

/// None where it is asked to come again.
async fn look_once(server: &Serving, token: &str, page: &str) -> Option<reqwest::Response> {
    let client =
        reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().expect("a client");
    let form = serde_json::json!({"token": token});
    let signed = client.post(format!("http://{}/sign-in", server.address)).form(&form).send().await;
    let cookie = signed.expect("it answers").headers().get("set-cookie")?.clone();
    let cookie = cookie.to_str().expect("text").split(';').next().expect("a pair").to_owned();
    let page = client.get(format!("http://{}{page}", server.address)).header("cookie", cookie);
    let answer = page.send().await.expect("it answers");
    if answer.status() != 503 {
        return Some(answer);
    }
    let (head, said) = (answer.status(), answer.text().await.expect("a text"));
    if said.contains("Ask again in a minute") {
        return None;
    }
    let mut again = http::Response::new(said);
    *again.status_mut() = head;
    Some(again.into())
}
