//! What a repository's own continuous integration runs: the steps of its workflows, as far as they can be read.
//!
//! May know: the form of GitHub's workflow files. Must never know: what the commands mean.

use serde_json::Value;

use crate::files::{MOST_READ, RepositoryFiles};
use crate::version::VersionNumber;

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
/// Bytes of all workflows together.
const MOST_BYTES: usize = 1 << 20;
/// Values of one, those that stand for others by an alias among them: a few lines can stand for gigabytes.
const MOST_VALUES: usize = 50_000;
const MOST_TEXT: usize = 4 << 20;
/// Versions of a tool that one job names.
const MOST_VERSIONS: usize = 1_000;
/// Words of commands that run tests.
const TESTS: [&str; 9] = ["test", "tests", "pytest", "tox", "nox", "vitest", "jest", "nextest", "check"];

/// Actions that set up a tool: the input that holds its version.
pub(crate) const TOOLS: [(&str, &str, &str); 20] = [
    ("actions/setup-python", "python", "python-version"),
    ("actions/setup-node", "node", "node-version"),
    ("actions/setup-go", "go", "go-version"),
    ("actions/setup-java", "java", "java-version"),
    ("actions/setup-dotnet", "dotnet", "dotnet-version"),
    ("ruby/setup-ruby", "ruby", "ruby-version"),
    ("dtolnay/rust-toolchain", "rust", "toolchain"),
    ("actions-rs/toolchain", "rust", "toolchain"),
    ("actions-rust-lang/setup-rust-toolchain", "rust", "toolchain"),
    ("moonrepo/setup-rust", "rust", "channel"),
    ("pnpm/action-setup", "pnpm", "version"),
    ("oven-sh/setup-bun", "bun", "bun-version"),
    ("astral-sh/setup-uv", "uv", "version"),
    ("snok/install-poetry", "poetry", "version"),
    ("abatilo/actions-poetry", "poetry", "poetry-version"),
    ("pdm-project/setup-pdm", "pdm", "version"),
    ("pypa/hatch", "hatch", "version"),
    ("shivammathur/setup-php", "php", "php-version"),
    ("lukka/get-cmake", "cmake", "cmakeVersion"),
    ("stCarolas/setup-maven", "mvn", "maven-version"),
];
/// The lines that the `run` steps of each job have, job by job.
pub(crate) fn runs(files: &RepositoryFiles<'_>) -> Vec<Vec<String>> {
    jobs(files).iter().map(|(_, job)| lines(job)).filter(|lines| !lines.is_empty()).collect()
}

/// All jobs, each with its file.
fn jobs(files: &RepositoryFiles<'_>) -> Vec<(String, Value)> {
    const FOLDER: &str = ".github/workflows";
    let mut names: Vec<String> = files.below(FOLDER).map(str::to_owned).collect();
    if names.is_empty() {
        names = USUAL.map(|name| format!("{FOLDER}/{name}")).to_vec();
    }
    let is_yaml = |name: &&String| name.ends_with(".yml") || name.ends_with(".yaml");
    let mut all = Vec::new();
    let mut left = MOST_BYTES;
    for name in names.iter().filter(is_yaml).take(MOST_READ) {
        let Some(text) = files.text(name).filter(|text| text.len() <= left) else { continue };
        left -= text.len();
        let Some(Value::Object(mut workflow)) = read(&text) else { continue };
        let Some(Value::Object(jobs)) = workflow.remove("jobs") else { continue };
        all.extend(jobs.into_iter().map(|(_, job)| (name.clone(), job)));
    }
    all
}

fn steps(job: &Value) -> impl Iterator<Item = &Value> {
    job.get("steps").and_then(Value::as_array).into_iter().flatten()
}

fn lines(job: &Value) -> Vec<String> {
    let lines = steps(job).filter_map(|step| step.get("run")?.as_str()).flat_map(str::lines);
    lines.map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

/// The versions of a tool with which its jobs run the tests, oldest first, and the workflow that says so.
pub(crate) fn versions(files: &RepositoryFiles<'_>, tool: &str) -> Option<(Vec<String>, String)> {
    let jobs = jobs(files);
    let tests = |job: &Value| {
        let is_test =
            |line: &str| line.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| TESTS.contains(&word));
        lines(job).iter().any(|line| is_test(line))
    };
    // A job that builds documentation or a release has a version of its own.
    jobs.iter().filter(|(_, job)| tests(job)).find_map(|(name, job)| {
        let mut versions: Vec<String> =
            steps(job).flat_map(|step| step_versions(step, job, tool)).take(MOST_VERSIONS).collect();
        versions.sort_by_cached_key(|version| VersionNumber::first_in(version));
        versions.dedup();
        (!versions.is_empty()).then(|| (versions, name.clone()))
    })
}

/// What one step asks for; files of versions are read by their own names.
fn step_versions(step: &Value, job: &Value, tool: &str) -> Vec<String> {
    let action = step.get("uses").and_then(Value::as_str).unwrap_or_default();
    let (plain, reference) = action.split_once('@').unwrap_or((action, ""));
    let Some((_, _, key)) = TOOLS.iter().find(|(known, of, _)| *known == plain && *of == tool) else {
        return Vec::new();
    };
    let text = step.get("with").and_then(|with| with.get(*key)).and_then(text_of);
    let text = text.unwrap_or_else(|| match plain {
        "dtolnay/rust-toolchain" => reference.to_owned(),
        _ => String::new(),
    });
    let all: Vec<String> = match text.trim().strip_prefix("${{").and_then(|rest| rest.strip_suffix("}}")) {
        Some(expression) => {
            expression.trim().strip_prefix("matrix.").map(|key| of_matrix(job, key)).unwrap_or_default()
        }
        None => text.lines().map(str::to_owned).collect(),
    };
    let is_release = |version: &String| {
        let digits = version.trim_start_matches('v');
        let is_number = digits.starts_with(|c: char| c.is_ascii_digit())
            && digits.chars().all(|c| c.is_ascii_digit() || ".x*".contains(c));
        let is_any = matches!(version.as_str(), "*" | "node" | "current" | "latest" | "stable");
        version.len() <= 40 && (is_number || is_any || version.starts_with("lts/"))
    };
    all.iter().map(|version| version.trim().to_owned()).filter(is_release).collect()
}

/// What a key of a job's matrix can be, those of `include` too.
fn of_matrix(job: &Value, key: &str) -> Vec<String> {
    let matrix = job.get("strategy").and_then(|strategy| strategy.get("matrix"));
    let list = |name: &str| {
        matrix.and_then(|matrix| matrix.get(name)?.as_array()).into_iter().flatten().take(MOST_VERSIONS)
    };
    let included = list("include").filter_map(|one| one.get(key));
    list(key).chain(included).filter_map(text_of).collect()
}

/// A scalar as the text that it stands for.
pub(crate) fn text_of(value: &Value) -> Option<String> {
    let number = || value.as_f64().map(|number| number.to_string());
    let truth = || value.as_bool().map(|truth| truth.to_string());
    value.as_str().map(str::to_owned).or_else(number).or_else(truth)
}

/// A workflow; none where it is not YAML of that form, or more than anybody writes.
pub(crate) fn read(text: &str) -> Option<Value> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_nodes: MOST_VALUES, max_total_scalar_bytes: MOST_TEXT },
    };
    serde_saphyr::from_str_with_options(text, options).ok()
}
