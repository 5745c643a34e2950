//! The report: figures from the records of cases. Pure; docs/EVAL.md describes its JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::record::{Attempt, AttemptEnd, CaseRecord, HiddenVerdict};
use super::simulation::{ATTEMPTS, ExpectedAttempt, PUBLISHED, PUBLISHED_OVERALL, PUBLISHED_USD, Simulation};
use super::statistics::{Distribution, Proportion, three_deviations};
use crate::order::Category;
use crate::order::moves::DiagnosisDecision;

/// The version of the report's format.
pub(super) const VERSION: u32 = 1;

/// The notice above every simulated suite.
pub(super) const SIMULATED: &str = "The agent is SIMULATED: whether an attempt is right was drawn at the given rates. \
     These figures describe the loop, and no model.";

/// The results of a suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct EvalReport {
    /// The version of this format.
    pub(super) version: u32,
    /// What to know first; present if the agent is simulated.
    pub(super) notice: Option<String>,
    /// How the suite was run.
    pub(super) setting: EvalSetup,
    /// Cases by outcome.
    pub(super) outcomes: BTreeMap<String, u64>,
    /// Cases that Journeyman called verified.
    pub(super) verified: Proportion,
    /// Cases whose hidden tests pass, of those where they ran.
    pub(super) hidden: Proportion,
    /// Cases whose hidden tests fail, of those that Journeyman called verified.
    pub(super) false_green: Proportion,
    /// The expected result of a simulation.
    pub(super) expectation: Option<Expectation>,
    pub(super) attempts: Vec<AttemptLine>,
    /// Cases by number of attempts.
    pub(super) rounds: BTreeMap<u32, u64>,
    /// Dollars per case, as reported by agents.
    pub(super) usd: Distribution,
    /// Dollars per case with three attempts and no guidance.
    pub(super) usd_of_three: Distribution,
    pub(super) seconds: Distribution,
    /// Failed attempts by category; one with several counts in each.
    pub(super) failures: BTreeMap<String, u64>,
    /// What was gained beyond plain rounds.
    pub(super) added: LoopGains,
    /// The published account that a simulation is compared with.
    pub(super) published: Option<PublishedAccount>,
    /// Cases that could not be run, and why.
    pub(super) troubles: Vec<String>,
    pub(super) cases: Vec<CaseRecord>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct EvalSetup {
    pub(super) journeyman: String,
    pub(super) suite: String,
    pub(super) description: String,
    /// Cases in the suite.
    pub(super) cases: u64,
    /// The agent's name in the settings.
    pub(super) agent: String,
    pub(super) pipeline: String,
    /// How the agent was simulated; `None` for a real one.
    pub(super) simulation: Option<Simulation>,
    /// Cases that ran at the same time.
    pub(super) parallel: usize,
    /// The start in RFC 3339.
    pub(super) began: String,
    /// The duration.
    pub(super) seconds: f64,
    /// A person stopped it before all cases were done.
    pub(super) interrupted: bool,
}

/// The expected result of a simulation, and whether it was reached.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Expectation {
    /// The expected share of verified cases.
    pub(super) rate: f64,
    /// Three standard deviations of that share with this number of cases.
    pub(super) three_deviations: f64,
    /// Whether the measured share is within three deviations.
    pub(super) within: bool,
}

/// The success rate of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct AttemptLine {
    /// After a tech lead's guidance.
    pub(super) guided: bool,
    /// Its number before or after guidance, from 1.
    pub(super) attempt: u32,
    /// Cases that passed, of those that reached this attempt.
    pub(super) passed: Proportion,
    /// Cases that have passed so far, of all cases.
    pub(super) cumulative: Proportion,
    /// The expected rate among those that reach it.
    pub(super) expected: Option<f64>,
    /// The expected share of all cases.
    pub(super) expected_cumulative: Option<f64>,
}

impl AttemptLine {
    pub(super) fn name(&self) -> String {
        if self.guided { format!("{} after guidance", self.attempt) } else { self.attempt.to_string() }
    }
}

/// What early stops, the best round and guidance gained.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct LoopGains {
    /// Sets of rounds that stopped early because the same failure came twice running.
    pub(super) stopped_early: u64,
    /// Rounds that were therefore not run.
    pub(super) rounds_saved: u64,
    /// Their dollars, at this run's mean price of a round.
    pub(super) usd_saved: f64,
    /// Cases that were handed over with work.
    pub(super) handed_over: u64,
    /// Of these, cases in which an earlier round passes more tests than the last.
    pub(super) best_was_earlier: u64,
    /// Tests that pass on the best round but not on the last, over all of these.
    pub(super) tests_gained: u64,
    /// Cases in which a tech lead gave guidance.
    pub(super) guided: u64,
    /// Cases in which a tech lead asked for a person instead.
    pub(super) flagged: u64,
    /// Of the guided cases, those that were verified afterwards.
    pub(super) rescued: Proportion,
    pub(super) guided_rounds: u64,
    /// Dollars for the tech lead's diagnoses and the rounds after guidance.
    pub(super) guidance_usd: f64,
    /// Cases that were verified before any guidance.
    pub(super) verified_without: u64,
}

/// The published figures of this loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PublishedAccount {
    pub(super) rates: Vec<f64>,
    pub(super) overall: f64,
    /// Dollars for three attempts.
    pub(super) usd_of_three: f64,
}

pub(super) fn report(setting: EvalSetup, records: Vec<CaseRecord>, troubles: Vec<String>) -> EvalReport {
    let simulation = setting.simulation.as_ref();
    let cases = records.len() as u64;
    let count =
        |what: &dyn Fn(&CaseRecord) -> bool| records.iter().filter(|record| what(record)).count() as u64;
    let verified = Proportion::new(count(&CaseRecord::is_verified), cases);
    let expected = simulation.map(Simulation::expected).unwrap_or_default();
    let is_published = simulation
        .is_some_and(|simulation| simulation.rates.percentages() == PUBLISHED && simulation.stubborn == 0.0);
    let mut outcomes = BTreeMap::new();
    let mut rounds = BTreeMap::new();
    let mut failures: BTreeMap<String, u64> = BTreeMap::new();
    for record in &records {
        *outcomes.entry(record.outcome.clone()).or_default() += 1;
        *rounds.entry(record.attempts.len() as u32).or_default() += 1;
        for kind in record.attempts.iter().flat_map(|attempt| &attempt.kinds) {
            *failures.entry(kind.as_str().to_owned()).or_default() += 1;
        }
    }
    let was_run = |record: &CaseRecord| record.hidden != HiddenVerdict::NotRun;
    EvalReport {
        version: VERSION,
        notice: simulation.map(|_| SIMULATED.to_owned()),
        setting,
        outcomes,
        verified,
        hidden: Proportion::new(count(&|record| record.hidden == HiddenVerdict::Passed), count(&was_run)),
        false_green: Proportion::new(
            count(&|record| record.false_green),
            count(&|record| record.is_verified() && was_run(record)),
        ),
        expectation: expected.last().filter(|_| cases > 0).map(|last| {
            let three = three_deviations(last.cumulative, cases);
            let within = (verified.rate - last.cumulative).abs() <= three;
            Expectation { rate: last.cumulative, three_deviations: three, within }
        }),
        attempts: attempt_lines(&records, &expected),
        rounds,
        usd: Distribution::of(records.iter().map(|record| record.usd)),
        usd_of_three: Distribution::of(
            records.iter().filter(|record| took_three(record)).map(|record| record.usd),
        ),
        seconds: Distribution::of(records.iter().map(|record| record.seconds)),
        failures,
        added: added(&records),
        published: is_published.then(|| PublishedAccount {
            rates: PUBLISHED.to_vec(),
            overall: PUBLISHED_OVERALL,
            usd_of_three: PUBLISHED_USD,
        }),
        troubles,
        cases: records,
    }
}

fn took_three(record: &CaseRecord) -> bool {
    record.attempts.len() == ATTEMPTS && record.attempts.iter().all(|attempt| !attempt.guided)
}

fn attempt_lines(records: &[CaseRecord], expected: &[ExpectedAttempt]) -> Vec<AttemptLine> {
    // Attempts that were cut off were not judged and do not count.
    let judged = |attempt: &&Attempt| attempt.end != AttemptEnd::Unfinished;
    let mut counts: BTreeMap<(bool, u32), (u64, u64)> = BTreeMap::new();
    for attempt in records.iter().flat_map(|record| record.attempts.iter().filter(judged)) {
        let (reached, passed) = counts.entry((attempt.guided, attempt.attempt)).or_default();
        *reached += 1;
        *passed += u64::from(attempt.end == AttemptEnd::Passed);
    }
    let mut so_far = 0;
    counts
        .into_iter()
        .map(|((guided, attempt), (reached, passed))| {
            so_far += passed;
            let known = expected.iter().find(|known| (known.guided, known.attempt) == (guided, attempt));
            AttemptLine {
                guided,
                attempt,
                passed: Proportion::new(passed, reached),
                cumulative: Proportion::new(so_far, records.len() as u64),
                expected: known.map(|known| known.rate),
                expected_cumulative: known.map(|known| known.cumulative),
            }
        })
        .collect()
}

fn added(records: &[CaseRecord]) -> LoopGains {
    let mut added = LoopGains::default();
    let mut rescued = 0;
    for record in records {
        let (after, before): (Vec<&Attempt>, Vec<&Attempt>) =
            record.attempts.iter().partition(|attempt| attempt.guided);
        for set in [&before, &after] {
            if let Some(saved) = stopped_early(set) {
                added.stopped_early += 1;
                added.rounds_saved += saved;
            }
        }
        if record.is_verified() && after.is_empty() {
            added.verified_without += 1;
        }
        added.flagged += u64::from(record.advice == Some(DiagnosisDecision::Flag));
        if !after.is_empty() {
            added.guided += 1;
            rescued += u64::from(record.is_verified());
            added.guided_rounds += after.len() as u64;
            added.guidance_usd += after.iter().map(|attempt| attempt.usd).sum::<f64>();
        }
        added.guidance_usd += record.escalation_usd;
        if record.outcome == "escalated"
            && let (Some(taken), Some(last)) = (record.taken, record.attempts.last())
        {
            added.handed_over += 1;
            let passing = |attempt: &Attempt| attempt.tests.map_or(0, |tests| tests.passed);
            let best = record.attempts.iter().find(|attempt| attempt.round == taken);
            let gained = best.map_or(0, passing).saturating_sub(passing(last));
            added.best_was_earlier += u64::from(gained > 0);
            added.tests_gained += gained;
        }
    }
    added.rescued = Proportion::new(rescued, added.guided);
    let rounds: Vec<&Attempt> = records.iter().flat_map(|record| &record.attempts).collect();
    if !rounds.is_empty() {
        let mean = rounds.iter().map(|attempt| attempt.usd).sum::<f64>() / rounds.len() as f64;
        added.usd_saved = mean * added.rounds_saved as f64;
    }
    added
}

/// The rounds that were saved if the same failure twice running stopped these early.
fn stopped_early(attempts: &[&Attempt]) -> Option<u64> {
    let [.., one, two] = attempts else { return None };
    let is_same = one.end == AttemptEnd::Failed
        && two.end == AttemptEnd::Failed
        && two.kinds.contains(&Category::TestFailure)
        && one.kinds == two.kinds
        && one.failing == two.failing;
    let left = ATTEMPTS.saturating_sub(attempts.len());
    (is_same && left > 0).then_some(left as u64)
}
