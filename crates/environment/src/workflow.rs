//! Workflows of GitHub Actions: how they are read, and which of their steps run tests of each pull request.
//!
//! May know: the form of a workflow. Must never know: which programs run tests, and what an environment needs.

use std::collections::BTreeMap;

use serde_json::Value;

use journeyman_languages::files::RepositoryFiles;
use journeyman_languages::stated::{TestStatement, decides};
use journeyman_order::bounds::{LARGEST_DOCUMENT, MOST_LISTED, MOST_NAMED};
use journeyman_order::settings::plain_folder;

const FOLDER: &str = ".github/workflows";
/// Limit of values in a workflow, including alias expansions: a few lines can expand to gigabytes.
const MOST_VALUES: usize = 50_000;
/// Events on which a workflow judges a change. A workflow that others call may be part of one that does.
const EVENTS: [&str; 5] = ["pull_request", "pull_request_target", "push", "merge_group", "workflow_call"];
/// Usual names of a default branch, or patterns for all branches.
const DEFAULT_BRANCHES: [&str; 9] =
    ["main", "master", "develop", "development", "trunk", "devel", "dev", "*", "**"];
/// Words in names of workflows, jobs and steps beside the tests of a change: of another kind, machine or time. Each stands
/// for all that begin with it.
const BESIDE: &str = "lint style format typing types typecheck mypy doc integration e2e end2end smoke acceptance system browser bench perf \
                      nightly weekly fuzz release publish deploy windows macos freebsd downstream upstream minim \
                      oldest example package wheel codeql";

/// The steps that may run the tests of a change as they are written: without conditions, services and what only
/// GitHub knows.
pub(crate) fn test_steps(files: &RepositoryFiles<'_>) -> Vec<TestStatement> {
    let is_one = |path: &&str| {
        let name = path.rsplit_once('/').filter(|(folder, _)| *folder == FOLDER).map(|(_, name)| name);
        name.and_then(|name| name.strip_suffix(".yml").or(name.strip_suffix(".yaml")))
            .is_some_and(|stem| !is_beside(stem) && stem != "copilot-setup-steps")
    };
    let mut steps = Vec::new();
    for path in files.below(FOLDER).filter(is_one).take(MOST_NAMED) {
        let Some(workflow) = files.text(path).as_deref().and_then(parse) else { continue };
        if !workflow.get("on").is_some_and(judges_changes) {
            continue;
        }
        let jobs = workflow.get("jobs").and_then(Value::as_object).into_iter().flatten();
        for (name, job) in jobs.filter(|(name, job)| is_plain_job(name, job)) {
            let surroundings = [&workflow, job];
            let all = job.get("steps").and_then(Value::as_array).into_iter().flatten().enumerate();
            steps.extend(all.filter_map(|(at, step)| statement(path, name, &surroundings, at, step)));
        }
        if steps.len() >= MOST_LISTED {
            break;
        }
    }
    steps.truncate(MOST_LISTED);
    steps
}

/// A parsed workflow. `None` if it is not such YAML, or exceeds the limits.
pub(crate) fn parse(text: &str) -> Option<Value> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_nodes: MOST_VALUES, max_total_scalar_bytes: LARGEST_DOCUMENT },
    };
    serde_saphyr::from_str_with_options(text, options).ok()
}

/// A scalar as text.
pub(crate) fn text_of(value: &Value) -> Option<String> {
    let number = || value.as_f64().map(|number| number.to_string());
    let truth = || value.as_bool().map(|truth| truth.to_string());
    value.as_str().map(str::to_owned).or_else(number).or_else(truth)
}

/// Whether a workflow runs for changes to the default branch.
fn judges_changes(on: &Value) -> bool {
    let is_default = |event: &Value| match event.get("branches") {
        Some(branches) => has_one(branches, &DEFAULT_BRANCHES),
        None => event.get("tags").is_none(),
    };
    let mut events = on.as_object().into_iter().flatten();
    has_one(on, &EVENTS) || events.any(|(name, of)| EVENTS.contains(&name.as_str()) && is_default(of))
}

/// Whether a text, or one of a list, is among these.
fn has_one(value: &Value, these: &[&str]) -> bool {
    let mut texts = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice).iter();
    texts.any(|text| text.as_str().is_some_and(|text| these.contains(&text)))
}

fn is_beside(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| BESIDE.split(' ').any(|beside| word.starts_with(beside)))
}

/// Whether the steps of a job run in nothing but a checkout of this repository on Linux.
fn is_plain_job(name: &str, job: &Value) -> bool {
    let text = |key: &str| job.get(key).and_then(Value::as_str).unwrap_or_default();
    let machine = job.get("runs-on").map(Value::to_string).unwrap_or_default().to_ascii_lowercase();
    let is_other_machine = ["windows", "macos"].iter().any(|other| machine.contains(other));
    let has_more = ["if", "services", "container", "environment"].iter().any(|key| job.get(*key).is_some());
    let is_other_checkout =
        |step: &Value| step.get("with").is_some_and(|with| with.get("repository").is_some());
    let mut steps = job.get("steps").and_then(Value::as_array).into_iter().flatten();
    !is_beside(name)
        && !is_beside(text("name"))
        && !is_other_machine
        && !has_more
        && !steps.any(is_other_checkout)
}

pub(crate) fn default_folder(of: &Value) -> Option<&str> {
    of.get("defaults")?.get("run")?.get("working-directory")?.as_str()
}

/// What a step says. `None` if it does not run by itself.
fn statement(
    path: &str,
    job: &str,
    surroundings: &[&Value; 2],
    at: usize,
    step: &Value,
) -> Option<TestStatement> {
    let name = step.get("name").and_then(Value::as_str);
    let shell = step.get("shell").and_then(Value::as_str).unwrap_or("bash");
    let script = step.get("run")?.as_str()?;
    let is_plain_shell = matches!(shell.split_whitespace().next(), Some("bash" | "sh"));
    if step.get("if").is_some() || name.is_some_and(is_beside) || !is_plain_shell {
        return None;
    }
    let mut variables = BTreeMap::new();
    for of in surroundings.iter().copied().chain([step]) {
        for (name, value) in of.get("env").and_then(Value::as_object).into_iter().flatten() {
            if !decides(name) {
                continue;
            }
            // Of a matrix, of secrets or of an earlier step: what it will be is not known.
            variables.insert(name.clone(), text_of(value).filter(|value| !value.contains("${{"))?);
        }
    }
    let of_job = || surroundings.iter().rev().find_map(|of| default_folder(of));
    let folder = step.get("working-directory").and_then(Value::as_str).or_else(of_job).unwrap_or(".");
    let folder = if matches!(folder, "." | "./") { String::new() } else { plain_folder(folder)? };
    let what =
        name.map_or_else(|| format!("step {} of the job {job}", at + 1), |name| format!("step {name:?}"));
    Some(TestStatement { at: format!("{what} in {path}"), folder, variables, script: script.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(written: &[(&str, &str)]) -> Vec<String> {
        let paths: Vec<String> = written.iter().map(|(path, _)| (*path).to_owned()).collect();
        let read = |path: &str| {
            written.iter().find(|(name, _)| *name == path).map(|(_, text)| text.as_bytes().to_vec())
        };
        let all = test_steps(&RepositoryFiles::new(&paths, &read));
        let shown = |step: TestStatement| {
            let variables: String =
                step.variables.iter().map(|(name, value)| format!("{name}={value} ")).collect();
            format!("{}: {}|{variables}{}", step.at, step.folder, step.script.trim())
        };
        all.into_iter().map(shown).collect()
    }

    fn of_jobs(jobs: &str) -> Vec<String> {
        steps(&[(".github/workflows/ci.yml", &format!("on: [push, pull_request]\njobs:\n{jobs}"))])
    }

    #[test]
    fn steps_that_run_for_each_change_are_what_a_repository_says() {
        let test = "jobs:\n  test:\n    steps:\n      - uses: actions/checkout@v4\n      - name: Run tests\n        run: |\n          \
                    make\n          make test\n";
        let at = "step \"Run tests\" in .github/workflows";
        for on in [
            "on: push\n",
            "on: [pull_request, workflow_dispatch]\n",
            "on:\n  push:\n    branches: [main, 'release/*']\n",
            "on:\n  pull_request:\n    paths-ignore: ['docs/**']\n",
            "\"on\":\n  push:\n    tags: [v1]\n  pull_request:\n",
        ] {
            let all = steps(&[(".github/workflows/tests.yml", &format!("{on}{test}"))]);
            assert_eq!(all, [format!("{at}/tests.yml: |make\nmake test")], "{on}");
        }
        for on in [
            "on:\n  push:\n    tags: ['v*']\n",
            "on:\n  schedule:\n    - cron: x\n",
            "on:\n  push:\n    branches: [gh-pages]\n",
            "",
        ] {
            assert_eq!(steps(&[(".github/workflows/tests.yml", &format!("{on}{test}"))]), [""; 0], "{on}");
        }
        for path in [
            ".github/workflows/lint.yml",
            ".github/workflows/e2e-tests.yaml",
            ".github/workflows/a/b.yml",
            "ci.yml",
        ] {
            assert_eq!(steps(&[(path, &format!("on: push\n{test}"))]), [""; 0], "{path}");
        }
    }

    #[test]
    fn what_only_github_knows_or_gives_is_no_statement() {
        for jobs in [
            "  a:\n    services: {db: {image: postgres}}\n    steps: [{run: pytest}]\n",
            "  a:\n    container: debian\n    steps: [{run: pytest}]\n",
            "  a:\n    if: github.repository == 'a/b'\n    steps: [{run: pytest}]\n",
            "  a:\n    runs-on: windows-latest\n    steps: [{run: pytest}]\n",
            "  integration:\n    steps: [{run: pytest}]\n",
            "  a:\n    name: Type checks (mypy)\n    steps: [{run: pytest}]\n",
            "  a:\n    steps: [{run: pytest, if: always()}]\n",
            "  a:\n    steps: [{run: pytest, shell: pwsh}]\n",
            "  a:\n    steps: [{run: pytest, name: Smoke tests}]\n",
            "  a:\n    steps: [{run: pytest, env: {TOKEN: '${{ secrets.X }}'}}]\n",
            "  a:\n    env: {DB: '${{ matrix.db }}'}\n    steps: [{run: pytest}]\n",
            "  a:\n    steps: [{run: pytest, working-directory: ../b}]\n",
            "  a:\n    steps: [{uses: actions/checkout@v4, with: {repository: b/c}}, {run: pytest}]\n",
            "  a: 1\n",
        ] {
            assert_eq!(of_jobs(jobs), [""; 0], "{jobs}");
        }
    }

    #[test]
    fn variables_and_folders_of_a_step_and_its_job_come_with_it() {
        let jobs = "  a:\n    runs-on: ${{ matrix.os }}\n    env: {A: 1, B: x, FORCE_COLOR: '${{ x }}'}\n    defaults: {run: {working-directory: api}}\n    \
                    steps:\n      - run: pytest\n        env: {B: z}\n      - run: make test\n        working-directory: .\n";
        let of = "of the job a in .github/workflows/ci.yml";
        assert_eq!(
            of_jobs(jobs),
            [format!("step 1 {of}: api|A=1 B=z pytest"), format!("step 2 {of}: |A=1 B=x make test")]
        );
    }
}
