//! One image from its manifest to a whole root folder.
//!
//! May know: registry, blobs, layers, one folder for what is not whole yet. Must never know: which images are kept.
//!
//! Layers are fetched and checked side by side, and laid one over the other only when all are what they should be.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures_util::{StreamExt, TryStreamExt, stream};

use crate::download;
use crate::error::ImageError;
use crate::lock::ImageLock;
use crate::manifest::{self, BlobDescriptor, ImageConfig, ImageManifest};
use crate::reference::{ImageDigest, ImageReference};
use crate::registry::{MOST_OF_A_DOCUMENT, RegistrySession, wrong_bytes};
use crate::settings::ImageSettings;
use crate::unpack::{self, LayerCounts, LayerProblem, RootTree, ScannedLayer};

/// At once; more only share the same line.
const DOWNLOADS: usize = 3;
/// Between two reports.
const STRIDE: u64 = 1 << 20;

/// What a pull is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullStep {
    Download,
    Unpack,
}

/// How far a pull is. `done` can fall when bytes have to be fetched again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PullProgress {
    pub step: PullStep,
    pub done: u64,
    pub total: u64,
}

/// Hears how far a pull is, about once a mebibyte. Called from threads that do the work: it has to be quick.
pub type PullObserver = Arc<dyn Fn(PullProgress) + Send + Sync>;

/// What was made in the folder.
#[derive(Debug)]
pub(crate) struct PulledImage {
    pub(crate) config: ImageConfig,
    pub(crate) bytes: u64,
}

/// One pull.
pub(crate) struct ImagePull<'a> {
    pub(crate) session: &'a RegistrySession,
    pub(crate) image: &'a ImageReference,
    pub(crate) settings: &'a ImageSettings,
    /// For what is not whole yet. Blobs in it are used again.
    pub(crate) folder: &'a Path,
    /// Held for as long as anything of this pull is at work, also after whoever waited for it is gone.
    pub(crate) lock: Arc<ImageLock>,
    pub(crate) observer: PullObserver,
}

/// Ends what runs on other threads when nobody waits for it any more.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct ProgressMeter {
    step: PullStep,
    total: u64,
    done: AtomicU64,
    told: AtomicU64,
    observer: PullObserver,
}

impl ProgressMeter {
    fn new(step: PullStep, total: u64, observer: &PullObserver) -> Self {
        observer(PullProgress { step, done: 0, total });
        let observer = Arc::clone(observer);
        Self { step, total, done: AtomicU64::new(0), told: AtomicU64::new(0), observer }
    }

    fn change(&self, by: u64, back: u64) {
        if by == back {
            return;
        }
        let done =
            self.done.fetch_add(by.wrapping_sub(back), Ordering::Relaxed).wrapping_add(by).wrapping_sub(back);
        let told = self.told.load(Ordering::Relaxed);
        if (done == self.total || done.abs_diff(told) >= STRIDE)
            && self.told.compare_exchange(told, done, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            (self.observer)(PullProgress { step: self.step, done, total: self.total });
        }
    }
}

impl ImagePull<'_> {
    /// Fills `root`, which is there and empty.
    pub(crate) async fn run(self, manifest: &ImageManifest, root: &Path) -> Result<PulledImage, ImageError> {
        let (total, most) = (manifest.download_bytes(), self.settings.limits.download_bytes);
        if total > most {
            return Err(self.too_large(format!("{total} bytes to download, at most {most} are allowed")));
        }
        let config = self.config(manifest).await?;
        let stop = Arc::new(AtomicBool::new(false));
        let _stop = StopOnDrop(Arc::clone(&stop));
        let counts = Arc::new(LayerCounts::new(self.settings.limits));
        let meter = ProgressMeter::new(PullStep::Download, total, &self.observer);
        // Owned: the compiler does not see that borrowed ones live long enough.
        let layers: Vec<_> = manifest.layers.iter().cloned().zip(config.diff_ids.iter().cloned()).collect();
        let layers: Vec<(PathBuf, ScannedLayer)> = stream::iter(
            layers.into_iter().map(|(blob, diff_id)| self.layer(blob, diff_id, &counts, &stop, &meter)),
        )
        .buffered(DOWNLOADS)
        .try_collect()
        .await?;
        let bytes = self.unpack(layers, root.to_owned(), &stop).await?;
        Ok(PulledImage { config: config.config, bytes })
    }

    async fn config(&self, manifest: &ImageManifest) -> Result<manifest::ParsedConfig, ImageError> {
        let BlobDescriptor { digest, size } = &manifest.config;
        if *size > MOST_OF_A_DOCUMENT {
            return Err(ImageError::refused(self.image, format!("its configuration has {size} bytes")));
        }
        let bytes = self.session.config(digest).await?;
        let found = ImageDigest::of(&bytes);
        if found != *digest || bytes.len() as u64 != *size {
            return Err(ImageError::refused(self.image, wrong_bytes(&found, digest)));
        }
        manifest::config(&bytes, manifest).map_err(|reason| ImageError::refused(self.image, reason))
    }

    fn too_large(&self, what: String) -> ImageError {
        ImageError::TooLarge { image: self.image.to_string(), what }
    }

    async fn layer(
        &self,
        blob: BlobDescriptor,
        diff_id: ImageDigest,
        counts: &Arc<LayerCounts>,
        stop: &Arc<AtomicBool>,
        meter: &ProgressMeter,
    ) -> Result<(PathBuf, ScannedLayer), ImageError> {
        let last = AtomicU64::new(0);
        let at = |length: u64| meter.change(length, last.swap(length, Ordering::Relaxed));
        let path = download::blob(self.session, self.image, &blob, self.folder, &at).await?;
        let file = path.clone();
        let (counts, stop, lock) = (Arc::clone(counts), Arc::clone(stop), Arc::clone(&self.lock));
        let scan = move || {
            let _lock = lock;
            unpack::scan(&file, &diff_id, &counts, &stop)
        };
        let scanned = self.on_thread(scan, &path).await?;
        Ok((path, scanned))
    }

    async fn unpack(
        &self,
        layers: Vec<(PathBuf, ScannedLayer)>,
        root: PathBuf,
        stop: &Arc<AtomicBool>,
    ) -> Result<u64, ImageError> {
        let total = layers.iter().fold(0_u64, |all, (_, layer)| all.saturating_add(layer.bytes));
        let meter = ProgressMeter::new(PullStep::Unpack, total, &self.observer);
        let (place, stop, lock) = (root.clone(), Arc::clone(stop), Arc::clone(&self.lock));
        let unpack = move || {
            let _lock = lock;
            let mut tree = RootTree::new(&root)?;
            for (path, layer) in &layers {
                unpack::apply(path, layer, &mut tree, &stop, &|bytes| meter.change(bytes, 0))?;
            }
            tree.sync()?;
            Ok(tree.bytes())
        };
        self.on_thread(unpack, &place).await
    }

    async fn on_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, LayerProblem> + Send + 'static,
        place: &Path,
    ) -> Result<T, ImageError> {
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|error| ImageError::machine(place, std::io::Error::other(error)))?.map_err(|problem| {
            match problem {
                LayerProblem::Refused(reason) => ImageError::refused(self.image, reason),
                LayerProblem::TooLarge(what) => self.too_large(what),
                LayerProblem::Machine(error) => ImageError::machine(place, error),
                LayerProblem::Stopped => ImageError::machine(place, std::io::ErrorKind::Interrupted),
            }
        })
    }
}

/// Makes a folder that only we may use; it may be there already.
pub(crate) fn make_folder(path: &Path) -> Result<(), ImageError> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| ImageError::machine(path, error))
}
