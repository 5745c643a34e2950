//! How a call of Python code is evaluated.

use crate::example_runner::{ExampleCall, ExampleRunner};
use journeyman_order::examination::AS_IT_RUNS;

pub(super) const EXAMPLES: ExampleRunner = ExampleRunner {
    language: "Python",
    endings: &["py"],
    defines: r"(?m)^(?:async\s+)?(?:def|class)\s+NAME\b|^NAME\s*=",
    script: "evaluate.py",
    text: include_str!("evaluate.py"),
    call,
};

fn call(words: &str, paths: &[&str], is_there: &dyn Fn(&str) -> bool) -> ExampleCall {
    let (places, modules): (Vec<String>, Vec<String>) =
        paths.iter().map(|path| module(path, is_there)).unzip();
    let places: Vec<_> = places.iter().map(|place| shell_words::quote(place)).collect();
    let python = "$(command -v python || command -v python3)";
    ExampleCall { modules, command: format!("{AS_IT_RUNS} {python} {words} {}", places.join(" ")) }
}

/// A module is imported from the outermost folder that is not a package: that folder, and the module's name.
fn module(path: &str, is_there: &dyn Fn(&str) -> bool) -> (String, String) {
    let folder_of = |path: &str| path.rfind('/').unwrap_or(0);
    let mut end = folder_of(path);
    while end > 0 && is_there(&format!("{}/__init__.py", &path[..end])) {
        end = folder_of(&path[..end]);
    }
    let folder = &path[..end];
    let name = path.strip_prefix(folder).unwrap_or(path).trim_start_matches('/').trim_end_matches(".py");
    (folder.to_owned(), name.replace('/', ".").trim_end_matches(".__init__").to_owned())
}
