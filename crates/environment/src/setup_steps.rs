//! `copilot-setup-steps`: the workflow job in which a repository describes how to set up an agent's environment.
//!
//! May know: GitHub's workflow files. Must never know: what other sources say, the actions that set up a language.

use serde_json::Value;

use crate::statement::SourceStatement;
use crate::workflow::{self, text_of};
use crate::{EnvironmentSource, SetupCommand};
use journeyman_languages::files::{RepositoryFiles, quote};
use journeyman_languages::setups;
use journeyman_order::names::can_be_set;

const FILES: [&str; 2] =
    [".github/workflows/copilot-setup-steps.yml", ".github/workflows/copilot-setup-steps.yaml"];
const JOB: &str = "copilot-setup-steps";

/// Actions that need no equivalent here.
const NOTHING_TO_DO: [&str; 9] = [
    "actions/checkout",
    "actions/cache",
    "actions/cache/restore",
    "actions/cache/save",
    "actions/upload-artifact",
    "Swatinem/rust-cache",
    "gradle/actions/setup-gradle",
    "gradle/actions/wrapper-validation",
    "step-security/harden-runner",
];

pub(crate) fn read(files: &RepositoryFiles<'_>) -> Option<SourceStatement> {
    let (path, text) = FILES.into_iter().find_map(|path| Some((path, files.text(path)?)))?;
    let mut said = SourceStatement {
        source: EnvironmentSource::CopilotSetupSteps { path: path.to_owned() },
        ..SourceStatement::default()
    };
    let Some(parsed) = workflow::parse(&text) else {
        said.note(path, "it cannot be read, since it is not YAML, or more than a workflow is");
        return Some(said);
    };
    let Some(job) = parsed.get("jobs").and_then(|jobs| jobs.get(JOB)) else {
        said.note(path, format!("it has no job {JOB}"));
        return Some(said);
    };
    for of in [&parsed, job] {
        for (name, value) in variables(of.get("env"), path, "env", &mut said) {
            said.variables.insert(name, value);
        }
    }
    let container = job.get("container");
    let image =
        container.and_then(|container| container.as_str().or_else(|| container.get("image")?.as_str()));
    if let Some(image) = image {
        said.take_image(path, "container", image);
    }
    if job.get("services").is_some() {
        said.note(path, "`services` are left out: name them in .github/journeyman.yml");
    }
    let default_folder = [job, &parsed].into_iter().find_map(workflow::default_folder);
    steps(job.get("steps"), path, default_folder, Some(files), &mut said);
    Some(said)
}

/// The steps of a job or of a local action. Local actions are not expanded further (`files` is `None`).
fn steps(
    steps: Option<&Value>,
    path: &str,
    default_folder: Option<&str>,
    files: Option<&RepositoryFiles<'_>>,
    said: &mut SourceStatement,
) {
    for (at, step) in steps.and_then(Value::as_array).into_iter().flatten().enumerate() {
        let name = step
            .get("name")
            .and_then(Value::as_str)
            .map_or_else(|| format!("step {}", at + 1), |name| format!("step {name:?}"));
        let because = format!("{name} in {path}");
        if let Some(condition) = step.get("if") {
            said.note(path, format!("{name} is left out: its condition {condition} is not evaluated"));
        } else if let Some(action) = step.get("uses").and_then(Value::as_str) {
            match files.and_then(|files| own_action(action, files)) {
                Some((file, action)) => {
                    let own = action.get("runs").and_then(|runs| runs.get("steps"));
                    self::steps(own, &file, None, None, said);
                }
                None => uses(action, step, &name, &because, path, said),
            }
        } else if let Some(run) = step.get("run").and_then(Value::as_str) {
            self::run(run, step, default_folder, &name, because, path, said);
        }
    }
}

/// A composite action in the repository.
fn own_action(action: &str, files: &RepositoryFiles<'_>) -> Option<(String, Value)> {
    let folder = action.strip_prefix("./")?.trim_end_matches('/');
    let path = ["action.yml", "action.yaml"].map(|name| format!("{folder}/{name}"));
    let (path, text) = path.into_iter().find_map(|path| Some((path.clone(), files.text(&path)?)))?;
    let action = workflow::parse(&text)?;
    let is_composite = action.get("runs")?.get("using")?.as_str() == Some("composite");
    is_composite.then_some((path, action))
}

fn variables(
    env: Option<&Value>,
    path: &str,
    place: &str,
    said: &mut SourceStatement,
) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (name, value) in env.and_then(Value::as_object).into_iter().flatten() {
        let Some(value) = text_of(value) else { continue };
        let value = value.replace("${{ github.workspace }}", "{tree}");
        if value.contains("${{") || !can_be_set(name, &value) {
            said.note(
                path,
                format!(
                    "`{place}.{name}` is left out: expressions are not evaluated, and PATH and HOME are ours"
                ),
            );
        } else {
            all.push((name.clone(), value));
        }
    }
    all
}

fn uses(action: &str, step: &Value, name: &str, because: &str, path: &str, said: &mut SourceStatement) {
    let plain = action.split('@').next().unwrap_or(action);
    let input = |key: &str| text_of(step.get("with")?.get(key)?).filter(|value| !value.is_empty());
    if NOTHING_TO_DO.contains(&plain) {
        return;
    }
    let Some((tool, known)) = setups::setup_action(plain) else {
        said.note(path, format!("{name} is left out: the action {action} is not run"));
        return;
    };
    let version = input(known.version).filter(|version| {
        let is_plain = !version.contains("${{") && version.lines().count() == 1;
        if !is_plain {
            said.note(path, format!("{name}: the version {version:?} is not evaluated"));
        }
        is_plain && !["latest", "stable", "master"].contains(&version.as_str())
    });
    said.tools.push((tool, version));
    // Some of these actions also install dependencies.
    let installs = (known.installs)(&input);
    said.setup.extend(
        installs.map(|command| SetupCommand { command: command.to_owned(), because: because.to_owned() }),
    );
}

fn run(
    script: &str,
    step: &Value,
    default_folder: Option<&str>,
    name: &str,
    because: String,
    path: &str,
    said: &mut SourceStatement,
) {
    let folder = step.get("working-directory").and_then(Value::as_str).or(default_folder).unwrap_or(".");
    let script = script.replace("${{ github.workspace }}", "$GITHUB_WORKSPACE");
    if script.contains("${{") || folder.contains("${{") {
        said.note(path, format!("{name} is left out: it has an expression, and those are not evaluated"));
        return;
    }
    let shell = step.get("shell").and_then(Value::as_str).unwrap_or("bash");
    let script = script.trim();
    let is_simple = script.lines().count() == 1 && !script.contains(['$', '[', '<', '{', '\\', '#']);
    let command = match shell.split_whitespace().next().unwrap_or_default() {
        "bash" if is_simple => script.to_owned(),
        "bash" => format!("bash -eo pipefail -c {}", quote(script)),
        "sh" => format!("sh -e -c {}", quote(script)),
        other => {
            said.note(path, format!("{name} is left out: the shell {other} is not run"));
            return;
        }
    };
    said.note_sudo(path, name, script);
    let mut before = String::new();
    for (variable, value) in variables(step.get("env"), path, &format!("{name}.env"), said) {
        before.push_str(&format!("export {variable}={}; ", quote(&value.replace("{tree}", "."))));
    }
    if script.contains("GITHUB_") {
        before.push_str(
            "export GITHUB_WORKSPACE=\"$PWD\" GITHUB_ENV=/dev/null GITHUB_PATH=/dev/null GITHUB_OUTPUT=/dev/null \
             GITHUB_STEP_SUMMARY=/dev/null; ",
        );
        if script.contains("GITHUB_ENV") {
            said.note(path, format!("{name}: what it writes to GITHUB_ENV is not set; name it as `env` in .github/journeyman.yml"));
        }
    }
    if folder != "." {
        before.push_str(&format!("cd {} && ", quote(folder)));
    }
    said.setup.push(SetupCommand { command: format!("{before}{command}"), because });
}
