//! Counts what happens to orders from turn to turn: stages, rounds, agents' runs, ends.
//!
//! May know: what a turn of an order shows. Must never know: what is done with the numbers, and whose issue it is.

use std::collections::BTreeMap;

use journeyman_agent::Agents;
use journeyman_metrics::{CountedAgentRun, metrics};
use journeyman_order::agent_run::AgentFailureKind;
use journeyman_order::moves::AgentTask;
use journeyman_order::steps::{Step, steps};
use journeyman_order::trace::{OrderTrace, StageState};
use journeyman_order::{AgentRun, Journal, Move, Role};
use journeyman_store::StatementLine;

#[derive(Debug, Default)]
pub(super) struct OrderCounting {
    stage: Option<(String, u32)>,
}

impl OrderCounting {
    /// What ended since the previous turn. What ended while the order was not driven is not counted.
    pub(super) fn turn(&mut self, journal: &Journal, trace: &OrderTrace) {
        let running = trace.running();
        let now =
            running.map(|stage| (stage.name.as_str(), stage.rounds.last().map_or(0, |round| round.round)));
        let was = self.stage.as_ref().map(|(stage, round)| (stage.as_str(), *round));
        if was == now {
            return;
        }
        if let Some((stage, round)) = was {
            let steps = steps(journal);
            let of_round = |step: &&Step| step.stage == stage && step.round == Some(round);
            if let Some(seconds) = length(steps.iter().filter(of_round)) {
                metrics().round_ended(stage, has_passed(trace, stage, round), seconds);
            }
            let state = trace.stages.iter().rfind(|known| known.name == stage).map(|known| known.state);
            if let Some(end) = state.and_then(StageState::end)
                && let Some(seconds) = length(steps.iter().filter(|step| step.stage == stage))
            {
                metrics().stage_ended(stage, end, seconds);
            }
        }
        self.stage = now.map(|(stage, round)| (stage.to_owned(), round));
    }
}

fn length<'a>(steps: impl Iterator<Item = &'a Step> + Clone) -> Option<f64> {
    let begun = steps.clone().map(|step| step.started_at).min()?;
    let until = |step: &Step| {
        let before = step.started_at.signed_duration_since(begun).as_seconds_f64();
        before + step.duration_seconds.unwrap_or_default()
    };
    steps.map(until).reduce(f64::max)
}

fn has_passed(trace: &OrderTrace, stage: &str, round: u32) -> bool {
    let stage = trace.stages.iter().rfind(|known| known.name == stage);
    let round = stage.and_then(|stage| stage.rounds.iter().find(|known| known.round == round));
    round.is_some_and(|round| round.feedback.is_none())
}

/// Runs of these agents are counted from now on, with their own models and with those of the server's roles.
pub(super) fn expect_runs(agents: &Agents, roles: &BTreeMap<String, Role>) {
    for agent in agents.names() {
        let of_roles = roles.values().filter_map(|role| role.model.as_deref());
        for model in of_roles.chain([agents.model(agent).unwrap_or_default()]) {
            metrics().expect_agent(agent, model);
        }
    }
}

/// An agent's run begins: a repository's own role may name a model that was unknown until now.
pub(super) fn expect_run(agents: &Agents, journal: &Journal, task: &AgentTask) {
    metrics().expect_agent(&task.agent, model(agents, journal, task));
}

/// The model that a run asks for; empty if the agent chooses it.
pub(super) fn model<'a>(agents: &'a Agents, journal: &'a Journal, task: &AgentTask) -> &'a str {
    let of_role = journal.role(&task.role).and_then(|role| role.model.as_deref());
    of_role.or_else(|| agents.model(&task.agent)).unwrap_or_default()
}

pub(super) fn count_run(agents: &Agents, journal: &Journal, task: &AgentTask, run: &AgentRun) {
    metrics().agent_ran(&CountedAgentRun {
        agent: &task.agent,
        model: model(agents, journal, task),
        end: run.failure.as_ref().map_or("done", |failure| match failure.kind {
            AgentFailureKind::Unavailable => "unavailable",
            AgentFailureKind::Misconfigured => "misconfigured",
            AgentFailureKind::UnknownSession => "unknown_session",
            AgentFailureKind::LimitReached => "limit_reached",
            AgentFailureKind::Ended => "ended",
        }),
        seconds: run.duration_seconds,
        input_tokens: run.usage.input_tokens,
        output_tokens: run.usage.output_tokens,
        usd: run.usage.usd,
    });
}

/// What became of the statements of an order's examiner. `None` if the work was not examined.
pub(super) fn statement_line(
    agents: &Agents,
    journal: &Journal,
    trace: &OrderTrace,
) -> Option<StatementLine> {
    let scrutiny = trace.work.as_ref()?.tests.as_ref()?.scrutiny.as_ref()?;
    let task = journal.examined_by()?;
    let mut counts = BTreeMap::new();
    for statement in &scrutiny.examination.as_ref()?.statements {
        *counts.entry(statement.said.word().to_owned()).or_default() += 1;
    }
    let model = model(agents, journal, task).to_owned();
    Some(StatementLine { agent: task.agent.clone(), model, counts })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "all others ask GitHub")]
pub(super) fn effect_kind(r#move: &Move) -> &'static str {
    match r#move {
        Move::RunAgent(_) => "agent",
        Move::RunTests { .. } => "tests",
        Move::PrepareEnvironment => "environment",
        Move::Prepare | Move::Preflight => "prepare",
        Move::Push { .. } => "push",
        Move::FindFiles { .. }
        | Move::Import { .. }
        | Move::Commit { .. }
        | Move::WriteArtifact { .. }
        | Move::Archive { .. }
        | Move::FetchChange { .. }
        | Move::TakeIn { .. }
        | Move::UpdateBranch { .. } => "repository",
        _ => "github",
    }
}
