//! How stages depend on one another: known names, no circle, and what has to come before what.

use std::collections::{BTreeMap, BTreeSet};

use super::found::Found;
use super::limits::MOST_STAGES;
use super::places::Step;
use super::problem::quoted;
use super::references::reachable;
use super::{BeginsWith, Check, Pipeline, Stage, Uses};

/// Whether stages could be put in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ordered {
    Yes,
    No,
}

/// Names and dependencies; then puts each stage after those it depends on, otherwise in the file's order.
pub(super) fn order(pipeline: &mut Pipeline, found: &mut Found<'_>) -> Ordered {
    if !(1..=MOST_STAGES).contains(&pipeline.stages.len()) {
        let count = pipeline.stages.len();
        found.at_top("stages", format!("a pipeline has 1 to {MOST_STAGES} stages, this has {count}"));
        return Ordered::No;
    }
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, stage) in pipeline.stages.iter().enumerate() {
        if names.insert(&stage.name, number).is_some() {
            found.at_number(number, stage, &[Step::Key("name")], "there are two stages of this name");
            return Ordered::No;
        }
    }
    for stage in &pipeline.stages {
        for (place, name) in stage.depends_on.iter().enumerate() {
            let path = [Step::Key("depends_on"), Step::Item(place)];
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
        found.at(first, &[Step::Key("depends_on")], format!("depends on itself: {}", names.join(" → ")));
        return Ordered::No;
    }
    sort(pipeline);
    Ordered::Yes
}

fn sort(pipeline: &mut Pipeline) {
    let mut rest = std::mem::take(&mut pipeline.stages);
    let mut waiting: BTreeSet<String> = rest.iter().map(|stage| stage.name.clone()).collect();
    while !rest.is_empty() {
        let is_free = |stage: &Stage| !stage.depends_on.iter().any(|name| waiting.contains(name));
        // Without a circle one is always free.
        let stage = rest.remove(rest.iter().position(is_free).unwrap_or(0));
        waiting.remove(&stage.name);
        pipeline.stages.push(stage);
    }
}

/// A circle of stages, each depending on the next and the last on the first; the first is the earliest in the file.
fn circle(pipeline: &Pipeline) -> Option<Vec<&Stage>> {
    // Without those that nothing stands in the way of, all that is left leads into a circle.
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

/// What has to be there before some stages make sense; asked of stages in order.
pub(super) fn hold(pipeline: &Pipeline, found: &mut Found<'_>) {
    let before = reachable(pipeline);
    let earlier = |stage: &Stage, is: fn(&Stage) -> bool| {
        let names = before.get(stage.name.as_str());
        names.into_iter().flatten().filter_map(|name| pipeline.stage(name)).any(is)
    };
    for stage in &pipeline.stages {
        let uses = [Step::Key("uses")];
        match stage.uses {
            Uses::Publish | Uses::Tests if !earlier(stage, makes_commit) => {
                let problem = "no stage that it depends on has the check `pushed_commit`: there is no commit to work on";
                found.at(stage, &uses, problem);
            }
            Uses::Ready if !earlier(stage, |stage| stage.uses == Uses::Publish) => {
                found.at(
                    stage,
                    &uses,
                    "no stage that it depends on has `uses: publish`: there is no pull request",
                );
            }
            Uses::Agent if stage.begins_with == BeginsWith::Checks && !earlier(stage, makes_commit) => {
                let problem = "`begins_with: checks`, but no stage that it depends on has the check `pushed_commit`: there \
                               is nothing to judge";
                found.at(stage, &[Step::Key("begins_with")], problem);
            }
            Uses::Agent | Uses::Branch | Uses::Tests | Uses::Publish | Uses::Ready | Uses::Archive => {}
        }
    }
    for publish in pipeline.stages.iter().filter(|stage| stage.uses == Uses::Publish) {
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
                found.at(stage, &[Step::Key("checks")], problem);
            }
        }
        for ready in pipeline.stages.iter().filter(|stage| stage.uses == Uses::Ready) {
            let judges = |stage: &&Stage| stage.uses == Uses::Tests || !stage.checks.is_empty();
            for stage in pipeline.stages.iter().filter(judges).filter(|stage| !is_before(stage, ready)) {
                let problem = format!(
                    "{} does not depend on it: the pull request would leave its draft before this has judged it",
                    quoted(&ready.name)
                );
                found.at(stage, &[Step::Key("name")], problem);
            }
        }
    }
    for (uses, word) in [(Uses::Branch, "branch"), (Uses::Publish, "publish"), (Uses::Ready, "ready")] {
        for second in pipeline.stages.iter().filter(|stage| stage.uses == uses).skip(1) {
            let problem = format!("a pipeline has one stage with `uses: {word}`");
            found.at(second, &[Step::Key("uses")], problem);
        }
    }
}

fn makes_commit(stage: &Stage) -> bool {
    stage.checks.contains(&Check::PushedCommit)
}
