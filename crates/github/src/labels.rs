//! The labels that show an order's state.

use std::collections::BTreeSet;

use serde_json::json;

use super::endpoints::InstalledRepository;
use super::error::{ErrorKind, GitHubError, Result, found};
use super::gate::WritePriority;
use super::permissions::TokenPermissions;
use super::queries::{LabelWire, percent_encoded};
use super::service::GitHub;
use super::transport::GitHubRequest;
use journeyman_order::{IssueNumber, VERIFY_LABEL};

pub use journeyman_order::surfaces::OrderLabel;

/// Name, color and description of each.
const OURS: [(OrderLabel, [&str; 3]); 4] = [
    (OrderLabel::Working, ["journeyman:working", "1d76db", "Journeyman is working on this"]),
    (OrderLabel::NeedsHuman, ["journeyman:needs-human", "d93f0b", "Journeyman waits for a person"]),
    (
        OrderLabel::NeedsInfo,
        ["journeyman:needs-info", "fbca04", "Journeyman has asked something and waits for an answer"],
    ),
    (OrderLabel::Done, ["journeyman:done", "0e8a16", "Journeyman has opened a pull request for this"]),
];

impl GitHub {
    /// Sets exactly this one of our labels on an issue. Other labels stay.
    pub async fn set_order_label(
        &self,
        at: &InstalledRepository,
        issue: IssueNumber,
        label: OrderLabel,
    ) -> Result<()> {
        let _turn = self.turn(&format!("labels {at:?} {issue}")).await;
        let route = at.route(&format!("/issues/{issue}/labels"));
        let labels: Vec<LabelWire> = self.list(at, TokenPermissions::ReadIssues, &route).await?;
        // GitHub compares label names case-insensitively.
        let on: BTreeSet<String> = labels.into_iter().map(|label| label.name.to_lowercase()).collect();
        let wanted = OURS.iter().find(|(known, _)| *known == label);
        // The new one first, so that the order always has a label.
        if let Some((_, look @ [name, ..])) = wanted
            && !on.contains(*name)
        {
            self.ensure_label(at, *look).await?;
            let request = GitHubRequest::post(route.as_str(), json!({"labels": [name]}))
                .yielding(WritePriority::Ordinary);
            let answer = self.call(at, TokenPermissions::WriteIssues, &request).await?;
            let now: Vec<LabelWire> = answer.json()?;
            if !now.iter().any(|label| label.name.eq_ignore_ascii_case(name)) {
                let because = format!("GitHub was given the label {name} and does not show it");
                return Err(GitHubError::unexpected(because));
            }
        }
        for (_, [name, ..]) in OURS.iter().filter(|(other, _)| *other != label) {
            if on.contains(*name) {
                let request = GitHubRequest::delete(format!("{route}/{}", percent_encoded(name)))
                    .yielding(WritePriority::Ordinary);
                found(self.call(at, TokenPermissions::WriteIssues, &request).await)?;
            }
        }
        Ok(())
    }

    /// Creates the labels that a repository lacks: those that request work or a verification, and ours.
    pub async fn make_labels(&self, at: &InstalledRepository, asks: &str) -> Result<()> {
        self.ensure_label(at, [asks, "5319e7", "Journeyman takes this on"]).await?;
        self.ensure_label(at, [VERIFY_LABEL, "5319e7", "Journeyman verifies this pull request"]).await?;
        for (_, ours) in OURS {
            self.ensure_label(at, ours).await?;
        }
        Ok(())
    }

    /// Otherwise GitHub would create the label itself, gray and without a description.
    async fn ensure_label(
        &self,
        at: &InstalledRepository,
        [name, color, description]: [&str; 3],
    ) -> Result<()> {
        let one = GitHubRequest::get(at.route(&format!("/labels/{}", percent_encoded(name))));
        if found(self.call(at, TokenPermissions::ReadIssues, &one).await)?.is_some() {
            return Ok(());
        }
        let body = json!({"name": name, "color": color, "description": description});
        let request = GitHubRequest::post(at.route("/labels"), body).yielding(WritePriority::Ordinary);
        match self.call(at, TokenPermissions::WriteIssues, &request).await {
            // `Invalid` means that someone else created it first.
            Err(error) if error.kind != ErrorKind::Invalid => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}
