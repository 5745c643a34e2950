//! Decides what a simulated agent does, from its rates and a hash: the same seed gives the same suite.
//!
//! Figures of a simulated suite describe the loop: whether it counts, sends back, stops and hands over correctly. They
//! say nothing about any model.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The published account of this loop that a simulation is compared with: the percentages that pass at the first,
/// second and third attempt, of those that get there.
pub(super) const PUBLISHED: [f64; 3] = [35.0, 72.0, 45.0];
/// The percentage that passes in all, by the same account.
pub(super) const PUBLISHED_OVERALL: f64 = 88.0;
/// What three attempts cost by the same account, in dollars.
pub(super) const PUBLISHED_USD: f64 = 0.23;

/// Number of tests in the simulated repository.
const TESTS: u32 = 8;
/// Attempts that the tests allow the worker; guidance allows as many again.
pub(super) const ATTEMPTS: usize = 3;

/// The pass rate of each attempt in percent. The last one holds for all later attempts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PassRates(Vec<f64>);

impl FromStr for PassRates {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} is not of the form 35,72,45: percentages of 0 to 100, one an attempt");
        let rates: Vec<f64> =
            text.split(',').map(|rate| percent(rate).map_err(|_| wrong())).collect::<Result<_, _>>()?;
        if (1..=20).contains(&rates.len()) { Ok(Self(rates)) } else { Err(wrong()) }
    }
}

impl PassRates {
    /// Each rate, from 0 to 100.
    pub(super) fn percentages(&self) -> &[f64] {
        &self.0
    }

    /// The rate of this attempt, from 0 to 1.
    fn of(&self, attempt: u32) -> f64 {
        let place = usize::try_from(attempt.max(1) - 1).unwrap_or(usize::MAX).min(self.0.len() - 1);
        self.0.get(place).copied().unwrap_or_default() / 100.0
    }
}

/// Parses a number from 0 to 100.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        Ok(_) | Err(_) => Err(format!("{text:?} is not a percentage of 0 to 100")),
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::cli) struct Simulation {
    pub(super) rates: PassRates,
    /// The seed of the draws.
    pub(super) seed: u64,
    /// Percentage of cases that fail in the same way until guidance is given.
    pub(super) stubborn: f64,
    /// Percentage of attempts that pass after guidance; `None` without a tech lead.
    pub(super) guided: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ExpectedAttempt {
    /// After a tech lead's guidance.
    pub(super) guided: bool,
    /// Its number before or after guidance, from 1.
    pub(super) attempt: u32,
    /// The share that passes, of those that reach it.
    pub(super) rate: f64,
    /// The share of all cases that has passed so far.
    pub(super) cumulative: f64,
}

impl Simulation {
    /// The numbers, from 1, of the tests that the change fails at this attempt; empty if the change is right.
    pub(in crate::cli) fn attempt(&self, case: &str, attempt: u32, is_advised: bool) -> Vec<u32> {
        let (what, rate) = match is_advised {
            true => ("advised attempt", self.guided.unwrap_or_default() / 100.0),
            false if self.is_stubborn(case) => return vec![1, 2],
            false => ("attempt", self.rates.of(attempt)),
        };
        let passes = self.draw(case, &format!("{what} {attempt}")) < rate;
        if passes { Vec::new() } else { self.wrong(case, attempt) }
    }

    /// The expected result of every attempt in order, by arithmetic. A stubborn case never passes without guidance, and
    /// the loop stops it after the second attempt.
    ///
    /// With rates r₁, r₂, r₃ and nothing else, 1 − (1 − r₁)(1 − r₂)(1 − r₃) of all cases pass.
    pub(super) fn expected(&self) -> Vec<ExpectedAttempt> {
        let stubborn = self.stubborn / 100.0;
        let mut attempts = Vec::new();
        // Shares of all cases: those that can still pass, and those that already have.
        let (mut open, mut passed) = (1.0 - stubborn, 0.0);
        for attempt in (1..).take(ATTEMPTS) {
            let stuck = if attempt <= 2 { stubborn } else { 0.0 };
            let reached = open + stuck;
            let passes = open * self.rates.of(attempt);
            open -= passes;
            passed += passes;
            let rate = if reached > 0.0 { passes / reached } else { 0.0 };
            attempts.push(ExpectedAttempt { guided: false, attempt, rate, cumulative: passed });
        }
        if let Some(guided) = self.guided {
            let rate = guided / 100.0;
            for attempt in (1..).take(ATTEMPTS) {
                passed += (1.0 - passed) * rate;
                attempts.push(ExpectedAttempt { guided: true, attempt, rate, cumulative: passed });
            }
        }
        attempts
    }

    fn is_stubborn(&self, case: &str) -> bool {
        self.draw(case, "stubborn") < self.stubborn / 100.0
    }

    /// Consecutive attempts never fail the same tests: that would be a stubborn case.
    fn wrong(&self, case: &str, attempt: u32) -> Vec<u32> {
        let own = attempt % TESTS + 1;
        let before = (attempt + TESTS - 1) % TESTS + 1;
        let others = (1..=TESTS).filter(|test| *test != own && *test != before);
        let share = self.draw(case, &format!("how wrong {attempt}")) * 0.8;
        let mut fails: Vec<u32> =
            others.filter(|test| self.draw(case, &format!("test {test} of {attempt}")) < share).collect();
        fails.push(own);
        fails.sort_unstable();
        fails
    }

    /// The attempt's cost in dollars: around a third of what three cost by the published account.
    pub(in crate::cli) fn usd(&self, case: &str, attempt: u32) -> f64 {
        PUBLISHED_USD / 3.0 * (0.6 + 0.8 * self.draw(case, &format!("cost {attempt}")))
    }

    /// A number from 0 to 1 that depends only on the seed, the case and the purpose.
    fn draw(&self, case: &str, what: &str) -> f64 {
        let digest = Sha256::digest(format!("{}\n{case}\n{what}", self.seed));
        let bits = digest.iter().take(6).fold(0_u64, |bits, byte| (bits << 8) | u64::from(*byte));
        bits as f64 / (1_u64 << 48) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simulation(stubborn: f64) -> Simulation {
        Simulation { rates: "35,72,45".parse().unwrap(), seed: 7, stubborn, guided: None }
    }

    #[test]
    fn rates_are_percentages() {
        assert_eq!("35, 72,45".parse::<PassRates>().unwrap().percentages(), [35.0, 72.0, 45.0]);
        for wrong in ["", "35,", "101", "-1", "NaN", "a", "35;72"] {
            assert!(wrong.parse::<PassRates>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn as_many_attempts_pass_as_the_rates_say() {
        let simulation = simulation(0.0);
        for (attempt, rate) in [(1, 0.35), (2, 0.72), (3, 0.45), (4, 0.45)] {
            let passes = (0..10_000)
                .filter(|case| simulation.attempt(&format!("case {case}"), attempt, false).is_empty())
                .count();
            assert!((passes as f64 / 10_000.0 - rate).abs() < 0.015, "attempt {attempt}: {passes}");
        }
    }

    #[test]
    fn only_the_stubborn_fail_twice_running_in_the_same_way() {
        for case in 0..500 {
            let case = format!("case {case}");
            for attempt in 1..12 {
                let free = simulation(0.0);
                let (one, two) = (free.wrong(&case, attempt), free.attempt(&case, attempt + 1, false));
                assert_ne!(one, two, "{case}, attempt {attempt}");
            }
            let stubborn = simulation(100.0);
            let deeds = [1, 2, 3].map(|attempt| stubborn.attempt(&case, attempt, false));
            assert!(deeds.iter().all(|fails| *fails == deeds[0] && !fails.is_empty()));
        }
    }

    fn of(attempts: &[ExpectedAttempt]) -> Vec<(f64, f64)> {
        let round = |x: f64| (x * 10_000.0).round() / 10_000.0;
        attempts.iter().map(|attempt| (round(attempt.rate), round(attempt.cumulative))).collect()
    }

    #[test]
    fn the_published_rates_come_to_ninety_of_a_hundred() {
        let attempts = simulation(0.0).expected();
        assert_eq!(of(&attempts), [(0.35, 0.35), (0.72, 0.818), (0.45, 0.8999)]);
    }

    #[test]
    fn the_stubborn_weigh_on_the_first_two_attempts_and_are_rescued_by_guidance_only() {
        let attempts = Simulation { guided: Some(50.0), ..simulation(10.0) }.expected();
        // 0.9 × 0.35; 0.9 × 0.65 × 0.72 of 0.685; 0.45 of those that are not stubborn.
        assert_eq!(
            of(&attempts),
            [(0.315, 0.315), (0.6149, 0.7362), (0.45, 0.8099), (0.5, 0.905), (0.5, 0.9525), (0.5, 0.9762)]
        );
    }
}
