use std::sync::Mutex;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::scripted::{APP, KEY, ScriptedReply, ScriptedServer, github_at, not_found, ok, refused};
use crate::{AppCredentials, ErrorKind, GitAccess, GitHub, WriteLimits};
use journeyman_order::IssueNumber;

fn repository() -> Value {
    json!({"id": 1, "full_name": "octo/hello", "default_branch": "main"})
}

#[tokio::test]
async fn a_token_is_narrowed_to_the_call_and_kept_for_the_next() {
    let server = ScriptedServer::start(|seen| {
        if seen.call.ends_with("/labels?per_page=100&page=1") { ok(json!([])) } else { ok(repository()) }
    })
    .await;
    server.github.repository(&server.at).await.unwrap();
    server.github.repository(&server.at).await.unwrap();
    server.github.set_order_label(&server.at, IssueNumber(7), crate::OrderLabel::None).await.unwrap();

    let seen = server.requests();
    let made: Vec<&Value> =
        seen.iter().filter(|seen| seen.call.ends_with("/access_tokens")).map(|seen| &seen.body).collect();
    assert_eq!(
        made,
        [
            &json!({"repositories": ["hello"], "permissions": {"metadata": "read"}}),
            &json!({"repositories": ["hello"], "permissions": {"issues": "read"}}),
        ]
    );
    assert_eq!(seen[0].call, "POST /app/installations/5/access_tokens");
    assert_eq!(seen[1].authorization, "Bearer ghs_secret1");
    assert_eq!(seen[2].authorization, "Bearer ghs_secret1");
    // GitHub refuses requests without one.
    assert!(seen.iter().all(|seen| !seen.user_agent.is_empty()));
    // The App's own requests carry a JWT that it signed.
    let signed = seen[0].authorization.strip_prefix("Bearer ").unwrap();
    let claims = jsonwebtoken::dangerous::insecure_decode::<Value>(signed).unwrap().claims;
    assert_eq!(claims["iss"], json!(APP));
    let lasts = claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap();
    assert!((1..=600).contains(&lasts), "{lasts}");
}

#[tokio::test]
async fn a_refused_token_is_replaced_once() {
    let server = ScriptedServer::start(|seen| {
        if seen.authorization == "Bearer ghs_secret1" {
            refused(401, "Bad credentials")
        } else {
            ok(repository())
        }
    })
    .await;
    server.github.repository(&server.at).await.unwrap();
    server.github.repository(&server.at).await.unwrap();
    assert_eq!(server.count("POST /app"), 2);
    assert_eq!(server.count("GET /repos/octo/hello"), 3);

    let server = ScriptedServer::start(|_| refused(401, "Bad credentials")).await;
    let error = server.github.repository(&server.at).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unauthorized);
    assert_eq!(server.count("GET /repos/octo/hello"), 2);
}

#[tokio::test]
async fn a_wrong_key_is_reported_by_its_setting() {
    let server = ScriptedServer::bare(|_| refused(401, "A JSON web token could not be decoded")).await;
    let error = server.github.repository(&server.at).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unauthorized);
    assert!(error.message.contains("github.private_key_path"), "{error}");

    let settings = AppCredentials {
        api_url: "https://api.github.com".parse().unwrap(),
        app_id: 1,
        private_key_pem: SecretString::from(
            "-----BEGIN RSA PRIVATE KEY-----\nxyzzy\n-----END RSA PRIVATE KEY-----",
        ),
        outgoing: Default::default(),
    };
    let shown = format!("{settings:?}");
    let error = GitHub::new(settings, WriteLimits::NONE).unwrap_err();
    assert!(error.message.contains("github.private_key_path"), "{error}");
    assert!(!shown.contains("xyzzy") && !error.message.contains("xyzzy"));
}

#[tokio::test]
async fn permissions_that_were_not_granted_are_named() {
    let server = ScriptedServer::bare(|_| refused(422, "The permissions requested are not granted")).await;
    let error = server.github.git_token(&server.at, GitAccess::Push).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Forbidden);
    assert!(error.message.contains("Contents: Read and write"), "{error}");

    let server = ScriptedServer::bare(|_| not_found()).await;
    let error = server.github.repository(&server.at).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Forbidden);
    assert!(error.message.contains("install the App"), "{error}");
}

#[tokio::test]
async fn reads_are_repeated_while_github_is_away_and_limits_are_told() {
    let tries = Mutex::new(0);
    let server = ScriptedServer::start(move |_| {
        *tries.lock().unwrap() += 1;
        match *tries.lock().unwrap() {
            1 => ScriptedReply::Cut,
            2 => refused(502, "Bad Gateway"),
            _ => ok(repository()),
        }
    })
    .await;
    server.github.repository(&server.at).await.unwrap();

    let server = ScriptedServer::start(|_| refused(503, "away")).await;
    let error = server.github.repository(&server.at).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable { retry_after: None });
    assert_eq!(server.count("GET "), 3);

    let server = ScriptedServer::start(|_| {
        ScriptedReply::With(
            403,
            &[("retry-after", "41")],
            json!({"message": "You have exceeded a secondary rate limit"}),
        )
    })
    .await;
    let error = server.github.repository(&server.at).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable { retry_after: Some(Duration::from_secs(41)) });
    assert_eq!(server.count("GET "), 1);

    let github = github_at("http://127.0.0.1:1/api/v3");
    let error = github.repository(&server.at).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable { retry_after: None });
    assert!(error.message.contains("github.api_url"), "{error}");
}

#[tokio::test]
async fn a_token_for_git_is_made_anew_each_time_and_revoked() {
    let server = ScriptedServer::start(|_| ScriptedReply::Json(204, Value::Null)).await;
    let read = server.github.git_token(&server.at, GitAccess::Read).await.unwrap();
    let push = server.github.git_token(&server.at, GitAccess::Push).await.unwrap();
    assert_eq!(push.secret.expose_secret(), "ghs_secret2");
    assert!(!format!("{read:?}{push:?}").contains("secret1"));
    push.revoke().await;
    let seen = server.requests();
    assert_eq!(seen[0].body["permissions"], json!({"contents": "read"}));
    assert_eq!(seen[1].body["permissions"], json!({"contents": "write"}));
    assert_eq!(seen[2].call, "DELETE /installation/token");
    assert_eq!(seen[2].authorization, "Bearer ghs_secret2");
}

#[tokio::test]
async fn no_error_shows_a_secret() {
    for reply in [401, 403, 404, 409, 422, 429, 500, 418] {
        let server = ScriptedServer::start(move |_| refused(reply, "no")).await;
        let error = server.github.issue(&server.at, IssueNumber(7)).await.unwrap_err();
        let shown = format!("{error} {error:?} {:?}", server.github);
        assert!(!shown.contains("ghs_secret") && !shown.contains(KEY.lines().nth(1).unwrap()), "{shown}");
    }
}
