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

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_database_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    // Listens and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = silent.local_addr().expect("an address");
    let keys = journeyman::emulator::keys::generate().expect("keys");
    super::server::write_private(
        &folder.path().join("app.pem"),
        secrecy::ExposeSecret::expose_secret(&keys.private_pem),
    );
    let start = |at: std::net::SocketAddr| {
        let settings = format!(
            "[server]\nlisten = \"127.0.0.1:0\"\n[github]\napp_id = 7\nprivate_key_path = \"app.pem\"\n\
             webhook_secret = \"the-secret-of-this-story\"\n[data]\ndir = \"data\"\n\
             [store]\nurl = \"postgres://ada:s3cret@{at}/none\"\n[sandbox]\nmode = \"none\"\n"
        );
        std::fs::write(folder.path().join("settings.toml"), settings).expect("a file");
        let mut command = journeyman("/".as_ref(), &["serve", "--config"]);
        command.arg(folder.path().join("settings.toml"));
        super::program::Running::start(command)
    };

    let mut waiting = start(at);

    let words =
        format!("waiting for PostgreSQL at {at} (store.url): it takes connections, and does not answer yet");
    waiting.hears("that it waits", |said| said.contains(&words).then_some(())).await;
    drop(waiting);

    // And one that is not there.
    drop(silent);
    let ended = start(at).end().await;

    assert_eq!(ended.code, Some(1), "{}", ended.said);
    for words in [
        &format!("waiting for PostgreSQL at {at} (store.url): Connection refused"),
        &format!("journeyman: PostgreSQL at {at} cannot be reached: Connection refused"),
        "start it, or change store.url",
    ] {
        assert!(ended.said.contains(words), "{words:?} is not in {}", ended.said);
    }
    assert!(!ended.said.contains("s3cret"), "{}", ended.said);
}
