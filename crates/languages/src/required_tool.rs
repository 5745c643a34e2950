//! The tools that an environment needs, and how to install a missing one.
//!
//! May know: what is known of a tool. Must never know: any tool, how to start one.

use crate::files::{RepositoryFiles, quote};
use crate::planned::{ProgramFolder, SetupCommand};
use crate::tool_facts::{ToolFacts, ToolPackage, WantedVersion};
use crate::version::{VersionNumber, fits};

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

    pub(crate) fn version(&self, program: &str) -> Option<VersionNumber> {
        VersionNumber::first_in(&(self.version)(program)?)
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
const INSTALLED_TOOLS: &str = "~/.local/share/journeyman-tools";

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
        if self.required.iter().any(|known| known.tool == tool) {
            return;
        }
        let wanted = (self.facts)(tool).wanted(self.files);
        self.require(tool, wanted, file);
    }

    /// Records that a tool is needed in the version that a step or feature requires.
    pub fn need_version(&mut self, tool: &'static str, version: String, file: &str) {
        self.required.retain(|known| known.tool != tool);
        self.require(tool, Some(WantedVersion::of(file, &version)), file);
    }

    fn require(&mut self, tool: &'static str, wanted: Option<WantedVersion>, file: &str) {
        let facts = (self.facts)(tool);
        let program = facts.programs.first().copied().unwrap_or(tool);
        let present = self.tools.version(program);
        let is_there = self.tools.has(program);
        let version = wanted.as_ref().map(|wanted| wanted.version.clone());
        let file = wanted.map_or_else(|| file.to_owned(), |wanted| wanted.file);
        let fit = match (&present, &version) {
            _ if !is_there => ToolFit::Missing,
            (_, None) => ToolFit::Fits,
            (Some(present), Some(wanted)) => match fits(present, &facts.as_numbers(wanted)) {
                Some(true) => ToolFit::Fits,
                Some(false) => ToolFit::OtherVersion,
                None => ToolFit::Unknown,
            },
            (None, Some(_)) => ToolFit::Unknown,
        };
        let mut required =
            RequiredTool { tool, version, file, present: present.map(|present| present.to_string()), fit };
        if let Some(install) = self.install(&required, facts) {
            required.fit = ToolFit::Installed;
            let because = required.file.clone();
            self.installs.push((tool, SetupCommand { command: install, because }));
        }
        self.required.push(required);
    }

    fn install(&mut self, required: &RequiredTool, facts: &ToolFacts) -> Option<String> {
        let RequiredTool { tool, version, fit, .. } = required;
        let version = version.as_deref().map(|version| facts.as_numbers(version));
        let exact = version
            .as_deref()
            .map(|version| version.trim_start_matches('v'))
            .filter(|version| is_exact(version));
        let major = |text: &str| VersionNumber::first_in(text).map(|version| version.major());
        let lacks_npm = facts.package == ToolPackage::NpmRuntime && !self.tools.has("npm");
        let package = if lacks_npm { ToolPackage::None } else { facts.package };
        let is_wrong = match fit {
            _ if !facts.plugins.is_empty() => true,
            ToolFit::Missing => true,
            // Major versions of package managers differ in what they write and accept.
            ToolFit::OtherVersion => {
                package == ToolPackage::None
                    || exact.is_none()
                    || exact.and_then(major) != required.present.as_deref().and_then(major)
            }
            ToolFit::Fits | ToolFit::Unknown | ToolFit::Installed => false,
        };
        if !is_wrong {
            return None;
        }
        let command = match package {
            ToolPackage::Pypi => {
                let pinned = exact.map(|version| format!("=={version}")).unwrap_or_default();
                let plugins: String = facts.plugins.iter().map(|plugin| format!(" {plugin}")).collect();
                let folder = format!("{INSTALLED_TOOLS}/{tool}");
                let package = format!("{}{plugins}", quote(&format!("{tool}{pinned}")));
                let own = [*tool];
                let programs = if facts.programs.is_empty() { own.as_slice() } else { facts.programs };
                let programs: String =
                    programs.iter().map(|program| format!(" {folder}/bin/{program}")).collect();
                format!(
                    "python3 -m venv {folder} && {folder}/bin/python -m pip install --quiet {package} && mkdir -p \
                     ~/{LOCAL_PROGRAMS} && ln -sf{programs} ~/{LOCAL_PROGRAMS}/"
                )
            }
            ToolPackage::Npm | ToolPackage::NpmRuntime => {
                let since = facts.package_since.filter(|(since, _)| exact.and_then(major) >= Some(*since));
                let name = since.map_or(*tool, |(_, name)| name);
                // npm accepts ranges as a manifest writes them.
                let is_range = |version: &&str| {
                    package == ToolPackage::NpmRuntime && version.contains(|c: char| c.is_ascii_digit())
                };
                let pinned = exact.or(version.as_deref().filter(is_range));
                let pinned = pinned.map(|version| format!("@{version}")).unwrap_or_default();
                let (folder, package) =
                    (format!("{INSTALLED_TOOLS}/{tool}"), quote(&format!("{name}{pinned}")));
                format!(
                    "npm install --global --no-audit --no-fund --prefix {folder} {package} && mkdir -p \
                     ~/{LOCAL_PROGRAMS} && ln -sf {folder}/bin/* ~/{LOCAL_PROGRAMS}/"
                )
            }
            ToolPackage::None if self.tools.has("mise") => {
                let shims = ProgramFolder::Home(".local/share/mise/shims".to_owned());
                self.add_folder(shims);
                // The newest of several.
                let newest = version.as_deref().and_then(|version| version.split(" || ").last());
                let version = newest.map_or("latest", |version| version.trim_start_matches(">="));
                return Some(format!("mise use --global {}", quote(&format!("{tool}@{version}"))));
            }
            ToolPackage::None => return None,
        };
        self.add_folder(ProgramFolder::Home(LOCAL_PROGRAMS.to_owned()));
        Some(command)
    }

    fn add_folder(&mut self, folder: ProgramFolder) {
        if !self.search_path.contains(&folder) {
            self.search_path.push(folder);
        }
    }
}

/// Whether a version names one release, or the newest of a release line.
fn is_exact(version: &str) -> bool {
    version.starts_with(|c: char| c.is_ascii_digit())
        && version.chars().all(|c| c.is_ascii_alphanumeric() || ".-".contains(c))
}
