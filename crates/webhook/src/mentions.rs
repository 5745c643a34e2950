//! Mentions in a comment.

use std::collections::BTreeSet;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd, TextMergeWithOffset};

/// A login has at most 39 characters, an App's slug 34, plus `[bot]`.
const LONGEST_NAME: usize = 44;

/// Whether a comment mentions this name. An App's name is its slug.
pub fn names(comment: &str, name: &str) -> bool {
    mentions(comment).contains(&name.to_ascii_lowercase())
}

/// The names after an `@` in a comment, in lower case and without `[bot]`. Only prose counts, as for GitHub's own
/// mentions: quotes and code address someone else.
pub(super) fn mentions(comment: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (text, _) in prose(comment) {
        names.extend(names_in(&text).map(|(name, _)| name));
    }
    names
}

/// The text after the first mention of this name, without the punctuation that follows it. Empty without one.
pub(super) fn after_mention<'c>(comment: &'c str, name: &str) -> &'c str {
    let name = name.to_ascii_lowercase();
    let ends = prose(comment).into_iter().filter_map(|(_, place)| {
        let mut named = names_in(&comment[place.clone()]).filter(|(found, _)| *found == name);
        named.next().map(|(_, end)| place.start + end)
    });
    let after = ends.map(|end| &comment[end..]).next().unwrap_or_default();
    after.trim_start_matches(|c: char| {
        c.is_whitespace() || matches!(c, ',' | ':' | ';' | '.' | '!' | '?' | ')' | '*')
    })
}

/// The prose of a comment, with its positions.
#[expect(clippy::wildcard_enum_match_arm, reason = "nothing else is prose or keeps it out")]
fn prose(comment: &str) -> Vec<(String, Range<usize>)> {
    let mut found = Vec::new();
    if !comment.contains('@') {
        return found;
    }
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut not_prose = 0_usize;
    for (event, place) in TextMergeWithOffset::new(Parser::new_ext(comment, options).into_offset_iter()) {
        match event {
            Event::Start(Tag::BlockQuote(_) | Tag::CodeBlock(_) | Tag::Link { .. } | Tag::Image { .. }) => {
                not_prose += 1;
            }
            Event::End(TagEnd::BlockQuote(_) | TagEnd::CodeBlock | TagEnd::Link | TagEnd::Image) => {
                not_prose = not_prose.saturating_sub(1);
            }
            Event::Text(text) if not_prose == 0 => found.push((text.into_string(), place)),
            _ => {}
        }
    }
    found
}

/// The names in a text, in lower case, and where each ends.
fn names_in(text: &str) -> impl Iterator<Item = (String, usize)> {
    text.match_indices('@').filter_map(|(at, _)| {
        let before = text[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '/' | '@' | '.' | '-')) {
            // An email address or a path.
            return None;
        }
        let rest = &text[at + 1..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let after = after.strip_prefix("[bot]").unwrap_or(after);
        // `@team/people` is a team; `@name_` and `@name.com` are other names.
        let goes_on = after.starts_with(['/', '_'])
            || after.strip_prefix('.').is_some_and(|rest| rest.starts_with(char::is_alphanumeric))
            || after.starts_with(char::is_alphanumeric);
        let is_name = (1..=LONGEST_NAME).contains(&name.len()) && !name.starts_with('-') && !goes_on;
        is_name.then(|| (name.to_ascii_lowercase(), text.len() - after.len()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_the_name_is_what_is_said() {
        for (comment, said) in [
            ("@journeyman use a checked sum", "use a checked sum"),
            ("@Journeyman[bot]: use a checked sum\n\nand test it", "use a checked sum\n\nand test it"),
            ("Could you, @journeyman?", ""),
            ("me@journeyman.de asks @journeyman, please", "please"),
            ("> @journeyman no\n\n`@journeyman` no\n\n**@journeyman** yes", "yes"),
            ("&amp; @journeyman go on", "go on"),
            ("nobody", ""),
        ] {
            assert_eq!(after_mention(comment, "journeyman"), said, "{comment:?}");
        }
    }

    #[test]
    fn a_name_counts_in_prose_and_nowhere_else() {
        for (comment, named) in [
            ("@journeyman use a checked sum", &["journeyman"][..]),
            ("could you, @Journeyman?", &["journeyman"]),
            ("(@journeyman)\n\n- @anna: see above", &["anna", "journeyman"]),
            ("@journeyman[bot] look", &["journeyman"]),
            ("**@journeyman** look", &["journeyman"]),
            ("see @journeyman.", &["journeyman"]),
            ("> @journeyman look\n\nI agree", &[]),
            ("> he said\nlazily, @journeyman", &[]),
            ("`@journeyman`", &[]),
            ("```\n@journeyman\n```", &[]),
            ("    @journeyman", &[]),
            ("<!-- @journeyman -->", &[]),
            ("[@journeyman](https://example.org)", &[]),
            ("mail me@journeyman", &[]),
            ("https://example.org/@journeyman", &[]),
            ("@journeyman/team @journeyman.com @journeyman_ @@journeyman", &[]),
            ("@ @- @-x", &[]),
            ("@journeyman\u{e4}", &[]),
            ("", &[]),
        ] {
            let names: Vec<String> = mentions(comment).into_iter().collect();
            assert_eq!(names, named, "{comment:?}");
        }
        assert!(mentions(&format!("@{}", "a".repeat(100))).is_empty());
    }
}
