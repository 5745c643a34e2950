//! Dependencies between stages: known names, no cycle, and the required order.

use std::collections::{BTreeMap, BTreeSet};

use super::problem::{PipelineDiagnostics, quoted};
use super::references::reachable;
use super::{Check, MOST_STAGES, Pipeline, Stage, StageKind, StageStart};
use crate::yaml_tree::YamlStep::{Item, Key};

/// Checks names and dependencies, then sorts stages after their dependencies, else by file order. `false` on error.
pub(super) fn order(pipeline: &mut Pipeline, found: &mut PipelineDiagnostics<'_>) -> bool {
    if !(1..=MOST_STAGES).contains(&pipeline.stages.len()) {
        let count = pipeline.stages.len();
        found.at_top("stages", format!("a pipeline has 1 to {MOST_STAGES} stages, this has {count}"));
        return false;
    }
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, stage) in pipeline.stages.iter().enumerate() {
        if names.insert(&stage.name, number).is_some() {
            found.at_number(number, stage, &[Key("name")], "there are two stages of this name");
            return false;
        }
    }
    for stage in &pipeline.stages {
        for (place, name) in stage.depends_on.iter().enumerate() {
            let path = [Key("depends_on"), Item(place)];
            if !names.contains_key(name.as_str()) {
                let known: Vec<&str> = pipeline.stages.iter().map(|stage| stage.name.as_str()).collect();
                let problem = format!(
                    "depends on {}, which is not a stage; these are: {}",
                    quoted(name),
                    known.join(", ")
                );
                found.at(stage, &path, problem);
            } else if stage.depends_on[..place].contains(name) {
                found.at(stage, &path, format!("depends on {} twice", quoted(name)));
            }
        }
    }
    if let Some(circle) = circle(pipeline) {
        let first = circle[0];
        let names: Vec<&str> =
            circle.iter().map(|stage| stage.name.as_str()).chain([first.name.as_str()]).collect();
        found.at(first, &[Key("depends_on")], format!("depends on itself: {}", names.join(" → ")));
        return false;
    }
    sort(pipeline);
    true
}

fn sort(pipeline: &mut Pipeline) {
    let mut rest = std::mem::take(&mut pipeline.stages);
    let mut waiting: BTreeSet<String> = rest.iter().map(|stage| stage.name.clone()).collect();
    while !rest.is_empty() {
        let is_free = |stage: &Stage| !stage.depends_on.iter().any(|name| waiting.contains(name));
        // Without a cycle, one stage is always free.
        let stage = rest.remove(rest.iter().position(is_free).unwrap_or(0));
        waiting.remove(&stage.name);
        pipeline.stages.push(stage);
    }
}

/// A cycle of stages, each depending on the next and the last on the first; the first is the earliest in the file.
fn circle(pipeline: &Pipeline) -> Option<Vec<&Stage>> {
    // After removing every stage without open dependencies, all that are left lead into a cycle.
    let mut left: Vec<&Stage> = pipeline.stages.iter().collect();
    loop {
        let names: BTreeSet<&str> = left.iter().map(|stage| stage.name.as_str()).collect();
        let before = left.len();
        left.retain(|stage| stage.depends_on.iter().any(|name| names.contains(name.as_str())));
        if left.len() == before {
            break;
        }
    }
    let mut path: Vec<&Stage> = Vec::new();
    let mut next = *left.first()?;
    while !path.iter().any(|stage| stage.name == next.name) {
        path.push(next);
        next = left.iter().find(|stage| next.depends_on.contains(&stage.name))?;
    }
    let begin = path.iter().position(|stage| stage.name == next.name)?;
    let mut circle = path.split_off(begin);
    let place = |stage: &Stage| pipeline.stages.iter().position(|known| known.name == stage.name);
    let earliest = (0..circle.len()).min_by_key(|number| place(circle[*number]))?;
    circle.rotate_left(earliest);
    Some(circle)
}

/// Stages that others require before them; the stages are sorted.
pub(super) fn hold(pipeline: &Pipeline, found: &mut PipelineDiagnostics<'_>) {
    let before = reachable(pipeline);
    let earlier = |stage: &Stage, is: fn(&Stage) -> bool| {
        let names = before.get(stage.name.as_str());
        names.into_iter().flatten().filter_map(|name| pipeline.stage(name)).any(is)
    };
    for stage in &pipeline.stages {
        let uses = [Key("uses")];
        let works_on_commit = matches!(stage.uses, StageKind::Publish | StageKind::Tests);
        if works_on_commit && !earlier(stage, makes_commit) {
            let problem =
                "no stage that it depends on has the check `pushed_commit`: there is no commit to work on";
            found.at(stage, &uses, problem);
        }
        if stage.uses == StageKind::Ready && !earlier(stage, |stage| stage.uses == StageKind::Publish) {
            let problem = "no stage that it depends on has `uses: publish`: there is no pull request";
            found.at(stage, &uses, problem);
        }
        let judges_first = stage.uses == StageKind::Agent && stage.begins_with == StageStart::Checks;
        if judges_first && !earlier(stage, makes_commit) {
            let problem = "`begins_with: checks`, but no stage that it depends on has the check `pushed_commit`: there \
                           is nothing to judge";
            found.at(stage, &[Key("begins_with")], problem);
        }
        if stage.uses == StageKind::Examine && pipeline.examiner() != Some(stage) {
            found.at(stage, &uses, "another stage examines the issue already: one examiner is enough");
        }
    }
    for publish in pipeline.stages.iter().filter(|stage| stage.uses == StageKind::Publish) {
        let is_before = |one: &Stage, other: &Stage| {
            before.get(other.name.as_str()).is_some_and(|names| names.contains(one.name.as_str()))
        };
        for stage in pipeline.stages.iter().filter(|stage| makes_commit(stage)) {
            if !is_before(stage, publish) && !is_before(publish, stage) {
                let problem = format!(
                    "neither {} depends on it nor it on {}: its commit would be in no pull request",
                    quoted(&publish.name),
                    quoted(&publish.name)
                );
                found.at(stage, &[Key("checks")], problem);
            }
        }
        for ready in pipeline.stages.iter().filter(|stage| stage.uses == StageKind::Ready) {
            let judges = |stage: &&Stage| stage.uses == StageKind::Tests || !stage.checks.is_empty();
            for stage in pipeline.stages.iter().filter(judges).filter(|stage| !is_before(stage, ready)) {
                let problem = format!(
                    "{} does not depend on it: the pull request would leave its draft before this has judged it",
                    quoted(&ready.name)
                );
                found.at(stage, &[Key("name")], problem);
            }
        }
    }
    for (uses, word) in [
        (StageKind::Branch, "branch"),
        (StageKind::Verify, "verify"),
        (StageKind::Publish, "publish"),
        (StageKind::Ready, "ready"),
    ] {
        for second in pipeline.stages.iter().filter(|stage| stage.uses == uses).skip(1) {
            let problem = format!("a pipeline has one stage with `uses: {word}`");
            found.at(second, &[Key("uses")], problem);
        }
    }
}

fn makes_commit(stage: &Stage) -> bool {
    stage.checks.contains(&Check::PushedCommit)
}
