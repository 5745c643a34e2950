//! Parses pyproject.toml, setup.cfg and setup.py.
//!
//! May know: PEP 621, PEP 735 and the tables of the tools. Must never know: how anything is installed.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use super::native::{NativeBuild, normalized};
use crate::files::RepositoryFiles;
use journeyman_order::bounds::MOST_ITEMS;

/// Limit of requirements files that are read because others refer to them.
pub(super) const MOST_INCLUDED: usize = 50;

/// The tool that installs the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manager {
    Uv,
    Poetry,
    Pdm,
    Pip,
}

/// A Python project, as its files describe it.
#[derive(Debug)]
pub(super) struct PythonProject {
    pub(super) pyproject: Table,
    pub(super) manager: Manager,
    /// The file that indicates the manager.
    pub(super) because: String,
    /// Whether it can be installed as a package.
    pub(super) is_package: bool,
    pub(super) dependencies: Vec<String>,
    /// Extras, with their requirements.
    pub(super) extras: BTreeMap<String, Vec<String>>,
    /// Dependency groups with their requirements, including those of nested groups.
    pub(super) groups: BTreeMap<String, Vec<String>>,
    /// Groups that the manager skips unless requested.
    pub(super) optional_groups: Vec<String>,
    pub(super) native: Option<NativeBuild>,
    /// Whether its version derives from git tags.
    pub(super) version_from_git: bool,
}

impl PythonProject {
    pub(super) fn read(files: &RepositoryFiles<'_>) -> Self {
        let pyproject = files.toml("pyproject.toml").unwrap_or_default();
        let setup_py = files.text("setup.py").unwrap_or_default();
        let setup_cfg = files.ini("setup.cfg").unwrap_or_default();
        let at = |path: &[&str]| at(&pyproject, path);
        let (manager, because) = manager(files, &pyproject);
        let is_off = |path: &[&str]| at(path).and_then(Value::as_bool) == Some(false);
        let setup_calls = setup_py.contains("setup(") || setup_py.contains("setup (");
        let has_metadata = setup_cfg.has("metadata");
        let tables: [&[&str]; 3] = [&["project"], &["tool", "poetry"], &["tool", "flit"]];
        let is_built = at(&["build-system"]).is_some()
            && (has_metadata || tables.into_iter().any(|path| at(path).is_some()));
        let is_package = !is_off(&["tool", "poetry", "package-mode"])
            && !is_off(&["tool", "uv", "package"])
            && (setup_calls || is_built || (has_metadata && setup_cfg.has("options")));
        let mut extras = lists(at(&["project", "optional-dependencies"]));
        extras.extend(
            setup_cfg
                .keys("options.extras_require")
                .map(|(name, _)| (name.to_owned(), setup_cfg.lines("options.extras_require", name))),
        );
        let mut groups = dependency_groups(at(&["dependency-groups"]));
        groups.extend(lists(at(&["tool", "pdm", "dev-dependencies"])));
        groups.entry("dev".into()).or_default().extend(strings(at(&["tool", "uv", "dev-dependencies"])));
        let mut optional_groups = Vec::new();
        if let Some(tables) = at(&["tool", "poetry", "group"]).and_then(Value::as_table) {
            for (name, group) in tables {
                groups.entry(name.clone()).or_default().extend(keys(group.get("dependencies")));
                if group.get("optional").and_then(Value::as_bool) == Some(true) {
                    optional_groups.push(name.clone());
                }
            }
        }
        groups.entry("dev".into()).or_default().extend(keys(at(&["tool", "poetry", "dev-dependencies"])));
        extras.extend(lists(at(&["tool", "poetry", "extras"])));
        groups.retain(|_, group| !group.is_empty());
        let mut dependencies = strings(at(&["project", "dependencies"]));
        dependencies.extend(
            keys(at(&["tool", "poetry", "dependencies"])).into_iter().filter(|name| name != "python"),
        );
        dependencies.extend(setup_cfg.lines("options", "install_requires"));
        let native = NativeBuild::of(&pyproject, &setup_py);
        let asks_git = [
            "setuptools-scm", "hatch-vcs", "versioningit", "poetry-dynamic-versioning", "flit-scm",
            "dunamai", "setuptools-git-versioning", "versioneer",
        ];
        let builds_with = strings(at(&["build-system", "requires"]));
        let version_from_git = builds_with.iter().any(|one| asks_git.contains(&normalized(one).as_str()))
            || ["setuptools_scm", "versioneer"].iter().any(|one| setup_py.contains(one))
            || at(&["tool", "pdm", "version", "source"]).and_then(Value::as_str) == Some("scm");
        Self {
            version_from_git,
            native,
            manager,
            because,
            is_package,
            dependencies,
            extras,
            groups,
            optional_groups,
            pyproject,
        }
    }

    /// Whether the project declares its dependencies in a way that an environment manager can use.
    pub(super) fn has_manager(&self) -> bool {
        self.manager != Manager::Pip
            || self.pyproject.contains_key("project")
            || self.pyproject.contains_key("dependency-groups")
    }

    pub(super) fn at(&self, path: &[&str]) -> Option<&Value> {
        at(&self.pyproject, path)
    }
}

fn at<'t>(table: &'t Table, path: &[&str]) -> Option<&'t Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(table.get(*first)?, |value, key| value.get(*key))
}

fn manager(files: &RepositoryFiles<'_>, pyproject: &Table) -> (Manager, String) {
    let has = |path: &[&str]| at(pyproject, path).is_some();
    // The project may still contain the lock of a manager that it no longer uses.
    let is_poetry = has(&["tool", "poetry"]) || !has(&["tool", "pdm"]);
    let locks = [("uv.lock", Manager::Uv), ("poetry.lock", Manager::Poetry), ("pdm.lock", Manager::Pdm)];
    let is_used = |(lock, manager): &(&str, Manager)| {
        files.has(lock) && files.has("pyproject.toml") && (*manager != Manager::Poetry || is_poetry)
    };
    if let Some((lock, manager)) = locks.into_iter().find(is_used) {
        return (manager, lock.to_owned());
    }
    if has(&["tool", "uv", "sources"]) || has(&["tool", "uv", "workspace"]) {
        return (Manager::Uv, "[tool.uv] in pyproject.toml".to_owned());
    }
    let manifest = files.first(&["pyproject.toml", "setup.py", "setup.cfg"]);
    (Manager::Pip, manifest.unwrap_or("Python's files").to_owned())
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let all = value.and_then(Value::as_array).into_iter().flatten();
    all.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn lists(value: Option<&Value>) -> BTreeMap<String, Vec<String>> {
    let all = value.and_then(Value::as_table).into_iter().flatten();
    all.map(|(name, list)| (name.clone(), strings(Some(list)))).collect()
}

fn keys(value: Option<&Value>) -> Vec<String> {
    value.and_then(Value::as_table).into_iter().flatten().map(|(name, _)| name.clone()).collect()
}

/// PEP 735 groups with their includes. Each include is followed once, since groups may include each other.
fn dependency_groups(value: Option<&Value>) -> BTreeMap<String, Vec<String>> {
    let Some(tables) = value.and_then(Value::as_table) else { return BTreeMap::new() };
    let entries = |name: &str| tables.get(name).and_then(Value::as_array).into_iter().flatten().rev();
    let mut left = MOST_ITEMS;
    let mut of = |name: &String| {
        let (mut all, mut seen) = (Vec::new(), BTreeSet::from([name.as_str()]));
        let mut waiting: Vec<&Value> = entries(name).collect();
        while let Some(entry) = waiting.pop().filter(|_| left > 0) {
            left -= 1;
            if let Some(requirement) = entry.as_str() {
                all.push(requirement.to_owned());
            } else if let Some(inner) = entry.get("include-group").and_then(Value::as_str)
                && seen.insert(inner)
            {
                waiting.extend(entries(inner));
            }
        }
        (name.clone(), all)
    };
    tables.keys().map(&mut of).collect()
}
