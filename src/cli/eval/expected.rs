//! What a simulated agent's rates come to in the loop, by arithmetic. Pure.
//!
//! With rates r₁, r₂, r₃ and nothing else, 1 − (1 − r₁)(1 − r₂)(1 − r₃) of all cases pass.

use super::simulation::Simulation;

/// How many attempts the tests give the worker, and guidance gives again.
pub(super) const ATTEMPTS: usize = 3;

/// What is expected of an attempt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ExpectedAttempt {
    /// After a tech lead's guidance.
    pub(super) guided: bool,
    /// Its place among those, from 1.
    pub(super) attempt: u32,
    /// Of those that reach it, the share that passes.
    pub(super) rate: f64,
    /// Of all cases, the share that has passed with it.
    pub(super) cumulative: f64,
}

/// Whether a tech lead advises when rounds run out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guidance {
    None,
    Once,
}

/// Every attempt, in order. A stubborn case passes without guidance at none, and the loop stops it after the second.
pub(super) fn expected(simulation: &Simulation, guidance: Guidance) -> Vec<ExpectedAttempt> {
    let stubborn = simulation.stubborn / 100.0;
    let rates = simulation.rates.percentages();
    let last = rates.last().copied().unwrap_or_default();
    let mut attempts = Vec::new();
    // Shares of all cases: those that can still pass, and those that have.
    let (mut open, mut passed) = (1.0 - stubborn, 0.0);
    for (attempt, place) in (1..).zip(0..ATTEMPTS) {
        let rate = rates.get(place).copied().unwrap_or(last) / 100.0;
        let stuck = if place < 2 { stubborn } else { 0.0 };
        let reached = open + stuck;
        let passes = open * rate;
        open -= passes;
        passed += passes;
        let rate = if reached > 0.0 { passes / reached } else { 0.0 };
        attempts.push(ExpectedAttempt { guided: false, attempt, rate, cumulative: passed });
    }
    if guidance == Guidance::Once {
        let rate = simulation.guided / 100.0;
        for attempt in (1..).take(ATTEMPTS) {
            passed += (1.0 - passed) * rate;
            attempts.push(ExpectedAttempt { guided: true, attempt, rate, cumulative: passed });
        }
    }
    attempts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simulation(stubborn: f64) -> Simulation {
        Simulation { rates: "35,72,45".parse().unwrap(), seed: 7, stubborn, guided: 50.0 }
    }

    fn of(attempts: &[ExpectedAttempt]) -> Vec<(f64, f64)> {
        let round = |x: f64| (x * 10_000.0).round() / 10_000.0;
        attempts.iter().map(|attempt| (round(attempt.rate), round(attempt.cumulative))).collect()
    }

    #[test]
    fn the_published_rates_come_to_ninety_of_a_hundred() {
        let attempts = expected(&simulation(0.0), Guidance::None);
        assert_eq!(of(&attempts), [(0.35, 0.35), (0.72, 0.818), (0.45, 0.8999)]);
    }

    #[test]
    fn the_stubborn_weigh_on_the_first_two_attempts_and_are_rescued_by_guidance_only() {
        let attempts = expected(&simulation(10.0), Guidance::Once);
        // 0.9 × 0.35; 0.9 × 0.65 × 0.72 of 0.685; 0.45 of those that are not stubborn.
        assert_eq!(
            of(&attempts),
            [(0.315, 0.315), (0.6149, 0.7362), (0.45, 0.8099), (0.5, 0.905), (0.5, 0.9525), (0.5, 0.9762)]
        );
    }
}
