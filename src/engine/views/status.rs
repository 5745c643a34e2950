//! The status comment's view.

use std::collections::BTreeSet;

use url::Url;

use super::headline;
use super::time::{last_news, seconds_at_work, stage_of, under_way};
use crate::github::render::{SaidLine, StageLine, StageState, StatusView, TriedLine};
use crate::order::next::Survey;
use crate::order::trace::{Ask, RoundTrace, StageState as Stood};
use crate::order::{
    Answer, Command, Counts, Event, Finding, Journal, Move, MoveKey, Outcome, Settlement, SignalKind,
};

/// Commands that are told.
const MOST_SAID: usize = 3;

/// The status comment. `public_url` is where people reach the server, if they can.
pub(in crate::engine) fn status(journal: &Journal, survey: &Survey, public_url: Option<&Url>) -> StatusView {
    let trace = &survey.trace;
    let settled = survey.next.settled.as_ref();
    let (problems, warnings) = preflight(journal);
    StatusView {
        headline: match trace.asks {
            Some(Ask::Plan) => "The plan waits for your approval".to_owned(),
            None => headline(settled),
        },
        now: if settled.is_none() { now(journal) } else { Vec::new() },
        stages: stages(journal, survey),
        is_over: settled.is_some(),
        explanation: explanation(survey, &problems),
        problems,
        tried: tried(survey),
        still_wrong: still_wrong(survey),
        said: said(journal, survey),
        notes: notes(journal, survey, warnings),
        cost_usd: trace.usage.usd,
        budget_usd: survey.usd_limit,
        seconds: seconds_at_work(journal, |_| true).unwrap_or_default(),
        pull: trace.pull.as_ref().map(|pull| (pull.number, pull.url.clone())),
        dashboard: public_url.map(Url::to_string),
        next_steps: match trace.asks {
            Some(Ask::Plan) => vec![
                "Read the plan below. Comment `/approve` to go on, or `/plan` with what should be different."
                    .to_owned(),
            ],
            None => next_steps(settled),
        },
        updated_at: last_news(journal),
    }
}

/// What was looked for before money was spent: what stands in the way while nothing else was found since, and what
/// should be known.
fn preflight(journal: &Journal) -> (Vec<String>, Vec<String>) {
    let last = journal.entries().iter().rev().find_map(|entry| match &entry.event {
        Event::Observed { outcome, .. } => match &**outcome {
            Outcome::Preflighted { problems, warnings } => Some((problems.clone(), warnings.clone())),
            #[expect(clippy::wildcard_enum_match_arm, reason = "any other outcome is of another move")]
            _ => None,
        },
        Event::Opened(_) | Event::Signaled { .. } | Event::Intended { .. } => None,
    });
    last.unwrap_or_default()
}

/// Why it ended, or what is waited for. What is listed as a problem is not said a second time.
fn explanation(survey: &Survey, problems: &[String]) -> Option<String> {
    let settled = survey.next.settled.as_ref();
    let because = settled.and_then(Settlement::because);
    let because =
        because.filter(|because| !problems.iter().any(|problem| because.contains(problem.as_str())));
    if let Some(because) = because {
        return Some(because.to_owned());
    }
    let waiting = survey.trace.waiting.as_ref().filter(|_| settled.is_none())?;
    Some(format!("Waiting until {}: {}", waiting.until.format("%H:%M:%S UTC"), waiting.message))
}

fn notes(journal: &Journal, survey: &Survey, warnings: Vec<String>) -> Vec<String> {
    let mut notes = warnings;
    let is_edited = journal.entries().iter().any(|entry| match &entry.event {
        Event::Signaled { signal, .. } => signal.kind == SignalKind::IssueEdited,
        Event::Opened(_) | Event::Intended { .. } | Event::Observed { .. } => false,
    });
    if is_edited {
        notes
            .push("The issue was edited after the start: this order works on the text as it was.".to_owned());
    }
    notes.extend(survey.trace.notes.iter().cloned());
    let mut seen = BTreeSet::new();
    notes.retain(|note| seen.insert(note.clone()));
    notes
}

/// The last commands of people who may command, and what became of them. Of others nothing is said on GitHub.
fn said(journal: &Journal, survey: &Survey) -> Vec<SaidLine> {
    let mut lines: Vec<SaidLine> = survey
        .answers
        .iter()
        .rev()
        .filter_map(|answered| {
            let entry = journal.entries().iter().find(|entry| entry.seq == answered.signal)?;
            let Event::Signaled { signal, .. } = &entry.event else { return None };
            let SignalKind::Commanded { command, .. } = &signal.kind else { return None };
            let word = word_that_is_told(command)?;
            let ignored = match &answered.answer {
                Answer::Taken | Answer::Noted => None,
                Answer::Ignored(because) => Some(because.clone()),
                Answer::NoRight(_) | Answer::Asking => return None,
            };
            Some(SaidLine { command: word.to_owned(), by: signal.by.to_string(), ignored })
        })
        .take(MOST_SAID)
        .collect();
    lines.reverse();
    lines
}

/// `/status` and `/help` are answered on the spot.
fn word_that_is_told(command: &Command) -> Option<&'static str> {
    match command {
        Command::Retry { .. } => Some("/retry"),
        Command::Cancel => Some("/cancel"),
        Command::Approve => Some("/approve"),
        Command::Plan { .. } => Some("/plan"),
        Command::Status | Command::Help => None,
    }
}

fn next_steps(settled: Option<&Settlement>) -> Vec<String> {
    let retry = "Comment `/retry` (with guidance, if you like) for another set of attempts.".to_owned();
    match settled {
        None => vec!["Comment `/cancel` to stop, `/help` for all that can be said.".to_owned()],
        Some(Settlement::Verified { .. } | Settlement::Approved { .. }) => {
            vec!["Review the pull request as you would a colleague's: every point is answered.".to_owned()]
        }
        Some(Settlement::Unverified { .. } | Settlement::Escalated { .. }) => {
            vec![
                "Look at the draft; take it over or close it.".to_owned(),
                retry,
                "Comment `/approve` to accept it as it is, though it is not verified.".to_owned(),
            ]
        }
        Some(Settlement::Blocked { .. } | Settlement::Failed { .. } | Settlement::Cancelled { .. }) => {
            vec![retry]
        }
        Some(Settlement::Closed { .. }) => {
            vec![
                "Open the pull request again to go on with it, or put the label on again to start anew."
                    .to_owned(),
            ]
        }
        Some(Settlement::Refused { .. } | Settlement::Merged { .. }) => Vec::new(),
    }
}

/// What is under way, in words.
fn now(journal: &Journal) -> Vec<String> {
    under_way(journal).into_iter().filter_map(|(key, doing)| in_words(key, doing)).collect()
}

fn in_words(key: &MoveKey, doing: &Move) -> Option<String> {
    let words = match doing {
        Move::RunAgent(task) => {
            let who = if task.role.is_empty() { &task.agent } else { &task.role };
            match key.0.rsplit('/').next() {
                Some(last) if last.starts_with("verify-") => format!("{who} reviews ({})", task.stage),
                Some(last) if last.starts_with("diagnosis-") => format!("{who} looks for the cause"),
                Some(_) | None => format!("{who} is at work ({})", stage_of(key)),
            }
        }
        Move::Prepare => "fetching the repository".to_owned(),
        Move::Preflight => "looking for what would stop it".to_owned(),
        Move::RunTests { commit } => format!("testing {}", commit.short()),
        Move::WriteArtifact { .. } => "writing the files".to_owned(),
        Move::Push { .. } => "pushing".to_owned(),
        Move::OpenPull { .. } => "opening the pull request".to_owned(),
        Move::FinishPull { .. } => "finishing the pull request".to_owned(),
        Move::ReadPull { .. } => "reading the pull request".to_owned(),
        Move::TakeIn { .. } => "taking in what was pushed".to_owned(),
        Move::UpdateBranch { .. } => "bringing the base branch in".to_owned(),
        Move::RerunJobs { .. } => "having failed jobs run again".to_owned(),
        // Done in a moment, or said elsewhere.
        Move::Authorize { .. }
        | Move::FindFiles { .. }
        | Move::Import { .. }
        | Move::Commit { .. }
        | Move::Archive { .. }
        | Move::ShowReview(_)
        | Move::ShowStatus { .. }
        | Move::AnswerThreads { .. }
        | Move::RequestReview { .. }
        | Move::ShowAnswer(_)
        | Move::React { .. }
        | Move::Say { .. }
        | Move::ShowCheck { .. }
        | Move::Tidy { .. } => return None,
    };
    Some(words)
}

/// The pipeline's stages, and after them what came up besides, such as rounds that people asked for.
fn stages(journal: &Journal, survey: &Survey) -> Vec<StageLine> {
    let mut names: Vec<&str> = journal.pipeline().stages.iter().map(|stage| stage.name.as_str()).collect();
    for stage in &survey.trace.stages {
        if !names.contains(&stage.name.as_str()) {
            names.push(&stage.name);
        }
    }
    names.into_iter().map(|name| stage_line(name, journal, survey)).collect()
}

fn stage_line(name: &str, journal: &Journal, survey: &Survey) -> StageLine {
    let trace = survey.trace.stages.iter().rfind(|stage| stage.name == name);
    let state = match (trace.map(|stage| stage.state), &survey.next.settled) {
        (Some(Stood::Passed | Stood::Approved), _) => StageState::Passed,
        (Some(Stood::Skipped | Stood::NotReached), _) => StageState::Skipped,
        (Some(Stood::Failed | Stood::Escalated), _) | (Some(Stood::Running), Some(_)) => StageState::Failed,
        (Some(Stood::Running), None) => StageState::Running,
        (None, Some(_)) => StageState::Skipped,
        (None, None) => StageState::Waiting,
    };
    let detail = trace.and_then(|stage| stage.rounds.last());
    StageLine {
        name: name.to_owned(),
        state,
        detail: detail.map(|round| round_detail(round, attempt(journal, name))).unwrap_or_default(),
        seconds: trace.and_then(|_| seconds_at_work(journal, |key| stage_of(key) == name)),
    }
}

/// Which round a stage's worker was sent into last, which attempt that is, and of how many; none before it was sent
/// back.
fn attempt(journal: &Journal, stage: &str) -> Option<(u32, u32, u32)> {
    let is_work = |key: &MoveKey| {
        let mut parts = key.0.split('/');
        parts.next() == Some(stage) && parts.nth(1) == Some("agent") && parts.next().is_none()
    };
    journal.entries().iter().rev().find_map(|entry| match &entry.event {
        Event::Intended { key, r#move } if is_work(key) => match &**r#move {
            Move::RunAgent(task) => {
                task.rework.as_ref().map(|rework| (task.round, rework.attempt, rework.of.max(rework.attempt)))
            }
            #[expect(clippy::wildcard_enum_match_arm, reason = "an effect of this name is a run of an agent")]
            _ => None,
        },
        Event::Opened(_) | Event::Signaled { .. } | Event::Intended { .. } | Event::Observed { .. } => None,
    })
}

fn round_detail(round: &RoundTrace, attempt: Option<(u32, u32, u32)>) -> String {
    let mut words = Vec::new();
    match attempt {
        Some((number, attempt, of)) if number == round.round && attempt == number => {
            words.push(format!("round {number} of {of}"));
        }
        Some((number, attempt, of)) if number == round.round => {
            words.push(format!("round {number}, attempt {attempt} of {of}"));
        }
        Some(_) | None if round.round > 1 => words.push(format!("round {}", round.round)),
        Some(_) | None => {}
    }
    if let Some(counts) = round.tests.as_ref().and_then(|tests| tests.counts) {
        words.push(counted(counts));
    } else if let Some(feedback) = &round.feedback {
        words.push(feedback.summary.clone());
    }
    words.join(", ")
}

/// Whether a person is asked to go on with it, and has to know how it came to this.
fn is_with_a_person(survey: &Survey) -> bool {
    match &survey.next.settled {
        Some(Settlement::Escalated { .. } | Settlement::Blocked { .. }) => true,
        Some(
            Settlement::Verified { .. }
            | Settlement::Unverified { .. }
            | Settlement::Approved { .. }
            | Settlement::Failed { .. }
            | Settlement::Cancelled { .. }
            | Settlement::Merged { .. }
            | Settlement::Closed { .. }
            | Settlement::Refused { .. },
        )
        | None => false,
    }
}

/// Every round that a check failed, and the one that is handed over.
fn tried(survey: &Survey) -> Vec<TriedLine> {
    if !is_with_a_person(survey) {
        return Vec::new();
    }
    let kept = survey.trace.work.as_ref().map(|work| &work.commit);
    let rounds =
        survey.trace.stages.iter().flat_map(|stage| stage.rounds.iter().map(move |round| (stage, round)));
    rounds
        .filter(|(_, round)| round.feedback.is_some())
        .map(|(stage, round)| {
            let counts = round.tests.as_ref().and_then(|tests| tests.counts).map(counted);
            let said = round.feedback.as_ref().map(|feedback| feedback.summary.clone());
            TriedLine {
                stage: stage.name.clone(),
                round: round.round,
                result: counts.into_iter().chain(said).collect::<Vec<_>>().join(": "),
                diagnosis: round.diagnosis.as_ref().map(|diagnosis| diagnosis.diagnosis.clone()),
                is_kept: kept.is_some() && round.commit.as_ref() == kept,
            }
        })
        .collect()
}

/// What the check said that failed the round which is handed over; of the last round where there is none.
fn still_wrong(survey: &Survey) -> Vec<String> {
    if !is_with_a_person(survey) {
        return Vec::new();
    }
    let rounds = || survey.trace.stages.iter().flat_map(|stage| &stage.rounds);
    let work = survey.trace.work.as_ref();
    let kept = work.and_then(|work| rounds().rfind(|round| round.commit.as_ref() == Some(&work.commit)));
    let round = kept.or_else(|| rounds().rfind(|round| round.feedback.is_some()));
    let findings = round.and_then(|round| round.feedback.as_ref()).map(|feedback| feedback.issues.iter());
    let told = |finding: &Finding| match &finding.location {
        Some(place) => format!("{place}: {}", finding.description),
        None => finding.description.clone(),
    };
    findings.into_iter().flatten().map(told).collect()
}

fn counted(counts: Counts) -> String {
    format!("{} of {} tests pass", counts.passed, counts.ran())
}
