//! The pages, as a browser uses them.

use super::*;
use crate::{EmulatedIssueState, RepositoryRole};

async fn page(emulator: &Emulator, path: &str) -> (u16, String) {
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let answer = client.get(format!("{}{path}", emulator.origin())).send().await.expect("an answer");
    (answer.status().as_u16(), answer.text().await.expect("text"))
}

async fn send(emulator: &Emulator, path: &str, acting: &str, origin: &str, form: &[(&str, &str)]) -> u16 {
    let redirects = reqwest::redirect::Policy::none();
    let client = reqwest::Client::builder().no_proxy().redirect(redirects).build().expect("a client");
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let request = client
        .post(format!("{}{path}", emulator.origin()))
        .header("content-type", "application/x-www-form-urlencoded")
        .header("origin", origin)
        .header("cookie", format!("acting={acting}"));
    request.body(body).send().await.expect("an answer").status().as_u16()
}

#[tokio::test]
async fn an_issue_and_its_pull_request_can_be_looked_at() {
    let emulator = stage().await;
    let hostile = "<script>alert(1)</script>\n\n**bold** `a - b`";
    let issue =
        emulator.open_issue(REPOSITORY, "ada", "Sum <b>is</b> wrong", hostile).await.expect("an issue");
    let changed = [("src/sum.py".to_owned(), Some(b"def add(a, b):\n    return a + b  # <i>\n".to_vec()))];
    emulator.push_commit(REPOSITORY, "fix", "ada", "Fix the <sum>", changed.into()).await.expect("a commit");
    let pull = open_pull(&emulator, true).await;
    let head = pull["head"]["sha"].as_str().expect("a head");
    let (status, text) = page(&emulator, &format!("/octo/calc/issues/{issue}")).await;
    assert_eq!(status, 200);
    assert!(
        !text.contains("<script>alert")
            && !text.contains("<b>is</b>")
            && text.contains("<strong>bold</strong>")
    );
    let (status, text) = page(&emulator, &format!("/octo/calc/issues/{}", pull["number"])).await;
    assert_eq!(status, 200, "led on to the pull request");
    for part in ["Draft", "journeyman[bot]", head, "+1", "−1", "return a - b", "&#60;sum&#62;"] {
        assert!(text.contains(part), "{part} is missing");
    }
    assert!(!text.contains("# <i>"));
    for (path, status) in
        [("/", 200), ("/octo/calc", 200), ("/octo/none", 404), ("/octo/calc/issues/99", 404)]
    {
        assert_eq!(page(&emulator, path).await.0, status, "{path}");
    }
}

#[tokio::test]
async fn people_act_within_their_role_and_only_from_our_pages() {
    let emulator = stage().await;
    let origin = emulator.origin();
    emulator.add_user("reader");
    emulator.set_permission(REPOSITORY, "tom", RepositoryRole::Triage).expect("a role");
    let new = [("title", "Sum is wrong"), ("body", "it\r\nsubtracts")];
    assert_eq!(send(&emulator, "/octo/calc/issues", "reader", &origin, &new).await, 303);
    assert_eq!(
        emulator.issue(REPOSITORY, 1).map(|one| (one.author, one.body)),
        Some(("reader".into(), "it\nsubtracts".into()))
    );
    let label = "/octo/calc/issues/1/label";
    let name = [("label", "journeyman")];
    assert_eq!(send(&emulator, label, "reader", &origin, &name).await, 403, "a reader");
    assert_eq!(send(&emulator, label, "tom", "http://evil.example", &name).await, 403, "another site's form");
    assert_eq!(emulator.issue(REPOSITORY, 1).map(|one| one.labels.len()), Some(0));
    assert_eq!(send(&emulator, label, "tom", &origin, &name).await, 303);
    assert_eq!(
        send(&emulator, "/octo/calc/issues/1/comment", "tom", &origin, &[("body", "/retry")]).await,
        303
    );
    assert_eq!(send(&emulator, "/octo/calc/issues/1/comment", "tom", &origin, &[("body", " ")]).await, 422);
    assert_eq!(send(&emulator, "/octo/calc/issues/1/close", "reader", &origin, &[]).await, 303, "one's own");
    let seen = emulator.issue(REPOSITORY, 1).expect("the issue");
    assert_eq!(
        (seen.state, seen.labels, seen.comments.len()),
        (EmulatedIssueState::Closed, vec!["journeyman".to_owned()], 1)
    );
    assert_eq!(seen.comments.first().map(|one| one.author.as_str()), Some("tom"));
    // The bot is no person and cannot be chosen, so the visitor stays the owner.
    assert_eq!(
        send(&emulator, "/octo/calc/issues/1/comment", "journeyman[bot]", &origin, &[("body", "x")]).await,
        303
    );
    let last =
        emulator.issue(REPOSITORY, 1).and_then(|one| one.comments.last().map(|one| one.author.clone()));
    assert_eq!(last.as_deref(), Some("octo"));
}

#[tokio::test]
async fn a_review_with_a_line_is_made_answered_and_settled_by_hand() {
    let emulator = stage().await;
    let origin = emulator.origin();
    let changed = "def add(a, b):\n    # <i>a sum</i>\n    return a + b\n";
    let push = async |text: &str| {
        let files = [("src/sum.py".to_owned(), Some(text.as_bytes().to_vec()))];
        emulator.push_commit(REPOSITORY, "fix", "ada", "Fix", files.into()).await.expect("a commit");
    };
    push(changed).await;
    open_pull(&emulator, false).await;
    let act = async |name: &str, form: &[(&str, &str)]| {
        send(&emulator, &format!("/octo/calc/pull/1/{name}"), "octo", &origin, form).await
    };
    let place = [("path", "src/sum.py"), ("line", "2")];
    let review =
        |note: &'static str| [place[0], place[1], ("state", "request_changes"), ("body", ""), ("note", note)];
    assert_eq!(act("review", &review("")).await, 422, "there is nothing in it");
    assert_eq!(act("review", &[place[0], ("state", "comment"), ("line", "99"), ("note", "x")]).await, 422);
    assert_eq!(act("review", &review("Why <b>this</b>?")).await, 303);
    let (_, text) = page(&emulator, "/octo/calc/pull/1").await;
    for part in
        ["requested changes", "line 2", "# &#60;i&#62;a sum", "Why <b>this</b>?", "data-path=\"src/sum.py\""]
    {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    let thread = || emulator.pulls(REPOSITORY)[0].threads[0].clone();
    let first = thread().comments[0].id.to_string();
    assert_eq!(act("reply", &[("to", &first), ("body", "It says what it is.")]).await, 303);
    assert_eq!(act("reply", &[("to", "x"), ("body", "x")]).await, 404);
    let id = thread().node_id.trim_start_matches("PRRT_").to_owned();
    assert_eq!(act("resolve", &[("thread", &id)]).await, 303);
    assert!(thread().resolved && thread().comments.len() == 2);
    let token = full_token(&emulator).await;
    let said = emulator.comment(REPOSITORY, 1, "ada", "an old word").await.expect("a comment");
    let path = format!("/repos/octo/calc/issues/comments/{said}/reactions");
    call(&emulator, "POST", &path, &token, json!({"content": "rocket"})).await;
    push("def add(a, b):\n    return b + a\n").await;
    let (_, text) = page(&emulator, "/octo/calc/pull/1").await;
    for part in
        ["line 2 of an earlier version", "outdated", "resolved by octo", "It says what it is.", "🚀 1"]
    {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    assert_eq!(text.matches("reviewed ·").count(), 0, "an answer is no entry of its own");
}

#[tokio::test]
async fn only_names_of_this_machine_are_answered() {
    let emulator = stage().await;
    let origin = emulator.origin();
    let address = origin.strip_prefix("http://").expect("an address");
    let port = address.rsplit_once(':').expect("a port").1;
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    for (host, expected) in [
        (address.to_owned(), 200),
        (format!("localhost:{port}"), 200),
        (format!("LocalHost:{port}"), 200),
        (format!("[::1]:{port}"), 200),
        (format!("127.8.0.1:{port}"), 200),
        (format!("rebound.example:{port}"), 421),
        (format!("localhost.rebound.example:{port}"), 421),
        (format!("127.0.0.1.rebound.example:{port}"), 421),
        (format!("demo.localhost:{port}"), 421),
        (format!("10.0.0.1:{port}"), 421),
        (format!("0.0.0.0:{port}"), 421),
        ("localhost".to_owned(), 421),
        ("127.0.0.1:1".to_owned(), 421),
        (format!("x@127.0.0.1:{port}"), 421),
    ] {
        for path in
            ["/", "/octo/calc", "/octo/calc.git/info/refs?service=git-upload-pack", "/api/v3/rate_limit"]
        {
            let request = client.get(format!("{origin}{path}")).header("host", &host);
            let answer = request.send().await.expect("an answer");
            let refused = answer.status().as_u16() == 421;
            assert_eq!(refused, expected == 421, "{host} {path}: {}", answer.status());
            if refused {
                let text = answer.text().await.expect("text");
                assert!(text.contains(&format!("http://{address}")), "{text}");
            }
        }
    }
}
