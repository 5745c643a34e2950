//! Node and the package managers, and the versions of them that a repository asks for.
//!
//! May know: package.json. Must never know: what they install.

use crate::files::RepositoryFiles;
use crate::tool_facts::{SetupAction, ToolFacts, ToolPackage, WantedVersion};

pub(super) const YARN: ToolFacts = ToolFacts {
    name: "yarn",
    package: ToolPackage::Npm,
    package_since: Some((2, "@yarnpkg/cli-dist")),
    asked: of_manager,
    ..ToolFacts::NONE
};

pub(super) const TOOLS: &[ToolFacts] = &[
    ToolFacts {
        name: "node",
        actions: &[SetupAction::new("actions/setup-node", "node-version")],
        package: ToolPackage::NpmRuntime,
        version_files: &[".nvmrc", ".node-version"],
        asked: engine,
        any_version: &["node", "current", "latest"],
        ..ToolFacts::NONE
    },
    ToolFacts { name: "npm", asked: of_manager, ..ToolFacts::NONE },
    ToolFacts {
        name: "pnpm",
        actions: &[SetupAction {
            installs: |input| {
                let runs = input("run_install").is_some_and(|value| value != "false" && value != "null");
                runs.then_some("pnpm install")
            },
            ..SetupAction::new("pnpm/action-setup", "version")
        }],
        package: ToolPackage::Npm,
        asked: of_manager,
        ..ToolFacts::NONE
    },
    YARN,
    ToolFacts {
        name: "bun",
        actions: &[SetupAction::new("oven-sh/setup-bun", "bun-version")],
        package: ToolPackage::Npm,
        asked: of_manager,
        ..ToolFacts::NONE
    },
];

fn engine(files: &RepositoryFiles<'_>, tool: &str) -> Option<WantedVersion> {
    let manifest = files.json("package.json")?;
    Some(("package.json", manifest.get("engines")?.get(tool)?.as_str()?.to_owned()))
}

/// `packageManager` is exact: `pnpm@9.1.0+sha512.…`.
fn of_manager(files: &RepositoryFiles<'_>, tool: &str) -> Option<WantedVersion> {
    let said = || {
        let manifest = files.json("package.json")?;
        let said = manifest.get("packageManager")?.as_str()?;
        let version = said.strip_prefix(tool)?.strip_prefix('@')?.split('+').next()?;
        Some(("package.json", version.to_owned()))
    };
    said().or_else(|| engine(files, tool))
}
