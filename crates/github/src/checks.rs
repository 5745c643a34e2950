//! Our own check run on a commit: one for an order and a commit, found again by the order's id.

use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::comments::same;
use super::endpoints::InstalledRepository;
use super::error::{Result, found};
use super::gate::WritePriority;
use super::identity::AppWire;
use super::permissions::TokenPermissions;
use super::service::GitHub;
use super::transport::{GitHubRequest, GitHubResponse};
use journeyman_order::conversation::{AnnotationLevel, CheckAnnotation, CheckRunOutput, CheckRunState};
use journeyman_order::{CommitSha, OrderId};

/// The name of our check run, which people may make required.
pub const CHECK_NAME: &str = "journeyman";
/// Annotations of one request; GitHub takes no more.
const MOST_AT_ONCE: usize = 50;

/// What our check run is to be.
#[derive(Debug, Clone, Copy)]
pub struct OrderCheckRun<'a> {
    pub head: &'a CommitSha,
    /// The order: what tells this check run from those of other orders.
    pub order: OrderId,
    pub state: CheckRunState,
    pub text: &'a CheckRunOutput,
    /// The page that it leads to, where there is one.
    pub details: Option<&'a Url>,
    /// What can be asked for by a button.
    pub buttons: &'a [CheckButton],
}

/// A button on our check run. What it does is told by the webhook `check_run.requested_action`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckButton {
    /// New rounds, as `/retry`.
    Retry,
    /// Accept it as it is, as `/approve`.
    Approve,
}

impl CheckButton {
    /// At most 20 characters of label and identifier, and 40 of description.
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

/// An annotation as GitHub has it, so far as it tells one from another.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct CheckAnnotationWire {
    path: String,
    start_line: u64,
    message: Option<String>,
}

impl CheckAnnotationWire {
    fn is(&self, one: &CheckAnnotation) -> bool {
        let said = self.message.as_deref().unwrap_or_default();
        self.path == one.path && self.start_line == one.line && same(said, &one.message)
    }
}

/// The `conclusion` of the API; none while it is at work.
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
    /// What a request says of it, with these annotations.
    fn body(&self, annotations: &[&CheckAnnotation]) -> Value {
        let annotations: Vec<Value> = annotations.iter().map(|one| wire_of(one)).collect();
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

    /// While it is at work the next edit makes this one needless.
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
    /// Makes our check run on a commit say this. The first call creates it, later ones change it in place, and nothing
    /// is written when it says so already. One that was completed and is at work again is a new one, as with every
    /// App whose checks are run again: GitHub shows the newest of a name.
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
        // A filter that GitHub does not understand is ignored by it.
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
        let all: Vec<&CheckAnnotation> = run.text.annotations.iter().collect();
        let (first, rest) = all.split_at(all.len().min(MOST_AT_ONCE));
        let mut body = run.body(first);
        body["head_sha"] = json!(run.head.as_str());
        let request = GitHubRequest::post(at.route("/check-runs"), body).yielding(run.priority());
        // With whether it is known to be as asked for.
        let made = |answer: GitHubResponse| Ok((answer.json::<CheckRunWire>()?, true));
        let look = || async {
            let there = self.our_check(at, run).await?;
            // One that was over before is not the one that begins.
            let there = there.filter(|wire| !(again && wire.status == "completed"));
            Ok(there.map(|wire| (wire, false)))
        };
        match self.create_once(at, TokenPermissions::WriteChecks, request, made, look).await? {
            (_, true) if rest.is_empty() => Ok(()),
            (wire, true) => self.send_changes(at, run, wire.id, rest).await,
            (wire, false) => self.change_check(at, run, &wire).await,
        }
    }

    /// Brings it to what it is to say. Annotations can only be added, so that those that are there are not sent again.
    async fn change_check(
        &self,
        at: &InstalledRepository,
        run: &OrderCheckRun<'_>,
        there: &CheckRunWire,
    ) -> Result<()> {
        let known = if there.output.annotations_count == 0 || run.text.annotations.is_empty() {
            Vec::new()
        } else {
            self.annotations_of(at, there.id).await?
        };
        let is_missing = |one: &&CheckAnnotation| !known.iter().any(|wire| wire.is(one));
        let missing: Vec<&CheckAnnotation> = run.text.annotations.iter().filter(is_missing).collect();
        if missing.is_empty() && run.is_said_by(there) {
            return Ok(());
        }
        self.send_changes(at, run, there.id, &missing).await
    }

    /// A change that was refused or whose answer was lost counts when it is seen to be there: annotations that are sent
    /// twice are there twice.
    async fn send_changes(
        &self,
        at: &InstalledRepository,
        run: &OrderCheckRun<'_>,
        id: u64,
        missing: &[&CheckAnnotation],
    ) -> Result<()> {
        let route = at.route(&format!("/check-runs/{id}"));
        let mut rest = missing;
        loop {
            let (now, later) = rest.split_at(rest.len().min(MOST_AT_ONCE));
            let request = GitHubRequest::patch(route.as_str(), run.body(now)).yielding(run.priority());
            let look = || async { Ok(self.says_all(at, run, id, now).await?.then_some(())) };
            self.create_once(at, TokenPermissions::WriteChecks, request, |_| Ok(()), look).await?;
            if later.is_empty() {
                return Ok(());
            }
            rest = later;
        }
    }

    /// Whether it says by now what was sent.
    async fn says_all(
        &self,
        at: &InstalledRepository,
        run: &OrderCheckRun<'_>,
        id: u64,
        sent: &[&CheckAnnotation],
    ) -> Result<bool> {
        let there = self.our_check(at, run).await?;
        if !there.is_some_and(|there| there.id == id && run.is_said_by(&there)) {
            return Ok(false);
        }
        let known = if sent.is_empty() { Vec::new() } else { self.annotations_of(at, id).await? };
        Ok(sent.iter().all(|one| known.iter().any(|wire| wire.is(one))))
    }

    async fn annotations_of(&self, at: &InstalledRepository, id: u64) -> Result<Vec<CheckAnnotationWire>> {
        let route = at.route(&format!("/check-runs/{id}/annotations"));
        Ok(found(self.list(at, TokenPermissions::ReadChecks, &route).await)?.unwrap_or_default())
    }
}
