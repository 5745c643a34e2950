//! Replaces texts in bytes that pass: a registry's own address by the gateway's, and its credential by stars.

use aho_corasick::{AhoCorasick, MatchKind};

/// Holds back no more than what may be the beginning of one of the texts.
#[derive(Debug, Clone)]
pub(super) struct StreamReplacer {
    search: AhoCorasick,
    replacements: Vec<Vec<u8>>,
    longest: usize,
    held: Vec<u8>,
}

impl StreamReplacer {
    /// Of these texts, each by what stands beside it; of those that begin at the same place the longest counts. None
    /// where there is nothing to look for.
    pub(super) fn of(pairs: Vec<(Vec<u8>, Vec<u8>)>) -> Option<Self> {
        let (texts, replacements): (Vec<_>, Vec<_>) =
            pairs.into_iter().filter(|(text, _)| !text.is_empty()).unzip();
        let longest = texts.iter().map(Vec::len).max()?;
        // More texts than it can hold are not made from settings.
        let search = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&texts).ok()?;
        Some(Self { search, replacements, longest, held: Vec::new() })
    }

    /// What may pass of what came.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        let all = std::mem::take(&mut self.held);
        // What begins after this may go on in what comes next.
        let whole = all.len().saturating_sub(self.longest - 1);
        let (passed, used) = self.replaced(&all, whole);
        self.held = all.get(used..).unwrap_or_default().to_vec();
        passed
    }

    /// There is no more.
    pub(super) fn end(&mut self) -> Vec<u8> {
        let all = std::mem::take(&mut self.held);
        self.replaced(&all, all.len()).0
    }

    /// With texts replaced that begin before `whole`; and how much of it that was.
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
}
