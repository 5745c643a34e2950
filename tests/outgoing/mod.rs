//! A server in a company's network: everything outside has a certificate from the company's own authority, and is only
//! reachable through the company's proxy.

mod front;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::time::Duration;

use journeyman::agent::{AgentSettings, Agents, ApiSettings, ModelCall, Prices, Runtime, RuntimeKind};
use journeyman::emulator::keys;
use journeyman::github::{AppCredentials, GitHub};
use journeyman::order::model_service::Provider;
use journeyman::order::{OutgoingNetwork, PackageRegistry, RegistryKind, WriteLimits};
use journeyman::workspace::{Remote, Workspaces};
use secrecy::SecretString;

use crate::model_server::{ModelServer, Reply};
use crate::registries;
use crate::workspace::server::{READER, Server};
use front::CorporateNetwork;

/// The targets that the proxy was asked for, without duplicates.
fn targets(network: &CorporateNetwork) -> Vec<String> {
    let mut asked: Vec<String> =
        network.asked().into_iter().filter(|asked| !asked.ends_with("without a password")).collect();
    asked.dedup();
    asked
}

/// Answers every request with this JSON.
fn says(json: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().filter_map(Result::ok) {
            let lines = BufReader::new(stream.try_clone().expect("a second handle")).lines();
            let _ = lines.map_while(Result::ok).find(String::is_empty);
            let length = json.len();
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
            let _ = write!(stream, "{head}Content-Length: {length}\r\n\r\n{json}");
        }
    });
    port
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn git_goes_through_the_proxy_and_trusts_the_companys_authority() {
    let server = Server::start();
    let there = git2::Repository::init_bare(server.path("sample")).expect("a repository");
    let empty = there.treebuilder(None).and_then(|tree| tree.write()).expect("a tree");
    let empty = there.find_tree(empty).expect("the tree");
    let who = git2::Signature::now("A", "a@example.org").expect("a name");
    let head = there.commit(Some("refs/heads/main"), &who, &who, "Begin", &empty, &[]).expect("a commit");
    let network = CorporateNetwork::in_front_of(server.port()).await;
    let place = tempfile::tempdir().expect("a folder");
    let repository = "ada/sample".parse().expect("a name");
    let ask = |outgoing: OutgoingNetwork| {
        let workspaces = Workspaces::new(place.path()).expect("a folder").reached_by(outgoing);
        let remote = Remote {
            repository: &repository,
            url: "https://git.corp.example/sample.git".parse().expect("an address"),
            token: Some(SecretString::from(READER)),
        };
        workspaces.fetch(&remote, "main")
    };
    tokio::task::block_in_place(|| {
        // An unknown authority would fail here. Not tested: behind a proxy, libgit2 1.9 then waits forever on a closed
        // connection. In production, the API of GitHub fails first, with a message.
        let fetched = ask(network.outgoing()).expect("it is reached");
        assert_eq!(fetched.as_str(), head.to_string());
        let error = ask(network.with_wrong_password()).expect_err("the proxy does not know us");
        assert!(!error.to_string().contains("wrong"), "{error}");
    });
    // libgit2 finds the branch, and git itself fetches it.
    for asked in ["/sample.git/info/refs", "/sample.git/git-upload-pack"] {
        assert!(server.requests().iter().any(|request| request.contains(asked)), "{asked}");
    }
    assert_eq!(targets(&network), ["git.corp.example:443"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn github_is_reached_through_the_proxy_with_the_companys_authority() {
    let keys = keys::generate().expect("a key pair");
    let server =
        says(r#"{"id": 7, "slug": "journeyman", "name": "Journeyman", "permissions": {}, "events": []}"#);
    let network = CorporateNetwork::in_front_of(server).await;
    let ask = async |outgoing: OutgoingNetwork| {
        let credentials = AppCredentials {
            api_url: "https://github.corp.example/api/v3".parse().expect("an address"),
            app_id: 7,
            private_key_pem: keys.private_pem.clone(),
            outgoing,
        };
        GitHub::new(credentials, WriteLimits::NONE)?.identity().await
    };
    let identity = ask(network.outgoing()).await.expect("it is reached");
    assert_eq!(identity.id, 7);
    assert_eq!(targets(&network), ["github.corp.example:443"]);
    let error =
        ask(network.without_certificates()).await.expect_err("nobody knows the authority").to_string();
    assert!(error.contains("certificate") || error.contains("UnknownIssuer"), "{error}");
    let error = ask(network.with_wrong_password()).await.expect_err("the proxy does not know us").to_string();
    assert!(!error.contains("wrong"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_models_service_is_reached_through_the_proxy_with_the_companys_authority() {
    let server = ModelServer::start(|_| Reply::text("Hello"));
    let url: url::Url = server.url().parse().expect("an address");
    let network = CorporateNetwork::in_front_of(url.port().expect("a port")).await;
    let agent = AgentSettings {
        name: "model".to_owned(),
        runtime: RuntimeKind::Api(Box::new(ApiSettings {
            provider: Provider::Anthropic,
            base_url: "https://models.corp.example".parse().expect("an address"),
            model: "m".to_owned(),
            key_env: Some("MODEL_KEY".to_owned()),
            max_output_tokens: 100,
            prices: Prices::default(),
        })),
        ..AgentSettings::default()
    };
    let agents = BTreeMap::from([("model".to_owned(), agent)]);
    let agents = Agents::new(agents, &network.outgoing()).expect("agents");
    let Ok(Runtime::Api(api)) = agents.get("model") else { panic!("it is an API") };
    let call = ModelCall { system: None, prompt: "hi", model: None, timeout: Duration::from_secs(20) };
    let run = api.call(call, &api.key(&|_| Some("a-key-of-tests".to_owned())), &mut Silence).await;
    assert_eq!(run.result.as_deref(), Some("Hello"), "{run:?}");
    assert_eq!(targets(&network), ["models.corp.example:443"]);
}

/// Discards all records.
struct Silence;

impl journeyman::agent::CallRecorder for Silence {
    fn request(&mut self, _: &str) {}
    fn line(&mut self, _: &str) {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn setups_reach_registries_and_hosts_through_the_proxy() {
    let server = registries::server::RegistryServer::start();
    registries::packages::pip(&server);
    let network = CorporateNetwork::in_front_of(server.port).await;
    let registry = PackageRegistry {
        url: "https://pypi.corp.example/api/pypi/all/simple".parse().expect("an address"),
        ..registries::registry(&server, RegistryKind::Pip, "/")
    };
    // The page links to the server's own address, which is not the one that people use.
    let page = String::from_utf8(server.served("/api/pypi/all/simple/widget/")).expect("text");
    let page = page.replace(&server.url(""), "https://pypi.corp.example");
    server.serve("/api/pypi/all/simple/widget/", "text/html", page);
    let setup = "set -e\npython3 -m venv .venv\n.venv/bin/pip install widget==1.0.0\n\
        curl -s -k -o /dev/null -w 'tunnel: %{http_code}\\n' https://files.corp.example/api/x\n\
        curl -s -k https://other.corp.example/ || echo kept out\nSEARCH";
    let test = format!(
        "set -e\n.venv/bin/python -c 'import widget; assert widget.answer == 42'\n{}",
        registries::PASSES
    );
    let files = [("setup.sh", setup), ("test.sh", &test), (".gitignore", ".venv\n")];
    let tested = registries::tested_with(&files, |settings| {
        settings.registries = vec![registry];
        settings.setup_network = vec!["files.corp.example".to_owned()];
        settings.outgoing = network.outgoing();
    })
    .await;
    let printed: String = tested.outputs.iter().map(|output| output.text.as_str()).collect();
    assert_eq!(
        tested.run.verdict,
        journeyman::order::TestVerdict::Passed,
        "{printed}\n{:?}",
        network.asked()
    );
    // The registry's password is not passed to the tunnel.
    assert!(printed.contains("tunnel: 401") && printed.contains("kept out"), "{printed}");
    assert!(!printed.contains("FOUND") && !printed.contains("hunter2"), "{printed}");
    let mut asked = targets(&network);
    asked.sort();
    asked.dedup();
    assert_eq!(asked, ["files.corp.example:443", "pypi.corp.example:443"]);
}
