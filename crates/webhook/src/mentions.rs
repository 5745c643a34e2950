//! Whom a comment calls by name.

use std::collections::BTreeSet;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd, TextMergeStream};

/// A login has 39 characters at most, an App's slug 34; `[bot]` comes on top.
const LONGEST_NAME: usize = 44;

/// Whether a comment calls somebody of this name, which for an App is its slug.
pub fn names(comment: &str, name: &str) -> bool {
    mentions(comment).contains(&name.to_ascii_lowercase())
}

/// The names behind an `@` in a comment, in small letters and without `[bot]`: in its prose only, where GitHub itself
/// would make a mention of them. What is quoted, or stands in code, was said by or for somebody else.
pub(super) fn mentions(comment: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    if !comment.contains('@') {
        return names;
    }
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut not_prose = 0_usize;
    for event in TextMergeStream::new(Parser::new_ext(comment, options)) {
        match event {
            Event::Start(Tag::BlockQuote(_) | Tag::CodeBlock(_) | Tag::Link { .. } | Tag::Image { .. }) => {
                not_prose += 1;
            }
            Event::End(TagEnd::BlockQuote(_) | TagEnd::CodeBlock | TagEnd::Link | TagEnd::Image) => {
                not_prose = not_prose.saturating_sub(1);
            }
            Event::Text(text) if not_prose == 0 => names_in(&text, &mut names),
            Event::Start(_)
            | Event::End(_)
            | Event::Text(_)
            | Event::Code(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::Html(_)
            | Event::InlineHtml(_)
            | Event::FootnoteReference(_)
            | Event::SoftBreak
            | Event::HardBreak
            | Event::Rule
            | Event::TaskListMarker(_) => {}
        }
    }
    names
}

fn names_in(text: &str, names: &mut BTreeSet<String>) {
    for (at, _) in text.match_indices('@') {
        let before = text[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '/' | '@' | '.' | '-')) {
            // An address, or a path.
            continue;
        }
        let rest = &text[at + 1..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let after = after.strip_prefix("[bot]").unwrap_or(after);
        // `@team/people` is a team, `@name_` and `@name.com` are somebody else.
        let goes_on = after.starts_with(['/', '_'])
            || after.strip_prefix('.').is_some_and(|rest| rest.starts_with(char::is_alphanumeric))
            || after.starts_with(char::is_alphanumeric);
        if (1..=LONGEST_NAME).contains(&name.len()) && !name.starts_with('-') && !goes_on {
            names.insert(name.to_ascii_lowercase());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
