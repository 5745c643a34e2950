//! A real registry on a free port of this machine, with its files in a temporary folder.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::archives::{INDEX, MANIFEST, TestImage, digest_of};

/// Distributions name the program differently. `make fetch` uses the last name.
const PROGRAMS: [&str; 3] = [
    "docker-registry",
    "registry",
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../.cache/registry/usr/bin/docker-registry"),
];

pub struct LocalRegistry {
    process: Child,
    folder: TempDir,
    pub host: String,
    http: reqwest::Client,
    base: String,
    password: Option<(String, String)>,
}

impl LocalRegistry {
    pub fn start() -> Self {
        Self::with("", reqwest::Client::builder(), "http", None)
    }

    /// With one user.
    pub fn with_password(user: &str, password: &str, bcrypt: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("htpasswd");
        std::fs::write(&file, format!("{user}:{bcrypt}\n")).unwrap();
        let auth = format!("auth: {{ htpasswd: {{ realm: test, path: {} }} }}\n", file.display());
        let password = Some((user.to_owned(), password.to_owned()));
        Self::in_folder(folder, &auth, "", reqwest::Client::builder(), "http", password)
    }

    pub fn with_tls(certificate: &Path, key: &Path, authority: &[u8]) -> Self {
        let tls = format!(", tls: {{ certificate: {}, key: {} }}", certificate.display(), key.display());
        let authority = reqwest::Certificate::from_pem(authority).unwrap();
        Self::with(&tls, reqwest::Client::builder().tls_certs_only([authority]), "https", None)
    }

    fn with(
        http: &str,
        client: reqwest::ClientBuilder,
        scheme: &str,
        password: Option<(String, String)>,
    ) -> Self {
        Self::in_folder(tempfile::tempdir().unwrap(), "", http, client, scheme, password)
    }

    fn in_folder(
        folder: TempDir,
        more: &str,
        http: &str,
        client: reqwest::ClientBuilder,
        scheme: &str,
        password: Option<(String, String)>,
    ) -> Self {
        let settings = format!(
            "version: 0.1\nlog: {{ level: info, formatter: text }}\nstorage:\n  filesystem: {{ rootdirectory: {} }}\n  \
             delete: {{ enabled: true }}\nhttp: {{ addr: \"127.0.0.1:0\"{http} }}\n{more}",
            folder.path().join("registry").display()
        );
        let file = folder.path().join("config.yml");
        std::fs::write(&file, settings).unwrap();
        let started = PROGRAMS.iter().find_map(|program| {
            let mut command = Command::new(program);
            command.arg("serve").arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
            command.env_clear().spawn().ok()
        });
        let mut process = started.expect("`docker-registry` is missing: run `make fetch`");
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let port = lines.find_map(|line| {
            let line = line.unwrap();
            let at = line.find("listening on 127.0.0.1:")?;
            let digits =
                line[at + "listening on 127.0.0.1:".len()..].chars().take_while(char::is_ascii_digit);
            Some(digits.collect::<String>())
        });
        let host = format!("127.0.0.1:{}", port.expect("the registry says where it listens"));
        // Drain its output so that it never blocks.
        std::thread::spawn(move || lines.for_each(drop));
        let http = client.no_proxy().build().unwrap();
        Self { process, folder, base: format!("{scheme}://{host}"), host, http, password }
    }

    fn request(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        let url = if path.starts_with('/') { format!("{}{path}", self.base) } else { path.to_owned() };
        let request = self.http.request(method, url);
        match &self.password {
            Some((user, password)) => request.basic_auth(user, Some(password)),
            None => request,
        }
    }

    async fn push_blob(&self, repository: &str, blob: &[u8]) {
        let begun = self.request(reqwest::Method::POST, &format!("/v2/{repository}/blobs/uploads/"));
        let begun = begun.send().await.unwrap().error_for_status().unwrap();
        let place = begun.headers()["location"].to_str().unwrap().to_owned();
        let sent = self.request(reqwest::Method::PUT, &place).query(&[("digest", digest_of(blob))]);
        sent.body(blob.to_vec()).send().await.unwrap().error_for_status().unwrap();
    }

    async fn push_document(&self, repository: &str, name: &str, kind: &str, bytes: &[u8]) {
        let request = self.request(reqwest::Method::PUT, &format!("/v2/{repository}/manifests/{name}"));
        let answer = request.header("content-type", kind).body(bytes.to_vec()).send().await.unwrap();
        let status = answer.status();
        assert!(status.is_success(), "{status}: {}", answer.text().await.unwrap());
    }

    /// Pushes an image and returns its name.
    pub async fn push(&self, repository: &str, tag: &str, image: &TestImage) -> String {
        for blob in &image.blobs {
            self.push_blob(repository, blob).await;
        }
        self.push_document(repository, tag, MANIFEST, &image.manifest).await;
        format!("{}/{repository}:{tag}", self.host)
    }

    pub async fn push_index(&self, repository: &str, tag: &str, index: &[u8]) -> String {
        self.push_document(repository, tag, INDEX, index).await;
        format!("{}/{repository}:{tag}", self.host)
    }

    /// The file of a blob or a manifest.
    pub fn file_of(&self, digest: &str) -> PathBuf {
        let digits = digest.trim_start_matches("sha256:");
        let place = format!("registry/docker/registry/v2/blobs/sha256/{}/{digits}/data", &digits[..2]);
        self.folder.path().join(place)
    }

    pub fn stop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for LocalRegistry {
    fn drop(&mut self) {
        self.stop();
    }
}
