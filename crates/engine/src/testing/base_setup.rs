//! Also runs a change that edits its own setup with the base's setup.
//!
//! May know: which files decide a setup. Must never know: what the runs come to.

use std::collections::BTreeSet;

use super::checkout_run::CheckoutRun;
use super::{TestRunRequest, VerdictBasis, remove};
use crate::command::FinishedCommand;
use crate::environment::{EnvironmentOwner, EnvironmentRequest, Preparation};
use journeyman_environment::{EnvironmentPlan, SetupNetwork};
use journeyman_order::bounds::MOST_IN_A_SENTENCE;
use journeyman_order::network::NetworkRecord;
use journeyman_order::{CommitSha, EffectError, Exit, TestVerdict};
use journeyman_verify::{Overlay, OverlayAction};
use journeyman_workspace::{ChangedContent, SourceTree, Workspaces};

pub(super) enum BaseSetup<'a> {
    PutBack(Box<VerdictBasis<'a>>),
    /// The base's version of a setup file cannot be read.
    Unreadable,
}

impl<'a> VerdictBasis<'a> {
    /// Whether the change is set up differently from the base, or with other files.
    pub(super) fn is_set_up_anew(&self) -> bool {
        !self.edited_setup.is_empty() || self.plan.setup_command() != self.before.setup_command()
    }

    /// The overlays of a commit: the base's setup is on both sides of the experiment, or on neither.
    pub(super) fn laid_over(&self, is_base: bool, overlays: Vec<Overlay>) -> Vec<Overlay> {
        let is_own = |overlay: &Overlay| !self.put_back.iter().any(|put_back| put_back.path == overlay.path);
        let put_back = if is_base { &[][..] } else { &self.put_back };
        put_back.iter().cloned().chain(overlays.into_iter().filter(is_own)).collect()
    }

    /// Why a pass verifies nothing if the change did not pass with both setups.
    pub(super) fn own_setup_doubt(&self) -> String {
        format!(
            "the change edits {}, and its tests were not seen to pass both with what its own setup installs and with \
             what that of the base does",
            self.named_setup()
        )
    }

    pub(super) fn offline_setup_doubt(&self) -> String {
        let remedy = match self.ask.is_of_a_fork {
            true => "a change that may be a fork's gets none",
            false => "sandbox.setup_network_for_changes = true in journeyman.toml gives it one",
        };
        format!(
            "the change edits {}, and its own setup failed without a network, so that its tests ran with what the setup of \
             the base installs; {remedy}",
            self.named_setup()
        )
    }

    fn named_setup(&self) -> String {
        let named: Vec<&str> =
            self.edited_setup.iter().take(MOST_IN_A_SENTENCE).map(String::as_str).collect();
        match (named.is_empty(), self.edited_setup.len().saturating_sub(MOST_IN_A_SENTENCE)) {
            (true, _) => "how it is set up".to_owned(),
            (false, 0) => named.join(", "),
            (false, more) => format!("{} and {more} more", named.join(", ")),
        }
    }

    /// The same change with the base's setup. `None` if its setup is the base's anyway.
    pub(super) async fn with_base_setup(&self) -> Result<Option<BaseSetup<'a>>, EffectError> {
        if !self.is_set_up_anew() {
            return Ok(None);
        }
        let edited: BTreeSet<&String> = self.edited_setup.iter().collect();
        let TestRunRequest { repository, base, commit, .. } = self.ask.clone();
        let changes =
            self.testing.git(move |workspaces| workspaces.changes(&repository, &base, &commit)).await?;
        let mut put_back = Vec::new();
        for file in changes.into_iter().filter(|file| edited.contains(&file.path)) {
            let action = match file.before {
                Some(ChangedContent::Whole(bytes)) => OverlayAction::Write(bytes.to_vec()),
                None => OverlayAction::Remove,
                Some(ChangedContent::NotRead) => return Ok(Some(BaseSetup::Unreadable)),
            };
            put_back.push(Overlay { path: file.path, action });
        }
        Ok(Some(BaseSetup::PutBack(Box::new(VerdictBasis {
            plan: self.before.clone(),
            edited_setup: Vec::new(),
            put_back,
            ..self.clone()
        }))))
    }

    /// Whether the change's setup failed for lack of a network: it ran offline, and the base's setup fails offline too.
    pub(super) async fn is_offline_failure(&self, own: &CheckoutRun) -> Result<bool, EffectError> {
        if !own.is_offline_failure() {
            return Ok(false);
        }
        let of_base = (self.ask.base.clone(), self.base.clone(), self.before.clone());
        Ok(self.failed_setup(of_base, own.setup_network.clone()).await?.is_some())
    }

    /// The hosts that a change's setup asked for in vain. A setup without network runs again to find out.
    pub(super) async fn asked_in_vain(
        &self,
        own: &CheckoutRun,
    ) -> Result<Option<NetworkRecord>, EffectError> {
        let mut record = own.setup.as_ref().and_then(|setup| setup.network.clone());
        if own.is_offline_failure() {
            let TestRunRequest { repository, commit, .. } = self.ask.clone();
            let source = move |workspaces: Workspaces| workspaces.source_tree(&repository, &commit);
            let source = self.testing.git(source).await?;
            let of_change = (self.ask.commit.clone(), source, self.plan.clone());
            if let Some(failed) = self.failed_setup(of_change, SetupNetwork::Nowhere).await? {
                record = failed.network;
            }
        }
        Ok(record.filter(|record| !record.refused.is_empty()))
    }

    /// How a commit's setup fails with this network. `None` if it does not.
    async fn failed_setup(
        &self,
        (commit, source, plan): (CommitSha, SourceTree, EnvironmentPlan),
        network: SetupNetwork,
    ) -> Result<Option<Box<FinishedCommand>>, EffectError> {
        let place = self.place().await?;
        let (of, inside) = ((self.ask.repository.clone(), commit), place.inside.clone());
        let owner = EnvironmentOwner::Folder(place.folder.join("setup"));
        let request = EnvironmentRequest::of_base(&self.testing.settings, of, source, plan, owner, inside);
        let request = EnvironmentRequest { network, ..request };
        let made = Box::pin(self.testing.environments.prepare(&request)).await;
        remove(&place.folder).await?;
        match made? {
            Preparation::Failed(failed) => Ok(Some(failed)),
            Preparation::Ready(_) => Ok(None),
        }
    }
}

impl CheckoutRun {
    pub(super) fn is_passed(&self) -> bool {
        self.cell().verdict().is_some_and(TestVerdict::is_pass)
    }

    /// What only the server's operator can do for a setup that asked for what is in the record.
    pub(super) fn kept_out(&self, record: &NetworkRecord) -> String {
        let hosts: Vec<&str> =
            record.refused.iter().take(MOST_IN_A_SENTENCE).map(|refused| refused.what.as_str()).collect();
        self.setup_network.remedy(&hosts.join(", "))
    }

    /// Whether its setup failed, and had no network because the change edits what is installed.
    fn is_offline_failure(&self) -> bool {
        let is_failed = self.setup.as_ref().is_some_and(|setup| setup.run.exit != Exit::Code(0));
        self.test.is_none() && is_failed && matches!(self.setup_network, SetupNetwork::Edited(_))
    }
}
