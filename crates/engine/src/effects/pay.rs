//! What an agent's run may cost beyond its own order: reserved before it begins, corrected when it has ended.

use super::EffectContext;
use crate::order_counting::model;
use crate::store_patience::StorePatience;
use journeyman_order::moves::AgentTask;
use journeyman_order::{AgentRun, EffectError};
use journeyman_store::{
    BudgetReservation, BudgetScope, DailyLimitExceeded, DailyLimitUsage, PlannedAgentRun, RunCost, RunEnd,
    StoreError,
};

impl EffectContext {
    /// Reserves the cost of a run. The inner error names the daily limit that it would exceed.
    pub(crate) async fn reserve(&self, task: &AgentTask) -> Result<Result<(), String>, EffectError> {
        let left = self.dollars_left();
        let asker = self.projection.trace.authorized_by.as_ref().map(|person| person.id);
        // Each push of theirs costs something again, whoever asked first.
        let author = self.opened().change.as_ref().and_then(|change| change.author_id);
        let run = PlannedAgentRun {
            order: self.order,
            key: self.key.clone(),
            attempt: self.attempt_number(),
            repository: self.opened().repository_id,
            sender: author.or(asker),
            agent: task.agent.clone(),
            stage: task.stage.clone(),
            role: task.role.clone(),
            model: model(&self.parts.agents, &self.journal, task).to_owned(),
            begins_at: self.parts.clock.now(),
            most: RunCost { usd: left, seconds: task.timeout_seconds as f64 },
        };
        let limits = &self.parts.settings.limits.per_day;
        match StorePatience::outlast(self.order, || self.parts.store.reserve(&run, limits)).await? {
            BudgetReservation::Granted(RunCost { usd, .. }) => {
                tracing::info!(order = %self.order, key = %self.key, usd, "is granted");
                Ok(Ok(()))
            }
            BudgetReservation::Exceeded(over) => Ok(Err(spent(&over))),
        }
    }

    pub(super) fn dollars_left(&self) -> f64 {
        let budget = &self.projection.budget;
        (budget.usd_limit - budget.usd_spent).max(0.0)
    }

    /// Records the cost of a run. If that fails, the estimate stands until the run is recalled.
    pub(crate) async fn settle(&self, run: &AgentRun) {
        let cost = RunCost { usd: run.usage.usd, seconds: run.duration_seconds };
        let end = if run.took_place() { RunEnd::Worked } else { RunEnd::KeptOff };
        let settled = StorePatience::outlast(self.order, || {
            self.parts.store.settle(self.order, &self.key, self.attempt_number(), cost, end)
        });
        if let Err(error) = settled.await {
            tracing::warn!(order = %self.order, key = %self.key, %error, "what a run has cost is not written down");
        }
    }

    /// Stores part of a paid run as an artifact, once the store is available.
    pub(super) async fn keep_of_run(
        &self,
        name: &str,
        media_type: &str,
        content: &[u8],
    ) -> Result<(), StoreError> {
        let put = || self.parts.store.put_artifact(self.order, name, media_type, content);
        StorePatience::outlast(self.order, put).await.map(drop)
    }

    pub(super) async fn release(&self) {
        let released = self.parts.store.release(self.order, &self.key, self.attempt_number()).await;
        if let Err(error) = released {
            tracing::warn!(order = %self.order, key = %self.key, %error, "what a run was to cost stays reserved");
        }
    }

    fn attempt_number(&self) -> u32 {
        u32::try_from(self.attempt).unwrap_or(u32::MAX)
    }
}

fn spent(over: &DailyLimitExceeded) -> String {
    let whose = match over.scope {
        BudgetScope::Repository => "for this repository",
        BudgetScope::Sender => "for what one person asks for",
        BudgetScope::All => "for this server",
    };
    let (reached, next) = match over.limit {
        DailyLimitUsage::Usd { spent, limit } => {
            (format!("${spent:.2} of today's ${limit:.2} {whose} are spent"), String::new())
        }
        DailyLimitUsage::Minutes { spent, limit } => (
            format!("{spent:.1} of today's {limit} minutes of agents {whose} are used"),
            format!("takes about {:.1} minutes and ", over.estimate.seconds / 60.0),
        ),
        DailyLimitUsage::Runs { spent, limit } => {
            (format!("{spent} of today's {limit} agent runs {whose} are used"), String::new())
        }
    };
    let (usd, until) = (over.estimate.usd, over.until.format("%Y-%m-%d %H:%M UTC"));
    format!("{reached}; the next run {next}costs about ${usd:.2}; from {until} on, a retry continues")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spent_is_said_with_what_it_costs_to_go_on_and_when() {
        let until = "2026-11-23T00:00:00Z".parse().unwrap();
        let over = |scope, limit| DailyLimitExceeded {
            scope,
            limit,
            estimate: RunCost { usd: 0.42, seconds: 90.0 },
            until,
        };
        let usd = spent(&over(BudgetScope::Repository, DailyLimitUsage::Usd { spent: 19.8, limit: 20.0 }));
        assert_eq!(
            usd,
            "$19.80 of today's $20.00 for this repository are spent; the next run costs about $0.42; from \
             2026-11-23 00:00 UTC on, a retry continues"
        );
        let minutes = spent(&over(BudgetScope::Sender, DailyLimitUsage::Minutes { spent: 59.25, limit: 60 }));
        assert!(
            minutes.starts_with("59.2 of today's 60 minutes of agents for what one person asks for are used"),
            "{minutes}"
        );
        assert!(minutes.contains("the next run takes about 1.5 minutes and costs about $0.42"), "{minutes}");
        let runs = spent(&over(BudgetScope::All, DailyLimitUsage::Runs { spent: 7, limit: 7 }));
        assert!(runs.starts_with("7 of today's 7 agent runs for this server are used; the next"), "{runs}");
    }
}
