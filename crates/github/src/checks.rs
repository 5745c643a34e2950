//! Our check run on a commit: one per order and commit, found again by the order's id.

use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::comments::same;
use super::endpoints::InstalledRepository;
use super::error::Result;
use super::gate::WritePriority;
use super::identity::AppWire;
use super::permissions::TokenPermissions;
use super::service::GitHub;
use super::transport::{GitHubRequest, GitHubResponse};
use journeyman_order::conversation::{AnnotationLevel, CheckAnnotation, CheckRunOutput, CheckRunState};
use journeyman_order::{CommitSha, OrderId};

/// The name of our check run; people may make it required.
pub const CHECK_NAME: &str = "journeyman";
/// Annotations per request; GitHub accepts no more.
const MOST_AT_ONCE: usize = 50;

/// The desired state of our check run.
#[derive(Debug, Clone, Copy)]
pub struct OrderCheckRun<'a> {
    pub head: &'a CommitSha,
    /// Distinguishes it from the check runs of other orders.
    pub order: OrderId,
    pub state: CheckRunState,
    pub text: &'a CheckRunOutput,
    /// The page that it links to, if any.
    pub details: Option<&'a Url>,
    pub buttons: &'a [CheckButton],
}

/// A button on our check run. Pressing it sends the webhook `check_run.requested_action`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckButton {
    /// New rounds, like `/retry`.
    Retry,
    /// Accept it as is, like `/approve`.
    Approve,
}

impl CheckButton {
    /// GitHub allows 20 characters for label and identifier, 40 for the description.
    fn wire(self) -> Value {
        match self {
            Self::Retry => json!({"label": "Retry", "description": "Begin another set of rounds",
                "identifier": "retry"}),
            Self::Approve => {
                json!({"label": "Approve as it is", "description": "Accept it, though it is not verified",
                "identifier": "approve"})
            }
        }
    }
}

#[derive(Deserialize)]
struct CheckRunWire {
    id: u64,
    status: String,
    conclusion: Option<String>,
    external_id: Option<String>,
    details_url: Option<String>,
    output: CheckOutputWire,
    app: Option<AppWire>,
}

#[derive(Deserialize)]
struct CheckOutputWire {
    title: Option<String>,
    summary: Option<String>,
    #[serde(default)]
    annotations_count: usize,
}

#[derive(Deserialize)]
struct CheckRunListWire {
    check_runs: Vec<CheckRunWire>,
}

/// The API's `conclusion`; `None` while in progress.
fn conclusion(state: CheckRunState) -> Option<&'static str> {
    match state {
        CheckRunState::InProgress => None,
        CheckRunState::Success => Some("success"),
        CheckRunState::Neutral | CheckRunState::Superseded => Some("neutral"),
        CheckRunState::Failure => Some("failure"),
        CheckRunState::Cancelled => Some("cancelled"),
    }
}

impl OrderCheckRun<'_> {
    /// The body of a request, with these annotations.
    fn body(&self, annotations: &[CheckAnnotation]) -> Value {
        let annotations: Vec<Value> = annotations.iter().map(wire_of).collect();
        let mut body = json!({
            "name": CHECK_NAME,
            "external_id": self.order.to_string(),
            "output": {"title": self.text.title, "summary": self.text.summary, "annotations": annotations},
            "actions": self.buttons.iter().take(3).map(|button| button.wire()).collect::<Vec<_>>(),
        });
        match conclusion(self.state) {
            None => body["status"] = json!("in_progress"),
            Some(conclusion) => {
                body["status"] = json!("completed");
                body["conclusion"] = json!(conclusion);
            }
        }
        if let Some(details) = self.details {
            body["details_url"] = json!(details.as_str());
        }
        body
    }

    /// Sent only at the end: annotations can only be added, and more may come until then.
    fn annotations(&self) -> &[CheckAnnotation] {
        if conclusion(self.state).is_some() { &self.text.annotations } else { &[] }
    }

    /// While in progress, the next edit supersedes this one.
    fn priority(&self) -> WritePriority {
        if conclusion(self.state).is_some() { WritePriority::Ordinary } else { WritePriority::Status }
    }

    fn is_said_by(&self, wire: &CheckRunWire) -> bool {
        let said = |there: &Option<String>, wanted: &str| same(there.as_deref().unwrap_or_default(), wanted);
        let status = if conclusion(self.state).is_some() { "completed" } else { "in_progress" };
        wire.status == status
            && wire.conclusion.as_deref() == conclusion(self.state)
            && said(&wire.output.title, &self.text.title)
            && said(&wire.output.summary, &self.text.summary)
            && self.details.is_none_or(|details| wire.details_url.as_deref() == Some(details.as_str()))
    }
}

fn wire_of(one: &CheckAnnotation) -> Value {
    let level = match one.level {
        AnnotationLevel::Failure => "failure",
        AnnotationLevel::Warning => "warning",
        AnnotationLevel::Notice => "notice",
    };
    json!({
        "path": one.path, "start_line": one.line, "end_line": one.line, "annotation_level": level,
        "title": one.title, "message": one.message,
    })
}

impl GitHub {
    /// Updates our check run on a commit. The first call creates it, later ones edit it, and nothing is written if it
    /// is unchanged. Restarting a completed one creates a new one, as other Apps do on a re-run: GitHub shows the
    /// newest of a name.
    pub async fn show_check(&self, at: &InstalledRepository, run: OrderCheckRun<'_>) -> Result<()> {
        let _turn = self.turn(&format!("check {at:?} {} {}", run.head, run.order)).await;
        let there = self.our_check(at, &run).await?;
        let is_over = |wire: &CheckRunWire| wire.status == "completed";
        let begins_again = run.state == CheckRunState::InProgress && there.as_ref().is_some_and(is_over);
        match there.filter(|_| !begins_again) {
            Some(there) => self.change_check(at, &run, &there).await,
            None => self.create_check(at, &run, begins_again).await,
        }
    }

    /// The newest check run of this order on the commit.
    async fn our_check(
        &self,
        at: &InstalledRepository,
        run: &OrderCheckRun<'_>,
    ) -> Result<Option<CheckRunWire>> {
        let (head, app) = (run.head, self.0.app_id);
        let route = format!(
            "/commits/{head}/check-runs?check_name={CHECK_NAME}&app_id={app}&filter=all&per_page=100"
        );
        let list: CheckRunListWire = self.read(at, TokenPermissions::ReadChecks, &route).await?;
        let order = run.order.to_string();
        // GitHub ignores a filter it does not understand.
        let ours = |wire: &CheckRunWire| {
            wire.external_id.as_deref() == Some(order.as_str())
                && wire.app.as_ref().is_none_or(|one| one.id == app)
        };
        Ok(list.check_runs.into_iter().filter(ours).max_by_key(|wire| wire.id))
    }

    async fn create_check(
        &self,
        at: &InstalledRepository,
        run: &OrderCheckRun<'_>,
        again: bool,
    ) -> Result<()> {
        let all = run.annotations();
        let mut body = run.body(all.get(..MOST_AT_ONCE).unwrap_or(all));
        body["head_sha"] = json!(run.head.as_str());
        let request = GitHubRequest::post(at.route("/check-runs"), body).yielding(run.priority());
        // The flag says whether it is known to be as requested.
        let made = |answer: GitHubResponse| Ok((answer.json::<CheckRunWire>()?, true));
        let look = || async {
            let there = self.our_check(at, run).await?;
            // A completed one is not the newly started one.
            let there = there.filter(|wire| !(again && wire.status == "completed"));
            Ok(there.map(|wire| (wire, false)))
        };
        match self.create_once(at, TokenPermissions::WriteChecks, request, made, look).await? {
            (_, true) if all.len() <= MOST_AT_ONCE => Ok(()),
            (wire, true) => self.send_changes(at, run, wire.id, MOST_AT_ONCE).await,
            (wire, false) => self.change_check(at, run, &wire).await,
        }
    }

    /// Edits it if it differs.
    async fn change_check(
        &self,
        at: &InstalledRepository,
        run: &OrderCheckRun<'_>,
        there: &CheckRunWire,
    ) -> Result<()> {
        let known = there.output.annotations_count;
        if known >= run.annotations().len() && run.is_said_by(there) {
            return Ok(());
        }
        self.send_changes(at, run, there.id, known).await
    }

    /// Annotations are sent in order, so the existing ones are the first. A refused or lost change counts if a later
    /// look finds it there.
    async fn send_changes(
        &self,
        at: &InstalledRepository,
        run: &OrderCheckRun<'_>,
        id: u64,
        mut known: usize,
    ) -> Result<()> {
        let route = at.route(&format!("/check-runs/{id}"));
        loop {
            let rest = run.annotations().get(known..).unwrap_or_default();
            let now = rest.get(..MOST_AT_ONCE).unwrap_or(rest);
            let then = known + now.len();
            let request = GitHubRequest::patch(route.as_str(), run.body(now)).yielding(run.priority());
            let look = || async {
                let there = self.our_check(at, run).await?;
                let is_done = |wire: &CheckRunWire| {
                    wire.id == id && wire.output.annotations_count >= then && run.is_said_by(wire)
                };
                Ok(there.filter(is_done).map(drop))
            };
            self.create_once(at, TokenPermissions::WriteChecks, request, |_| Ok(()), look).await?;
            if now.len() == rest.len() {
                return Ok(());
            }
            known = then;
        }
    }
}
