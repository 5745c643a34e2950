//! What `serve` finds out about the GitHub App at its start, and reports where people look.

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
