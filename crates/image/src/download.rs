//! Blobs come to the disk: whole and with the digest that was asked for, or not at all.
//!
//! May know: a registry, files of one folder. Must never know: what blobs hold.
//!
//! A connection that breaks is taken up where it broke, also by the next process: what is there of a blob is kept
//! under the blob's own digest, and hashed again before more is added.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use futures_util::StreamExt;
use reqwest::StatusCode;
use reqwest::header::CONTENT_RANGE;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncWriteExt, BufWriter};

use crate::error::ImageError;
use crate::manifest::BlobDescriptor;
use crate::reference::{ImageDigest, ImageReference};
use crate::registry::{RegistrySession, TRIES, pause, wrong_bytes};

const BUFFER: usize = 256 << 10;

/// How a try to fetch a blob ended.
enum DownloadTry {
    Whole,
    /// With this many bytes on the disk.
    BrokenOff(u64, ImageError),
    /// What came is not the blob.
    Wrong(String),
}

/// What is on the disk of a blob.
struct ReceivedPart {
    hasher: Sha256,
    length: u64,
}

/// Fetches a blob into a folder and gives its file. `at` hears how many of its bytes are there; that can be fewer than
/// before.
pub(crate) async fn blob(
    session: &RegistrySession,
    image: &ImageReference,
    blob: &BlobDescriptor,
    folder: &Path,
    at: &(dyn Fn(u64) + Sync),
) -> Result<PathBuf, ImageError> {
    let whole = folder.join(blob.digest.file_name());
    // Only what was verified has this name, in a folder that is ours.
    if std::fs::symlink_metadata(&whole).is_ok_and(|found| found.is_file() && found.len() == blob.size) {
        at(blob.size);
        return Ok(whole);
    }
    let partial = folder.join(format!("{}.partial", blob.digest.file_name()));
    let mut tried = 0;
    let mut was_wrong = false;
    let mut reached = 0;
    loop {
        tried += 1;
        match attempt(session, blob, &partial, at).await? {
            DownloadTry::Whole => break,
            DownloadTry::Wrong(reason) => {
                remove(&partial)?;
                // The beginning can be from a machine that lost its power while it wrote.
                if was_wrong {
                    return Err(ImageError::refused(image, reason));
                }
                was_wrong = true;
            }
            DownloadTry::BrokenOff(length, error) => {
                // Who gets further is not at the end of its tries.
                if length > reached {
                    reached = length;
                    tried = 1;
                } else if tried >= TRIES {
                    return Err(error);
                }
                tracing::debug!(%image, digest = %blob.digest, length, "a download broke off and goes on");
                tokio::time::sleep(pause(tried)).await;
            }
        }
    }
    // The name says that all of it is there, also after the machine has lost its power.
    let file = tokio::fs::File::open(&partial).await.map_err(|error| ImageError::machine(&partial, error))?;
    file.sync_data().await.map_err(|error| ImageError::machine(&partial, error))?;
    std::fs::rename(&partial, &whole).map_err(|error| ImageError::machine(&whole, error))?;
    Ok(whole)
}

async fn attempt(
    session: &RegistrySession,
    blob: &BlobDescriptor,
    partial: &Path,
    at: &(dyn Fn(u64) + Sync),
) -> Result<DownloadTry, ImageError> {
    let machine = |error: io::Error| ImageError::machine(partial, error);
    let mut part = resumed(partial, blob.size).await.map_err(machine)?;
    if part.length < blob.size || part.length == 0 {
        let response = session.blob(&blob.digest, part.length).await?;
        if part.length > 0 && !continues(&response, part.length) {
            part = ReceivedPart { hasher: Sha256::new(), length: 0 };
        }
        let trouble = receive(response, &mut part, blob.size, partial, at).await.map_err(machine)?;
        if let Some(error) = trouble {
            return Ok(DownloadTry::BrokenOff(part.length, session.broken_off(error.as_ref())));
        }
    }
    if part.length > blob.size {
        let reason = format!("its registry sends more than the {} bytes of {}", blob.size, blob.digest);
        return Ok(DownloadTry::Wrong(reason));
    }
    let found = ImageDigest::from_hash(&part.hasher.finalize());
    if found != blob.digest {
        return Ok(DownloadTry::Wrong(wrong_bytes(&found, &blob.digest)));
    }
    at(part.length);
    Ok(DownloadTry::Whole)
}

/// Adds what comes to the file, until there are more than `most` bytes. Gives what ended it before the last byte.
async fn receive(
    response: reqwest::Response,
    part: &mut ReceivedPart,
    most: u64,
    partial: &Path,
    at: &(dyn Fn(u64) + Sync),
) -> io::Result<Option<Option<reqwest::Error>>> {
    let mut options = tokio::fs::OpenOptions::new();
    let options =
        if part.length > 0 { options.append(true) } else { options.write(true).create(true).truncate(true) };
    let mut file = BufWriter::with_capacity(BUFFER, options.open(partial).await?);
    let mut pieces = response.bytes_stream();
    let mut trouble = None;
    while part.length <= most {
        let piece = match pieces.next().await {
            Some(Ok(piece)) => piece,
            Some(Err(error)) => {
                trouble = Some(Some(error));
                break;
            }
            None => {
                trouble = (part.length < most).then_some(None);
                break;
            }
        };
        part.hasher.update(&piece);
        part.length = part.length.saturating_add(piece.len() as u64);
        file.write_all(&piece).await?;
        at(part.length.min(most));
    }
    file.flush().await?;
    Ok(trouble)
}

/// What is there already; a file that is too long is none.
async fn resumed(partial: &Path, most: u64) -> io::Result<ReceivedPart> {
    let partial = partial.to_owned();
    let read = move || {
        let mut file = match File::open(&partial) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(ReceivedPart { hasher: Sha256::new(), length: 0 });
            }
            Err(error) => return Err(error),
        };
        if file.metadata()?.len() > most {
            return Ok(ReceivedPart { hasher: Sha256::new(), length: 0 });
        }
        let mut hasher = Sha256::new();
        let mut length = 0_u64;
        let mut buffer = vec![0; BUFFER];
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                return Ok(ReceivedPart { hasher, length });
            }
            hasher.update(buffer.get(..read).unwrap_or_default());
            length = length.saturating_add(read as u64);
        }
    };
    tokio::task::spawn_blocking(read).await.map_err(io::Error::other)?
}

/// Whether the answer begins where we ended.
fn continues(response: &reqwest::Response, length: u64) -> bool {
    let range = response.headers().get(CONTENT_RANGE).and_then(|range| range.to_str().ok());
    response.status() == StatusCode::PARTIAL_CONTENT
        && range.is_some_and(|range| range.trim().starts_with(&format!("bytes {length}-")))
}

fn remove(path: &Path) -> Result<(), ImageError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(ImageError::machine(path, error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
