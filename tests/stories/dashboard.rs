//! The dashboard in a real browser, while real orders are running.

use std::time::Duration;

use journeyman::order::JournalEvent;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::world::{API_TOKEN, Story};

/// Reports its work for a while, and does it once a person gives advice.
const SLOW: &str = r#"
- stage: implement
  raw: true
  run: |
    say() { printf '{"type":"assistant","message":{"content":[%s]}}\n' "$1"; }
    prompt=$(cat)
    echo '{"type":"system","subtype":"init","session_id":"8c3f4b52-7c50-4b5c-a7a5-1f6f3f1c2d3e"}'
    case "$prompt" in *"The sum is 42."*)
      echo 42 > answer
      git commit -q -a -m 'Give the right answer' -m 'It was off by one.' && git push -q origin HEAD
      echo '{"type":"result","is_error":false,"result":"The answer is right now.","total_cost_usd":0.05}'
      exit;;
    esac
    say '{"type":"text","text":"I read <b>the question</b> first. \u001b[31mRed\u001b[0m"}'
    say '{"type":"tool_use","name":"Bash","input":{"command":"cat question"}}'
    echo '{"type":"user","message":{"content":[{"type":"tool_result","content":"How many roads\nmust a man walk down?"}]}}'
    say '{"type":"tool_use","name":"Edit","input":{"file_path":"answer","old_string":"41","new_string":"42"}}'
    for turn in $(seq 1 40); do sleep 0.15; say "{\"type\":\"text\",\"text\":\"It is $(date +%s%3N) now.\"}"; done
    sleep 60
"#;

/// What the agent says while working.
const SAID: &str = "document.querySelector('#run-implement-1-agent .said')";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_follows_an_order_cancels_it_and_has_it_done_with_advice() {
    let Some(mut browser) = tokio::task::block_in_place(Browser::start) else { return };
    let world = Story::of(SLOW).issue("The answer is <wrong>", "It says 41.").labeled().await;
    let order = world.until("an order", |journal, _| Some(journal.opened().order)).await;
    let path = format!("/orders/{order}");
    tokio::task::block_in_place(|| {
        browser.size(1200, 900);
        // Without the right token nothing is visible.
        browser.open(&format!("{}{path}", world.address()));
        let shown = browser.text();
        assert!(shown.contains("Sign in") && !shown.contains("wrong"), "{shown}");
        browser.is_for_everybody("sign-in");
        browser.fill("[name=token]", "not the token");
        browser.follow("main form button");
        assert!(browser.text().contains("That is not the token"), "{}", browser.text());
        // Browsers log the rejected request.
        browser.complaints.clear();
        browser.fill("[name=token]", API_TOKEN);
        browser.follow("main form button");
        // Signing in leads to the order that was requested.
        browser.until("document.querySelector('#head h1')");
        assert!(browser.text().contains("The answer is <wrong>"), "{}", browser.text());

        // The agent's messages appear without a reload, and as text.
        browser.eval("window.is_same_page = true");
        browser.eval(
            "window.lags = []; new MutationObserver((all) => all.forEach((one) => one.addedNodes.forEach((node) => { \
             for (const said of (node.textContent || '').matchAll(/It is (\\d+) now/g)) window.lags.push(Date.now() - said[1]); \
             }))).observe(document.getElementById('runs'), {childList: true, subtree: true})",
        );
        browser.until(&format!("{SAID}?.innerText.includes('I read <b>the question</b> first. Red')"));
        browser.until(&format!("{SAID}.querySelectorAll('.tool').length === 2"));
        assert_eq!(browser.eval(&format!("{SAID}.querySelector('.diff .added').textContent")), "+42");
        browser.until("window.lags.length >= 15");
        let lags = browser.eval("window.lags");
        eprintln!("milliseconds from an agent's word to the page: {lags}");
        assert_eq!(browser.eval("window.is_same_page"), true);
        browser.is_for_everybody("order-live");

        // The list shows it as working.
        browser.open(&format!("{}/?state=working&text=WRONG", world.address()));
        assert!(browser.text().contains("at implement/1/agent"), "{}", browser.text());
        browser.is_for_everybody("orders");

        // Cancel with the keyboard only, through a confirmation.
        browser.open(&format!("{}{path}", world.address()));
        browser.eval("document.querySelector('a.danger').focus()");
        browser.eval("window.is_old_page = true");
        browser.press("Enter");
        browser.until("window.is_old_page === undefined && document.querySelector('button.danger')");
        browser.is_for_everybody("confirm");
        browser.follow("button.danger");
        browser.until("document.querySelector('#head .badge').textContent === 'cancelled'");
    });
    world.settled_as("cancelled").await;

    tokio::task::block_in_place(|| {
        browser.until("document.querySelector('a[href$=retry]')");
        browser.follow("a[href$=retry]");
        browser.fill("textarea", "The sum is 42. <script>alert(1)</script>");
        browser.follow("main form button");
        browser.until("document.querySelector('#head .badge').textContent === 'verified'");
        let said = browser.text();
        assert!(said.contains("/retry by the API"), "{said}");
        assert!(said.contains("The sum is 42. <script>alert(1)</script>"), "{said}");
        browser.eval("document.querySelectorAll('#steps details').forEach((one) => { one.open = true; })");
        browser.is_for_everybody("order-verified");
        // Transcripts can be read after the run.
        browser.follow("#steps li:has(.diff) a[href*='/runs/implement']");
        browser.is_for_everybody("transcript");
        for (path, shown) in [
            ("/statistics", "Week of opening"),
            ("/deliveries", "issues.labeled"),
            ("/settings", "Settings that hold"),
            ("/?text=nothing-has-this", "No order fits"),
        ] {
            browser.open(&format!("{}{path}", world.address()));
            assert!(browser.text().contains(shown), "{path}: {}", browser.text());
            browser.is_for_everybody(&path.replace(['/', '?', '='], ""));
        }
        assert_eq!(browser.complaints, Vec::<String>::new());
    });
    let again = world.settled().await;
    assert_eq!((again.word(), again.order), ("verified", order), "{}", again.because());
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_empty_handed_or_comes_from_elsewhere_changes_nothing() {
    let world = Story::of("- stage: implement\n  think: 60000\n  say: Nothing to do.\n").labeled().await;
    world.until_begun("implement/1/agent").await;
    let order = world.latest_order().await.expect("it is open");
    let client = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(Duration::from_secs(20))
        .build()
        .expect("a client");
    let at = |path: &str| format!("{}{path}", world.address());
    // Without a session every page redirects to sign-in.
    for path in ["/", &format!("/orders/{order}"), &format!("/orders/{order}/cancel"), "/orders/x"] {
        let answer = client.get(at(path)).send().await.expect("an answer");
        assert_eq!(answer.status(), 303, "{path}");
        assert!(answer.text().await.expect("a body").is_empty(), "{path}");
    }
    let events = client.get(at(&format!("/orders/{order}/events"))).send().await.expect("an answer");
    assert_eq!(events.status(), 401);
    // A session alone cannot submit a form: another site's form lacks the session's word.
    let signed =
        client.post(at("/sign-in")).form(&json!({"token": API_TOKEN})).send().await.expect("an answer");
    assert_eq!(signed.status(), 303);
    let cookie = signed.headers()["set-cookie"].to_str().expect("text").to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let cookie = cookie.split(';').next().expect("a pair").to_owned();
    let page = client.get(at(&format!("/orders/{order}/cancel"))).header("cookie", &cookie).send().await;
    let page = page.expect("an answer");
    let policy = page.headers()["content-security-policy"].to_str().expect("text").to_owned();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    let page = page.text().await.expect("a body");
    let word =
        page.split("name=\"word\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a word");
    let press = |word: &str, site: &'static str| {
        let request = client.post(at(&format!("/orders/{order}/cancel"))).header("cookie", &cookie);
        request.header("sec-fetch-site", site).form(&json!({"word": word})).send()
    };
    for (word, site) in [("", "same-origin"), ("0", "same-origin"), (word, "cross-site"), (word, "same-site")]
    {
        assert_eq!(press(word, site).await.expect("an answer").status(), 403, "{word:?} {site}");
    }
    let (journal, _) = world.look(order).await;
    let is_said = |event: &JournalEvent| matches!(event, JournalEvent::Signaled { .. });
    assert!(!journal.entries().iter().any(|entry| is_said(&entry.event)), "nobody has said anything");
    assert_eq!(press(word, "same-origin").await.expect("an answer").status(), 303);
    world.settled_as("cancelled").await;
    let told = world.api("GET", &format!("/api/v1/work-orders/{order}/journal"), None).await.1;
    let said = told["entries"].as_array().expect("entries").iter().find(|entry| entry["event"] == "signaled");
    let said = said.map_or(Value::Null, |entry| entry["signal"].clone());
    assert_eq!(
        (&said["by"]["by"], &said["command"]["command"]),
        (&json!("api_token"), &json!("cancel")),
        "{said}"
    );
    world.end().await;
}
