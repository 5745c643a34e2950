//! The issue's own examples, on both codes: nobody who made the change has written them.

use super::checkout_run::{CheckoutRunSpec, RunPlace};
use super::experiment::ExperimentContext;
use super::{EffectError, VerdictBasis};
use journeyman_environment::PlannedTest;
use journeyman_order::CommitSha;
use journeyman_order::scrutiny::ExampleRun;
use journeyman_verify::examples::{
    BaseDefinitions, IssueExample, answers, examples, judge_examples, program,
};

/// Bytes of a side's files of code that are looked through.
const MOST_BYTES: usize = 16 << 20;

/// Files of code, and those that say what they belong to.
fn is_wanted(path: &str) -> bool {
    [".py", ".js", ".mjs", ".cjs", ".go", ".rs", ".c", ".h", "go.mod", "Cargo.toml"]
        .iter()
        .any(|end| path.ends_with(end))
}

impl ExperimentContext<'_> {
    /// What both codes answer to the calls that the issue shows; nothing where none of them can be run.
    pub(super) async fn examples(&self) -> Result<Vec<ExampleRun>, EffectError> {
        let shown = examples(&self.ask.issue);
        if shown.is_empty() {
            return Ok(Vec::new());
        }
        let base = self.base_definitions(&shown).await?;
        let after = self.answers("-examples", (&shown, &base), &self.ask.commit).await?;
        if after.iter().all(Vec::is_empty) {
            return Ok(Vec::new());
        }
        let before = self.answers("-examples-base", (&shown, &base), &self.ask.base).await?;
        Ok(judge_examples(&shown, &before, &after))
    }

    /// Where the base defines what the issue calls.
    async fn base_definitions(&self, shown: &[IssueExample]) -> Result<BaseDefinitions, EffectError> {
        let (repository, at, told) = (self.ask.repository.clone(), self.ask.base.clone(), shown.to_vec());
        let to = self.ask.commit.clone();
        self.testing
            .git(move |workspaces| {
                let files = workspaces.some_files(&repository, &at, MOST_BYTES, &is_wanted)?;
                let changes = workspaces.changes(&repository, &at, &to)?;
                let changed = changes.into_iter().map(|file| file.path).collect();
                Ok(BaseDefinitions::new(&told, &files, &changed))
            })
            .await
    }

    async fn answers(
        &self,
        what: &str,
        (shown, base): (&[IssueExample], &BaseDefinitions),
        commit: &CommitSha,
    ) -> Result<Vec<Vec<String>>, EffectError> {
        let (repository, at) = (self.ask.repository.clone(), commit.clone());
        let base = base.clone();
        let (told, mark) = (shown.to_vec(), uuid::Uuid::new_v4().simple().to_string());
        let own = mark.clone();
        let written = self
            .testing
            .git(move |workspaces| {
                let files = workspaces.some_files(&repository, &at, MOST_BYTES, &is_wanted)?;
                Ok(program(&told, &files, &base, &own))
            })
            .await?;
        let Some(written) = written else { return Ok(vec![Vec::new(); shown.len()]) };
        let VerdictBasis { plan, .. } = self.judging;
        let mut plan = plan.clone();
        plan.test = Some(PlannedTest::new(written.command, "the examples of the issue"));
        plan.report = None;
        // As somebody would run it, and not a machine that tests.
        let at = RunPlace::Elsewhere;
        let spec = CheckoutRunSpec { what, commit, overlays: written.overlays, plan: &plan, only: None, at };
        let ran = self.testing.run_in_checkout(self.ask, self.judging, spec).await?;
        Ok(answers(ran.last_output(), &mark, shown.len()))
    }
}
