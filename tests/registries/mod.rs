//! Real package managers install from a registry with a password, in a sandbox that never contains the password.

pub mod packages;
pub mod server;

use std::time::Duration;

use journeyman::engine::testing::TestRunResult;
use journeyman::order::{
    PackageRegistry, RegistryCredential, RegistryKind, RegistryName, TestVerdict, TestingSettings,
};
use journeyman::sandbox::IsolationMode;

use crate::change_tester::{ChangeTester, TestedChange, setup_and_test};
use server::{BASIC, PASSWORD, RegistryServer, USER};

/// Searches everything that a job can see for the password, plain and as in a header. The patterns do not match
/// themselves.
const SEARCH: &str = r#"
{ env; cat /proc/*/environ /proc/*/cmdline; } 2>/dev/null | tr '\0' '\n' | grep -a -E 'hunter2[-]corp|[Y]WRhOmh1' && echo FOUND in an environment
grep -r -a -l -E 'hunter2[-]corp|[Y]WRhOmh1' "$HOME" . /tmp 2>/dev/null && echo FOUND in a file
echo searched
"#;

pub fn registry(server: &RegistryServer, kind: RegistryKind, path: &str) -> PackageRegistry {
    PackageRegistry {
        name: RegistryName::parse("corp").expect("a name"),
        kind,
        url: server.url(path).parse().expect("an address"),
        credential: RegistryCredential::Password { user: USER.to_owned(), password: PASSWORD.into() },
        mirror: true,
        scopes: Vec::new(),
        within: None,
    }
}

/// Tests a repository with these files: `setup.sh` is the setup, and `test.sh` tests.
async fn tested(registries: Vec<PackageRegistry>, files: &[(&str, &str)]) -> TestRunResult {
    tested_with(files, |settings| settings.registries = registries).await
}

/// The same, with changed settings.
pub async fn tested_with(files: &[(&str, &str)], change: impl FnOnce(&mut TestingSettings)) -> TestRunResult {
    let mut settings = TestingSettings {
        setup_time: Duration::from_secs(120),
        test_time: Duration::from_secs(120),
        ..TestingSettings::default()
    };
    change(&mut settings);
    let files: Vec<(&str, String)> =
        files.iter().map(|(path, text)| (*path, text.replace("SEARCH", SEARCH))).collect();
    let side = |name| {
        files.iter().map(|(path, text)| (*path, text.as_str())).chain([("changed.txt", name)]).collect()
    };
    let (before, after): (Vec<_>, Vec<_>) = (side("before"), side("after"));
    let tester = ChangeTester::new(IsolationMode::Bubblewrap, settings).await;
    let change = TestedChange::new(tester.commits_of(&before, &after), setup_and_test());
    tester.tested("one", change).await
}

/// Checks that the package came from the registry, and that no output contains the password or reports it found.
fn installed(tested: &TestRunResult, server: &RegistryServer) {
    let printed: String = tested.outputs.iter().map(|output| output.text.as_str()).collect();
    let asked = server.requests();
    assert_eq!(tested.run.verdict, TestVerdict::Passed, "{printed}\n{asked:#?}");
    assert!(printed.contains("searched"), "{printed}");
    for secret in [PASSWORD, BASIC, "FOUND"] {
        assert!(!printed.contains(secret), "{printed}");
        assert!(!serde_json::to_string(&tested.run).expect("a record").contains(secret));
    }
    assert!(asked.iter().any(|request| request.starts_with("200")), "{asked:#?}");
    assert!(
        asked.iter().all(|request| !request.starts_with("401")),
        "no request came without it: {asked:#?}"
    );
    let reached = tested.run.network.get("setup").map(|network| network.reached.clone()).unwrap_or_default();
    let host = format!("127.0.0.1:{}", server.port);
    assert!(reached.iter().any(|reached| reached.host == host && reached.bytes > 0), "{reached:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_search_finds_a_password_that_is_there() {
    let setup =
        "p=hunter2; echo \"$p-corp-secret\" > \"$HOME/.leak\"\nexport LEAK=\"$p-corp-secret\"\nSEARCH";
    let tested = tested(Vec::new(), &[("setup.sh", setup), ("test.sh", PASSES)]).await;
    let printed: String = tested.outputs.iter().map(|output| output.text.as_str()).collect();
    assert!(printed.contains("FOUND in an environment") && printed.contains("FOUND in a file"), "{printed}");
}

/// A passing test.
pub const PASSES: &str = "echo 1..1; echo ok 1 - says 42\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pip_installs_from_a_registry_whose_password_it_never_has() {
    let server = RegistryServer::start();
    packages::pip(&server);
    let setup = "set -e\npython3 -m venv .venv\n.venv/bin/pip install widget==1.0.0\nSEARCH";
    let test =
        format!("set -e\n.venv/bin/python -c 'import widget; assert widget.answer == 42'\nSEARCH{PASSES}");
    let files = [("setup.sh", setup), ("test.sh", &test), (".gitignore", ".venv\n")];
    let registry = registry(&server, RegistryKind::Pip, "/api/pypi/all/simple");
    installed(&tested(vec![registry], &files).await, &server);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn npm_installs_by_scope_by_name_and_by_lock_file() {
    let server = RegistryServer::start();
    packages::npm(&server);
    let registry = PackageRegistry {
        scopes: vec!["@corp".to_owned()],
        ..registry(&server, RegistryKind::Npm, "/api/npm/all/")
    };
    let manifest =
        r#"{"name":"sample","version":"1.0.0","dependencies":{"@corp/widget":"1.0.0","left":"1.0.0"}}"#;
    let test = format!(
        "set -e\nnode -e \"if (require('@corp/widget') + require('left') !== 84) process.exit(1)\"\n{PASSES}"
    );
    let setup = "set -e\nnpm install --no-fund --no-audit\nSEARCH";
    let files = [
        ("setup.sh", setup),
        ("test.sh", &test),
        ("package.json", manifest),
        (".gitignore", "node_modules\n"),
    ];
    installed(&tested(vec![registry.clone()], &files).await, &server);

    // A lock file contains the addresses its author used.
    let at = |path: &str| server.url(&format!("/api/npm/all/{path}"));
    let lock = serde_json::json!({
        "name": "sample", "version": "1.0.0", "lockfileVersion": 3, "requires": true,
        "packages": {
            "": { "name": "sample", "version": "1.0.0", "dependencies": { "@corp/widget": "1.0.0", "left": "1.0.0" } },
            "node_modules/@corp/widget": { "version": "1.0.0", "resolved": at("@corp/widget/-/widget-1.0.0.tgz") },
            "node_modules/left": { "version": "1.0.0", "resolved": "https://registry.npmjs.org/left/-/left-1.0.0.tgz" },
        },
    });
    let lock = lock.to_string();
    let setup = "set -e\nnpm ci --no-fund --no-audit\nSEARCH";
    let files = [
        ("setup.sh", setup),
        ("test.sh", &test),
        ("package.json", manifest),
        ("package-lock.json", &lock),
        (".gitignore", "node_modules\n"),
    ];
    installed(&tested(vec![registry], &files).await, &server);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cargo_builds_with_a_crate_of_a_registry_and_with_a_lock_file_that_names_it() {
    let server = RegistryServer::start();
    packages::cargo(&server);
    let crates =
        |mirror| PackageRegistry { mirror, ..registry(&server, RegistryKind::Cargo, "/cargo/index/") };
    let main = "fn main() { assert_eq!(widget::answer(), 42); }\n";
    let test = format!("set -e\ncargo run --offline -q\n{PASSES}");
    let package = "[package]\nname = \"sample\"\nversion = \"1.0.0\"\nedition = \"2021\"\n[dependencies]\n";

    // As a replacement for crates.io.
    let manifest = format!("{package}widget = \"1.0.0\"\n");
    let setup = "set -e\ncargo fetch\nSEARCH";
    let files = [
        ("setup.sh", setup),
        ("test.sh", test.as_str()),
        ("Cargo.toml", &manifest),
        ("src/main.rs", main),
        (".gitignore", "target\nCargo.lock\n"),
    ];
    installed(&tested(vec![crates(true)], &files).await, &server);

    // In addition to crates.io, by its usual name and address.
    let manifest = format!("{package}widget = {{ version = \"1.0.0\", registry = \"corp\" }}\n");
    let checksum = hex::encode(<sha2::Sha256 as sha2::Digest>::digest(
        server.served("/files/crates/widget/1.0.0/download"),
    ));
    let source = server.url("/cargo/index/");
    let lock = format!(
        "version = 3\n\n[[package]]\nname = \"sample\"\nversion = \"1.0.0\"\ndependencies = [\n \"widget\",\n]\n\n\
         [[package]]\nname = \"widget\"\nversion = \"1.0.0\"\nsource = \"sparse+{source}\"\nchecksum = \"{checksum}\"\n"
    );
    let setup = "set -e\ncargo fetch --locked\nSEARCH";
    let test = format!("set -e\ncargo run --offline --locked -q\n{PASSES}");
    let files = [
        ("setup.sh", setup),
        ("test.sh", test.as_str()),
        ("Cargo.toml", &manifest),
        ("Cargo.lock", &lock),
        ("src/main.rs", main),
        (".gitignore", "target\n"),
    ];
    installed(&tested(vec![crates(false)], &files).await, &server);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn go_builds_with_a_module_of_a_proxy() {
    let server = RegistryServer::start();
    packages::go(&server);
    let registry = PackageRegistry {
        scopes: vec!["corp.example/*".to_owned()],
        ..registry(&server, RegistryKind::Go, "/go")
    };
    let main = "package main\n\nimport \"corp.example/widget\"\n\nfunc main() {\n\tif widget.Answer != 42 {\n\t\tpanic(\"no\")\n\t}\n}\n";
    let setup = "set -e\ngo mod tidy\ngo mod download\nSEARCH";
    let test = format!("set -e\ncd \"$PWD\"\ngo mod tidy\ngo run .\n{PASSES}");
    let files = [
        ("setup.sh", setup),
        ("test.sh", test.as_str()),
        ("go.mod", "module sample\n\ngo 1.19\n\nrequire corp.example/widget v1.0.0\n"),
        ("main.go", main),
    ];
    installed(&tested(vec![registry], &files).await, &server);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn maven_builds_with_a_parent_and_an_extension_of_a_mirror() {
    if !packages::is_there("mvn") {
        eprintln!("skipped: Maven is not on this machine");
        return;
    }
    let server = RegistryServer::start();
    packages::maven(&server);
    let registry = registry(&server, RegistryKind::Maven, "/maven/all");
    let pom = "<project><modelVersion>4.0.0</modelVersion>\
        <parent><groupId>example.corp</groupId><artifactId>parent</artifactId><version>1.0.0</version><relativePath/></parent>\
        <artifactId>sample</artifactId><packaging>pom</packaging>\
        <build><extensions><extension><groupId>example.corp</groupId><artifactId>widget</artifactId>\
        <version>1.0.0</version></extension></extensions></build></project>";
    let setup = "set -e\nmvn -B -q validate\nSEARCH";
    let test = format!("set -e\nmvn -B -q -o validate\n{PASSES}");
    let files = [("setup.sh", setup), ("test.sh", test.as_str()), ("pom.xml", pom)];
    installed(&tested(vec![registry], &files).await, &server);
    assert!(server.requests().iter().any(|request| request.ends_with("widget-1.0.0.jar")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gradle_builds_with_a_library_of_a_mirror_of_what_its_build_names() {
    if !packages::is_there("gradle") {
        eprintln!("skipped: Gradle is not on this machine");
        return;
    }
    let server = RegistryServer::start();
    packages::maven(&server);
    let registry = registry(&server, RegistryKind::Maven, "/maven/all");
    let build = "repositories { mavenCentral(); maven { url 'https://repo.example.org/releases' } }\n\
        configurations { own }\ndependencies { own 'example.corp:widget:1.0.0' }\n\
        task resolve { doLast { configurations.own.files.each { println 'has ' + it.name } } }\n";
    let gradle = "export GRADLE_USER_HOME=\"$HOME/.gradle\"\ngradle --no-daemon --console=plain -q";
    let setup = format!("set -e\n{gradle} resolve\nSEARCH");
    let test = format!("set -e\n{gradle} --offline resolve | grep 'has widget-1.0.0.jar'\n{PASSES}");
    let files = [("setup.sh", setup.as_str()), ("test.sh", test.as_str()), ("build.gradle", build)];
    installed(&tested(vec![registry], &files).await, &server);
    assert!(server.requests().iter().any(|request| request.ends_with("widget-1.0.0.jar")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_setup_gets_packages_and_nothing_else_of_the_registrys_host() {
    let server = RegistryServer::start();
    packages::pip(&server);
    server.serve("/security/api-key", "text/plain", "the key to everything");
    let setup = "door=${PIP_INDEX_URL%/simple/}\n\
        for path in /../../../security/api-key /%2e%2e/%2e%2e/%2e%2e/security/api-key /..%2f..%2f..%2fsecurity/api-key; do\n\
        curl -s --noproxy '*' --path-as-is \"$door$path\"; done\n\
        curl -s --noproxy '*' -X DELETE \"${PIP_INDEX_URL}widget/\"\n\
        curl -s --noproxy '*' -u job:job \"${PIP_INDEX_URL}widget/\" >/dev/null && echo listed\n\
        curl -s \"http://127.0.0.1:PORT/security/api-key\" || true\nSEARCH";
    let setup = setup.replace("PORT", &server.port.to_string());
    let files = [("setup.sh", setup.as_str()), ("test.sh", PASSES)];
    let registry = registry(&server, RegistryKind::Pip, "/api/pypi/all/simple");
    let tested = tested(vec![registry], &files).await;
    let printed: String = tested.outputs.iter().map(|output| output.text.as_str()).collect();
    assert!(printed.contains("listed") && !printed.contains("the key to everything"), "{printed}");
    assert!(server.requests().iter().all(|request| request == "200 /api/pypi/all/simple/widget/"));
    let network = tested.run.network.get("setup").expect("a record");
    assert!(network.refused.len() >= 4, "{network:?}");
    installed(&tested, &server);
}
