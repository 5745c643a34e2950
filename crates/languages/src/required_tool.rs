//! The tools that an environment needs, and how to install a missing one.
//!
//! May know: what is known of a tool. Must never know: any tool, how to start one.

use crate::files::{RepositoryFiles, quote};
use crate::planned::{ProgramFolder, SetupCommand};
use crate::tool_facts::{ToolFacts, ToolPackage};
use crate::version::{first_version, fits, major};

/// The tools that exist where the jobs run: on the host, or in the image.
pub struct HostTools<'a> {
    has: &'a dyn Fn(&str) -> bool,
    version: &'a dyn Fn(&str) -> Option<String>,
}

impl<'a> HostTools<'a> {
    /// `has` says whether a program is on the PATH. `version` is the program's output for
    /// [`crate::setups::version_arguments`], if it is known and the program succeeded.
    pub fn new(has: &'a dyn Fn(&str) -> bool, version: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { has, version }
    }

    pub(crate) fn has(&self, program: &str) -> bool {
        (self.has)(program)
    }

    pub(crate) fn version(&self, program: &str) -> Option<String> {
        first_version(&(self.version)(program)?).map(str::to_owned)
    }
}

/// A program that the environment needs before its setup begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredTool {
    pub tool: &'static str,
    /// As the repository writes it. `None` for any version.
    pub version: Option<String>,
    /// The file that sets the version, or else the file that needs the tool.
    pub file: String,
    /// The present version, if known.
    pub present: Option<String>,
    pub fit: ToolFit,
}

/// Whether the present version meets the requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolFit {
    Fits,
    /// Present in another version.
    OtherVersion,
    Missing,
    /// Present, but its version or the requirement is unknown.
    Unknown,
    /// The setup installs it.
    Installed,
}

impl std::fmt::Display for RequiredTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { tool, version, file, present, fit } = self;
        let wanted = version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
        let present = present.as_deref().unwrap_or("a version that is not known");
        let (what, told) = match fit {
            ToolFit::Fits | ToolFit::Unknown => (present, " is there"),
            ToolFit::OtherVersion => (present, " is there, which is another version"),
            ToolFit::Missing => ("it", " is missing on this machine; install it"),
            ToolFit::Installed => ("the setup", " installs it"),
        };
        write!(f, "{tool}{wanted} ({file}): {what}{told}")
    }
}

/// Collects the tools that an environment needs, and the commands that install them where possible.
pub struct ToolCollector<'a> {
    files: &'a RepositoryFiles<'a>,
    pub(crate) tools: &'a HostTools<'a>,
    /// What is known of a tool.
    facts: fn(&str) -> &'static ToolFacts,
    pub required: Vec<RequiredTool>,
    /// The tool, and the command that installs it.
    pub installs: Vec<(&'static str, SetupCommand)>,
    pub search_path: Vec<ProgramFolder>,
}

/// Where links to installed programs are created, relative to the home.
pub const LOCAL_PROGRAMS: &str = ".local/bin";
const INSTALLED_TOOLS: &str = "~/.local/share/tools";

impl<'a> ToolCollector<'a> {
    pub(crate) fn new(
        files: &'a RepositoryFiles<'a>,
        tools: &'a HostTools<'a>,
        facts: fn(&str) -> &'static ToolFacts,
    ) -> Self {
        Self { files, tools, facts, required: Vec::new(), installs: Vec::new(), search_path: Vec::new() }
    }

    /// Records that a tool is needed. `file` needs it.
    pub fn need(&mut self, tool: &'static str, file: &str) {
        if !self.required.iter().any(|known| known.tool == tool) {
            let (named, version) = (self.facts)(tool).wanted(self.files).unzip();
            self.require(tool, version, named.unwrap_or(file));
        }
    }

    /// Records that a tool is needed in the version that a step or feature requires.
    pub fn need_version(&mut self, tool: &'static str, version: String, file: &str) {
        self.required.retain(|known| known.tool != tool);
        self.require(tool, Some(version), file);
    }

    fn require(&mut self, tool: &'static str, version: Option<String>, file: &str) {
        let facts = (self.facts)(tool);
        let program = facts.programs.first().copied().unwrap_or(tool);
        let present = self.tools.version(program);
        let numbers = version.as_deref().map(|version| facts.as_numbers(version));
        let is_met = match &numbers {
            Some(wanted) => present.as_deref().and_then(|present| fits(present, wanted)),
            None => Some(true),
        };
        let fit = match is_met {
            _ if !self.tools.has(program) => ToolFit::Missing,
            Some(true) => ToolFit::Fits,
            Some(false) => ToolFit::OtherVersion,
            None => ToolFit::Unknown,
        };
        let mut required = RequiredTool { tool, version, file: file.to_owned(), present, fit };
        if let Some(command) = self.install(&required, numbers.as_deref(), facts) {
            required.fit = ToolFit::Installed;
            self.installs.push((tool, SetupCommand { command, because: file.to_owned() }));
        }
        self.required.push(required);
    }

    /// The command that installs a tool that is missing, or is there in a version that does not do.
    fn install(
        &mut self,
        required: &RequiredTool,
        version: Option<&str>,
        facts: &ToolFacts,
    ) -> Option<String> {
        let RequiredTool { tool, present, fit, .. } = required;
        let exact = version.map(|version| version.trim_start_matches('v'));
        // One release, or the newest of a release line.
        let exact = exact.filter(|version| pattern!("^[0-9][0-9A-Za-z.-]*$").is_match(version));
        let exact_major = exact.and_then(major);
        let lacks_npm = facts.package == ToolPackage::NpmRuntime && !self.tools.has("npm");
        let package = if lacks_npm { ToolPackage::None } else { facts.package };
        // Major versions of package managers differ in what they write and accept.
        let is_another = package == ToolPackage::None
            || exact.is_none()
            || exact_major != present.as_deref().and_then(major);
        let is_wrong = *fit == ToolFit::Missing || (*fit == ToolFit::OtherVersion && is_another);
        if !is_wrong && facts.plugins.is_empty() {
            return None;
        }
        let folder = format!("{INSTALLED_TOOLS}/{tool}");
        let linked = |install: String, programs: &str| {
            let link = format!("mkdir -p ~/{LOCAL_PROGRAMS} && ln -sf{programs} ~/{LOCAL_PROGRAMS}/");
            (format!("{install} && {link}"), LOCAL_PROGRAMS)
        };
        let (command, place) = match package {
            ToolPackage::Pypi => {
                let pinned = exact.map(|version| format!("=={version}")).unwrap_or_default();
                let plugins: String = facts.plugins.iter().map(|plugin| format!(" {plugin}")).collect();
                let package = format!("{}{plugins}", quote(&format!("{tool}{pinned}")));
                let all = if facts.programs.is_empty() { std::slice::from_ref(tool) } else { facts.programs };
                let all: String = all.iter().map(|program| format!(" {folder}/bin/{program}")).collect();
                let install = format!(
                    "python3 -m venv {folder} && {folder}/bin/python -m pip install --quiet {package}"
                );
                linked(install, &all)
            }
            ToolPackage::Npm | ToolPackage::NpmRuntime => {
                let since = facts.package_since.filter(|(since, _)| exact_major >= Some(*since));
                let name = since.map_or(*tool, |(_, name)| name);
                // npm accepts ranges as a manifest writes them.
                let is_range = |version: &&str| {
                    package == ToolPackage::NpmRuntime && version.contains(|c: char| c.is_ascii_digit())
                };
                let pinned = exact.or(version.filter(is_range)).map(|version| format!("@{version}"));
                let package = quote(&format!("{name}{}", pinned.unwrap_or_default()));
                let install =
                    format!("npm install --global --no-audit --no-fund --prefix {folder} {package}");
                linked(install, &format!(" {folder}/bin/*"))
            }
            ToolPackage::None if self.tools.has("mise") => {
                // The newest of several.
                let newest = version.and_then(|version| version.split(" || ").last());
                let version = newest.map_or("latest", |version| version.trim_start_matches(">="));
                let install = format!("mise use --global {}", quote(&format!("{tool}@{version}")));
                (install, ".local/share/mise/shims")
            }
            ToolPackage::None => return None,
        };
        let place = ProgramFolder::Home(place.to_owned());
        if !self.search_path.contains(&place) {
            self.search_path.push(place);
        }
        Some(command)
    }
}
