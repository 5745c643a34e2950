//! From a file to a pipeline, or to its problems.

use std::collections::{BTreeMap, BTreeSet};

use super::problem::{InvalidPipeline, PipelineDiagnostics, PipelineProblem};
use super::{Check, Pipeline, StageKind, graph, references, rules};
use crate::names::is_name;
use crate::role::Role;
use crate::yaml::{self, YamlProblem};
use crate::yaml_tree::YamlStep::{Item, Key};
use crate::yaml_tree::{YamlStep, YamlTree};

impl Pipeline {
    /// Parses a pipeline and checks every rule that needs no roles. Its stages are sorted after their dependencies.
    pub fn parse(yaml: &str) -> Result<Self, InvalidPipeline> {
        read(yaml, None, None)
    }

    /// Also checks the roles: every role that the pipeline names exists, and every role's schema has the fields that
    /// the pipeline uses.
    pub fn parse_with(yaml: &str, roles: &BTreeMap<String, Role>) -> Result<Self, InvalidPipeline> {
        read(yaml, Some(roles), None)
    }

    /// Also checks the command templates: every one that the pipeline names exists, and every one that a stage's answer
    /// may name.
    pub fn parse_knowing(
        yaml: &str,
        roles: &BTreeMap<String, Role>,
        commands: &BTreeSet<String>,
    ) -> Result<Self, InvalidPipeline> {
        read(yaml, Some(roles), Some(commands))
    }

    /// Checks a parsed pipeline against roles that were unknown before.
    pub fn check_variables(&self, roles: &BTreeMap<String, Role>) -> Result<(), InvalidPipeline> {
        let places = YamlTree::default();
        let mut found = PipelineDiagnostics::new(self, &places);
        references::check_roles(self, roles, &mut found);
        references::check(self, Some(roles), &mut found);
        found.end()
    }
}

/// Parses a file, and checks its names against roles and command templates if they are given.
fn read(
    yaml: &str,
    roles: Option<&BTreeMap<String, Role>>,
    commands: Option<&BTreeSet<String>>,
) -> Result<Pipeline, InvalidPipeline> {
    let (read, tree) = yaml::read_with_places::<Pipeline>(yaml);
    let mut pipeline =
        read.map_err(|problem| InvalidPipeline { problems: vec![of_yaml(&problem, &tree)] })?;
    for stage in &mut pipeline.stages {
        if stage.uses == StageKind::Agent
            && !stage.verifier.is_empty()
            && !stage.checks.contains(&Check::Verifier)
        {
            stage.checks.push(Check::Verifier);
        }
    }
    let mut found = PipelineDiagnostics::new(&pipeline, &tree);
    if !is_name(&pipeline.name) {
        found.at_top(
            "name",
            "a pipeline's name has 1 to 40 characters of a-z, 0-9, - and _, and no digit after a -",
        );
    }
    for (number, stage) in pipeline.stages.iter().enumerate() {
        rules::hold(number, stage, &mut found);
    }
    if let Some(roles) = roles {
        references::check_roles(&pipeline, roles, &mut found);
    }
    if let Some(commands) = commands {
        references::check_commands(&pipeline, roles, commands, &mut found);
    }
    if graph::order(&mut pipeline, &mut found) {
        graph::hold(&pipeline, &mut found);
        references::check(&pipeline, roles, &mut found);
    }
    found.end()?;
    Ok(pipeline)
}

fn of_yaml(problem: &YamlProblem, tree: &YamlTree) -> PipelineProblem {
    let (line, column) = problem.place.unzip();
    let (number, inside) = match &problem.path[..] {
        [YamlStep::Key(key), YamlStep::Item(number), inside @ ..] if key == "stages" => {
            (Some(*number), inside)
        }
        path => (None, path),
    };
    let name = |number| tree.text(&[Key("stages"), Item(number), Key("name")]);
    let stage = number.map(|number| name(number).unwrap_or_default().chars().take(80).collect());
    let field = inside.iter().find_map(|step| match step {
        YamlStep::Key(key) => Some(key.chars().filter(|c| !c.is_control()).take(80).collect()),
        YamlStep::Item(_) => None,
    });
    PipelineProblem { line, column, stage, field, problem: problem.problem.clone() }
}
