//! Environments: turns a repository's files into a plan of its environment and its test command.
//!
//! May know: settings, development containers, setup steps, manifests and lockfiles, package managers and registries.
//! Must never know: how a process is started or sandboxed, what tests print, agents, orders.
//!
//! Nothing here reads a file, a clock or starts a process; closures provide files and tools. No library does this.
//! nixpacks, railpack and the buildpacks are programs that build images. They know how a project is *deployed* rather
//! than tested, and use only their own images, not the host's tools.

mod decisive;
mod devcontainer;
mod environment_plan;
mod folders;
mod judge;
mod network;
mod planning;
mod project_folders;
mod projects;
mod reach;
mod setup_steps;
mod statement;
mod workflow;

pub use environment_plan::{
    DependencyFolders, EnvironmentPlan, EnvironmentSource, PlannedFolder, PlannedService, ProjectBelow,
};
pub use folders::plan;
pub use journeyman_languages::builds::kept_build;
pub use journeyman_languages::files::RepositoryFiles;
pub use journeyman_languages::planned::{BuildFolder, KeptBuild, PlannedTest, ProgramFolder, SetupCommand};
pub use journeyman_languages::required_tool::{HostTools, RequiredTool, ToolFit};
pub use journeyman_languages::setups::version_arguments;
pub use judge::{edited_setup, judge_by, without_own_tests};
pub use network::{REGISTRIES, SetupNetwork, decides, setup_network};
pub use planning::MOST_COMMANDS;
pub use projects::unrun_projects;

#[cfg(test)]
mod tests;
