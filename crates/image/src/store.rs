//! The images that are there, by digest: found, made once for all who want them, and removed when nobody does.
//!
//! May know: its folder, and how an image is pulled into it. Must never know: what images are wanted for.
//!
//! ```text
//! FOLDER/images/sha256-…/     a whole image: its `root`, and `image.json`, whose time is that of the last use
//! FOLDER/manifests/sha256-…   manifests and indexes as they were sent, so that a digest needs no network twice
//! FOLDER/partial/sha256-…/    what is being pulled, or was when something ended; the next pull goes on with it
//! FOLDER/locks/sha256-…       who is at work on an image
//! ```
//!
//! An image appears under `images` by one rename, when all of it is on the disk.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use serde::{Deserialize, Serialize};

use crate::error::ImageError;
use crate::lock::{ImageLock, LockKind};
use crate::manifest::{self, BlobDescriptor, ImageConfig, ImageManifest, ManifestDocument};
use crate::pull::{ImagePull, PullObserver, make_folder};
use crate::reference::{ImageDigest, ImageReference};
use crate::registry::{RegistryClient, RegistrySession, wrong_bytes};
use crate::settings::ImageSettings;

/// Between two looks at whether another has finished.
const PATIENCE: Duration = Duration::from_millis(100);
const RECORD: &str = "image.json";
const ROOT: &str = "root";

/// Images, in a folder of their own.
#[derive(Debug, Clone)]
pub struct ImageStore {
    folder: PathBuf,
    client: RegistryClient,
    settings: ImageSettings,
}

/// An image that was looked up: what its name means from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedImage {
    /// As it was asked for.
    pub reference: ImageReference,
    /// What docker shows for the name: of the index where there is one, else of the manifest.
    pub digest: ImageDigest,
    /// Of the manifest for this machine.
    pub manifest: ImageDigest,
}

/// A whole image. While this is held, no process removes it.
#[derive(Debug, Clone)]
pub struct ImageRoot {
    /// The folder that is the image's `/`. Its links are the image's: follow none of them from outside.
    pub path: PathBuf,
    pub config: ImageConfig,
    /// Bytes of all files that its layers bring, those that a later layer removes included.
    pub size: u64,
    _lock: Arc<ImageLock>,
}

/// An image on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredImage {
    pub manifest: ImageDigest,
    /// As [`ImageRoot::size`].
    pub size: u64,
    pub last_used: SystemTime,
}

/// What was removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemovedImages {
    pub manifests: Vec<ImageDigest>,
    /// As [`ImageRoot::size`], of all.
    pub size: u64,
}

/// What stands beside a root.
#[derive(Serialize, Deserialize)]
struct ImageRecord {
    /// For readers of the future.
    version: u32,
    config: ImageConfig,
    size: u64,
}

const RECORD_VERSION: u32 = 1;

impl ResolvedImage {
    /// The name that means the same image for ever.
    #[must_use]
    pub fn pinned(&self) -> ImageReference {
        self.reference.pinned(self.digest.clone())
    }
}

/// Where programs are in an image that does not say.
const USUAL_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

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
        for part in ["images", "manifests", "partial", "locks"] {
            make_folder(&folder.join(part))?;
        }
        Ok(Self { folder, client: RegistryClient::new(settings.clone())?, settings })
    }

    /// Says what a name means. Asks the registry for a tag always, and for a digest once.
    pub async fn resolve(&self, image: &ImageReference) -> Result<ResolvedImage, ImageError> {
        let mut session = None;
        let (digest, document) = match image.digest() {
            Some(digest) => (digest.clone(), self.document(image, digest, None, &mut session).await?),
            None => {
                let bytes = self
                    .session(image, &mut session)
                    .await?
                    .manifest(image.tag().unwrap_or("latest"))
                    .await?;
                let digest = ImageDigest::of(&bytes);
                let document = parsed(&bytes, image)?;
                self.keep_document(&digest, &bytes)?;
                (digest, document)
            }
        };
        let manifest = match document {
            ManifestDocument::Image(_) => digest.clone(),
            ManifestDocument::Index(entry) => {
                self.manifest(image, &entry.digest, Some(entry.size), &mut session).await?;
                entry.digest
            }
        };
        Ok(ResolvedImage { reference: image.clone(), digest, manifest })
    }

    /// The image's root, pulled if it is not there. Whoever asks for one that is being pulled waits for it, also in
    /// another process.
    pub async fn root(&self, image: &ResolvedImage, observer: PullObserver) -> Result<ImageRoot, ImageError> {
        loop {
            if let Some(root) = self.existing(&image.manifest)? {
                return Ok(root);
            }
            match self.lock(&image.manifest, LockKind::Exclusive)? {
                None => tokio::time::sleep(PATIENCE).await,
                // Whoever held it until now may have finished.
                Some(_) if self.record(&image.manifest).is_some() => {}
                Some(lock) => self.pull(image, lock, &observer).await?,
            }
        }
    }

    /// All whole images, the one that was not used for longest first.
    pub fn stored(&self) -> Result<Vec<StoredImage>, ImageError> {
        let mut all = Vec::new();
        for manifest in digests_in(&self.folder.join("images"))? {
            let record = self.image_folder(&manifest).join(RECORD);
            let Ok(last_used) = fs::symlink_metadata(record).and_then(|found| found.modified()) else {
                continue;
            };
            let size = self.record(&manifest).map_or(0, |record| record.size);
            all.push(StoredImage { manifest, size, last_used });
        }
        all.sort_by_key(|image| image.last_used);
        Ok(all)
    }

    /// Removes images, and what is left of pulls, that nobody has used for this long. What is in use stays, and so do
    /// those to keep, by either of their digests.
    pub async fn remove_unused(
        &self,
        keep: &BTreeSet<ImageDigest>,
        unused_for: Duration,
    ) -> Result<RemovedImages, ImageError> {
        let (store, keep) = (self.clone(), keep.clone());
        let work = move || store.remove_now(&keep, unused_for);
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|error| ImageError::machine(&self.folder, io::Error::other(error)))?
    }

    fn remove_now(
        &self,
        keep: &BTreeSet<ImageDigest>,
        unused_for: Duration,
    ) -> Result<RemovedImages, ImageError> {
        let is_old = |time: SystemTime| time.elapsed().is_ok_and(|age| age >= unused_for);
        let mut kept = keep.clone();
        for digest in keep {
            if let Some(bytes) = self.kept_document(digest)
                && let Ok(ManifestDocument::Index(entry)) = manifest::document(&bytes)
            {
                kept.insert(entry.digest);
            }
        }
        let mut removed = RemovedImages::default();
        for image in self.stored()? {
            if kept.contains(&image.manifest) || !is_old(image.last_used) {
                continue;
            }
            let Some(lock) = self.lock(&image.manifest, LockKind::Exclusive)? else { continue };
            let place = self.image_folder(&image.manifest);
            let away = self.partial_folder(&image.manifest).join("removed");
            remove_all(&away)?;
            make_folder(&self.partial_folder(&image.manifest))?;
            fs::rename(&place, &away).map_err(|error| ImageError::machine(&place, error))?;
            remove_all(&self.partial_folder(&image.manifest))?;
            removed.size = removed.size.saturating_add(image.size);
            removed.manifests.push(image.manifest.clone());
            lock.remove().map_err(|error| ImageError::machine(&self.folder, error))?;
        }
        for digest in digests_in(&self.folder.join("partial"))? {
            let place = self.partial_folder(&digest);
            if !is_old(newest(&place)) {
                continue;
            }
            let Some(lock) = self.lock(&digest, LockKind::Exclusive)? else { continue };
            remove_all(&place)?;
            // The lock of an image that is there is for those who use it.
            if self.record(&digest).is_none() {
                lock.remove().map_err(|error| ImageError::machine(&self.folder, error))?;
            }
        }
        for digest in digests_in(&self.folder.join("manifests"))? {
            let place = self.document_file(&digest);
            let used = fs::symlink_metadata(&place).and_then(|found| found.modified());
            if !kept.contains(&digest) && used.is_ok_and(is_old) {
                fs::remove_file(&place).map_err(|error| ImageError::machine(&place, error))?;
            }
        }
        Ok(removed)
    }

    async fn pull(
        &self,
        image: &ResolvedImage,
        lock: ImageLock,
        observer: &PullObserver,
    ) -> Result<(), ImageError> {
        let folder = self.partial_folder(&image.manifest);
        let made = folder.join("image");
        let root = made.join(ROOT);
        // From a pull that ended before it was whole.
        remove_all(&made)?;
        make_folder(&root)?;
        let mut session = None;
        let manifest = self.manifest(&image.reference, &image.manifest, None, &mut session).await?;
        let pull = ImagePull {
            session: self.session(&image.reference, &mut session).await?,
            image: &image.reference,
            settings: &self.settings,
            folder: &folder,
            lock: Arc::new(lock),
            observer: Arc::clone(observer),
        };
        // Held until the image is where it belongs.
        let _lock = Arc::clone(&pull.lock);
        let pulled = match pull.run(&manifest, &root).await {
            Ok(pulled) => pulled,
            Err(error @ (ImageError::Refused { .. } | ImageError::TooLarge { .. })) => {
                // Its blobs are of no use for anything.
                remove_all(&folder)?;
                return Err(error);
            }
            Err(error) => {
                remove_all(&made)?;
                return Err(error);
            }
        };
        let record = ImageRecord { version: RECORD_VERSION, config: pulled.config, size: pulled.bytes };
        let place = self.image_folder(&image.manifest);
        let machine = |error: io::Error| ImageError::machine(&place, error);
        write_synced(
            &made.join(RECORD),
            &serde_json::to_vec_pretty(&record).map_err(|error| machine(error.into()))?,
        )
        .map_err(machine)?;
        sync_folder(&made).map_err(machine)?;
        remove_all(&place)?;
        fs::rename(&made, &place).map_err(machine)?;
        sync_folder(&self.folder.join("images")).map_err(machine)?;
        remove_all(&folder)
    }

    /// A whole image that nobody is changing.
    fn existing(&self, manifest: &ImageDigest) -> Result<Option<ImageRoot>, ImageError> {
        if self.record(manifest).is_none() {
            return Ok(None);
        }
        let Some(lock) = self.lock(manifest, LockKind::Shared)? else { return Ok(None) };
        let Some(record) = self.record(manifest) else { return Ok(None) };
        let place = self.image_folder(manifest);
        touch(&place.join(RECORD));
        Ok(Some(ImageRoot {
            path: place.join(ROOT),
            config: record.config,
            size: record.size,
            _lock: Arc::new(lock),
        }))
    }

    fn record(&self, manifest: &ImageDigest) -> Option<ImageRecord> {
        let bytes = fs::read(self.image_folder(manifest).join(RECORD)).ok()?;
        serde_json::from_slice(&bytes).ok().filter(|record: &ImageRecord| record.version == RECORD_VERSION)
    }

    /// The manifest with this digest.
    async fn manifest(
        &self,
        image: &ImageReference,
        digest: &ImageDigest,
        size: Option<u64>,
        session: &mut Option<RegistrySession>,
    ) -> Result<ImageManifest, ImageError> {
        match self.document(image, digest, size, session).await? {
            ManifestDocument::Image(manifest) => Ok(manifest),
            ManifestDocument::Index(BlobDescriptor { digest, .. }) => {
                Err(ImageError::refused(image, format!("its index leads to another index ({digest})")))
            }
        }
    }

    /// The document with this digest, from the disk or the registry.
    async fn document(
        &self,
        image: &ImageReference,
        digest: &ImageDigest,
        size: Option<u64>,
        session: &mut Option<RegistrySession>,
    ) -> Result<ManifestDocument, ImageError> {
        if let Some(bytes) = self.kept_document(digest) {
            touch(&self.document_file(digest));
            return parsed(&bytes, image);
        }
        let bytes = self.session(image, session).await?.manifest(&digest.to_string()).await?;
        let found = ImageDigest::of(&bytes);
        if found != *digest || size.is_some_and(|size| size != bytes.len() as u64) {
            return Err(ImageError::refused(image, wrong_bytes(&found, digest)));
        }
        let document = parsed(&bytes, image)?;
        self.keep_document(digest, &bytes)?;
        Ok(document)
    }

    /// A document that is on the disk and unchanged.
    fn kept_document(&self, digest: &ImageDigest) -> Option<Vec<u8>> {
        fs::read(self.document_file(digest)).ok().filter(|bytes| ImageDigest::of(bytes) == *digest)
    }

    fn keep_document(&self, digest: &ImageDigest, bytes: &[u8]) -> Result<(), ImageError> {
        let place = self.document_file(digest);
        // A half-written one has another digest and is fetched again.
        fs::write(&place, bytes).map_err(|error| ImageError::machine(&place, error))
    }

    async fn session<'s>(
        &self,
        image: &ImageReference,
        session: &'s mut Option<RegistrySession>,
    ) -> Result<&'s RegistrySession, ImageError> {
        let open = match session.take() {
            Some(open) => open,
            None => self.client.session(image).await?,
        };
        Ok(session.insert(open))
    }

    fn lock(&self, digest: &ImageDigest, kind: LockKind) -> Result<Option<ImageLock>, ImageError> {
        let place = self.folder.join("locks").join(digest.file_name());
        ImageLock::try_new(&place, kind).map_err(|error| ImageError::machine(&place, error))
    }

    fn image_folder(&self, manifest: &ImageDigest) -> PathBuf {
        self.folder.join("images").join(manifest.file_name())
    }

    fn partial_folder(&self, manifest: &ImageDigest) -> PathBuf {
        self.folder.join("partial").join(manifest.file_name())
    }

    fn document_file(&self, digest: &ImageDigest) -> PathBuf {
        self.folder.join("manifests").join(digest.file_name())
    }
}

fn parsed(bytes: &[u8], image: &ImageReference) -> Result<ManifestDocument, ImageError> {
    manifest::document(bytes).map_err(|reason| ImageError::refused(image, reason))
}

fn digests_in(folder: &Path) -> Result<Vec<ImageDigest>, ImageError> {
    let machine = |error: io::Error| ImageError::machine(folder, error);
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).map_err(machine)? {
        let name = entry.map_err(machine)?.file_name();
        all.extend(name.to_str().and_then(ImageDigest::from_file_name));
    }
    Ok(all)
}

/// When something in a folder was last written.
fn newest(folder: &Path) -> SystemTime {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let times =
        files.chain([folder.to_owned()]).filter_map(|path| fs::symlink_metadata(path).ok()?.modified().ok());
    times.max().unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Removes a folder of ours with all that is in it, without following a link. What is unpacked lies in few folders, and
/// each may be written by us.
fn remove_all(path: &Path) -> Result<(), ImageError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(ImageError::machine(path, error)),
        _ => Ok(()),
    }
}

/// Marks as used. That nothing can be written now is no reason to fail.
fn touch(path: &Path) {
    if let Err(error) =
        File::options().append(true).open(path).and_then(|file| file.set_modified(SystemTime::now()))
    {
        tracing::debug!(path = %path.display(), %error, "the time of last use cannot be written");
    }
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
