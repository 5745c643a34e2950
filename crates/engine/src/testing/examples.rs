//! Runs the issue's own examples on both codes. The author of the change did not write them.

use super::checkout_run::{CheckoutRunSpec, RunPlace};
use super::experiment::ExperimentContext;
use super::{EffectError, TestRunRequest};
use journeyman_environment::PlannedTest;
use journeyman_order::CommitSha;
use journeyman_order::bounds::LARGEST_FILE;
use journeyman_order::scrutiny::ExampleRun;
use journeyman_verify::examples::{
    ExampleProgram, IssueExample, answers, examples, judge_examples, programs,
};

fn is_wanted(path: &str) -> bool {
    [".py", ".js", ".mjs", ".cjs"].iter().any(|end| path.ends_with(end))
}

impl ExperimentContext<'_> {
    /// What both codes answer to the calls in the issue, and the calls that cannot run on either.
    pub(super) async fn examples(&self) -> Result<(Vec<ExampleRun>, Vec<String>), EffectError> {
        let shown = examples(&self.ask.issue);
        if shown.is_empty() {
            return Ok(Default::default());
        }
        // What one run learns about its mark is useless in the other.
        let marks = [(); 2].map(|()| uuid::Uuid::new_v4().simple().to_string());
        let [before, after] = self.programs(&shown, &marks).await?;
        let answered = |ran: Option<String>, mark: &str| match ran {
            Some(output) => answers(&output, mark, shown.len()),
            None => vec![Vec::new(); shown.len()],
        };
        let [of_before, of_after] = &marks;
        let after = answered(self.output("-examples", after, &self.ask.commit).await?, of_after);
        let before = answered(self.output("-examples-base", before, &self.ask.base).await?, of_before);
        let sides = shown.iter().zip(before.iter().zip(&after));
        let unanswered = sides.filter(|(_, (before, after))| before.is_empty() && after.is_empty());
        let unanswered = unanswered.map(|(example, _)| example.code.clone()).collect();
        Ok((judge_examples(&shown, &before, &after), unanswered))
    }

    /// The programs that evaluate them, on the base's code and on the change's.
    async fn programs(
        &self,
        shown: &[IssueExample],
        marks: &[String; 2],
    ) -> Result<[Option<ExampleProgram>; 2], EffectError> {
        let TestRunRequest { repository, base, commit, issue, .. } = self.ask.clone();
        let (shown, marks) = (shown.to_vec(), marks.clone());
        self.testing
            .git(move |workspaces| {
                let files = |at| workspaces.some_files(&repository, at, LARGEST_FILE, &is_wanted);
                let (before, after) = (files(&base)?, files(&commit)?);
                let changes = workspaces.changes(&repository, &base, &commit)?;
                let changed = changes.into_iter().map(|file| file.path).collect();
                Ok(programs(&shown, &issue, [&before, &after], &changed, &marks))
            })
            .await
    }

    async fn output(
        &self,
        what: &str,
        written: Option<ExampleProgram>,
        commit: &CommitSha,
    ) -> Result<Option<String>, EffectError> {
        let Some(written) = written else { return Ok(None) };
        let mut plan = self.basis.plan.clone();
        plan.test = Some(PlannedTest::new(written.command, "the examples of the issue"));
        plan.report = None;
        let spec = CheckoutRunSpec {
            overlays: written.overlays,
            // As a person would run it, not CI.
            at: RunPlace::Elsewhere,
            ..CheckoutRunSpec::all(what, commit, &plan)
        };
        let ran = self.testing.run_in_checkout(self.ask, self.basis, spec).await?;
        Ok(Some(ran.last_output().to_owned()))
    }
}
