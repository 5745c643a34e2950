//! What is known of languages and their test runners: how to find, set up, run, select, read and edit tests.
//!
//! May know: manifests, lockfiles, runners, reports, grammars. Must never know: how a process is started, what a verdict is.

/// A regular expression, compiled once. Tests catch an invalid one.
#[macro_export]
macro_rules! pattern {
    ($text:literal $(,)?) => {{
        static PATTERN: std::sync::LazyLock<regex::Regex> = std::sync::LazyLock::new(|| {
            regex::Regex::new($text).unwrap_or_else(|error| unreachable!("a pattern of ours: {error}"))
        });
        &*PATTERN
    }};
}

pub mod asking;
pub mod builds;
pub mod chain;
pub mod configuration;
pub mod dependencies;
pub mod doc_examples;
pub mod example_runner;
pub mod files;
pub mod found;
pub mod grammar_kind;
pub mod mutants;
pub mod names;
pub mod not_run;
pub mod packing;
pub mod planned;
pub mod project;
pub mod project_signs;
pub mod reading;
pub mod recipes;
pub mod report;
pub mod required_tool;
pub mod roles;
pub mod runner;
pub mod runs;
pub mod rust;
pub mod setups;
pub mod stated;
pub mod surroundings;
pub mod syntax_tokens;
pub mod syntax_tree;
pub mod test_call;
pub mod test_items;
pub mod text;

mod c;
mod cases;
mod counts;
mod dependency_versions;
mod dotnet;
mod elixir;
mod go;
mod java;
mod javascript;
mod language;
mod named_item;
mod not_loaded;
mod old_settings;
mod others;
mod package_lists;
mod php;
mod python;
mod ruby;
mod said_alone;
mod script;
mod segments;
mod syntax_rules;
mod table;
mod tool_facts;
mod version;
mod words;

pub use cases::counted_together;
pub use table::example_runners;
