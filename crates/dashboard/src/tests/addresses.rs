//! Addresses that do not exist, are malformed, or are forbidden for the viewer.

use super::*;

#[actix_web::test]
async fn an_address_that_nobody_can_read_leads_to_a_page_that_says_so() {
    let pages = DashboardFixture::new().await;
    pages.order().await;
    for (path, expected, says) in [
        (
            "/deliveries?before=abc",
            StatusCode::BAD_REQUEST,
            "The page of deliveries that was asked for is none.",
        ),
        ("/?state=nonsense", StatusCode::OK, "There is no such state."),
        ("/?state=unreadable", StatusCode::OK, "No order fits"),
    ] {
        let (status, page) = pages.page(path).await;
        assert_eq!(status, expected, "{path}");
        assert!(page.contains(says) && page.contains("</html>"), "{path}: {page}");
    }
}

#[actix_web::test]
async fn where_nothing_is_people_see_a_page_and_programs_read_json() {
    let pages = DashboardFixture::new().await;
    let asked = async |path: &str, accept: &str| {
        let answer = pages.send(TestRequest::get().uri(path).insert_header((header::ACCEPT, accept))).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}");
        answer.headers().get(header::CONTENT_TYPE).unwrap().to_str().unwrap().to_owned()
    };
    let browser = "text/html,application/xhtml+xml,*/*;q=0.8";
    assert_eq!(asked("/nowhere", browser).await, "text/html; charset=utf-8");
    assert_eq!(asked("/nowhere", "*/*").await, "application/problem+json");
    assert_eq!(asked("/api/v1/nowhere", browser).await, "application/problem+json");
}

#[actix_web::test]
async fn what_an_order_keeps_is_kept_by_nobody_on_the_way() {
    let pages = DashboardFixture::new().await;
    let order = pages.order().await;
    pages.state.store.put_artifact(order, "plan.md", "text/markdown", b"a plan").await.unwrap();
    for path in ["/".to_owned(), format!("/orders/{order}"), format!("/orders/{order}/files/plan.md")] {
        let answer = pages.ask(&path).await;
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
        assert_eq!(answer.headers().get(header::CACHE_CONTROL).unwrap(), "no-store", "{path}");
    }
}

#[actix_web::test]
async fn wrong_tokens_do_not_lock_out_the_right_one_from_the_same_address() {
    let pages = DashboardFixture::new().await;
    let sign_in = async |token: &str| {
        let form = TestRequest::post().uri("/sign-in").peer_addr("203.0.113.7:1".parse().unwrap());
        pages.send(form.set_form(json!({"token": token}))).await.status()
    };
    for _ in 0..12 {
        assert_eq!(sign_in("a guess").await, StatusCode::FORBIDDEN);
    }
    assert_eq!(sign_in(TOKEN).await, StatusCode::SEE_OTHER);
}
