//! Whether what proves a change does so without the names that the change brings: an option or a variable that the new tests
//! alone turn on mends nothing for anybody else.

use super::checkout_run::CheckoutRun;
use super::experiment::ExperimentContext;
use super::{CommandOutput, EffectError};
use journeyman_order::{Proof, ProofGrade};
use journeyman_verify::Overlay;
use journeyman_verify::experiment::{
    ExperimentCell, ExperimentResult, TestTexts, has_names, is_of, is_of_tests, lie_told, not_loaded,
    without_new_names,
};

impl ExperimentContext<'_> {
    /// The tests of the change on the code of the base once it has the names that the change brings, with nothing behind them,
    /// where nothing is proven since the tests do not load without: what fails there by a test that has none of these names
    /// proves the change.
    pub(super) async fn prove_with_empty_names(
        &self,
        judgement: &mut ExperimentResult,
        judged_with: impl Fn(&ExperimentCell<'_>) -> ExperimentResult,
        outputs: &mut Vec<CommandOutput>,
    ) -> Result<(), EffectError> {
        let is_open = matches!(judgement.proof, Some(Proof::NamesWhatIsNew { .. }));
        if !is_open || self.change.empty_names.is_empty() {
            return Ok(());
        }
        let overlays = self.change.sides.new_tests.iter().chain(&self.change.empty_names).cloned().collect();
        let ran = self.run("-old-code-with-names", &self.ask.base, overlays, None).await?;
        outputs.extend(ran.outputs());
        let Some(Proof::Proven { by: by @ (ProofGrade::Test | ProofGrade::Case), red }) =
            judged_with(&ran.cell()).proof
        else {
            return Ok(());
        };
        let files = self.new_texts().await?;
        let red: Vec<String> =
            red.into_iter().filter(|name| !has_names(files, name, &self.change.introduced)).collect();
        if !red.is_empty() {
            judgement.proof = Some(Proof::Proven { by, red });
        }
        Ok(())
    }

    /// Takes out of a proof the tests that fail with the change as well once names that it brings are called otherwise in them,
    /// and what functions take since then is not passed. Names that the issue has, and those that a test expects to get, are left as they are.
    pub(super) async fn prove_without_new_names(
        &self,
        ran: &CheckoutRun,
        judgement: &mut ExperimentResult,
        outputs: &mut Vec<CommandOutput>,
    ) -> Result<(), EffectError> {
        let Some(Proof::Proven { red, by }) = &judgement.proof else { return Ok(()) };
        // Where no issue is known, nobody knows what it asks for.
        if self.ask.issue.is_empty() || !judgement.comparison.fixed.is_empty() {
            return Ok(());
        }
        if let Some((path, because)) = self.change.overgrown.first_key_value() {
            judgement.proof = Some(unread(path, because));
            return Ok(());
        }
        if self.change.introduced.is_empty() && self.change.parameters.is_empty() {
            return Ok(());
        }
        let (red, by) = (red.clone(), *by);
        let files = self.new_texts().await?;
        let expected: Vec<String> = TestTexts { files }
            .of_tests(&red, "")
            .into_iter()
            .flat_map(|(_, lies)| lies.into_iter().map(|lie| lie.was))
            .filter(|was| was.starts_with(['"', '\'', '`']))
            .collect();
        let titles = red.iter().map(String::as_str);
        let excepted: Vec<&str> = expected.iter().map(String::as_str).chain(titles).collect();
        let sides = &self.change.sides;
        // Tests that stand within the code are not laid over it by themselves.
        let is_whole =
            |overlay: &&Overlay| is_of_tests(&overlay.path) || sides.configuration.contains(&overlay.path);
        let tests: Vec<Overlay> = sides.new_tests.iter().filter(is_whole).cloned().collect();
        let renamed = without_new_names(
            &tests,
            &self.change.introduced,
            &self.change.parameters,
            &self.ask.issue,
            &excepted,
        );
        let is_of_red = |path: &&String| red.iter().any(|name| is_of(name, path) != Some(false));
        if let Some(path) = renamed.unread.iter().find(is_of_red) {
            judgement.proof = Some(unread(path, "it is too large or too tangled"));
            return Ok(());
        }
        if renamed.used.is_empty() {
            return Ok(());
        }
        let is_named = ran.reading.cases.is_some() && by != ProofGrade::File;
        let only = is_named.then_some(red.as_slice());
        let otherwise = self.run("-called-otherwise", &self.ask.commit, renamed.laid, only).await?;
        outputs.extend(otherwise.outputs());
        let cell = otherwise.cell();
        let is_loaded = not_loaded(&cell).is_empty();
        let fails = |name: &&String| match is_named {
            true => lie_told(&cell, Some(name)).unwrap_or(!is_loaded),
            false => !cell.is_green(),
        };
        let (of_new_names, sound): (Vec<String>, Vec<String>) =
            red.into_iter().partition(|name| fails(&name));
        if sound.is_empty() {
            judgement.proof = Some(Proof::NamesWhatIsNew { tests: of_new_names });
        } else if let Some(Proof::Proven { red, .. }) = &mut judgement.proof {
            *red = sound;
        }
        Ok(())
    }
}

/// What is proven where nobody can read for whom it was mended.
fn unread(path: &str, because: &str) -> Proof {
    let because = format!(
        "{path} cannot be read, since {because}, so that nobody can tell whether the tests pass by names that they alone use"
    );
    Proof::CannotTell { because }
}
