//! The comment on somebody else's pull request: the verdict on its commit with five lines, and what can be done.

use url::Url;

use super::pages::{RepositoryLinks, is_linkable, order_page};
use super::receipt::ReceiptSource;
use super::stages::now;
use super::text::{brief, code_span};
use super::{ROOM, headline};
use journeyman_order::length::fit;
use journeyman_order::next::OrderProjection;
use journeyman_order::{GivenChange, Journal, Settlement, Verdict};

pub(super) fn verification(
    journal: &Journal,
    projection: &OrderProjection,
    change: &GivenChange,
    public_url: Option<&Url>,
) -> String {
    let links = RepositoryLinks::of(journal);
    let settled = projection.next.settled.as_ref();
    let is_judged = matches!(settled, Some(Settlement::Finished { .. } | Settlement::Escalated { .. }));
    let receipt = ReceiptSource::of(journal, projection).filter(|_| is_judged);
    let mut parts = Vec::new();
    match &receipt {
        Some(receipt) => parts.push(receipt.evidence()),
        None => {
            parts.push(format!("### {}", brief(&headline(projection), 200)));
            let doing: Vec<String> = now(journal).iter().take(4).map(|what| brief(what, 120)).collect();
            if settled.is_none() && !doing.is_empty() {
                parts.push(format!("**Now:** {}", doing.join(" · ")));
            }
            parts.extend(projection.surfaces().because.map(|because| brief(&because, 2_000)));
        }
    }
    let task = match change.closes {
        Some(issue) => format!("issue #{issue}"),
        None => format!("the pull request's own text, by {}", brief(&change.author, 100)),
    };
    let page = public_url.map(|url| order_page(url, journal.opened().order)).filter(|url| is_linkable(url));
    let page = page.map(|url| format!(" · [dashboard]({url})")).unwrap_or_default();
    let fork = change.fork.as_ref().map(|fork| format!(" of {}", code_span(&brief(fork, 140))));
    let of = format!(
        "Commit {}{} against {} · task: {task}{page}",
        links.commit(&change.head),
        fork.unwrap_or_default(),
        code_span(&change.base)
    );
    parts.push(of);
    parts.extend(receipt.as_ref().and_then(ReceiptSource::packages));
    let is_rejected = matches!(projection.verdict, Verdict::Rejected { .. });
    let programs = receipt.as_ref().and_then(ReceiptSource::failing_programs).filter(|_| is_rejected);
    parts.extend(receipt.map(|receipt| receipt.details(programs.map(|[_, programs]| programs))));
    parts.extend(what_now(settled, projection.surfaces().can_be_retried));
    fit(&parts.join("\n\n"), ROOM)
}

fn what_now(settled: Option<&Settlement>, can_be_retried: bool) -> Option<String> {
    let said = match settled {
        None => "Comment `/cancel` to stop.",
        Some(Settlement::Merged { .. } | Settlement::Closed { .. } | Settlement::Refused { .. }) => {
            return None;
        }
        Some(_) if can_be_retried => {
            "Comment `/retry` to verify this commit again. Nothing is written to this branch unless somebody comments \
             `/journeyman fix`."
        }
        Some(_) => "Nothing is written to this branch.",
    };
    Some(format!("<sub>{said}</sub>"))
}
