//! What people see on GitHub, and what the journal contains.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use journeyman::attest::Envelope;
use journeyman::emulator::{ApiCall, CommentView, IssueView, PullView};
use journeyman::order::next::OrderProjection;
use journeyman::order::{AgentRun, EffectOutcome, Journal, JournalEvent, Move, MoveKey, Receipt};

use super::{Ended, MAINTAINER, REPOSITORY, World};

/// Journeyman's login on GitHub.
pub const BOT: &str = "journeyman[bot]";

/// Whether the journal has the intent of this effect.
pub fn begun(journal: &Journal, name: &str) -> bool {
    journal.entries().iter().any(|entry| match &entry.event {
        JournalEvent::Intended { key, .. } => key.0 == name,
        JournalEvent::Opened(_) | JournalEvent::Signaled { .. } | JournalEvent::Observed { .. } => false,
    })
}

/// The first line of an order's status comment. All orders of somebody's pull request share one.
pub fn status_marker(journal: &Journal) -> String {
    let opened = journal.opened();
    let about = if opened.change.is_some() { "verification".to_owned() } else { opened.order.to_string() };
    format!("<!-- journeyman:status:{about} -->")
}

impl World {
    /// A maintainer adds the label.
    pub async fn label(&self) {
        self.label_by(MAINTAINER).await;
    }

    /// A maintainer removes the label.
    pub async fn unlabel(&self) {
        self.github.unlabel(REPOSITORY, self.issue, "journeyman", MAINTAINER).await.expect("it is on");
    }

    /// A maintainer opens and labels another issue, which becomes the story's issue.
    pub async fn label_another_issue(&mut self, title: &str, body: &str) {
        let opened = self.github.open_issue(REPOSITORY, MAINTAINER, title, body).await;
        self.issue = opened.expect("the repository is there");
        self.label().await;
    }

    /// This person adds the label.
    pub async fn label_by(&self, login: &str) {
        self.github.label(REPOSITORY, self.issue, "journeyman", login).await.expect("the issue is there");
    }

    /// This person comments on the issue.
    pub async fn comment(&self, login: &str, text: &str) {
        self.github.comment(REPOSITORY, self.issue, login, text).await.expect("the issue is there");
    }

    /// The issue as people see it.
    pub fn thread(&self) -> IssueView {
        self.github.issue(REPOSITORY, self.issue).expect("the issue is there")
    }

    pub fn labels(&self) -> Vec<String> {
        self.thread().labels
    }

    pub fn pulls(&self) -> Vec<PullView> {
        self.github.pulls(REPOSITORY)
    }

    /// The only pull request.
    pub fn pull(&self) -> PullView {
        let mut pulls = self.pulls();
        assert_eq!(pulls.len(), 1, "one pull request: {pulls:#?}");
        pulls.remove(0)
    }

    /// Branches other than `main`.
    pub fn branches(&self) -> Vec<String> {
        self.github.branches(REPOSITORY).into_keys().filter(|name| name != "main").collect()
    }

    /// Our comments on the issue.
    pub fn own_comments(&self) -> Vec<CommentView> {
        self.thread().comments.into_iter().filter(|comment| comment.author == BOT).collect()
    }

    /// Our comments on the issue other than the status, without markers.
    pub fn notices(&self) -> Vec<String> {
        let own = self.own_comments().into_iter().map(|comment| comment.body);
        let others = own.filter(|body| !body.starts_with("<!-- journeyman:status:"));
        others
            .map(|body| body.split_once("-->\n").map_or(&*body, |(_, text)| text).trim().to_owned())
            .collect()
    }

    /// The text of the only status comment.
    pub fn status_comment(&self) -> String {
        let mut comments = self.own_comments();
        assert_eq!(comments.len(), 1, "one status comment: {comments:#?}");
        comments.remove(0).body
    }

    /// Calls of the API and of git with this method and path.
    pub fn calls(&self, method: &str, path: &str) -> Vec<ApiCall> {
        let calls = self.github.calls().into_iter();
        calls.filter(|call| call.method == method && call.path.contains(path)).collect()
    }

    /// Runs git in the emulator's repository.
    pub fn git(&self, arguments: &[&str]) -> String {
        let folder = self.github.git_dir(REPOSITORY).expect("the repository is there");
        let output = std::process::Command::new("git")
            .arg("-C")
            .arg(folder)
            .args(arguments)
            .output()
            .expect("git starts");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("git answers in UTF-8").trim().to_owned()
    }
}

impl Ended {
    /// Names of the effects with an intent, in order, without duplicates.
    pub fn moves(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for entry in self.journal.entries() {
            if let JournalEvent::Intended { key, .. } = &entry.event
                && !names.contains(&key.0)
            {
                names.push(key.0.clone());
            }
        }
        names
    }

    /// Every observed run of an agent: its effect's name, its stage or operation, its result.
    fn runs(&self) -> Vec<(&str, &str, &AgentRun)> {
        let mut stages: BTreeMap<&MoveKey, &str> = BTreeMap::new();
        let mut runs = Vec::new();
        for entry in self.journal.entries() {
            match &entry.event {
                JournalEvent::Intended { key, r#move } => {
                    if let Move::RunAgent(task) = &**r#move {
                        stages.insert(key, &task.stage);
                    }
                }
                JournalEvent::Observed { key, outcome } => {
                    if let (Some(stage), EffectOutcome::AgentRan(run)) = (stages.get(key), &**outcome) {
                        runs.push((key.0.as_str(), *stage, &**run));
                    }
                }
                JournalEvent::Opened(_) | JournalEvent::Signaled { .. } => {}
            }
        }
        runs
    }

    /// The number of observed worker runs of a stage or operation.
    pub fn runs_of(&self, stage: &str) -> usize {
        self.runs().iter().filter(|(key, of, _)| *of == stage && key.ends_with("/agent")).count()
    }

    /// The number of observed runs that judge a stage, or diagnose it when it is stuck.
    pub fn judged_of(&self, stage: &str) -> usize {
        self.runs().iter().filter(|(key, of, _)| *of == stage && !key.ends_with("/agent")).count()
    }

    /// The first intent and the first observation of an effect.
    pub fn span(&self, name: &str) -> (u64, u64) {
        let (mut intended, mut observed) = (None, None);
        for entry in self.journal.entries() {
            match &entry.event {
                JournalEvent::Intended { key, .. } if key.0 == name => {
                    intended.get_or_insert(entry.seq);
                }
                JournalEvent::Observed { key, .. } if key.0 == name => {
                    observed.get_or_insert(entry.seq);
                }
                _ => {}
            }
        }
        intended.zip(observed).unwrap_or_else(|| panic!("{name} was not done"))
    }

    /// The observations of an agent's run, attempt by attempt, with their times.
    pub fn observed(&self, name: &str) -> Vec<(DateTime<Utc>, &AgentRun)> {
        let observed = self.journal.entries().iter().filter_map(|entry| match &entry.event {
            JournalEvent::Observed { key, outcome } if key.0 == name => match &**outcome {
                EffectOutcome::AgentRan(run) => Some((entry.at, &**run)),
                _ => None,
            },
            _ => None,
        });
        observed.collect()
    }

    /// What the agent said in a run.
    pub fn said(&self, name: &str) -> String {
        let run = self.runs().into_iter().rev().find(|(key, _, _)| *key == name);
        let said = run.and_then(|(_, _, run)| run.result.clone());
        said.unwrap_or_else(|| panic!("{name} said nothing: {:?}", self.moves()))
    }
}

/// What GitHub shows of an order.
pub struct OnGitHub {
    labels: Vec<String>,
    status: Option<String>,
    check: Option<String>,
    pull: Option<String>,
}

impl OnGitHub {
    /// The places that call the order verified.
    pub fn says_verified(&self) -> Vec<&str> {
        let said = [&self.status, &self.check, &self.pull].into_iter().flatten().map(String::as_str);
        let signs = ["Verified", "✅", "(Some(Success))"];
        said.filter(|text| signs.iter().any(|sign| text.starts_with(sign) || text.ends_with(sign))).collect()
    }
}

impl World {
    /// What GitHub shows of an order now.
    pub fn on_github(&self, journal: &Journal, projection: &OrderProjection) -> OnGitHub {
        let marker = status_marker(journal);
        let pull = projection.trace.pull.as_ref().map(|pull| pull.number.0);
        let pull = self.pulls().into_iter().find(|seen| Some(seen.issue.number) == pull);
        let on_pull = pull.iter().flat_map(|pull| pull.issue.comments.clone());
        let comments = self.thread().comments.into_iter().chain(on_pull);
        let status = comments.map(|comment| comment.body).find(|body| body.starts_with(&marker));
        let heading = |text: &str| text.lines().find_map(|line| line.strip_prefix("### ")).map(str::to_owned);
        let check = pull.as_ref().and_then(|pull| {
            let mut runs = self.github.check_runs(REPOSITORY, &pull.head_sha).into_iter();
            runs.rfind(|run| run.name == "journeyman")
        });
        let labels = self.labels().into_iter();
        OnGitHub {
            labels: labels.filter_map(|label| Some(label.strip_prefix("journeyman:")?.to_owned())).collect(),
            status: status.as_deref().and_then(heading),
            check: check.map(|run| format!("{} ({:?})", run.title, run.conclusion)),
            pull: pull.map(|pull| {
                let body = heading_of_verdict(&pull.issue.body);
                format!("{body} ({})", if pull.draft { "draft" } else { "ready" })
            }),
        }
    }

    /// Everything that is shown of an ended order, side by side.
    pub async fn surfaces(&self) -> String {
        let ended = self.settled().await;
        let OnGitHub { labels, status, check, pull } = self.on_github(&ended.journal, &ended.projection);
        let none = || "none".to_owned();
        let receipt = Receipt::of(&ended.journal, &ended.projection);
        let url = format!("/api/v1/work-orders/{}", ended.order);
        let (_, api) = self.api("GET", &url, None).await;
        let (_, told) = self.api("GET", &format!("{url}/receipt"), None).await;
        let (status_of_it, envelope) = self.api("GET", &format!("{url}/attestation"), None).await;
        let statement = (status_of_it == 200).then(|| {
            let envelope = Envelope::parse(envelope.to_string().as_bytes()).expect("an envelope");
            envelope.statement_unverified().expect("a statement").result.word().to_owned()
        });
        format!(
            "label: {}\nstatus: {}\ncheck: {}\npull: {}\nreceipt: {} / {} / {}\napi: {} / {}\nexit: {}\nattestation: {}",
            if labels.is_empty() { none() } else { labels.join(", ") },
            status.unwrap_or_else(none),
            check.unwrap_or_else(none),
            pull.unwrap_or_else(none),
            receipt.outcome,
            receipt.verdict.unwrap_or("none"),
            receipt.verified,
            api["state"].as_str().unwrap_or_default(),
            told["verified"],
            ended.projection.surfaces().exit_code,
            statement.unwrap_or_else(none),
        )
    }

    /// Checks that every place shows the order as verified by two tests.
    pub async fn assert_shown_as_verified(&self) {
        let shown = self.surfaces().await;
        insta::allow_duplicates! {
            insta::assert_snapshot!(shown, @"
            label: done
            status: Verified, not examined: the pull request is ready for review
            check: Verified, not examined: 2 of 2 tests pass (Some(Success))
            pull: ✅ Verified, not examined (ready)
            receipt: verified / verified / true
            api: verified / true
            exit: 0
            attestation: PASSED
            ");
        }
    }
}

/// The pull request's own verdict, below its closing reference and the agent's text.
fn heading_of_verdict(body: &str) -> String {
    let is_verdict =
        |line: &&str| ["### ✅", "### ⏳", "### ⚠️", "### ❌"].iter().any(|sign| line.starts_with(sign));
    body.lines().find(is_verdict).and_then(|line| line.strip_prefix("### ")).unwrap_or("nothing").to_owned()
}
