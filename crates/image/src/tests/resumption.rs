//! Connections that break, processes that end, and what is left of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use super::fake_registry::{AskedRequest, FakeAnswer, FakeRegistry};
use super::{listed, listening, pulled, quiet, resolved, store};
use crate::{ImageDigest, PullStep};
use journeyman_test_support::archives::{TestArchive, TestImage, TestLayer};

/// Of bytes that do not get smaller.
fn large() -> TestImage {
    let mut state = 1_u64;
    let letters = (0..600_000).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'a' + u8::try_from(state >> 33 & 15).unwrap())
    });
    TestImage::new(vec![TestLayer::gzip(TestArchive::new().file("large", &letters.collect::<String>()))])
}

fn asks_for(request: &AskedRequest, blob: &[u8]) -> bool {
    request.path().ends_with(&format!("/blobs/{}", ImageDigest::of(blob)))
}

fn begin(request: &AskedRequest) -> usize {
    let range = request
        .header("range")
        .and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok());
    range.unwrap_or(0)
}

/// Sends at most this much of the layer, then hangs up.
fn piece(layer: &[u8], request: &AskedRequest, most: usize) -> FakeAnswer {
    let begin = begin(request);
    let end = (begin + most).min(layer.len());
    let answer = FakeAnswer::of(&layer[begin..end]);
    let answer = FakeAnswer { length: Some((layer.len() - begin) as u64), ..answer };
    if begin == 0 {
        return answer;
    }
    FakeAnswer { status: 206, ..answer }
        .with("content-range", format!("bytes {begin}-{}/{}", layer.len() - 1, layer.len()))
}

#[tokio::test]
async fn a_connection_that_breaks_is_taken_up_where_it_broke() {
    let image = large();
    let layer = image.blobs[0].clone();
    let sent = Arc::new(AtomicU64::new(0));
    let (counted, whole) = (Arc::clone(&sent), layer.clone());
    let registry = FakeRegistry::of(image, move |request| {
        asks_for(request, &whole).then(|| {
            let answer = piece(&whole, request, whole.len() / 3 + 1);
            counted.fetch_add(answer.body.len() as u64, Ordering::Relaxed);
            answer
        })
    });
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let image = resolved(&store, &format!("{}/x:1", registry.host)).await.unwrap();
    let (observer, heard) = listening();
    let root = store.root(&image, observer).await.unwrap();
    assert_eq!(std::fs::metadata(root.path.join("large")).unwrap().len(), 600_000);
    assert_eq!(sent.load(Ordering::Relaxed), layer.len() as u64, "nothing was sent twice");
    let heard = heard.lock().unwrap();
    let last = heard.iter().rfind(|progress| progress.step == PullStep::Download).unwrap();
    assert_eq!((last.done, last.total), (layer.len() as u64, layer.len() as u64));
}

#[tokio::test]
async fn a_registry_that_cannot_go_on_sends_from_the_beginning() {
    // It answers with the whole, or with a part that was not asked for.
    for wrong in [
        |_: &AskedRequest, layer: &[u8]| FakeAnswer::of(layer),
        |request: &AskedRequest, layer: &[u8]| {
            let range = format!("bytes 0-{}/{}", layer.len() - 1, layer.len());
            FakeAnswer { status: if begin(request) > 0 { 206 } else { 200 }, ..FakeAnswer::of(layer) }
                .with("content-range", range)
        },
    ] {
        let image = large();
        let layer = image.blobs[0].clone();
        let count = AtomicUsize::new(0);
        let registry = FakeRegistry::of(image, move |request| {
            asks_for(request, &layer).then(|| match count.fetch_add(1, Ordering::Relaxed) {
                0 => piece(&layer, request, 1_000),
                _ => wrong(request, &layer),
            })
        });
        let folder = tempfile::tempdir().unwrap();
        pulled(&store(folder.path()), &format!("{}/x:1", registry.host)).await.unwrap();
    }
}

#[tokio::test]
async fn a_pull_that_was_ended_goes_on_with_what_is_there() {
    let image = large();
    let layer = image.blobs[0].clone();
    let (whole, half) = (layer.clone(), layer.len() / 2);
    let registry = FakeRegistry::of(image.clone(), move |request| {
        // From the middle on it takes longer than anybody waits.
        asks_for(request, &whole).then(|| {
            if begin(request) > 0 {
                std::thread::sleep(Duration::from_secs(60));
            }
            piece(&whole, request, half)
        })
    });
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let found = resolved(&store, &format!("{}/x:1", registry.host)).await.unwrap();
    let waited = tokio::time::timeout(Duration::from_secs(3), store.root(&found, quiet())).await;
    assert!(waited.is_err());
    assert!(store.stored().unwrap().is_empty());

    let whole = layer.clone();
    let sent = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&sent);
    let registry = FakeRegistry::of(image, move |request| {
        asks_for(request, &whole).then(|| {
            let answer = piece(&whole, request, whole.len());
            counted.fetch_add(answer.body.len() as u64, Ordering::Relaxed);
            answer
        })
    });
    pulled(&store, &format!("{}/x@{}", registry.host, found.digest)).await.unwrap();
    assert_eq!(sent.load(Ordering::Relaxed), (layer.len() - half) as u64);
}

#[tokio::test]
async fn what_a_crash_left_is_not_taken_for_whole() {
    let image = large();
    let registry = FakeRegistry::of(image.clone(), |_| None);
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let found = resolved(&store, &format!("{}/x:1", registry.host)).await.unwrap();
    let name = found.manifest.file_name();
    let base = folder.path().join("store");
    // Half a blob with other bytes, half a root, and a folder without its record.
    let partial = base.join("partial").join(&name);
    std::fs::create_dir_all(partial.join("image/root/old")).unwrap();
    std::fs::write(partial.join("image/image.json"), "{}").unwrap();
    std::fs::write(
        partial.join(format!("{}.partial", ImageDigest::of(&image.blobs[0]).file_name())),
        "other bytes",
    )
    .unwrap();
    std::fs::create_dir_all(base.join("images").join(&name).join("root/old")).unwrap();
    std::fs::write(base.join("images").join(&name).join("image.json"), "{\"version\":1,").unwrap();
    std::fs::write(base.join("manifests").join(&name), "{").unwrap();
    let root = store.root(&found, quiet()).await.unwrap();
    assert!(!root.path.join("old").exists());
    assert!(listed(&root.path).starts_with("large 644"));
    assert!(!partial.exists());
}
