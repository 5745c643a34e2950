//! What `serve` finds out about the GitHub App at its start, and says where people look.

use super::server::World;

const FILES: &[(&str, &str)] = &[("README.md", "# Sums\n")];
const ISSUE: (&str, &str) = ("Sums", "They are wrong.");

async fn ready(world: &World) -> (u16, String) {
    let answer = reqwest::get(format!("{}/ready", world.address())).await.expect("an answer");
    (answer.status().as_u16(), answer.text().await.expect("text"))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_github_does_not_know_is_not_ready_and_says_which_settings() {
    let wrong = [("JOURNEYMAN_GITHUB__APP_ID", "8")];
    let mut world = World::start("", &wrong, FILES, ISSUE).await;
    let words = "GitHub does not know the App: check github.app_id, github.private_key_path";
    world.hears(words).await;

    let (status, said) = ready(&world).await;

    assert_eq!(status, 503, "{said}");
    assert!(said.contains(words), "{said}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_is_refused_leaves_a_line_in_the_log() {
    let mut world = World::start("", &[], FILES, ISSUE).await;
    world.hears("GitHub knows the App as").await;
    assert_eq!(ready(&world).await.0, 200);
    let send = async |headers: &[(&str, &str)], body: &'static str| {
        let mut request = reqwest::Client::new().post(format!("{}/webhook", world.address())).body(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await.expect("an answer").status().as_u16()
    };
    let stranger = format!("sha256={}", "0".repeat(64));
    let form = "payload=%7B%7D";
    let signed = world.signature(form.as_bytes());
    // A stranger who signs nothing hides none of the others.
    for _ in 0..2 {
        assert_eq!(send(&[], "{}").await, 401);
        assert_eq!(send(&[("x-hub-signature-256", &stranger)], "{}").await, 401);
        assert_eq!(send(&[("x-hub-signature-256", &signed)], form).await, 400);
        let named =
            [("x-github-delivery", "5f0c2a9b-e1d8-4c7d-8c1f-0e9a5b7d6e21"), ("x-github-event", "issues")];
        let form_of_github = [&[("x-hub-signature-256", signed.as_str())][..], &named].concat();
        assert_eq!(send(&form_of_github, form).await, 415);
    }

    for words in [
        "there is no secret on the App's page",
        "github.webhook_secret is not the secret on the App's page",
        "the header X-GitHub-Delivery is missing or is not a GUID",
        "set the webhook's content type to application/json on GitHub",
    ] {
        world.hears(words).await;
        assert_eq!(world.said().matches(words).count(), 1, "{}", world.said());
    }
    assert_eq!(world.said().matches("a webhook was refused").count(), 4);
    world.stop().await;
}
