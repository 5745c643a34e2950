//! The labels that say where an order stands.

use std::collections::BTreeSet;

use serde_json::json;

use super::endpoints::InstalledRepository;
use super::error::{ErrorKind, GitHubError, Result};
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

const WORKING: LabelDefinition<'_> = LabelDefinition {
    name: "journeyman:working",
    color: "1d76db",
    description: "Journeyman is working on this",
};
const NEEDS_HUMAN: LabelDefinition<'_> = LabelDefinition {
    name: "journeyman:needs-human",
    color: "d93f0b",
    description: "Journeyman waits for a person",
};
const NEEDS_INFO: LabelDefinition<'_> = LabelDefinition {
    name: "journeyman:needs-info",
    color: "fbca04",
    description: "Journeyman has asked something and waits for an answer",
};
const DONE: LabelDefinition<'_> = LabelDefinition {
    name: "journeyman:done",
    color: "0e8a16",
    description: "Journeyman has opened a pull request for this",
};
const OURS: [&LabelDefinition<'_>; 4] = [&WORKING, &NEEDS_HUMAN, &NEEDS_INFO, &DONE];

fn label_definition(label: OrderLabel) -> Option<&'static LabelDefinition<'static>> {
    match label {
        OrderLabel::Working => Some(&WORKING),
        OrderLabel::NeedsHuman => Some(&NEEDS_HUMAN),
        OrderLabel::NeedsInfo => Some(&NEEDS_INFO),
        OrderLabel::Done => Some(&DONE),
        OrderLabel::None => None,
    }
}

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
        let wanted = label_definition(label);
        // The new one first: at no moment is an order without a label.
        if let Some(look) = wanted
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
        for other in OURS {
            if on.contains(other.name) && wanted.is_none_or(|look| look.name != other.name) {
                let request = GitHubRequest::delete(format!("{route}/{}", percent_encoded(other.name)))
                    .yielding(WritePriority::Ordinary);
                match self.call(at, TokenPermissions::WriteIssues, &request).await {
                    Err(error) if error.kind != ErrorKind::NotFound => return Err(error),
                    Ok(_) | Err(_) => {}
                }
            }
        }
        Ok(())
    }

    /// Makes the labels that a repository lacks: the one by which people ask, and ours.
    pub async fn make_labels(&self, at: &InstalledRepository, asks: &str) -> Result<()> {
        let description = "Journeyman takes this on";
        self.ensure_label(at, &LabelDefinition { name: asks, color: "5319e7", description }).await?;
        for ours in OURS {
            self.ensure_label(at, ours).await?;
        }
        Ok(())
    }

    /// Without this GitHub would make the label itself, grey and without a word of explanation.
    async fn ensure_label(&self, at: &InstalledRepository, look: &LabelDefinition<'_>) -> Result<()> {
        let one = GitHubRequest::get(at.route(&format!("/labels/{}", percent_encoded(look.name))));
        match self.call(at, TokenPermissions::ReadIssues, &one).await {
            Err(error) if error.kind == ErrorKind::NotFound => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(error),
        }
        let body = json!({"name": look.name, "color": look.color, "description": look.description});
        let request = GitHubRequest::post(at.route("/labels"), body).yielding(WritePriority::Ordinary);
        match self.call(at, TokenPermissions::WriteIssues, &request).await {
            // Somebody was quicker.
            Err(error) if error.kind == ErrorKind::Invalid => Ok(()),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
