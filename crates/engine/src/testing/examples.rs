//! Calls of both codes: the issue's own examples, which the author of the change did not write, and calls like those of
//! the change's tests.

use super::context::ExperimentContext;
use super::{EffectError, TestRunRequest};
use journeyman_order::bounds::LARGEST_FILE;
use journeyman_order::scrutiny::{ExampleRun, NeighbourTally};
use journeyman_verify::examples::{
    AskedCalls, ExampleProgram, IssueExample, TestedCall, answers, can_be_called, comparable, judge_examples,
    neighbour_tally, programs,
};
use journeyman_verify::experiment::{Edit, Experiment, ExperimentName, KnownSoFar};

/// For each call the answers in the usual and in other surroundings.
type CallAnswers = Vec<[Vec<String>; 2]>;

impl ExperimentContext<'_> {
    /// What both codes answer to the calls in the issue, and the calls that cannot run on either.
    pub(super) fn answered(&self, known: &KnownSoFar<'_>) -> (Vec<ExampleRun>, Vec<String>) {
        let names = [ExperimentName::ExamplesBase, ExperimentName::Examples];
        let Some([before, after]) = self.answers(known, names) else { return Default::default() };
        let (before, after): (Vec<_>, Vec<_>) =
            before.iter().zip(&after).map(|(before, after)| comparable(before, after)).unzip();
        let sides = self.shown.iter().zip(before.iter().zip(&after));
        let unanswered = sides.filter(|(_, (before, after))| before.is_empty() && after.is_empty());
        let unanswered = unanswered.map(|(example, _)| example.code.clone()).collect();
        (judge_examples(&self.shown, &before, &after), unanswered)
    }

    /// What they answer to calls like those of the change's tests. `None` if none of them could be compared.
    pub(super) fn neighbours(&self, known: &KnownSoFar<'_>) -> Option<NeighbourTally> {
        let names = [ExperimentName::NeighboursBase, ExperimentName::Neighbours];
        let [before, after] = self.answers(known, names)?;
        let tally = neighbour_tally(&self.change.tested_calls, &self.basis.ask.issue, [&before, &after]);
        Some(tally).filter(|tally| tally.tried > 0)
    }

    /// The answers of base and change. `None` if they were not asked.
    fn answers(&self, known: &KnownSoFar<'_>, names: [ExperimentName; 2]) -> Option<[CallAnswers; 2]> {
        let [of_before, of_after] = &self.marks;
        let of = |name, mark: &str| Some(answers(known.last(name)?.cell.output, mark));
        Some([of(names[0], of_before)?, of(names[1], of_after)?])
    }

    /// The program that evaluates a row's calls on its code. `None` if none of its files defines what they call.
    pub(super) async fn call_program(&self, row: &Experiment) -> Result<Option<ExampleProgram>, EffectError> {
        let (programs, asked): (_, Vec<AskedCalls>) = match matches!(row.edit, Edit::Neighbours) {
            true => {
                let calls = self.change.tested_calls.iter();
                (&self.neighbour_programs, calls.map(TestedCall::asked).collect())
            }
            false => (&self.example_programs, self.shown.iter().map(IssueExample::asked).collect()),
        };
        let programs = programs.get_or_try_init(|| self.programs(asked)).await?;
        Ok(row.code.of(programs.each_ref()).clone())
    }

    async fn programs(&self, asked: Vec<AskedCalls>) -> Result<[Option<ExampleProgram>; 2], EffectError> {
        let TestRunRequest { repository, base, commit, issue, .. } = self.basis.ask.clone();
        let (marks, place) = (self.marks.clone(), self.user_place.clone());
        self.basis
            .testing
            .git(move |workspaces| {
                let files = |at| workspaces.some_files(&repository, at, LARGEST_FILE, &can_be_called);
                let (before, after) = (files(&base)?, files(&commit)?);
                let changes = workspaces.changes(&repository, &base, &commit)?;
                let changed = changes.into_iter().map(|file| file.path).collect();
                Ok(programs(&asked, &issue, [&before, &after], &changed, (&place, &marks)))
            })
            .await
    }
}
