//! Splits a stream of bytes, in chunks of any size, into lines with bounded memory.

/// The longest line that is kept whole. Real streams have lines of several hundred KiB.
const LONGEST_LINE: usize = 8 << 20;

/// Only `\n` ends a line: U+2028 and a lone `\r` occur inside JSON strings.
#[derive(Default)]
pub(super) struct LineSplitter {
    line: Vec<u8>,
    is_overlong: bool,
}

impl LineSplitter {
    /// Passes every line completed by `bytes` to `each`, without its newline; `None` for one that is too long.
    pub(super) fn feed(&mut self, bytes: &[u8], each: &mut dyn FnMut(Option<&[u8]>)) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            match piece.strip_suffix(b"\n") {
                Some(rest) => {
                    self.push(rest);
                    self.end(each);
                }
                None => self.push(piece),
            }
        }
    }

    /// Passes any text after the last newline to `each`; returns whether there was some.
    pub(super) fn finish(&mut self, each: &mut dyn FnMut(Option<&[u8]>)) -> bool {
        let unfinished = self.is_overlong || !self.line.is_empty();
        if unfinished {
            self.end(each);
        }
        unfinished
    }

    fn push(&mut self, bytes: &[u8]) {
        self.is_overlong |= self.line.len() + bytes.len() > LONGEST_LINE;
        if self.is_overlong {
            self.line = Vec::new();
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    fn end(&mut self, each: &mut dyn FnMut(Option<&[u8]>)) {
        each((!std::mem::take(&mut self.is_overlong)).then_some(self.line.as_slice()));
        self.line.clear();
    }
}

/// Keeps the last bytes of a longer text.
#[derive(Default)]
pub(super) struct TailBuffer {
    bytes: Vec<u8>,
    most: usize,
    cut: bool,
}

impl TailBuffer {
    /// Keeps the last `most` bytes.
    pub(super) fn of(most: usize) -> Self {
        Self { bytes: Vec::new(), most, cut: false }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let fresh = bytes.get(bytes.len().saturating_sub(self.most)..).unwrap_or_default();
        self.cut |= fresh.len() < bytes.len();
        self.bytes.extend_from_slice(fresh);
        // Cuts only now and then: moving the rest on every call would be quadratic.
        if self.bytes.len() > 2 * self.most {
            self.bytes.drain(..self.bytes.len() - self.most);
            self.cut = true;
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(self.bytes.len().saturating_sub(self.most)..).unwrap_or_default()
    }

    /// Whether earlier bytes were dropped.
    pub(super) fn is_cut(&self) -> bool {
        self.cut || self.bytes.len() > self.most
    }
}
