//! Where an agent works: in the order's one work tree, or before a checkout that it may only read.

use std::path::PathBuf;

use super::{Context, Trouble};
use crate::job::{readable, writable};
use journeyman_order::moves::{AgentTask, Place};
use journeyman_sandbox::Mount;

/// What an agent sees of an order.
pub(super) struct Workplace {
    /// Where it starts.
    pub(super) directory: PathBuf,
    /// Its home. No two that judge one another have the same.
    pub(super) home: PathBuf,
    /// What it may read and write besides.
    pub(super) mounts: Vec<Mount>,
}

impl Context {
    /// Readies the place that a task names.
    pub(super) async fn workplace(&self, task: &AgentTask) -> Result<Workplace, Trouble> {
        let workspaces = &self.parts.workspaces;
        match &task.place {
            Place::Workspace => {
                self.ready_workspace(task.branch.as_ref(), task.start.as_ref()).await?;
                let places = workspaces.places(self.order);
                let mounts = vec![writable(&places.work), writable(&places.origin)];
                Ok(Workplace { directory: places.work, home: places.home, mounts })
            }
            Place::Checkout { commit } => {
                let seat = workspaces.seat(self.order, &task.stage, &task.role);
                let (repository, commit, before) =
                    (self.opened().repository.clone(), commit.clone(), seat.clone());
                self.git(move |workspaces| workspaces.prepare_seat(&repository, &commit, &before)).await?;
                let mounts = vec![readable(&seat.tree)];
                Ok(Workplace { directory: seat.tree, home: seat.home, mounts })
            }
        }
    }
}
