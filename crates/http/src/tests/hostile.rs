//! Whoever tries tokens, or looks for what nobody has.

use super::*;

impl HttpFixture {
    async fn show(&self, token: &str, from: &str) -> Response {
        let request = self.client.get(self.url("/api/v1/work-orders")).bearer_auth(token);
        request.header("x-forwarded-for", from).send().await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_tries_tokens_is_not_looked_at_for_a_while_and_others_are() {
    let house = http_fixture().await;
    for _ in 0..10 {
        problem(house.show("a guess", "203.0.113.7").await, 401).await;
    }
    for token in ["a guess", TOKEN] {
        let refused = house.show(token, "203.0.113.7").await;
        let seconds: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=61).contains(&seconds), "{seconds}");
        let detail = problem(refused, 429).await;
        assert!(detail.contains("too many wrong tokens"), "{detail}");
    }
    assert_eq!(house.show(TOKEN, "203.0.113.8").await.status(), StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_with_a_character_that_is_none_is_refused_before_anybody_looks_for_it() {
    let house = http_fixture().await;
    for path in ["/api/v1/work-orders?repository=a%00/b", "/api/v1/work-orders/a%00b", "/%00"] {
        problem(house.ask(Method::GET, path).await, 400).await;
    }
    // That one says itself what a percent sign is.
    assert_eq!(house.ask(Method::GET, "/%2500").await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_is_said_here_is_kept_on_the_way() {
    let house = http_fixture().await;
    for path in ["/api/v1/work-orders", "/metrics", "/nowhere"] {
        assert_eq!(house.ask(Method::GET, path).await.headers()["cache-control"], "no-store", "{path}");
    }
}
