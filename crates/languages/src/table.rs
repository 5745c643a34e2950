//! The languages, and the runners of all of them: the one place that names them.

use std::sync::LazyLock;

use crate::c::C;
use crate::dotnet::DotNet;
use crate::elixir::Elixir;
use crate::example_runner::ExampleRunner;
use crate::go::Go;
use crate::grammar_kind::GrammarKind;
use crate::java::Java;
use crate::javascript::JavaScript;
use crate::language::{Facts, Language};
use crate::others::{Dart, Haskell, Shell, Swift, Tap};
use crate::php::Php;
use crate::python::Python;
use crate::ruby::Ruby;
use crate::runner::TestRunner;
use crate::rust::Rust;
use crate::said_alone::SaidAlone;
use crate::syntax_rules::SyntaxRules;
use crate::tool_facts::ToolFacts;

/// In order of precedence: a compiled language's manifest in the root is rarely there for something else, while
/// package.json and Makefile often serve another ecosystem's project.
pub(crate) const LANGUAGES: &[&dyn Language] = &[
    &Rust, &Go, &Java, &DotNet, &Python, &Ruby, &Php, &JavaScript, &C, &Elixir, &Dart, &Swift, &Haskell,
    &Tap, &Shell, &SaidAlone,
];

/// One list of all languages.
pub(crate) fn all<T>(list: fn(&'static Facts) -> &'static [T]) -> impl Iterator<Item = &'static T> {
    LANGUAGES.iter().flat_map(move |language| list(language.facts()))
}

/// What is known of a tool.
pub(crate) fn tool(name: &str) -> &'static ToolFacts {
    all(|facts| facts.tools).find(|tool| tool.name == name).unwrap_or(&ToolFacts::NONE)
}

/// The runners of all languages.
pub(crate) static RUNNERS: LazyLock<Vec<&'static TestRunner>> =
    LazyLock::new(|| all(|facts| facts.runners).collect());

/// What evaluates the examples of an issue, in each language that has it.
pub fn example_runners() -> impl Iterator<Item = &'static ExampleRunner> {
    LANGUAGES.iter().filter_map(|language| language.facts().examples)
}

/// How files of a grammar are parsed.
pub(crate) fn syntax_of(grammar: GrammarKind) -> Option<&'static SyntaxRules> {
    syntaxes().find(|rules| rules.grammars.iter().any(|(one, _)| *one == grammar))
}

pub(crate) fn syntaxes() -> impl Iterator<Item = &'static SyntaxRules> {
    LANGUAGES.iter().filter_map(|language| language.facts().syntax)
}

/// The runner that words call, from the program on.
pub(crate) fn runner_of(words: &[&str]) -> Option<&'static TestRunner> {
    RUNNERS.iter().find(|runner| (runner.runs)(words)).copied()
}

/// The runner with a name in journals and receipts.
pub(crate) fn runner_named(name: &str) -> Option<&'static TestRunner> {
    RUNNERS.iter().find(|runner| runner.name == name).copied()
}
