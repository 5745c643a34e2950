//! Stores contents of Git LFS by SHA-256, beside the mirror of their repository.
//!
//! May know: our own files. Must never know: who needs a content, and where it comes from.
//!
//! A file in the store is complete: it was synced before it got its name. Each copy checks the hash again, and a
//! damaged content is deleted.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};

use super::pointer::{LargeFileId, LargeFilePointer};
use crate::{GitError, GitErrorKind, free_bytes, keep_whole, leftovers, remove_all};

/// A content unused for this long is deleted.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Least time between two updates of the time of use.
const USED_AGAIN: Duration = Duration::from_secs(24 * 60 * 60);
const PIECE: usize = 1 << 16;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LargeFileStore {
    folder: PathBuf,
}

/// A content that is arriving.
pub(super) struct NewLargeFile<'a> {
    store: &'a LargeFileStore,
    pointer: &'a LargeFilePointer,
    file: File,
    place: PathBuf,
    hash: Sha256,
    size: u64,
}

impl LargeFileStore {
    pub(crate) fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    fn place(&self, id: &LargeFileId) -> PathBuf {
        let first = id.as_str().get(..2).unwrap_or_default();
        self.folder.join("objects").join(first).join(id.as_str())
    }

    fn halves(&self) -> PathBuf {
        self.folder.join("half")
    }

    fn reason_file(&self, id: &LargeFileId) -> PathBuf {
        self.folder.join("missing").join(id.as_str())
    }

    /// Whether the content is here, with the size in its pointer.
    pub(crate) fn has(&self, pointer: &LargeFilePointer) -> bool {
        fs::metadata(self.place(&pointer.id))
            .is_ok_and(|found| found.is_file() && found.len() == pointer.size)
    }

    /// Whether the content is here, with any size.
    pub(super) fn has_any_size(&self, id: &LargeFileId) -> bool {
        self.place(id).is_file()
    }

    /// Why a pointer's content is not here, if that is recorded.
    pub(crate) fn reason(&self, pointer: &LargeFilePointer) -> Option<String> {
        if self.has_any_size(&pointer.id) && !self.has(pointer) {
            return Some("its pointer says another size than the content has".to_owned());
        }
        fs::read_to_string(self.reason_file(&pointer.id)).ok()
    }

    pub(super) fn note(&self, id: &LargeFileId, reason: &str) -> Result<(), GitError> {
        let plain: String = reason.chars().map(|c| if c.is_control() { ' ' } else { c }).take(400).collect();
        keep_whole(&self.reason_file(id), plain.as_bytes())
    }

    /// Deletes what a killed process left. Nothing else may be running here.
    pub(super) fn clear(&self) -> Result<(), GitError> {
        remove_all(&self.halves())
    }

    /// Free bytes on the disk.
    pub(super) fn room(&self) -> u64 {
        free_bytes(&self.folder).unwrap_or(0)
    }

    pub(super) fn touch(&self, id: &LargeFileId) {
        let Ok(file) = File::open(self.place(id)) else { return };
        let age = file.metadata().and_then(|found| found.modified()).ok().and_then(|at| at.elapsed().ok());
        if age.is_some_and(|age| age > USED_AGAIN) {
            // An error only makes it look older than it is.
            let _ = file.set_modified(SystemTime::now());
        }
    }

    pub(super) fn begin<'a>(&'a self, pointer: &'a LargeFilePointer) -> Result<NewLargeFile<'a>, GitError> {
        let place = self.halves().join(pointer.id.as_str());
        let said = |error: io::Error| GitError::file("write", &place, &error);
        fs::create_dir_all(self.halves()).map_err(said)?;
        let _ = fs::remove_file(&place);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&place).map_err(said)?;
        Ok(NewLargeFile { store: self, pointer, file, hash: Sha256::new(), size: 0, place: place.clone() })
    }

    /// Stores a content from an untrusted file. An inner error says why it does not match the pointer.
    pub(super) fn take(
        &self,
        pointer: &LargeFilePointer,
        from: &mut dyn Read,
    ) -> Result<Result<(), &'static str>, GitError> {
        let (mut new, mut piece) = (self.begin(pointer)?, vec![0; PIECE]);
        loop {
            match from.read(&mut piece) {
                Ok(0) => return new.finish(),
                Ok(length) => {
                    if let Err(why) = new.add(&piece[..length])? {
                        return Ok(Err(why));
                    }
                }
                Err(_) => return Ok(Err("its file cannot be read")),
            }
        }
    }

    /// Writes a content to a new file, completely or not at all.
    pub(crate) fn copy(&self, pointer: &LargeFilePointer, to: &Path, mode: u32) -> Result<(), GitError> {
        let place = self.place(&pointer.id);
        let said = |error: io::Error| GitError::file("write", to, &error);
        let mut copy = OpenOptions::new().write(true).create_new(true).mode(mode).open(to).map_err(said)?;
        let read = self.hashed(pointer, &mut |piece| copy.write_all(piece).map_err(said))?;
        if read { Ok(()) } else { Err(damaged(&place)) }
    }

    /// The bytes of a content, if it has at most `most`.
    pub(crate) fn read(&self, pointer: &LargeFilePointer, most: usize) -> Option<Vec<u8>> {
        if usize::try_from(pointer.size).ok()? > most {
            return None;
        }
        let mut bytes = Vec::new();
        let mut add = |piece: &[u8]| {
            bytes.extend_from_slice(piece);
            Ok(())
        };
        self.hashed(pointer, &mut add).ok().filter(|is_whole| *is_whole).map(|_| bytes)
    }

    /// Reads and hashes a content. If the hash is wrong, it deletes the content and returns false.
    fn hashed(
        &self,
        pointer: &LargeFilePointer,
        take: &mut dyn FnMut(&[u8]) -> Result<(), GitError>,
    ) -> Result<bool, GitError> {
        let place = self.place(&pointer.id);
        let (mut hash, mut piece) = (Sha256::new(), vec![0; PIECE]);
        let is_whole = match File::open(&place) {
            Ok(mut file) => loop {
                match file.read(&mut piece) {
                    Ok(0) => break hex::encode(hash.finalize()) == pointer.id.as_str(),
                    Ok(length) => {
                        hash.update(&piece[..length]);
                        take(&piece[..length])?;
                    }
                    // A read error of the disk counts as damage.
                    Err(_) => break false,
                }
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(GitError::file("read", &place, &error)),
        };
        if !is_whole && place.exists() {
            tracing::warn!(file = %place.display(), "is damaged; it is removed, and fetched again");
            fs::remove_file(&place).map_err(|error| GitError::file("remove", &place, &error))?;
        }
        Ok(is_whole)
    }

    /// Deletes contents unused for long. Whoever still needs one fetches it again.
    pub(crate) fn sweep(&self) -> Result<(), GitError> {
        for id in self.kept()? {
            let place = self.place(&id);
            let age =
                fs::metadata(&place).and_then(|found| found.modified()).ok().and_then(|at| at.elapsed().ok());
            if age.is_some_and(|age| age > UNUSED) {
                tracing::info!(file = %place.display(), "was not used for long, and is taken away");
                fs::remove_file(&place).map_err(|error| GitError::file("remove", &place, &error))?;
            }
        }
        Ok(())
    }

    fn kept(&self) -> Result<Vec<LargeFileId>, GitError> {
        let (objects, mut kept) = (self.folder.join("objects"), Vec::new());
        let folders = if objects.is_dir() { leftovers::entries(&objects)? } else { Vec::new() };
        for (folder, _) in folders.into_iter().filter(|(_, is_folder)| *is_folder) {
            let names = leftovers::entries(&folder)?.into_iter();
            kept.extend(names.filter_map(|(file, _)| LargeFileId::new(file.file_name()?.to_str()?)));
        }
        Ok(kept)
    }

    /// Links available contents into a folder under their ids. These are the store's own files, so jobs that see the
    /// folder must not be able to write it.
    pub(crate) fn link<'p>(
        &self,
        ids: impl Iterator<Item = &'p LargeFileId>,
        into: &Path,
    ) -> Result<(), GitError> {
        for id in ids.filter(|id| self.has_any_size(id)) {
            let (place, to) = (self.place(id), into.join(id.as_str()));
            let made = fs::create_dir_all(into);
            // Not every file system supports links.
            let linked = made.and_then(|()| match to.exists() {
                true => Ok(()),
                false => fs::hard_link(&place, &to).or_else(|_| fs::copy(&place, &to).map(drop)),
            });
            linked.map_err(|error| GitError::file("copy", &place, &error))?;
        }
        Ok(())
    }
}

fn damaged(place: &Path) -> GitError {
    // It is deleted by now; the next try fetches it again.
    let message = format!("the content of a file of Git LFS is damaged or gone, {}", place.display());
    GitError::new(GitErrorKind::Unavailable, message)
}

impl NewLargeFile<'_> {
    /// Adds bytes. An inner error says why they do not match the pointer.
    pub(super) fn add(&mut self, piece: &[u8]) -> Result<Result<(), &'static str>, GitError> {
        self.size = self.size.saturating_add(piece.len() as u64);
        if self.size > self.pointer.size {
            return Ok(Err("it is larger than its pointer says"));
        }
        self.hash.update(piece);
        self.file.write_all(piece).map_err(|error| GitError::file("write", &self.place, &error))?;
        Ok(Ok(()))
    }

    pub(super) fn finish(mut self) -> Result<Result<(), &'static str>, GitError> {
        if self.size != self.pointer.size {
            return Ok(Err("it is smaller than its pointer says"));
        }
        if hex::encode(std::mem::take(&mut self.hash).finalize()) != self.pointer.id.as_str() {
            return Ok(Err("it is another content than its pointer names: its SHA-256 is not that one"));
        }
        let (store, id) = (self.store, &self.pointer.id);
        let to = store.place(id);
        let said = |error: io::Error| GitError::file("keep", &to, &error);
        let folder = to.parent().unwrap_or(&store.folder);
        fs::create_dir_all(folder).map_err(said)?;
        self.file.sync_all().map_err(said)?;
        fs::rename(&self.place, &to).map_err(said)?;
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(said)?;
        match fs::remove_file(store.reason_file(id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(said(error)),
            Ok(()) | Err(_) => Ok(Ok(())),
        }
    }
}

impl Drop for NewLargeFile<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.place);
    }
}

/// Whether an untrusted file has this content. Opening it never blocks and follows no link.
pub(crate) fn is_held_at(pointer: &LargeFilePointer, place: &Path) -> io::Result<bool> {
    let mut file = open_plain(place)?;
    let (mut hash, mut piece, mut size) = (Sha256::new(), vec![0; PIECE], 0_u64);
    loop {
        let length = file.read(&mut piece)?;
        if length == 0 {
            return Ok(size == pointer.size && hex::encode(hash.finalize()) == pointer.id.as_str());
        }
        size = size.saturating_add(length as u64);
        if size > pointer.size {
            return Ok(false);
        }
        hash.update(&piece[..length]);
    }
}

/// Opens a file that another process could have replaced with anything.
pub(crate) fn open_plain(place: &Path) -> io::Result<File> {
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(place)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no file")) }
}
