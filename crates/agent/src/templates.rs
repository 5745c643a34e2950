//! Command templates: ours, and where a repository may keep its own.

use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "../../templates/commands/"]
struct BuiltInCommands;

/// A command whose name cannot be a file's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the command {0:?} is no name of a template: 1 to 60 characters of a-z, A-Z, 0-9, - and _, with or without a slash before"
)]
pub struct InvalidCommandName(String);

/// A template's name from a command as pipelines and agents write it: `/feature` is `feature`.
///
/// # Errors
/// When it is not of letters, digits, `-` and `_`: the name becomes a file's, so it must not lead elsewhere.
pub fn command_name(command: &str) -> Result<&str, InvalidCommandName> {
    let trimmed = command.trim();
    let name = trimmed.strip_prefix('/').unwrap_or(trimmed);
    let fits = (1..=60).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    if fits { Ok(name) } else { Err(InvalidCommandName(command.chars().take(80).collect())) }
}

/// Where a repository may keep a template of that name, from its root; the first that is there is used, before
/// ours.
///
/// # Errors
/// When the name cannot be a file's.
pub fn repository_paths(command: &str) -> Result<[String; 2], InvalidCommandName> {
    let name = command_name(command)?;
    Ok([format!(".github/journeyman/commands/{name}.md"), format!(".claude/commands/{name}.md")])
}

/// Our own template of that name, with or without a slash.
pub fn built_in(command: &str) -> Option<String> {
    let name = command_name(command).ok()?;
    let file = BuiltInCommands::get(&format!("{name}.md"))?;
    Some(String::from_utf8_lossy(&file.data).into_owned())
}

/// The names of our own templates, sorted.
pub fn built_in_names() -> Vec<String> {
    let mut names: Vec<String> =
        BuiltInCommands::iter().filter_map(|file| file.strip_suffix(".md").map(String::from)).collect();
    names.sort();
    names
}

/// The template without its front matter: what other tools keep there (tools allowed, a description) is not for
/// the agent to read.
pub(super) fn body(template: &str) -> &str {
    let template = template.strip_prefix('\u{feff}').unwrap_or(template);
    let mut lines = template.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else { return template };
    let mut length = first.len();
    for line in lines {
        length += line.len();
        if line.trim_end() == "---" {
            return template.get(length..).unwrap_or_default().trim_start_matches(['\r', '\n']);
        }
    }
    template
}
