//! Repeats the tests of a receipt on this machine, with the repository's own commands in our own sandbox. Nothing that
//! a receipt says is ever run: its author could have written anything.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;

use crate::attest::ReceiptClaims;
use crate::config::TestRunSettings;
use crate::engine::testing::TestRunRequest;
use crate::order::TestingSettings;
use crate::order::receipt::TestEvidence;
use crate::order::settings::ProofRequirement;
use crate::workspace::Workspaces;

/// Results of the repeated tests.
#[derive(Debug, Clone, PartialEq)]
pub struct RepeatedTests {
    pub evidence: TestEvidence,
    /// Whether the settings name the image by digest.
    pub is_image_by_digest: bool,
    /// Whether the repository's settings require proof for any change.
    pub is_proof_wanted: bool,
}

/// Tests the receipt's commit as an order would, and returns the evidence.
///
/// # Errors
/// If the repository lacks a commit, or the sandbox or the disk fails. The tests' results are never an error.
pub async fn reverify(
    rules: &TestRunSettings,
    repository: &Path,
    claims: &ReceiptClaims,
) -> anyhow::Result<RepeatedTests> {
    let from =
        claims.base.clone().context("the receipt names no base commit, which says how it is tested")?;
    // The commit it was compared with, which is not the order's base if people committed to the branch.
    let scrutiny = claims.tests.as_ref().and_then(|tests| tests.scrutiny.as_ref());
    let base = scrutiny.map_or_else(|| from.clone(), |scrutiny| scrutiny.baseline.commit.clone());
    let place = tempfile::Builder::new().prefix("journeyman-again-").tempdir()?;
    let workspaces = Workspaces::new(&place.path().join("data"))?;
    let (name, path, commits) = (claims.repository.clone(), repository.to_owned(), workspaces.clone());
    let needed = [from, base.clone(), claims.commit.clone()];
    let settings = tokio::task::spawn_blocking(move || {
        commits.import_local(&name, &path)?;
        for commit in &needed {
            commits.root_files(&name, commit).with_context(|| {
                format!("the commit {commit} is needed: fetch the history of the branch and of its base, not the last commit alone")
            })?;
        }
        let [from, ..] = &needed;
        super::settings_on(&commits, &name, from)
    })
    .await??;
    let is_proof_wanted = settings.prove.of != ProofRequirement::Never;
    // Mutants only inform; no verdict rests on them.
    let how = TestingSettings { mutant_time: Duration::ZERO, ..rules.testing.clone() };
    let testing = super::commit_tester(rules, how, workspaces).await?;
    let commits = [base, claims.commit.clone()];
    let ask = TestRunRequest::new(claims.repository.clone(), commits, settings, place.path());
    let tested = Box::pin(testing.run(&ask)).await.map_err(|trouble| anyhow::anyhow!(trouble.message));
    // Not on drop: tests may leave deeply nested folders that `TempDir` cannot remove.
    super::remove_all(place.path())?;
    let tested = tested?;
    let mut evidence = TestEvidence::of(&tested.run);
    if let Some(scrutiny) = &mut evidence.scrutiny {
        scrutiny.mutants = None;
    }
    Ok(RepeatedTests { evidence, is_image_by_digest: tested.is_image_by_digest, is_proof_wanted })
}
