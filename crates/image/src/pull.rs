//! Pulls one image from its digest to a complete root folder.
//!
//! May know: the programs, documents, one folder for incomplete images. Must never know: which images are kept.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use crate::error::{ImageError, ImageFault};
use crate::manifest::{self, ImageConfig, ManifestDocument};
use crate::programs::{ImageSettings, ImageSize};
use crate::reference::{ImageDigest, ImageReference};

/// Permission bits that are kept. Without setuid and setgid, no program gains rights from an image.
const FILE_MODE: u32 = 0o777;
const FOLDER_MODE: u32 = 0o1777;

/// The current step of a pull.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullStep {
    Download,
    Unpack,
}

/// Approximate progress of a pull.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PullProgress {
    pub step: PullStep,
    pub done: u64,
    /// `None` while unpacking, because the total is unknown until the end.
    pub total: Option<u64>,
}

/// Receives the progress several times a second.
pub type PullObserver = Arc<dyn Fn(PullProgress) + Send + Sync>;

/// Fetches a manifest or an index and verifies the digest in the name. `skopeo inspect` does not.
pub(crate) async fn fetch_document(
    settings: &ImageSettings,
    image: &ImageReference,
) -> Result<(ImageDigest, ManifestDocument), ImageError> {
    let bytes = settings.inspect(image, &["--raw"]).await?;
    let found = ImageDigest::of(&bytes);
    if image.digest().is_some_and(|digest| *digest != found) {
        return Err(ImageError::refused(image, format!("its registry sends something else ({found})")));
    }
    let document = manifest::document(&bytes).map_err(|reason| ImageError::refused(image, reason))?;
    Ok((found, document))
}

/// Creates `image/root` in a folder with an empty `image`. Returns the configuration and the total bytes of files.
/// Holds the lock while anything is running, even after the caller has gone away.
pub(crate) async fn pull(
    settings: &ImageSettings,
    image: &ImageReference,
    folder: &Path,
    lock: Arc<fs::File>,
    observer: &PullObserver,
) -> Result<(ImageConfig, u64), ImageError> {
    let refused = |reason: String| ImageError::refused(image, reason);
    let (mut digest, mut document) = fetch_document(settings, image).await?;
    if let ManifestDocument::Index(chosen) = document {
        (digest, document) = fetch_document(settings, &image.pinned(chosen)).await?;
    }
    let ManifestDocument::Image { config: config_digest, download } = document else {
        return Err(refused("its index leads to another index".to_owned()));
    };
    let image = &image.pinned(digest);
    let check = |taken: ImageSize, most: ImageSize| {
        if taken.bytes <= most.bytes && taken.entries <= most.entries {
            return Ok(());
        }
        let ImageSize { bytes, entries } = most;
        let text = format!("{image} is too large: at most {bytes} bytes and {entries} files are allowed");
        Err(ImageError::new(ImageFault::Image, text))
    };
    let most_download = ImageSize { bytes: settings.most_download, ..settings.most };
    check(ImageSize { bytes: download, entries: 0 }, most_download)?;
    let config = settings.inspect(image, &["--config", "--raw"]).await?;
    if ImageDigest::of(&config) != config_digest {
        return Err(refused("its configuration is not the one that its manifest names".to_owned()));
    }
    let config = manifest::config(&config).map_err(refused)?;
    let tell = |step, done, total| observer(PullProgress { step, done, total });
    tell(PullStep::Download, 0, Some(download));
    let watch = || {
        let done = downloaded(folder);
        tell(PullStep::Download, done.bytes.min(download), Some(download));
        check(done, most_download)
    };
    settings.copy(image, folder, &watch).await?;
    tell(PullStep::Unpack, 0, None);
    let before = free(folder);
    let watch = || {
        let now = free(folder);
        let bytes = before.bytes.saturating_sub(now.bytes);
        tell(PullStep::Unpack, bytes, None);
        // Other processes write to the disk too, so the lost space may be theirs.
        check(ImageSize { bytes, entries: before.entries.saturating_sub(now.entries) }, settings.most)
            .map_err(|error| {
                ImageError::new(ImageFault::Temporary, format!("{error}. It is tried again later"))
            })
    };
    settings.unpack(image, folder, &watch).await?;
    let root = folder.join("image/root");
    let tidied = tokio::task::spawn_blocking(move || {
        let _lock = lock;
        let tidied = tidy(&root).and_then(|size| {
            rustix::fs::syncfs(fs::File::open(&root)?)?;
            Ok(size)
        });
        tidied.map_err(|error| ImageError::machine(&root, error))
    });
    let size = tidied.await.map_err(|error| ImageError::machine(folder, io::Error::other(error)))??;
    check(size, settings.most)?;
    Ok((config, size.bytes))
}

/// The downloaded bytes. skopeo keeps them in two folders.
fn downloaded(folder: &Path) -> ImageSize {
    let places = ["layout", "layout/blobs/sha256"].map(|place| fs::read_dir(folder.join(place)));
    let files = places.into_iter().flatten().flatten().flatten();
    let bytes = files.filter_map(|file| file.metadata().ok()).map(|found| found.len()).sum();
    ImageSize { bytes, entries: 0 }
}

/// The free space of the disk. umoci's unfinished tree contains unreadable folders and cannot be measured.
fn free(folder: &Path) -> ImageSize {
    let disk = rustix::fs::statvfs(folder);
    let size = disk.map(|disk| (disk.f_bavail.saturating_mul(disk.f_frsize), disk.f_ffree));
    let (bytes, entries) = size.unwrap_or_default();
    ImageSize { bytes, entries }
}

/// Makes everything readable and deletable for this user, drops setuid bits and special files, and measures the rest.
/// Follows no link. Nothing else may change the tree meanwhile.
fn tidy(root: &Path) -> io::Result<ImageSize> {
    let mut size = ImageSize::default();
    set_mode(root, &fs::symlink_metadata(root)?, FOLDER_MODE, 0o700)?;
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let (path, found) = (entry.path(), entry.metadata()?);
            size.entries = size.entries.saturating_add(1);
            if found.is_dir() {
                set_mode(&path, &found, FOLDER_MODE, 0o700)?;
                open.push(path);
            } else if found.is_file() {
                set_mode(&path, &found, FILE_MODE, 0o400)?;
                // Each hard link counts its share.
                size.bytes = size.bytes.saturating_add(found.len() / found.nlink().max(1));
            } else if !found.is_symlink() {
                fs::remove_file(&path)?;
            }
        }
    }
    Ok(size)
}

fn set_mode(path: &Path, found: &fs::Metadata, kept: u32, added: u32) -> io::Result<()> {
    let wanted = found.mode() & kept | added;
    match found.mode() & 0o7777 == wanted {
        true => Ok(()),
        false => fs::set_permissions(path, Permissions::from_mode(wanted)),
    }
}
