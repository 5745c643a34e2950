//! Reads a layer's archive entry by entry, with bounds on what a reader would otherwise take on trust.
//!
//! May know: the archive's bytes. Must never know: files. The library reads the long names of entries into memory
//! whole, whatever size they say they have: a meter below it cuts that off.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest, Sha256};
use tar::{Archive, Entry};

use super::compression::Decompressor;
use super::{LayerCounts, LayerProblem};
use crate::reference::ImageDigest;

/// What may stand between the data of one file and that of the next: headers, long names, attributes. Kernels allow
/// 64 KiB of an attribute; padding at the end of archives is less.
const BETWEEN: u64 = 4 << 20;

/// An open layer.
pub(super) struct LayerReader<'a> {
    archive: Archive<MeteredReader<'a>>,
    meter: Rc<ArchiveMeter>,
}

/// What the reader below the library and we above it both know.
#[derive(Default)]
struct ArchiveMeter {
    /// What may still be read before somebody has to allow more.
    allowed: Cell<u64>,
    /// Why no more was read; the library passes on a text at best.
    problem: Cell<Option<LayerProblem>>,
    /// Where the layer is being judged.
    hasher: Cell<Option<Sha256>>,
    bytes: Cell<u64>,
}

pub(super) struct MeteredReader<'a> {
    source: Decompressor<File>,
    stop: &'a AtomicBool,
    counts: Option<&'a LayerCounts>,
    meter: Rc<ArchiveMeter>,
}

impl<'a> LayerReader<'a> {
    /// With counts, the layer is being judged: its digest is computed and its bytes are counted.
    pub(super) fn new(
        file: File,
        stop: &'a AtomicBool,
        counts: Option<&'a LayerCounts>,
    ) -> Result<Self, LayerProblem> {
        let meter = Rc::new(ArchiveMeter::default());
        meter.hasher.set(counts.map(|_| Sha256::new()));
        let source = Decompressor::new(file)?;
        let archive = Archive::new(MeteredReader { source, stop, counts, meter: Rc::clone(&meter) });
        Ok(Self { archive, meter })
    }

    pub(super) fn for_each(
        &mut self,
        each: &mut dyn FnMut(&mut Entry<'_, MeteredReader<'a>>) -> Result<(), LayerProblem>,
    ) -> Result<(), LayerProblem> {
        let meter = Rc::clone(&self.meter);
        meter.allowed.set(BETWEEN);
        let entries = self.archive.entries().map_err(|error| meter.problem(error))?;
        for entry in entries {
            let mut entry = entry.map_err(|error| meter.problem(error))?;
            meter.allowed.set(u64::MAX);
            each(&mut entry).map_err(|problem| meter.problem.take().unwrap_or(problem))?;
            io::copy(&mut entry, &mut io::sink()).map_err(|error| meter.problem(error))?;
            meter.allowed.set(BETWEEN);
        }
        Ok(())
    }

    /// Reads what stands behind the archive's end, and gives bytes and digest of all.
    pub(super) fn finish(self) -> Result<(u64, ImageDigest), LayerProblem> {
        self.meter.allowed.set(u64::MAX);
        let mut rest = self.archive.into_inner();
        io::copy(&mut rest, &mut io::sink()).map_err(|error| self.meter.problem(error))?;
        let hash = self.meter.hasher.take().unwrap_or_default().finalize();
        Ok((self.meter.bytes.get(), ImageDigest::from_hash(&hash)))
    }
}

impl ArchiveMeter {
    /// What is really behind an error of the library's.
    fn problem(&self, error: io::Error) -> LayerProblem {
        if let Some(problem) = self.problem.take() {
            return problem;
        }
        if error.raw_os_error().is_some() {
            return LayerProblem::Machine(error);
        }
        LayerProblem::Refused(format!(
            "a layer cannot be read: {}",
            crate::reference::shown(&error.to_string())
        ))
    }
}

impl Read for MeteredReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let broken_off = |problem| {
            self.meter.problem.set(Some(problem));
            io::Error::other("stopped")
        };
        if self.stop.load(Ordering::Relaxed) {
            return Err(broken_off(LayerProblem::Stopped));
        }
        let allowed = self.meter.allowed.get();
        if allowed == 0 {
            let reason =
                format!("a layer has more than {BETWEEN} bytes of names and attributes for one file");
            return Err(broken_off(LayerProblem::Refused(reason)));
        }
        let most = usize::try_from(allowed).unwrap_or(usize::MAX).min(into.len());
        let into = into.get_mut(..most).unwrap_or_default();
        let read = match self.source.read(into) {
            Ok(read) => read,
            // The machine's own errors pass unchanged; the library would hide that they are.
            Err(error) if error.raw_os_error().is_some() => {
                return Err(broken_off(LayerProblem::Machine(error)));
            }
            Err(error) => return Err(error),
        };
        let count = read as u64;
        if let Some(counts) = self.counts {
            counts.add_bytes(count).map_err(broken_off)?;
        }
        if let Some(mut hasher) = self.meter.hasher.take() {
            hasher.update(into.get(..read).unwrap_or_default());
            self.meter.hasher.set(Some(hasher));
        }
        if allowed != u64::MAX {
            self.meter.allowed.set(allowed - count);
        }
        self.meter.bytes.set(self.meter.bytes.get().saturating_add(count));
        Ok(read)
    }
}
