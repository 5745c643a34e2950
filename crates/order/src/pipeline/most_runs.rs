//! How much a stage can come to when everything goes wrong: for people who read a pipeline before it runs.

use super::{
    Check, Escalation, MOST_QUESTIONS, MOST_RUNS, Pipeline, Stage, StageKind, StageOutput, StageStart,
};

impl Stage {
    /// How often a check may fail before it runs out; none for one that the stage does not have, or does not ask.
    pub fn limit(&self, check: Check) -> Option<u32> {
        let is_there = self.checks.contains(&check);
        match check {
            Check::PushedCommit | Check::Policy | Check::Tests => is_there.then_some(MOST_RUNS),
            Check::Verifier => Some(self.max_adversarial_rounds).filter(|rounds| is_there && *rounds > 0),
        }
    }

    /// The most runs that it may take of its worker, of verifiers, and of the agent that is asked when a check runs out:
    /// without retries for what is around them, and without small questions (which file is the plan, how a commit message
    /// reads).
    fn most_runs(&self) -> [u32; 3] {
        if self.agent.is_none() || matches!(self.uses, StageKind::Tests | StageKind::Ready) {
            return [0; 3];
        }
        let pushes = self.checks.contains(&Check::PushedCommit);
        // What was pushed counts there, not what is said about it; and what may leave is always looked at.
        let form = (!pushes || !matches!(self.output, None | Some(StageOutput::Text))).then_some(MOST_RUNS);
        let policy = pushes.then_some(MOST_RUNS);
        let checks = [Check::PushedCommit, Check::Tests, Check::Verifier].map(|check| self.limit(check));
        // Each check has its own counter: all may come to one before their limits, and then one reaches its.
        let spare: u32 = [form, policy].into_iter().chain(checks).flatten().map(|limit| limit - 1).sum();
        let rounds = spare + 1;
        let worker = match self.begins_with {
            StageStart::Worker => rounds,
            StageStart::Checks => rounds.saturating_sub(1),
        };
        let verifier = self.limit(Check::Verifier).unwrap_or(0) * MOST_QUESTIONS * self.verifier.count();
        match self.escalate_on_exhaust {
            Escalation::None | Escalation::HumanApproval => [worker, verifier, 0],
            // Guidance grants one more set, in which the worker runs first whatever the stage begins with.
            Escalation::Agent(_) => [worker + rounds, verifier * 2, MOST_QUESTIONS],
        }
    }
}

impl Pipeline {
    /// Runs of agents that an order takes when each passes at once, verifiers included.
    pub fn least_runs(&self) -> u32 {
        let runs = |stage: &Stage| {
            let works = stage.most_runs()[0] > 0 && stage.begins_with == StageStart::Worker;
            u32::from(works) + stage.limit(Check::Verifier).map_or(0, |_| stage.verifier.count())
        };
        self.stages.iter().map(runs).sum()
    }

    /// Runs of agents that an order takes when everything goes wrong in every stage and still goes on.
    pub fn most_runs(&self) -> u32 {
        self.stages.iter().flat_map(Stage::most_runs).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_may_fail_once_less_than_its_limit_and_then_one_runs_out() {
        let runs = |stage: &str| {
            let yaml = format!(
                "{{name: p, version: 1, stages: [{{name: w, agent: d, checks: [pushed_commit]}}, \
                 {{name: s, depends_on: [w], {stage}}}]}}"
            );
            Pipeline::parse(&yaml).unwrap().stage("s").unwrap().most_runs()
        };
        assert_eq!(runs("agent: d"), [3, 0, 0], "an answer without sense is asked for again");
        assert_eq!(runs("agent: d, checks: [pushed_commit, tests]"), [7, 0, 0]);
        assert_eq!(runs("agent: d, checks: [pushed_commit, tests], escalate_on_exhaust: t"), [14, 0, 2]);
        let review =
            "agent: d, begins_with: checks, verifier: v, checks: [pushed_commit, policy, tests, verifier]";
        assert_eq!(runs(review), [8, 6, 0]);
        assert_eq!(runs(&format!("{review}, max_adversarial_rounds: 0")), [6, 0, 0]);
        assert_eq!(runs(&review.replace(": v,", ": [v, w, x],")), [8, 18, 0], "each is asked in every round");
        assert_eq!(runs("uses: tests"), [0, 0, 0]);
    }
}
