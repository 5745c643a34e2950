//! What `serve` finds out about the GitHub App at its start, and says where people look.

use super::program::journeyman;
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
    let signature = format!("sha256={}", "0".repeat(64));
    let request = reqwest::Client::new().post(format!("{}/webhook", world.address()));
    let answer = request.header("x-hub-signature-256", signature).body("{}").send().await.expect("an answer");
    assert_eq!(answer.status(), 401);

    world.hears("github.webhook_secret is not the secret on the App's page").await;

    assert_eq!(world.said().matches("a webhook was refused").count(), 1);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_database_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    // Listens and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("postgres://ada@{}/none", silent.local_addr().expect("an address"));
    let keys = journeyman::emulator::keys::generate().expect("keys");
    super::server::write_private(
        &folder.path().join("app.pem"),
        secrecy::ExposeSecret::expose_secret(&keys.private_pem),
    );
    let settings = format!(
        "[github]\napp_id = 7\nprivate_key_path = \"app.pem\"\nwebhook_secret = \"the-secret-of-this-story\"\n\
         [store]\nurl = \"{url}\"\n[sandbox]\nmode = \"none\"\n"
    );
    std::fs::write(folder.path().join("settings.toml"), settings).expect("a file");
    let mut command = journeyman("/".as_ref(), &["serve", "--config"]);
    command.arg(folder.path().join("settings.toml"));
    let mut program = super::program::Running::start(command);

    program
        .hears("that it waits", |said| said.contains("waiting for the database of store.url").then_some(()))
        .await;
}
