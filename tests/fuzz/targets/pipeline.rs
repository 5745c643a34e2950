//! A repository's YAML: pipelines, roles, settings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use journeyman::config::repository_settings;
use journeyman::order::bounds::MOST_NAMED;
use journeyman::order::pipeline::{MOST_ROUNDS, MOST_STAGES};
use journeyman::order::{Pipeline, RepositorySettings, Role};

pub const WORDS: &[&str] = &[
    "name: ",
    "version: 1\n",
    "stages:\n",
    "  - name: a\n",
    "    agent: developer\n",
    "    depends_on: [a]\n",
    "    uses: ",
    "    command: ",
    "    arguments: [\"{{a.b}}\"]\n",
    "    inputs: {x: \"{{issue.title}}\"}\n",
    "    output: ",
    "    schema: {",
    "    when: ",
    "    timeout: 5m\n",
    "    timeout: 99999999999h\n",
    "    budget: 1e400\n",
    "    max_adversarial_rounds: 11\n",
    "    verifier: ",
    "    checks: [tests]\n",
    "    retry_count: 3\n",
    "{{",
    "}}",
    "\"$ref\": \"#\"",
    "\"pattern\": \"(a+)+$\"",
    "\"pattern\": \"(((x{1,100}){1,100}){1,100})\"",
    "!!binary ",
    "|\n  ",
    ">-\n  ",
    "? [",
    "[[[[[[[[",
    "{a: {a: {a: {a: ",
    "\"http://example.org/schema\"",
    "protected: [\"**\"]\n",
    "protected: [\"{a,b,{c,d}}[!\"]\n",
    "test: ",
    "report: ../x\n",
    "agents: {developer: claude}\n",
    "budget: {usd: 5, minutes: 3, runs: 2}\n",
    "label: ",
    "network: [a.example.org]\n",
    "a == 'b' and ",
    " or not (",
    "contains(",
];

/// Reads it as each of them.
pub fn pipelines(bytes: &[u8]) {
    match repository_settings(bytes) {
        Ok(settings) => settings_are_sound(&settings),
        Err(problem) => is_told(&problem.to_string()),
    }
    let Ok(yaml) = std::str::from_utf8(bytes) else { return };
    let role = match Role::parse(yaml) {
        Ok(role) => {
            assert!((1..=100).contains(&role.name.chars().count()));
            Some(role)
        }
        Err(problem) => {
            is_told(&problem.to_string());
            None
        }
    };
    let roles: BTreeMap<String, Role> = role.into_iter().map(|role| (role.name.clone(), role)).collect();
    for read in [Pipeline::parse(yaml), Pipeline::parse_with(yaml, &roles)] {
        match read {
            Ok(pipeline) => pipeline_is_sound(&pipeline),
            Err(invalid) => {
                assert!((1..=MOST_NAMED).contains(&invalid.problems.len()), "{}", invalid.problems.len());
                invalid.problems.iter().for_each(|problem| is_told(&problem.problem));
            }
        }
    }
}

/// The message is for people, on an issue.
fn is_told(problem: &str) {
    assert!(!problem.is_empty() && problem.chars().count() <= 1_500, "{problem}");
}

fn pipeline_is_sound(pipeline: &Pipeline) {
    assert!((1..=MOST_STAGES).contains(&pipeline.stages.len()));
    assert!(pipeline.name.len() <= 40);
    let mut before = BTreeSet::new();
    for stage in &pipeline.stages {
        let is_name = |name: &str| {
            (1..=40).contains(&name.len())
                && name
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_'))
        };
        assert!(is_name(&stage.name), "{:?}", stage.name);
        assert!(stage.depends_on.iter().all(|name| before.contains(name.as_str())), "{:?}", stage.depends_on);
        assert!(stage.max_adversarial_rounds <= MOST_ROUNDS && stage.retry_count <= MOST_ROUNDS);
        assert!(stage.budget.is_none_or(|usd| usd > 0.0 && usd <= 10_000.0), "{:?}", stage.budget);
        assert!(before.insert(stage.name.as_str()), "{} is there twice", stage.name);
    }
    // The journal stores it and must return it unchanged.
    let written = serde_json::to_string(pipeline).unwrap();
    assert_eq!(serde_json::from_str::<Pipeline>(&written).unwrap(), *pipeline);
}

fn settings_are_sound(settings: &RepositorySettings) {
    if let Some(report) = &settings.report {
        let inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        assert!(Path::new(report).components().all(inside), "{report}");
    }
    for command in [&settings.test, &settings.setup].into_iter().flatten() {
        assert!(!command.trim().is_empty() && !command.contains('\0') && command.chars().count() <= 4_096);
    }
    assert!(settings.network.as_ref().is_none_or(|names| names.len() <= 50));
    for glob in settings.protected.iter().flatten() {
        assert!(globset::Glob::new(glob).is_ok());
    }
    if let Some(usd) = settings.budget.and_then(|budget| budget.usd) {
        assert!(usd > 0.0 && usd.is_finite());
    }
}
