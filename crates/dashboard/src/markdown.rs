//! Our own Markdown as HTML. Foreign text in it is escaped already; raw HTML becomes text all the same.

use pulldown_cmark::{Event, Parser, html};

pub(crate) fn as_html(markdown: &str) -> String {
    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing else carries raw HTML")]
    let as_text = |event| match event {
        Event::Html(raw) | Event::InlineHtml(raw) => Event::Text(raw),
        other => other,
    };
    let mut page = String::new();
    html::push_html(&mut page, Parser::new(markdown).map(as_text));
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_kept_and_raw_html_is_text() {
        let page = as_html(
            "### Verified\n\n- `a`: **b**\n  - [c](https://x/y)\n\n<script>alert(1)</script> <img src=x>",
        );
        for part in
            ["<h3>Verified</h3>", "<code>a</code>: <strong>b</strong>", "<a href=\"https://x/y\">c</a>"]
        {
            assert!(page.contains(part), "{part} is not in {page}");
        }
        assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
    }
}
