//! The status comment's view.

use url::Url;

use super::headline;
use super::stages::{counted, now, stages};
use super::time::{last_news, seconds_at_work};
use journeyman_github::render::{SlashCommandLine, StatusAttemptLine, StatusView};
use journeyman_order::next::OrderProjection;
use journeyman_order::trace::PendingApproval;
use journeyman_order::{Finding, Journal, JournalEvent, Settlement, SignalAnswer, SignalKind, SlashCommand};

/// Commands that are told.
const MOST_SAID: usize = 3;

/// The status comment. `public_url` is where people reach the server, if they can.
pub(crate) fn status(journal: &Journal, survey: &OrderProjection, public_url: Option<&Url>) -> StatusView {
    let trace = &survey.trace;
    let settled = survey.next.settled.as_ref();
    StatusView {
        headline: headline(survey),
        now: if settled.is_none() { now(journal) } else { Vec::new() },
        stages: stages(journal, survey),
        is_over: settled.is_some(),
        explanation: explanation(survey),
        problems: trace.problems.clone(),
        attempts: attempts(survey),
        still_wrong: still_wrong(survey),
        commands: slash_commands(journal, survey),
        notes: notes(journal, survey),
        cost_usd: trace.usage.usd,
        budget_usd: survey.usd_limit,
        seconds: seconds_at_work(journal, |_| true).unwrap_or_default(),
        pull: trace.pull.as_ref().map(|pull| (pull.number, pull.url.clone())),
        dashboard: public_url.map(Url::to_string),
        next_steps: next_steps(survey),
        updated_at: last_news(journal),
    }
}

/// Why it ended, or what is waited for. What is listed as a problem is not said a second time.
fn explanation(survey: &OrderProjection) -> Option<String> {
    let settled = survey.next.settled.as_ref();
    if let Some(because) = survey.surfaces().because {
        let is_listed = survey.trace.problems.contains(&because);
        return (!is_listed).then_some(because);
    }
    let waiting = survey.trace.waiting.as_ref().filter(|_| settled.is_none())?;
    Some(format!("Waiting until {}: {}", waiting.until.format("%H:%M:%S UTC"), waiting.message))
}

fn notes(journal: &Journal, survey: &OrderProjection) -> Vec<String> {
    let mut notes = survey.trace.notes.clone();
    let is_edited = journal.entries().iter().any(|entry| match &entry.event {
        JournalEvent::Signaled { signal, .. } => signal.kind == SignalKind::IssueEdited,
        JournalEvent::Opened(_) | JournalEvent::Intended { .. } | JournalEvent::Observed { .. } => false,
    });
    if is_edited {
        let note = "The issue was edited after the start: this order works on the text as it was.";
        notes.insert(0, note.to_owned());
    }
    notes
}

/// The last commands of people who may command, and what became of them. Of others nothing is said on GitHub.
fn slash_commands(journal: &Journal, survey: &OrderProjection) -> Vec<SlashCommandLine> {
    let mut lines: Vec<SlashCommandLine> = survey
        .answers
        .iter()
        .rev()
        .filter_map(|answered| {
            let entry = journal.entries().iter().find(|entry| entry.seq == answered.signal)?;
            let JournalEvent::Signaled { signal, .. } = &entry.event else { return None };
            let SignalKind::Commanded { command, .. } = &signal.kind else { return None };
            let word = shown_command(command)?;
            let ignored = match &answered.answer {
                SignalAnswer::Taken | SignalAnswer::Noted => None,
                SignalAnswer::Ignored(because) => Some(because.clone()),
                SignalAnswer::NoRight(_) | SignalAnswer::Asking => return None,
            };
            Some(SlashCommandLine { command: word.to_owned(), by: signal.by.to_string(), ignored })
        })
        .take(MOST_SAID)
        .collect();
    lines.reverse();
    lines
}

/// `/status` and `/help` are answered on the spot.
fn shown_command(command: &SlashCommand) -> Option<&'static str> {
    match command {
        SlashCommand::Retry { .. } => Some("/retry"),
        SlashCommand::Cancel => Some("/cancel"),
        SlashCommand::Approve => Some("/approve"),
        SlashCommand::Plan { .. } => Some("/plan"),
        SlashCommand::Status | SlashCommand::Help => None,
    }
}

fn next_steps(survey: &OrderProjection) -> Vec<String> {
    let retry = "Comment `/retry` (with guidance, if you like) for another set of attempts.".to_owned();
    let shown = survey.surfaces();
    match &survey.next.settled {
        None if survey.trace.asks == Some(PendingApproval::Plan) => vec![
            "Read the plan below, and comment `/approve` to go on, or `/plan` with what should be different."
                .to_owned(),
        ],
        None => vec!["Comment `/cancel` to stop, `/help` for all that can be said.".to_owned()],
        Some(Settlement::Finished { .. }) if !shown.can_be_retried => {
            vec!["Review the pull request as you would a colleague's: every point is answered.".to_owned()]
        }
        Some(Settlement::Finished { .. } | Settlement::Escalated { .. }) => {
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

/// Whether a person is asked to go on with it, and has to know how it came to this.
fn is_with_a_person(survey: &OrderProjection) -> bool {
    match &survey.next.settled {
        Some(Settlement::Escalated { .. } | Settlement::Blocked { .. }) => true,
        Some(
            Settlement::Finished { .. }
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
fn attempts(survey: &OrderProjection) -> Vec<StatusAttemptLine> {
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
            StatusAttemptLine {
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
fn still_wrong(survey: &OrderProjection) -> Vec<String> {
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
