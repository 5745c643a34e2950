//! From a file to a pipeline, or to everything that is wrong with it.

use std::collections::{BTreeMap, BTreeSet};

use super::found::PipelineDiagnostics;
use super::limits::{LONGEST_DESCRIPTION, MOST_BYTES};
use super::problem::{InvalidPipeline, PipelineProblem};
use super::yaml_locations::YamlLocations;
use super::{Pipeline, graph, references, rules};
use crate::names::is_name;
use crate::role::Role;
use crate::yaml::{self, YamlError};

impl Pipeline {
    /// Reads a pipeline and holds it to every rule that needs no roles. Its stages come in an order in which each
    /// stands after those it depends on.
    ///
    /// # Errors
    /// What is wrong: YAML's first problem, or every broken rule.
    pub fn parse(yaml: &str) -> Result<Self, InvalidPipeline> {
        read(yaml, Known::default())
    }

    /// The same, and holds it to these roles: every one that it names is there, and so is every field that a role's
    /// schema has to give.
    ///
    /// # Errors
    /// As [`Pipeline::parse`].
    pub fn parse_with(yaml: &str, roles: &BTreeMap<String, Role>) -> Result<Self, InvalidPipeline> {
        read(yaml, Known { roles: Some(roles), commands: None })
    }

    /// The same, and holds it to these command templates as well: every one that it names is there, and so is every one
    /// that a stage's answer may name.
    ///
    /// # Errors
    /// As [`Pipeline::parse`].
    pub fn parse_knowing(
        yaml: &str,
        roles: &BTreeMap<String, Role>,
        commands: &BTreeSet<String>,
    ) -> Result<Self, InvalidPipeline> {
        read(yaml, Known { roles: Some(roles), commands: Some(commands) })
    }

    /// Holds a pipeline that was read before to roles that were not known then.
    ///
    /// # Errors
    /// Unknown roles and variables that stand for nothing, without lines.
    pub fn check_variables(&self, roles: &BTreeMap<String, Role>) -> Result<(), InvalidPipeline> {
        let places = YamlLocations::default();
        let mut found = PipelineDiagnostics::new(self, &places);
        references::check_roles(self, roles, &mut found);
        references::check(self, Some(roles), &mut found);
        as_result(found.end())
    }
}

/// What a pipeline's names are held to.
#[derive(Default)]
struct Known<'a> {
    roles: Option<&'a BTreeMap<String, Role>>,
    commands: Option<&'a BTreeSet<String>>,
}

fn read(yaml: &str, known: Known<'_>) -> Result<Pipeline, InvalidPipeline> {
    if yaml.len() > MOST_BYTES {
        let problem = format!("the file has {} bytes, at most {MOST_BYTES} are read", yaml.len());
        return Err(invalid(PipelineProblem { line: None, column: None, stage: None, field: None, problem }));
    }
    let places = YamlLocations::of(yaml);
    let mut pipeline: Pipeline = yaml::read(yaml).map_err(|fault| invalid(of_fault(fault, &places)))?;
    let mut found = PipelineDiagnostics::new(&pipeline, &places);
    if !is_name(&pipeline.name) {
        found.at_top(
            "name",
            "a pipeline's name has 1 to 40 characters of a-z, 0-9, - and _, and no digit after a -",
        );
    }
    if pipeline.description.chars().count() > LONGEST_DESCRIPTION {
        found.at_top("description", format!("a description has at most {LONGEST_DESCRIPTION} characters"));
    }
    for (number, stage) in pipeline.stages.iter().enumerate() {
        rules::hold(number, stage, &mut found);
    }
    if let Some(roles) = known.roles {
        references::check_roles(&pipeline, roles, &mut found);
    }
    if let Some(commands) = known.commands {
        references::check_commands(&pipeline, known.roles, commands, &mut found);
    }
    if graph::order(&mut pipeline, &mut found) == graph::StageOrdering::Yes {
        graph::hold(&pipeline, &mut found);
        references::check(&pipeline, known.roles, &mut found);
    }
    as_result(found.end())?;
    Ok(pipeline)
}

fn as_result(problems: Vec<PipelineProblem>) -> Result<(), InvalidPipeline> {
    if problems.is_empty() { Ok(()) } else { Err(InvalidPipeline { problems }) }
}

fn invalid(problem: PipelineProblem) -> InvalidPipeline {
    InvalidPipeline { problems: vec![problem] }
}

fn of_fault(fault: YamlError, places: &YamlLocations) -> PipelineProblem {
    let (line, column) = fault.place.unzip();
    let stage = line.and_then(|line| places.stage_at(line)).map(|name| name.chars().take(80).collect());
    let field = fault.place.and_then(|place| places.key_at(place)).map(str::to_owned);
    PipelineProblem { line, column, stage, field, problem: fault.problem }
}
