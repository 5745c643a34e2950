//! Roles: who an agent is while it works on a stage. Read from YAML, pinned when an order opens.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::names::{NAME_RULE, is_name};
use super::schema::schema_validator;
use super::yaml;

/// `templates/agents/NAME.yaml`, or a repository's or a server's own in its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    /// Read and search files.
    Read,
    Write,
    Run,
}

/// Why a role is invalid: the first parse error with its line, or every broken rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", yaml::in_one_line(.0))]
pub struct InvalidRole(pub Vec<String>);

impl Role {
    /// Parses a role and checks the rules. The file may be a repository's: parsing always ends soon.
    pub fn parse(yaml: &str) -> Result<Self, InvalidRole> {
        let (read, _) = yaml::read_with_places::<Self>(yaml);
        let role = read.map_err(|problem| InvalidRole(vec![problem.with_line()]))?;
        let mut problems = Vec::new();
        if !is_name(&role.name) {
            problems.push(format!("`name`: a role's name has {NAME_RULE}"));
        }
        let short = |text: &Option<String>| {
            text.as_ref().is_none_or(|text| !text.trim().is_empty() && text.chars().count() <= 100)
        };
        for (field, text) in
            [("runtime", &role.runtime), ("model", &role.model), ("review_command", &role.review_command)]
        {
            if !short(text) {
                problems.push(format!("`{field}` has 1 to 100 characters"));
            }
        }
        if let Some(Err(problem)) = role.output_schema.as_ref().map(schema_validator) {
            problems.push(format!("`output_schema` {problem}"));
        }
        if problems.is_empty() { Ok(role) } else { Err(InvalidRole(problems)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_that_cannot_be_used_says_where_and_why() {
        for (yaml, expected) in [
            ("name: r\nmodle: x\n", "line 2: unknown key `modle`; did you mean `model`?"),
            (
                "name: r\ntools: [fly]\n",
                "line 2: `tools[0]`: \"fly\" is not known, one of read, write, run is expected",
            ),
            ("name: ../r\n", "`name`: a role's name has 1 to 40"),
            ("name: r\nmodel: ' '\n", "`model` has 1 to 100"),
            ("name: r\noutput_schema: {type: 3}\n", "`output_schema` is no JSON schema"),
            ("name: r\noutput_schema: {$ref: 'http://example.org/s'}\n", "`output_schema` has `$ref`"),
            ("name: &a r\ndescription: *a\n", "line 1: anchors, aliases and merge keys"),
            ("", "line 1: the file is empty"),
        ] {
            let said = Role::parse(yaml).unwrap_err().to_string();
            assert!(said.starts_with(expected), "{yaml}: {said}");
        }
        let long = format!("name: r\nsystem_prompt: {}\n", "x".repeat(70_000));
        assert!(Role::parse(&long).unwrap_err().to_string().contains("at most 65536 are read"));
        assert_eq!(Role::parse("name: r").unwrap().tools, None);
        let nothing = "name: r\ndescription:\nmodel: null\nsystem_prompt: ~\ntools:\noutput_schema:\nrequired_fields:\n";
        assert_eq!(Role::parse(nothing).unwrap(), Role::parse("name: r").unwrap(), "null is the default");
    }
}
