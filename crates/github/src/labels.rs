//! The labels that say where an order stands.

use std::collections::BTreeSet;

use serde_json::json;

use super::error::{ErrorKind, Result};
use super::facts::{NameWire, percent_encoded};
use super::gate::Priority;
use super::permissions::Permissions;
use super::service::{At, GitHub};
use super::transport::Request;
use journeyman_order::IssueNumber;

pub use journeyman_order::surfaces::OrderLabel;

struct Look {
    name: &'static str,
    color: &'static str,
    description: &'static str,
}

const WORKING: Look =
    Look { name: "journeyman:working", color: "1d76db", description: "Journeyman is working on this" };
const NEEDS_HUMAN: Look =
    Look { name: "journeyman:needs-human", color: "d93f0b", description: "Journeyman waits for a person" };
const DONE: Look = Look {
    name: "journeyman:done",
    color: "0e8a16",
    description: "Journeyman has opened a pull request for this",
};
const OURS: [&Look; 3] = [&WORKING, &NEEDS_HUMAN, &DONE];

fn look(label: OrderLabel) -> Option<&'static Look> {
    match label {
        OrderLabel::Working => Some(&WORKING),
        OrderLabel::NeedsHuman => Some(&NEEDS_HUMAN),
        OrderLabel::Done => Some(&DONE),
        OrderLabel::None => None,
    }
}

impl GitHub {
    /// Puts exactly this one of our labels on an issue. Labels of others stay as they are.
    ///
    /// # Errors
    /// As for every call; the same again goes on where it stopped.
    pub async fn set_order_label(&self, at: &At, issue: IssueNumber, label: OrderLabel) -> Result<()> {
        let _turn = self.turn(&format!("labels {at:?} {issue}")).await;
        let route = at.route(&format!("/issues/{issue}/labels"));
        let labels: Vec<NameWire> = self.list(at, Permissions::ReadIssues, &route).await?;
        // GitHub compares names of labels without case.
        let on: BTreeSet<String> = labels.into_iter().map(|label| label.name.to_lowercase()).collect();
        let wanted = look(label);
        // The new one first: at no moment is an order without a label.
        if let Some(look) = wanted
            && !on.contains(look.name)
        {
            self.ensure_label(at, look).await?;
            let request =
                Request::post(route.as_str(), json!({"labels": [look.name]})).yielding(Priority::Ordinary);
            self.call(at, Permissions::WriteIssues, &request).await?;
        }
        for other in OURS {
            if on.contains(other.name) && wanted.is_none_or(|look| look.name != other.name) {
                let request = Request::delete(format!("{route}/{}", percent_encoded(other.name)))
                    .yielding(Priority::Ordinary);
                match self.call(at, Permissions::WriteIssues, &request).await {
                    Err(error) if error.kind != ErrorKind::NotFound => return Err(error),
                    Ok(_) | Err(_) => {}
                }
            }
        }
        Ok(())
    }

    /// Without this GitHub would make the label itself, grey and without a word of explanation.
    async fn ensure_label(&self, at: &At, look: &Look) -> Result<()> {
        let one = Request::get(at.route(&format!("/labels/{}", percent_encoded(look.name))));
        match self.call(at, Permissions::ReadIssues, &one).await {
            Err(error) if error.kind == ErrorKind::NotFound => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(error),
        }
        let body = json!({"name": look.name, "color": look.color, "description": look.description});
        let request = Request::post(at.route("/labels"), body).yielding(Priority::Ordinary);
        match self.call(at, Permissions::WriteIssues, &request).await {
            // Somebody was quicker.
            Err(error) if error.kind == ErrorKind::Invalid => Ok(()),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
