//! Takes a key out of bytes that pass, should a service repeat it.

use secrecy::{ExposeSecret, SecretString};

use journeyman_order::bounds::SHORTEST_SECRET;

/// Holds back no more than what may be the beginning of the key.
pub(super) struct KeyScrubber {
    key: SecretString,
    held: Vec<u8>,
}

impl KeyScrubber {
    /// Of this key; none where there is nothing to look for.
    pub(super) fn of(key: &SecretString) -> Option<Self> {
        (key.expose_secret().len() >= SHORTEST_SECRET).then(|| Self { key: key.clone(), held: Vec::new() })
    }

    /// What may pass of what came, with as many stars for the key.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let key = self.key.expose_secret().as_bytes();
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        let mut at = 0;
        while let Some(found) = all.get(at..).and_then(|rest| position(rest, key)) {
            all.iter_mut().skip(at + found).take(key.len()).for_each(|byte| *byte = b'*');
            at += found + key.len();
        }
        let longest = all.len().min(key.len() - 1);
        let begun = (1..=longest).rev().find(|length| all.ends_with(key.get(..*length).unwrap_or_default()));
        self.held = all.split_off(all.len() - begun.unwrap_or(0));
        all
    }

    /// There is no more.
    pub(super) fn end(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

fn position(bytes: &[u8], key: &[u8]) -> Option<usize> {
    let first = *key.first()?;
    let mut from = 0;
    while let Some(next) = bytes.get(from..)?.iter().position(|byte| *byte == first) {
        let at = from + next;
        if bytes.get(at..)?.starts_with(key) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KEY: &str = "aab-aab-secret";

    proptest! {
        #[test]
        fn the_key_does_not_pass_however_it_is_cut(
            text in "(aab-|aab-aab-secret|a|x|aab-aab-secre){0,12}",
            cuts in proptest::collection::vec(0_usize..120, 0..9),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let mut scrub = KeyScrubber::of(&KEY.into()).unwrap();
            let mut passed: Vec<u8> = cuts.windows(2).flat_map(|cut| scrub.feed(&bytes[cut[0]..cut[1]])).collect();
            passed.extend(scrub.end());
            prop_assert_eq!(String::from_utf8(passed).unwrap(), text.replace(KEY, "**************"));
        }
    }

    #[test]
    fn what_cannot_be_the_key_is_not_held_back() {
        let mut scrub = KeyScrubber::of(&KEY.into()).unwrap();
        assert_eq!(scrub.feed(b"data: x\n\n"), b"data: x\n\n");
        assert_eq!(scrub.feed(b"data: aab"), b"data: ");
        assert_eq!(scrub.feed(b"c"), b"aabc");
        assert!(KeyScrubber::of(&"short".into()).is_none());
    }
}
