//! The verdict and the findings as in the pull request, the receipt, and how to check it without trusting this page.

use journeyman_order::next::OrderProjection;
use journeyman_order::{Journal, Receipt};
use journeyman_render::{FindingsText, evidence};
use pulldown_cmark::{Event, Parser, html};

use super::text::{dollars, duration, line};

pub(crate) struct ReceiptView {
    /// HTML; `None` without a commit.
    pub(crate) evidence: Option<FindingsText>,
    pub(crate) pairs: Vec<(&'static str, String)>,
    pub(crate) notes: Vec<String>,
    /// Commands to run in a clone of the repository; `None` if there is nothing to check, or not yet.
    pub(crate) commands: Option<String>,
}

/// The findings as HTML.
pub(crate) fn findings_html(text: &FindingsText) -> FindingsText {
    FindingsText { lines: as_html(&text.lines), details: as_html(&text.details) }
}

/// `None` until there is a commit or an end.
pub(crate) fn receipt_view(
    journal: &Journal,
    projection: &OrderProjection,
    server: &str,
) -> Option<ReceiptView> {
    if projection.next.settled.is_none() && projection.trace.work.is_none() {
        return None;
    }
    let receipt = Receipt::of(journal, projection);
    let mut pairs = vec![("Pipeline", line(&receipt.pipeline, 100))];
    pairs.extend(receipt.commit.as_ref().map(|commit| ("Commit", commit.to_string())));
    pairs.extend(receipt.tree.as_ref().map(|tree| ("Tree", tree.to_string())));
    pairs.extend(receipt.base.as_ref().map(|base| ("Base", base.to_string())));
    pairs.extend(receipt.branch.as_ref().map(|branch| {
        let remote = if receipt.on_remote { "the remote has the commit" } else { "not seen on the remote" };
        ("Branch", format!("{branch} ({remote})"))
    }));
    pairs.extend(receipt.approved_by.as_deref().map(|by| ("Approved by", line(by, 100))));
    pairs.push(("Cost", dollars(receipt.usage.usd)));
    pairs.push(("Time", duration(receipt.seconds.max(0) as f64)));
    pairs.extend((!receipt.held.is_empty()).then(|| {
        ("Held by agents", receipt.held.iter().map(|name| line(name, 80)).collect::<Vec<_>>().join(", "))
    }));
    Some(ReceiptView {
        evidence: evidence(journal, projection).as_ref().map(findings_html),
        pairs,
        notes: receipt.notes.iter().take(20).map(|note| line(note, 400)).collect(),
        // Signing happens only at the end.
        commands: receipt.commit.as_ref().filter(|_| projection.next.settled.is_some()).map(|commit| {
            format!(
                "git fetch -q origin {commit}\n\
                 curl -fsS {server}/api/v1/receipt-key > receipt-key.pem\n\
                 curl -fsS -H \"Authorization: Bearer $JOURNEYMAN_API_TOKEN\" {server}/api/v1/work-orders/{}/attestation > receipt.json\n\
                 journeyman receipt verify receipt.json --repo . --key receipt-key.pem --commit {commit}",
                receipt.order
            )
        }),
    })
}

/// Renders our own Markdown. Untrusted text in it is already escaped; raw HTML is shown as text.
fn as_html(markdown: &str) -> String {
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
