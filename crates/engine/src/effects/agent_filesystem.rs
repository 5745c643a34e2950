//! What an agent finds in its repository's environment: its repository's work tree, or a commit to look at.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{EffectContext, EffectError, disk, soon};
use crate::environment::{Environment, EnvironmentRequest, PlaceLease, Preparation};
use crate::job::readable;
use crate::place::EnvironmentPlace;
use journeyman_order::CommitSha;
use journeyman_order::moves::{AgentTask, AgentTaskWorkspace};
use journeyman_sandbox::Mount;
use journeyman_workspace::{OrderDirs, SourceTree};

pub(super) struct AgentFilesystem {
    /// Its checkout and its home. Agents that judge one another share no home.
    pub(super) place: EnvironmentPlace,
    pub(super) mounts: Vec<Mount>,
    _lease: PlaceLease,
}

impl EffectContext {
    pub(super) async fn agent_filesystem(&self, task: &AgentTask) -> Result<AgentFilesystem, EffectError> {
        let mut seen = match &task.place {
            AgentTaskWorkspace::Workspace => {
                self.ready_workspace(task.branch.as_ref(), task.start.as_ref()).await?
            }
            AgentTaskWorkspace::Checkout { commit } => {
                let folder = self.place_of(task);
                let (ask, environment) = self.environment().await?;
                let source = self.source(commit).await?;
                let ask = EnvironmentRequest { source, commit: commit.clone(), ..ask };
                let inside = self.parts.environments.inside(&folder);
                let made = Arc::clone(&environment);
                let place = crate::job::blocking(move || made.place_to_look_from(&ask, (&folder, &inside)));
                match place.await? {
                    Ok(place) => self.held(place, Vec::new()).await?,
                    Err(error) => return Err(self.after_trouble(disk("lay out a commit")(error)).await),
                }
            }
        };
        self.lay_attachments(task, &mut seen).await?;
        Ok(seen)
    }

    pub(super) async fn environment(&self) -> Result<(EnvironmentRequest, Arc<Environment>), EffectError> {
        let (base, folder) = (self.base_request()?, self.order_root());
        let asked = self.tester().environment_request(&base, &folder).await;
        let (ask, _) = match asked {
            Ok(asked) => asked,
            Err(fault) => return Err(self.after_trouble(fault.into()).await),
        };
        match Box::pin(self.parts.environments.prepare(&ask)).await? {
            Preparation::Ready(environment) => Ok((ask, environment)),
            Preparation::Failed(failed) => Err(soon(format!(
                "the setup `{}` ended with {}, so that no agent can work: {}",
                failed.run.command,
                failed.run.exit,
                journeyman_verify::tail(&failed.output.text).lines().next_back().unwrap_or_default()
            ))),
        }
    }

    pub(super) async fn held(
        &self,
        place: EnvironmentPlace,
        mounts: Vec<Mount>,
    ) -> Result<AgentFilesystem, EffectError> {
        let lease = self.parts.environments.hold(&place).await?;
        Ok(AgentFilesystem { _lease: lease, place, mounts })
    }

    pub(super) async fn source(&self, commit: &CommitSha) -> Result<SourceTree, EffectError> {
        let commit = commit.clone();
        self.git(move |workspaces, repository| workspaces.source_tree(repository, &commit)).await
    }

    pub(super) fn seen_dirs(&self) -> OrderDirs {
        OrderDirs::at(&self.parts.environments.inside(&self.order_root()))
    }

    pub(super) fn order_root(&self) -> PathBuf {
        self.parts.workspaces.order_dirs(self.order).root
    }

    pub(super) fn place_of(&self, task: &AgentTask) -> PathBuf {
        match &task.place {
            AgentTaskWorkspace::Workspace => self.order_root(),
            AgentTaskWorkspace::Checkout { .. } => {
                self.parts.workspaces.review_folder(self.order, &task.stage, &task.role)
            }
        }
    }

    pub(super) fn origin_mounts(&self, how: fn(&Path) -> Mount) -> Vec<Mount> {
        let places = self.parts.workspaces.order_dirs(self.order);
        vec![how(&places.origin), readable(&places.packs)]
    }
}
