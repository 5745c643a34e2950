//! The status comment: shows at a glance where an order stands and what people can do.

use url::Url;

use super::markdown::quoted_within;
use super::pages::{is_linkable, order_page};
use super::receipt::objection;
use super::stages::{last_news, now, seconds_at_work, stages};
use super::text::{MOST_NAMES, MOST_SHOWN, and_more, brief, code_span, dollars, duration, passing};
use super::verification::verification;
use super::{ROOM, headline, waits_for};
use journeyman_order::length::{fit, shorten};
use journeyman_order::next::OrderProjection;
use journeyman_order::order_request::OPTIONS;
use journeyman_order::trace::{PendingApproval, StageState};
use journeyman_order::{
    AttachmentContent, EffectOutcome, Finding, Journal, JournalEvent, Settlement, SignalAnswer, SignalKind,
};

const MOST_TRIED: usize = 15;
const MOST_PROBLEMS: usize = 20;

/// The comment's body. `public_url` is the server's address, if people can reach it.
pub fn status(journal: &Journal, projection: &OrderProjection, public_url: Option<&Url>) -> String {
    if let Some(change) = journal.opened().judged() {
        return verification(journal, projection, change, public_url);
    }
    let trace = &projection.trace;
    let mut parts = vec![format!("### {}", brief(&headline(projection), 200))];
    parts.extend(links(journal, projection, public_url));
    let now = if projection.next.settled.is_none() { now(journal) } else { Vec::new() };
    if !now.is_empty() {
        let now: Vec<String> = now.iter().take(4).map(|what| brief(what, 120)).collect();
        parts.push(format!("**Now:** {}", now.join(" · ")));
    }
    parts.extend(environment(projection));
    parts.extend(chosen(projection));
    parts.extend(section("Blockers", bullets(&trace.problems, MOST_PROBLEMS, 500)));
    parts.extend(stages(journal, projection));
    let (tried, wrong) = if has_a_history(projection) {
        (tried(projection), still_wrong(projection))
    } else {
        (Vec::new(), Vec::new())
    };
    let most = if tried.is_empty() { 16_000 } else { 8_000 };
    parts.extend(explanation(projection).and_then(|text| quoted_within(&text, most)));
    parts.extend(section("What was tried", tried));
    parts.extend(section("What is still wrong", bullets(&wrong, MOST_SHOWN, 300)));
    parts.extend(section("Notes", bullets(&notes(journal, projection), MOST_SHOWN, 300)));
    let steps = next_steps(journal, projection).iter().map(|step| format!("- {step}")).collect();
    let mut end: Vec<String> = section("What you can do", steps).into_iter().collect();
    end.push(format!(
        "<sub>{} of {} spent · {} of work · updated {}</sub>",
        dollars(trace.usage.usd),
        dollars(projection.budget.usd_limit),
        duration(seconds_at_work(journal, |_| true).unwrap_or_default()),
        last_news(journal).format("%Y-%m-%d %H:%M:%S UTC")
    ));
    let end = end.join("\n\n");
    // The next steps always fit, however long the rest is.
    let room = ROOM.saturating_sub(end.chars().count() + 2);
    format!("{}\n\n{end}", fit(&parts.join("\n\n"), room))
}

fn links(journal: &Journal, projection: &OrderProjection, public_url: Option<&Url>) -> Option<String> {
    let pull = projection.trace.pull.as_ref().map(|pull| {
        // Linked if the page's address is safe in Markdown.
        let (number, url) = (pull.number, &pull.url);
        let shown = if is_linkable(url) { format!("[#{number}]({url})") } else { format!("#{number}") };
        format!("**Pull request:** {shown}")
    });
    let branch = || projection.trace.branch.as_ref().filter(|_| projection.trace.pushed.is_some());
    let pull = pull.or_else(|| branch().map(|branch| format!("**Branch:** {}", code_span(branch.as_str()))));
    let page = public_url.map(|url| order_page(url, journal.opened().order)).filter(|url| is_linkable(url));
    let dashboard = page.map(|url| format!("[dashboard]({url})"));
    let links: Vec<String> = pull.into_iter().chain(dashboard).collect();
    (!links.is_empty()).then(|| links.join(" · "))
}

/// The environment of agents and tests, and where it is defined.
fn environment(projection: &OrderProjection) -> Option<String> {
    let report = projection.trace.environment.as_ref().filter(|report| !report.source.is_empty())?;
    let image = report.image.as_ref().map(|image| format!(" · image {}", code_span(&shorten(image, 300))));
    let source = brief(&report.source.replace('`', ""), 200);
    Some(format!("**Environment:** {source}{}", image.unwrap_or_default()))
}

fn chosen(projection: &OrderProjection) -> Option<String> {
    let options = &projection.trace.request.options;
    let chosen = OPTIONS.iter().filter_map(|key| Some(format!("{key} {}", code_span(options.get(*key)?))));
    let chosen: Vec<String> = chosen.collect();
    (!chosen.is_empty()).then(|| format!("**Chosen:** {}", chosen.join(" · ")))
}

/// A heading and its lines; `None` without lines.
fn section(heading: &str, lines: Vec<String>) -> Option<String> {
    (!lines.is_empty()).then(|| format!("**{heading}**\n\n{}", lines.join("\n")))
}

fn bullets(texts: &[String], most: usize, longest: usize) -> Vec<String> {
    let mut lines: Vec<String> =
        texts.iter().take(most).map(|text| format!("- {}", brief(text, longest))).collect();
    lines.extend(and_more("-", texts.len(), most));
    lines
}

/// Why the order ended, or what it waits for. Listed problems are not repeated.
fn explanation(projection: &OrderProjection) -> Option<String> {
    let settled = projection.next.settled.as_ref();
    if let Some(because) = projection.surfaces().because {
        let problems = &projection.trace.problems;
        let is_listed = problems.contains(&because) || problems.join("; ") == because;
        return (!is_listed).then_some(because);
    }
    let waiting = projection.trace.waiting.as_ref().filter(|_| settled.is_none())?;
    Some(format!("Waiting until {}: {}", waiting.until.format("%H:%M:%S UTC"), waiting.message))
}

/// Further notes, partly foreign text.
fn notes(journal: &Journal, projection: &OrderProjection) -> Vec<String> {
    let mut notes = projection.trace.notes.clone();
    // Text read since then is already in use.
    let read = journal.entries().iter().rev().find_map(|entry| {
        let JournalEvent::Observed { outcome, .. } = &entry.event else { return None };
        matches!(**outcome, EffectOutcome::IssueRead { .. }).then_some(entry.seq)
    });
    let answers = &projection.answers;
    let is_taken = |seq| {
        read > Some(seq)
            || answers.iter().any(|answered| answered.signal == seq && answered.answer == SignalAnswer::Taken)
    };
    let is_edited = journal.entries().iter().any(|entry| {
        matches!(&entry.event, JournalEvent::Signaled { signal, .. } if signal.kind == SignalKind::IssueEdited)
            && !is_taken(entry.seq)
    });
    let attachments = journal.task().attachments;
    let left_out: Vec<String> = attachments
        .iter()
        .filter_map(|attachment| match &attachment.content {
            AttachmentContent::LeftOut { because } => Some(format!("{} ({because})", attachment.name)),
            AttachmentContent::Kept { .. } => None,
        })
        .take(MOST_NAMES)
        .collect();
    if !left_out.is_empty() {
        notes.insert(0, format!("Attachments that the agents do not get: {}.", left_out.join("; ")));
    }
    if is_edited {
        let note = "The issue was edited after the start: this order uses the original text.";
        notes.insert(0, note.to_owned());
    }
    notes
}

/// What people can say to the bot now.
fn next_steps(journal: &Journal, projection: &OrderProjection) -> Vec<&'static str> {
    let opened = journal.opened();
    let retry = "Comment `/retry` (with guidance, if you like) for another set of attempts.";
    let shown = projection.surfaces();
    match &projection.next.settled {
        None => match waits_for(projection) {
            Some(PendingApproval::Plan) => {
                vec![
                    "Read the plan below, and comment `/approve` to continue, or `/plan` and what to change.",
                ]
            }
            Some(PendingApproval::Answers) => {
                vec!["Answer the questions below in a comment, or comment `/approve` to continue without."]
            }
            None => vec!["Comment `/cancel` to stop, or `/help` for all commands."],
        },
        Some(Settlement::Finished { pull: None }) => {
            let results = "Read the results in the comment on this issue.";
            [results].into_iter().chain(shown.can_be_retried.then_some(retry)).collect()
        }
        Some(Settlement::Finished { .. }) if !shown.can_be_retried => {
            vec!["Review the pull request as you would a colleague's: Journeyman answers every point."]
        }
        Some(Settlement::Finished { .. } | Settlement::Escalated { .. }) => {
            let scrutiny =
                projection.trace.work.as_ref().and_then(|work| work.tests.as_ref()?.scrutiny.as_ref());
            let run = scrutiny.and_then(|scrutiny| scrutiny.examination.as_ref());
            let is_refused = run.is_some_and(|run| run.failing().next().is_some());
            let drop =
                "Comment `/examine drop 2` where a statement of the examiner is wrong (2 is its number).";
            let look = match (opened.adopted_branch(), &projection.trace.pushed) {
                (None, _) => "Look at the draft; take it over or close it.",
                (Some(_), Some(_)) => "Look at what was pushed to this branch.",
                (Some(_), None) => "Go on yourself: nothing was pushed to this branch.",
            };
            [look, retry]
                .into_iter()
                .chain(is_refused.then_some(drop))
                .chain(["Comment `/approve` to accept it as it is, though it is not verified."])
                .collect()
        }
        Some(Settlement::Blocked { .. } | Settlement::Failed { .. } | Settlement::Cancelled { .. }) => {
            vec![retry]
        }
        Some(Settlement::Unprepared { .. }) => {
            vec![
                "Mend it on the default branch: the work begins by itself once that is pushed.",
                "Comment `/retry` to try again, when something else was mended.",
            ]
        }
        Some(Settlement::Closed { .. }) if opened.change.is_some() => {
            vec!["Reopen the pull request to continue."]
        }
        Some(Settlement::Closed { .. }) => {
            vec!["Reopen the pull request to continue, or add the label again to start over."]
        }
        Some(Settlement::Refused { .. } | Settlement::Merged { .. }) => Vec::new(),
    }
}

/// Whether its rounds failed, so that a person needs their history.
fn has_a_history(projection: &OrderProjection) -> bool {
    let settled = &projection.next.settled;
    if matches!(settled, Some(Settlement::Failed { .. })) {
        // For a stage that escalates to nobody. Errors around the work have no history.
        return projection.trace.stages.iter().any(|stage| {
            stage.state == StageState::Failed
                && stage.rounds.last().is_some_and(|round| round.feedback.is_some())
        });
    }
    matches!(settled, Some(Settlement::Escalated { .. } | Settlement::Blocked { .. }))
}

/// Every round that a check failed, and the round that is handed over.
fn tried(projection: &OrderProjection) -> Vec<String> {
    let kept = projection.trace.work.as_ref().map(|work| &work.commit);
    let rounds =
        projection.trace.stages.iter().flat_map(|stage| stage.rounds.iter().map(move |round| (stage, round)));
    let failed = rounds.filter_map(|(stage, round)| Some((stage, round, round.feedback.as_ref()?)));
    let failed: Vec<_> = failed.collect();
    let left_out = failed.len().saturating_sub(MOST_TRIED);
    let mut lines = Vec::new();
    if left_out > 0 {
        lines.push(format!("- the first {left_out} rounds are left out here"));
    }
    for (stage, round, feedback) in failed.into_iter().skip(left_out) {
        let counts = round.tests.as_ref().and_then(|tests| tests.counts).map(passing);
        let said = objection(round, feedback);
        let glue = if said == feedback.summary { ": " } else { ", " };
        let result = counts.into_iter().chain([said]).collect::<Vec<_>>().join(glue);
        let (name, result) = (brief(&stage.name, 60), brief(&result, 250));
        let is_kept = kept.is_some() && round.commit.as_ref() == kept;
        let mark = if is_kept { " · **best attempt**" } else { "" };
        lines.push(format!("- {name}, round {}: {result}{mark}", round.round));
        if let Some(diagnosis) = &round.diagnosis {
            lines.push(format!("  - diagnosis: {}", brief(&diagnosis.diagnosis, 200)));
        }
    }
    lines
}

/// The failing check's feedback on the round that is handed over, or on the last round if there is none.
fn still_wrong(projection: &OrderProjection) -> Vec<String> {
    let rounds = || projection.trace.stages.iter().flat_map(|stage| &stage.rounds);
    let work = projection.trace.work.as_ref();
    let kept = work.and_then(|work| rounds().rfind(|round| round.commit.as_ref() == Some(&work.commit)));
    let round = kept.or_else(|| rounds().rfind(|round| round.feedback.is_some()));
    let findings = round.and_then(|round| round.feedback.as_ref()).map(|feedback| feedback.issues.iter());
    let told = |finding: &Finding| match &finding.location {
        // A failing test's name serves as both.
        Some(place) if !finding.description.contains(place) => format!("{place}: {}", finding.description),
        Some(_) | None => finding.description.clone(),
    };
    findings.into_iter().flatten().map(told).collect()
}
