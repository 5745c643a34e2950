//! What code asks about where it runs: its tests, terminal, process, folder, build or caller. Honest code rarely does.
//!
//! May know: the languages. Must never know: which lines a change adds, what they come to.

use std::sync::LazyLock;

use regex::Regex;

use crate::not_run::compiled;
use crate::table::all;

/// What any language can ask, in regular expressions.
const OF_ANY: [&str; 5] = [
    r"\b(?:isatty|ttyname|getppid|PPID|LD_PRELOAD|FAKETIME|st_[mc]time|if_nameindex|MAKELEVEL|MAKEFLAGS|GITHUB_ACTIONS)\b",
    r#"["']tests?["'/]"#,
    r#"["'/]\.git["'/]"#,
    r#"["'`\s(<]/proc/"#,
    r#"["'$.{]CI\b"#,
];

static SURROUNDINGS: LazyLock<Regex> = LazyLock::new(|| {
    let patterns: Vec<&str> = all(|facts| facts.surroundings).chain(&OF_ANY).copied().collect();
    // With boundaries of ASCII, a line in any script is searched in one pass.
    compiled(&format!("(?-u:{})", patterns.join("|")))
});

/// The first words of a line that ask about its surroundings.
pub fn asked_about(line: &str) -> Option<&str> {
    SURROUNDINGS.find(line).map(|found| found.as_str())
}
