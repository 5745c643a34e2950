//! Clients that guess tokens or request what does not exist.

use super::*;

impl HttpFixture {
    async fn show(&self, token: &str, from: &str) -> Response {
        let request = self.client.get(self.url("/api/v1/work-orders")).bearer_auth(token);
        request.header("x-forwarded-for", from).send().await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_tokens_do_not_lock_out_the_right_one_from_the_same_address() {
    let house = http_fixture().await;
    for _ in 0..12 {
        problem(house.show("a guess", "203.0.113.7").await, 401).await;
    }
    assert_eq!(house.show(TOKEN, "203.0.113.7").await.status(), StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_with_a_character_that_is_none_is_refused_before_anybody_looks_for_it() {
    let house = http_fixture().await;
    for path in ["/api/v1/work-orders?repository=a%00/b", "/api/v1/work-orders/a%00b", "/%00"] {
        problem(house.ask(Method::GET, path).await, 400).await;
    }
    // Here the percent sign itself is escaped.
    assert_eq!(house.ask(Method::GET, "/%2500").await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_is_said_here_is_kept_on_the_way() {
    let house = http_fixture().await;
    for path in ["/api/v1/work-orders", "/metrics", "/nowhere"] {
        assert_eq!(house.ask(Method::GET, path).await.headers()["cache-control"], "no-store", "{path}");
    }
}
