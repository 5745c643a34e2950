//! Every stage in order, up to the end of the order.

use super::ids::CommitSha;
use super::pipeline::{Stage, Uses};
use super::rounds::{Judged, Rounds};
use super::settlement::Settlement;
use super::trace::{StageState, Standing, Work};
use super::walk::{Halt, Walk};

impl Walk<'_> {
    /// Every stage in order, up to the end of the order.
    pub(super) fn stages(&mut self) -> Result<Settlement, Halt> {
        let stages = self.pipeline.stages.clone();
        let mut work_so_far = StageState::Running;
        for stage in &stages {
            // Once the work was given up, what is left is to hand its best round over.
            if work_so_far == StageState::Failed && matches!(stage.uses, Uses::Agent | Uses::Branch) {
                continue;
            }
            self.trace.begin(&stage.name);
            let state = match stage.uses {
                Uses::Agent => {
                    work_so_far = self.agent_stage(stage)?;
                    work_so_far
                }
                Uses::Branch => {
                    self.branch_stage(stage)?;
                    StageState::Passed
                }
                Uses::Publish => {
                    self.publish_stage(stage)?;
                    StageState::Passed
                }
                Uses::Ready => self.ready_stage(stage)?,
                Uses::Tests | Uses::Archive => StageState::Passed,
            };
            self.trace.conclude(&stage.name, state);
        }
        Ok(self.settlement())
    }

    fn settlement(&self) -> Settlement {
        let pull = self.trace.pull.as_ref().map(|pull| pull.number);
        match self.trace.work.as_ref().map(|work| work.standing.clone()) {
            Some(Standing::Verified) => Settlement::Verified { pull },
            Some(Standing::NotVerified { because }) => Settlement::Escalated { pull, because },
            Some(Standing::Unverified { because }) => Settlement::Unverified { pull, because },
            None => {
                Settlement::Unverified { pull, because: "no stage of the pipeline makes a commit".to_owned() }
            }
        }
    }

    /// A stage whose result is its output. It has failed when it was given up and its best round goes to a person.
    fn agent_stage(&mut self, stage: &Stage) -> Result<StageState, Halt> {
        let worker = self.worker(stage, &stage.name)?;
        let mut best: Option<Work> = None;
        let mut pushed: Option<CommitSha> = None;
        let rounds = self.rounds(&worker, |walk, round, run| {
            let output = walk.judge_output(stage, &worker, round, run)?;
            let fields = match output {
                Judged::Passed(fields) => fields,
                Judged::Failed { by, feedback, tests } => return Ok(Judged::Failed { by, feedback, tests }),
            };
            let work = walk.judge_work(stage, &worker, round, &mut pushed)?;
            match work {
                Judged::Passed(work) => Ok(Judged::Passed((fields, work))),
                Judged::Failed { by, feedback, tests } => {
                    if let Some(candidate) = walk.candidate(stage, round, &feedback.summary) {
                        keep_better(&mut best, candidate);
                    }
                    Ok(Judged::Failed { by, feedback, tests })
                }
            }
        })?;
        match rounds {
            Rounds::Passed((fields, work)) => {
                for (field, value) in fields {
                    self.variables.insert(format!("{}.{field}", stage.name), value);
                }
                if let Some(work) = work {
                    self.set_work(&stage.name, work);
                }
                Ok(StageState::Passed)
            }
            Rounds::Exhausted { because } => match best {
                Some(mut work) => {
                    let because = with_its_own_fault(&work, because);
                    work.standing = Standing::NotVerified { because };
                    self.set_work(&stage.name, work);
                    Ok(StageState::Failed)
                }
                None => {
                    self.trace.conclude(&stage.name, StageState::Failed);
                    let because = format!("stage {}: {because}", stage.name);
                    Err(Halt::Settled(if stage.checks.is_empty() {
                        Settlement::Failed { because }
                    } else {
                        Settlement::Blocked { because }
                    }))
                }
            },
        }
    }

    fn set_work(&mut self, stage: &str, work: Work) {
        self.variables.insert(format!("{stage}.changed"), work.changed.join("\n"));
        self.variables.insert(format!("{stage}.commit"), work.commit.to_string());
        self.trace.work = Some(work);
    }
}

/// The best round is not always the last: what is wrong with the one that is handed over comes first.
fn with_its_own_fault(best: &Work, because: String) -> String {
    match &best.standing {
        Standing::NotVerified { because: own } if !because.starts_with(own.as_str()) => {
            format!("round {} came closest: {own}. At the end: {because}", best.round)
        }
        Standing::NotVerified { .. } | Standing::Verified | Standing::Unverified { .. } => because,
    }
}

/// The better of two: most tests passing, then the earliest.
fn keep_better(best: &mut Option<Work>, candidate: Work) {
    let passing =
        |work: &Work| work.tests.as_ref().and_then(|tests| tests.counts).map_or(0, |counts| counts.passed);
    if best.as_ref().is_none_or(|known| passing(&candidate) > passing(known)) {
        *best = Some(candidate);
    }
}
