//! One package of each kind as its registry serves it: `widget` 1.0.0, which prints 42.

use std::path::Path;
use std::process::Command;

use sha2::{Digest, Sha256};

use super::server::RegistryServer;

/// Runs a packing program in a folder with these files, and returns the file `out`.
fn packed(files: &[(&str, &str)], program: &[&str]) -> Vec<u8> {
    let place = tempfile::tempdir().expect("a folder");
    for (path, text) in files {
        let path = place.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    let done = Command::new(program[0]).args(&program[1..]).current_dir(place.path()).status();
    assert!(done.expect("it is on this machine").success(), "{program:?}");
    std::fs::read(place.path().join("out")).expect("what was packed")
}

fn zip(files: &[(&str, &str)], folder: &str) -> Vec<u8> {
    packed(files, &["python3", "-m", "zipfile", "-c", "out", folder])
}

/// A simple index with a wheel beside it. One link is absolute, as in many registries.
pub fn pip(server: &RegistryServer) {
    let (module, info) = ("widget.py", "widget-1.0.0.dist-info");
    let wheel = packed(
        &[
            (module, "answer = 42\n"),
            (&format!("{info}/METADATA"), "Metadata-Version: 2.1\nName: widget\nVersion: 1.0.0\n"),
            (
                &format!("{info}/WHEEL"),
                "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            ),
            (&format!("{info}/RECORD"), ""),
        ],
        &["python3", "-m", "zipfile", "-c", "out", module, info],
    );
    let file = "widget-1.0.0-py3-none-any.whl";
    let digest = hex::encode(Sha256::digest(&wheel));
    let link = server.url(&format!("/api/pypi/all/packages/{file}#sha256={digest}"));
    let page = format!("<!DOCTYPE html><html><body><a href=\"{link}\">{file}</a></body></html>");
    server.serve("/api/pypi/all/simple/widget/", "text/html", page);
    server.serve(&format!("/api/pypi/all/packages/{file}"), "application/zip", wheel);
}

/// The packages `@corp/widget` and `left`, with absolute links.
pub fn npm(server: &RegistryServer) {
    for name in ["@corp/widget", "left"] {
        let manifest = serde_json::json!({ "name": name, "version": "1.0.0", "main": "index.js" });
        let files = [
            ("package/package.json", manifest.to_string()),
            ("package/index.js", "module.exports = 42\n".into()),
        ];
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        let tarball = packed(&files, &["tar", "-czf", "out", "package"]);
        let file = format!("/api/npm/all/{name}/-/{}-1.0.0.tgz", name.rsplit('/').next().expect("a name"));
        let mut version = manifest;
        version["dist"] = serde_json::json!({ "tarball": server.url(&file) });
        let packument = serde_json::json!({
            "name": name, "dist-tags": { "latest": "1.0.0" }, "versions": { "1.0.0": version },
        });
        server.serve(&format!("/api/npm/all/{name}"), "application/json", packument.to_string());
        server.serve(&file, "application/octet-stream", tarball);
    }
}

/// A sparse index that requires a token, with downloads at another path of its host.
pub fn cargo(server: &RegistryServer) {
    let manifest = "[package]\nname = \"widget\"\nversion = \"1.0.0\"\nedition = \"2021\"\n";
    let source = "pub fn answer() -> u32 { 42 }\n";
    let files = [("widget-1.0.0/Cargo.toml", manifest), ("widget-1.0.0/src/lib.rs", source)];
    let archive = packed(&files, &["tar", "-czf", "out", "widget-1.0.0"]);
    let line = serde_json::json!({
        "name": "widget", "vers": "1.0.0", "deps": [], "features": {}, "yanked": false,
        "cksum": hex::encode(Sha256::digest(&archive)),
    });
    let configuration = serde_json::json!({ "dl": server.url("/files/crates"), "auth-required": true });
    server.serve("/cargo/index/config.json", "application/json", configuration.to_string());
    server.serve("/cargo/index/wi/dg/widget", "text/plain", format!("{line}\n"));
    server.serve("/files/crates/widget/1.0.0/download", "application/gzip", archive);
}

pub fn go(server: &RegistryServer) {
    let module = "module corp.example/widget\n\ngo 1.19\n";
    let folder = "corp.example/widget@v1.0.0";
    let (mod_file, source) = (format!("{folder}/go.mod"), format!("{folder}/widget.go"));
    let files = [(mod_file.as_str(), module), (source.as_str(), "package widget\n\nconst Answer = 42\n")];
    // Go rejects folder entries in the archive.
    let script = "import sys, zipfile\nwith zipfile.ZipFile('out', 'w') as out:\n  for f in sys.argv[1:]: out.write(f)";
    let archive = packed(&files, &["python3", "-c", script, &mod_file, &source]);
    let at = "/go/corp.example/widget/@v";
    server.serve(&format!("{at}/list"), "text/plain", "v1.0.0\n");
    let info = r#"{"Version":"v1.0.0","Time":"2026-01-01T00:00:00Z"}"#;
    server.serve(&format!("{at}/v1.0.0.info"), "application/json", info);
    server.serve(&format!("{at}/v1.0.0.mod"), "text/plain", module);
    server.serve(&format!("{at}/v1.0.0.zip"), "application/zip", archive);
}

/// A parent and a build extension, which Maven needs before any plugin.
pub fn maven(server: &RegistryServer) {
    let pom = |artifact: &str, packaging: &str| {
        format!(
            "<project><modelVersion>4.0.0</modelVersion><groupId>example.corp</groupId>\
             <artifactId>{artifact}</artifactId><version>1.0.0</version><packaging>{packaging}</packaging></project>"
        )
    };
    let base = "/maven/all/example/corp";
    let jar = zip(&[("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")], "META-INF");
    for (artifact, packaging) in [("parent", "pom"), ("widget", "jar")] {
        let at = format!("{base}/{artifact}/1.0.0/{artifact}-1.0.0");
        server.serve(&format!("{at}.pom"), "text/xml", pom(artifact, packaging));
    }
    server.serve(&format!("{base}/widget/1.0.0/widget-1.0.0.jar"), "application/java-archive", jar.clone());
    // Maven adds it to every extension.
    let utils = "/maven/all/org/codehaus/plexus/plexus-utils/1.1/plexus-utils-1.1.jar";
    server.serve(utils, "application/java-archive", jar);
}

/// Whether this machine has a program.
pub fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| Path::new(&folder).join(program).is_file())
}
