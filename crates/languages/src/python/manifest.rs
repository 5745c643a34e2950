//! What the files of a Python project say about its tests.
//!
//! May know: pyproject.toml, setup.cfg, names of runners' files. Must never know: what changed in them.

use crate::old_settings::{OldPart, old_text, old_toml, restore_keys};

pub(super) const CONFIGURATION: &[&str] = &[
    "conftest.py",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "tox.ini",
    "tox.toml",
    ".noserc",
    "noxfile.py",
    "sitecustomize.py",
    "usercustomize.py",
    "*.pth",
    ".coveragerc",
    ".python-version",
    // Runners load plugins that such a folder declares.
    "*.egg-info/",
    "*.dist-info/",
];

pub(super) const SETTINGS: &[(&str, OldPart)] = &[
    ("pyproject.toml", |base, after| {
        old_toml(base, after, |before, now| restore_keys(PYPROJECT, before, now))
    }),
    ("hatch.toml", |base, after| {
        old_toml(base, after, |before, now| restore_keys(&[&["envs"]], before, now))
    }),
    ("setup.cfg", |base, after| old_text(base, after, setup_section)),
];

const PYPROJECT: &[&[&str]] = &[
    &["tool", "pytest"],
    &["tool", "coverage"],
    &["tool", "tox"],
    &["tool", "nox"],
    &["tool", "poe"],
    &["tool", "taskipy"],
    &["tool", "hatch", "envs"],
    &["tool", "pdm", "scripts"],
    &["tool", "rye", "scripts"],
];
/// Sections of setup.cfg, by their first words.
const SETUP: [&str; 5] = ["tool:pytest", "coverage", "aliases", "tox", "test"];

fn setup_section(line: &str) -> Option<bool> {
    let name = line.strip_prefix('[')?;
    Some(SETUP.iter().any(|section| name.starts_with(section)))
}
