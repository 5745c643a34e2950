//! Describes a receipt: the verdict, the five lines, and their details.

use super::super::live::line;
use crate::attest::{KeyId, Statement};
use crate::order::VerdictFinding;
use crate::order::bounds::LONGEST_LINE;
use crate::order::findings::{FindingGroup, groups};

pub(super) fn in_words(statement: &Statement, keys: &[KeyId]) -> String {
    let claims = &statement.claims;
    let verdict = line(&claims.verdict, 60);
    let mut lines =
        vec![format!("{}#{}: {verdict} ({})", claims.repository, claims.issue, statement.result.word())];
    if let Some(because) = &claims.because {
        lines.push(format!("  {}", line(because, 400)));
    }
    if let Some(by) = &claims.approved_by {
        lines.push(format!("  {} accepted it as it is", line(by, 60)));
    }
    let mut field = |name: &str, value: String| lines.push(format!("  {name:<10}{value}"));
    field("commit", claims.commit.to_string());
    field("tree", claims.tree.to_string());
    if let Some(base) = &claims.base {
        field("base", base.to_string());
    }
    if let Some(branch) = &claims.branch {
        let there =
            if claims.on_remote { "where it was seen on the remote" } else { "not seen on the remote" };
        field("branch", format!("{branch}, {there}"));
    }
    field("order", claims.order.to_string());
    field("time", statement.time.to_rfc3339());
    let at = statement
        .verifier
        .url
        .as_ref()
        .map(|url| format!(" at {}", line(url, LONGEST_LINE)))
        .unwrap_or_default();
    field("verifier", format!("{}{at}", line(&statement.verifier.name, 60)));
    for (name, version) in &statement.verifier.versions {
        field("", format!("{} {}", line(name, 40), line(version, 120)));
    }
    match keys {
        [] => field("signature", "not checked; it names no key".to_owned()),
        keys => {
            keys.iter().for_each(|key| field("signature", format!("not checked; it names the key {key}")))
        }
    }
    lines.push(format!("\n{}", listed(&statement.claims.all_findings())));
    lines.join("\n")
}

/// The five lines, each with its details.
pub(in crate::cli) fn listed(findings: &[VerdictFinding]) -> String {
    let mut text = String::new();
    for FindingGroup { line: finding, details } in groups(findings) {
        let sentence = line(&finding.sentence.to_string(), LONGEST_LINE);
        text.push_str(&format!("{}: {sentence}\n", finding.line.label()));
        for detail in details {
            text.push_str(&format!("  - {}\n", line(&detail.sentence.to_string(), LONGEST_LINE)));
        }
    }
    text
}
