//! What is wrong with a pipeline, and where.

use std::fmt;

/// Why a pipeline cannot be used: everything that was found, in the file's order; never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", one_line(.problems))]
pub struct InvalidPipeline {
    pub problems: Vec<PipelineProblem>,
}

/// One thing that is wrong with a pipeline.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PipelineProblem {
    /// The line, from 1; none when there is no file at hand.
    pub line: Option<u64>,
    /// The column, from 1, in characters.
    pub column: Option<u64>,
    /// The stage that it is about, as it is named in the file.
    pub stage: Option<String>,
    /// The stage's field, or the file's where there is no stage.
    pub field: Option<String>,
    /// What is wrong and what is expected. Holds texts of the file, without control characters.
    pub problem: String,
}

impl PipelineProblem {
    /// Without the place: `stage "review": …`.
    pub fn said(&self) -> String {
        match &self.stage {
            Some(stage) => format!("stage {stage:?}: {}", self.problem),
            None => self.problem.clone(),
        }
    }

    /// The same, with its key where the sentence does not name it: `stage "review": `depends_on`: …`.
    pub fn said_with_key(&self) -> String {
        let key = self.field.as_ref().map(|field| format!("`{field}`"));
        match key.filter(|key| !self.problem.contains(key.as_str())) {
            Some(key) => Self { problem: format!("{key}: {}", self.problem), ..self.clone() }.said(),
            None => self.said(),
        }
    }
}

impl fmt::Display for PipelineProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(out, "line {line}: ")?;
        }
        out.write_str(&self.said())
    }
}

fn one_line(problems: &[PipelineProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Text of the file as it may stand in a message: short, in one line, without what cannot be seen.
pub(super) fn quoted(text: &str) -> String {
    let mut short: String = text.chars().take(80).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}
