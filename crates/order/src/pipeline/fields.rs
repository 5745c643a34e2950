//! A stage's output fields for later stages: the only table, used by the file check and the replay.

use super::{Check, Stage, StageKind, StageOutput};
use crate::role::Role;

impl Stage {
    /// The fields of a passed stage, as in `{{stage.field}}`; sorted, without duplicates.
    ///
    /// `role` is its agent's role: its schema defines the fields if the stage has no output form.
    pub fn fields(&self, role: Option<&Role>) -> Vec<String> {
        let mut fields: Vec<&str> = match self.uses {
            StageKind::Agent => self.output_fields(role),
            StageKind::Archive => {
                let mut fields = self.output_fields(role);
                fields.push("result");
                fields
            }
            StageKind::Examine => vec!["contradictions"],
            StageKind::Branch => vec!["name", "result"],
            StageKind::Tests => vec!["result", "test_results", "verdict"],
            StageKind::Verify => vec!["changed", "code", "commit", "test_files"],
            StageKind::Publish => vec!["number", "url"],
            StageKind::Ready => Vec::new(),
        };
        for check in &self.checks {
            fields.extend(match check {
                Check::PushedCommit => &["commit", "changed", "code", "test_files", "final_code"][..],
                Check::Policy => &[],
                Check::Tests => &["test_results"],
                Check::Verifier => &["verdict", "findings", "final_code"],
            });
        }
        fields.sort_unstable();
        fields.dedup();
        fields.into_iter().map(str::to_owned).collect()
    }

    fn output_fields<'a>(&'a self, role: Option<&'a Role>) -> Vec<&'a str> {
        let schema = match &self.output {
            Some(StageOutput::File(_)) => return vec!["result", "file", "content"],
            Some(StageOutput::CodeArtifact) => {
                return vec![
                    "result", "artifact_id", "implementation_files", "test_files", "stories_covered",
                ];
            }
            Some(StageOutput::Text | StageOutput::OneOf(_)) => None,
            Some(StageOutput::JsonSchema(schema)) => Some(schema),
            None => role.and_then(|role| role.output_schema.as_ref()),
        };
        let mut fields = vec!["result"];
        let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
        fields.extend(properties.into_iter().flatten().map(|(name, _)| name.as_str()));
        fields
    }

    /// Whether its role's schema affects its fields.
    pub(super) fn takes_fields_of_role(&self) -> bool {
        matches!(self.uses, StageKind::Agent | StageKind::Archive)
            && self.agent.is_some()
            && self.output.is_none()
    }
}
