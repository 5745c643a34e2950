//! What of a role a runtime is told: its words and its model, made harmless as arguments of a program.

use super::text::end_of;
use journeyman_order::Role;

/// The words of a role, as they stand before a task; none when it has none. They come from us, from the settings or
/// from the repository's base commit, never from an issue.
pub(super) fn system_prompt(role: Option<&Role>) -> Option<String> {
    let words = end_of(&role?.system_prompt, usize::MAX);
    // Never the beginning of an option, whatever a role begins with.
    (!words.is_empty()).then(|| format!("# Your role\n\n{words}"))
}

/// The prompt with the role's words before it, for a program that has no other place for them.
pub(super) fn before(words: Option<&str>, prompt: &str) -> String {
    match words {
        Some(words) => format!("{words}\n\n---\n\n{prompt}"),
        None => prompt.to_owned(),
    }
}

/// The role's model, where it looks like a model's name and not like an option.
pub(super) fn model_of(role: Option<&Role>) -> Option<&str> {
    let name = role?.model.as_deref()?;
    let fits = (1..=128).contains(&name.len())
        && !name.starts_with('-')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:/@[]".contains(&b));
    fits.then_some(name)
}
