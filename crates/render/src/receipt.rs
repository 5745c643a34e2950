//! The evidence for a commit in Markdown: what ran on it, what was found, and what nobody checked.

use super::pages::RepositoryLinks;
use super::scrutiny;
use super::text::{
    MOST_BELOW, MOST_NAMES, MOST_SHOWN, and_more, brief, code_block, command_span, dollars, plain, severity,
};
use journeyman_order::bounds::{LONGEST_TEXT, MOST_NAMED};
use journeyman_order::length::shorten;
use journeyman_order::next::OrderProjection;
use journeyman_order::settings::AcceptedRun;
use journeyman_order::test_run::CommandRun;
use journeyman_order::trace::{CandidateWork, RoundTrace, StageState};
use journeyman_order::verdict::VerifiedCaveats;
use journeyman_order::{
    CommitSha, Feedback, Finding, Inconclusive, Journal, Scrutiny, TestCounts, TestRun, UnrunProject,
    Verdict, receipt,
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

    fn test(&self) -> Option<&'a CommandRun> {
        self.tests()?.test.as_ref()
    }

    pub(super) fn counts(&self) -> Option<TestCounts> {
        self.tests()?.counts
    }

    pub(super) fn scrutiny(&self) -> Option<&'a Scrutiny> {
        self.tests()?.scrutiny.as_deref()
    }

    /// The repository's own checks on this commit, in one line; `None` until one reports.
    fn others(&self) -> Option<String> {
        let checks = self.projection.trace.ci.as_ref().filter(|checks| checks.commit == self.work.commit)?;
        let mut said = Vec::new();
        if checks.passed > 0 {
            said.push(format!("{} passed", checks.passed));
        }
        for (what, names) in [
            ("failed", &checks.failing),
            ("failed here and on the base", &checks.failing_on_base),
            ("pending", &checks.pending),
        ] {
            if !names.is_empty() {
                said.push(format!("{what}: {}", listed(names, command_span)));
            }
        }
        (!said.is_empty()).then(|| format!("- the repository's own checks on GitHub: {}", said.join("; ")))
    }

    /// The verdict, its reasons, and what ran.
    pub(super) fn evidence(&self) -> String {
        let mut lines = vec![format!("### {}\n", self.projection.surfaces().heading)];
        if let Some(why) = why(&self.projection.verdict) {
            lines.push(format!("{why}\n"));
        }
        let changed = scrutiny::changed_tests(self.scrutiny(), self.work.review.as_ref());
        lines.extend(changed.map(|changed| format!("{changed}\n")));
        if let (Some(tests), Some(CommandRun { command, exit, .. })) = (self.tests(), self.test()) {
            let counts = tests.counts.map(|counts| format!(", {counts}")).unwrap_or_default();
            lines.push(format!("- {}: {exit}{counts}", command_span(command)));
            for name in tests.failing.iter().take(MOST_SHOWN) {
                lines.push(format!("  - fails: {}", command_span(name)));
            }
            lines.extend(and_more("  -", tests.failing.len(), MOST_SHOWN));
        }
        let commit = &self.work.commit;
        lines.push(format!("- on commit {}, checked out afresh", self.pages.commit(commit)));
        if let Some(tests) = self.tests().filter(|tests| tests.is_accepted_red()) {
            let failing = match tests.counts {
                Some(counts) if counts.failed == 0 => {
                    "no test fails, and the command fails beside its tests, as on the base commit".to_owned()
                }
                Some(counts) => {
                    format!("{} tests fail, all of them on the base commit as well", counts.failed)
                }
                None => "tests fail, all of them on the base commit as well".to_owned(),
            };
            let accepted = self.journal.prepared().map(|prepared| prepared.settings.accept);
            let why = if accepted == Some(AcceptedRun::NoNewFailures) {
                "this repository accepts that (`accept: no_new_failures`)"
            } else {
                "neither issue nor statement is about one of them, and all that the examiner says of the change holds"
            };
            lines.push(format!("- ⚠️ {failing}: {why}"));
        }
        if let Some(scrutiny) = self.scrutiny() {
            lines.extend(scrutiny::lines(scrutiny, commit, &self.pages));
        }
        if let Some(review) = &self.work.review {
            lines.push(format!("- reviewed by a second agent: {}", brief(&review.summary, 300)));
        }
        lines.extend(self.others());
        let rounds = self.projection.trace.worker_rounds();
        let plural = if rounds == 1 { "" } else { "s" };
        let (spent, budget) =
            (dollars(self.projection.trace.usage.usd), dollars(self.projection.budget.usd_limit));
        lines.push(format!("- after {rounds} round{plural}, for {spent} of {budget}"));
        lines.join("\n")
    }

    /// Findings that the reviewing agent let pass or still raises, most severe first; `None` if there are none.
    pub(super) fn doubts(&self) -> Option<String> {
        let mut open: Vec<&Finding> = self.work.review.iter().flat_map(|review| &review.issues).collect();
        if open.is_empty() {
            return None;
        }
        open.sort_by_key(|finding| finding.severity);
        let told = |finding: &&Finding| {
            let place = finding.location.as_deref();
            let place = place.map(|place| self.pages.location(&self.work.commit, place));
            let place = place.filter(|place| !place.is_empty()).map(|place| format!(", {place}"));
            let what = brief(&finding.description, 300);
            format!("- {}{}: {what}", severity(finding.severity), place.unwrap_or_default())
        };
        let mut lines: Vec<String> = open.iter().take(MOST_SHOWN).map(told).collect();
        lines.extend(and_more("-", open.len(), MOST_SHOWN));
        Some(format!("**Open findings of the reviewing agent**\n\n{}", lines.join("\n")))
    }

    /// What nobody checked, stated as plainly as the evidence; `None` if there are no gaps.
    pub(super) fn gaps(&self) -> Option<String> {
        let mut lines = Vec::new();
        if self.test().is_some() {
            let examples = self.scrutiny().into_iter().flat_map(scrutiny::unjudged_examples);
            let mutants = self.scrutiny().and_then(scrutiny::untried_mutants);
            let inputs = self.scrutiny().and_then(scrutiny::unnamed_inputs);
            let gaps =
                scrutiny::gap(self.scrutiny()).into_iter().chain(inputs).chain(examples).chain(mutants);
            lines.extend(gaps.map(|gap| format!("- {gap}")));
        } else {
            lines.push("- Tests: none were run on this commit.".to_owned());
        }
        if let Some(tests) = self.tests().filter(|tests| !tests.left_out.is_empty()) {
            let named = tests.left_out.iter().take(MOST_NAMES).map(|folder| command_span(folder));
            let named = named.collect::<Vec<_>>().join(", ");
            let more = and_more("", tests.left_out.len(), MOST_NAMES).unwrap_or_default();
            lines.push(format!("- tests of {named}{more} were not run: the change concerns nothing there"));
        }
        // The reason for the verdict is not repeated.
        let unrun = self.tests().into_iter().flat_map(|tests| {
            tests.unrun.iter().map(UnrunProject::sentence).filter(|said| tests.doubt.as_ref() != Some(said))
        });
        lines.extend(unrun.map(|said| format!("- {}.", brief(&said, 300))));
        let noted = self.projection.trace.environment.iter().flat_map(|report| &report.notes);
        lines.extend(noted.take(MOST_SHOWN).map(|note| format!("- {}", brief(note, 300))));
        match self.counts().map_or(0, |counts| counts.skipped) {
            0 => {}
            1 => lines.push("- 1 skipped test.".to_owned()),
            skipped => lines.push(format!("- {skipped} skipped tests.")),
        }
        if let Verdict::Verified(VerifiedCaveats { not_examined: true, .. }) = &self.projection.verdict {
            lines.push(
                "- The issue, sentence by sentence: no statement of somebody who never saw the change holds."
                    .to_owned(),
            );
        }
        if self.work.review.is_none() {
            lines.push("- The change itself: no second agent has reviewed this commit.".to_owned());
        }
        // A repository outside GitHub has no checks there.
        if self.others().is_none() && self.pages.is_known() {
            lines.push(
                "- The repository's own checks on GitHub: none had reported when this was written."
                    .to_owned(),
            );
        }
        (!lines.is_empty()).then(|| format!("**What was not verified**\n\n{}", lines.join("\n")))
    }

    /// The programs behind failing statements: a person decides whether they are right.
    pub(super) fn failing_programs(&self) -> Option<String> {
        let run = self.scrutiny()?.examination.as_ref()?;
        let examination = self.journal.examination()?;
        let programs = run.failing().take(MOST_BELOW).filter_map(|(statement, failed)| {
            let (number, program) = (statement.number, examination.program(statement.number, &failed.input)?);
            Some(format!("Statement {number}:\n\n{}", code_block(&shorten(&program.source, LONGEST_TEXT))))
        });
        let programs: Vec<String> = programs.collect();
        let number = run.failing().next()?.0.number;
        (!programs.is_empty()).then(|| {
            format!(
                "If statement {number} is wrong, comment `/examine drop {number}`.\n\n<details>\n<summary>The programs that \
                 failed</summary>\n\n{}\n\n</details>",
                programs.join("\n\n")
            )
        })
    }

    pub(super) fn details(&self) -> String {
        let mut lines = vec![
            format!("- Commit: `{}`", self.work.commit),
            format!("- Tree: `{}`", self.work.tree),
            format!("- Base: `{}`", self.base),
        ];
        lines.extend(self.projection.trace.kind.map(|kind| format!("- Taken for: {}", kind.words())));
        if let Some(tests) = self.tests() {
            for (what, ran) in [("Setup", &tests.setup), ("Tests", &tests.test)] {
                if let Some(CommandRun { command, exit, .. }) = ran {
                    lines.push(format!("- {what}: {}, {exit}", command_span(command)));
                }
            }
            lines.push(match tests.sandbox.as_str() {
                "none" => "- Sandbox: **none**: agents and tests ran without isolation".to_owned(),
                walls => format!("- Sandbox: {}", brief(walls, 100)),
            });
            lines.extend(tests.image.as_ref().map(|image| format!("- Image: {}", command_span(image))));
        }
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
        lines.push(format!(
            "- Tokens: {} read, {} written; cost {}",
            grouped(usage.input_tokens),
            grouped(usage.output_tokens),
            dollars(usage.usd)
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
        format!("<details>\n<summary>Receipt</summary>\n\n{}\n\n</details>", lines.join("\n"))
    }
}

fn why(verdict: &Verdict) -> Option<String> {
    let sentence = |text: &str| brief(text, 1_000);
    match verdict {
        Verdict::Verified(_) | Verdict::None => None,
        Verdict::Pending { stages } => {
            Some(format!("The checks so far are below. Still to run: {}.", listed(stages, plain)))
        }
        Verdict::Inconclusive { why: Inconclusive::NotJudged { ended: Some(ended), stages } } => {
            Some(match stages.is_empty() {
                true => sentence(ended),
                false => format!(
                    "{}\n\nThe checks that ran are below. Not passed: {}.",
                    sentence(ended),
                    listed(stages, plain)
                ),
            })
        }
        Verdict::Approved { by, why, .. } => Some(format!(
            "{} accepted it as it is. Why it was not verified: {}",
            brief(by, 100),
            sentence(why)
        )),
        Verdict::Inconclusive { why } => Some(sentence(&why.sentence())),
        Verdict::Rejected { why } => Some(sentence(why)),
    }
}

/// Why a round did not pass. A reviewer's summary may sound positive, so the rejection is stated.
pub(super) fn objection(round: &RoundTrace, feedback: &Feedback) -> String {
    match round.review.as_ref().is_some_and(|review| !review.passed) {
        true => format!("changes requested: {}", feedback.summary),
        false => feedback.summary.clone(),
    }
}

fn listed(names: &[String], shown: impl Fn(&str) -> String) -> String {
    let mut list: Vec<String> =
        names.iter().take(MOST_NAMES).map(|name| shown(&shorten(name, 100))).collect();
    let more = names.len().saturating_sub(MOST_NAMES);
    if more > 0 {
        list.push(format!("{more} more"));
    }
    list.join(", ")
}

fn grouped(number: u64) -> String {
    match (number / 1_000, number % 1_000) {
        (0, few) => few.to_string(),
        (thousands, rest) => format!("{} {rest:03}", grouped(thousands)),
    }
}
