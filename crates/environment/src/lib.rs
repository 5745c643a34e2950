//! Environments: turns a repository's files into a plan of its environment and its test command.
//!
//! May know: settings, development containers, setup steps, manifests and lockfiles, package managers and registries.
//! Must never know: how a process is started or sandboxed, what tests print, agents, orders.
//!
//! Nothing here reads a file, a clock or starts a process; closures provide files and tools. No library does this.
//! nixpacks, railpack and the buildpacks are programs that build images. They know how a project is *deployed* rather
//! than tested, and use only their own images, not the host's tools.

mod cargo;
mod decisive;
mod devcontainer;
mod dotnet;
mod environment_plan;
mod files;
mod folders;
mod found;
mod go;
mod judge;
mod jvm;
mod native;
mod network;
mod node;
mod php;
mod planning;
mod project;
mod project_folders;
mod projects;
mod python;
mod reach;
mod required_tool;
mod ruby;
mod setup_steps;
mod statement;
mod version;

pub use environment_plan::{
    DependencyFolders, EnvironmentPlan, EnvironmentSource, PlannedFolder, PlannedService, PlannedTest,
    ProgramFolder, ProjectBelow, SetupCommand,
};
pub use files::RepositoryFiles;
pub use folders::plan;
pub use judge::{edited_setup, judge_by, without_own_tests};
pub use network::{REGISTRIES, SetupNetwork, decides, setup_network};
pub use planning::MOST_COMMANDS;
pub use projects::unrun_projects;
pub use required_tool::{HostTools, RequiredTool, ToolFit, version_arguments};

#[cfg(test)]
mod tests;
