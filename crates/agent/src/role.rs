//! The parts of a role that a runtime gets, its system prompt and model, made safe as arguments.

use super::text::end_of;
use journeyman_order::Role;

/// The role's system prompt as it precedes a task; `None` if empty. It comes from us, the settings or the repository's
/// base commit, never from an issue.
pub(super) fn system_prompt(role: Option<&Role>) -> Option<String> {
    let words = end_of(&role?.system_prompt, usize::MAX);
    // The heading keeps it from looking like an option.
    (!words.is_empty()).then(|| format!("# Your role\n\n{words}"))
}

/// Puts the system prompt before the prompt, for programs without an option for it.
pub(super) fn before(words: Option<&str>, prompt: &str) -> String {
    match words {
        Some(words) => format!("{words}\n\n---\n\n{prompt}"),
        None => prompt.to_owned(),
    }
}

/// The role's model, if it looks like a model's name and not like an option.
pub(super) fn model_of(role: Option<&Role>) -> Option<&str> {
    let name = role?.model.as_deref()?;
    let fits = (1..=128).contains(&name.len())
        && !name.starts_with('-')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:/@[]".contains(&b));
    fits.then_some(name)
}
