//! Server-sent events: turns bytes in chunks of any size into the data of events.
//!
//! Ignores the events' names: in both dialects the data contains the type.

use std::collections::VecDeque;

use journeyman_order::bounds::LARGEST_STREAM;
use journeyman_order::byte_order_mark;

/// An event grew too large.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EventTooLarge;

#[derive(Debug, Default)]
pub(super) struct SseParser {
    line: Vec<u8>,
    data: Option<String>,
    has_begun: bool,
    events: VecDeque<String>,
}

impl SseParser {
    /// Reads the next bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<(), EventTooLarge> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.line(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']));
            }
        }
        let pending = self.line.len() + self.data.as_ref().map_or(0, String::len);
        if pending > LARGEST_STREAM { Err(EventTooLarge) } else { Ok(()) }
    }

    /// The data of the next complete event.
    pub(super) fn next(&mut self) -> Option<String> {
        self.events.pop_front()
    }

    fn line(&mut self, line: &str) {
        let line =
            if std::mem::replace(&mut self.has_begun, true) { line } else { byte_order_mark::strip(line) };
        if line.is_empty() {
            self.events.extend(self.data.take());
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        if field == "data" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]]) -> Vec<String> {
        let mut events = SseParser::default();
        let mut all = Vec::new();
        for piece in pieces {
            events.feed(piece).unwrap();
            all.extend(std::iter::from_fn(|| events.next()));
        }
        all
    }

    #[test]
    fn the_data_of_events_is_read() {
        for (wire, data) in [
            ("event: a\ndata: {\"x\":1}\n\n", vec!["{\"x\":1}"]),
            ("data: a\r\n\r\ndata: b\r\n\r\n", vec!["a", "b"]),
            (": a comment\n\ndata: a\nid: 7\nretry: 1\ndata:  b\n\n", vec!["a\n b"]),
            ("\u{feff}data: a\n\n", vec!["a"]),
            ("data\n\n", vec![""]),
            ("data: not whole\n", vec![]),
            ("data: a\u{2028}b\n\n", vec!["a\u{2028}b"]),
            ("database: a\n\n", vec![]),
        ] {
            assert_eq!(read(&[wire.as_bytes()]), data, "{wire:?}");
        }
    }

    #[test]
    fn an_event_without_end_is_given_up() {
        let mut events = SseParser::default();
        let piece = vec![b'x'; 1 << 20];
        let fed = (0..100).take_while(|_| events.feed(&piece).is_ok() && events.next().is_none()).count();
        assert_eq!(fed, LARGEST_STREAM >> 20);
    }

    proptest! {
        #[test]
        fn how_the_bytes_are_cut_changes_nothing(
            wire in "(data|event|:|x|é| |\r|\n|\r\n|\n\n|: ){0,60}",
            cuts in proptest::collection::vec(0usize..200, 0..8),
        ) {
            let bytes = wire.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
            prop_assert_eq!(read(&pieces), read(&[bytes]));
        }
    }
}
