//! `install.sh` installs a program only if it is the published one and came by HTTPS; here from a server on loopback.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, LazyLock};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// The authority that `curl` trusts here, and the server's TLS configuration.
static HTTPS: LazyLock<(String, Arc<ServerConfig>)> = LazyLock::new(|| {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).expect("a key");
    let config = ServerConfig::builder().with_no_client_auth();
    let config = config.with_single_cert(vec![cert.der().clone()], key).expect("a configuration");
    (cert.pem(), Arc::new(config))
});

/// An HTTPS server of files by path; 404 for anything else.
fn serve(files: BTreeMap<String, Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = ServerConnection::new(Arc::clone(&HTTPS.1)).expect("a connection");
            answer(&files, StreamOwned::new(connection, stream));
        }
    });
    format!("https://{address}")
}

fn answer(files: &BTreeMap<String, Vec<u8>>, stream: impl Read + Write) {
    let mut stream = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).is_err() || line.trim().is_empty() {
            break;
        }
        lines.push(line);
    }
    let path = lines.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
    let (status, body) =
        files.get(path).map_or(("404 Not Found", &[][..]), |body| ("200 OK", body.as_slice()));
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    let stream = stream.get_mut();
    let sent = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    let _ = sent.and_then(|()| stream.flush());
}

/// A release archive with a program that reports this version.
fn archive(version: &str) -> Vec<u8> {
    let program = format!("#!/bin/sh\necho journeyman {version}\n");
    let mut archive =
        tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    let mut header = tar::Header::new_gnu();
    header.set_size(program.len() as u64);
    header.set_mode(0o755);
    archive.append_data(&mut header, "journeyman", program.as_bytes()).expect("it is packed");
    archive.into_inner().and_then(flate2::write::GzEncoder::finish).expect("an archive")
}

fn sum(name: &str, bytes: &[u8]) -> Vec<u8> {
    use sha2::Digest as _;
    format!("{}  {name}\n", hex::encode(sha2::Sha256::digest(bytes))).into_bytes()
}

fn name() -> String {
    format!("journeyman-{}-linux.tar.gz", std::env::consts::ARCH)
}

/// Whether it installed, and its output. `gh` is the exit code of a fake GitHub CLI, or `None` if there is none.
fn install(releases: &str, bin: &Path, version: Option<&str>, gh: Option<u8>) -> (bool, String) {
    let tools = tempfile::tempdir().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    if let Some(code) = gh {
        let program = tools.path().join("gh");
        fs::write(&program, format!("#!/bin/sh\ntest \"$1\" = auth || exit {code}\n")).expect("a file");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("its mode");
    }
    let mut command = Command::new("sh");
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("install.sh")).env_clear();
    command.env("PATH", format!("{}:{path}", tools.path().display())).env("HOME", tools.path());
    command.env("JOURNEYMAN_RELEASES", releases).env("JOURNEYMAN_BIN", bin);
    let trusted = tools.path().join("trusted.pem");
    fs::write(&trusted, &HTTPS.0).expect("a file");
    command.env("CURL_CA_BUNDLE", trusted);
    if let Some(version) = version {
        command.env("JOURNEYMAN_VERSION", version);
    }
    let done = command.output().expect("sh is there");
    let said = [done.stdout, done.stderr].concat();
    (done.status.success(), String::from_utf8(said).expect("text"))
}

fn release(archive: Vec<u8>, sums: Vec<u8>, of: &str) -> [(String, Vec<u8>); 2] {
    [(format!("{of}/{}", name()), archive), (format!("{of}/SHA256SUMS"), sums)]
}

#[test]
fn the_program_that_was_published_is_installed_and_replaces_an_older_one() {
    let (old, new) = (archive("0.9.0"), archive("1.0.0"));
    let (old_sum, new_sum) = (sum(&name(), &old), sum(&name(), &new));
    let mut files = BTreeMap::from(release(old, old_sum, "/download/v0.9.0"));
    files.extend(release(new, new_sum, "/latest/download"));
    let (releases, place) = (serve(files), tempfile::tempdir().expect("a folder"));
    let bin = place.path().join("of/a/user");
    for (version, expected) in [(Some("v0.9.0"), "journeyman 0.9.0"), (None, "journeyman 1.0.0")] {
        let (is_done, said) = install(&releases, &bin, version, Some(0));
        assert!(is_done && said.contains(&format!("{expected} is at ")), "{said}");
        assert!(said.contains("as its attestation says"), "{said}");
        let told = Command::new(bin.join("journeyman")).output().expect("it runs");
        assert_eq!(String::from_utf8_lossy(&told.stdout).trim(), expected);
    }
    let left: Vec<_> =
        fs::read_dir(&bin).expect("the folder").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["journeyman"], "nothing else stays");
}

#[test]
fn what_was_not_published_is_not_installed() {
    let (good, other) = (archive("1.0.0"), archive("6.6.6"));
    let right = sum(&name(), &good);
    let of = "/latest/download";
    let unnamed = sum("journeyman-riscv64-linux.tar.gz", &good);
    let cases = [
        (
            "another archive",
            Vec::from(release(other, right.clone(), of)),
            None,
            "is not what SHA256SUMS of the release says",
        ),
        ("no line for it", release(good.clone(), unnamed, of).into(), None, "does not name"),
        ("an empty list", release(good.clone(), Vec::new(), of).into(), None, "does not name"),
        ("no list", vec![(format!("{of}/{}", name()), good.clone())], None, "could not be fetched"),
        ("no release", Vec::new(), None, "could not be fetched"),
        ("no attestation", release(good, right, of).into(), Some(1), "GitHub has no attestation"),
    ];
    for (what, files, gh, words) in cases {
        let (releases, place) = (serve(files.into_iter().collect()), tempfile::tempdir().expect("a folder"));
        let (is_done, said) = install(&releases, place.path(), None, gh);
        assert!(!is_done && said.contains(words), "{what}: {said}");
        assert_eq!(fs::read_dir(place.path()).expect("the folder").count(), 0, "{what}: {said}");
    }
}

#[test]
fn nothing_is_fetched_in_the_clear() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let releases = format!("http://{}", listener.local_addr().expect("its address"));
    let place = tempfile::tempdir().expect("a folder");
    let (is_done, said) = install(&releases, place.path(), None, None);
    assert!(!is_done && said.contains("could not be fetched"), "{said}");
    listener.set_nonblocking(true).expect("it can be asked");
    assert!(listener.accept().is_err(), "nobody even asked: {said}");
}
