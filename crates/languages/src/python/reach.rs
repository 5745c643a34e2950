//! Which folders pytest searches.

use crate::test_call::{TestCall, mentions, segments, words};

/// Whether pytest searches a folder. It searches all folders unless paths are configured.
pub(super) fn reaches(call: &TestCall<'_, '_>) -> bool {
    // In the order in which pytest looks for its settings.
    const SETTINGS: [&str; 7] = [
        "pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg",
    ];
    let told = SETTINGS.iter().find_map(|name| {
        let text = call.file(name)?;
        let (_, told) = text.split_once("testpaths")?;
        Some(told.lines().take_while(|line| !line.trim().is_empty()).take(10).collect::<Vec<_>>().join(" "))
    });
    let is_told_of = |told: &String| {
        let first = call.below.split('/').next().unwrap_or(call.below);
        mentions(&told.replace(['[', ']', ','], " "), first)
    };
    segments(call.text).any(|segment| {
        let all: Vec<&str> = words(segment).collect();
        let Some(at) = all.iter().position(|word| matches!(*word, "pytest" | "py.test")) else {
            return false;
        };
        let has_place = all.iter().skip(at + 1).any(|word| !word.starts_with('-') && call.is_place(word));
        !has_place && told.as_ref().is_none_or(is_told_of)
    })
}
