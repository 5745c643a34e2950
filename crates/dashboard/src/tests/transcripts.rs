//! An agent's output in a run, however long.

use super::*;

fn said(number: usize, text: &str) -> String {
    let text = format!("Line {number}. {text}");
    json!({"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}}).to_string() + "\n"
}

#[actix_web::test]
async fn of_a_long_transcript_the_end_is_shown_with_the_way_to_all_of_it() {
    let pages = DashboardFixture::new().await;
    let order = pages.order().await;
    let path = format!("/orders/{order}/runs/plan.1.agent");
    let (status, none) = pages.page(&path).await;
    assert!(status == StatusCode::OK && none.contains("There is no transcript of it here."), "{none}");
    // Each part is long and shown in full.
    let whole: String = (0..2_000).map(|number| said(number, &"word ".repeat(2_000))).collect();
    let keep = async |content: &str| {
        let store = &pages.state.store;
        store.put_artifact(order, "plan.1.agent.jsonl", "text/plain", content.as_bytes()).await.unwrap();
    };
    keep(&whole).await;

    let (status, page) = pages.page(&path).await;

    assert_eq!(status, StatusCode::OK);
    assert!(page.len() < 2 << 20, "{} bytes are a page", page.len());
    assert!(page.contains("Line 1999.") && !page.contains("Line 1800."), "the last of it");
    let told = "The transcript has 19.2 MiB. Its last 1.0 MiB were read for this page.";
    assert!(
        page.contains(told),
        "{:?}",
        page.get(page.find("The transcript").unwrap_or(0)..).map(|at| &at[..200])
    );
    assert!(page.contains(&format!("href=\"/orders/{order}/files/plan.1.agent.jsonl\"")));
    let (_, all) = pages.page(&format!("/orders/{order}/files/plan.1.agent.jsonl")).await;
    assert!(all == whole, "the file is as it was kept");

    // A record longer than the part that is read.
    keep(&said(0, &"x".repeat(3 << 20))).await;
    let (_, page) = pages.page(&path).await;
    assert!(page.contains("The last record is longer than what is read for this page."), "{page}");

    keep(&said(7, "That was all.")).await;
    let (_, page) = pages.page(&path).await;
    assert!(page.contains("That was all.") && !page.contains("were read for this page"), "{page}");
}

#[actix_web::test]
async fn whoever_asks_for_one_transcript_too_many_is_asked_to_come_again() {
    let pages = DashboardFixture::new().await;
    let order = pages.order().await;
    let path = format!("/orders/{order}/runs/plan.1.agent");
    let turns = &pages.state.shared.transcripts;
    let (first, _second) = (turns.turn().await.unwrap(), turns.turn().await.unwrap());
    // Without a store: it uses another thread, and the paused clock would run ahead of it.
    tokio::time::pause();

    let answer = turns.turn().await.err().expect("too many");
    let answer = actix_web::Error::from(answer).error_response();

    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answer.headers().get(header::RETRY_AFTER).unwrap(), "10");
    tokio::time::resume();
    let waits = tokio::time::timeout(Duration::from_millis(500), pages.ask(&path)).await;
    assert!(waits.is_err(), "it waits for a turn");
    drop(first);
    assert_eq!(pages.page(&path).await.0, StatusCode::OK);
}
