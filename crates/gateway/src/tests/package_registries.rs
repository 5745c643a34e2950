//! A job whose packages come from a registry with a credential: it gets packages, and nothing else from it.

use http::{Response, StatusCode};

use super::service::{FakeUpstream, UpstreamRequest};
use super::*;
use crate::refusal::{ProxyBody, whole};
use crate::registry::RegistryUpstream;
use journeyman_order::{OutgoingNetwork, PackageRegistry, RegistryCredential, RegistryKind, RegistryName};

const PASSWORD: &str = "hunter2/hunter2";
/// `ada:hunter2/hunter2`, as encoded in a header.
const BASIC: &str = "YWRhOmh1bnRlcjIvaHVudGVyMg==";

fn registry(kind: RegistryKind, url: &str) -> PackageRegistry {
    PackageRegistry {
        name: RegistryName::parse("corp").unwrap(),
        kind,
        url: url.parse().unwrap(),
        credential: RegistryCredential::Password { user: "ada".to_owned(), password: PASSWORD.into() },
        mirror: true,
        scopes: Vec::new(),
        within: None,
    }
}

fn upstream(registry: PackageRegistry) -> RegistryUpstream {
    RegistryUpstream::new(registry, OutgoingNetwork::default()).unwrap()
}

fn policy(registries: Vec<RegistryUpstream>) -> EgressPolicy {
    EgressPolicy { registries, ..names(&[]) }
}

fn page(text: &str) -> Response<ProxyBody> {
    Response::builder()
        .header("content-type", "text/html; charset=utf-8")
        .body(whole(text.to_owned()))
        .unwrap()
}

fn sends_to(location: &str) -> Response<ProxyBody> {
    Response::builder().status(302).header("location", location).body(whole("")).unwrap()
}

fn get(path: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAccept: text/html\r\nUser-Agent: pip\r\n\
         Authorization: Basic am9iOmpvYg==\r\nCookie: a=b\r\nX-JFrog-Art-Api: job\r\nAccept-Encoding: gzip\r\n\r\n"
    )
}

/// A service that answers this to pip's simple index below `/api/pypi/all/`.
async fn index(
    answer: impl Fn(&UpstreamRequest) -> Response<ProxyBody> + Send + Sync + 'static,
) -> FakeUpstream {
    FakeUpstream::start(answer).await
}

fn pip(service: &FakeUpstream) -> EgressPolicy {
    let url = format!("http://{}/api/pypi/all/simple", service.address);
    policy(vec![upstream(registry(RegistryKind::Pip, &url))])
}

#[tokio::test]
async fn the_credential_is_put_in_outside_and_what_the_job_sent_for_one_is_dropped() {
    let service = index(|_| page("hello")).await;
    let (gateway, open) = opened(pip(&service), leading_home(), ProxyLimits::default());
    let heard = say(gateway, get("/registries/corp/simple/wheel/?a=b")).await;
    assert!(heard.starts_with("HTTP/1.1 200") && heard.ends_with("hello\r\n0\r\n\r\n"), "{heard}");
    let asked = service.heard().pop().unwrap();
    assert_eq!(asked.line, "GET /api/pypi/all/simple/wheel/?a=b");
    let header = |name: &str| asked.headers.get(name).map(|value| value.to_str().unwrap());
    assert_eq!(header("authorization"), Some(format!("Basic {BASIC}").as_str()));
    assert_eq!((header("cookie"), header("x-jfrog-art-api")), (None, None));
    assert_eq!((header("accept"), header("user-agent")), (Some("text/html"), Some("pip")));
    assert_eq!(header("accept-encoding"), Some("identity"));
    let record = open.end().await;
    assert_eq!(record.reached[0].host, service.address.to_string());
    assert!(record.refused.is_empty());
}

#[tokio::test]
async fn a_token_is_sent_as_each_kind_has_it() {
    for (kind, header) in [
        (RegistryKind::Cargo, "t0ken-t0ken"),
        (RegistryKind::Npm, "Bearer t0ken-t0ken"),
        (RegistryKind::Go, "Bearer t0ken-t0ken"),
        (RegistryKind::Maven, "Bearer t0ken-t0ken"),
        (RegistryKind::Pip, "Bearer t0ken-t0ken"),
    ] {
        let service = index(|_| page("hello")).await;
        let credential = RegistryCredential::Token("t0ken-t0ken".into());
        let registry =
            PackageRegistry { credential, ..registry(kind, &format!("http://{}/x", service.address)) };
        let (gateway, _open) =
            opened(policy(vec![upstream(registry)]), leading_home(), ProxyLimits::default());
        say(gateway, get("/registries/corp/se/rd/serde")).await;
        let asked = service.heard().pop().unwrap();
        assert_eq!(asked.line, "GET /x/se/rd/serde");
        assert_eq!(asked.headers["authorization"], header, "{kind}");
    }
}

#[tokio::test]
async fn a_job_may_only_read_and_only_what_lies_below_the_registrys_address() {
    let service = index(|_| page("hello")).await;
    let (gateway, open) = opened(pip(&service), leading_home(), ProxyLimits::default());
    for path in [
        "/registries/corp/../../security/api-key",
        "/registries/corp/%2e%2e/%2e%2e/security/api-key",
        "/registries/corp/..%2f..%2fsecurity/api-key",
        "/registries/corp/..;/..;/security/api-key",
        "/registries/corp//security/api-key",
        "/registries/other/simple/",
        "/registries/",
        "/registries/corp@evil.example/simple/",
        "/npm/@corp%2fwidgets",
    ] {
        let heard = say(gateway, get(path)).await;
        assert!(heard.starts_with("HTTP/1.1 403"), "{path}: {heard}");
    }
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"] {
        let words = get("/registries/corp/simple/").replace("GET ", &format!("{method} "));
        let heard = say(gateway, words).await;
        assert!(heard.starts_with("HTTP/1.1 403") && heard.contains("may only read"), "{method}: {heard}");
    }
    assert_eq!(service.heard().len(), 0, "nothing of this was passed on");
    assert!(open.end().await.refused.len() >= 10);
    let (gateway, _open) = opened(names(&[]), leading_home(), ProxyLimits::default());
    assert!(
        say(gateway, get("/registries/corp/simple/")).await.starts_with("HTTP/1.1 403"),
        "without registries"
    );
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_credential() {
    let storage = FakeUpstream::start(|_| Response::new(whole("a wheel"))).await;
    let port = storage.address.port();
    let service = index(move |asked| match asked.line.rsplit('/').next().unwrap() {
        "stored.whl" => sends_to(&format!("http://blobs.example:{port}/stored?signed=1")),
        "moved.whl" => sends_to("/api/pypi/all/packages/there.whl?x=1"),
        "outside.whl" => sends_to("/security/api-key"),
        "up.whl" => sends_to("/api/pypi/all/%2e%2e/%2e%2e/%2e%2e/security"),
        "file.whl" => sends_to("file:///etc/passwd"),
        "address.whl" => sends_to(&format!("http://127.0.0.1:{port}/stored")),
        "user.whl" => sends_to(&format!("http://ada:pw@blobs.example:{port}/stored")),
        _ => sends_to("http://[::nowhere"),
    })
    .await;
    let (gateway, open) = opened(pip(&service), leading_home(), ProxyLimits::default());
    let heard = say(gateway, get("/registries/corp/packages/stored.whl")).await;
    assert!(heard.starts_with("HTTP/1.1 200") && heard.contains("a wheel"), "{heard}");
    assert!(!heard.contains("signed"), "what says who may read stays outside");
    let asked = storage.heard().pop().unwrap();
    assert_eq!((asked.line.as_str(), asked.headers.get("authorization")), ("GET /stored?signed=1", None));
    let heard = say(gateway, get("/registries/corp/packages/moved.whl")).await;
    assert!(
        heard.starts_with("HTTP/1.1 302")
            && heard.contains("location: /registries/corp/packages/there.whl?x=1"),
        "{heard}"
    );
    for file in ["outside.whl", "up.whl", "file.whl", "address.whl", "user.whl", "other.whl"] {
        let heard = say(gateway, get(&format!("/registries/corp/packages/{file}"))).await;
        assert!(heard.starts_with("HTTP/1.1 403") && heard.contains("it sends us"), "{file}: {heard}");
    }
    assert_eq!(storage.heard().len(), 1);
    drop(open);
    // A redirect to storage at a local address is refused.
    let (gateway, _open) = opened(pip(&service), leading_to(&["127.0.0.1"]), ProxyLimits::default());
    let heard = say(gateway, get("/registries/corp/packages/stored.whl")).await;
    assert!(heard.starts_with("HTTP/1.1 502") && heard.contains("is a loopback address"), "{heard}");
    assert_eq!(storage.heard().len(), 1);
}

#[tokio::test]
async fn a_registry_that_repeats_the_credential_does_not_tell_it_to_the_job() {
    let service = index(|asked| {
        let text = format!("{PASSWORD} {BASIC} hunter2%2Fhunter2 {:?}", asked.headers.get("authorization"));
        let kind = if asked.line.ends_with(".whl") { "application/zip" } else { "text/html" };
        Response::builder()
            .header("content-type", kind)
            .header("etag", format!("\"{PASSWORD}\""))
            .header("set-cookie", "session=1")
            .header("www-authenticate", "Basic")
            .body(whole(text))
            .unwrap()
    })
    .await;
    let (gateway, _open) = opened(pip(&service), leading_home(), ProxyLimits::default());
    for path in ["/registries/corp/simple/wheel/", "/registries/corp/packages/a.whl"] {
        let heard = say(gateway, get(path)).await;
        assert!(heard.starts_with("HTTP/1.1 200") && heard.contains("*************"), "{heard}");
        for secret in [PASSWORD, BASIC, "hunter2", "set-cookie", "www-authenticate", "etag"] {
            assert!(!heard.contains(secret), "{path} {secret}: {heard}");
        }
    }
}

#[tokio::test]
async fn a_credential_that_is_not_taken_is_told_to_who_runs_the_server() {
    let service = index(|_| {
        Response::builder().status(StatusCode::UNAUTHORIZED).body(whole(format!("no {PASSWORD}"))).unwrap()
    })
    .await;
    let (gateway, open) = opened(pip(&service), leading_home(), ProxyLimits::default());
    let heard = say(gateway, get("/registries/corp/simple/wheel/")).await;
    assert!(
        heard.starts_with("HTTP/1.1 403") && heard.contains("registries.corp in journeyman.toml"),
        "{heard}"
    );
    let record = open.end().await;
    assert_eq!(record.refused[0].what, "GET /registries/corp/simple/wheel/");
    assert!(!serde_json::to_string(&record).unwrap().contains("hunter2"));
}

#[test]
fn a_registrys_address_is_https_or_near_and_never_what_hands_out_credentials() {
    let made = |url: &str, within: Option<&str>| {
        let within = within.map(str::to_owned);
        RegistryUpstream::new(
            PackageRegistry { within, ..registry(RegistryKind::Pip, url) },
            OutgoingNetwork::default(),
        )
    };
    for (url, within) in [
        ("https://pypi.corp.example/simple", None),
        ("https://pypi.corp.example/simple", Some("10.0.0.0/8")),
        ("http://127.0.0.1:3141/root/pypi/+simple/", None),
        ("http://[::1]:3141/", None),
        ("http://localhost:8081/", None),
        ("http://10.1.2.3/simple", None),
        ("http://10.1.2.3/simple", Some("10.0.0.0/8")),
        ("http://pypi.internal/simple", None),
        ("http://devpi/simple", None),
        ("http://pypi.corp.example/simple", Some("10.0.0.0/8")),
    ] {
        assert!(made(url, within).is_ok(), "{url} {within:?}: {:?}", made(url, within));
    }
    for (url, within, why) in [
        ("http://pypi.corp.example/simple", None, "registries.corp.url: its address has to be https"),
        ("http://1.1.1.1/simple", None, "registries.corp.url"),
        ("https://ada:pw@pypi.corp.example/", None, "registries.corp.url"),
        ("https://pypi.corp.example/?a", None, "registries.corp.url"),
        ("https://pypi.corp.example/#a", None, "registries.corp.url"),
        ("ftp://pypi.corp.example/", None, "registries.corp.url"),
        ("https://10.1.2.3/", Some("192.168.0.0/16"), "registries.corp.at: this is not the network"),
        ("https://pypi.corp.example/", Some("home"), "registries.corp.at"),
        ("http://169.254.169.254/", None, "registries.corp.url: its address hands out this machine's own"),
    ] {
        let error = made(url, within).unwrap_err().to_string();
        assert!(error.starts_with(why) && !error.contains("hunter2"), "{url} {within:?}: {error}");
    }
}

#[tokio::test]
async fn a_registrys_name_leads_where_its_entry_says_and_not_to_this_machine() {
    let service = index(|_| page("hello")).await;
    let port = service.address.port();
    let told = async |url: &str, within: Option<&str>, leads_to: &str| {
        let within = within.map(str::to_owned);
        let registry = PackageRegistry { within, ..registry(RegistryKind::Pip, url) };
        let (gateway, _open) =
            opened(policy(vec![upstream(registry)]), leading_to(&[leads_to]), ProxyLimits::default());
        say(gateway, get("/registries/corp/simple/")).await
    };
    let local = format!("http://localhost:{port}/simple");
    assert!(told(&local, None, "127.0.0.1").await.starts_with("HTTP/1.1 200"));
    let named = format!("http://devpi:{port}/simple");
    for (url, within, leads_to, why) in [
        (named.as_str(), None, "127.0.0.1", "is a loopback address"),
        (named.as_str(), None, "169.254.169.254", "hands out"),
        (named.as_str(), None, "1.1.1.1", "only https will do"),
        (named.as_str(), Some("192.168.0.0/16"), "10.0.0.1", "does not lie in the network"),
        ("https://pypi.corp.example/simple", None, "127.0.0.1", "is a loopback address"),
    ] {
        let heard = told(url, within, leads_to).await;
        assert!(heard.starts_with("HTTP/1.1 502") && heard.contains(why), "{url} {leads_to}: {heard}");
    }
    assert_eq!(service.heard().len(), 1);
}
