//! Problems of a pipeline, with their places.

use std::collections::BTreeMap;
use std::fmt;

use super::{Pipeline, Stage};
use crate::bounds::MOST_NAMED;
use crate::yaml_tree::YamlStep::{Item, Key};
use crate::yaml_tree::{YamlPathSegment, YamlTree};

/// Why a pipeline is invalid: every problem, in the file's order; never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", one_line(.problems))]
pub struct InvalidPipeline {
    pub problems: Vec<PipelineProblem>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PipelineProblem {
    /// The line, from 1; `None` without a file.
    pub line: Option<u64>,
    /// The column, from 1, in characters.
    pub column: Option<u64>,
    /// The stage's name in the file.
    pub stage: Option<String>,
    /// The stage's field, or the file's if there is no stage.
    pub field: Option<String>,
    /// What is wrong and what is expected. Contains text of the file, without control characters.
    pub problem: String,
}

impl PipelineProblem {
    /// Without the position: `stage "review": …`.
    pub fn said(&self) -> String {
        match &self.stage {
            Some(stage) => format!("stage {stage:?}: {}", self.problem),
            None => self.problem.clone(),
        }
    }

    /// The same, with its key if the message does not name it: `stage "review": `depends_on`: …`.
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

/// Text of the file for a message: short, on one line, only visible characters.
pub(super) fn quoted(text: &str) -> String {
    let mut short: String = text.chars().take(80).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}

/// Collects problems with their places.
pub(super) struct PipelineDiagnostics<'a> {
    places: &'a YamlTree,
    /// Each stage's index in the file; the first of two with the same name.
    numbers: BTreeMap<String, usize>,
    problems: Vec<PipelineProblem>,
}

impl<'a> PipelineDiagnostics<'a> {
    /// `pipeline` is in the file's order.
    pub(super) fn new(pipeline: &Pipeline, places: &'a YamlTree) -> Self {
        let names = pipeline.stages.iter().enumerate().rev();
        let numbers = names.map(|(number, stage)| (stage.name.clone(), number)).collect();
        Self { places, numbers, problems: Vec::new() }
    }

    /// Reports a problem at a field of a stage, or inside it.
    pub(super) fn at(&mut self, stage: &Stage, path: &[YamlPathSegment<'_>], problem: impl Into<String>) {
        let number = self.numbers.get(&stage.name).copied().unwrap_or_default();
        self.at_number(number, stage, path, problem);
    }

    /// The same, for a stage whose name may not be unique.
    pub(super) fn at_number(
        &mut self,
        number: usize,
        stage: &Stage,
        path: &[YamlPathSegment<'_>],
        problem: impl Into<String>,
    ) {
        let whole: Vec<YamlPathSegment<'_>> =
            [Key("stages"), Item(number)].iter().chain(path).copied().collect();
        self.push(&whole, Some(stage.name.chars().take(80).collect()), path.first(), problem.into());
    }

    pub(super) fn at_top(&mut self, field: &str, problem: impl Into<String>) {
        self.push(&[Key(field)], None, Some(&Key(field)), problem.into());
    }

    /// Whether the file sets a field of a stage.
    pub(super) fn says(&self, number: usize, field: &str) -> bool {
        self.places.has(&[Key("stages"), Item(number), Key(field)])
    }

    fn push(
        &mut self,
        path: &[YamlPathSegment<'_>],
        stage: Option<String>,
        field: Option<&YamlPathSegment<'_>>,
        problem: String,
    ) {
        let place = self.places.place(path);
        let field = match field {
            Some(Key(field)) => Some((*field).to_owned()),
            Some(Item(_)) | None => None,
        };
        let (line, column) = place.unzip();
        self.problems.push(PipelineProblem { line, column, stage, field, problem });
    }

    /// The problems in the file's order, without duplicates.
    pub(super) fn end(mut self) -> Result<(), InvalidPipeline> {
        self.problems.sort();
        self.problems.dedup();
        self.problems.truncate(MOST_NAMED);
        if self.problems.is_empty() { Ok(()) } else { Err(InvalidPipeline { problems: self.problems }) }
    }
}
