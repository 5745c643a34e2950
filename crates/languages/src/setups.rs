//! What setups of any language need and make: tools, and packages from registries.
//!
//! May know: the lists of all languages. Must never know: which languages there are, plans, how a setup runs.

use crate::files::{RepositoryFiles, fits, fits_path};
use crate::grammar_kind::file_name;
use crate::language::PackageSource;
use crate::planned::PackagePlace;
use crate::table::{self, LANGUAGES, all};
use crate::tool_facts::{SetupAction, ToolFacts, ToolPackage};

#[cfg(test)]
mod tests;

/// The public registries of the package managers that the root has files for, or that words of a setup name.
pub fn registries(root: &[String], words: &[&str]) -> Vec<&'static str> {
    let is_used = |source: &&PackageSource| {
        root.iter().any(|name| source.signs.iter().any(|sign| fits(sign, name)))
            || words.iter().any(|word| source.programs.contains(&file_name(word)))
    };
    let used = all(|facts| facts.packages).filter(is_used);
    let mut hosts: Vec<&str> = used.flat_map(|source| source.hosts).copied().collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}

/// Whether a file decides what a setup installs or runs, whatever its commands are.
pub fn decides(path: &str) -> bool {
    deciding().chain(all(|facts| facts.protected).copied()).chain(DECIDES).any(|sign| fits_path(sign, path))
}

/// Signs of the files that decide, of all languages, besides those that no agent may change.
fn deciding() -> impl Iterator<Item = &'static str> {
    let signs = all(|facts| facts.packages).flat_map(|source| source.signs);
    let versions = all(|facts| facts.tools).flat_map(|tool| tool.version_files);
    let manifests = all(|facts| facts.manifests).chain(all(|facts| facts.lockfiles));
    signs.chain(versions).chain(manifests).chain(all(|facts| facts.decides)).copied()
}

/// Files of other package managers, and of a tool that installs any language, which decide too.
const DECIDES: [&str; 8] = [
    "*.lock", "*.lockb", "*.lockfile", "*-lock.json", "*-lock.yaml", ".tool-versions", "mise.toml",
    ".mise.toml",
];

/// Whether a file with an ending can be run by its name.
pub fn is_script(ending: &str) -> bool {
    all(|facts| facts.scripts).any(|script| *script == ending)
}

/// The commands of the repository that package managers run during an installation, one a line.
pub fn install_scripts(files: &RepositoryFiles<'_>) -> String {
    let scripts = LANGUAGES.iter().flat_map(|language| language.install_scripts(files));
    scripts.map(|script| format!("\n{script}")).collect()
}

/// The paths of the repository's own code that an installation runs otherwise.
pub fn build_modules(files: &RepositoryFiles<'_>) -> Vec<String> {
    LANGUAGES.iter().flat_map(|language| language.build_modules(files)).collect()
}

/// Patterns of the folders that hold what is installed.
pub fn dependency_folders() -> impl Iterator<Item = &'static str> {
    all(|facts| facts.dependency_folders).copied()
}

/// Whether a setup of these commands makes a folder of programs without naming it.
pub fn makes_programs(folder: &str, commands: &str) -> bool {
    let folders = all(|facts| facts.program_folders).filter(|programs| programs.folder == folder);
    folders.flat_map(|programs| programs.made_by).any(|part| commands.contains(part))
}

/// Places for packages that these commands would install on the machine.
pub fn package_places(commands: &str) -> impl Iterator<Item = PackagePlace> {
    LANGUAGES.iter().filter_map(move |language| language.package_place(commands))
}

/// Settings of package managers in which a variable may hold a token.
pub fn token_files() -> impl Iterator<Item = &'static str> {
    all(|facts| facts.token_files).copied()
}

/// Globs of the paths that no agent may change.
pub fn protected() -> impl Iterator<Item = String> {
    all(|facts| facts.protected).map(|sign| glob(sign))
}

/// Globs of the paths that decide which third-party code is fetched, built or run.
pub fn told() -> impl Iterator<Item = String> {
    let files = deciding().filter(|sign| !sign.ends_with('/'));
    files.chain(all(|facts| facts.told).copied()).map(glob)
}

/// The glob for a name or a path in any folder.
fn glob(sign: &str) -> String {
    let inside = if sign.ends_with('/') { "**" } else { "" };
    format!("**/{sign}{inside}")
}

/// The arguments that print a program's version.
pub fn version_arguments(program: &str) -> &'static [&'static str] {
    let tool = all(|facts| facts.tools).find(|tool| tool.program() == program);
    tool.unwrap_or(&ToolFacts::NONE).version_arguments
}

/// The tools that a setup can install, by their names.
pub fn installable_tools() -> impl Iterator<Item = &'static str> {
    let of_registry = |tool: &&ToolFacts| matches!(tool.package, ToolPackage::Pypi | ToolPackage::Npm);
    all(|facts| facts.tools).filter(of_registry).map(|tool| tool.name)
}

/// Whether a setup can install a tool that is the runtime of a project.
pub fn is_installable_runtime(tool: &str) -> bool {
    table::tool(tool).package == ToolPackage::NpmRuntime
}

/// The action of workflows with a name, and the tool that it sets up.
pub fn setup_action(name: &str) -> Option<(&'static str, &'static SetupAction)> {
    all(|facts| facts.tools).find_map(|tool| {
        let action = tool.actions.iter().find(|action| action.name == name)?;
        Some((tool.name, action))
    })
}
