//! Development containers: `devcontainer.json`, as far as it works without a container engine.
//!
//! May know: the specification at containers.dev. Must never know: what other sources say.

use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde_json::{Map, Value};

use crate::statement::SourceStatement;
use crate::{EnvironmentSource, ProgramFolder, SetupCommand};
use journeyman_languages::files::{RepositoryFiles, quote};
use journeyman_order::names::can_be_set;
use journeyman_order::settings::plain_folder;

/// Commands that set up the container, in the order in which they run.
const MAKING: [&str; 3] = ["onCreateCommand", "updateContentCommand", "postCreateCommand"];
/// Unsupported keys that would change the container or its permissions, each with the reason.
const LEFT_OUT: [(&str, &str); 12] = [
    ("build", "no image is built; name one as `image` in .github/journeyman.yml"),
    ("dockerFile", "no image is built; name one as `image` in .github/journeyman.yml"),
    ("dockerComposeFile", "Compose is not run; name `image` and `services` in .github/journeyman.yml"),
    ("initializeCommand", "it would run outside of the container, which nothing of a repository does here"),
    ("postStartCommand", "it is not run; what the tests need belongs to postCreateCommand"),
    ("postAttachCommand", "it is not run; what the tests need belongs to postCreateCommand"),
    ("mounts", "nothing is mounted besides the repository"),
    ("workspaceMount", "the repository is where the tests of any other are"),
    ("runArgs", "there is no container engine to give them to"),
    ("privileged", "nothing of a repository runs privileged"),
    ("capAdd", "no capabilities are added"),
    ("securityOpt", "security options stay as they are"),
];

pub(crate) fn read(files: &RepositoryFiles<'_>) -> Option<SourceStatement> {
    let mut said = SourceStatement::default();
    let (path, text) = file(files, &mut said)?;
    said.source = EnvironmentSource::Devcontainer { path: path.clone() };
    let value = match parse_to_serde_value::<Value>(&text, &ParseOptions::default()) {
        Ok(value) => value,
        Err(error) => {
            said.note(&path, format!("it cannot be read, since {error}"));
            return Some(said);
        }
    };
    let Some(config) = value.as_object() else {
        said.note(&path, "it cannot be read, since it is not an object");
        return Some(said);
    };
    features(config, &path, &mut said);
    for (key, because) in LEFT_OUT {
        if config.get(key).is_some_and(|value| {
            !matches!(value, Value::Null | Value::Bool(false)) && value != &Value::Array(Vec::new())
        }) {
            said.note(&path, format!("`{key}` is left out: {because}"));
        }
    }
    if let Some(image) = config.get("image").and_then(Value::as_str) {
        said.take_image(&path, "image", image);
    }
    let folder = folder(config, files);
    if let Some(folder) = &folder {
        let note = format!(
            "`workspaceFolder`: its commands run in {folder}, and tests are looked for in the root; name others as \
             `tests: [{{ path: {folder} }}]` in .github/journeyman.yml"
        );
        said.note(&path, note);
    }
    let here = folder.as_ref().map_or_else(|| "{tree}".to_owned(), |folder| format!("{{tree}}/{folder}"));
    for key in ["containerEnv", "remoteEnv"] {
        for (name, value) in config.get(key).and_then(Value::as_object).into_iter().flatten() {
            let Some(value) = value.as_str() else { continue };
            variable(key, name, &value.replace("${containerWorkspaceFolder}", &here), &path, &mut said);
        }
    }
    for key in MAKING {
        let Some(command) = config.get(key) else { continue };
        for (name, command) in commands(command) {
            let because =
                if name.is_empty() { format!("{key} in {path}") } else { format!("{key}.{name} in {path}") };
            let command = command
                .replace("${containerWorkspaceFolder}", "$PWD")
                .replace("${localWorkspaceFolder}", "$PWD")
                .replace("${containerWorkspaceFolderBasename}", "${PWD##*/}")
                .replace("${localWorkspaceFolderBasename}", "${PWD##*/}");
            if command.contains("${localEnv:") || command.contains("${containerEnv:") {
                said.note(
                    &path,
                    format!("`{key}` is left out: variables of elsewhere are not known: {command:?}"),
                );
            } else if !command.trim().is_empty() {
                said.note_sudo(&path, &format!("`{key}`"), &command);
                let command = match &folder {
                    Some(folder) => format!("cd {} && {command}", quote(folder)),
                    None => command,
                };
                said.setup.push(SetupCommand { command, because });
            }
        }
    }
    Some(said)
}

/// The file and its content. Of several, the first by name.
fn file(files: &RepositoryFiles<'_>, said: &mut SourceStatement) -> Option<(String, String)> {
    let usual = [".devcontainer/devcontainer.json", ".devcontainer.json"];
    if let Some(found) = usual.into_iter().find_map(|path| Some((path.to_owned(), files.text(path)?))) {
        return Some(found);
    }
    let is_one = |path: &&str| path.ends_with("/devcontainer.json") && path.matches('/').count() == 2;
    let all: Vec<&str> = files.below(".devcontainer").filter(is_one).collect();
    let (path, others) = all.split_first()?;
    if !others.is_empty() {
        said.note(path, format!("it is taken and {} is not", others.join(", ")));
    }
    Some(((*path).to_owned(), files.text(path)?))
}

/// The folder below the repository's root where commands run.
fn folder(config: &Map<String, Value>, files: &RepositoryFiles<'_>) -> Option<String> {
    let named = config.get("workspaceFolder")?.as_str()?.strip_prefix("/workspaces/")?;
    plain_folder(named.split_once('/')?.1).filter(|folder| files.has(folder))
}

fn features(config: &Map<String, Value>, path: &str, said: &mut SourceStatement) {
    for (reference, options) in config.get("features").and_then(Value::as_object).into_iter().flatten() {
        let version = options.as_str().or_else(|| options.get("version")?.as_str());
        let asked = version.map(|version| format!(" {version}")).unwrap_or_default();
        said.note(path, format!("the feature {reference}{asked} is not installed: use an image that has it"));
    }
}

fn variable(key: &str, name: &str, value: &str, path: &str, said: &mut SourceStatement) {
    let here = value.replace("${localWorkspaceFolder}", "{tree}");
    if name == "PATH" {
        for folder in here.split(':').filter(|folder| !folder.starts_with("${")) {
            // Splitting at colons also splits `${containerEnv:PATH}`.
            match folder.strip_prefix("{tree}/") {
                Some(inner) => said.search_path.push(ProgramFolder::Tree(inner.to_owned())),
                None if folder == "PATH}" => {}
                None => said.note(
                    path,
                    format!("`{key}.PATH`: {folder:?} is left out, since it is not in the repository"),
                ),
            }
        }
        return;
    }
    if !can_be_set(name, value) || here.contains("${") {
        said.note(path, format!("`{key}.{name}` is left out: its value is not known here, or cannot be set"));
        return;
    }
    said.variables.insert(name.to_owned(), here);
}

/// A devcontainer command: shell text, a program with arguments, or several parallel commands that may be named.
/// Parallel commands run in sequence here.
fn commands(value: &Value) -> Vec<(String, String)> {
    let one = |value: &Value| {
        let words = value.as_array().map(|words| shell_words::join(words.iter().filter_map(Value::as_str)));
        value.as_str().map(str::to_owned).or(words)
    };
    match value.as_object() {
        Some(named) => named.iter().filter_map(|(name, value)| Some((name.clone(), one(value)?))).collect(),
        None => one(value).map(|command| (String::new(), command)).into_iter().collect(),
    }
}
