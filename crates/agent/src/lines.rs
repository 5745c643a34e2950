//! Splits bytes into lines, in pieces of any size, without ever holding more than a line's share of memory.

/// The most of one line that is kept whole. Real streams have lines of several hundred KiB.
pub(super) const LONGEST_LINE: usize = 8 << 20;

/// What is kept of each end of a line that is longer.
const END: usize = 64 << 10;

/// One line, without its newline.
pub(super) enum OutputLine<'a> {
    Whole(&'a [u8]),
    /// Longer than [`LONGEST_LINE`]: its two ends.
    TooLong {
        head: &'a [u8],
        tail: &'a [u8],
    },
}

/// The two ends of a line, as they are kept of one that is too long.
pub(super) fn ends_of(line: &[u8]) -> [&[u8]; 2] {
    let head = line.get(..END.min(line.len())).unwrap_or_default();
    [head, line.get(line.len().saturating_sub(END)..).unwrap_or_default()]
}

/// Only `\n` ends a line: U+2028 and a lone `\r` occur inside JSON strings.
#[derive(Default)]
pub(super) struct LineSplitter {
    line: Vec<u8>,
    /// The end of a line that has become too long; `line` then is its beginning.
    overlong: Option<TailBuffer>,
}

impl LineSplitter {
    /// Hands every line that ends in `bytes` to `each`.
    pub(super) fn feed(&mut self, bytes: &[u8], each: &mut dyn FnMut(OutputLine<'_>)) {
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

    /// Hands over what stands after the last newline, if anything; says whether there was something.
    pub(super) fn finish(&mut self, each: &mut dyn FnMut(OutputLine<'_>)) -> bool {
        let unfinished = !self.line.is_empty();
        if unfinished {
            self.end(each);
        }
        unfinished
    }

    fn push(&mut self, bytes: &[u8]) {
        if let Some(end) = &mut self.overlong {
            end.push(bytes);
        } else if self.line.len() + bytes.len() <= LONGEST_LINE {
            self.line.extend_from_slice(bytes);
        } else {
            let mut end = TailBuffer::of(END);
            end.push(&self.line);
            end.push(bytes);
            let missing = END.saturating_sub(self.line.len());
            self.line.extend_from_slice(bytes.get(..missing.min(bytes.len())).unwrap_or_default());
            self.line.truncate(END);
            self.line.shrink_to_fit();
            self.overlong = Some(end);
        }
    }

    fn end(&mut self, each: &mut dyn FnMut(OutputLine<'_>)) {
        match self.overlong.take() {
            None => each(OutputLine::Whole(&self.line)),
            Some(end) => each(OutputLine::TooLong { head: &self.line, tail: end.bytes() }),
        }
        self.line.clear();
    }
}

/// The last bytes of something longer.
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
        // Cut only now and then: moving the rest for every byte would be quadratic.
        if self.bytes.len() > 2 * self.most {
            self.bytes.drain(..self.bytes.len() - self.most);
            self.cut = true;
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(self.bytes.len().saturating_sub(self.most)..).unwrap_or_default()
    }

    /// Whether there was more than is kept.
    pub(super) fn is_cut(&self) -> bool {
        self.cut || self.bytes.len() > self.most
    }
}
