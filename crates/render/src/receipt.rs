//! The evidence for a commit in Markdown: what ran on it, what was found, and what nobody checked.

use super::findings::FindingsText;
use super::pages::RepositoryLinks;
use super::text::{MOST_BELOW, MOST_NAMES, and_more, brief, code_block, command_span, dollars, plain};
use journeyman_order::bounds::{LONGEST_LINE, LONGEST_TEXT, MOST_NAMED};
use journeyman_order::length::{shorten, some_of};
use journeyman_order::next::OrderProjection;
use journeyman_order::trace::{CandidateWork, RoundTrace, StageState};
use journeyman_order::{
    CommitSha, Feedback, Inconclusive, Journal, Scrutiny, TestCounts, TestRun, Verdict, receipt,
};

/// The work that is or will be published, with its evidence. Commands, names and agents' words are foreign text.
pub(super) struct ReceiptSource<'a> {
    journal: &'a Journal,
    projection: &'a OrderProjection,
    work: &'a CandidateWork,
    /// The commit of the base branch that the work started from.
    base: &'a CommitSha,
    pages: RepositoryLinks,
}

impl<'a> ReceiptSource<'a> {
    /// `None` while there is no work.
    pub(super) fn of(journal: &'a Journal, projection: &'a OrderProjection) -> Option<Self> {
        let (work, base) = (projection.trace.work.as_ref()?, projection.trace.base.as_ref()?);
        Some(Self { journal, projection, work, base, pages: RepositoryLinks::of(journal) })
    }

    fn tests(&self) -> Option<&'a TestRun> {
        self.work.tests.as_ref()
    }

    pub(super) fn counts(&self) -> Option<TestCounts> {
        self.tests()?.counts
    }

    pub(super) fn scrutiny(&self) -> Option<&'a Scrutiny> {
        self.tests()?.scrutiny.as_deref()
    }

    /// The verdict, its reasons, and the five lines.
    pub(super) fn evidence(&self) -> String {
        let heading = format!("### {}", self.projection.surfaces().heading);
        let parts = [Some(heading), why(&self.projection.verdict), Some(self.findings().lines)];
        parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
    }

    pub(super) fn findings(&self) -> FindingsText {
        let all = receipt::findings_of(self.journal, self.projection);
        FindingsText::of(&all, &self.work.commit, &self.pages)
    }

    /// What to do about a failing statement, and the programs behind such statements: a person decides whether they are
    /// right.
    pub(super) fn failing_programs(&self) -> Option<[String; 2]> {
        let run = self.scrutiny()?.examination.as_ref()?;
        let examination = self.journal.examination()?;
        let programs = run.failing().take(MOST_BELOW).filter_map(|(statement, failed)| {
            let (number, program) = (statement.number, examination.program(statement.number, &failed.input)?);
            Some(format!("Statement {number}:\n\n{}", code_block(&shorten(&program.source, LONGEST_TEXT))))
        });
        let programs: Vec<String> = programs.collect();
        let number = run.failing().next()?.0.number;
        (!programs.is_empty()).then(|| {
            let drop = format!("If statement {number} is wrong, comment `/examine drop {number}`.");
            [drop, format!("**The programs that failed**\n\n{}", programs.join("\n\n"))]
        })
    }

    /// The packages of a change that does nothing but bring dependencies, folded.
    pub(super) fn packages(&self) -> Option<String> {
        let packages = self.scrutiny()?.packages.iter();
        let lines: Vec<String> = packages.map(|said| format!("- {}", brief(said, LONGEST_LINE))).collect();
        let all = lines.join("\n");
        let fold = || format!("<details>\n<summary>Changed packages</summary>\n\n{all}\n\n</details>");
        (!lines.is_empty()).then(fold)
    }

    /// Everything below the five lines, folded.
    pub(super) fn details(&self, programs: Option<String>) -> String {
        let mut lines = vec![
            format!("- Commit: `{}`", self.work.commit),
            format!("- Tree: `{}`", self.work.tree),
            format!("- Base: `{}`", self.base),
        ];
        lines.extend(self.projection.trace.kind.map(|kind| format!("- Taken for: {}", kind.words())));
        for name in receipt::held(self.journal).iter().take(MOST_NAMES) {
            lines.push(format!("- Credential inside the agent's sandbox: {}", command_span(name)));
        }
        let refused = receipt::refused(self.journal);
        for refusal in refused.iter().take(MOST_NAMES) {
            let (what, why) = (&refusal.refused.what, &refusal.refused.why);
            lines.push(format!("- An agent was refused {}: {}", command_span(what), brief(why, 200)));
        }
        lines.extend(and_more("-", refused.len(), MOST_NAMES));
        let usage = &self.projection.trace.usage;
        let worked = self.projection.trace.worker_rounds();
        let plural = if worked == 1 { "" } else { "s" };
        lines.push(format!(
            "- Cost: {} of {}, after {worked} round{plural}; {} tokens read, {} written",
            dollars(usage.usd),
            dollars(self.projection.budget.usd_limit),
            grouped(usage.input_tokens),
            grouped(usage.output_tokens)
        ));
        let rounds: Vec<_> = self.projection.trace.rounds_of_work().collect();
        if !rounds.is_empty() {
            lines.push("- Rounds:".to_owned());
        }
        let left_out = rounds.len().saturating_sub(MOST_NAMED);
        if left_out > 0 {
            lines.push(format!("  - the first {left_out} are left out here"));
        }
        for (stage, round) in rounds.into_iter().skip(left_out) {
            let counts = round.tests.as_ref().and_then(|tests| tests.counts);
            let is_last = stage.rounds.last().is_some_and(|last| last.round == round.round);
            let result = match (&round.feedback, stage.state) {
                (Some(feedback), _) => objection(round, feedback),
                (None, StageState::Running | StageState::Failed | StageState::Escalated) if is_last => {
                    "no result".to_owned()
                }
                (None, _) => "passed".to_owned(),
            };
            // The summary of failing tests already begins with the counts.
            let counts =
                counts.map(|counts| counts.to_string()).filter(|counts| !result.contains(counts.as_str()));
            let counts = counts.map(|counts| format!(" ({counts})")).unwrap_or_default();
            lines.push(format!(
                "  - {}, round {}{}: {}{counts}",
                brief(&stage.name, 60),
                round.round,
                if round.agent.is_none() { ", checks only" } else { "" },
                brief(&result, 200)
            ));
            for warning in round.warnings.iter().take(MOST_BELOW) {
                lines.push(format!("    - ⚠️ {}", brief(warning, 200)));
            }
        }
        let record = format!("**Receipt**\n\n{}", lines.join("\n"));
        let parts = [Some(self.findings().details), programs, Some(record)];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        format!("<details>\n<summary>Details</summary>\n\n{}\n\n</details>", parts.join("\n\n"))
    }
}

fn why(verdict: &Verdict) -> Option<String> {
    let sentence = |text: &str| brief(text, 1_000);
    match verdict {
        Verdict::Pending { stages } => {
            Some(format!("The checks so far are below. Still to run: {}.", listed(stages)))
        }
        Verdict::Inconclusive { why: Inconclusive::NotJudged { ended: Some(ended), stages } }
            if !stages.is_empty() =>
        {
            let (ended, stages) = (sentence(ended), listed(stages));
            Some(format!("{ended}\n\nThe checks that ran are below. Not passed: {stages}."))
        }
        Verdict::Approved { by, why, .. } => Some(format!(
            "{} accepted it as it is. Why it was not verified: {}",
            brief(by, 100),
            sentence(why)
        )),
        Verdict::None => None,
        Verdict::Verified(_) | Verdict::Inconclusive { .. } | Verdict::Rejected { .. } => {
            verdict.sentence().map(|why| sentence(&why))
        }
    }
}

/// Why a round did not pass. A reviewer's summary may sound positive, so the rejection is stated.
pub(super) fn objection(round: &RoundTrace, feedback: &Feedback) -> String {
    match round.review.as_ref().is_some_and(|review| !review.passed) {
        true => format!("changes requested: {}", feedback.summary),
        false => feedback.summary.clone(),
    }
}

fn listed(stages: &[String]) -> String {
    plain(&some_of(stages, stages.len() as u64))
}

fn grouped(number: u64) -> String {
    match (number / 1_000, number % 1_000) {
        (0, few) => few.to_string(),
        (thousands, rest) => format!("{} {rest:03}", grouped(thousands)),
    }
}
