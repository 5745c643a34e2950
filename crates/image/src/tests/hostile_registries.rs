//! Registries that lie, send without end, or want credentials for others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;

use super::fake_registry::{FakeAnswer, FakeRegistry, honest};
use super::{digest, pulled, resolved, settings, store};
use crate::manifest::MANIFEST;
use crate::{ImageConfig, ImageDigest, ImageFault, ImageLimits, ImageSettings, ImageStore};
use journeyman_test_support::archives::{TestArchive, TestImage, TestLayer, described, index};

/// What is said about an image of a registry that answers so.
async fn refusal(registry: &FakeRegistry, name: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let error = pulled(&store, &format!("{}/{name}", registry.host)).await.unwrap_err();
    assert!(store.stored().unwrap().is_empty());
    format!("{:?}: {}", error.fault(), error.to_string().replace(&registry.host, "HOST"))
}

/// Digests say nothing to a reader.
fn without_digests(text: &str) -> String {
    let mut parts = text.split("sha256:");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        format!("{text}DIGEST{}", part.trim_start_matches(|letter: char| letter.is_ascii_hexdigit()))
    })
}

#[tokio::test]
async fn bytes_that_are_not_what_was_asked_for_are_refused() {
    let image = TestImage::small();
    let mut said = Vec::new();
    // Of the same length and of another: layer, configuration, manifest.
    for blob in 0..image.blobs.len() {
        for change in [|bytes: &mut Vec<u8>| bytes[20] ^= 1, |bytes: &mut Vec<u8>| bytes.push(0)] {
            let mut wrong = image.blobs[blob].clone();
            change(&mut wrong);
            let asked = format!("/blobs/{}", ImageDigest::of(&image.blobs[blob]));
            let registry = FakeRegistry::of(image.clone(), move |request| {
                request.path().ends_with(&asked).then(|| FakeAnswer::of(&wrong))
            });
            said.push(refusal(&registry, "x:1").await);
        }
    }
    let other = TestImage::new(vec![TestLayer::gzip(TestArchive::new().file("other", "x"))]);
    let registry = FakeRegistry::of(other.clone(), |_| None);
    said.push(refusal(&registry, &format!("x@{}", digest(&image))).await);
    // An index whose entry is answered with another manifest.
    let here =
        format!(r#"{{"os":"linux","architecture":"{}"}}"#, journeyman_test_support::archives::architecture());
    let list = index(&[(&image, &here)]);
    let registry =
        FakeRegistry::of(other, move |request| request.path().ends_with("/1").then(|| FakeAnswer::of(&list)));
    said.push(refusal(&registry, "x:1").await);
    insta::assert_snapshot!(without_digests(&said.join("\n")), @r"
    Image: HOST/x:1 is refused: its registry sends bytes with the digest DIGEST where DIGEST was asked for
    Image: HOST/x:1 is refused: its registry sends more than the 135 bytes of DIGEST
    Image: HOST/x:1 is refused: its registry sends bytes with the digest DIGEST where DIGEST was asked for
    Image: HOST/x:1 is refused: its registry sends bytes with the digest DIGEST where DIGEST was asked for
    Image: HOST/x@DIGEST is refused: its registry sends bytes with the digest DIGEST where DIGEST was asked for
    Image: HOST/x:1 is refused: its registry sends bytes with the digest DIGEST where DIGEST was asked for
    ");
}

#[tokio::test]
async fn a_layer_that_is_not_what_the_configuration_says_is_refused() {
    let layer = TestLayer::gzip(TestArchive::new().file("x", "x"));
    let lying = TestLayer { diff_id: ImageDigest::of(b"other").to_string(), ..layer };
    let registry = FakeRegistry::of(TestImage::new(vec![lying]), |_| None);
    insta::assert_snapshot!(without_digests(&refusal(&registry, "x:1").await), @"Image: HOST/x:1 is refused: a layer is not the one that its configuration names (DIGEST instead of DIGEST)");
}

#[tokio::test]
async fn documents_that_are_no_image_are_refused() {
    let image = TestImage::small();
    let config = described("application/vnd.oci.image.config.v1+json", image.blobs.last().unwrap());
    let layer = described("application/vnd.oci.image.layer.v1.tar+gzip", &image.blobs[0]);
    let negative = layer.replace("\"size\":", "\"size\":-");
    let foreign = layer.replace("oci.image.layer.v1", "oci.image.layer.nondistributable.v1");
    let chart = config.replace("oci.image.config", "cncf.helm.config");
    let many = vec![layer.as_str(); 128].join(",");
    let cases = [
        "no json".to_owned(),
        "{}".to_owned(),
        format!(r#"{{"schemaVersion":1,"config":{config},"layers":[{layer}]}}"#),
        format!(r#"{{"schemaVersion":2,"config":{config},"layers":[]}}"#),
        format!(r#"{{"schemaVersion":2,"config":{config},"layers":[{many}]}}"#),
        format!(r#"{{"schemaVersion":2,"config":{config},"layers":[{negative}]}}"#),
        format!(r#"{{"schemaVersion":2,"config":{config},"layers":[{foreign}]}}"#),
        format!(r#"{{"schemaVersion":2,"config":{chart},"layers":[{layer}]}}"#),
        format!(r#"{{"schemaVersion":2,"config":{config},"layers":[{layer},{layer}]}}"#),
        format!(r#"{{"schemaVersion":2,"config":{config},"layers":[{layer}],"manifests":[]}}"#),
        format!(r#"{{"schemaVersion":2,"mediaType":"{MANIFEST}","manifests":[]}}"#),
        r#"{"schemaVersion":2,"manifests":[]}"#.to_owned(),
        format!(
            r#"{{"schemaVersion":2,"config":{config},"layers":[{}]}}"#,
            layer.replace("sha256:", "sha256:../../")
        ),
    ];
    let mut said = Vec::new();
    for case in cases {
        let registry = FakeRegistry::of(image.clone(), move |request| {
            request.path().contains("/manifests/").then(|| FakeAnswer::of(case.as_bytes()))
        });
        said.push(refusal(&registry, "x:1").await);
    }
    insta::assert_snapshot!(said.join("\n").replace(journeyman_test_support::archives::architecture(), "ARCH"), @r"
    Image: HOST/x:1 is refused: its manifest cannot be read: expected ident at line 1 column 2
    Image: HOST/x:1 is refused: its manifest cannot be read: missing field `schemaVersion` at line 1 column 2
    Image: HOST/x:1 is refused: its manifest has a form that registries gave up in 2019. Push it again with a docker of today
    Image: HOST/x:1 is refused: it has no layers
    Image: HOST/x:1 is refused: it has 128 layers; at most 127 are usual
    Image: HOST/x:1 is refused: its manifest cannot be read: invalid value: integer `-135`, expected u64 at line 1 column 342
    Image: HOST/x:1 is refused: a layer has a form that is not supported (application/vnd.oci.image.layer.nondistributable.v1.tar+gzip): it lies elsewhere, and other places than the registry are not asked
    Image: HOST/x:1 is refused: it is no image that can be run (application/vnd.cncf.helm.config.v1+json)
    Image: HOST/x:1 is refused: its configuration speaks of 1 layers, its manifest of 2
    Image: HOST/x:1 is refused: its manifest is neither an image nor an index of images (no media type)
    Image: HOST/x:1 is refused: its manifest is neither an image nor an index of images (application/vnd.oci.image.manifest.v1+json)
    Image: HOST/x:1 is refused: it is not made for linux/ARCH, which this machine is, but for nothing. Choose an image that is
    Image: HOST/x:1 is refused: `sha256:../../4760892e5df5f87dc22ab03abb79c4f0b21bf33a9195b71906ebc8542954b0c5` is no sha256 digest
    ");
}

#[tokio::test]
async fn a_configuration_that_starts_nothing_is_refused() {
    for config in
        [r#""Cmd":["a\u0000b"]"#, r#""Env":["A=\u0000"]"#, r#""WorkingDir":"\u0000""#, r#""User":"\u0000""#]
    {
        let layer = TestLayer::gzip(TestArchive::new().file("x", "x"));
        let registry = FakeRegistry::of(TestImage::with_config(vec![layer], config), |_| None);
        let said = refusal(&registry, "x:1").await;
        assert!(said.contains("its configuration holds a NUL"), "{said}");
    }
    // What only sets nothing does no harm.
    let layer = TestLayer::gzip(TestArchive::new().file("x", "x"));
    let image = TestImage::with_config(vec![layer], r#""Env":["A","=b","B="],"Cmd":null,"WorkingDir":"""#);
    let registry = FakeRegistry::of(image, |_| None);
    let folder = tempfile::tempdir().unwrap();
    let root = pulled(&store(folder.path()), &format!("{}/x:1", registry.host)).await.unwrap();
    assert_eq!(
        root.config,
        ImageConfig { env: vec![("B".to_owned(), String::new())], ..ImageConfig::default() }
    );
}

#[tokio::test]
async fn what_is_sent_without_end_is_not_read_without_end() {
    let image = TestImage::small();
    for place in ["/manifests/", "/blobs/"] {
        let registry = FakeRegistry::of(image.clone(), move |request| {
            request.path().contains(place).then(|| FakeAnswer { endless: true, ..FakeAnswer::of(b"") })
        });
        let said = refusal(&registry, "x:1").await;
        assert!(said.starts_with("Image: ") && said.contains("sends more than"), "{said}");
    }
    // What has an end counts too.
    let long = [image.manifest.clone(), vec![b' '; 5 << 20]].concat();
    let registry = FakeRegistry::of(image.clone(), move |request| {
        request.path().contains("/manifests/").then(|| FakeAnswer::of(&long))
    });
    let said = refusal(&registry, "x:1").await;
    assert!(said.contains("sends more than 4194304 bytes"), "{said}");
    let layer = ImageDigest::of(&image.blobs[0]).to_string();
    let registry = FakeRegistry::of(image.clone(), move |request| {
        request.path().ends_with(&layer).then(|| FakeAnswer { endless: true, ..FakeAnswer::of(b"") })
    });
    let said = refusal(&registry, "x:1").await;
    assert!(said.starts_with("Image: ") && said.contains("sends more than"), "{said}");
}

#[tokio::test]
async fn an_image_that_is_too_large_is_not_downloaded() {
    let registry = FakeRegistry::of(TestImage::small(), |_| None);
    let folder = tempfile::tempdir().unwrap();
    let limits = ImageLimits { download_bytes: 10, ..ImageLimits::default() };
    let small = ImageStore::new(folder.path(), ImageSettings { limits, ..settings() }).unwrap();
    let error = pulled(&small, &format!("{}/x:1", registry.host)).await.unwrap_err();
    assert!(error.to_string().ends_with("at most 10 are allowed"), "{error}");
    assert!(registry.asked().iter().all(|request| !request.line.contains("/blobs/")));
    let limits = ImageLimits { entries: 1, ..ImageLimits::default() };
    let small = ImageStore::new(folder.path(), ImageSettings { limits, ..settings() }).unwrap();
    let error = pulled(&small, &format!("{}/x:1", registry.host)).await.unwrap_err();
    assert!(error.to_string().contains("files, folders and links"), "{error}");
    assert!(std::fs::read_dir(folder.path().join("partial")).unwrap().next().is_none());
}

/// A registry that gives an image for one token, which its service gives for one password.
fn with_tokens(given: &'static str, accepted: &'static str) -> FakeRegistry {
    let image = TestImage::small();
    FakeRegistry::start(move |request| {
        let host = request.header("host").unwrap();
        if request.path().starts_with("/token") {
            return FakeAnswer::of(given.as_bytes());
        }
        if request.header("authorization") == Some(&format!("Bearer {accepted}")) {
            return honest(&image, request);
        }
        let wanted = format!(
            r#"Basic realm="x", Bearer realm="http://{host}/token",service="the, service",scope="ignored""#
        );
        FakeAnswer::status(401).with("www-authenticate", wanted)
    })
}

fn with_login(folder: &std::path::Path, registry: &FakeRegistry, entry: &str) -> ImageStore {
    let file = folder.join("auth.json");
    std::fs::write(&file, format!(r#"{{"auths":{{"{}":{entry}}}}}"#, registry.host)).unwrap();
    let settings = ImageSettings { auth_files: vec![file], ..settings() };
    ImageStore::new(folder.join("store"), settings).unwrap()
}

fn password() -> String {
    format!(r#"{{"auth":"{}"}}"#, base64::engine::general_purpose::STANDARD.encode("me:open sesame"))
}

#[tokio::test]
async fn a_token_is_asked_for_once_with_the_password_and_for_this_repository() {
    for (given, entry) in [
        (r#"{"token":"t0ken"}"#, password()),
        (r#"{"access_token":"t0ken","expires_in":60}"#, password()),
        (r#"{"access_token":"t0ken","token":"t0ken"}"#, r#"{"identitytoken":"identity"}"#.to_owned()),
    ] {
        let registry = with_tokens(given, "t0ken");
        let folder = tempfile::tempdir().unwrap();
        let store = with_login(folder.path(), &registry, &entry);
        pulled(&store, &format!("{}/some/image:1", registry.host)).await.unwrap();
        let asked = registry.asked();
        let tokens: Vec<_> = asked.iter().filter(|request| request.path().starts_with("/token")).collect();
        // One for the name, one for the pull.
        assert_eq!(tokens.len(), 2);
        let line = format!("{} {}", tokens[0].line, tokens[0].header("authorization").unwrap_or("-"));
        let expected = if entry.contains("identitytoken") {
            "POST /token HTTP/1.1 -"
        } else {
            "GET /token?scope=repository%3Asome%2Fimage%3Apull&service=the%2C+service HTTP/1.1 Basic bWU6b3BlbiBzZXNhbWU="
        };
        assert_eq!(line, expected);
    }
}

#[tokio::test]
async fn a_token_service_that_gives_no_token_is_an_error() {
    let mut said = Vec::new();
    for given in ["", "{}", r#"{"token":"a\nb: c"}"#, r#"{"token":"wrong"}"#, r#"{"token":7}"#] {
        let registry = with_tokens(given, "t0ken");
        let folder = tempfile::tempdir().unwrap();
        let store = with_login(folder.path(), &registry, &password());
        let error = resolved(&store, &format!("{}/x:1", registry.host)).await.unwrap_err();
        let file = folder.path().join("auth.json").display().to_string();
        said.push(error.to_string().replace(&registry.host, "HOST").replace(&file, "FILE"));
    }
    insta::assert_snapshot!(said.join("\n"), @r"
    the registry HOST does not answer as it should: its token service answers with something else than a token
    the registry HOST does not answer as it should: its token service answers with something else than a token
    the registry HOST does not answer as it should: its token service answers with something else than a token
    the registry does not give HOST/x:1 to us: the credential for HOST from FILE was refused or does not suffice; renew it with `podman login --authfile FILE HOST`
    the registry HOST does not answer as it should: its token service answers with something else than a token
    ");
}

#[tokio::test]
async fn a_password_goes_to_no_address_that_others_can_read() {
    for realm in ["http://example.org/token", "ftp://example.org", "file:///etc/passwd", "no address", ""] {
        let registry = FakeRegistry::start(move |_| {
            FakeAnswer::status(401).with("www-authenticate", format!(r#"Bearer realm="{realm}""#))
        });
        let folder = tempfile::tempdir().unwrap();
        let store = with_login(folder.path(), &registry, &password());
        let error = resolved(&store, &format!("{}/x:1", registry.host)).await.unwrap_err();
        assert!(error.to_string().contains("its token service is not reached over HTTPS"), "{error}");
    }
}

#[tokio::test]
async fn a_redirect_gets_the_blob_without_the_password() {
    let image = TestImage::small();
    let (blobs, other) = (image.clone(), image.clone());
    let elsewhere = FakeRegistry::start(move |request| honest(&blobs, request));
    // The same machine under another name is another host.
    let place = elsewhere.host.replace("127.0.0.1", "localhost");
    let registry = FakeRegistry::start(move |request| {
        if request.header("authorization").is_none() {
            return FakeAnswer::status(401).with("www-authenticate", "Basic realm=\"x\"");
        }
        if request.path().contains("/blobs/") {
            return FakeAnswer::status(307)
                .with("location", format!("http://{place}{}?signature=x", request.path()));
        }
        honest(&other, request)
    });
    let folder = tempfile::tempdir().unwrap();
    let store = with_login(folder.path(), &registry, &password());
    pulled(&store, &format!("{}/x:1", registry.host)).await.unwrap();
    let asked = elsewhere.asked();
    assert!(
        !asked.is_empty() && asked.iter().all(|request| request.header("authorization").is_none()),
        "{asked:?}"
    );
}

#[tokio::test]
async fn redirects_lead_neither_away_from_https_nor_round_in_circles() {
    for (location, reason) in [
        ("http://example.org/x", "not HTTPS"),
        ("ftp://example.org/x", "not HTTPS"),
        ("/v2/x/manifests/1", "without end"),
    ] {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let registry = FakeRegistry::start(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            FakeAnswer::status(307).with("location", location)
        });
        let folder = tempfile::tempdir().unwrap();
        let error = resolved(&store(folder.path()), &format!("{}/x:1", registry.host)).await.unwrap_err();
        assert!(error.to_string().contains(reason), "{location}: {error}");
        assert!(count.load(Ordering::Relaxed) < 10);
    }
}

#[tokio::test]
async fn a_registry_that_is_tired_is_asked_again() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let registry = FakeRegistry::of(TestImage::small(), move |_| {
        let tired = counted.fetch_add(1, Ordering::Relaxed);
        (tired < 2).then(|| FakeAnswer::status([503, 429][tired]).with("retry-after", "0"))
    });
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    pulled(&store, &format!("{}/x:1", registry.host)).await.unwrap();

    let registry = FakeRegistry::start(|_| {
        FakeAnswer { body: b"too\nmany".to_vec(), ..FakeAnswer::status(429) }.with("retry-after", "0")
    });
    let error = resolved(&store, &format!("{}/x:1", registry.host)).await.unwrap_err();
    assert_eq!(error.fault(), ImageFault::Temporary);
    assert!(error.to_string().contains("429") && !error.to_string().contains('\n'), "{error}");
}

proptest::proptest! {
    #[test]
    fn any_document_has_an_answer(at in 0_usize..2000, with in "[\\x00-\\x7f]{0,8}", cut in 0_usize..2000) {
        let image = TestImage::small();
        let index = index(&[(&image, r#"{"os":"linux","architecture":"amd64"}"#)]);
        for document in [&image.manifest, &index, image.blobs.last().unwrap()] {
            let mut changed = document.clone();
            let at = at % changed.len();
            let cut = (at + cut % 20).min(changed.len());
            changed.splice(at..cut, with.bytes());
            let _ = crate::manifest::document(&changed);
            if let Ok(crate::manifest::ManifestDocument::Image(manifest)) = crate::manifest::document(&image.manifest) {
                let _ = crate::manifest::config(&changed, &manifest);
            }
        }
    }
}
