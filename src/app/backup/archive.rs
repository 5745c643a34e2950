//! The backup file: a compressed archive of the database, its large artifacts, and the receipt key.
//!
//! May know: the names inside and when the file is complete. Must never know: where the settings put a server's state.

use std::collections::BTreeSet;
use std::fs::{DirBuilder, File};
use std::io::{self, BufRead as _, BufReader, Read, Seek as _, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, bail};
use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;

use super::{ARTIFACTS, BackupReport, DATABASE};
use crate::attest::KEY_FILE;
use crate::store::DatabaseFiles;

const AT_ONCE: usize = 64 << 10;

/// Writes a backup: a copy of the database, the undamaged artifacts that it names, and the key.
pub(super) fn pack<W: Write>(
    into: W,
    copy: &Path,
    (files, named): (&DatabaseFiles, &[PathBuf]),
    key: &Path,
) -> anyhow::Result<(W, BackupReport)> {
    let mut tar = tar::Builder::new(GzEncoder::new(into, Compression::fast()));
    tar.append_path_with_name(copy, DATABASE)?;
    let mut report = BackupReport {
        bytes: copy.metadata()?.len(),
        artifacts: 0,
        missing: 0,
        has_key: key.is_file(),
        put_aside: None,
    };
    for name in named {
        let mut artifact = match File::open(files.artifacts.join(name)) {
            Ok(artifact) => artifact,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                report.missing += 1;
                continue;
            }
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", name.display())),
        };
        if !is_whole(name, &artifact) {
            report.missing += 1;
            continue;
        }
        artifact.rewind()?;
        tar.append_file(Path::new(ARTIFACTS).join(name), &mut artifact)?;
        report.artifacts += 1;
    }
    if report.has_key {
        tar.append_path_with_name(key, KEY_FILE)?;
    }
    Ok((tar.into_inner()?.finish()?, report))
}

/// What was extracted from a backup.
#[derive(Debug, Default)]
pub(super) struct UnpackedBackup {
    bytes: u64,
    has_key: bool,
    /// Paths below [`ARTIFACTS`].
    artifacts: BTreeSet<PathBuf>,
}

/// Extracts only what a backup may contain, and reads the archive to its end.
pub(super) fn unpack(file: &Path, into: &Path) -> anyhow::Result<UnpackedBackup> {
    let opened = File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
    let is_whole = || format!("{} is no whole backup of Journeyman's", file.display());
    let mut unpacked = UnpackedBackup::default();
    let mut archive = tar::Archive::new(GzDecoder::new(BufReader::new(opened)));
    for entry in archive.entries().with_context(is_whole)? {
        let mut entry = entry.with_context(is_whole)?;
        let name = entry.path().with_context(is_whole)?.into_owned();
        let is_plain = entry.header().entry_type().is_file()
            && name.components().all(|part| matches!(part, Component::Normal(_)));
        let is_new = match name.to_str().filter(|_| is_plain) {
            Some(DATABASE) => std::mem::replace(&mut unpacked.bytes, entry.size()) == 0,
            Some(KEY_FILE) => !std::mem::replace(&mut unpacked.has_key, true),
            Some(_) if name.components().count() == 3 && name.starts_with(ARTIFACTS) => {
                unpacked.artifacts.insert(name.strip_prefix(ARTIFACTS)?.to_owned())
            }
            Some(_) | None => {
                bail!("{}: it holds {}, which no backup does", is_whole(), name.display())
            }
        };
        if !is_new {
            bail!("{}: it holds {} twice", is_whole(), name.display());
        }
        let path = into.join(&name);
        let written = create_private(&path);
        let mut written = written.with_context(|| format!("cannot write {}", path.display()))?;
        let mut bytes = vec![0; AT_ONCE];
        loop {
            let length = entry.read(&mut bytes).with_context(is_whole)?;
            if length == 0 {
                break;
            }
            let written = written.write_all(bytes.get(..length).unwrap_or_default());
            written.with_context(|| format!("cannot write {}", path.display()))?;
        }
        written.sync_all().with_context(|| format!("cannot write {}", path.display()))?;
    }
    // The checksum is at the very end.
    let mut archive = archive.into_inner();
    io::copy(&mut archive, &mut io::sink()).with_context(is_whole)?;
    if !archive.into_inner().fill_buf().with_context(is_whole)?.is_empty() {
        bail!("{}: something follows its end", is_whole());
    }
    if unpacked.bytes == 0 {
        bail!("{}: it holds no database", is_whole());
    }
    Ok(unpacked)
}

impl UnpackedBackup {
    /// Keeps only extracted artifacts whose content matches their name. `named` lists those that the database refers
    /// to.
    pub(super) fn keep_whole(self, folder: &Path, named: &[PathBuf]) -> anyhow::Result<BackupReport> {
        let known: BTreeSet<&PathBuf> = named.iter().collect();
        let mut artifacts = 0;
        for name in &self.artifacts {
            let path = folder.join(ARTIFACTS).join(name);
            if known.contains(name) && is_whole(name, &File::open(&path)?) {
                artifacts += 1;
            } else {
                std::fs::remove_file(&path)?;
            }
        }
        let missing = named.len() - artifacts;
        Ok(BackupReport { bytes: self.bytes, artifacts, missing, has_key: self.has_key, put_aside: None })
    }
}

/// Skips a damaged artifact with a warning: it would be useless after a restore.
fn is_whole(name: &Path, artifact: &File) -> bool {
    let is_whole = DatabaseFiles::is_whole(name, artifact);
    if !is_whole {
        tracing::warn!(artifact = %name.display(), "is not what was written, and is left out");
    }
    is_whole
}

fn create_private(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    File::options().write(true).create_new(true).mode(0o600).open(path)
}

/// Makes the names in these folders durable.
pub(super) fn sync_folders(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_folders(&entry.path())?;
        }
    }
    File::open(folder)?.sync_all()
}
