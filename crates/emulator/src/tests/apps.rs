//! The App's own token, and the tokens for its installation.

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::*;

#[tokio::test]
async fn an_app_token_is_believed_only_as_github_would() {
    let emulator = stage().await;
    let now = chrono::Utc::now().timestamp();
    let ask = async |token: String| call(&emulator, "GET", "/app", &token, Value::Null).await.0;
    assert_eq!(
        ask(jwt(&json!({"iss": APP, "iat": now - 60, "exp": now + 540}), Algorithm::RS256)).await,
        200
    );
    assert_eq!(
        ask(jwt(&json!({"iss": APP.to_string(), "iat": now, "exp": now + 60}), Algorithm::RS256)).await,
        200
    );
    for (why, claims) in [
        ("expired", json!({"iss": APP, "iat": now - 700, "exp": now - 100})),
        ("eleven minutes", json!({"iss": APP, "iat": now, "exp": now + 660})),
        ("issued in the future", json!({"iss": APP, "iat": now + 300, "exp": now + 500})),
        ("no times", json!({"iss": APP})),
    ] {
        assert_eq!(ask(jwt(&claims, Algorithm::RS256)).await, 401, "{why}");
    }
    assert_eq!(
        ask(jwt(&json!({"iss": 1, "iat": now, "exp": now + 60}), Algorithm::RS256)).await,
        404,
        "another app"
    );
    assert_eq!(
        ask(jwt(&json!({"iss": APP, "iat": now, "exp": now + 60}), Algorithm::RS512)).await,
        401,
        "RS512"
    );
    let stranger = keys::generate().expect("another pair");
    let key = EncodingKey::from_rsa_pem(stranger.private_pem.expose_secret().as_bytes()).expect("its key");
    let claims = json!({"iss": APP, "iat": now, "exp": now + 60});
    let forged = jsonwebtoken::encode(&Header::new(Algorithm::RS256), &claims, &key).expect("a token");
    assert_eq!(ask(forged).await, 401, "another key");
    assert_eq!(ask(full_token(&emulator).await).await, 401, "an installation token");
}

#[tokio::test]
async fn a_token_reaches_as_far_as_it_was_asked_for() {
    let emulator = stage().await;
    emulator
        .create_repository("octo/other", RepositorySource::Files(files(&[("a", "a")])))
        .await
        .expect("made");
    emulator.open_issue(REPOSITORY, "ada", "Sum is wrong", "it subtracts").await.expect("an issue");
    let narrow = json!({"repositories": ["calc"], "permissions": {"issues": "read"}});
    let (_, made) = ask_token(&emulator, &narrow).await;
    let token = made["token"].as_str().expect("text");
    assert!(token.starts_with("ghs_"));
    let ask = async |method: &str, path: &str, body: Value| call(&emulator, method, path, token, body).await;
    assert_eq!(ask("GET", "/repos/octo/calc/issues/1", Value::Null).await.0, 200);
    let (status, body) = ask("POST", "/repos/octo/calc/issues/1/comments", json!({"body": "hello"})).await;
    assert_eq!((status, body["message"].as_str()), (403, Some("Resource not accessible by integration")));
    assert_eq!(ask("GET", "/repos/octo/calc/pulls", Value::Null).await.0, 403);
    assert_eq!(ask("GET", "/repos/octo/calc/contents/README.md", Value::Null).await.0, 403);
    assert_eq!(ask("GET", "/repos/octo/other/issues/1", Value::Null).await.0, 404, "another repository");
    for wrong in [
        json!({"repositories": ["calc", "nowhere"]}),
        json!({"permissions": {"issues": "admin"}}),
        json!({"permissions": {"workflows": "write"}}),
    ] {
        assert_eq!(ask_token(&emulator, &wrong).await.0, 422, "{wrong}");
    }
}
