//! Who installs a Python project, and how its requirements are called.

/// Who installs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manager {
    Uv,
    Poetry,
    Pdm,
    Pip,
}

/// The name of what a requirement asks for, as PyPI compares names.
pub(super) fn normalized(requirement: &str) -> String {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let trimmed = requirement.trim();
    let end = trimmed.find(|c: char| !is_of_name(c)).unwrap_or(trimmed.len());
    trimmed.get(..end).unwrap_or_default().to_lowercase().replace(['_', '.'], "-")
}
