//! Roles: who an agent is while it works on a stage. Read from YAML, pinned when an order opens.

use serde::{Deserialize, Serialize};

/// `templates/agents/NAME.yaml`, or a repository's or a server's own in its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// Its name, as pipelines use it.
    pub name: String,
    /// What it does, for people.
    #[serde(default)]
    pub description: String,
    /// The agent of the settings that plays it, such as `claude`; none: the default agent.
    #[serde(default)]
    pub runtime: Option<String>,
    /// The model, where the runtime takes one; none: the agent's own.
    #[serde(default)]
    pub model: Option<String>,
    /// Who it is and how it works: stands before every prompt.
    #[serde(default)]
    pub system_prompt: String,
    /// What it may use; none named: what the runtime gives.
    #[serde(default)]
    pub tools: Option<Vec<Tool>>,
    /// A JSON schema for its answers where a stage asks for no other form.
    #[serde(default)]
    pub output_schema: Option<serde_json::Value>,
    /// Top-level fields of its JSON answer that must be there and not be empty.
    #[serde(default)]
    pub required_fields: Vec<String>,
    /// The command template with which it judges as a verifier; none: `review`.
    #[serde(default)]
    pub review_command: Option<String>,
}

/// What an agent may use. Each runtime knows its own names for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    /// Read and search files.
    Read,
    /// Change files.
    Write,
    /// Run commands.
    Run,
}

/// Why a role cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidRole(String);

impl Role {
    /// Reads and holds against the rules.
    ///
    /// # Errors
    /// What is wrong, with line and column where YAML tells them.
    pub fn parse(yaml: &str) -> Result<Self, InvalidRole> {
        let role: Self = serde_saphyr::from_str(yaml).map_err(|error| InvalidRole(error.to_string()))?;
        if let Some(schema) = &role.output_schema {
            jsonschema::validator_for(schema)
                .map_err(|error| InvalidRole(format!("output_schema is no JSON schema: {error}")))?;
        }
        Ok(role)
    }
}
