//! Where an agent works: in the order's one work tree, or before a checkout that it may only read.

use std::path::PathBuf;

use super::{EffectContext, EffectError};
use crate::job::{readable, writable};
use journeyman_order::moves::{AgentTask, AgentTaskWorkspace};
use journeyman_sandbox::Mount;

/// What an agent sees of an order.
pub(super) struct AgentFilesystem {
    pub(super) directory: PathBuf,
    /// Its home. No two that judge one another have the same.
    pub(super) home: PathBuf,
    /// What it may read and write besides.
    pub(super) mounts: Vec<Mount>,
}

impl EffectContext {
    /// Readies the place that a task names.
    pub(super) async fn agent_filesystem(&self, task: &AgentTask) -> Result<AgentFilesystem, EffectError> {
        let workspaces = &self.parts.workspaces;
        match &task.place {
            AgentTaskWorkspace::Workspace => {
                self.ready_workspace(task.branch.as_ref(), task.start.as_ref()).await?;
                let places = workspaces.order_dirs(self.order);
                let mounts = vec![writable(&places.work), writable(&places.origin)];
                Ok(AgentFilesystem { directory: places.work, home: places.home, mounts })
            }
            AgentTaskWorkspace::Checkout { commit } => {
                let seat = workspaces.review_checkout(self.order, &task.stage, &task.role);
                let (repository, commit, before) =
                    (self.opened().repository.clone(), commit.clone(), seat.clone());
                self.git(move |workspaces| workspaces.prepare_review_checkout(&repository, &commit, &before))
                    .await?;
                let mounts = vec![readable(&seat.tree)];
                Ok(AgentFilesystem { directory: seat.tree, home: seat.home, mounts })
            }
        }
    }
}
