//! Replaces texts in passing bytes: a registry's own address with the gateway's, and credentials with stars.

use aho_corasick::{AhoCorasick, MatchKind};
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame};

use super::refusal::{ProxyBody, ProxyBodyError};

/// Buffers only bytes that may be the start of a text.
#[derive(Debug, Clone)]
pub(super) struct StreamReplacer {
    search: AhoCorasick,
    texts: Vec<Vec<u8>>,
    replacements: Vec<Vec<u8>>,
    longest: usize,
    held: Vec<u8>,
}

impl StreamReplacer {
    /// Replaces the first text of each pair with the second; of texts that start at the same place, the longest wins.
    /// `None` if there is nothing to replace.
    pub(super) fn of(pairs: Vec<(Vec<u8>, Vec<u8>)>) -> Option<Self> {
        let (texts, replacements): (Vec<_>, Vec<_>) =
            pairs.into_iter().filter(|(text, _)| !text.is_empty()).unzip();
        let longest = texts.iter().map(Vec::len).max()?;
        // Settings never have more texts than it can hold.
        let search = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&texts).ok()?;
        Some(Self { search, texts, replacements, longest, held: Vec::new() })
    }

    /// Whether the bytes contain one of the texts.
    pub(super) fn is_in(&self, bytes: &[u8]) -> bool {
        self.search.is_match(bytes)
    }

    /// The bytes that may pass now.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        let all = std::mem::take(&mut self.held);
        let (passed, used) = self.replaced(&all, self.begun(&all));
        self.held = all.get(used..).unwrap_or_default().to_vec();
        passed
    }

    /// The remaining bytes, at the end.
    pub(super) fn end(&mut self) -> Vec<u8> {
        let all = std::mem::take(&mut self.held);
        self.replaced(&all, all.len()).0
    }

    /// Where a text may start that continues in the next bytes.
    fn begun(&self, all: &[u8]) -> usize {
        let is_begun = |at: &usize| {
            let end = all.get(*at..).unwrap_or_default();
            self.texts.iter().any(|text| text.len() > end.len() && text.starts_with(end))
        };
        let earliest = all.len().saturating_sub(self.longest - 1);
        (earliest..all.len()).find(is_begun).unwrap_or(all.len())
    }

    /// Replaces texts that start before `whole`; returns also how many bytes were used.
    fn replaced(&self, all: &[u8], whole: usize) -> (Vec<u8>, usize) {
        let (mut passed, mut at) = (Vec::with_capacity(all.len()), 0);
        for found in self.search.find_iter(all) {
            if found.start() >= whole {
                break;
            }
            passed.extend_from_slice(all.get(at..found.start()).unwrap_or_default());
            let replacement = self.replacements.get(found.pattern().as_usize());
            passed.extend_from_slice(replacement.map_or(&[], Vec::as_slice));
            at = found.end();
        }
        let until = whole.max(at);
        passed.extend_from_slice(all.get(at..until).unwrap_or_default());
        (passed, until)
    }
}

/// A part of a passing answer.
pub(super) enum PassingPart<'a> {
    Piece(&'a [u8]),
    End,
    BrokenOff,
}

/// An answer's bytes with texts replaced. An error from the watcher ends them. Dropping them early abandons the answer.
pub(super) fn passing(
    answer: reqwest::Response,
    replacer: Option<StreamReplacer>,
    watch: impl FnMut(PassingPart<'_>) -> Result<(), ProxyBodyError> + Send + 'static,
) -> ProxyBody {
    let begun = Some((answer, replacer, watch));
    let pieces = stream::try_unfold(begun, |state| async move {
        let Some((mut answer, mut replacer, mut watch)) = state else {
            return Ok::<_, ProxyBodyError>(None);
        };
        loop {
            let passed = match answer.chunk().await {
                Ok(Some(bytes)) => {
                    watch(PassingPart::Piece(&bytes))?;
                    match &mut replacer {
                        Some(replacer) => Bytes::from(replacer.feed(&bytes)),
                        None => bytes,
                    }
                }
                Ok(None) => {
                    watch(PassingPart::End)?;
                    let rest = replacer.as_mut().map(StreamReplacer::end).unwrap_or_default();
                    return Ok((!rest.is_empty()).then(|| (Frame::data(Bytes::from(rest)), None)));
                }
                Err(error) => {
                    watch(PassingPart::BrokenOff)?;
                    return Err(journeyman_outgoing::innermost(&error.without_url()).into());
                }
            };
            if !passed.is_empty() {
                return Ok(Some((Frame::data(passed), Some((answer, replacer, watch)))));
            }
        }
    });
    StreamBody::new(pieces).boxed_unsync()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn replacer() -> StreamReplacer {
        let pairs = [("https://corp/a/", "/door/"), ("https://corp/", "/x/"), ("aab-secret", "**********")];
        StreamReplacer::of(pairs.map(|(text, by)| (text.into(), by.into())).to_vec()).unwrap()
    }

    proptest! {
        #[test]
        fn texts_are_replaced_however_they_are_cut(
            text in "(https://corp/|https://corp/a/|https:|aab-|aab-secret|a|/|x){0,14}",
            cuts in proptest::collection::vec(0_usize..150, 0..9),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let mut replacer = replacer();
            let mut passed: Vec<u8> =
                cuts.windows(2).flat_map(|cut| replacer.feed(&bytes[cut[0]..cut[1]])).collect();
            passed.extend(replacer.end());
            let expected = text
                .replace("https://corp/a/", "\u{1}")
                .replace("https://corp/", "/x/")
                .replace('\u{1}', "/door/")
                .replace("aab-secret", "**********");
            prop_assert_eq!(String::from_utf8(passed).unwrap(), expected);
        }
    }

    #[test]
    fn where_there_is_nothing_to_look_for_there_is_none() {
        assert!(StreamReplacer::of(Vec::new()).is_none());
        assert!(StreamReplacer::of(vec![(Vec::new(), b"x".to_vec())]).is_none());
    }

    #[test]
    fn what_cannot_be_one_of_the_texts_is_not_held_back() {
        let key = b"aab-aab-secret";
        let mut replacer = StreamReplacer::of(vec![(key.to_vec(), vec![b'*'; key.len()])]).unwrap();
        assert_eq!(replacer.feed(b"data: x\n\n"), b"data: x\n\n");
        assert_eq!(replacer.feed(b"data: aab"), b"data: ");
        assert_eq!(replacer.feed(b"c"), b"aabc");
        assert_eq!(
            [replacer.feed(b"aab-aab-aab-sec"), replacer.feed(b"ret"), replacer.end()].concat(),
            [&b"aab-"[..], &[b'*'; 14]].concat()
        );
    }
}
