//! Shows work in a terminal as it happens: a line for each finished step, a spinner for the current one.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use crate::order::bounds::{LONGEST_DOCUMENT, LONGEST_LINE, MOST_IN_A_SENTENCE};
use crate::order::commit_message::is_hidden;
use crate::order::conversation::PullSnapshot;
use crate::order::environment_report::{EnvironmentProblem, EnvironmentReport};
use crate::order::findings::{FindingBearing, FindingGroup, FindingLine, findings, groups};
use crate::order::length::shorten;
use crate::order::moves::AgentTask;
use crate::order::test_run::TestEvidence;
use crate::order::{
    AgentRun, CommitSha, EffectOutcome, JournalEntry, JournalEvent, Move, MoveKey, ReviewVerdict, SignalKind,
    SlashCommand, TestRun, TestVerdict, VerdictFinding,
};

/// Longest foreign text in a line, in characters.
const LONGEST: usize = 100;

pub(super) struct LiveOutput {
    /// `None` without a terminal.
    spinner: Option<ProgressBar>,
    intended: BTreeMap<MoveKey, Move>,
    /// The last pushed commit, so that pushing it again is not shown as news.
    pushed: Option<CommitSha>,
    /// Sequence number of the last entry shown.
    shown: u64,
    /// The last announced step.
    doing: String,
    /// The last line about what runs, and when it was printed.
    told: Option<(String, DateTime<Utc>)>,
    target: LineTarget,
}

/// Where lines are printed, and for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "emulator"),
    expect(dead_code, reason = "only commands that bring their own GitHub need it")
)]
pub(super) enum LineTarget {
    /// To standard error beside a command's result; GitHub's pages can be opened.
    Beside,
    /// The same, but nobody needs GitHub's pages.
    BesideWithoutGitHub,
    /// To standard output, as the command's result.
    Output,
}

#[derive(Clone, Copy)]
enum LineMark {
    Done,
    Wrong,
    Begun,
}

#[cfg_attr(
    not(feature = "emulator"),
    expect(dead_code, reason = "only commands that bring their own GitHub need it")
)]
impl LiveOutput {
    pub(super) fn new(target: LineTarget) -> Self {
        let (intended, doing) = (BTreeMap::new(), String::new());
        Self { spinner: None, intended, pushed: None, shown: 0, doing, told: None, target }
    }

    /// Starts the spinner, also after [`LiveOutput::end`].
    pub(super) fn begin_again(&mut self) {
        self.spinner = spinner();
    }

    /// Shows an entry unless it was already shown.
    pub(super) fn show(&mut self, entry: &JournalEntry) {
        if entry.seq <= self.shown {
            return;
        }
        self.shown = entry.seq;
        match &entry.event {
            JournalEvent::Opened(opened) => {
                let has_github = self.target != LineTarget::BesideWithoutGitHub;
                let issue = has_github.then(|| format!(" for issue #{}", opened.issue.number));
                self.done(&format!("order {} opened{}", opened.order, issue.unwrap_or_default()));
            }
            JournalEvent::Signaled { signal, .. } => {
                let by = one_line(&signal.by.to_string());
                self.line(LineMark::Begun, &format!("{by} {}", did(&signal.kind)));
            }
            JournalEvent::Intended { key, r#move } => {
                if let Some(doing) = doing(r#move) {
                    self.begin(&doing);
                }
                self.intended.insert(key.clone(), (**r#move).clone());
            }
            JournalEvent::Observed { key, outcome } => {
                if let Some(r#move) = self.intended.remove(key) {
                    self.observed(key, &r#move, outcome);
                }
            }
        }
    }

    /// Shows what runs now, and since when: in place on a terminal; elsewhere in a line, if it is news.
    pub(super) fn running(&mut self, progress: Option<(String, DateTime<Utc>)>) {
        let now = Utc::now();
        match (&self.spinner, progress) {
            (Some(spinner), Some((what, since))) => spinner.set_message(timed(&what, now - since)),
            (Some(spinner), None) => spinner.set_message(self.doing.clone()),
            (None, Some((what, _))) if is_news(self.told.as_ref(), &what, now) => {
                self.line(LineMark::Begun, &line(&what, LONGEST_LINE));
                self.told = Some((what, now));
            }
            (None, _) => {}
        }
    }

    pub(super) fn end(&mut self) {
        if let Some(spinner) = self.spinner.take() {
            spinner.finish_and_clear();
        }
    }

    fn begin(&mut self, doing: &str) {
        doing.clone_into(&mut self.doing);
        match &self.spinner {
            Some(spinner) => {
                spinner.reset_elapsed();
                spinner.set_message(doing.to_owned());
            }
            None => self.line(LineMark::Begun, doing),
        }
    }

    fn done(&self, text: &str) {
        self.line(LineMark::Done, text);
    }

    fn wrong(&self, text: &str) {
        self.line(LineMark::Wrong, text);
    }

    fn judged(&self, is_good: bool, text: &str) {
        if is_good { self.done(text) } else { self.wrong(text) }
    }

    fn done_on_github(&self, text: &str) {
        if self.target != LineTarget::BesideWithoutGitHub {
            self.done(text);
        }
    }

    fn line(&self, mark: LineMark, text: &str) {
        let (sign, color) = match mark {
            LineMark::Done => ("✔", "32"),
            LineMark::Wrong => ("✘", "31"),
            LineMark::Begun => ("…", "2"),
        };
        match &self.spinner {
            Some(spinner) => spinner.println(format!("  \u{1b}[{color}m{sign}\u{1b}[0m {text}")),
            None if self.target == LineTarget::Output => println!("  {sign} {text}"),
            None => eprintln!("  {sign} {text}"),
        }
    }

    fn observed(&mut self, key: &MoveKey, r#move: &Move, outcome: &EffectOutcome) {
        match outcome {
            EffectOutcome::Authorized { allowed: true } => {
                self.done_on_github("asked GitHub: the sender may write here")
            }
            EffectOutcome::Authorized { allowed: false } => self.wrong("the sender has no write access"),
            EffectOutcome::IssueRead { .. } => self.done("read the issue again, as it was changed"),
            EffectOutcome::Prepared(prepared) => {
                self.done(&format!("fetched the base, {}", prepared.base.short()))
            }
            EffectOutcome::AgentRan(run) => self.agent_ran(r#move, run),
            EffectOutcome::FilesFound { files, .. } => {
                let files: Vec<String> = files.iter().map(|file| one_line(file)).collect();
                let found = if files.is_empty() { "none".to_owned() } else { one_line(&files.join(", ")) };
                self.judged(!files.is_empty(), &format!("files found: {found}"));
            }
            EffectOutcome::Imported { pushed, .. } if self.pushed.as_ref() == Some(pushed) => {
                self.wrong("pushed commit: unchanged since the previous round");
            }
            EffectOutcome::Imported { pushed, changed, .. } => {
                self.pushed = Some(pushed.clone());
                let plural = if changed.len() == 1 { "" } else { "s" };
                self.done(&format!("pushed commit: {} file{plural} changed, examined", changed.len()));
            }
            EffectOutcome::NothingPushed { because } => {
                self.wrong(&format!("pushed commit: nothing; {}", whole(because)));
            }
            EffectOutcome::ImportRefused(feedback) => {
                self.wrong(&format!("pushed commit refused: {}", whole(&feedback.summary)));
            }
            EffectOutcome::Committed { commit, .. } => {
                self.done(&format!("commit to publish: {}", commit.short()));
            }
            EffectOutcome::Tested(tests) => self.tested(tests),
            EffectOutcome::ArtifactWritten => self.done("the artifact's files were written and pushed"),
            EffectOutcome::Archived { artifacts } => {
                self.done(&format!("kept: {}", one_line(&artifacts.join(", "))));
            }
            EffectOutcome::ReviewShown => self.done_on_github("the review was put on the pull request"),
            EffectOutcome::Pushed => self.done_on_github("pushed, and confirmed on the remote"),
            EffectOutcome::BranchTaken { .. } => self.wrong("the branch's name is taken; trying another"),
            EffectOutcome::PushDeclined { because } => {
                self.wrong(&format!("the push was declined: {}", whole(because)));
            }
            EffectOutcome::PullOpened { number, url } => {
                self.done_on_github(&format!("draft pull request #{number}: {}", one_line(url)));
            }
            EffectOutcome::PullFinished => {
                let ready = matches!(r#move, Move::FinishPull { ready: true, .. });
                let finished = "the pull request is finished and ready for review";
                let draft = "the pull request's text is up to date; it stays a draft";
                self.done_on_github(if ready { finished } else { draft });
            }
            EffectOutcome::StatusShown { .. } | EffectOutcome::Done | EffectOutcome::UpToDate => {}
            EffectOutcome::Preflighted { problems, .. } => self.preflighted(problems),
            EffectOutcome::EnvironmentPrepared(report) => self.environment(report),
            EffectOutcome::PullRead(reading) => self.done(&read(reading)),
            EffectOutcome::TakenIn { commit, .. } => {
                self.done(&format!("fetched {}, which somebody pushed", commit.short()));
            }
            EffectOutcome::ChangeFetched { changed, .. } => {
                let files = if changed.len() == 1 { "file" } else { "files" };
                self.done(&format!("fetched the change: {} {files}", changed.len()));
            }
            EffectOutcome::BranchUpdated { commit, base, .. } => {
                let line = format!("updated the branch from the base, {}: {}", base.short(), commit.short());
                self.done(&line);
            }
            EffectOutcome::Conflicted { paths, .. } => {
                self.wrong(&format!("conflicts with the base: {}", one_line(&paths.join(", "))));
            }
            EffectOutcome::BudgetSpent { because } => self.wrong(&whole(because)),
            EffectOutcome::Trouble(trouble) => self.wrong(&format!("{key}: {}", whole(&trouble.message))),
        }
    }

    /// Each problem in full on a line of its own: to fix one, you need to know the others.
    fn preflighted(&self, problems: &[String]) {
        match problems {
            [] => self.done("preflight: no problems found"),
            [only] => self.wrong(&format!("preflight: {}", whole(only))),
            several => {
                self.wrong(&format!("preflight: {} problems", several.len()));
                several.iter().for_each(|problem| self.wrong(&format!("  {}", whole(problem))));
            }
        }
    }

    fn environment(&self, report: &EnvironmentReport) {
        let setup = match (&report.setup, report.kept) {
            (None, _) => "nothing to install".to_owned(),
            (Some(_), true) => "installed before".to_owned(),
            (Some(setup), false) => format!("{} ({:.1} s)", one_line(&setup.command), setup.duration_seconds),
        };
        self.judged(report.problem.is_none(), &format!("environment: {}; {setup}", one_line(&report.source)));
        for note in &report.notes {
            self.wrong(&whole(note));
        }
        if let Some(problem) = &report.problem {
            let has_github = self.target != LineTarget::BesideWithoutGitHub;
            self.wrong(&whole(&if has_github { problem.told() } else { told_here(problem) }));
        } else if let Some(baseline) = &report.baseline {
            let counts =
                baseline.counts.map(|counts| format!("{} passed, {} failed", counts.passed, counts.failed));
            let said = counts.unwrap_or_else(|| baseline.run.exit.to_string());
            self.done(&format!(
                "the tests before any change: {said} ({:.1} s)",
                baseline.run.duration_seconds
            ));
        }
    }

    fn agent_ran(&self, r#move: &Move, run: &AgentRun) {
        let Move::RunAgent(task) = r#move else { return };
        let round = if task.round > 1 { format!(", round {}", task.round) } else { String::new() };
        let said = match (&run.failure, &run.result) {
            (Some(failure), _) => format!("failed: {}", whole(&failure.message)),
            (None, Some(result)) => said(task, result),
            (None, None) => "gave no answer".to_owned(),
        };
        let cost = if run.usage.usd > 0.0 { format!(", ${:.2}", run.usage.usd) } else { String::new() };
        self.judged(
            run.failure.is_none(),
            &format!("{}{round}: {} {said} ({:.1} s{cost})", task.stage, who(task), run.duration_seconds),
        );
        for warning in run.warnings.iter().take(5) {
            self.wrong(&format!("  {}", whole(warning)));
        }
    }

    /// What the run shows, with the details that a person should see. A run that nothing was compared with has one line.
    fn tested(&self, tests: &TestRun) {
        let run = tests.test.as_ref().or(tests.setup.as_ref());
        let seconds = run.map(|run| format!(", {:.1} s", run.duration_seconds)).unwrap_or_default();
        let on = tests.commit.short();
        self.judged(tests.verdict.is_pass(), &format!("tests on {on}{seconds}"));
        let all = findings(Some(&TestEvidence::of(tests)), Vec::new());
        let shown = if tests.scrutiny.is_some() { usize::MAX } else { 1 };
        for FindingGroup { line, details } in known_so_far(&all).take(shown) {
            self.found("  ", line, &format!("{}: ", line.line.label()));
            let to_see = details.into_iter().filter(|detail| detail.bearing != FindingBearing::Noted);
            to_see.take(MOST_IN_A_SENTENCE).for_each(|detail| self.found("    ", detail, ""));
        }
        // Without names, show the end of the output.
        if tests.failing.is_empty() && matches!(tests.verdict, TestVerdict::Failed | TestVerdict::SetupFailed)
        {
            let said: Vec<&str> = tests.tail.lines().filter(|line| !line.trim().is_empty()).collect();
            for line in said.iter().skip(said.len().saturating_sub(3)) {
                self.line(LineMark::Begun, &format!("  {}", one_line(line)));
            }
        }
    }

    fn found(&self, indent: &str, finding: &VerdictFinding, label: &str) {
        let mark = match finding.bearing {
            FindingBearing::Noted => LineMark::Done,
            FindingBearing::Against => LineMark::Wrong,
            FindingBearing::Open => LineMark::Begun,
        };
        let sentence = line(&finding.sentence.to_string(), LONGEST_LINE);
        self.line(mark, &format!("{indent}{label}{sentence}"));
    }
}

/// The lines that are final when the tests end. What was not verified depends on reviews and checks that come later.
fn known_so_far(all: &[VerdictFinding]) -> impl Iterator<Item = FindingGroup<'_>> {
    groups(all).filter(|group| group.line.line != FindingLine::NotVerified)
}

/// The progress spinner; `None` without a terminal, where lines are printed instead.
pub(super) fn spinner() -> Option<ProgressBar> {
    std::io::stderr().is_terminal().then(|| {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("  {spinner} {wide_msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        bar
    })
}

/// Whether a line says what the last one did not, which was printed a while ago.
fn is_news(told: Option<&(String, DateTime<Utc>)>, what: &str, now: DateTime<Utc>) -> bool {
    told.is_none_or(|(before, at)| before != what && now - *at >= TimeDelta::seconds(10))
}

/// With the time that it has taken, such as 0:42.
fn timed(what: &str, took: TimeDelta) -> String {
    let seconds = took.num_seconds().max(0);
    format!("{} · {}:{:02}", line(what, LONGEST_LINE), seconds / 60, seconds % 60)
}

/// The agent at work. If it answers in JSON, also its role: a reviewer may be the same agent as the worker.
fn who(task: &AgentTask) -> String {
    match &task.schema {
        Some(_) if !task.role.is_empty() => format!("{} ({})", task.agent, one_line(&task.role)),
        Some(_) | None => task.agent.clone(),
    }
}

/// The answer; from JSON, the part that is meant for people.
fn said(task: &AgentTask, result: &str) -> String {
    let answer = task.schema.as_ref().and_then(|_| serde_json::from_str::<Value>(result.trim()).ok());
    let text = |name: &str| answer.as_ref().and_then(|answer| answer.get(name)?.as_str());
    let passed = answer.as_ref().and_then(|answer| answer.get("passed")?.as_bool());
    let count = |name: &str| answer.as_ref().and_then(|answer| Some(answer.get(name)?.as_array()?.len()));
    let words = text("summary").or_else(|| text("diagnosis")).unwrap_or(result);
    match (passed, count("statements"), count("readings")) {
        (Some(true), ..) => format!("passes it: “{}”", one_line(words)),
        (Some(false), ..) => format!("requests changes: “{}”", one_line(words)),
        (None, Some(statements), _) => {
            format!("wrote {statements} statements that the change is checked against")
        }
        (None, None, Some(1)) => "read 1 statement a second time".to_owned(),
        (None, None, Some(readings)) => format!("read {readings} statements a second time"),
        (None, None, None) => format!("says “{}”", one_line(words)),
    }
}

fn read(reading: &PullSnapshot) -> String {
    let (threads, failing) = (reading.threads.len(), reading.checks.failing.len());
    format!("read the pull request: {threads} open threads, {failing} failing checks")
}

/// What a person did, in words.
fn did(kind: &SignalKind) -> String {
    match kind {
        SignalKind::Labeled { label, .. } => format!("added the label {}", one_line(label)),
        SignalKind::Unlabeled { label } => format!("removed the label {}", one_line(label)),
        SignalKind::Commanded { command: SlashCommand::Approve, .. } => "commented /approve".to_owned(),
        SignalKind::Commanded { command: SlashCommand::DropStatement { number }, .. } => {
            format!("commented /examine drop {number}")
        }
        SignalKind::Commanded { command: SlashCommand::Cancel, .. } => "commented /cancel".to_owned(),
        SignalKind::Commanded { command: SlashCommand::Retry { guidance }, .. } => {
            format!("commented /retry {}", one_line(guidance.as_deref().unwrap_or_default()))
                .trim_end()
                .to_owned()
        }
        SignalKind::Commanded { command: SlashCommand::Start { .. }, .. } => "asked for an order".to_owned(),
        SignalKind::Commanded { command: SlashCommand::Plan { .. }, .. } => "commented /plan".to_owned(),
        SignalKind::Commanded { command: SlashCommand::Status, .. } => "asked for the status".to_owned(),
        SignalKind::Commanded { command: SlashCommand::Help, .. } => "asked for help".to_owned(),
        SignalKind::Misspoken { word, .. } => format!("commented /{}", one_line(word)),
        SignalKind::IssueEdited => "edited the issue".to_owned(),
        SignalKind::IssueCommented { .. } => "commented on the issue".to_owned(),
        SignalKind::IssueClosed => "closed the issue".to_owned(),
        SignalKind::IssueTransferred => "moved the issue to another repository".to_owned(),
        SignalKind::IssueDeleted => "deleted the issue".to_owned(),
        SignalKind::IssueLocked => "locked the issue".to_owned(),
        SignalKind::PullReopened { pull } => format!("opened pull request #{pull} again"),
        SignalKind::PullOpened { pull } => format!("opened pull request #{pull}"),
        SignalKind::PullPushed { head, .. } => format!("pushed {}", head.short()),
        SignalKind::Reviewed { verdict: ReviewVerdict::Approved, .. } => {
            "approved the pull request".to_owned()
        }
        SignalKind::Reviewed { verdict: ReviewVerdict::ChangesRequested, .. } => {
            "asked for changes".to_owned()
        }
        SignalKind::Reviewed { verdict: ReviewVerdict::Commented, .. } => {
            "reviewed the pull request".to_owned()
        }
        SignalKind::Remarked { .. } => "commented on the pull request".to_owned(),
        SignalKind::ChecksFinished { head } => format!("finished checks on {}", head.short()),
        SignalKind::BaseMoved { head } => format!("moved the base branch to {}", head.short()),
        SignalKind::GroupChecksRequested => "added a merge group to the queue".to_owned(),
        SignalKind::GroupDestroyed { reason } => {
            format!("ended the merge group ({})", one_line(reason))
        }
        SignalKind::PullClosed { pull, merged: true } => format!("merged pull request #{pull}"),
        SignalKind::PullClosed { pull, merged: false } => format!("closed pull request #{pull}"),
    }
}

/// Announces a move that takes a while.
#[expect(clippy::wildcard_enum_match_arm, reason = "what is quick is not announced")]
fn doing(r#move: &Move) -> Option<String> {
    match r#move {
        Move::RunAgent(task) => {
            let round = if task.round > 1 { format!(", round {}", task.round) } else { String::new() };
            Some(format!("{}{round}: {} is working", task.stage, who(task)))
        }
        Move::RunTests { commit } => Some(format!("running the tests on {}", commit.short())),
        Move::Prepare => Some("fetching the repository".to_owned()),
        Move::Push { branch, .. } => Some(format!("pushing {branch}")),
        Move::ReadPull { .. } => Some("reading what is said on the pull request".to_owned()),
        _ => None,
    }
}

/// A problem in the words of a command on a clone, where the settings come from the base.
pub(super) fn told_here(problem: &EnvironmentProblem) -> String {
    let remedy = problem.remedy.replace("on the default branch", "on the base");
    EnvironmentProblem { remedy, ..problem.clone() }.told()
}

pub(super) fn one_line(text: &str) -> String {
    line(text, LONGEST)
}

/// Foreign text for one line of a terminal: control characters are removed, and long text is shortened.
pub(super) fn line(text: &str, longest: usize) -> String {
    shorten(&whole(text), longest)
}

/// A problem with its fix: the end matters as much as the beginning.
pub(super) fn whole(text: &str) -> String {
    let plain = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).filter(|c| !is_hidden(*c));
    plain.take(LONGEST_DOCUMENT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_is_told_as_plain_text_with_its_minutes_and_seconds() {
        let what = "tests: mutant 2 of 12: `\u{1b}[2J` in a.py:1";
        assert_eq!(timed(what, TimeDelta::seconds(42)), "tests: mutant 2 of 12: `[2J` in a.py:1 · 0:42");
        assert_eq!(timed("setup: make deps", TimeDelta::seconds(754)), "setup: make deps · 12:34");
    }

    #[test]
    fn what_was_not_verified_is_not_said_before_the_end() {
        let all = findings(None, Vec::new());
        let lines: Vec<FindingLine> = known_so_far(&all).map(|group| group.line.line).collect();
        let known = [
            FindingLine::WhatRan,
            FindingLine::RedThenGreen,
            FindingLine::ExistingTests,
            FindingLine::Strength,
        ];
        assert_eq!(lines, known);
    }

    #[test]
    fn a_line_follows_another_only_if_it_says_something_new_and_not_at_once() {
        let at = Utc::now();
        let told = ("tests: the base's tests on the base's code".to_owned(), at);
        assert!(is_news(None, &told.0, at));
        for (what, seconds, expected) in
            [("setup: make", 9, false), ("setup: make", 10, true), (told.0.as_str(), 60, false)]
        {
            assert_eq!(is_news(Some(&told), what, at + TimeDelta::seconds(seconds)), expected, "{what}");
        }
    }
}
