//! Python and its package managers, and the version of Python that a repository asks for.
//!
//! May know: pyproject.toml, setup.cfg. Must never know: what they install.

use crate::files::RepositoryFiles;
use crate::tool_facts::{SetupAction, ToolFacts, ToolPackage, WantedVersion};

pub(super) const PYTHON: ToolFacts = ToolFacts {
    name: "python",
    programs: &["python3"],
    actions: &[SetupAction::new("actions/setup-python", "python-version")],
    version_files: &[".python-version"],
    asked: |files, _| of_pyproject(files).or_else(|| of_setup_cfg(files)),
    ..ToolFacts::NONE
};

/// A tool that pip installs.
const BY_PIP: ToolFacts = ToolFacts { package: ToolPackage::Pypi, ..ToolFacts::NONE };

pub(super) const TOOLS: &[ToolFacts] = &[
    PYTHON,
    ToolFacts { name: "uv", actions: &[SetupAction::new("astral-sh/setup-uv", "version")], ..BY_PIP },
    ToolFacts {
        name: "poetry",
        actions: &[
            SetupAction::new("snok/install-poetry", "version"),
            SetupAction::new("abatilo/actions-poetry", "poetry-version"),
        ],
        // It exports a lock for pip.
        plugins: &["poetry-plugin-export"],
        ..BY_PIP
    },
    ToolFacts { name: "pdm", actions: &[SetupAction::new("pdm-project/setup-pdm", "version")], ..BY_PIP },
    ToolFacts { name: "pipenv", ..BY_PIP },
    ToolFacts { name: "hatch", actions: &[SetupAction::new("pypa/hatch", "version")], ..BY_PIP },
    ToolFacts { name: "tox", ..BY_PIP },
    ToolFacts { name: "nox", ..BY_PIP },
];

fn of_pyproject(files: &RepositoryFiles<'_>) -> Option<WantedVersion> {
    let table = files.toml("pyproject.toml")?;
    let project = table.get("project").and_then(|project| project.get("requires-python"));
    let poetry = || table.get("tool")?.get("poetry")?.get("dependencies")?.get("python");
    Some(("pyproject.toml", project.or_else(poetry)?.as_str()?.to_owned()))
}

fn of_setup_cfg(files: &RepositoryFiles<'_>) -> Option<WantedVersion> {
    Some(("setup.cfg", files.ini("setup.cfg")?.get("options", "python_requires")?.to_owned()))
}
