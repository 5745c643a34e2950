//! From a file to a pipeline, or to everything that is wrong with it.

use std::collections::BTreeMap;

use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{DefaultMessageFormatter, MessageFormatter, Options};

use super::limits::{LONGEST_DESCRIPTION, MOST_BYTES};
use super::places::Places;
use super::problem::{InvalidPipeline, Problem, quoted};
use super::rules::{Found, is_name};
use super::{Pipeline, graph, references, rules};
use crate::order::role::Role;

impl Pipeline {
    /// Reads a pipeline and holds it to every rule that needs no roles. Its stages come in an order in which each
    /// stands after those it depends on.
    ///
    /// # Errors
    /// What is wrong: YAML's first problem, or every broken rule.
    pub fn parse(yaml: &str) -> Result<Self, InvalidPipeline> {
        read(yaml, None)
    }

    /// The same, and holds it to these roles: every one that it names is there, and so is every field that a role's
    /// schema has to give.
    ///
    /// # Errors
    /// As [`Pipeline::parse`].
    pub fn parse_with(yaml: &str, roles: &BTreeMap<String, Role>) -> Result<Self, InvalidPipeline> {
        read(yaml, Some(roles))
    }

    /// Holds a pipeline that was read before to roles that were not known then.
    ///
    /// # Errors
    /// Unknown roles and variables that stand for nothing, without lines.
    pub fn check_variables(&self, roles: &BTreeMap<String, Role>) -> Result<(), InvalidPipeline> {
        let places = Places::default();
        let mut found = Found::new(self, &places);
        references::check_roles(self, roles, &mut found);
        references::check(self, Some(roles), &mut found);
        as_result(found.end())
    }
}

fn read(yaml: &str, roles: Option<&BTreeMap<String, Role>>) -> Result<Pipeline, InvalidPipeline> {
    if yaml.len() > MOST_BYTES {
        let problem = format!("the file has {} bytes, at most {MOST_BYTES} are read", yaml.len());
        return Err(invalid(Problem { line: None, column: None, stage: None, field: None, problem }));
    }
    // Scalars of any kind have a place: what they may be is the first reading's affair.
    let lenient = serde_saphyr::options! {
        non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::PassThrough,
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
    };
    let places = Places::of(yaml, with_limits(lenient));
    let mut pipeline: Pipeline = serde_saphyr::from_str_with_options(yaml, with_limits(Options::default()))
        .map_err(|error| invalid(of_yaml(&error, &places)))?;
    let mut found = Found::new(&pipeline, &places);
    if !is_name(&pipeline.name) {
        found.at_top("name", "a pipeline's name has 1 to 40 characters of a-z, 0-9, - and _");
    }
    if pipeline.description.chars().count() > LONGEST_DESCRIPTION {
        found.at_top("description", format!("a description has at most {LONGEST_DESCRIPTION} characters"));
    }
    for (number, stage) in pipeline.stages.iter().enumerate() {
        rules::hold(number, stage, &mut found);
    }
    if let Some(roles) = roles {
        references::check_roles(&pipeline, roles, &mut found);
    }
    if graph::order(&mut pipeline, &mut found) == graph::Ordered::Yes {
        graph::hold(&pipeline, &mut found);
        references::check(&pipeline, roles, &mut found);
    }
    as_result(found.end())?;
    Ok(pipeline)
}

fn as_result(problems: Vec<Problem>) -> Result<(), InvalidPipeline> {
    if problems.is_empty() { Ok(()) } else { Err(InvalidPipeline { problems }) }
}

fn invalid(problem: Problem) -> InvalidPipeline {
    InvalidPipeline { problems: vec![problem] }
}

/// A pipeline needs no aliases, and they can make much of little; nor has it reason to be deep.
fn with_limits(options: Options) -> Options {
    let mut options = options;
    options.budget = serde_saphyr::budget! {
        max_aliases: 0,
        max_anchors: 0,
        max_depth: 40,
        flow_nesting_limit: 40,
        max_documents: 1,
        max_nodes: 20_000,
    };
    options.merge_keys = serde_saphyr::MergeKeyPolicy::Error;
    options.with_snippet = false;
    options
}

fn of_yaml(error: &serde_saphyr::Error, places: &Places) -> Problem {
    let place = error.location().map(|place| (place.line(), place.column())).filter(|(line, _)| *line > 0);
    let stage = place.and_then(|(line, _)| places.stage_at(line));
    let problem = said(error.without_snippet());
    let (line, column) = place.unzip();
    let stage = stage.map(|name| name.chars().take(80).collect());
    Problem { line, column, stage, field: None, problem }
}

/// In words for somebody who writes pipelines.
#[allow(clippy::wildcard_enum_match_arm, reason = "the library's errors, which it may add to")]
fn said(error: &serde_saphyr::Error) -> String {
    use serde_saphyr::Error;
    let text = match error {
        Error::UnknownAnchor { .. } | Error::MergeKeyNotAllowed { .. } => ALIASES.to_owned(),
        Error::Budget { breach, .. } => match breach {
            BudgetBreach::Aliases { .. } | BudgetBreach::Anchors { .. } => ALIASES.to_owned(),
            _ => "the file is deeper or has more values than a pipeline may".to_owned(),
        },
        Error::DuplicateMappingKey { key, .. } => match key {
            Some(key) => format!("{} is there twice", quoted(key)),
            None => "a key is there twice".to_owned(),
        },
        Error::InvalidScalar { ty, .. } => format!("a value of the type {ty} is expected"),
        Error::MultipleDocuments { .. } => "a file holds one pipeline".to_owned(),
        other => DefaultMessageFormatter.format_message(other).into_owned(),
    };
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(400).collect()
}

const ALIASES: &str = "anchors, aliases and merge keys (&, *, <<) cannot be used in a pipeline; write it out";
