//! What a repository's own continuous integration runs: the steps of its workflows, as far as they can be read.
//!
//! May know: the form of GitHub's workflow files. Must never know: what the commands mean.

use serde_json::Value;

use crate::files::RepositoryFiles;

/// Names that are tried where the files of the folder are not known.
const USUAL: [&str; 12] = [
    "ci.yml",
    "ci.yaml",
    "test.yml",
    "tests.yml",
    "test.yaml",
    "tests.yaml",
    "main.yml",
    "build.yml",
    "nodejs.yml",
    "node.js.yml",
    "node.yml",
    "checks.yml",
];
/// Workflows that are read, at most.
const MOST: usize = 30;

/// The lines that the `run` steps of each job have, job by job.
pub(crate) fn runs(files: &RepositoryFiles<'_>) -> Vec<Vec<String>> {
    const FOLDER: &str = ".github/workflows";
    let mut names: Vec<String> = files.below(FOLDER).map(str::to_owned).collect();
    if names.is_empty() {
        names = USUAL.map(|name| format!("{FOLDER}/{name}")).to_vec();
    }
    let is_yaml = |name: &&String| name.ends_with(".yml") || name.ends_with(".yaml");
    let mut all = Vec::new();
    for name in names.iter().filter(is_yaml).take(MOST) {
        let Some(workflow) = files.text(name).and_then(|text| read(&text)) else { continue };
        let jobs = workflow.get("jobs").and_then(Value::as_object).cloned().unwrap_or_default();
        for job in jobs.values() {
            let steps = job.get("steps").and_then(Value::as_array).cloned().unwrap_or_default();
            let lines = steps.iter().filter_map(|step| step.get("run")?.as_str()).flat_map(str::lines);
            let lines: Vec<String> =
                lines.map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect();
            if !lines.is_empty() {
                all.push(lines);
            }
        }
    }
    all
}

/// A workflow; none where it is not YAML of that form.
pub(crate) fn read(text: &str) -> Option<Value> {
    serde_saphyr::from_str(text).ok()
}
