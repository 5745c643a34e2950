//! Patterns of `.gitattributes`, compared with paths as git does it.
//!
//! May know: the bytes of a pattern and of a path. Must never know: what a pattern gives.
//!
//! Git and libgit2 try each way in which stars can be meant, and a pattern can have more of them than there is time. Here
//! all ways are followed at once, byte by byte of the path, and each step is counted.

use std::cell::Cell;

/// How much may still be done, in steps of some nanoseconds.
#[derive(Debug)]
pub(super) struct StepsLeft(Cell<u64>);

/// They are used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoStepsLeft;

impl StepsLeft {
    pub(super) fn new(steps: u64) -> Self {
        Self(Cell::new(steps))
    }

    pub(super) fn take(&self, steps: usize) -> Result<(), NoStepsLeft> {
        let left = self.0.get().checked_sub(steps as u64);
        self.0.set(left.unwrap_or(0));
        left.map(drop).ok_or(NoStepsLeft)
    }
}

/// A pattern that can match a file.
#[derive(Debug)]
pub(super) struct AttributePattern {
    /// Whether it is compared with the whole path, and not with its last part.
    is_of_path: bool,
    /// The plain bytes that it begins with.
    head: Box<[u8]>,
    /// What comes behind them.
    glob: Box<[GlobToken]>,
    /// The plain bytes that each match ends with.
    tail: Box<[u8]>,
}

#[derive(Debug)]
enum GlobToken {
    Byte(u8),
    /// `?`
    Any,
    /// `[…]`, as a bit for each byte.
    Class(Box<[u64; 4]>),
    /// `*`: nothing, or anything without a slash.
    Star,
    /// `**` where it is a whole part: nothing, or anything.
    Stars,
    /// Stands before the two tokens of `**/`, which need not be there.
    Optional,
}

impl AttributePattern {
    /// None where no file can match.
    pub(super) fn new(text: &[u8]) -> Option<Self> {
        // Such a one means folders, and they have no attributes.
        if text.ends_with(b"/") {
            return None;
        }
        let is_of_path = text.contains(&b'/');
        let text = text.strip_prefix(b"/").unwrap_or(text);
        let plain = text.iter().position(|byte| matches!(byte, b'*' | b'?' | b'[' | b'\\'));
        let (head, glob) = text.split_at(plain.unwrap_or(text.len()));
        let glob = tokens(glob, is_of_path)?;
        let tail = tail_of(&glob);
        Some(Self { is_of_path, head: head.into(), glob: glob.into(), tail })
    }

    /// Whether it matches a path, seen from the folder that the pattern stands in; `name` is its last part.
    pub(super) fn matches(&self, path: &[u8], name: &[u8], steps: &StepsLeft) -> Result<bool, NoStepsLeft> {
        steps.take(1 + (self.head.len() + self.tail.len()) / 32)?;
        let text = if self.is_of_path { path } else { name };
        let Some(rest) = text.strip_prefix(&*self.head) else { return Ok(false) };
        if self.glob.is_empty() {
            return Ok(rest.is_empty());
        }
        if rest.ends_with(&self.tail) { self.follow(rest, steps) } else { Ok(false) }
    }

    /// Follows all ways at once.
    fn follow(&self, text: &[u8], steps: &StepsLeft) -> Result<bool, NoStepsLeft> {
        let glob = &*self.glob;
        let (mut here, mut next) = (GlobPlaces::new(glob), GlobPlaces::new(glob));
        here.enter(glob, 0);
        for &byte in text {
            steps.take(1 + here.all.len())?;
            for &at in &here.all {
                match glob.get(at) {
                    Some(GlobToken::Byte(own)) if *own == byte => next.enter(glob, at + 1),
                    Some(GlobToken::Any) if byte != b'/' => next.enter(glob, at + 1),
                    Some(GlobToken::Class(set)) if has(set, byte) => next.enter(glob, at + 1),
                    Some(GlobToken::Star) if byte != b'/' => next.enter(glob, at),
                    Some(GlobToken::Stars) => next.enter(glob, at),
                    Some(
                        GlobToken::Byte(_)
                        | GlobToken::Any
                        | GlobToken::Class(_)
                        | GlobToken::Star
                        | GlobToken::Optional,
                    )
                    | None => {}
                }
            }
            here.leave();
            std::mem::swap(&mut here, &mut next);
            if here.all.is_empty() {
                return Ok(false);
            }
        }
        Ok(here.is_in(glob.len()))
    }
}

/// The tokens that can be next, each once; the place behind the last one is the end.
struct GlobPlaces {
    all: Vec<usize>,
    is_in: Vec<bool>,
}

impl GlobPlaces {
    fn new(glob: &[GlobToken]) -> Self {
        Self { all: Vec::new(), is_in: vec![false; glob.len() + 1] }
    }

    fn is_in(&self, at: usize) -> bool {
        self.is_in.get(at) == Some(&true)
    }

    /// With those behind it that can be next too, since what is before them may be nothing.
    fn enter(&mut self, glob: &[GlobToken], mut at: usize) {
        while let Some(is_in) = self.is_in.get_mut(at).filter(|is_in| !**is_in) {
            *is_in = true;
            self.all.push(at);
            match glob.get(at) {
                Some(GlobToken::Optional) => {
                    self.enter(glob, at + 1);
                    at += 3;
                }
                Some(GlobToken::Star | GlobToken::Stars) => at += 1,
                Some(GlobToken::Byte(_) | GlobToken::Any | GlobToken::Class(_)) | None => return,
            }
        }
    }

    fn leave(&mut self) {
        for at in self.all.drain(..) {
            if let Some(is_in) = self.is_in.get_mut(at) {
                *is_in = false;
            }
        }
    }
}

/// `glob` begins where the first byte is that is not plain, as it does for git.
fn tokens(glob: &[u8], is_of_path: bool) -> Option<Vec<GlobToken>> {
    let (mut tokens, mut at) = (Vec::new(), 0);
    while let Some(&byte) = glob.get(at) {
        let begin = at;
        at += 1;
        let token = match byte {
            b'?' => GlobToken::Any,
            b'\\' => {
                at += 1;
                GlobToken::Byte(*glob.get(begin + 1)?)
            }
            b'[' => {
                let (set, length) = class(glob.get(at..)?)?;
                at += length;
                GlobToken::Class(Box::new(set))
            }
            b'*' => {
                at += glob.iter().skip(at).take_while(|byte| **byte == b'*').count();
                let after = glob.get(at..).unwrap_or_default();
                let begins = begin == 0 || glob.get(begin - 1) == Some(&b'/');
                let ends = after.is_empty() || after.starts_with(b"/") || after.starts_with(b"\\/");
                if is_of_path && at - begin > 1 && begins && ends {
                    if after.starts_with(b"/") {
                        tokens.push(GlobToken::Optional);
                    }
                    GlobToken::Stars
                } else {
                    GlobToken::Star
                }
            }
            plain => GlobToken::Byte(plain),
        };
        tokens.push(token);
    }
    Some(tokens)
}

fn tail_of(glob: &[GlobToken]) -> Box<[u8]> {
    let plain = glob.iter().rev().map_while(|token| match token {
        GlobToken::Byte(byte) => Some(*byte),
        GlobToken::Any | GlobToken::Class(_) | GlobToken::Star | GlobToken::Stars | GlobToken::Optional => {
            None
        }
    });
    let mut tail: Vec<u8> = plain.collect();
    let before = glob.len() - tail.len();
    // The slash of `**/` need not be there.
    if before > 1 && matches!(glob.get(before - 2), Some(GlobToken::Optional)) {
        tail.pop();
    }
    tail.reverse();
    tail.into()
}

/// What stands behind `[`: the bytes that match, and how long it is with its `]`. None where nothing ever matches.
fn class(text: &[u8]) -> Option<([u64; 4], usize)> {
    let mut set = [0; 4];
    let is_negated = matches!(text.first(), Some(b'!' | b'^'));
    let mut at = usize::from(is_negated);
    // What a range could begin with.
    let mut before = None;
    loop {
        let byte = *text.get(at)?;
        before = match (byte, before) {
            (b'\\', _) => {
                at += 1;
                let escaped = *text.get(at)?;
                add(&mut set, escaped..=escaped);
                Some(escaped)
            }
            (b'-', Some(begin)) if text.get(at + 1).is_some_and(|next| *next != b']') => {
                at += 1;
                if text.get(at) == Some(&b'\\') {
                    at += 1;
                }
                add(&mut set, begin..=*text.get(at)?);
                None
            }
            (b'[', _) if text.get(at + 1) == Some(&b':') => {
                let rest = text.get(at + 2..)?;
                let end = rest.iter().position(|byte| *byte == b']')?;
                match rest.get(..end)?.strip_suffix(b":") {
                    Some(name) => {
                        let is_of = named(name)?;
                        (0..=u8::MAX).filter(is_of).for_each(|byte| add(&mut set, byte..=byte));
                        at += 2 + end;
                        None
                    }
                    None => {
                        add(&mut set, byte..=byte);
                        Some(byte)
                    }
                }
            }
            (plain, _) => {
                add(&mut set, plain..=plain);
                Some(plain)
            }
        };
        at += 1;
        if text.get(at) == Some(&b']') {
            break;
        }
    }
    if is_negated {
        set = set.map(|bits: u64| !bits);
    }
    // A slash is in none: where there is one in the text, it stands between folders.
    let (word, bit) = place_of(b'/');
    set[word] &= !bit;
    Some((set, at + 1))
}

fn add(set: &mut [u64; 4], bytes: std::ops::RangeInclusive<u8>) {
    for byte in bytes {
        let (word, bit) = place_of(byte);
        set[word] |= bit;
    }
}

fn has(set: &[u64; 4], byte: u8) -> bool {
    let (word, bit) = place_of(byte);
    set[word] & bit != 0
}

fn place_of(byte: u8) -> (usize, u64) {
    (usize::from(byte / 64), 1 << (byte % 64))
}

/// The classes of git, which knows no letters but those of ASCII.
fn named(name: &[u8]) -> Option<fn(&u8) -> bool> {
    Some(match name {
        b"alnum" => u8::is_ascii_alphanumeric,
        b"alpha" => u8::is_ascii_alphabetic,
        b"blank" => |byte| matches!(byte, b' ' | b'\t'),
        b"cntrl" => u8::is_ascii_control,
        b"digit" => u8::is_ascii_digit,
        b"graph" => u8::is_ascii_graphic,
        b"lower" => u8::is_ascii_lowercase,
        b"print" => |byte| matches!(byte, b' '..=b'~'),
        b"punct" => u8::is_ascii_punctuation,
        b"space" => |byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'),
        b"upper" => u8::is_ascii_uppercase,
        b"xdigit" => u8::is_ascii_hexdigit,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_with_more_ways_than_atoms_is_compared_in_some_thousand_steps() {
        for (pattern, path) in [
            ("*a*a*a*a/".repeat(5) + "b", "aaaaaaaaaaaaaaaa/".repeat(5) + "c"),
            ("**/".repeat(100) + "b", "d/".repeat(12) + "c"),
            ("*a".repeat(60) + "b", "a".repeat(200)),
            ("**/*a".repeat(60) + "b", "a/a".repeat(60)),
        ] {
            let name = path.rsplit('/').next().unwrap();
            let compiled = AttributePattern::new(pattern.as_bytes()).unwrap();
            let steps = StepsLeft::new(100_000);
            assert_eq!(compiled.matches(path.as_bytes(), name.as_bytes(), &steps), Ok(false), "{pattern}");
            // What each match ends with is looked at first: this is what the whole costs.
            assert_eq!(compiled.follow(path.as_bytes(), &steps), Ok(false), "{pattern}");
        }
        let (long, path) = ("*a".repeat(1_000), "a".repeat(4_000));
        let compiled = AttributePattern::new(long.as_bytes()).unwrap();
        assert_eq!(
            compiled.matches(path.as_bytes(), path.as_bytes(), &StepsLeft::new(100_000)),
            Err(NoStepsLeft)
        );
    }
}
