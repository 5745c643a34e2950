//! The issue's own examples on both codes. The author of the change did not write them.

use super::context::ExperimentContext;
use super::{EffectError, TestRunRequest};
use journeyman_order::bounds::LARGEST_FILE;
use journeyman_order::scrutiny::ExampleRun;
use journeyman_verify::examples::{
    ExampleProgram, answers, can_be_called, comparable, judge_examples, programs,
};
use journeyman_verify::experiment::{ExperimentName, KnownSoFar, Side};

impl ExperimentContext<'_> {
    /// What both codes answer to the calls in the issue, and the calls that cannot run on either.
    pub(super) fn answered(&self, known: &KnownSoFar<'_>) -> (Vec<ExampleRun>, Vec<String>) {
        let of = |name, mark: &str| {
            let run = known.last(name)?;
            Some(answers(run.cell.output, mark, self.shown.len()))
        };
        let [of_before, of_after] = &self.marks;
        let (Some(before), Some(after)) =
            (of(ExperimentName::ExamplesBase, of_before), of(ExperimentName::Examples, of_after))
        else {
            return Default::default();
        };
        let (before, after): (Vec<_>, Vec<_>) =
            before.iter().zip(&after).map(|(before, after)| comparable(before, after)).unzip();
        let sides = self.shown.iter().zip(before.iter().zip(&after));
        let unanswered = sides.filter(|(_, (before, after))| before.is_empty() && after.is_empty());
        let unanswered = unanswered.map(|(example, _)| example.code.clone()).collect();
        (judge_examples(&self.shown, &before, &after), unanswered)
    }

    /// The program that evaluates them on a side's code. `None` if none of its files defines what they call.
    pub(super) async fn example_program(&self, side: Side) -> Result<Option<ExampleProgram>, EffectError> {
        let programs = self.example_programs.get_or_try_init(|| self.programs()).await?;
        Ok(side.of(programs.each_ref()).clone())
    }

    async fn programs(&self) -> Result<[Option<ExampleProgram>; 2], EffectError> {
        let TestRunRequest { repository, base, commit, issue, .. } = self.basis.ask.clone();
        let (shown, marks, place) = (self.shown.clone(), self.marks.clone(), self.user_place.clone());
        self.basis
            .testing
            .git(move |workspaces| {
                let files = |at| workspaces.some_files(&repository, at, LARGEST_FILE, &can_be_called);
                let (before, after) = (files(&base)?, files(&commit)?);
                let changes = workspaces.changes(&repository, &base, &commit)?;
                let changed = changes.into_iter().map(|file| file.path).collect();
                Ok(programs(&shown, &issue, [&before, &after], &changed, (&place, &marks)))
            })
            .await
    }
}
