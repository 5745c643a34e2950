//! New files that Python finds before its standard library module of the same name, wherever it starts.
//!
//! May know: how Python finds modules. Must never know: the content of such a file.

use crate::language::FileReader;

/// Folders below Python's start folder that projects put on its path.
const SOURCES: [&str; 3] = ["src", "lib", "python"];

/// Whether a path is new and shadows a standard library module: `argparse.py`, or any file in a new package
/// `argparse/`. `starts` are the folders where commands start. Inside a package of the project, names do not clash.
pub(super) fn shadows(
    path: &str,
    starts: &[String],
    read_base: FileReader<'_>,
    read_after: FileReader<'_>,
) -> bool {
    let is_there = |path: &str| read_base(path).is_some() || read_after(path).is_some();
    // Symmetric, since what is restored on one side is added on the other. The changed path itself counts as different
    // if neither side is readable.
    let is_new = |asked: &str| match (read_base(asked).is_some(), read_after(asked).is_some()) {
        (false, false) => asked == path,
        (base, after) => base != after,
    };
    let parts: Vec<&str> = path.split('/').collect();
    (0..parts.len()).any(|at| {
        let (before, rest) = parts.split_at(at);
        let Some((name, below)) = rest.split_first() else { return false };
        let folder = before.join("/");
        let inside =
            |name: &str| if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        let is_module = match below.is_empty() {
            true => is_new(path) && is_compiled_or_source(name),
            false => is_new(&inside(&format!("{name}/__init__.py"))),
        };
        let module = name.split('.').next().unwrap_or(name);
        is_module
            && (STANDARD.split_whitespace().any(|known| known == module) || RUNNERS.contains(&module))
            && is_on_the_path(&folder, before, starts)
            && !is_there(&inside("__init__.py"))
    })
}

fn is_compiled_or_source(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, ending)| ["py", "pyc", "so"].contains(&ending))
}

/// Where Python starts, and where runners make it search: beside each test file.
fn is_on_the_path(folder: &str, parts: &[&str], starts: &[String]) -> bool {
    let lower = folder.to_ascii_lowercase();
    let is_of_tests = parts.iter().any(|part| {
        let part = part.to_ascii_lowercase();
        ["test", "testing", "spec", "specs", "unit", "e2e", "integration"].contains(&part.as_str())
            || part.ends_with("tests")
    });
    let is_started = starts.iter().any(|start| {
        let below = match start.is_empty() {
            true => Some(lower.as_str()),
            false => lower.strip_prefix(start.as_str()).map(|rest| rest.trim_start_matches('/')),
        };
        lower == *start || below.is_some_and(|below| SOURCES.contains(&below))
    });
    is_of_tests || is_started
}

/// Test runners, and what they import before any test.
const RUNNERS: [&str; 11] = [
    "pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "exceptiongroup", "tomli", "nose2",
    "tox", "xdist",
];

/// The modules of Python 3.10 to 3.14. `test` is excluded, since projects use the name.
const STANDARD: &str = include_str!("python_library.txt");
