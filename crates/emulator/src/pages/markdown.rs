//! Renders Markdown close to GitHub, but always safe. Raw HTML is escaped except a few tags without attributes.
//! Comments are removed, images become links, and links stay here or lead to the web.

use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, html};

/// Raw HTML tags that are allowed in exactly this form.
const TAGS: [&str; 19] = [
    "<details>", "<details open>", "</details>", "<summary>", "</summary>", "<br>", "<br/>", "<br />", "<b>",
    "</b>", "<i>", "</i>", "<sub>", "</sub>", "<sup>", "</sup>", "<kbd>", "</kbd>", "<hr>",
];

/// Renders a text to HTML; `repository` is the target of `#7`.
pub(crate) fn render(text: &str, repository: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH;
    let mut in_code = 0_usize;
    let mut in_link = 0_usize;
    let mut events = Vec::new();
    for event in Parser::new_ext(text, options) {
        // Other events are harmless, and the parser may gain new ones.
        #[allow(clippy::wildcard_enum_match_arm)]
        match event {
            Event::Html(raw) | Event::InlineHtml(raw) => events.push(Event::Html(allowed(&raw).into())),
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                in_link += 1;
                events.push(Event::Start(Tag::Link { link_type, dest_url: address(dest_url), title, id }));
            }
            Event::End(TagEnd::Link) => {
                in_link = in_link.saturating_sub(1);
                events.push(Event::End(TagEnd::Link));
            }
            // Viewing a page must not load anything from elsewhere.
            Event::Start(Tag::Image { dest_url, title, id, .. }) => {
                in_link += 1;
                let dest_url = address(dest_url);
                events.push(Event::Start(Tag::Link { link_type: LinkType::Inline, dest_url, title, id }));
                events.push(Event::Text("image: ".into()));
            }
            Event::End(TagEnd::Image) => {
                in_link = in_link.saturating_sub(1);
                events.push(Event::End(TagEnd::Link));
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                in_code += 1;
                events.push(Event::Start(Tag::CodeBlock(kind)));
            }
            Event::End(TagEnd::CodeBlock) => {
                in_code = in_code.saturating_sub(1);
                events.push(Event::End(TagEnd::CodeBlock));
            }
            Event::Text(text) if in_code == 0 && in_link == 0 && text.contains('#') => {
                references(&text, repository, &mut events);
            }
            other => events.push(other),
        }
    }
    let mut out = String::new();
    html::push_html(&mut out, events.into_iter());
    out
}

/// Allows web, mail and local addresses; any other becomes `#`.
fn address(url: CowStr<'_>) -> CowStr<'_> {
    let lower = url.trim_start().to_ascii_lowercase();
    let open = ["http://", "https://", "mailto:", "/", "#"].iter().any(|start| lower.starts_with(start));
    if open && !url.chars().any(char::is_control) { url } else { "#".into() }
}

/// Text with `#7` as a link.
fn references<'a>(text: &str, repository: &str, events: &mut Vec<Event<'a>>) {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('#') {
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let (number, following) = after.split_at(digits);
        let stands_alone = before.chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '&')
            && following.chars().next().is_none_or(|c| !c.is_alphanumeric());
        events.push(Event::Text(before.to_owned().into()));
        if (1..=9).contains(&digits) && stands_alone {
            let link = format!("<a href=\"/{}/issues/{number}\">#{number}</a>", escape(repository));
            events.push(Event::InlineHtml(link.into()));
        } else {
            events.push(Event::Text(format!("#{number}").into()));
        }
        rest = following;
    }
    events.push(Event::Text(rest.to_owned().into()));
}

/// Escapes raw HTML except allowed tags, and removes its comments.
fn allowed(raw: &str) -> String {
    let mut out = String::new();
    let mut rest = raw;
    while let Some(at) = rest.find('<') {
        let (before, tail) = rest.split_at(at);
        out.push_str(&escape(before));
        if tail.starts_with("<!--") {
            rest = tail.split_once("-->").map_or("", |(_, after)| after);
        } else if let Some(tag) = TAGS.iter().find(|tag| tail.starts_with(**tag)) {
            out.push_str(tag);
            rest = tail.get(tag.len()..).unwrap_or_default();
        } else {
            out.push_str("&lt;");
            rest = tail.get(1..).unwrap_or_default();
        }
    }
    out.push_str(&escape(rest));
    out
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::render;

    #[test]
    fn what_github_shows_is_shown() {
        let page = render(
            "- [x] tests\n- [ ] review\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n<details><summary>Receipt</summary>\n\n\
             `code`\n\n</details>\n\nCloses #7, not a#7.\n<!-- hidden -->\n",
            "octo/calc",
        );
        for part in
            ["type=\"checkbox\"", "<table>", "<details><summary>Receipt</summary>", "<code>code</code>"]
        {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert!(page.contains("Closes <a href=\"/octo/calc/issues/7\">#7</a>, not a#7."), "{page}");
        assert!(!page.contains("hidden"), "{page}");
    }

    #[test]
    fn what_does_harm_is_text() {
        for (text, must_not) in [
            ("<script>alert(1)</script>", "<script"),
            ("a <img src=x onerror=alert(1)> b", "<img"),
            ("![x](https://example.com/a.png)", "<img"),
            ("[x](javascript:alert(1))", "javascript:"),
            ("[x](data:text/html,hello)", "data:"),
            ("<details onclick=\"x()\">", "<details"),
            ("<div>\n<iframe src=\"/\"></iframe>\n</div>", "<iframe"),
        ] {
            let page = render(text, "octo/calc");
            assert!(!page.contains(must_not), "{text} became {page}");
        }
    }

    proptest! {
        #[test]
        fn no_text_brings_a_script_or_a_handler(text in "(<|>|!--|-->|script|img |onerror=|details|[a-z#\"' \\n\\[\\]()!:/0-9]){0,40}") {
            let page = render(&text, "octo/calc");
            prop_assert!(!page.contains("<script") && !page.contains("<img"), "{text:?} became {page}");
        }
    }
}
