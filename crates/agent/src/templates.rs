//! Command templates: the built-in ones, and where a repository may keep its own.

use rust_embed::RustEmbed;

use super::expand::expand;
use journeyman_order::byte_order_mark;
use journeyman_order::names::{COMMAND_RULE, is_command_name};

#[derive(RustEmbed)]
#[folder = "../../templates/commands/"]
struct BuiltInCommands;

/// The template's name from a command in a pipeline or role: `/feature` gives `feature`.
///
/// # Errors
/// When it contains anything but letters, digits, `-`, `_` and inner slashes: it becomes a path and must stay inside.
pub fn command_name(command: &str) -> Result<&str, String> {
    let trimmed = command.trim();
    let name = trimmed.strip_prefix('/').unwrap_or(trimmed);
    if is_command_name(name) {
        return Ok(name);
    }
    let said: String = command.chars().take(80).collect();
    Err(format!("the command {said:?} is no name of a template: {COMMAND_RULE}"))
}

/// Paths in a repository where it may keep a template of that name. Its Claude Code commands serve its people, under
/// everyday names, so they count only if its own pipeline or role names them.
///
/// # Errors
/// When the name is not a valid template name.
pub fn repository_paths(command: &str, is_named: bool) -> Result<Vec<String>, String> {
    let name = command_name(command)?;
    let for_claude = is_named.then(|| format!(".claude/commands/{name}.md"));
    Ok(std::iter::once(format!(".github/journeyman/commands/{name}.md")).chain(for_claude).collect())
}

/// The first `given` placeholders that our own template of that name uses and this one does not, as written.
pub fn dropped_placeholders(name: &str, template: &str, given: usize) -> Vec<String> {
    let arguments: Vec<String> = (1..=9).map(|position| format!("\0{position}\0")).collect();
    let filled = |template: &str| expand(body(template), &arguments).text;
    let (ours, other) = (filled(&built_in(name).unwrap_or_default()), filled(template));
    let is_dropped = |argument: &&String| ours.contains(*argument) && !other.contains(*argument);
    let dropped = arguments.iter().take(given).filter(is_dropped);
    dropped.map(|argument| format!("${}", argument.trim_matches('\0'))).collect()
}

/// Our own template of that name, with or without a leading slash.
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

/// The template without its front matter, which other tools use (allowed tools, a description) and the agent does not
/// need.
pub(super) fn body(template: &str) -> &str {
    let template = byte_order_mark::strip(template);
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
