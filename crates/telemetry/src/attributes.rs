//! Attributes of moves in spans. They use OpenTelemetry's semantic conventions for generative AI where those have
//! a name.
//!
//! May know: moves and outcomes. Must never know: texts of people, agents and tests.

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use serde_json::json;

use journeyman_order::bounds::LONGEST_NAME;
use journeyman_order::moves::{AgentTask, Retry};
use journeyman_order::test_run::TestRun;
use journeyman_order::{AgentRun, EffectOutcome, Journal, Move};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentFacts {
    /// The provider of its models, if known.
    pub provider: Option<&'static str>,
    /// The model, if the settings name one.
    pub model: Option<String>,
}

pub(super) fn text(key: &str, value: &str) -> KeyValue {
    attribute(key, Value::StringValue(value.chars().take(LONGEST_NAME).collect()))
}

pub(super) fn number(key: &str, value: u64) -> KeyValue {
    attribute(key, Value::IntValue(i64::try_from(value).unwrap_or(i64::MAX)))
}

pub(super) fn amount(key: &str, value: f64) -> KeyValue {
    attribute(key, Value::DoubleValue(value))
}

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

/// The name of the move in journals.
pub(super) fn name(r#move: &Move) -> String {
    if let Move::RunAgent(task) = r#move {
        return format!("invoke_agent {}", role(task));
    }
    json!(r#move)["move"].as_str().unwrap_or_default().to_owned()
}

fn role(task: &AgentTask) -> String {
    let role = if task.role.is_empty() { &task.agent } else { &task.role };
    role.chars().take(LONGEST_NAME).collect()
}

/// An outcome's numbers and our own words for it.
pub(super) fn of_move(
    journal: &Journal,
    intended: &Move,
    outcome: &EffectOutcome,
    facts: &dyn Fn(&str) -> AgentFacts,
) -> Vec<KeyValue> {
    let mut said = Vec::new();
    if let Move::RunAgent(task) = intended {
        said.extend(of_task(journal, task, facts));
    }
    if let EffectOutcome::AgentRan(run) = outcome {
        said.extend(of_run(run));
    }
    if let EffectOutcome::Tested(run) = outcome {
        said.extend(of_tests(run));
    }
    said.extend(error_type(outcome).map(|kind| text("error.type", &kind)));
    said
}

fn of_task(journal: &Journal, task: &AgentTask, facts: &dyn Fn(&str) -> AgentFacts) -> Vec<KeyValue> {
    let AgentFacts { provider, model } = facts(&task.agent);
    let model = journal.role(&task.role).and_then(|role| role.model.clone()).or(model);
    let mut said = vec![
        text("gen_ai.operation.name", "invoke_agent"),
        text("gen_ai.agent.name", &role(task)),
        text("journeyman.agent", &task.agent),
    ];
    said.extend(provider.map(|provider| text("gen_ai.provider.name", provider)));
    said.extend(model.map(|model| text("gen_ai.request.model", &model)));
    said
}

fn of_run(run: &AgentRun) -> Vec<KeyValue> {
    let mut said = vec![
        number("gen_ai.usage.input_tokens", run.usage.input_tokens),
        number("gen_ai.usage.output_tokens", run.usage.output_tokens),
    ];
    // The conventions have no name for it. Agents may report any number.
    if run.usage.usd.is_finite() {
        said.push(amount("journeyman.usd", run.usage.usd));
    }
    // Agents choose their session ids. Only a UUID is certain to contain no text.
    let session = run.session_id.as_deref().filter(|id| uuid::Uuid::parse_str(id).is_ok());
    said.extend(session.map(|id| text("gen_ai.conversation.id", id)));
    said
}

fn of_tests(run: &TestRun) -> Vec<KeyValue> {
    let mut said = vec![
        text("journeyman.tests.verdict", run.verdict.as_str()),
        text("vcs.ref.head.revision", &run.commit.to_string()),
    ];
    if let Some(counts) = run.counts {
        said.push(number("journeyman.tests.passed", counts.passed));
        said.push(number("journeyman.tests.failed", counts.failed));
        said.push(number("journeyman.tests.skipped", counts.skipped));
    }
    said
}

/// Why a move failed, in one word. Red tests and a reviewer's objections are results, not errors.
pub(super) fn error_type(outcome: &EffectOutcome) -> Option<String> {
    if let EffectOutcome::Trouble(trouble) = outcome {
        let word = match trouble.retry {
            Retry::Soon => "trouble",
            Retry::After { .. } => "asked_to_wait",
            Retry::Outage => "outage",
            Retry::Never => "needs_person",
        };
        return Some(word.to_owned());
    }
    let EffectOutcome::AgentRan(run) = outcome else { return None };
    json!(run.failure.as_ref()?.kind).as_str().map(str::to_owned)
}
