//! Layers as they are sent: plain, gzip or zstd, told apart by how they begin.
//!
//! May know: bytes. Must never know: what they mean. Registries and tools disagree on media types, so that these are
//! not asked.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const BUFFER: usize = 256 << 10;

pub(super) enum Decompressor<R> {
    Plain(BufReader<R>),
    Gzip(Box<MultiGzDecoder<BufReader<R>>>),
    Zstd(Box<ZstdFrames<BufReader<R>>>),
}

impl<R: Read> Decompressor<R> {
    pub(super) fn new(source: R) -> io::Result<Self> {
        let mut source = BufReader::with_capacity(BUFFER, source);
        let begin = source.fill_buf()?;
        if begin.starts_with(&GZIP) {
            Ok(Self::Gzip(Box::new(MultiGzDecoder::new(source))))
        } else if begin.starts_with(&ZSTD) || is_skippable(begin) {
            let decoder = FrameDecoder::new();
            Ok(Self::Zstd(Box::new(ZstdFrames { source, decoder, in_frame: false })))
        } else {
            Ok(Self::Plain(source))
        }
    }
}

/// A frame without content, in which tools keep notes.
fn is_skippable(begin: &[u8]) -> bool {
    matches!(begin, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

impl<R: Read> Read for Decompressor<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(source) => source.read(into),
            Self::Gzip(source) => source.read(into),
            Self::Zstd(source) => source.read(into),
        }
    }
}

/// One frame after the other, as `zstd -d` reads them: podman writes layers in many.
pub(super) struct ZstdFrames<R> {
    source: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let wrong = |error: FrameDecoderError| io::Error::new(io::ErrorKind::InvalidData, error.to_string());
        loop {
            if self.in_frame {
                while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                    let one = BlockDecodingStrategy::UptoBlocks(1);
                    self.decoder.decode_blocks(&mut self.source, one).map_err(wrong)?;
                }
                let read = self.decoder.read(into)?;
                if read > 0 || into.is_empty() {
                    return Ok(read);
                }
                self.in_frame = false;
            }
            if self.source.fill_buf()?.is_empty() {
                return Ok(0);
            }
            match self.decoder.reset(&mut self.source) {
                Ok(()) => self.in_frame = true,
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    let skipped = io::copy(&mut (&mut self.source).take(length), &mut io::sink())?;
                    if skipped < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(wrong(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        Decompressor::new(bytes)?.read_to_end(&mut all)?;
        Ok(all)
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut all = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        all.write_all(bytes).unwrap();
        all.finish().unwrap()
    }

    #[test]
    fn every_form_is_read_to_its_last_frame() {
        let (one, two) = (b"one".repeat(100_000), b"two".repeat(10));
        let both = [one.as_slice(), &two].concat();
        let note = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        assert_eq!(read(&both).unwrap(), both);
        assert_eq!(read(&[gzip(&one), gzip(&two)].concat()).unwrap(), both);
        assert_eq!(read(&[zstd(&one), note.clone(), zstd(&two), note.clone()].concat()).unwrap(), both);
        assert_eq!(read(&[note, zstd(&one), zstd(&two)].concat()).unwrap(), both);
        assert_eq!(read(b"").unwrap(), b"");
    }

    #[test]
    fn what_breaks_off_is_an_error() {
        let one = b"one".repeat(100_000);
        for whole in [gzip(&one), zstd(&one)] {
            assert!(read(&whole[..whole.len() - 1]).is_err());
            assert!(read(&whole[..whole.len() / 2]).is_err());
            assert!(read(&[&whole[..], b"more"].concat()).is_err());
        }
        assert!(read(&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, b'a']).is_err());
    }
}
