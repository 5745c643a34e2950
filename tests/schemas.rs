//! docs/schemas/ and docs/openapi.json must match the program's input and output. With `JOURNEYMAN_UPDATE_DOCS=1` set,
//! the schemas are regenerated.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::world::{REPOSITORY, Story, WELL};

fn path(of: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(of)
}

fn file(of: &str) -> String {
    fs::read_to_string(path(of)).unwrap_or_else(|error| panic!("{of}: {error}"))
}

fn schema(name: &str) -> Value {
    let all = journeyman::config::json_schemas();
    all.into_iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("{name}")).1
}

/// The violations of a schema.
fn faults(schema: &Value, it: &Value) -> Vec<String> {
    let validator = jsonschema::validator_for(schema).expect("a schema");
    validator.iter_errors(it).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn the_schemas_in_the_docs_are_those_of_the_types() {
    for (name, schema) in journeyman::config::json_schemas() {
        let of = format!("docs/schemas/{name}");
        let text = serde_json::to_string_pretty(&schema).expect("JSON") + "\n";
        if std::env::var_os("JOURNEYMAN_UPDATE_DOCS").is_some() {
            fs::create_dir_all(path("docs/schemas")).expect("a folder");
            fs::write(path(&of), &text).expect("it can be written");
        }
        assert!(file(&of) == text, "{of} differs from the types: run with JOURNEYMAN_UPDATE_DOCS=1");
    }
}

#[test]
fn the_example_settings_are_valid_and_a_typing_error_is_not() {
    let schema = schema("journeyman.toml.json");
    let example: Value = toml::from_str(&file("journeyman.example.toml")).expect("TOML");
    assert_eq!(faults(&schema, &example), Vec::<String>::new());
    let valid = json!({
        "limits": { "per_day": { "all": { "usd": 5.0 } } },
        "agents": { "mine": { "runtime": "command", "program": ["my-agent"] } },
        "prices": { "some/model": { "input": 1.0 } },
        "notifications": { "url": "https://x.example/y", "format": "slack" },
    });
    assert_eq!(faults(&schema, &valid), Vec::<String>::new());
    for wrong in [
        json!({ "servr": {} }),
        json!({ "server": { "listne": "127.0.0.1:1" } }),
        json!({ "limits": { "concurrent_orders": 0 } }),
        json!({ "limits": { "per_day": { "everybody": { "usd": 5.0 } } } }),
        json!({ "sandbox": { "mode": "docker" } }),
        json!({ "agents": { "Mine": { "runtime": "command" } } }),
        json!({ "notifications": { "secret": "short" } }),
    ] {
        assert!(!faults(&schema, &wrong).is_empty(), "{wrong}");
    }
}

#[test]
fn the_shipped_pipelines_and_roles_are_valid() {
    for (folder, name) in [("templates/pipelines", "pipeline.json"), ("templates/agents", "role.json")] {
        let schema = schema(name);
        let files: Vec<_> = fs::read_dir(path(folder)).expect("a folder").flatten().collect();
        assert!(files.len() > 2, "{folder}");
        for entry in files {
            let text = fs::read_to_string(entry.path()).expect("a file");
            let it: Value = serde_saphyr::from_str(&text).expect("YAML");
            assert_eq!(faults(&schema, &it), Vec::<String>::new(), "{}", entry.path().display());
        }
    }
    let pipeline = schema("pipeline.json");
    let stage = |more: Value| json!({ "name": "p", "version": 1, "stages": [more] });
    assert_eq!(faults(&pipeline, &stage(json!({ "name": "a", "timeout": "10m" }))), Vec::<String>::new());
    for wrong in [json!({}), json!({ "name": "a", "checks": ["test"] }), json!({ "name": "a", "chekcs": [] })]
    {
        assert!(!faults(&pipeline, &stage(wrong.clone())).is_empty(), "{wrong}");
    }
}

#[test]
fn what_repositories_say_is_valid() {
    let schema = schema("repository.json");
    for text in [
        "test: make test\nprotected: [docs/**]\nbudget: {usd: 2.5, runs: 9}\nprove: bugs\n",
        "prove: {of: always, caught: 60}\nservices: {db: {image: postgres}}\nci: {rerun: true}\nplan: ask\n",
    ] {
        journeyman::config::repository_settings(text.as_bytes()).expect("settings");
        let it: Value = serde_saphyr::from_str(text).expect("YAML");
        assert_eq!(faults(&schema, &it), Vec::<String>::new(), "{text}");
    }
    for wrong in [json!({ "tests": "x" }), json!({ "prove": "some" }), json!({ "budget": { "euro": 1 } })] {
        assert!(!faults(&schema, &wrong).is_empty(), "{wrong}");
    }
}

/// The document, with any object accepted as a receipt.
fn document() -> Value {
    let mut document: Value = serde_json::from_str(&file("docs/openapi.json")).expect("JSON");
    document["components"]["schemas"]["Receipt"] = json!({ "type": "object" });
    document
}

/// How an answer violates the operation's description.
fn against(document: &Value, (method, route): (&str, &str), status: u16, answer: &Value) -> Vec<String> {
    let operation = &document["paths"][route][method];
    let response = &operation["responses"][status.to_string()];
    let mut response = if response.is_null() { &operation["responses"]["default"] } else { response };
    if let Some(name) =
        response["$ref"].as_str().and_then(|name| name.strip_prefix("#/components/responses/"))
    {
        response = &document["components"]["responses"][name];
    }
    let content = response["content"].as_object().and_then(|content| content.values().next());
    let content = content.unwrap_or_else(|| panic!("{method} {route} {status} is not described"));
    let mut schema = content["schema"].clone();
    schema["components"] = document["components"].clone();
    faults(&schema, answer)
}

#[test]
fn the_api_that_is_described_is_the_one_that_is_there() {
    let document = document();
    let paths = document["paths"].as_object().expect("paths");
    let described: BTreeSet<(String, String)> = paths
        .iter()
        .flat_map(|(path, operations)| {
            let methods =
                operations.as_object().into_iter().flatten().map(|(method, _)| method.to_uppercase());
            methods.filter(|method| method != "PARAMETERS").map(move |method| (path.clone(), method))
        })
        .collect();
    let source = file("crates/http/src/server.rs");
    let mut there = BTreeSet::new();
    for rest in source.split("resource(").skip(1) {
        let mut words = rest.split('"');
        let (Some(before), Some(path), Some(_), Some(methods)) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            continue;
        };
        if before.trim().is_empty() && path.starts_with('/') {
            let methods = methods.split(", ").filter(|method| *method != "HEAD");
            there.extend(methods.map(|method| (path.to_owned(), method.to_owned())));
        }
    }
    assert!(there.len() > 15, "{there:?}");
    // The front page is for people.
    there.remove(&("/".to_owned(), "GET".to_owned()));
    assert_eq!(described, there);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_as_they_are_described() {
    let document = document();
    let world = Story::of(WELL).begin().await;
    let asked = json!({ "repository": REPOSITORY, "issue": world.issue });
    let (status, made) = world.api("POST", "/api/v1/work-orders", Some(asked)).await;
    let orders = "/api/v1/work-orders";
    assert_eq!(against(&document, ("post", orders), status, &made), Vec::<String>::new(), "{made}");
    assert_eq!(world.settled().await.word(), "verified");
    let id = made["id"].as_str().expect("an id").to_owned();
    let (status, wrong) = world.api("POST", orders, Some(json!([]))).await;
    assert_eq!(against(&document, ("post", orders), status, &wrong), Vec::<String>::new(), "{wrong}");
    for route in [
        "/health",
        "/ready",
        orders,
        "/api/v1/work-orders/{id}",
        "/api/v1/work-orders/{id}/steps",
        "/api/v1/work-orders/{id}/receipt",
        "/api/v1/work-orders/{id}/attestation",
        "/api/v1/work-orders/{id}/journal",
        "/api/v1/openapi.json",
        "/schemas/{name}",
    ] {
        let asked = route.replace("{id}", &id).replace("{name}", "receipt.json");
        let (status, answer) = world.api("GET", &asked, None).await;
        assert_eq!(status, 200, "{route}: {answer}");
        assert_eq!(against(&document, ("get", route), status, &answer), Vec::<String>::new(), "{answer}");
        match route {
            "/api/v1/openapi.json" => assert_eq!(answer["paths"], document["paths"]),
            "/schemas/{name}" => assert_eq!(answer, schema("receipt.json")),
            "/api/v1/work-orders/{id}/receipt" => {
                assert_eq!(faults(&schema("receipt.json"), &answer), Vec::<String>::new(), "{answer}");
            }
            _ => {}
        }
    }
    let (status, answer) = world.api("GET", "/schemas/none.json", None).await;
    assert_eq!(status, 404, "{answer}");
    for command in ["approve", "cancel", "retry", "plan"] {
        let route = format!("/api/v1/work-orders/{{id}}/{command}");
        let (status, told) = world.api("POST", &route.replace("{id}", &id), None).await;
        assert_eq!(against(&document, ("post", &route), status, &told), Vec::<String>::new(), "{told}");
    }
    world.settled().await;
    world.end().await;
}
