//! What setup and tests may reach.

use super::{CommitTester, TestRunRequest, VerdictBasis};
use crate::command::to_reach;
use journeyman_environment::{EnvironmentPlan, SetupNetwork};
use journeyman_gateway::EgressPolicy;
use journeyman_order::{CommitSha, EffectError, TestingSettings};
use journeyman_workspace::SourceTree;

impl CommitTester {
    /// The hosts that the setup of a commit may reach.
    pub(super) async fn setup_network(
        &self,
        (ask, commit, plan): (&TestRunRequest, &CommitSha, &EnvironmentPlan),
        source: &SourceTree,
        basis: &VerdictBasis,
    ) -> Result<SetupNetwork, EffectError> {
        let Some(command) = plan.setup_command() else { return Ok(SetupNetwork::Hosts(Vec::new())) };
        let (repository, commit) = (ask.repository.clone(), commit.clone());
        let root = self.git(move |workspaces| workspaces.root_files(&repository, &commit)).await?;
        let TestingSettings { setup_network, setup_network_for_changes: allowed, .. } = &self.settings;
        let edited: Vec<String> =
            source.difference(&basis.base).iter().map(|path| path.display().to_string()).collect();
        let run: Vec<String> =
            edited.iter().filter(|path| basis.edited_setup.contains(path)).cloned().collect();
        if !allowed && !run.is_empty() {
            return Ok(SetupNetwork::Edited(run));
        }
        Ok(journeyman_environment::setup_network(setup_network, &root, &command, &edited, *allowed))
    }

    /// Nothing, unless the repository asks for it and the server's settings allow it.
    pub(super) fn for_tests(&self, ask: &TestRunRequest) -> Result<Option<EgressPolicy>, EffectError> {
        const SETTING: &str =
            "`network` in .github/journeyman.yml and sandbox.test_network in journeyman.toml";
        let asked = ask.settings.network.iter().flatten();
        let allowed: Vec<String> = self
            .settings
            .test_network
            .iter()
            .filter(|entry| asked.clone().any(|asked| asked == *entry))
            .cloned()
            .collect();
        if allowed.is_empty() {
            return Ok(None);
        }
        to_reach(&allowed, SETTING, &self.settings).map(Some)
    }
}
