//! What setup and tests may reach.

use super::{CommitTester, TestRunRequest};
use crate::command::to_reach;
use journeyman_environment::{EnvironmentPlan, SetupNetwork};
use journeyman_gateway::EgressPolicy;
use journeyman_order::{CommitSha, EffectError, TestingSettings};
use journeyman_workspace::Workspaces;

impl CommitTester {
    /// Where packages come from for a commit with these paths laid over it. What is changed is only read where there is
    /// something to install.
    pub(super) async fn setup_network(
        &self,
        ask: &TestRunRequest,
        commit: &CommitSha,
        laid: Vec<String>,
        plan: &EnvironmentPlan,
    ) -> Result<SetupNetwork, EffectError> {
        let Some(command) = plan.setup_command() else { return Ok(SetupNetwork::Hosts(Vec::new())) };
        let (repository, base, commit) = (ask.repository.clone(), ask.base.clone(), commit.clone());
        let read = move |workspaces: Workspaces| {
            let root = workspaces.root_files(&repository, &commit)?;
            let changes = workspaces.changes(&repository, &base, &commit)?;
            Ok((root, changes.into_iter().map(|file| file.path).chain(laid).collect::<Vec<_>>()))
        };
        let (root, edited) = self.git(read).await?;
        let TestingSettings { setup_network, setup_network_for_changes: allowed, .. } = &self.settings;
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
