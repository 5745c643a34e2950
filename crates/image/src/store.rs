//! Stored images, named by digest. Each is pulled once for all its users and removed when unused.
//!
//! May know: its folder, and how to pull an image into it. Must never know: what images are used for.
//!
//! ```text
//! FOLDER/images/sha256-…/     a complete image: its `root`, and `image.json`, modified at the last use
//! FOLDER/partial/sha256-…/    a running or interrupted pull; the next pull reuses its layers
//! FOLDER/locks/sha256-…       locked by each process that pulls, removes or uses the image
//! ```
//!
//! An image appears under `images` by one rename, once it is completely on disk.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use serde::{Deserialize, Serialize};

use crate::error::{ImageError, ImageFault};
use crate::manifest::ImageConfig;
use crate::programs::ImageSettings;
use crate::pull::{PullObserver, fetch_document, pull};
use crate::reference::{ImageDigest, ImageReference};

/// How often to check whether another pull has finished.
const PATIENCE: Duration = Duration::from_millis(100);
const RECORD: &str = "image.json";
const ROOT: &str = "root";
/// The `PATH` of an image that sets none.
const USUAL_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Images in one folder.
#[derive(Debug, Clone)]
pub struct ImageStore {
    folder: PathBuf,
    settings: ImageSettings,
}

/// A complete image. While this value exists, no process removes the image.
#[derive(Debug, Clone)]
pub struct ImageRoot {
    /// The folder that is the image's `/`. Never follow its links from outside.
    pub path: PathBuf,
    pub config: ImageConfig,
    /// Total bytes of all files.
    pub size: u64,
    /// The kernel releases it when the process ends, even in a crash.
    _lock: Arc<File>,
}

/// Contents of `image.json`.
#[derive(Serialize, Deserialize)]
struct ImageRecord {
    config: ImageConfig,
    size: u64,
}

impl ImageRoot {
    /// Folders with its programs, as paths inside the image.
    #[must_use]
    pub fn search_path(&self) -> Vec<PathBuf> {
        let own = self.config.env.iter().rev().find(|(name, _)| name == "PATH");
        let path = own.map_or(USUAL_PATH, |(_, path)| path.as_str());
        path.split(':').map(PathBuf::from).filter(|folder| folder.is_absolute()).collect()
    }

    /// Whether `PATH` has a program of this name. Links are followed inside the root.
    #[must_use]
    pub fn has_program(&self, name: &str) -> bool {
        !name.contains('/')
            && self.search_path().into_iter().any(|folder| self.is_program(&folder.join(name)))
    }

    /// Whether this path is a program. Links are followed inside the root.
    #[must_use]
    pub fn is_program(&self, path: &Path) -> bool {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let inside = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let found = openat(CWD, &self.path, flags | OFlags::DIRECTORY | OFlags::NOFOLLOW, Mode::empty())
            .and_then(|root| openat2(root, path, flags, Mode::empty(), inside))
            .and_then(fstat);
        found.is_ok_and(|found| {
            FileType::from_raw_mode(found.st_mode) == FileType::RegularFile && found.st_mode & 0o111 != 0
        })
    }
}

impl ImageStore {
    /// Creates the folder if necessary. Several processes may share it.
    pub fn new(folder: impl Into<PathBuf>, settings: ImageSettings) -> Result<Self, ImageError> {
        let folder = folder.into();
        for part in ["images", "partial", "locks"] {
            make_folder(&folder.join(part))?;
        }
        // Nothing can be mounted on a path with a symbolic link in it.
        let folder = fs::canonicalize(&folder).map_err(|error| ImageError::machine(&folder, error))?;
        Ok(Self { folder, settings })
    }

    /// Resolves a name to a digest: of the index if there is one, otherwise of the manifest. Always asks the registry
    /// for a tag. Asks for a digest only until its image is stored.
    pub async fn resolve(&self, image: &ImageReference) -> Result<ImageReference, ImageError> {
        // skopeo accepts no name with both tag and digest.
        let asked = image.digest().map_or_else(|| image.clone(), |digest| image.pinned(digest.clone()));
        if image.digest().is_some_and(|digest| self.record(digest).is_some()) {
            return Ok(asked);
        }
        self.settings.check()?;
        let (digest, _) = fetch_document(&self.settings, &asked).await?;
        Ok(image.pinned(digest))
    }

    /// The root of a resolved image, pulled if missing. Waits if a task in this or another process is pulling it.
    pub async fn root(
        &self,
        image: &ImageReference,
        observer: PullObserver,
    ) -> Result<ImageRoot, ImageError> {
        let Some(digest) = image.digest() else {
            return Err(ImageError::new(ImageFault::Settings, format!("{image} has no digest")));
        };
        loop {
            if let Some(root) = self.existing(digest)? {
                return Ok(root);
            }
            match self.lock(digest, File::try_lock)? {
                None => tokio::time::sleep(PATIENCE).await,
                // The previous holder may have finished it.
                Some(_) if self.record(digest).is_some() => {}
                Some(lock) => self.pull(image, digest, Arc::new(lock), &observer).await?,
            }
        }
    }

    /// Total bytes of all complete images.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let all = digests_in(&self.folder.join("images")).unwrap_or_default();
        all.iter().filter_map(|digest| self.record(digest)).map(|record| record.size).sum()
    }

    /// Deletes images and leftovers of pulls that were unused for this long, except those in use and those in `keep`.
    /// Returns the deleted images.
    pub async fn remove_unused(
        &self,
        keep: &BTreeSet<ImageDigest>,
        unused_for: Duration,
    ) -> Result<Vec<ImageDigest>, ImageError> {
        let (store, keep) = (self.clone(), keep.clone());
        let work = move || store.remove_now(&keep, unused_for);
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|error| ImageError::machine(&self.folder, io::Error::other(error)))?
    }

    fn remove_now(
        &self,
        keep: &BTreeSet<ImageDigest>,
        unused_for: Duration,
    ) -> Result<Vec<ImageDigest>, ImageError> {
        let is_old = |path: &Path| {
            let changed = fs::symlink_metadata(path).and_then(|found| found.modified());
            changed.is_ok_and(|time| time.elapsed().is_ok_and(|age| age >= unused_for))
        };
        let mut removed = Vec::new();
        for digest in digests_in(&self.folder.join("images"))? {
            let place = self.image_folder(&digest);
            if keep.contains(&digest) || !is_old(&place.join(RECORD)) {
                continue;
            }
            let Some(_lock) = self.lock(&digest, File::try_lock)? else { continue };
            let away = self.partial_folder(&digest);
            remove_all(&away)?;
            fs::rename(&place, &away).map_err(|error| ImageError::machine(&place, error))?;
            remove_all(&away)?;
            removed.push(digest);
        }
        for digest in digests_in(&self.folder.join("partial"))? {
            let place = self.partial_folder(&digest);
            if is_old(&place)
                && let Some(_lock) = self.lock(&digest, File::try_lock)?
            {
                remove_all(&place)?;
            }
        }
        Ok(removed)
    }

    async fn pull(
        &self,
        image: &ImageReference,
        digest: &ImageDigest,
        lock: Arc<File>,
        observer: &PullObserver,
    ) -> Result<(), ImageError> {
        self.settings.check()?;
        let folder = self.partial_folder(digest);
        let made = folder.join("image");
        // Left by an interrupted pull.
        remove_all(&made)?;
        make_folder(&made)?;
        // Held here too, until the image is in its final place.
        let (config, size) = match pull(&self.settings, image, &folder, Arc::clone(&lock), observer).await {
            Ok(pulled) => pulled,
            Err(error) => {
                // Only an interrupted download is worth keeping. If the deletion fails, the next pull repeats it.
                let is_passing = error.fault() == ImageFault::Temporary;
                let _ = remove_all(if is_passing { &made } else { &folder });
                return Err(error);
            }
        };
        let place = self.image_folder(digest);
        remove_all(&place)?;
        let put = || -> io::Result<()> {
            let mut record = File::create(made.join(RECORD))?;
            record.write_all(&serde_json::to_vec(&ImageRecord { config, size })?)?;
            record.sync_all()?;
            File::open(&made)?.sync_all()?;
            fs::rename(&made, &place)?;
            File::open(self.folder.join("images"))?.sync_all()
        };
        put().map_err(|error| ImageError::machine(&place, error))?;
        remove_all(&folder)
    }

    /// A complete image, marked as just used. `None` if it is missing or being changed.
    fn existing(&self, digest: &ImageDigest) -> Result<Option<ImageRoot>, ImageError> {
        let Some(lock) = self.lock(digest, File::try_lock_shared)? else { return Ok(None) };
        let Some(ImageRecord { config, size }) = self.record(digest) else { return Ok(None) };
        let place = self.image_folder(digest);
        let used = File::options().append(true).open(place.join(RECORD));
        if let Err(error) = used.and_then(|record| record.set_modified(SystemTime::now())) {
            tracing::debug!(%digest, %error, "the time of last use cannot be written");
        }
        Ok(Some(ImageRoot { path: place.join(ROOT), config, size, _lock: Arc::new(lock) }))
    }

    fn record(&self, digest: &ImageDigest) -> Option<ImageRecord> {
        serde_json::from_slice(&fs::read(self.image_folder(digest).join(RECORD)).ok()?).ok()
    }

    /// `None` if a conflicting lock is held.
    fn lock(
        &self,
        digest: &ImageDigest,
        lock: impl Fn(&File) -> Result<(), TryLockError>,
    ) -> Result<Option<File>, ImageError> {
        let path = self.folder.join("locks").join(digest.file_name());
        let file = File::options().create(true).append(true).open(&path);
        let file = file.map_err(|error| ImageError::machine(&path, error))?;
        match lock(&file) {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(ImageError::machine(&path, error)),
        }
    }

    fn image_folder(&self, digest: &ImageDigest) -> PathBuf {
        self.folder.join("images").join(digest.file_name())
    }

    fn partial_folder(&self, digest: &ImageDigest) -> PathBuf {
        self.folder.join("partial").join(digest.file_name())
    }
}

/// Creates a folder that only this user can access. It may already exist.
fn make_folder(path: &Path) -> Result<(), ImageError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| ImageError::machine(path, error))
}

fn digests_in(folder: &Path) -> Result<Vec<ImageDigest>, ImageError> {
    let entries = fs::read_dir(folder).map_err(|error| ImageError::machine(folder, error))?;
    let names = entries.flatten().map(|entry| entry.file_name());
    Ok(names.filter_map(|name| ImageDigest::parse(name.to_str()?, "sha256-")).collect())
}

/// Deletes a folder with all its contents. The system's `rm` handles any depth and follows no link.
fn remove_all(path: &Path) -> Result<(), ImageError> {
    let run = |program: &str, how: &[&str]| Command::new(program).args(how).arg("--").arg(path).output();
    let mut done = run("rm", &["-rf"]);
    if done.as_ref().is_ok_and(|done| !done.status.success()) {
        // An unpacked folder's mode can forbid deletion.
        done = run("chmod", &["-Rf", "u+rwX"]).and_then(|_| run("rm", &["-rf"]));
    }
    let done = done.map_err(|error| ImageError::machine(path, error))?;
    match done.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
            Err(ImageError::machine(path, io::Error::other(said)))
        }
    }
}
