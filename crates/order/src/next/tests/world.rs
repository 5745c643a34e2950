//! A world without I/O for tests: it answers moves by a script, one after the other or in parallel.
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at one kind")]

use crate::agent_run::{AgentFailure, AgentFailureKind, AgentRun, AgentUsage};
use crate::conversation::{ChecksSnapshot, Mergeability, PullSnapshot, PullSnapshotState};
use crate::given_change::GivenChange;
use crate::ids::*;
use crate::inconclusive::Inconclusive;
use crate::journal::{IssueText, JournalEntry, OrderInput};
use crate::moves::{AgentTask, PreparedRepository};
use crate::next::*;
use crate::settings::{OrderLimits, RepositorySettings};
use crate::signal::{CommentCommand, Requester, Signal, SignalKind};
use crate::test_run::{TestCounts, TestRun, TestVerdict};
use crate::trace::StageState;
use chrono::{TimeDelta, TimeZone};

const PIPELINE: &str = r"
name: issue-to-pr
version: 1
stages:
  - { name: classify, agent: developer, command: classify_issue, arguments: ['{{issue.title}}'], output: { one_of: [/feature, /bug, /chore] } }
  - { name: branch, uses: branch, agent: developer, command: generate_branch, depends_on: [classify] }
  - { name: plan, agent: developer, command: '{{classify.result}}', output: { file: '.journeyman/plans/*.md' }, depends_on: [branch] }
  - { name: implement, agent: developer, command: implement, arguments: ['{{plan.content}}'], checks: [pushed_commit, policy, tests], escalate_on_exhaust: human_approval, depends_on: [plan] }
  - { name: publish, uses: publish, agent: developer, command: create_pull_request, depends_on: [implement] }
  - { name: ready, uses: ready, depends_on: [publish] }
";

pub(super) fn sha(digit: u32) -> CommitSha {
    format!("{digit:08x}{:032x}", 0).parse().unwrap()
}

/// An open pull request without requests.
pub(super) fn quiet(head: &CommitSha) -> PullSnapshot {
    PullSnapshot {
        head: head.clone(),
        state: PullSnapshotState::Open,
        mergeable: Mergeability::Cleanly,
        threads: Vec::new(),
        remarks: Vec::new(),
        checks: ChecksSnapshot::default(),
    }
}

pub(super) fn person() -> Person {
    Person { login: "ada".to_owned(), id: UserId(1) }
}

/// How an order ended, and the verdict on its commit.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum OrderEnding {
    Verified { pull: Option<PullNumber> },
    Unverified { pull: Option<PullNumber>, because: String },
    Unproven { because: String },
    Approved { pull: Option<PullNumber>, by: String, because: String },
    Escalated { pull: Option<PullNumber>, because: String },
    Blocked { because: String },
    Failed { because: String },
    Unprepared { because: String },
    Cancelled { because: String },
    Merged { pull: PullNumber, by: String },
    Closed { pull: PullNumber, by: String },
    Refused { because: String },
}

impl OrderEnding {
    pub(super) fn of(projection: &OrderProjection) -> Option<Self> {
        let because = || projection.surfaces().because.unwrap_or_default();
        Some(match projection.next.settled.clone()? {
            Settlement::Finished { pull } => match projection.verdict.clone() {
                Verdict::Verified(_) => Self::Verified { pull },
                Verdict::Approved { by, .. } => Self::Approved { pull, by, because: because() },
                Verdict::Inconclusive { why: Inconclusive::Unproven { .. } } => {
                    Self::Unproven { because: because() }
                }
                Verdict::Inconclusive { .. } | Verdict::None => Self::Unverified { pull, because: because() },
                other => panic!("finished, and {other:?}"),
            },
            Settlement::Escalated { pull, because } => Self::Escalated { pull, because },
            Settlement::Blocked { because } => Self::Blocked { because },
            Settlement::Failed { because } => Self::Failed { because },
            Settlement::Unprepared { because } => Self::Unprepared { because },
            Settlement::Cancelled { because } => Self::Cancelled { because },
            Settlement::Merged { pull, by } => Self::Merged { pull, by },
            Settlement::Closed { pull, by } => Self::Closed { pull, by },
            Settlement::Refused { because } => Self::Refused { because },
        })
    }
}

/// Replaces the world's own outcomes. The number is how often the effect was made before.
pub(super) type OutcomeOracle = Box<dyn Fn(&MoveKey, &Move, usize) -> Option<EffectOutcome>>;

/// Answers moves by a script, matched by the end of the key. Anything else succeeds.
pub(super) struct SimulatedOrder {
    pub(super) journal: Journal,
    pub(super) now: DateTime<Utc>,
    script: Vec<(String, Vec<EffectOutcome>)>,
    oracle: Option<OutcomeOracle>,
    /// The keys of observed effects, in order.
    pub(super) made: Vec<String>,
    /// Effects that began and are not observed yet.
    pub(super) under_way: Vec<(MoveKey, Move)>,
    /// The most effects that ran at once.
    pub(super) most_at_once: usize,
}

impl SimulatedOrder {
    pub(super) fn new() -> Self {
        Self::of(Pipeline::parse(PIPELINE).unwrap())
    }

    /// An order with this pipeline, given as YAML.
    pub(super) fn with(yaml: &str) -> Self {
        Self::of(Pipeline::parse(yaml).unwrap_or_else(|problem| panic!("{problem}\n{yaml}")))
    }

    pub(super) fn of(pipeline: Pipeline) -> Self {
        let now = Utc.with_ymd_and_hms(2026, 1, 1, 12, 0, 0).unwrap();
        let opened = OrderInput {
            format: crate::journal::JOURNAL_FORMAT,
            order: OrderId(uuid::Uuid::nil()),
            repository: "octo/sum".parse().unwrap(),
            repository_id: RepositoryId(1),
            installation: Some(InstallationId(1)),
            default_branch: "main".to_owned(),
            issue: IssueText {
                number: IssueNumber(7),
                title: "Round the sum".to_owned(),
                body: "$1 {{plan.content}}".to_owned(),
                url: String::new(),
                labels: Vec::new(),
            },
            by: Requester::Person(person()),
            pipeline,
            agent: "scripted".to_owned(),
            limits: OrderLimits { minutes: 60, usd: 5.0, ..OrderLimits::default() },
            roles: Default::default(),
            earlier: Vec::new(),
            request: Default::default(),
            comment: None,
            labeled_at: None,
            commented_at: None,
            change: None,
        };
        let entries = vec![JournalEntry { seq: 1, at: now, event: JournalEvent::Opened(Box::new(opened)) }];
        Self {
            journal: Journal::new(entries).unwrap(),
            now,
            script: Vec::new(),
            oracle: None,
            made: Vec::new(),
            under_way: Vec::new(),
            most_at_once: 0,
        }
    }

    /// An order that verifies somebody else's pull request, with the server's own pipeline.
    pub(super) fn of_change() -> Self {
        let world = Self::with(include_str!("../../../../../templates/pipelines/verify.yaml"));
        world.opened_with(|opened| {
            opened.issue.number = IssueNumber(8);
            opened.change = Some(GivenChange {
                pull: PullNumber(8),
                url: "u".to_owned(),
                head: sha(50),
                base: "main".to_owned(),
                author: "carl".to_owned(),
                author_id: None,
                fork: None,
                closes: None,
                merge_group: false,
                continued: None,
            });
        })
    }

    /// The same order, opened with something else.
    pub(super) fn opened_with(mut self, change: impl FnOnce(&mut OrderInput)) -> Self {
        let mut opened = self.journal.opened().clone();
        change(&mut opened);
        let entries =
            vec![JournalEntry { seq: 1, at: self.now, event: JournalEvent::Opened(Box::new(opened)) }];
        self.journal = Journal::new(entries).unwrap();
        self
    }

    /// Enough time and money for everything, so that speed does not decide what is paid for.
    pub(super) fn without_limits(self) -> Self {
        let limits = OrderLimits { minutes: 1_000_000, usd: 100_000.0, ..OrderLimits::default() };
        self.opened_with(|opened| opened.limits = limits)
    }

    /// How long to wait for further requests on the pull request.
    pub(super) fn gathering(self, seconds: u32) -> Self {
        self.opened_with(|opened| opened.limits.gather_seconds = seconds)
    }

    /// Sets the repository's settings.
    pub(super) fn settings(self, settings: RepositorySettings) -> Self {
        let prepared = EffectOutcome::Prepared(Box::new(PreparedRepository {
            default: None,
            base: sha(1),
            settings,
            pipeline: None,
            roles: Default::default(),
            commands: Default::default(),
            subjects: Vec::new(),
            comments: Default::default(),
            attachments: Vec::new(),
            template: None,
        }));
        self.when("prepare", vec![prepared])
    }

    /// Replaces the world's own outcomes from now on.
    pub(super) fn oracle(
        &mut self,
        oracle: impl Fn(&MoveKey, &Move, usize) -> Option<EffectOutcome> + 'static,
    ) {
        self.oracle = Some(Box::new(oracle));
    }

    /// Runs until a person is needed. Returns false if the order ended instead.
    pub(super) fn rests(&mut self) -> bool {
        for _ in 0..500 {
            if !self.step() {
                return self.projection().next.settled.is_none();
            }
        }
        panic!("does not rest: {:?}", self.made);
    }

    /// The next outcomes of effects whose keys end like this.
    pub(super) fn when(mut self, key_ends: impl Into<String>, outcomes: Vec<EffectOutcome>) -> Self {
        self.script.push((key_ends.into(), outcomes));
        self
    }

    pub(super) fn asking(mut self, oracle: OutcomeOracle) -> Self {
        self.oracle = Some(oracle);
        self
    }

    pub(super) fn write(&mut self, event: JournalEvent) {
        let seq = self.journal.last_seq() + 1;
        self.journal.push(JournalEntry { seq, at: self.now, event }).unwrap();
    }

    pub(super) fn hear(&mut self, kind: SignalKind) {
        self.hear_from(Requester::Person(person()), kind);
    }

    pub(super) fn hear_from(&mut self, by: Requester, kind: SignalKind) {
        self.write(JournalEvent::Signaled { signal: Signal { by, kind }, delivery: None });
    }

    /// A person with write access gives this command.
    pub(super) fn say(&mut self, command: &str) {
        let CommentCommand::Command(command) = CommentCommand::of(command) else {
            panic!("{command:?} is no command")
        };
        self.hear(SignalKind::Commanded { comment: None, pull: None, command });
    }

    pub(super) fn projection(&self) -> OrderProjection {
        projection(self.journal.pipeline(), &self.journal, self.now)
    }

    /// Makes one move, or waits if that is next. Returns false if there is nothing to do.
    pub(super) fn step(&mut self) -> bool {
        let next = self.projection().next;
        let Some((key, r#move)) = next.moves.into_iter().next() else {
            let Some(until) = next.wake_at else { return false };
            self.now = self.now.max(until);
            return true;
        };
        self.begin(key.clone(), r#move);
        self.finish(&key.0);
        true
    }

    pub(super) fn begin(&mut self, key: MoveKey, r#move: Move) {
        self.write(JournalEvent::Intended { key: key.clone(), r#move: Box::new(r#move.clone()) });
        self.under_way.push((key, r#move));
        self.most_at_once = self.most_at_once.max(self.under_way.len());
    }

    pub(super) fn is_under_way(&self, key: &str) -> bool {
        self.under_way.iter().any(|(known, _)| known.0 == key)
    }

    pub(super) fn first_under_way(&self) -> String {
        self.under_way.first().expect("something is under way").0.0.clone()
    }

    /// Finishes the running effect with this key.
    pub(super) fn finish(&mut self, key: &str) {
        let place = self.under_way.iter().position(|(known, _)| known.0 == key);
        let (key, r#move) = self.under_way.remove(place.unwrap_or_else(|| panic!("{key} is not under way")));
        let outcome = self.answer(&key, &r#move);
        self.made.push(key.to_string());
        self.now += TimeDelta::seconds(1);
        self.write(JournalEvent::Observed { key, outcome: Box::new(outcome) });
    }

    /// Starts every proposed move and stops those that are no longer proposed, as the engine does, or waits if that is
    /// next. Returns whether anything is left to do.
    pub(super) fn begin_all(&mut self) -> bool {
        let next = self.projection().next;
        self.under_way.retain(|(key, _)| next.moves.iter().any(|(named, _)| named == key));
        for (key, r#move) in next.moves {
            if !self.under_way.iter().any(|(known, _)| *known == key) {
                self.begin(key, r#move);
            }
        }
        match next.wake_at.filter(|_| self.under_way.is_empty()) {
            Some(until) => {
                self.now = self.now.max(until);
                true
            }
            None => !self.under_way.is_empty(),
        }
    }

    /// Runs all proposed moves in parallel; `first` chooses which ends first.
    pub(super) fn settle_choosing(
        &mut self,
        mut first: impl FnMut(&[(MoveKey, Move)]) -> usize,
    ) -> OrderEnding {
        self.settle_watched(|world| first(&world.under_way))
    }

    /// The same, but `first` sees the whole world.
    pub(super) fn settle_watched(&mut self, mut first: impl FnMut(&Self) -> usize) -> OrderEnding {
        for _ in 0..2_000 {
            if !self.begin_all() {
                return OrderEnding::of(&self.projection()).expect("nothing to do and not settled");
            }
            if !self.under_way.is_empty() {
                let key = self.under_way[first(self)].0.0.clone();
                self.finish(&key);
            }
        }
        panic!("does not settle: {:?}", self.made);
    }

    pub(super) fn settle(&mut self) -> OrderEnding {
        for _ in 0..500 {
            if !self.step() {
                return OrderEnding::of(&self.projection()).expect("nothing to do and not settled");
            }
        }
        panic!("does not settle: {:?}", self.made);
    }

    fn answer(&mut self, key: &MoveKey, r#move: &Move) -> EffectOutcome {
        let before = self.made.iter().filter(|made| **made == key.0).count();
        if let Some(outcome) = self.oracle.as_ref().and_then(|oracle| oracle(key, r#move, before)) {
            return outcome;
        }
        if let Some((_, outcomes)) =
            self.script.iter_mut().find(|(end, left)| key.0.ends_with(end.as_str()) && !left.is_empty())
        {
            return match (outcomes.remove(0), r#move) {
                // The run is of the commit that was requested.
                (EffectOutcome::Tested(run), Move::RunTests { commit }) => {
                    EffectOutcome::Tested(Box::new(TestRun { commit: commit.clone(), ..*run }))
                }
                (outcome, _) => outcome,
            };
        }
        match r#move {
            Move::Authorize { .. } => EffectOutcome::Authorized { allowed: true },
            Move::Prepare => EffectOutcome::Prepared(Box::new(PreparedRepository {
                default: None,
                base: sha(1),
                settings: Default::default(),
                pipeline: None,
                roles: Default::default(),
                commands: Default::default(),
                subjects: Vec::new(),
                comments: Default::default(),
                attachments: Vec::new(),
                template: None,
            })),
            Move::RunAgent(task) => said(match task.command.as_str() {
                "classify_issue" => "/bug",
                "generate_branch" => "fix-the-sum",
                "create_pull_request" => "Fix the sum\n\nIt was wrong.",
                "create_commit" => "Fix the sum",
                "review" => return approves(),
                "diagnose" => return flags("nobody can do this"),
                _ => "done",
            }),
            Move::FindFiles { .. } => EffectOutcome::FilesFound {
                files: vec![".journeyman/plans/a.md".to_owned()],
                content: Some("the plan".to_owned()),
            },
            Move::Import { .. } => imported(self.made.len() as u32, Some("Fix the sum")),
            Move::Commit { tree, .. } => {
                EffectOutcome::Committed { commit: tree.as_str().parse().unwrap(), patch: "+ 1".to_owned() }
            }
            Move::RunTests { commit } => tested(commit, TestVerdict::Passed, 3, 0),
            Move::Push { .. } => EffectOutcome::Pushed,
            Move::OpenPull { .. } => EffectOutcome::PullOpened { number: PullNumber(8), url: "u".to_owned() },
            Move::FinishPull { .. } => EffectOutcome::PullFinished,
            Move::WriteArtifact { .. } => EffectOutcome::ArtifactWritten,
            Move::Archive { .. } => EffectOutcome::Archived { artifacts: Vec::new() },
            Move::ShowReview(_) => EffectOutcome::ReviewShown,
            Move::ShowStatus { .. } => EffectOutcome::StatusShown { comment: None },
            Move::PrepareEnvironment => EffectOutcome::EnvironmentPrepared(Box::default()),
            Move::ReadIssue => EffectOutcome::IssueRead {
                title: "The sum is wrong, and so is the mean".to_owned(),
                body: "Both are.".to_owned(),
                comments: Default::default(),
                attachments: Vec::new(),
            },
            Move::Preflight => EffectOutcome::Preflighted { problems: Vec::new(), warnings: Vec::new() },
            Move::ReadPull { head, .. } => EffectOutcome::PullRead(Box::new(quiet(head))),
            Move::FetchChange { .. } => EffectOutcome::ChangeFetched {
                tree: sha(8).as_str().parse().unwrap(),
                changed: vec!["sum.py".to_owned()],
                patch: "+ round".to_owned(),
            },
            Move::TakeIn { head, .. } => EffectOutcome::TakenIn {
                commit: head.clone(),
                tree: format!("{:040x}", 7).parse().unwrap(),
                changed: vec!["src/lib.rs".to_owned()],
                patch: String::new(),
            },
            Move::UpdateBranch { .. } => EffectOutcome::UpToDate,
            Move::AnswerThreads { .. }
            | Move::RequestReview { .. }
            | Move::ShowAnswer(_)
            | Move::React { .. }
            | Move::Say { .. }
            | Move::ShowCheck { .. }
            | Move::RerunJobs { .. }
            | Move::Tidy { .. } => EffectOutcome::Done,
        }
    }

    /// The task of the agent run with this key.
    pub(super) fn task(&self, key: &str) -> Option<AgentTask> {
        self.journal.entries().iter().find_map(|entry| match &entry.event {
            JournalEvent::Intended { key: known, r#move } if known.0 == key => match &**r#move {
                Move::RunAgent(task) => Some(task.clone()),
                _ => None,
            },
            _ => None,
        })
    }

    /// Every push: the commit, and the one that it replaced.
    pub(super) fn pushes(&self) -> Vec<(CommitSha, Option<CommitSha>)> {
        let pushes = self.journal.entries().iter().filter_map(|entry| match &entry.event {
            JournalEvent::Intended { r#move, .. } => match &**r#move {
                Move::Push { commit, lease, .. } => Some((commit.clone(), lease.clone())),
                _ => None,
            },
            _ => None,
        });
        pushes.collect()
    }

    /// The commit of this round of a stage.
    pub(super) fn commit(&self, round: &str) -> CommitSha {
        let key = format!("{round}/commit");
        let entries = self.journal.entries().iter();
        let mut made = entries.filter_map(|entry| match &entry.event {
            JournalEvent::Observed { key: known, outcome } if known.0 == key => match &**outcome {
                EffectOutcome::Committed { commit, .. } => Some(commit.clone()),
                _ => None,
            },
            _ => None,
        });
        made.next_back().unwrap_or_else(|| panic!("{key} was not made: {:?}", self.made))
    }

    pub(super) fn state(&self, stage: &str) -> Option<StageState> {
        let stages = self.projection().trace.stages;
        stages.iter().rfind(|known| known.name == stage).map(|stage| stage.state)
    }

    /// How the last signal was handled.
    pub(super) fn last_answer(&self) -> Option<SignalAnswer> {
        self.projection().answers.pop().map(|answered| answered.answer)
    }

    /// The advice in the run with this key.
    pub(super) fn advice(&self, key: &str) -> Option<String> {
        let entries = self.journal.entries().iter();
        entries
            .filter_map(|entry| match &entry.event {
                JournalEvent::Intended { key: known, r#move } if known.0.contains(key) => match &**r#move {
                    Move::RunAgent(task) => task.rework.as_ref().and_then(|rework| rework.guidance.clone()),
                    _ => None,
                },
                _ => None,
            })
            .next()
    }

    /// How many effects have this text in their key.
    pub(super) fn made(&self, part: &str) -> usize {
        self.made.iter().filter(|key| key.contains(part)).count()
    }
}

pub(super) fn said(text: &str) -> EffectOutcome {
    EffectOutcome::AgentRan(Box::new(AgentRun {
        result: Some(text.to_owned()),
        session_id: Some("s1".to_owned()),
        usage: AgentUsage { input_tokens: 10, output_tokens: 5, usd: 0.01 },
        ..AgentRun::default()
    }))
}

pub(super) fn failed(kind: AgentFailureKind) -> EffectOutcome {
    let failure = Some(AgentFailure::new(kind, format!("{kind:?}")));
    EffectOutcome::AgentRan(Box::new(AgentRun { failure, ..AgentRun::default() }))
}

pub(super) fn imported(number: u32, message: Option<&str>) -> EffectOutcome {
    EffectOutcome::Imported {
        pushed: sha(number + 100),
        tree: sha(number + 1000).as_str().parse().unwrap(),
        message: message.map(str::to_owned),
        changed: vec!["src/lib.rs".to_owned()],
        warnings: Vec::new(),
    }
}

pub(super) fn tested(commit: &CommitSha, verdict: TestVerdict, passed: u64, failed: u64) -> EffectOutcome {
    EffectOutcome::Tested(Box::new(TestRun {
        commit: commit.clone(),
        tree: sha(2).as_str().parse().unwrap(),
        verdict,
        doubt: None,
        left_out: Vec::new(),
        unrun: Vec::new(),
        setup: None,
        test: None,
        signal: None,
        counts: Some(TestCounts { passed, failed, skipped: 0 }),
        failing: (0..failed).map(|n| format!("test_{n}")).collect(),
        tail: "boom".to_owned(),
        image: None,
        sandbox: "none".to_owned(),
        network: Default::default(),
        scrutiny: None,
        artifacts: Vec::new(),
    }))
}

pub(super) fn red(passed: u64, failed: u64) -> EffectOutcome {
    tested(&sha(9), TestVerdict::Failed, passed, failed)
}

pub(super) fn nothing() -> EffectOutcome {
    EffectOutcome::NothingPushed { because: "origin has no such branch".to_owned() }
}

/// A verifier's answer without objections.
pub(super) fn approves() -> EffectOutcome {
    said(r#"{"passed": true, "score": 1.0, "summary": "nothing to object", "issues": []}"#)
}

/// A verifier's answer with these major findings.
pub(super) fn objects(findings: &[&str]) -> EffectOutcome {
    let issues: Vec<_> = findings
        .iter()
        .map(|text| serde_json::json!({"severity": "major", "category": "logic_error", "description": text, "location": "src/lib.rs:3"}))
        .collect();
    let summary = format!("{} is not right", findings.join(", "));
    said(
        &serde_json::json!({"passed": false, "score": 0.4, "summary": summary, "issues": issues}).to_string(),
    )
}

/// The escalation's agent gives guidance.
pub(super) fn guides(guidance: &str) -> EffectOutcome {
    said(
        &serde_json::json!({"decision": "guide", "diagnosis": "wrong place", "guidance": guidance})
            .to_string(),
    )
}

/// The escalation's agent wants a person to look.
pub(super) fn flags(diagnosis: &str) -> EffectOutcome {
    said(&serde_json::json!({"decision": "flag", "diagnosis": diagnosis, "guidance": ""}).to_string())
}
