//! The simple commands of a shell command, as far as they can be read without a shell.
//!
//! May know: quotes and operators of a shell. Must never know: any program.

use std::ops::Range;

/// One command of a chain, and its words as they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandSegment<'c> {
    /// Where it is in the whole command, without the space around it.
    pub(crate) range: Range<usize>,
    pub(crate) words: Vec<&'c str>,
    /// Whether a word at its end is an argument of its program.
    pub(crate) is_plain: bool,
}

impl CommandSegment<'_> {
    const EMPTY: Self = Self { range: 0..0, words: Vec::new(), is_plain: true };
}

/// The commands of a chain with `&&`, `;` or line breaks, in order. `None` if it has groups, loops, comments or nested
/// commands, so that its parts are not a sequence.
pub(crate) fn segments_of(command: &str) -> Option<Vec<CommandSegment<'_>>> {
    let mut segments = Vec::new();
    let mut now = CommandSegment::EMPTY;
    let mut chars = command.char_indices().peekable();
    let mut word: Option<usize> = None;
    loop {
        let next = chars.next();
        let (at, c) = next.unwrap_or((command.len(), ';'));
        let is_between = c.is_whitespace() || "&;|<>()".contains(c);
        if is_between && let Some(from) = word.take() {
            let from_start = if now.words.is_empty() { from } else { now.range.start };
            now.range = from_start..at;
            now.words.push(command.get(from..at)?);
        }
        let is_word_start = word.is_none() && !is_between;
        word = word.or(is_word_start.then_some(at));
        let follows = |wanted: char| chars.clone().next().is_some_and(|(_, c)| c == wanted);
        match c {
            ';' | '\n' => segments.push(std::mem::replace(&mut now, CommandSegment::EMPTY)),
            '&' if follows('&') => {
                chars.next();
                segments.push(std::mem::replace(&mut now, CommandSegment::EMPTY));
            }
            // What follows is another command, or a file.
            '|' | '&' | '<' | '>' => now.is_plain = false,
            '(' | ')' | '`' => return None,
            '#' | '{' | '}' | '!' if is_word_start => return None,
            '$' if follows('(') => return None,
            '\\' => drop(chars.next()?),
            '\'' => drop(chars.find(|(_, c)| *c == '\'')?),
            '"' => in_quotes(&mut chars)?,
            _ => {}
        }
        if next.is_none() {
            break;
        }
    }
    segments.retain(|segment| !segment.words.is_empty());
    let is_keyword = |word: &&str| ["if", "for", "while", "case", "until", "function"].contains(word);
    let has_keyword = segments.iter().any(|segment| segment.words.first().is_some_and(is_keyword));
    (!has_keyword).then_some(segments)
}

/// Skips a text in double quotes. `None` if a nested command has quotes of its own.
fn in_quotes(chars: &mut impl Iterator<Item = (usize, char)>) -> Option<()> {
    let (mut before, mut is_nested) = (' ', false);
    loop {
        let (_, c) = chars.next()?;
        match c {
            '"' if is_nested => return None,
            '"' => return Some(()),
            '`' => return None,
            '(' if before == '$' => is_nested = true,
            ')' => is_nested = false,
            '\\' => drop(chars.next()?),
            _ => {}
        }
        before = c;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(command: &str) -> Option<Vec<(String, bool)>> {
        let of = |segment: CommandSegment<'_>| (segment.words.join("|"), segment.is_plain);
        Some(segments_of(command)?.into_iter().map(of).collect())
    }

    #[test]
    fn a_chain_is_read_as_its_commands() {
        let all = |parts: &[(&str, bool)]| {
            Some(parts.iter().map(|(words, is_plain)| ((*words).to_owned(), *is_plain)).collect())
        };
        assert_eq!(read("pytest -q"), all(&[("pytest|-q", true)]));
        assert_eq!(read("a b && c; d\ne"), all(&[("a|b", true), ("c", true), ("d", true), ("e", true)]));
        assert_eq!(read("mvn -Da=\"$HOME/x y\" test"), all(&[("mvn|-Da=\"$HOME/x y\"|test", true)]));
        assert_eq!(read("a 'b && c' && d"), all(&[("a|'b && c'", true), ("d", true)]));
        assert_eq!(read("a > log && b | tee c"), all(&[("a|log", false), ("b|tee|c", false)]));
        assert_eq!(read("a || b"), all(&[("a|b", false)]));
        assert_eq!(read("a-#1 b"), all(&[("a-#1|b", true)]));
        assert_eq!(read("a -j \"$(nproc)\" && b"), all(&[("a|-j|\"$(nproc)\"", true), ("b", true)]));
        assert_eq!(read(""), all(&[]));
        for unknown in [
            "(a && b)", "for x in y; do a; done", "a `b`", "a $(b && c)", "a 'b", "{ a; }", "! a",
            "a # && b", "a \"$(b \"c\")\"",
        ] {
            assert_eq!(read(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn a_segment_knows_its_place() {
        let command = "cd a  &&  pytest -q ;";
        let segments = segments_of(command).unwrap();
        let texts: Vec<&str> = segments.iter().map(|segment| &command[segment.range.clone()]).collect();
        assert_eq!(texts, ["cd a", "pytest -q"]);
    }
}
