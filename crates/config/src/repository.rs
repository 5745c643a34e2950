//! `.github/journeyman.yml`: written by whoever can write to the default branch, so it is held to rules, but
//! never worse than a clear sentence to that person.

use super::repository_templates::{is_pipeline, is_plain_name};
use journeyman_order::RepositorySettings;

/// The most bytes that the file may have.
pub const MOST_BYTES: usize = 64 * 1024;
const MOST_COMMAND: usize = 4_096;
const MOST_GLOBS: usize = 200;

/// Why a repository's settings cannot be used; written to be shown on the issue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RepositorySettingsError {
    /// Too large to be settings.
    #[error("`.github/journeyman.yml` has {0} bytes; at most {MOST_BYTES} are read")]
    TooLarge(usize),
    /// Not YAML of this shape.
    #[error("`.github/journeyman.yml`{}: {because}", .line.map(|line| format!(", line {line}")).unwrap_or_default())]
    Yaml {
        /// Where, from 1, if the parser knows.
        line: Option<u64>,
        because: String,
    },
    /// A value that cannot be used.
    #[error("`.github/journeyman.yml`: `{key}` has to be {expected}")]
    Value { key: String, expected: String },
}

/// Reads a repository's settings. An empty file says nothing, which is fine.
///
/// # Errors
/// The first thing that is wrong, with its key or line.
pub fn repository_settings(yaml: &[u8]) -> Result<RepositorySettings, RepositorySettingsError> {
    if yaml.len() > MOST_BYTES {
        return Err(RepositorySettingsError::TooLarge(yaml.len()));
    }
    let text = std::str::from_utf8(yaml).map_err(|error| RepositorySettingsError::Yaml {
        line: None,
        because: format!("not UTF-8 after byte {}", error.valid_up_to()),
    })?;
    let says_something = |line: &str| !matches!(line.trim(), "" | "---") && !line.trim().starts_with('#');
    if !text.lines().any(says_something) {
        return Ok(RepositorySettings::default());
    }
    let settings: RepositorySettings =
        serde_saphyr::from_str(text).map_err(|error| yaml_error(text, &error))?;
    hold_to_rules(&settings)?;
    Ok(settings)
}

fn yaml_error(text: &str, error: &serde_saphyr::Error) -> RepositorySettingsError {
    let line = error.location().map(|location| location.line()).filter(|line| *line > 0);
    // What follows the first line is a drawing of the file, which the reader has anyway.
    let error = error.to_string();
    let first = error.lines().next().unwrap_or("it cannot be read");
    // Nor is the place said twice.
    let first = first.strip_prefix("error: ").unwrap_or(first);
    let first = match first.split_once(": ") {
        Some((place, rest)) if line.is_some() && place.starts_with("line ") => rest,
        Some(_) | None => first,
    };
    let because: String = first.chars().take(300).collect();
    // A value that is none of those allowed is said without the key that it was given for.
    let key = line.and_then(|line| key_of(text, line)).filter(|key| !because.contains(*key));
    let because = key.map_or(because.clone(), |key| format!("`{key}`: {because}"));
    RepositorySettingsError::Yaml { line, because }
}

/// The key of the whole file that this line belongs to.
fn key_of(text: &str, line: u64) -> Option<&str> {
    let lines: Vec<&str> = text.lines().take(usize::try_from(line).ok()?).collect();
    let (key, _) = lines.iter().rev().find(|line| !line.starts_with([' ', '#', '-']))?.split_once(':')?;
    let is_key =
        |key: &str| (1..=40).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    Some(key.trim_end()).filter(|key| is_key(key))
}

fn hold_to_rules(settings: &RepositorySettings) -> Result<(), RepositorySettingsError> {
    let wrong = |key: &str, expected: &str| {
        Err(RepositorySettingsError::Value { key: key.to_owned(), expected: expected.to_owned() })
    };
    let short = |text: &str, most: usize| {
        !text.trim().is_empty() && text.chars().count() <= most && !text.contains('\0')
    };
    if settings.label.as_ref().is_some_and(|label| !short(label, 50)) {
        return wrong("label", "a label's name of 1 to 50 characters");
    }
    if settings.pipeline.as_ref().is_some_and(|name| !is_pipeline(name)) {
        return wrong("pipeline", "a pipeline's name, or its file, .github/journeyman/pipelines/NAME.yaml");
    }
    for (key, command) in [("setup", &settings.setup), ("test", &settings.test)] {
        if command.as_ref().is_some_and(|command| !short(command, MOST_COMMAND)) {
            return wrong(key, "a shell command of 1 to 4096 characters");
        }
    }
    if settings.report.as_ref().is_some_and(|path| !is_inside(path)) {
        return wrong("report", "a path inside the repository, such as target/report.xml");
    }
    if settings
        .network
        .as_ref()
        .is_some_and(|names| names.len() > 50 || !names.iter().all(|name| short(name, 253)))
    {
        return wrong("network", "a list of at most 50 names of hosts, such as api.example.org");
    }
    if let Some(globs) = &settings.protected {
        let fits = |glob: &String| short(glob, 500) && globset::Glob::new(glob).is_ok();
        if globs.len() > MOST_GLOBS || !globs.iter().all(fits) {
            return wrong("protected", "a list of at most 200 globs, such as \"docs/**\"");
        }
    }
    if settings
        .allowed_secrets
        .as_ref()
        .is_some_and(|list| list.len() > 200 || !list.iter().all(|one| short(one, 200)))
    {
        return wrong("allowed_secrets", "a list of at most 200 fingerprints, as a finding tells them");
    }
    if !settings.agents.iter().all(|(role, agent)| is_plain_name(role) && is_plain_name(agent)) {
        return wrong("agents", "roles and names of agents, such as developer: claude");
    }
    if let Some(budget) = settings.budget {
        if budget.usd.is_some_and(|usd| !(usd > 0.0 && usd.is_finite())) {
            return wrong("budget.usd", "a number over 0");
        }
        if budget.minutes == Some(0) {
            return wrong("budget.minutes", "a whole number over 0");
        }
        if budget.runs == Some(0) {
            return wrong("budget.runs", "a whole number over 0");
        }
    }
    Ok(())
}

fn is_inside(path: &str) -> bool {
    use std::path::Component;
    let path = std::path::Path::new(path);
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    path.as_os_str().len() <= 500 && path.file_name().is_some() && path.components().all(is_plain)
}
