//! Environments: from a repository's files to a plan of what its work happens in, and how it is tested.
//!
//! May know: settings, development containers, setup steps, manifests and lockfiles, package managers and registries.
//! Must never know: how a process is started or walled in, what tests print, agents, orders.
//!
//! Nothing here reads a file, asks a clock or starts a process: files and tools are asked through closures. No library
//! was found that does this: nixpacks, railpack and the buildpacks are programs that make images, know how a project
//! is *deployed* rather than tested, and take what the host has from nowhere but their own images.

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
