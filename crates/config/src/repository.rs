//! `.github/journeyman.yml`. Anyone with write access to the default branch can write it, so every value is checked,
//! and each error is worded for that person.

use super::repository_templates::{is_pipeline, is_plain_name};
use journeyman_image::ImageReference;
use journeyman_order::bounds::{LARGEST_SETTINGS, MOST_LISTED, MOST_NAMED};
use journeyman_order::names::can_be_set;
use journeyman_order::settings::plain_folder;
use journeyman_order::yaml;
use journeyman_order::{RepositorySettings, byte_order_mark};

const MOST_COMMAND: usize = 4_096;
const MOST_VARIABLES: usize = 100;
const COMMAND: &str = "a shell command of 1 to 4096 characters";

/// Why a repository's settings cannot be used: the first YAML error, or every broken rule. The issue shows the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`.github/journeyman.yml`: {}", yaml::in_one_line(.0))]
pub struct RepositorySettingsError(Vec<String>);

/// Reads a repository's settings. An empty file is valid.
///
/// # Errors
/// The first YAML error with its line, or every broken rule with its key.
pub fn repository_settings(yaml: &[u8]) -> Result<RepositorySettings, RepositorySettingsError> {
    let unreadable = |problem: String| Err(RepositorySettingsError(vec![problem]));
    if yaml.len() > LARGEST_SETTINGS {
        return unreadable(format!("it has {} bytes; at most {LARGEST_SETTINGS} are read", yaml.len()));
    }
    let text = match std::str::from_utf8(yaml) {
        Ok(text) => text,
        Err(error) => return unreadable(format!("not UTF-8 after byte {}", error.valid_up_to())),
    };
    let text = byte_order_mark::strip(text);
    let says_something = |line: &str| !matches!(line.trim(), "" | "---") && !line.trim().starts_with('#');
    if !text.lines().any(says_something) {
        return Ok(RepositorySettings::default());
    }
    let (read, _) = yaml::read_with_places::<RepositorySettings>(text);
    let settings = read.map_err(|problem| RepositorySettingsError(vec![problem.with_line()]))?;
    let mut problems = Vec::new();
    hold_to_rules(&settings, &mut problems);
    if problems.is_empty() { Ok(settings) } else { Err(RepositorySettingsError(problems)) }
}

fn hold(problems: &mut Vec<String>, key: impl std::fmt::Display, fits: bool, expected: &str) {
    if !fits {
        problems.push(format!("`{key}` has to be {expected}"));
    }
}

/// Whether a text is not blank and has at most this many characters.
fn short(text: &str, most: usize) -> bool {
    !text.trim().is_empty() && text.chars().count() <= most && !text.contains('\0')
}

fn is_command(command: Option<&String>) -> bool {
    command.is_none_or(|command| short(command, MOST_COMMAND))
}

fn are_few<T>(list: Option<&Vec<T>>, most: usize, fits: impl Fn(&T) -> bool) -> bool {
    list.is_none_or(|list| list.len() <= most && list.iter().all(fits))
}

fn hold_to_rules(settings: &RepositorySettings, problems: &mut Vec<String>) {
    let fits = settings.label.as_ref().is_none_or(|label| short(label, 50));
    hold(problems, "label", fits, "a label's name of 1 to 50 characters");
    let fits = settings.pipeline.as_ref().is_none_or(|name| is_pipeline(name));
    hold(
        problems,
        "pipeline",
        fits,
        "a pipeline's name, or its file, .github/journeyman/pipelines/NAME.yaml",
    );
    hold(problems, "setup", is_command(settings.setup.as_ref()), COMMAND);
    hold(problems, "test", is_command(settings.test.as_ref()), COMMAND);
    hold_environment_to_rules(settings, problems);
    hold_folders_to_rules(settings, problems);
    let fits = settings.report.as_ref().is_none_or(|path| is_inside(path));
    hold(problems, "report", fits, "a path inside the repository, such as target/report.xml");
    let fits = are_few(settings.network.as_ref(), 50, |name| short(name, 253));
    hold(problems, "network", fits, "a list of at most 50 names of hosts, such as api.example.org");
    let is_glob = |glob: &String| short(glob, 500) && globset::Glob::new(glob).is_ok();
    let fits = are_few(settings.protected.as_ref(), MOST_LISTED, is_glob);
    hold(problems, "protected", fits, "a list of at most 200 globs, such as \"docs/**\"");
    let fits = are_few(settings.allowed_secrets.as_ref(), 200, |one| short(one, 200));
    hold(problems, "allowed_secrets", fits, "a list of at most 200 fingerprints, as a finding tells them");
    let fits = settings.agents.iter().all(|(role, agent)| is_plain_name(role) && is_plain_name(agent));
    hold(problems, "agents", fits, "roles and names of agents, such as developer: claude");
    let budget = settings.budget.unwrap_or_default();
    let fits = budget.usd.is_none_or(|usd| usd > 0.0 && usd.is_finite());
    hold(problems, "budget.usd", fits, "a number over 0");
    hold(problems, "budget.minutes", budget.minutes != Some(0), "a whole number over 0");
    hold(problems, "budget.runs", budget.runs != Some(0), "a whole number over 0");
}

/// Checks the folders that are tested separately.
fn hold_folders_to_rules(settings: &RepositorySettings, problems: &mut Vec<String>) {
    let folders = &settings.tests;
    for (key, is_said) in [("test", settings.test.is_some()), ("report", settings.report.is_some())] {
        let fits = !is_said || folders.is_empty();
        hold(problems, key, fits, "left out where `tests` names folders");
    }
    let mut paths: Vec<_> = folders.iter().map(|folder| plain_folder(&folder.path)).collect();
    paths.sort_unstable();
    let are_twice = paths.windows(2).any(|pair| pair.first() == pair.last());
    hold(
        problems,
        "tests",
        folders.len() <= MOST_NAMED && !are_twice,
        "a list of at most 30 folders, each of them once, such as - path: backend",
    );
    for (nth, folder) in folders.iter().enumerate() {
        let key = |name: &str| format!("tests[{nth}].{name}");
        hold(
            problems,
            key("path"),
            folder.path == "." || (is_inside(&folder.path) && plain_folder(&folder.path).is_some()),
            "a folder from the root, such as services/api; letters, digits and . _ - @ + / only",
        );
        hold(problems, key("test"), is_command(folder.test.as_ref()), COMMAND);
        hold(problems, key("setup"), is_command(folder.setup.as_ref()), COMMAND);
        let fits = are_few(Some(&folder.also), MOST_LISTED, |path| is_inside(path));
        hold(problems, key("also"), fits, "a list of files and folders from the root, such as shared/");
    }
}

const MOST_SERVICES: usize = 10;
const VARIABLES: &str = "names of at most 100 variables with their values of up to 4096 characters, such as DATABASE_URL: \
                         postgres://db; a name is letters, digits and _, and neither PATH nor HOME";
const IMAGE: &str =
    "an OCI image, such as python:3.12-slim or ghcr.io/owner/name@sha256:… with 64 hexadecimal digits";

/// Checks image, services and variables.
fn hold_environment_to_rules(settings: &RepositorySettings, problems: &mut Vec<String>) {
    hold(problems, "image", settings.image.as_ref().is_none_or(|image| is_image(image)), IMAGE);
    hold(problems, "env", are_variables(&settings.env), VARIABLES);
    let is_label = |name: &str| {
        let is_of_label = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        (1..=63).contains(&name.len())
            && name.bytes().all(is_of_label)
            && !name.starts_with('-')
            && !name.ends_with('-')
    };
    hold(
        problems,
        "services",
        settings.services.len() <= MOST_SERVICES
            && settings.services.keys().all(|name| is_label(name) && name != "localhost"),
        "at most 10 services by their names of lower case letters, digits and hyphens, such as db: { image: postgres:16 }",
    );
    for (name, service) in &settings.services {
        let key = |of: &str| format!("services.{name}.{of}");
        hold(problems, key("image"), is_image(&service.image), IMAGE);
        hold(problems, key("env"), are_variables(&service.env), VARIABLES);
        let fits = is_command(service.ready.as_ref());
        hold(problems, key("ready"), fits, "a shell command of 1 to 4096 characters, such as pg_isready");
    }
}

fn are_variables(all: &std::collections::BTreeMap<String, String>) -> bool {
    all.len() <= MOST_VARIABLES && all.iter().all(|(name, value)| can_be_set(name, value))
}

/// Uses the same grammar as the code that pulls images.
fn is_image(image: &str) -> bool {
    image.parse::<ImageReference>().is_ok()
}

fn is_inside(path: &str) -> bool {
    use std::path::Component;
    let path = std::path::Path::new(path);
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    path.as_os_str().len() <= 500 && path.file_name().is_some() && path.components().all(is_plain)
}
