//! Images of a real registry, by tag and digest, with a password and through TLS.

use std::sync::Arc;

use base64::Engine as _;

use super::fake_registry::{FakeAnswer, FakeRegistry};
use super::{digest, listed, listening, pulled, quiet, resolved, settings, store};
use crate::{ImageFault, ImageReference, ImageSettings, ImageStore, PullStep};
use journeyman_order::{OutgoingNetwork, OutgoingProxy, RegistryCredential, TrustedCertificates};
use journeyman_test_support::archives::{TestArchive, TestImage, TestLayer, architecture, gzip, index, zstd};
use journeyman_test_support::local_registry::LocalRegistry;

fn three_layers() -> TestImage {
    let base = TestArchive::new()
        .folder("./")
        .folder("usr")
        .folder("usr/bin")
        .entry(b'0', b"usr/bin/tool", b"", 0o4755, b"#!/bin/sh\n")
        .symlink("bin", "usr/bin")
        .folder("etc")
        .file("etc/old", "old")
        .file("etc/kept", "kept")
        .entry(b'5', b"tmp", b"", 0o1777, b"");
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
    assert_eq!((&found.digest, &found.manifest), (&digest(&image), &digest(&image)));
    assert_eq!(found.pinned().to_string(), format!("{}/some/image@{}", registry.host, digest(&image)));
    let (observer, heard) = listening();
    let root = store.root(&found, observer).await.unwrap();
    insta::assert_snapshot!(listed(&root.path), @r##"
    a/ 755
    a/b/ 755
    a/b/c 644 "with folders"
    bin -> usr/bin
    etc/ 755
    etc/kept 644 "changed"
    tmp/ 1777
    usr/ 755
    usr/bin/ 755
    usr/bin/again 755 "#!/bin/sh\n"
    usr/bin/second 644 "through the link"
    usr/bin/tool 755 "#!/bin/sh\n"
    "##);
    insta::assert_debug_snapshot!(root.config, @r#"
    ImageConfig {
        env: [
            (
                "PATH",
                "/bin",
            ),
            (
                "X",
                "a=b",
            ),
        ],
        working_dir: Some(
            "/work",
        ),
        user: Some(
            "1000:1000",
        ),
        entrypoint: [],
        cmd: [
            "sh",
        ],
    }
    "#);
    let written = std::fs::metadata(root.path.join("etc/kept")).unwrap().modified().unwrap();
    assert_eq!(written, std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000));
    let heard = heard.lock().unwrap().clone();
    for step in [PullStep::Download, PullStep::Unpack] {
        let last = heard.iter().rfind(|progress| progress.step == step).unwrap();
        assert_eq!(last.done, last.total, "{step:?}");
        assert!(last.total > 0);
    }

    // By digest it is known from now on, without the registry.
    let pinned = found.pinned();
    drop(registry);
    let again = store.root(&store.resolve(&pinned).await.unwrap(), quiet()).await.unwrap();
    assert_eq!(again.path, root.path);
    let error = resolved(&store, &name).await.unwrap_err();
    assert_eq!(error.fault(), ImageFault::Temporary, "{error}");
}

#[tokio::test]
async fn of_an_index_the_image_for_this_machine_is_taken_and_both_digests_are_known() {
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
    let both = index(&[(&other, mips), (&other, unknown), (&ours, &here)]);
    let name = registry.push_index("multi", "latest", &both).await;
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let found = resolved(&store, &name).await.unwrap();
    assert_eq!(found.manifest, digest(&ours));
    assert_eq!(found.digest, crate::ImageDigest::of(&both));
    let root = store.root(&found, quiet()).await.unwrap();
    // The same folder by the index and by the manifest.
    let direct = pulled(&store, &format!("{}/multi@{}", registry.host, digest(&ours))).await.unwrap();
    assert_eq!(root.path, direct.path);

    let name = registry.push_index("multi", "mips", &index(&[(&other, mips), (&other, unknown)])).await;
    let error = resolved(&store, &name).await.unwrap_err();
    assert_eq!(error.fault(), ImageFault::Image);
    let expected =
        format!("not made for linux/{}, which this machine is, but for linux/mips", architecture());
    assert!(error.to_string().contains(&expected), "{error}");
    let error = pulled(&store, &format!("{}/multi:other", registry.host)).await.unwrap_err();
    assert!(error.to_string().contains("made for linux/mips"), "{error}");
}

#[tokio::test]
async fn who_asks_for_what_is_not_there_is_told_what_to_check() {
    let registry = LocalRegistry::start();
    registry.push("there", "1", &TestImage::small()).await;
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    for name in ["there:2", "elsewhere:1"] {
        let error = resolved(&store, &format!("{}/{name}", registry.host)).await.unwrap_err();
        assert_eq!(error.fault(), ImageFault::Settings);
        let said = error.to_string().replace(&registry.host, "HOST");
        insta::allow_duplicates! {
            insta::assert_snapshot!(said.replace(name, "NAME"), @"HOST/NAME is not in its registry. Check the name and the tag; if it is private, log in with `podman login HOST` or `docker login HOST` (no credential in any file)");
        }
    }
}

#[tokio::test]
async fn a_private_image_is_pulled_with_the_password_of_an_auth_file_only() {
    const BCRYPT: &str = "$2y$05$abcdefghijklmnopqrstuupx2xBUC4954936wVIjyyPHmUBFu0wCW";
    let registry = LocalRegistry::with_password("me", "open sesame", BCRYPT);
    let name = registry.push("secret/image", "1", &TestImage::small()).await;
    let folder = tempfile::tempdir().unwrap();
    let auth_file = folder.path().join("auth.json");
    let login = |password: &str| {
        let both = base64::engine::general_purpose::STANDARD.encode(format!("me:{password}"));
        std::fs::write(&auth_file, format!(r#"{{"auths":{{"{}":{{"auth":"{both}"}}}}}}"#, registry.host))
            .unwrap();
    };
    let settings = ImageSettings { auth_files: vec![auth_file.clone()], ..settings() };
    let store = ImageStore::new(folder.path().join("store"), settings).unwrap();

    let said = |error: crate::ImageError| {
        assert_eq!(error.fault(), ImageFault::Settings);
        error.to_string().replace(&registry.host, "HOST").replace(&auth_file.display().to_string(), "FILE")
    };
    insta::assert_snapshot!(said(resolved(&store, &name).await.unwrap_err()), @"the registry does not give HOST/secret/image:1 to us: if it is private, log in with `podman login HOST` or `docker login HOST` (no credential in FILE)");
    login("wrong");
    insta::assert_snapshot!(said(resolved(&store, &name).await.unwrap_err()), @"the registry does not give HOST/secret/image:1 to us: the credential for HOST from FILE was refused or does not suffice; renew it with `podman login --authfile FILE HOST`");
    login("open sesame");
    assert_eq!(listed(&pulled(&store, &name).await.unwrap().path), "etc/ 755\netc/name 644 \"small\"");
}

#[tokio::test]
async fn a_registry_with_a_companys_certificate_is_trusted_by_ca_file_only() {
    let folder = tempfile::tempdir().unwrap();
    let (authority, certificate, key) = certificates(folder.path());
    let registry = LocalRegistry::with_tls(&certificate, &key, &std::fs::read(&authority).unwrap());
    let name = registry.push("tls", "1", &TestImage::small()).await;
    let trusted = |file: std::path::PathBuf, pem: Vec<u8>| OutgoingNetwork {
        trusted: Some(TrustedCertificates { file, pem }),
        proxy: None,
    };
    let pem = std::fs::read(&authority).unwrap();
    let trusting = ImageSettings { outgoing: trusted(authority, pem), ..settings() };
    let trusting = ImageStore::new(folder.path().join("trusting"), trusting).unwrap();
    pulled(&trusting, &name).await.unwrap();

    let strict = ImageSettings { plain_http_on_loopback: false, ..settings() };
    let strict = ImageStore::new(folder.path().join("strict"), strict).unwrap();
    let error = resolved(&strict, &name).await.unwrap_err();
    assert_eq!(error.fault(), ImageFault::Settings);
    assert!(
        error.to_string().contains("a certificate that is not trusted")
            && error.to_string().contains("ca_file"),
        "{error}"
    );

    let nonsense = ImageSettings { outgoing: trusted("none.pem".into(), b"none".to_vec()), ..settings() };
    let error = ImageStore::new(folder.path().join("nonsense"), nonsense).unwrap_err();
    assert!(error.to_string().contains("none.pem"), "{error}");
}

/// An authority, and a certificate of its for 127.0.0.1 with its key.
fn certificates(folder: &std::path::Path) -> (std::path::PathBuf, std::path::PathBuf, std::path::PathBuf) {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut authority = rcgen::CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority_certificate = authority.self_signed(&key).unwrap();
    let issuer = rcgen::Issuer::new(authority, key);
    let own_key = rcgen::KeyPair::generate().unwrap();
    let own = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()])
        .unwrap()
        .signed_by(&own_key, &issuer)
        .unwrap();
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
async fn plain_http_is_for_this_machine_and_only_where_that_is_allowed() {
    let registry = LocalRegistry::start();
    let name = registry.push("plain", "1", &TestImage::small()).await;
    let folder = tempfile::tempdir().unwrap();
    let strict = ImageSettings { plain_http_on_loopback: false, ..settings() };
    let strict = ImageStore::new(folder.path().join("strict"), strict).unwrap();
    let error = resolved(&strict, &name).await.unwrap_err();
    assert_eq!(error.fault(), ImageFault::Temporary, "{error}");
}

#[tokio::test]
async fn a_proxy_is_asked_for_what_is_not_on_this_machine_and_its_password_is_not_shown() {
    let proxy = FakeRegistry::start(|_| FakeAnswer::status(403));
    let registry = LocalRegistry::start();
    let name = registry.push("near", "1", &TestImage::small()).await;
    let folder = tempfile::tempdir().unwrap();
    let through = OutgoingProxy {
        url: format!("http://{}", proxy.host).parse().unwrap(),
        credential: RegistryCredential::Password { user: "me".into(), password: "sesame".into() },
        bypass: Vec::new(),
    };
    let outgoing = OutgoingNetwork { trusted: None, proxy: Some(through) };
    let settings = ImageSettings { outgoing, ..settings() };
    let store = ImageStore::new(folder.path(), settings).unwrap();
    pulled(&store, &name).await.unwrap();
    assert!(proxy.asked().is_empty());
    let error = resolved(&store, "registry.example/far:1").await.unwrap_err();
    let asked = proxy.asked();
    assert_eq!(asked[0].line, "CONNECT registry.example:443 HTTP/1.1");
    assert_eq!(asked[0].header("proxy-authorization"), Some("Basic bWU6c2VzYW1l"));
    assert!(!format!("{error} {store:?}").contains("sesame"), "{error} {store:?}");
}

#[tokio::test]
async fn many_who_want_an_image_at_once_pull_it_once() {
    let registry = FakeRegistry::of(three_layers(), |_| None);
    let folder = tempfile::tempdir().unwrap();
    // As if in several processes: nothing is shared but the folder.
    let stores: Vec<ImageStore> = (0..6).map(|_| store(folder.path())).collect();
    let name = format!("{}/some/image:1", registry.host);
    let found = resolved(&stores[0], &name).await.unwrap();
    let found = Arc::new(found);
    let tasks = stores.into_iter().map(|store| {
        let found = Arc::clone(&found);
        tokio::spawn(async move { store.root(&found, quiet()).await.unwrap().path })
    });
    let mut paths = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        paths.push(task.await.unwrap());
    }
    paths.dedup();
    assert_eq!(paths.len(), 1);
    let blobs = registry.asked().iter().filter(|request| request.line.contains("/blobs/")).count();
    assert_eq!(blobs, three_layers().blobs.len());
}

#[test]
fn names_are_read_by_dockers_rules() {
    let read = |text: &str| {
        text.parse::<ImageReference>().map(|name| name.to_string()).map_err(|error| error.to_string())
    };
    let digest = "a".repeat(64);
    let names = [
        ("python", "docker.io/library/python:latest"),
        ("python:3.12-slim", "docker.io/library/python:3.12-slim"),
        ("owner/name", "docker.io/owner/name:latest"),
        ("docker.io/python", "docker.io/library/python:latest"),
        ("index.docker.io/library/python:3", "docker.io/library/python:3"),
        ("ghcr.io/o/n:tag", "ghcr.io/o/n:tag"),
        ("localhost/x", "localhost/x:latest"),
        ("localhost:5000/x", "localhost:5000/x:latest"),
        ("localhost:5000", "docker.io/library/localhost:5000"),
        ("[::1]:5000/x:y", "[::1]:5000/x:y"),
        ("GHCR.io/o/n", "ghcr.io/o/n:latest"),
        ("a/b/c__d/e--f.g", "docker.io/a/b/c__d/e--f.g:latest"),
    ];
    for (text, whole) in names {
        assert_eq!(read(text).as_deref(), Ok(whole), "{text}");
    }
    assert_eq!(
        read(&format!("python@sha256:{digest}")),
        Ok(format!("docker.io/library/python@sha256:{digest}"))
    );
    assert_eq!(
        read(&format!("python:3@sha256:{digest}")),
        Ok(format!("docker.io/library/python:3@sha256:{digest}"))
    );
    let wrong = [
        "",
        "Python",
        "owner/Name",
        "https://ghcr.io/o/n",
        "python:",
        "python:-x",
        "python@sha256:abc",
        "-python",
        "a//b",
        "ghcr.io/",
        "ghcr.io/../x",
        "x/..",
        "a___b",
        "host:99999/x",
        "ho st.example/x",
        "python\n",
        "x?y",
        "x%2f..",
        "x@md5:1",
        "a.example:/x",
    ];
    let errors: Vec<String> = wrong.into_iter().map(|text| read(text).expect_err(text)).collect();
    insta::assert_snapshot!(errors.join("\n"), @r"
    `` is not the name of an image: it is empty. Write `python:3.12-slim`, `ghcr.io/owner/name:tag` or `NAME@sha256:…`
    `Python` is not the name of an image: `Python` is no part of a repository's name. Write `python`
    `owner/Name` is not the name of an image: `Name` is no part of a repository's name. Write `name`
    `https://ghcr.io/o/n` is not the name of an image: it has no scheme. Write `ghcr.io/o/n` without `https://`
    `python:` is not the name of an image: `` is no tag: a tag is letters, digits, `_`, `.` and `-`, at most 128, and begins with a letter, a digit or `_`
    `python:-x` is not the name of an image: `-x` is no tag: a tag is letters, digits, `_`, `.` and `-`, at most 128, and begins with a letter, a digit or `_`
    `python@sha256:abc` is not the name of an image: after `@`: a digest is `sha256:` and 64 hexadecimal digits in small letters, as `docker images --digests` shows it
    `-python` is not the name of an image: `-python` is no part of a repository's name: each part between slashes is small letters and digits, joined by `.`, `_`, `__` or `-`. Write `python:3.12-slim`, `ghcr.io/owner/name:tag` or `NAME@sha256:…`
    `a//b` is not the name of an image: `` is no part of a repository's name: each part between slashes is small letters and digits, joined by `.`, `_`, `__` or `-`. Write `python:3.12-slim`, `ghcr.io/owner/name:tag` or `NAME@sha256:…`
    `ghcr.io/` is not the name of an image: the repository is missing. Write `python:3.12-slim`, `ghcr.io/owner/name:tag` or `NAME@sha256:…`
    `ghcr.io/../x` is not the name of an image: `..` is no part of a repository's name: each part between slashes is small letters and digits, joined by `.`, `_`, `__` or `-`. Write `python:3.12-slim`, `ghcr.io/owner/name:tag` or `NAME@sha256:…`
    `x/..` is not the name of an image: `..` is no part of a repository's name: each part between slashes is small letters and digits, joined by `.`, `_`, `__` or `-`. Write `python:3.12-slim`, `ghcr.io/owner/name:tag` or `NAME@sha256:…`
    `a___b` is not the name of an image: `a___b` is no part of a repository's name: each part between slashes is small letters and digits, joined by `.`, `_`, `__` or `-`. Write `python:3.12-slim`, `ghcr.io/owner/name:tag` or `NAME@sha256:…`
    `host:99999/x` is not the name of an image: `99999` is no port. Write a number from 1 to 65535, as `localhost:5000`
    `ho st.example/x` is not the name of an image: `ho st.example` is no registry. Write a host name, as `ghcr.io` or `localhost:5000`
    `python�` is not the name of an image: `python�` is no part of a repository's name: each part between slashes is small letters and digits, joined by `.`, `_`, `__` or `-`. Write `python:3.12-slim`, `ghcr.io/owner/name:tag` or `NAME@sha256:…`
    `x?y` is not the name of an image: `x?y` is no part of a repository's name: each part between slashes is small letters and digits, joined by `.`, `_`, `__` or `-`. Write `python:3.12-slim`, `ghcr.io/owner/name:tag` or `NAME@sha256:…`
    `x%2f..` is not the name of an image: `x%2f..` is no part of a repository's name: each part between slashes is small letters and digits, joined by `.`, `_`, `__` or `-`. Write `python:3.12-slim`, `ghcr.io/owner/name:tag` or `NAME@sha256:…`
    `x@md5:1` is not the name of an image: after `@`: a digest is `sha256:` and 64 hexadecimal digits in small letters, as `docker images --digests` shows it
    `a.example:/x` is not the name of an image: `` is no port. Write a number from 1 to 65535, as `localhost:5000`
    ");
    assert!(read(&digest).unwrap_err().contains("Write `NAME@sha256:"));
}

#[test]
fn a_capital_letter_makes_no_registry() {
    let error = "A/0:_".parse::<ImageReference>().unwrap_err().to_string();
    assert!(error.contains("`A` is no part of a repository's name. Write `a`"), "{error}");
}

proptest::proptest! {
    #[test]
    fn what_is_a_name_stays_the_same_name(text in "[a-zA-Z0-9./:@_\\[\\]-]{0,40}") {
        if let Ok(name) = text.parse::<ImageReference>() {
            let again: ImageReference = name.to_string().parse().unwrap();
            proptest::prop_assert_eq!(&again, &name);
            proptest::prop_assert!(!name.to_string().contains(".."), "{}", name);
        }
    }
}
