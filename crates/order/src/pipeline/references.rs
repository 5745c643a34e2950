//! Checks `{{stage.field}}` references before a run: whether each one will have a value.

use std::collections::{BTreeMap, BTreeSet};

use super::problem::{PipelineDiagnostics, quoted};
use super::{Pipeline, Stage, StageOutput};
use crate::role::Role;
use crate::yaml_tree::YamlPathSegment;
use crate::yaml_tree::YamlStep::{Item, Key};

/// Names that are not stages, with their fields.
pub(super) const GIVEN: [(&str, &[&str]); 3] =
    [("issue", &["number", "title", "body", "url", "json"]), ("order", &["id"]), ("repository", &["name"])];

/// The stage's own inputs, usable in its command and arguments.
pub(super) const INPUTS: &str = "inputs";

/// The references in a text; `None` for a `{{` that is never closed.
pub(super) fn references(text: &str) -> Vec<Option<&str>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("{{") {
        let Some((name, left)) = after.split_once("}}") else {
            found.push(None);
            break;
        };
        found.push(Some(name.trim()));
        rest = left;
    }
    found
}

/// A command's template name, without the leading slash.
fn command_name(command: &str) -> &str {
    command.trim().trim_start_matches('/')
}

pub(super) fn is_filled_in(text: &str) -> bool {
    !references(text).is_empty()
}

/// Checks all references of the stages. Without `roles`, references that depend on them are not checked.
pub(super) fn check(
    pipeline: &Pipeline,
    roles: Option<&BTreeMap<String, Role>>,
    found: &mut PipelineDiagnostics<'_>,
) {
    let before = reachable(pipeline);
    for stage in &pipeline.stages {
        let scope = Scope { pipeline, stage, before: &before, roles };
        let mut look = |text: &str, path: &[YamlPathSegment<'_>], may_name_inputs: bool| {
            for reference in references(text) {
                let problem = match reference {
                    Some(name) => scope.problem(name, may_name_inputs),
                    None => Some("`{{` is not closed by `}}`".to_owned()),
                };
                if let Some(problem) = problem {
                    found.at(stage, path, problem);
                }
            }
        };
        if let Some(command) = &stage.command {
            look(command, &[Key("command")], true);
        }
        for (place, argument) in stage.arguments.iter().enumerate() {
            look(argument, &[Key("arguments"), Item(place)], true);
        }
        for (name, value) in &stage.inputs {
            look(value, &[Key("inputs"), Key(name)], false);
        }
        if let Some(condition) = &stage.when {
            look(&String::from(condition.clone()), &[Key("when")], false);
        }
    }
}

/// Every role that a stage names must be known.
pub(super) fn check_roles(
    pipeline: &Pipeline,
    roles: &BTreeMap<String, Role>,
    found: &mut PipelineDiagnostics<'_>,
) {
    let known = || roles.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    for stage in &pipeline.stages {
        for (field, role) in stage.roles() {
            if !roles.contains_key(role) {
                let problem = format!("`{field}`: there is no role {}; these are: {}", quoted(role), known());
                found.at(stage, &[Key(field)], problem);
            }
        }
    }
}

/// Every command template that a stage names must be known; if an answer chooses it, every possible answer.
pub(super) fn check_commands(
    pipeline: &Pipeline,
    roles: Option<&BTreeMap<String, Role>>,
    commands: &BTreeSet<String>,
    found: &mut PipelineDiagnostics<'_>,
) {
    let known = || commands.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    for stage in &pipeline.stages {
        for name in pipeline.commands_of(stage) {
            if !name.is_empty() && !commands.contains(name) {
                let problem =
                    format!("`command`: there is no template {}; these are: {}", quoted(name), known());
                found.at(stage, &[Key("command")], problem);
            }
        }
        let review = |role: &str| roles?.get(role)?.review_command.as_deref();
        let judges = stage.verifier.roles().iter();
        for (role, command) in judges.filter_map(|role| Some((role, review(role)?))) {
            if !commands.contains(command_name(command)) {
                let problem = format!(
                    "`verifier`: the role {role} reviews with the template {}, which is not there; these are: {}",
                    quoted(command),
                    known()
                );
                found.at(stage, &[Key("verifier")], problem);
            }
        }
    }
}

impl Pipeline {
    /// The command templates that a stage may use, as far as known before it runs: the one it names, or those that the
    /// inserted answer may name.
    pub fn commands_of<'a>(&'a self, stage: &'a Stage) -> Vec<&'a str> {
        let Some(command) = stage.command.as_deref() else { return Vec::new() };
        if !is_filled_in(command) {
            return vec![command_name(command)];
        }
        // Only if the answer is the whole text: `{{classify.result}}`.
        let inner = command_name(command).strip_prefix("{{");
        let inner = inner.and_then(|inner| inner.strip_suffix("}}")).filter(|inner| !inner.contains("{{"));
        let source =
            inner.and_then(|inner| inner.trim().split_once('.')).and_then(|(name, _)| self.stage(name));
        let output = source.and_then(|source| source.output.as_ref());
        let Some(StageOutput::OneOf(words)) = output else { return Vec::new() };
        words.iter().map(|word| command_name(word)).collect()
    }
}

struct Scope<'a> {
    pipeline: &'a Pipeline,
    stage: &'a Stage,
    before: &'a BTreeMap<&'a str, BTreeSet<&'a str>>,
    roles: Option<&'a BTreeMap<String, Role>>,
}

impl Scope<'_> {
    /// What is wrong with a name; `None` if it will have a value.
    fn problem(&self, name: &str, may_name_inputs: bool) -> Option<String> {
        let whole = quoted(name);
        let Some((source, field)) = name.split_once('.') else {
            return Some(format!("{whole} is no variable; write {{{{stage.field}}}}"));
        };
        if source == INPUTS {
            if !may_name_inputs {
                return Some(format!(
                    "{whole}: `inputs` can be named in `command` and `arguments` of the same stage only"
                ));
            }
            let own = &self.stage.inputs;
            let missing = || lacks(&whole, "the stage has no such input", own.keys().map(String::as_str));
            return (!own.contains_key(field)).then(missing);
        }
        if let Some((_, fields)) = GIVEN.iter().find(|(given, _)| *given == source) {
            let is_there = fields.contains(&field);
            let missing = || lacks(&whole, &format!("{source:?} has no such field"), fields.iter().copied());
            return (!is_there).then(missing);
        }
        let before = self.before.get(self.stage.name.as_str());
        let Some(stage) = self.pipeline.stage(source) else {
            let names = GIVEN.iter().map(|(given, _)| *given).chain(before.into_iter().flatten().copied());
            return Some(lacks(&whole, &format!("there is no stage {}", quoted(source)), names));
        };
        if !before.is_some_and(|before| before.contains(source)) {
            return Some(format!(
                "{whole}: {} does not depend on {source:?}, which may not have ended by then",
                quoted(&self.stage.name)
            ));
        }
        let role = stage.agent.as_ref().and_then(|role| self.roles?.get(role));
        if stage.takes_fields_of_role() && role.is_none() {
            return None;
        }
        let fields = stage.fields(role);
        let is_there = fields.iter().any(|known| known == field);
        (!is_there).then(|| {
            lacks(&whole, &format!("stage {source:?} gives no such field"), fields.iter().map(String::as_str))
        })
    }
}

fn lacks<'a>(whole: &str, problem: &str, there: impl Iterator<Item = &'a str>) -> String {
    let there: Vec<&str> = there.take(30).collect();
    if there.is_empty() {
        format!("{whole}: {problem}; there is none")
    } else {
        format!("{whole}: {problem}; there is {}", there.join(", "))
    }
}

/// For each stage, the stages that end before it begins.
pub(super) fn reachable(pipeline: &Pipeline) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut before: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    // Each stage comes after its dependencies, so one pass is enough.
    for stage in &pipeline.stages {
        let mut own = BTreeSet::new();
        for name in &stage.depends_on {
            own.insert(name.as_str());
            own.extend(before.get(name.as_str()).into_iter().flatten());
        }
        before.insert(&stage.name, own);
    }
    before
}
