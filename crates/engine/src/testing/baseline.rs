//! The tests on a base commit: run once, and kept for all orders that start there.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::checkout_run::CheckoutRunSpec;
use super::{BaselineSource, CommandOutput, VerdictBasis};
use journeyman_order::bounds::{LONGEST_TAIL, MOST_LISTED};
use journeyman_order::test_run::CommandRun;
use journeyman_order::{EffectError, Exit, TestReport, TestVerdict};
use journeyman_verify::experiment::{ExperimentCell, ExperimentName, words_of};
use journeyman_workspace::write_whole;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CachedBaseline {
    /// `None` if it could not run, such as after a failed setup.
    pub(crate) test: Option<CommandRun>,
    pub(crate) reading: TestReport,
    #[serde(default)]
    pub(crate) tail: String,
    #[serde(default)]
    pub(super) rewritten: Vec<String>,
    #[serde(default)]
    pub(super) without_tests: Vec<String>,
    #[serde(skip)]
    pub(crate) kept: bool,
    #[serde(skip)]
    pub(super) outputs: Vec<CommandOutput>,
}

impl CachedBaseline {
    pub(super) fn cell(&self) -> ExperimentCell<'_> {
        ExperimentCell { exit: self.exit(), reading: &self.reading, output: &self.tail }
    }

    pub(super) fn exit(&self) -> Option<Exit> {
        self.test.as_ref().map(|run| run.exit)
    }

    pub(super) fn seconds(&self) -> f64 {
        self.test.as_ref().map_or(0.0, |run| run.duration_seconds)
    }

    pub(super) fn is_passed(&self) -> Option<bool> {
        self.cell().verdict().map(TestVerdict::is_pass)
    }
}

impl VerdictBasis<'_> {
    pub(super) async fn baseline(&self, source: BaselineSource) -> Result<CachedBaseline, EffectError> {
        let file = self.file();
        if source == BaselineSource::KnownOrRun
            && let Some(known) = read(&file)
        {
            return Ok(known);
        }
        let run = CheckoutRunSpec::all("-base", &self.ask.base, &self.before);
        let words = words_of(ExperimentName::Base);
        let ran = self.run_in_checkout(CheckoutRunSpec { words: &words, ..run }).await?;
        let outputs = ran.outputs().collect();
        let text = ran.last_output();
        let tail =
            text.get(text.floor_char_boundary(text.len().saturating_sub(LONGEST_TAIL))..).unwrap_or_default();
        let known = CachedBaseline {
            tail: tail.to_owned(),
            test: ran.test.map(|ended| ended.run),
            reading: ran.reading,
            rewritten: ran.rewritten,
            without_tests: ran.without_tests,
            kept: false,
            outputs,
        };
        // An unfinished run says nothing about the commit: a slow machine must not be remembered as a red base.
        if matches!(known.exit(), Some(Exit::Code(_)))
            && let Err(error) = keep(&file, &known)
        {
            tracing::warn!("a baseline is not kept: {error}");
        }
        Ok(known)
    }

    /// The same commit tested in another way, or in another sandbox, is another baseline.
    fn file(&self) -> PathBuf {
        let (plan, mut digest) = (&self.before, Sha256::new());
        let mode = self.testing.sandbox.mode().to_string();
        let setup = plan.setup_command();
        for part in
            [setup.as_deref(), plan.test_command(), plan.report.as_deref()].map(Option::unwrap_or_default)
        {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        let image = plan.image.iter().map(String::as_str);
        let services = plan.services.iter().map(|service| service.image.as_str());
        for image in image.chain(services) {
            digest.update(image);
        }
        // So is one that ran while some Git LFS content was missing.
        for (path, content) in self.base.large_files() {
            digest.update(path.as_os_str().as_encoded_bytes());
            digest.update(content);
        }
        digest.update(mode);
        digest.update(env!("CARGO_PKG_VERSION"));
        // The version of what is read and kept of a run.
        digest.update("form 9");
        let how = hex::encode(digest.finalize());
        let folder = self.testing.workspaces.baselines(&self.ask.repository);
        folder.join(format!("{}-{}.json", self.ask.base, how.get(..16).unwrap_or(&how)))
    }
}

/// An unreadable file counts as missing.
fn read(file: &Path) -> Option<CachedBaseline> {
    let known: CachedBaseline = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    Some(CachedBaseline { kept: true, ..known })
}

fn keep(file: &Path, known: &CachedBaseline) -> std::io::Result<()> {
    write_whole(file, &serde_json::to_vec(known)?)?;
    file.parent().map_or(Ok(()), forget_the_oldest)
}

fn forget_the_oldest(folder: &Path) -> std::io::Result<()> {
    let mut kept: Vec<_> = std::fs::read_dir(folder)?
        .filter_map(Result::ok)
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    kept.sort();
    let over = kept.len().saturating_sub(MOST_LISTED);
    kept.into_iter().take(over).try_for_each(|(_, path)| std::fs::remove_file(path))
}
