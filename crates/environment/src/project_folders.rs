//! The project folders of a repository, and the project that a file belongs to.
//!
//! May know: manifests, languages. Must never know: how anything is tested.

use std::collections::BTreeMap;

use journeyman_languages::files::RepositoryFiles;
use journeyman_languages::project_signs::ProjectLanguage;
use journeyman_order::bounds::MOST_LOOKED_AT;

/// A folder with a manifest of one language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Project<'f> {
    /// Relative to the root. Empty for the root itself.
    pub(crate) folder: &'f str,
    pub(crate) language: ProjectLanguage,
    /// Relative to the root.
    pub(crate) manifest: &'f str,
}

/// Test data, templates and vendored code: not projects of the repository.
fn is_data(folder: &str, language: ProjectLanguage) -> bool {
    let data = [
        "testdata", "fixtures", "__fixtures__", "test-fixtures", "templates", "template", "node_modules",
        "vendor", "third_party",
    ];
    let parts: Vec<&str> = folder.split('/').collect();
    let is_one = |part: &&str| data.contains(part) || (part.starts_with('.') && part.len() > 1);
    let of_tests = |part: &&str| matches!(*part, "test" | "tests" | "__tests__" | "spec" | "specs");
    let above = parts.split_last().map_or(&[][..], |(_, above)| above);
    parts.iter().any(is_one) || (!language.has_nested_projects() && above.iter().any(of_tests))
}

pub(crate) fn contains(folder: &str, path: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

pub(crate) struct Projects<'f> {
    pub(crate) all: Vec<Project<'f>>,
}

impl<'f> Projects<'f> {
    pub(crate) fn of(files: &RepositoryFiles<'f>) -> Self {
        let mut all: BTreeMap<(&'f str, ProjectLanguage), &'f str> = BTreeMap::new();
        for path in files.all() {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            let Some(language) = ProjectLanguage::of_manifest(name) else { continue };
            if !is_data(folder, language) && all.len() < MOST_LOOKED_AT {
                let known = all.entry((folder, language)).or_insert(path);
                // Any other manifest is more precise than a requirements file.
                if known.ends_with("requirements.txt") {
                    *known = path;
                }
            }
        }
        let each =
            all.into_iter().map(|((folder, language), manifest)| Project { folder, language, manifest });
        let each: Vec<Project<'f>> = each.filter(|project| is_manifest(project, files)).collect();
        let above = |project: &Project<'f>| {
            let same =
                |other: &&Project<'f>| other.language == project.language && other.folder != project.folder;
            each.iter().filter(same).any(|other| contains(other.folder, project.folder))
        };
        // Below a Python project, a requirements file is part of that project.
        let is_part =
            |project: &Project<'f>| project.manifest.ends_with("requirements.txt") && above(project);
        Self { all: each.iter().filter(|project| !is_part(project)).copied().collect() }
    }

    /// The project that a file belongs to: the nearest of its language, otherwise the nearest of any.
    pub(crate) fn owner(&self, path: &str) -> Option<&Project<'f>> {
        let language = ProjectLanguage::of_source(path)?;
        let around = || self.all.iter().filter(|project| contains(project.folder, path));
        let nearest = |project: &&Project<'f>| project.folder.len();
        around()
            .filter(|project| project.language == language)
            .max_by_key(nearest)
            .or_else(|| around().max_by_key(nearest))
    }
}

/// Whether a manifest defines a project, rather than marking a folder or configuring a tool.
fn is_manifest(project: &Project<'_>, files: &RepositoryFiles<'_>) -> bool {
    let says = |signs: &[&str]| {
        files.text(project.manifest).is_none_or(|text| signs.iter().any(|sign| text.contains(sign)))
    };
    let name = project.manifest.rsplit('/').next().unwrap_or(project.manifest);
    match name {
        "package.json" => says(&["\"scripts\"", "ependencies\"", "\"workspaces\""]),
        "pyproject.toml" => says(&["[project]", "[build-system]", "[tool.poetry", "[dependency-groups]"]),
        "setup.cfg" => says(&["[metadata]", "[options]"]),
        _ => true,
    }
}
