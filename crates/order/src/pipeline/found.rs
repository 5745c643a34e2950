//! What is wrong with a pipeline, as it is found.

use std::collections::BTreeMap;

use super::problem::PipelineProblem;
use super::{Pipeline, Stage};
use crate::yaml_tree::YamlStep::{Item, Key};
use crate::yaml_tree::{YamlPathSegment, YamlTree};

/// Collects what is wrong, with its place.
pub(super) struct PipelineDiagnostics<'a> {
    places: &'a YamlTree,
    /// Where each stage stands in the file; of two of a name, the first.
    numbers: BTreeMap<String, usize>,
    problems: Vec<PipelineProblem>,
}

impl<'a> PipelineDiagnostics<'a> {
    /// `pipeline` in the file's order.
    pub(super) fn new(pipeline: &Pipeline, places: &'a YamlTree) -> Self {
        let names = pipeline.stages.iter().enumerate().rev();
        let numbers = names.map(|(number, stage)| (stage.name.clone(), number)).collect();
        Self { places, numbers, problems: Vec::new() }
    }

    /// At a field of a stage, or inside it.
    pub(super) fn at(&mut self, stage: &Stage, path: &[YamlPathSegment<'_>], problem: impl Into<String>) {
        let number = self.numbers.get(&stage.name).copied().unwrap_or_default();
        self.at_number(number, stage, path, problem);
    }

    /// The same, for a stage whose name may be another's too.
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

    /// Whether the file says anything about a field of a stage.
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

    /// In the file's order, each once.
    pub(super) fn end(mut self) -> Vec<PipelineProblem> {
        self.problems.sort();
        self.problems.dedup();
        self.problems.truncate(crate::bounds::MOST_NAMED);
        self.problems
    }
}
