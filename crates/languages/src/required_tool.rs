//! The tools that an environment needs, the versions that a repository requires, and how to install a missing one.
//!
//! May know: names of programs and packages, and their version arguments. Must never know: how to start one.

use crate::files::{RepositoryFiles, quote};
use crate::planned::{ProgramFolder, SetupCommand};
use crate::version::{VersionNumber, fits};

/// The tools that exist where the jobs run: on the host, or in the image.
pub struct HostTools<'a> {
    has: &'a dyn Fn(&str) -> bool,
    version: &'a dyn Fn(&str) -> Option<String>,
}

impl<'a> HostTools<'a> {
    /// `has` says whether a program is on the PATH. `version` is the program's output for [`version_arguments`], if it
    /// is known and the program succeeded.
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

/// The arguments that print a program's version.
pub fn version_arguments(program: &str) -> &'static [&'static str] {
    match program {
        "go" => &["version"],
        "java" | "javac" => &["-version"],
        _ => &["--version"],
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

/// A version that a repository asks for.
#[derive(Debug, Clone)]
pub(crate) struct WantedVersion {
    pub(crate) version: String,
    pub(crate) file: String,
}

impl WantedVersion {
    fn of(file: &str, version: &str) -> Self {
        Self { version: version.to_owned(), file: file.to_owned() }
    }
}

/// The required version of a tool. A dedicated version file takes precedence.
pub(crate) fn wanted(files: &RepositoryFiles<'_>, tool: &str) -> Option<WantedVersion> {
    match tool {
        "python" => line_of(files, ".python-version").or_else(|| {
            let asked = files.toml("pyproject.toml").and_then(|table| {
                let project =
                    table.get("project").and_then(|project| project.get("requires-python")).cloned();
                let poetry = || table.get("tool")?.get("poetry")?.get("dependencies")?.get("python").cloned();
                project.or_else(poetry)?.as_str().map(str::to_owned)
            });
            asked.map(|version| WantedVersion::of("pyproject.toml", &version)).or_else(|| {
                let asked = files.ini("setup.cfg")?.get("options", "python_requires")?.to_owned();
                Some(WantedVersion::of("setup.cfg", &asked))
            })
        }),
        "node" => line_of(files, ".nvmrc")
            .or_else(|| line_of(files, ".node-version"))
            .or_else(|| engine(files, "node")),
        "npm" | "pnpm" | "yarn" | "bun" => package_manager(files, tool).or_else(|| engine(files, tool)),
        "java" => line_of(files, ".java-version"),
        "ruby" => line_of(files, ".ruby-version"),
        _ => None,
    }
}

fn line_of(files: &RepositoryFiles<'_>, file: &str) -> Option<WantedVersion> {
    let text = files.text(file)?;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))?;
    // `ruby-3.2.1`, `cpython-3.12`, `temurin-17`.
    let version = line.rsplit_once('-').map_or(line, |(name, version)| {
        if name.starts_with(|c: char| c.is_ascii_alphabetic()) && !name.starts_with('v') {
            version
        } else {
            line
        }
    });
    (version.len() <= 60).then(|| WantedVersion::of(file, version))
}

fn engine(files: &RepositoryFiles<'_>, tool: &str) -> Option<WantedVersion> {
    let manifest = files.json("package.json")?;
    Some(WantedVersion::of("package.json", manifest.get("engines")?.get(tool)?.as_str()?))
}

/// `packageManager` is exact: `pnpm@9.1.0+sha512.…`.
fn package_manager(files: &RepositoryFiles<'_>, tool: &str) -> Option<WantedVersion> {
    let manifest = files.json("package.json")?;
    let said = manifest.get("packageManager")?.as_str()?;
    let version = said.strip_prefix(tool)?.strip_prefix('@')?.split('+').next()?;
    Some(WantedVersion::of("package.json", version))
}

/// A version as numbers, if it is an alias such as `latest`.
fn as_numbers(tool: &str, version: &str) -> String {
    let word = |word: &str| match (tool, word.trim()) {
        ("node", "node" | "current" | "latest") | ("rust" | "go", "stable") => "*".to_owned(),
        (_, other) => other.to_owned(),
    };
    version.split("||").map(word).collect::<Vec<_>>().join(" || ")
}

/// The program that reports a tool's version.
fn program_of(tool: &'static str) -> &'static str {
    match tool {
        "python" => "python3",
        "rust" => "cargo",
        other => other,
    }
}

/// Collects the tools that an environment needs, and the commands that install them where possible.
pub struct ToolCollector<'a> {
    files: &'a RepositoryFiles<'a>,
    pub(crate) tools: &'a HostTools<'a>,
    pub required: Vec<RequiredTool>,
    /// The tool, and the command that installs it.
    pub installs: Vec<(&'static str, SetupCommand)>,
    pub search_path: Vec<ProgramFolder>,
}

/// Where links to installed programs are created, relative to the home.
pub const LOCAL_PROGRAMS: &str = ".local/bin";
const INSTALLED_TOOLS: &str = "~/.local/share/journeyman-tools";

/// Tools that a setup can install, by their command names.
pub const INSTALLABLE: [&str; 13] = [
    "uv", "poetry", "pdm", "pipenv", "hatch", "tox", "nox", "meson", "ninja", "cmake", "pnpm", "yarn", "bun",
];

/// A package that installs a tool without its toolchain's own installer.
enum ToolPackage {
    Pypi(&'static str),
    Npm(&'static str),
}

impl<'a> ToolCollector<'a> {
    pub(crate) fn new(files: &'a RepositoryFiles<'a>, tools: &'a HostTools<'a>) -> Self {
        Self { files, tools, required: Vec::new(), installs: Vec::new(), search_path: Vec::new() }
    }

    /// Records that a tool is needed. `file` needs it.
    pub fn need(&mut self, tool: &'static str, file: &str) {
        if self.required.iter().any(|known| known.tool == tool) {
            return;
        }
        let wanted = wanted(self.files, tool);
        self.require(tool, wanted, file);
    }

    /// Records that a tool is needed in the version that a step or feature requires.
    pub fn need_version(&mut self, tool: &'static str, version: String, file: &str) {
        self.required.retain(|known| known.tool != tool);
        self.require(tool, Some(WantedVersion::of(file, &version)), file);
    }

    fn require(&mut self, tool: &'static str, wanted: Option<WantedVersion>, file: &str) {
        let program = program_of(tool);
        let present = self.tools.version(program);
        let is_there = self.tools.has(program);
        let version = wanted.as_ref().map(|wanted| wanted.version.clone());
        let file = wanted.map_or_else(|| file.to_owned(), |wanted| wanted.file);
        let fit = match (&present, &version) {
            _ if !is_there => ToolFit::Missing,
            (_, None) => ToolFit::Fits,
            (Some(present), Some(wanted)) => match fits(present, &as_numbers(tool, wanted)) {
                Some(true) => ToolFit::Fits,
                Some(false) => ToolFit::OtherVersion,
                None => ToolFit::Unknown,
            },
            (None, Some(_)) => ToolFit::Unknown,
        };
        let mut required =
            RequiredTool { tool, version, file, present: present.map(|present| present.to_string()), fit };
        if let Some(install) = self.install(&required) {
            required.fit = ToolFit::Installed;
            let because = required.file.clone();
            self.installs.push((tool, SetupCommand { command: install, because }));
        }
        self.required.push(required);
    }

    fn install(&mut self, required: &RequiredTool) -> Option<String> {
        let RequiredTool { tool, version, fit, .. } = required;
        let version = version.as_deref().map(|version| as_numbers(tool, version));
        let exact = version
            .as_deref()
            .map(|version| version.trim_start_matches('v'))
            .filter(|version| is_exact(version));
        let package = match *tool {
            "uv" | "poetry" | "pdm" | "pipenv" | "hatch" | "tox" | "nox" | "meson" | "ninja" | "cmake" => {
                Some(ToolPackage::Pypi(tool))
            }
            "pnpm" | "bun" => Some(ToolPackage::Npm(tool)),
            "yarn"
                if exact.is_some_and(|version| !version.starts_with("1.") && !version.starts_with("0.")) =>
            {
                Some(ToolPackage::Npm("@yarnpkg/cli-dist"))
            }
            "yarn" => Some(ToolPackage::Npm("yarn")),
            // With npm, another Node can be installed from npm's registry.
            "node" if self.tools.has("npm") => Some(ToolPackage::Npm("node")),
            _ => None,
        };
        let is_wrong = match fit {
            // Its plugin that exports a lock for pip is rarely installed.
            _ if *tool == "poetry" => true,
            ToolFit::Missing => true,
            // Major versions of package managers differ in what they write and accept.
            ToolFit::OtherVersion => {
                let major = |text: &str| VersionNumber::first_in(text).map(|version| version.major());
                package.is_none()
                    || exact.is_none()
                    || exact.and_then(major) != required.present.as_deref().and_then(major)
            }
            ToolFit::Fits | ToolFit::Unknown | ToolFit::Installed => false,
        };
        if !is_wrong {
            return None;
        }
        let command = match package {
            Some(ToolPackage::Pypi(name)) => {
                let pinned = exact.map(|version| format!("=={version}")).unwrap_or_default();
                let plugin = if name == "poetry" { " poetry-plugin-export" } else { "" };
                let folder = format!("{INSTALLED_TOOLS}/{name}");
                let package = format!("{}{plugin}", quote(&format!("{name}{pinned}")));
                let programs = if name == "cmake" { &["cmake", "ctest", "cpack"][..] } else { &[name] };
                let programs: String =
                    programs.iter().map(|program| format!(" {folder}/bin/{program}")).collect();
                format!(
                    "python3 -m venv {folder} && {folder}/bin/python -m pip install --quiet {package} && mkdir -p \
                     ~/{LOCAL_PROGRAMS} && ln -sf{programs} ~/{LOCAL_PROGRAMS}/"
                )
            }
            Some(ToolPackage::Npm(name)) => {
                // npm accepts ranges as a manifest writes them.
                let is_range =
                    |version: &&str| *tool == "node" && version.contains(|c: char| c.is_ascii_digit());
                let pinned = exact.or(version.as_deref().filter(is_range));
                let pinned = pinned.map(|version| format!("@{version}")).unwrap_or_default();
                let (folder, package) =
                    (format!("{INSTALLED_TOOLS}/{tool}"), quote(&format!("{name}{pinned}")));
                format!(
                    "npm install --global --no-audit --no-fund --prefix {folder} {package} && mkdir -p \
                     ~/{LOCAL_PROGRAMS} && ln -sf {folder}/bin/* ~/{LOCAL_PROGRAMS}/"
                )
            }
            None if self.tools.has("mise") => {
                let shims = ProgramFolder::Home(".local/share/mise/shims".to_owned());
                self.add_folder(shims);
                // The newest of several.
                let newest = version.as_deref().and_then(|version| version.split(" || ").last());
                let version = newest.map_or("latest", |version| version.trim_start_matches(">="));
                return Some(format!("mise use --global {}", quote(&format!("{tool}@{version}"))));
            }
            None => return None,
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
