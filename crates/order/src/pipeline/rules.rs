//! Rules that apply to a single stage.

use super::problem::{PipelineDiagnostics, quoted};
use super::references::{GIVEN, INPUTS, is_filled_in, references};
use super::{
    Check, Escalation, LONGEST_RUN_SECONDS, MOST_DOLLARS, MOST_ROUNDS, Stage, StageKind, StageOutput,
    StageStart,
};
use crate::bounds::MOST_SIDE_BY_SIDE;
use crate::effect_name::ReservedWord;
use crate::names::{COMMAND_RULE, NAME_RULE, is_command_name, is_name};
use crate::schema::schema_validator;
use crate::words::words;
use crate::yaml_tree::YamlPathSegment;
use crate::yaml_tree::YamlStep::{Item, Key};

/// What is wrong with a stage's name. Publishing the pull request and making it ready use two reserved names, with or
/// without such stages, so only the matching stages may have them.
fn wrong_name(stage: &Stage) -> Option<String> {
    let reserved = |what: &str| {
        Some(format!("{} is reserved: {what}; give the stage another name", quoted(&stage.name)))
    };
    if let Some(word) = ReservedWord::of(&stage.name) {
        return reserved(&format!("effects of Journeyman's own are called `{}/…`", word.word()));
    }
    if !is_name(&stage.name) {
        return Some(format!("a name has {NAME_RULE}"));
    }
    for (word, uses) in [("publish", StageKind::Publish), ("ready", StageKind::Ready)] {
        if stage.name == word && stage.uses != uses {
            return reserved(&format!("it is for the stage with `uses: {word}`"));
        }
    }
    let names_variables = stage.name == INPUTS || GIVEN.iter().any(|(given, _)| *given == stage.name);
    names_variables.then(|| "a stage cannot have this name: variables begin with it".to_owned())
}

/// Checks one stage against the rules, independent of the others.
pub(super) fn hold(number: usize, stage: &Stage, found: &mut PipelineDiagnostics<'_>) {
    let mut wrong =
        |path: &[YamlPathSegment<'_>], problem: String| found.at_number(number, stage, path, problem);
    if let Some(problem) = wrong_name(stage) {
        wrong(&[Key("name")], problem);
    }
    for (field, role) in stage.roles() {
        if !is_name(role) {
            wrong(&[Key(field)], format!("`{field}` is a role, {NAME_RULE}; not {}", quoted(role)));
        }
    }
    if stage.timeout.is_some_and(|timeout| timeout.0 > LONGEST_RUN_SECONDS) {
        wrong(&[Key("timeout")], "`timeout` is at most 24h".to_owned());
    }
    if stage.budget.is_some_and(|usd| !(usd > 0.0 && usd <= MOST_DOLLARS)) {
        wrong(&[Key("budget")], format!("`budget` is dollars, over 0 and at most {MOST_DOLLARS}"));
    }
    for (field, given) in
        [("max_adversarial_rounds", stage.max_adversarial_rounds), ("retry_count", stage.retry_count)]
    {
        if given > MOST_ROUNDS {
            wrong(&[Key(field)], format!("`{field}` is at most {MOST_ROUNDS}, this is {given}"));
        }
    }
    hold_worker(stage, &mut wrong);
    hold_output(stage, &mut wrong);
    hold_checks(stage, &mut wrong);
    hold_uses(number, stage, found);
}

type ProblemSink<'a> = dyn FnMut(&[YamlPathSegment<'_>], String) + 'a;

fn hold_worker(stage: &Stage, wrong: &mut ProblemSink<'_>) {
    if let Some(command) = &stage.command {
        let name = command.strip_prefix('/').unwrap_or(command);
        let is_filled_in = is_filled_in(command);
        if !is_command_name(name) && !is_filled_in {
            let problem = format!(
                "`command` is a template's name, {COMMAND_RULE}, with or without a slash before all of it, or \
                 {{{{stage.field}}}}; not {}",
                quoted(command)
            );
            wrong(&[Key("command")], problem);
        }
    }
    for name in stage.inputs.keys().filter(|name| !is_name(name)) {
        let path = [Key("inputs"), Key(name)];
        wrong(&path, format!("an input's name has {NAME_RULE}; not {}", quoted(name)));
    }
}

fn hold_output(stage: &Stage, wrong: &mut ProblemSink<'_>) {
    let path = [Key("output")];
    match &stage.output {
        None | Some(StageOutput::Text | StageOutput::CodeArtifact) => {}
        Some(StageOutput::OneOf(choices)) => {
            if choices.is_empty() || choices.iter().any(|choice| choice.trim().is_empty()) {
                wrong(&path, "`one_of` has at least one choice, and none of them is empty".to_owned());
            }
            let is_double = |(place, choice)| choices.iter().take(place).any(|other| other == choice);
            if let Some((_, choice)) = choices.iter().enumerate().find(|choice| is_double(*choice)) {
                wrong(&path, format!("`one_of` names {} twice", quoted(choice)));
            }
        }
        Some(StageOutput::File(glob)) => {
            let leads_out = glob.starts_with('/') || glob.split('/').any(|part| part == "..");
            if glob.is_empty() || leads_out || globset::Glob::new(glob).is_err() {
                let problem = format!(
                    "`file` is a glob inside the work tree, such as .journeyman/plans/*.md; not {}",
                    quoted(glob)
                );
                wrong(&path, problem);
            }
        }
        Some(StageOutput::JsonSchema(schema)) => {
            if let Err(problem) = schema_validator(schema) {
                wrong(&path, format!("`json_schema` {problem}"));
            }
        }
    }
}

fn hold_checks(stage: &Stage, wrong: &mut ProblemSink<'_>) {
    let checks = &stage.checks;
    let path = [Key("checks")];
    let has = |check: Check| checks.contains(&check);
    if let Some((place, pair)) = checks.windows(2).enumerate().find(|(_, pair)| pair[0] >= pair[1]) {
        let (before, after) = (pair[0].word(), pair[1].word());
        let problem = if before == after {
            format!("the check `{after}` is there twice")
        } else {
            format!(
                "the check `{after}` comes before `{before}`: cheapest first, pushed_commit, policy, tests, verifier"
            )
        };
        wrong(&[Key("checks"), Item(place + 1)], problem);
    }
    for check in [Check::Policy, Check::Tests] {
        if has(check) && !has(Check::PushedCommit) && stage.uses != StageKind::Verify {
            let problem = format!("the check `{}` needs `pushed_commit` before it", check.word());
            wrong(&path, problem);
        }
    }
    let verifier = [Key("verifier")];
    if stage.verifier.is_empty() && has(Check::Verifier) {
        wrong(&path, "the check `verifier` needs a role that judges; add `verifier: ROLE`".to_owned());
    }
    let roles = stage.verifier.roles();
    if roles.len() > MOST_SIDE_BY_SIDE {
        wrong(
            &verifier,
            format!("`verifier` is at most {MOST_SIDE_BY_SIDE} roles, these are {}", roles.len()),
        );
    }
    if let Some((_, role)) = roles.iter().enumerate().find(|(place, role)| roles[..*place].contains(role)) {
        wrong(&verifier, format!("`verifier` names {} twice", quoted(role)));
    }
    if stage.begins_with == StageStart::Checks && checks.is_empty() {
        wrong(&[Key("begins_with")], "`begins_with: checks` needs checks to begin with".to_owned());
    }
    if stage.output == Some(StageOutput::CodeArtifact) && !has(Check::PushedCommit) {
        let problem =
            "`output: code_artifact` needs the check `pushed_commit`: its files are committed and pushed";
        wrong(&[Key("output")], problem.to_owned());
    }
}

/// Fields that only apply to a stage with a worker. The others apply to every stage.
const OF_WORKER: [&str; 9] = [
    "agent", "command", "arguments", "inputs", "feedback_mode", "retry_count", "retry_policy", "timeout",
    "budget",
];
/// Fields about the stage's result.
const OF_RESULT: [&str; 6] =
    ["output", "checks", "begins_with", "verifier", "max_adversarial_rounds", "escalate_on_exhaust"];

/// A field without effect is reported as a misunderstanding.
fn hold_uses(number: usize, stage: &Stage, found: &mut PipelineDiagnostics<'_>) {
    let (word, meant): (&str, &[&str]) = match stage.uses {
        StageKind::Agent => ("agent", &OF_RESULT),
        StageKind::Archive => ("archive", &["output", "escalate_on_exhaust"]),
        StageKind::Examine => ("examine", &[]),
        StageKind::Branch => ("branch", &["escalate_on_exhaust"]),
        StageKind::Publish => ("publish", &["escalate_on_exhaust"]),
        StageKind::Tests => ("tests", &[]),
        StageKind::Verify => ("verify", &["checks", "verifier"]),
        StageKind::Ready => ("ready", &[]),
    };
    let works = !matches!(stage.uses, StageKind::Tests | StageKind::Verify | StageKind::Ready);
    for field in OF_WORKER.iter().chain(&OF_RESULT) {
        let has_meaning = meant.contains(field) || (works && OF_WORKER.contains(field));
        if !has_meaning && found.says(number, field) {
            let problem = format!("`{field}` does nothing with `uses: {word}`; take it out");
            found.at_number(number, stage, &[Key(field)], problem);
        }
    }
    if stage.uses == StageKind::Examine {
        hold_examiner(number, stage, found);
    }
    if works && stage.agent.is_none() {
        if stage.uses != StageKind::Archive {
            found.at_number(number, stage, &[Key("name")], "a role is needed; add `agent: ROLE`");
        } else if stage.command.is_some() {
            found.at_number(number, stage, &[Key("command")], "a command needs a role; add `agent: ROLE`");
        }
    }
}

/// An examiner who knew the plan would repeat it.
fn hold_examiner(number: usize, stage: &Stage, found: &mut PipelineDiagnostics<'_>) {
    let arguments = stage.arguments.iter().map(|text| ("arguments", text));
    let texts = arguments.chain(stage.inputs.values().map(|text| ("inputs", text)));
    for (field, text) in texts {
        let is_of_a_stage = |name: &Option<&str>| {
            let first = name.map(|name| name.split('.').next().unwrap_or_default());
            first.is_some_and(|first| first != INPUTS && !GIVEN.iter().any(|(given, _)| *given == first))
        };
        if references(text).iter().any(is_of_a_stage) {
            let problem = format!(
                "`{field}` names another stage: an examiner sees the issue and the base, and nothing that others say"
            );
            found.at_number(number, stage, &[Key(field)], problem);
        }
    }
}

impl Stage {
    pub fn roles(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let escalation = match &self.escalate_on_exhaust {
            Escalation::Agent(role) => Some(role),
            Escalation::None | Escalation::HumanApproval => None,
        };
        let verifiers = self.verifier.roles().iter().map(|role| ("verifier", role));
        let agent = self.agent.iter().map(|role| ("agent", role));
        let escalation = escalation.into_iter().map(|role| ("escalate_on_exhaust", role));
        agent.chain(verifiers).chain(escalation).map(|(field, role)| (field, role.as_str()))
    }
}

words!(Check::word { PushedCommit: "pushed_commit", Policy: "policy", Tests: "tests", Verifier: "verifier" });
