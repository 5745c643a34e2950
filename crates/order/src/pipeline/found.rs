//! What is wrong with a pipeline, as it is found.

use std::collections::BTreeMap;

use super::limits::MOST_PROBLEMS;
use super::places::{Places, Step};
use super::problem::Problem;
use super::{Pipeline, Stage};

/// Collects what is wrong, with its place.
pub(super) struct Found<'a> {
    places: &'a Places,
    /// Where each stage stands in the file; of two of a name, the first.
    numbers: BTreeMap<String, usize>,
    problems: Vec<Problem>,
}

impl<'a> Found<'a> {
    /// `pipeline` in the file's order.
    pub(super) fn new(pipeline: &Pipeline, places: &'a Places) -> Self {
        let names = pipeline.stages.iter().enumerate().rev();
        let numbers = names.map(|(number, stage)| (stage.name.clone(), number)).collect();
        Self { places, numbers, problems: Vec::new() }
    }

    /// At a field of a stage, or inside it.
    pub(super) fn at(&mut self, stage: &Stage, path: &[Step<'_>], problem: impl Into<String>) {
        let number = self.numbers.get(&stage.name).copied().unwrap_or_default();
        self.at_number(number, stage, path, problem);
    }

    /// The same, for a stage whose name may be another's too.
    pub(super) fn at_number(
        &mut self,
        number: usize,
        stage: &Stage,
        path: &[Step<'_>],
        problem: impl Into<String>,
    ) {
        let whole: Vec<Step<'_>> =
            [Step::Key("stages"), Step::Item(number)].iter().chain(path).copied().collect();
        self.push(&whole, Some(stage.name.chars().take(80).collect()), path.first(), problem.into());
    }

    /// At a field of the pipeline.
    pub(super) fn at_top(&mut self, field: &str, problem: impl Into<String>) {
        self.push(&[Step::Key(field)], None, Some(&Step::Key(field)), problem.into());
    }

    /// Whether the file says anything about a field of a stage.
    pub(super) fn says(&self, number: usize, field: &str) -> bool {
        self.places.has(&[Step::Key("stages"), Step::Item(number), Step::Key(field)])
    }

    fn push(&mut self, path: &[Step<'_>], stage: Option<String>, field: Option<&Step<'_>>, problem: String) {
        let place = self.places.of_path(path);
        let field = match field {
            Some(Step::Key(field)) => Some((*field).to_owned()),
            Some(Step::Item(_)) | None => None,
        };
        let (line, column) = place.unzip();
        self.problems.push(Problem { line, column, stage, field, problem });
    }

    /// In the file's order, each once.
    pub(super) fn end(mut self) -> Vec<Problem> {
        self.problems.sort();
        self.problems.dedup();
        self.problems.truncate(MOST_PROBLEMS);
        self.problems
    }
}
