//! Pulls from a real registry: by tag and digest, with a password, through a proxy and over TLS.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{digest, listed, pulled, quiet, resolved, settings, store};
use crate::{ImageDigest, ImageError, ImageFault, ImageStore, PullProgress, PullStep};
use journeyman_order::{OutgoingNetwork, OutgoingProxy, RegistryCredential, TrustedCertificates};
use journeyman_test_support::archives::{TestArchive, TestImage, TestLayer, architecture, gzip, index, zstd};
use journeyman_test_support::local_registry::LocalRegistry;

fn three_layers() -> TestImage {
    let base = TestArchive::new()
        .folder("./")
        .folder("usr")
        .folder("usr/bin")
        .entry(b'0', b"usr/bin/tool", b"", 0o755, b"#!/bin/sh\n")
        .symlink("bin", "usr/bin")
        .folder("etc")
        .file("etc/old", "old")
        .file("etc/kept", "kept");
    let second = TestArchive::new()
        .file("etc/.wh.old", "")
        .file("bin/second", "through the link")
        .hard_link("usr/bin/again", "usr/bin/tool");
    let third = TestArchive::new().file("etc/kept", "changed").file("a/b/c", "with folders");
    TestImage::new(vec![
        TestLayer::of(base.bytes(), gzip),
        TestLayer::of(second.bytes(), zstd),
        TestLayer::of(third.bytes(), <[u8]>::to_vec),
    ])
}

#[tokio::test]
async fn an_image_is_pulled_by_tag_and_by_digest() {
    let registry = LocalRegistry::start();
    let image = three_layers();
    let name = registry.push("some/image", "1.0", &image).await;
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let found = resolved(&store, &name).await.unwrap();
    assert_eq!(found.to_string(), format!("{}/some/image@{}", registry.host, digest(&image)));
    let heard = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&heard);
    let observer = Arc::new(move |progress: PullProgress| into.lock().unwrap().push(progress));
    let root = store.root(&found, observer).await.unwrap();
    insta::assert_snapshot!(listed(&root.path), @r##"
    a/ 755
    a/b/ 755
    a/b/c 644 "with folders"
    bin -> usr/bin
    etc/ 755
    etc/kept 644 "changed"
    usr/ 755
    usr/bin/ 755
    usr/bin/again 755 "#!/bin/sh\n"
    usr/bin/second 644 "through the link"
    usr/bin/tool 755 "#!/bin/sh\n"
    "##);
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(root.config.env, [pair("PATH", "/bin"), pair("X", "a=b")]);
    assert_eq!(
        (root.config.working_dir.as_deref(), root.config.cmd.as_slice()),
        (Some("/work"), &["sh".to_owned()][..])
    );
    assert!(root.has_program("tool") && !root.has_program("second") && !root.has_program("none"));
    let written = std::fs::metadata(root.path.join("etc/kept")).unwrap().modified().unwrap();
    assert_eq!(written, std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000));
    let steps: Vec<PullStep> = heard.lock().unwrap().iter().map(|progress| progress.step).collect();
    assert!(steps.starts_with(&[PullStep::Download]) && steps.ends_with(&[PullStep::Unpack]), "{steps:?}");

    // By digest, the stored image is found without the registry.
    drop(registry);
    let again = store.root(&store.resolve(&found).await.unwrap(), quiet()).await.unwrap();
    assert_eq!(again.path, root.path);
    let error = resolved(&store, &name).await.unwrap_err();
    assert_eq!(error.fault(), ImageFault::Temporary, "{error}");
}

#[tokio::test]
async fn of_an_index_the_image_for_this_machine_is_taken() {
    let registry = LocalRegistry::start();
    let (ours, other) = (
        TestImage::small(),
        TestImage::for_machine(vec![TestLayer::gzip(TestArchive::new().file("x", "x"))], "", "mips"),
    );
    for (tag, image) in [("ours", &ours), ("other", &other)] {
        registry.push("multi", tag, image).await;
    }
    let here = format!(r#"{{"os":"linux","architecture":"{}"}}"#, architecture());
    let mips = r#"{"os":"linux","architecture":"mips"}"#;
    let unknown = r#"{"os":"unknown","architecture":"unknown"}"#;
    let all = index(&[(&other, mips), (&other, unknown), (&ours, &here)]);
    let name = registry.push_index("multi", "latest", &all).await;
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let found = resolved(&store, &name).await.unwrap();
    assert_eq!(found.digest(), Some(&ImageDigest::of(&all)));
    let root = store.root(&found, quiet()).await.unwrap();
    assert_eq!(listed(&root.path), "etc/ 755\netc/name 644 \"small\"");

    let name = registry.push_index("multi", "mips", &index(&[(&other, mips), (&other, unknown)])).await;
    for name in [name, format!("{}/multi:other", registry.host)] {
        let error = pulled(&store, &name).await.unwrap_err();
        assert_eq!(error.fault(), ImageFault::Image);
        let expected = format!("it is made for linux/mips; this machine is linux/{}", architecture());
        assert!(error.to_string().contains(&expected), "{error}");
    }
}

#[tokio::test]
async fn a_private_image_needs_the_password_of_an_auth_file() {
    const BCRYPT: &str = "$2y$05$abcdefghijklmnopqrstuupx2xBUC4954936wVIjyyPHmUBFu0wCW";
    let registry = LocalRegistry::with_password("me", "open sesame", BCRYPT);
    let name = registry.push("secret/image", "1", &TestImage::small()).await;
    let folder = tempfile::tempdir().unwrap();
    let auth_file = folder.path().join("auth.json");
    let login = |password: &str| {
        let both = base64::engine::general_purpose::STANDARD.encode(format!("me:{password}"));
        let text = format!(r#"{{"auths":{{"{}":{{"auth":"{both}"}}}}}}"#, registry.host);
        std::fs::write(&auth_file, text).unwrap();
    };
    let mut settings = settings();
    settings.variables.insert("REGISTRY_AUTH_FILE", auth_file.clone().into());
    let store = ImageStore::new(folder.path().join("store"), settings).unwrap();
    let is_denied = |error: ImageError| {
        let said = error.to_string();
        let is_told = said.contains("The registry does not give it to us")
            && said.contains("log in with `skopeo login");
        assert!(error.fault() == ImageFault::Settings && is_told, "{said}");
    };
    is_denied(resolved(&store, &name).await.unwrap_err());
    login("wrong");
    is_denied(resolved(&store, &name).await.unwrap_err());
    login("open sesame");
    pulled(&store, &name).await.unwrap();
    let error = resolved(&store, &name.replace("image:1", "none:1")).await.unwrap_err();
    assert_eq!(error.fault(), ImageFault::Settings);
    assert!(error.to_string().contains("It is not in its registry. Check the name and the tag"), "{error}");
}

/// A proxy that sends every name to one place. Returns its address and a log of requests.
async fn proxy(to: String) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let (into, to) = (Arc::clone(&into), to.clone());
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(near.read_u8().await.unwrap());
                }
                into.lock().unwrap().push(String::from_utf8(head).unwrap());
                near.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
                let mut far = TcpStream::connect(to).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            });
        }
    });
    (host, asked)
}

/// A certificate authority, and a certificate with key that it issued for a company's registry.
fn certificates(folder: &Path) -> (PathBuf, PathBuf, PathBuf) {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut authority = rcgen::CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority_certificate = authority.self_signed(&key).unwrap();
    let issuer = rcgen::Issuer::new(authority, key);
    let own_key = rcgen::KeyPair::generate().unwrap();
    let names = ["127.0.0.1", "registry.example"].map(str::to_owned);
    let own = rcgen::CertificateParams::new(names).unwrap().signed_by(&own_key, &issuer).unwrap();
    let files = [
        ("authority.pem", authority_certificate.pem()),
        ("own.pem", own.pem()),
        ("key.pem", own_key.serialize_pem()),
    ];
    let [authority, own, key] = files.map(|(name, text)| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    });
    (authority, own, key)
}

#[tokio::test]
async fn a_companys_registry_is_reached_through_its_proxy_and_trusted_by_ca_file_only() {
    let folder = tempfile::tempdir().unwrap();
    let (authority, certificate, key) = certificates(folder.path());
    let pem = std::fs::read(&authority).unwrap();
    let registry = LocalRegistry::with_tls(&certificate, &key, &pem);
    registry.push("tls", "1", &TestImage::small()).await;
    let (host, asked) = proxy(registry.host.clone()).await;
    let proxy = OutgoingProxy {
        url: format!("http://{host}").parse().unwrap(),
        credential: RegistryCredential::Password { user: "me".into(), password: "sesame".into() },
        bypass: vec![".near.example".to_owned()],
    };
    let trusted = TrustedCertificates { file: authority, pem };
    for trusted in [None, Some(trusted)] {
        let mut settings = settings();
        let is_trusted = trusted.is_some();
        settings.outgoing = OutgoingNetwork { trusted, proxy: Some(proxy.clone()) };
        let store = ImageStore::new(folder.path().join("store"), settings).unwrap();
        match pulled(&store, "registry.example/tls:1").await {
            Ok(_) => assert!(is_trusted),
            Err(error) => {
                let said = error.to_string();
                assert!(!is_trusted && error.fault() == ImageFault::Settings, "{said}");
                assert!(said.contains("not trusted") && said.contains("network.ca_file"), "{said}");
            }
        }
        assert!(!format!("{store:?}").contains("sesame"));
    }
    let asked = asked.lock().unwrap();
    let (host, login) =
        ("CONNECT registry.example:443 HTTP/1.1\r\n", "Proxy-Authorization: Basic bWU6c2VzYW1l\r\n");
    assert!(asked.iter().all(|asked| asked.starts_with(host) && asked.contains(login)), "{asked:?}");
}

#[tokio::test]
async fn many_who_want_an_image_at_once_pull_it_once() {
    let registry = LocalRegistry::start();
    let name = registry.push("some/image", "1", &three_layers()).await;
    let folder = tempfile::tempdir().unwrap();
    // Simulates several processes: only the folder is shared.
    let stores: Vec<ImageStore> = (0..6).map(|_| store(folder.path())).collect();
    let found = resolved(&stores[0], &name).await.unwrap();
    let pulling = Arc::new(Mutex::new(BTreeSet::new()));
    let tasks = stores.into_iter().enumerate().map(|(number, store)| {
        let (found, pulling) = (found.clone(), Arc::clone(&pulling));
        let observer = Arc::new(move |_: PullProgress| {
            pulling.lock().unwrap().insert(number);
        });
        tokio::spawn(async move { store.root(&found, observer).await.unwrap().path })
    });
    let mut paths = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        paths.push(task.await.unwrap());
    }
    paths.dedup();
    assert_eq!((paths.len(), pulling.lock().unwrap().len()), (1, 1));
}
