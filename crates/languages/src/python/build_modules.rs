//! The repository's own modules that the build of a Python package runs: imports beside `setup.py`, and the build backend.
//!
//! May know: setup.py, pyproject.toml. Must never know: how a package is installed.

use crate::files::RepositoryFiles;

/// The paths of these modules. An imported package is what is tested, and is in a folder below.
pub(super) fn find(files: &RepositoryFiles<'_>) -> Vec<String> {
    let setup = files.text("setup.py").unwrap_or_default();
    // Names in quotes are installed, so they are what is tested.
    let is_installed = |module: &str| {
        [format!("'{module}'"), format!("\"{module}\"")].iter().any(|name| setup.contains(name))
    };
    let imported = setup.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let is_import = matches!(words.next(), Some("import" | "from"));
        let module = words.next().filter(|_| is_import)?.split(['.', ',']).next()?;
        (!is_installed(module)).then(|| format!("{module}.py"))
    });
    let project = files.toml("pyproject.toml").unwrap_or_default();
    let build = project.get("build-system");
    let module = build.and_then(|build| build.get("build-backend")?.as_str()?.split(['.', ':']).next());
    let folders = build.and_then(|build| build.get("backend-path")?.as_array());
    let backend = folders.into_iter().flatten().filter_map(|folder| folder.as_str()).flat_map(|folder| {
        match folder.trim_matches(['.', '/']) {
            "" => module.map(|module| format!("{module}.py")).into_iter().collect::<Vec<_>>(),
            folder => files.below(folder).filter(|path| path.ends_with(".py")).map(str::to_owned).collect(),
        }
    });
    imported.chain(backend).filter(|path| files.has(path)).collect()
}
