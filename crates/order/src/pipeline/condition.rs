//! `when`: whether a stage runs at all.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `{{a.b}} == text`, `{{a.b}} != text`, or `{{a.b}}` alone: it is not empty and not `false`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Condition {
    /// What is looked at; `{{…}}` is filled in.
    pub left: String,
    /// What it is compared with.
    pub test: ConditionTest,
}

/// The test on the left side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConditionTest {
    /// It equals this text, after `{{…}}` is filled in.
    Is(String),
    /// It differs from this text.
    IsNot(String),
    /// It is not empty and not `false`.
    IsThere,
}

impl TryFrom<String> for Condition {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let unquoted = |text: &str| text.trim().trim_matches(['"', '\'']).to_owned();
        let (left, test) = if let Some((left, right)) = text.split_once("!=") {
            (left, ConditionTest::IsNot(unquoted(right)))
        } else if let Some((left, right)) = text.split_once("==") {
            (left, ConditionTest::Is(unquoted(right)))
        } else {
            (text.as_str(), ConditionTest::IsThere)
        };
        let left = unquoted(left);
        if !left.contains("{{") {
            return Err(format!("{text:?} looks at nothing; write {{{{stage.field}}}} == value"));
        }
        Ok(Self { left, test })
    }
}

impl From<Condition> for String {
    fn from(condition: Condition) -> Self {
        match condition.test {
            ConditionTest::Is(right) => format!("{} == {right}", condition.left),
            ConditionTest::IsNot(right) => format!("{} != {right}", condition.left),
            ConditionTest::IsThere => condition.left,
        }
    }
}

impl Condition {
    /// Evaluates the condition; `fill` fills in both sides.
    pub fn holds<E>(&self, mut fill: impl FnMut(&str) -> Result<String, E>) -> Result<bool, E> {
        let left = fill(&self.left)?;
        let left = left.trim();
        Ok(match &self.test {
            ConditionTest::Is(right) => left == fill(right)?.trim(),
            ConditionTest::IsNot(right) => left != fill(right)?.trim(),
            ConditionTest::IsThere => !left.is_empty() && left != "false",
        })
    }
}
