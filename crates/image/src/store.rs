//! The images that are there, by the digest in their names: found, made once for all who want them, and removed when
//! nobody does.
//!
//! May know: its folder, and how an image is pulled into it. Must never know: what images are wanted for.
//!
//! ```text
//! FOLDER/images/sha256-…/     a whole image: its `root`, and `image.json`, whose time is that of the last use
//! FOLDER/partial/sha256-…/    what is being pulled, or was when something ended; the next pull uses its layers
//! FOLDER/locks/sha256-…       locked by who is at work on an image: pulls or removes it, or uses it
//! ```
//!
//! An image appears under `images` by one rename, when all of it is on the disk.

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

/// Between two looks at whether another has finished.
const PATIENCE: Duration = Duration::from_millis(100);
const RECORD: &str = "image.json";
const ROOT: &str = "root";
/// Where programs are in an image that does not say.
const USUAL_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Images, in a folder of their own.
#[derive(Debug, Clone)]
pub struct ImageStore {
    folder: PathBuf,
    settings: ImageSettings,
}

/// A whole image. While this is held, no process removes it.
#[derive(Debug, Clone)]
pub struct ImageRoot {
    /// The folder that is the image's `/`. Its links are the image's: follow none of them from outside.
    pub path: PathBuf,
    pub config: ImageConfig,
    /// Bytes of all its files.
    pub size: u64,
    /// The kernel lets go when a process ends, however it ends.
    _lock: Arc<File>,
}

/// What stands beside a root.
#[derive(Serialize, Deserialize)]
struct ImageRecord {
    config: ImageConfig,
    size: u64,
}

impl ImageRoot {
    /// Folders of its programs, as they are seen in it.
    #[must_use]
    pub fn search_path(&self) -> Vec<PathBuf> {
        let own = self.config.env.iter().rev().find(|(name, _)| name == "PATH");
        let path = own.map_or(USUAL_PATH, |(_, path)| path.as_str());
        path.split(':').map(PathBuf::from).filter(|folder| folder.is_absolute()).collect()
    }

    /// Whether a program of this name is there. Links are followed inside.
    #[must_use]
    pub fn has_program(&self, name: &str) -> bool {
        !name.contains('/')
            && self.search_path().into_iter().any(|folder| self.is_program(&folder.join(name)))
    }

    /// Whether a program is there, by its path. Links are followed inside.
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
    /// Makes the folder if it is not there. Several processes may use the same one.
    pub fn new(folder: impl Into<PathBuf>, settings: ImageSettings) -> Result<Self, ImageError> {
        let folder = folder.into();
        for part in ["images", "partial", "locks"] {
            make_folder(&folder.join(part))?;
        }
        // Where a link stands in between, nothing can be mounted.
        let folder = fs::canonicalize(&folder).map_err(|error| ImageError::machine(&folder, error))?;
        Ok(Self { folder, settings })
    }

    /// The name by digest of what a name means: of the index where there is one, else of the manifest. Asks the
    /// registry for a tag always, and for a digest until its image is here.
    pub async fn resolve(&self, image: &ImageReference) -> Result<ImageReference, ImageError> {
        // skopeo takes no name with a tag and a digest.
        let asked = image.digest().map_or_else(|| image.clone(), |digest| image.pinned(digest.clone()));
        if image.digest().is_some_and(|digest| self.record(digest).is_some()) {
            return Ok(asked);
        }
        self.settings.check()?;
        let (digest, _) = fetch_document(&self.settings, &asked).await?;
        Ok(image.pinned(digest))
    }

    /// The root of a resolved image, pulled if it is not there. Whoever asks for one that is being pulled waits for it,
    /// also in another process.
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
                // Whoever held it until now may have finished.
                Some(_) if self.record(digest).is_some() => {}
                Some(lock) => self.pull(image, digest, Arc::new(lock), &observer).await?,
            }
        }
    }

    /// Bytes of all whole images.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let all = digests_in(&self.folder.join("images")).unwrap_or_default();
        all.iter().filter_map(|digest| self.record(digest)).map(|record| record.size).sum()
    }

    /// Removes images, and what is left of pulls, that nobody has used for this long. What is in use stays, and so do
    /// those to keep. Gives the images that are gone.
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
        // From a pull that ended before it was whole.
        remove_all(&made)?;
        make_folder(&made)?;
        // The lock is held here too, until the image is where it belongs.
        let (config, size) = match pull(&self.settings, image, &folder, Arc::clone(&lock), observer).await {
            Ok(pulled) => pulled,
            Err(error) => {
                // Only a download that broke off is of use. The next pull removes what cannot be removed now.
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

    /// A whole image that nobody is changing.
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

    /// None where others hold it in a way that leaves no room.
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

/// Makes a folder that only we may use; it may be there already.
fn make_folder(path: &Path) -> Result<(), ImageError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| ImageError::machine(path, error))
}

fn digests_in(folder: &Path) -> Result<Vec<ImageDigest>, ImageError> {
    let entries = fs::read_dir(folder).map_err(|error| ImageError::machine(folder, error))?;
    let names = entries.flatten().map(|entry| entry.file_name());
    Ok(names.filter_map(|name| ImageDigest::parse(name.to_str()?, "sha256-")).collect())
}

/// Removes a folder with all that is in it. The system's `rm` goes down as deep as folders lie, and follows no link.
fn remove_all(path: &Path) -> Result<(), ImageError> {
    let run = |program: &str, how: &[&str]| Command::new(program).args(how).arg("--").arg(path).output();
    let mut done = run("rm", &["-rf"]);
    if done.as_ref().is_ok_and(|done| !done.status.success()) {
        // An unpacked folder can forbid it.
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
