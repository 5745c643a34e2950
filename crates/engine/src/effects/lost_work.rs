//! What an agent pushed and this machine has lost. The round says so, and the next one begins.
//!
//! May know: which commits a move is about. Must never know: why they are gone.

use super::{EffectContext, EffectResult};
use journeyman_order::moves::{AgentTaskWorkspace, Retry};
use journeyman_order::{EffectError, EffectOutcome, Move, MoveKey};

impl EffectContext {
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other move is about a commit of ours")]
    pub(super) fn about(&self) -> Vec<String> {
        let Some(intended) = self.journal.intended(&self.key).next_back() else { return Vec::new() };
        match intended {
            Move::RunTests { commit } | Move::Push { commit, .. } => vec![commit.to_string()],
            Move::Commit { tree, parent, .. } => vec![tree.to_string(), parent.to_string()],
            Move::Import { base, .. } => vec![base.to_string()],
            Move::UpdateBranch { head, .. } => vec![head.to_string()],
            Move::RunAgent(task) => match &task.place {
                AgentTaskWorkspace::Checkout { commit } => vec![commit.to_string()],
                AgentTaskWorkspace::Workspace => task.start.iter().map(ToString::to_string).collect(),
            },
            _ => Vec::new(),
        }
    }

    /// What came of an effect of a round. If nothing has its commit any more, the round has nothing to show.
    pub(super) async fn unless_lost(&self, of: &str, tried: EffectResult) -> EffectResult {
        let Err(EffectError { message, retry: Retry::Never }) = &tried else { return tried };
        let round = self.key.0.strip_suffix(of);
        let import = round.map(|round| MoveKey(format!("{round}import")));
        if import.is_none_or(|import| self.journal.observed(&import).next().is_none()) {
            return tried;
        }
        let about = self.about();
        let read = self.blocking_git(move |workspaces, repository| {
            about.iter().try_for_each(|wanted| workspaces.read_through(repository, wanted))
        });
        if !matches!(read.await, Ok(Err(error)) if error.is_ours) {
            return tried;
        }
        tracing::error!(order = %self.order, "what was pushed is lost: {message}");
        let because = "what was pushed before is gone from the machine that Journeyman runs on".to_owned();
        Ok(EffectOutcome::NothingPushed { because })
    }
}
