//! The labels that say where an order stands.

use std::collections::BTreeSet;

use serde_json::json;

use super::endpoints::InstalledRepository;
use super::error::{ErrorKind, GitHubError, Result, found};
use super::gate::WritePriority;
use super::permissions::TokenPermissions;
use super::queries::{LabelWire, percent_encoded};
use super::service::GitHub;
use super::transport::GitHubRequest;
use journeyman_order::IssueNumber;

pub use journeyman_order::surfaces::OrderLabel;

struct LabelDefinition<'a> {
    name: &'a str,
    color: &'static str,
    description: &'static str,
}

const fn ours(
    name: &'static str,
    color: &'static str,
    description: &'static str,
) -> LabelDefinition<'static> {
    LabelDefinition { name, color, description }
}

const OURS: [(OrderLabel, LabelDefinition<'_>); 4] = [
    (OrderLabel::Working, ours("journeyman:working", "1d76db", "Journeyman is working on this")),
    (OrderLabel::NeedsHuman, ours("journeyman:needs-human", "d93f0b", "Journeyman waits for a person")),
    (
        OrderLabel::NeedsInfo,
        ours("journeyman:needs-info", "fbca04", "Journeyman has asked something and waits for an answer"),
    ),
    (OrderLabel::Done, ours("journeyman:done", "0e8a16", "Journeyman has opened a pull request for this")),
];

impl GitHub {
    /// Puts exactly this one of our labels on an issue. Labels of others stay as they are.
    pub async fn set_order_label(
        &self,
        at: &InstalledRepository,
        issue: IssueNumber,
        label: OrderLabel,
    ) -> Result<()> {
        let _turn = self.turn(&format!("labels {at:?} {issue}")).await;
        let route = at.route(&format!("/issues/{issue}/labels"));
        let labels: Vec<LabelWire> = self.list(at, TokenPermissions::ReadIssues, &route).await?;
        // GitHub compares names of labels without case.
        let on: BTreeSet<String> = labels.into_iter().map(|label| label.name.to_lowercase()).collect();
        let wanted = OURS.iter().find(|(known, _)| *known == label);
        // The new one first: at no moment is an order without a label.
        if let Some((_, look)) = wanted
            && !on.contains(look.name)
        {
            self.ensure_label(at, look).await?;
            let request = GitHubRequest::post(route.as_str(), json!({"labels": [look.name]}))
                .yielding(WritePriority::Ordinary);
            let answer = self.call(at, TokenPermissions::WriteIssues, &request).await?;
            let now: Vec<LabelWire> = answer.json()?;
            if !now.iter().any(|label| label.name.eq_ignore_ascii_case(look.name)) {
                let because = format!("GitHub was given the label {} and does not show it", look.name);
                return Err(GitHubError::unexpected(because));
            }
        }
        for (_, other) in OURS.iter().filter(|(other, _)| *other != label) {
            if on.contains(other.name) {
                let request = GitHubRequest::delete(format!("{route}/{}", percent_encoded(other.name)))
                    .yielding(WritePriority::Ordinary);
                found(self.call(at, TokenPermissions::WriteIssues, &request).await)?;
            }
        }
        Ok(())
    }

    /// Makes the labels that a repository lacks: the one by which people ask, and ours.
    pub async fn make_labels(&self, at: &InstalledRepository, asks: &str) -> Result<()> {
        let description = "Journeyman takes this on";
        self.ensure_label(at, &LabelDefinition { name: asks, color: "5319e7", description }).await?;
        for (_, ours) in &OURS {
            self.ensure_label(at, ours).await?;
        }
        Ok(())
    }

    /// Without this GitHub would make the label itself, grey and without a word of explanation.
    async fn ensure_label(&self, at: &InstalledRepository, look: &LabelDefinition<'_>) -> Result<()> {
        let one = GitHubRequest::get(at.route(&format!("/labels/{}", percent_encoded(look.name))));
        if found(self.call(at, TokenPermissions::ReadIssues, &one).await)?.is_some() {
            return Ok(());
        }
        let body = json!({"name": look.name, "color": look.color, "description": look.description});
        let request = GitHubRequest::post(at.route("/labels"), body).yielding(WritePriority::Ordinary);
        match self.call(at, TokenPermissions::WriteIssues, &request).await {
            // Somebody was quicker.
            Err(error) if error.kind != ErrorKind::Invalid => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}
