//! The settings of test runners and the commands that call them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Text;
use super::command::{hole, worse};
use crate::order::{Weakening, WeakeningKind};
use crate::verify::tamper::change::Change;
use crate::verify::tamper::code::is_forging_command;

pub(super) fn look(change: &Change<'_>, text: &Text<'_>, found: &mut Vec<Weakening>) {
    let name = text.name;
    match name {
        "package.json" => package(text, found),
        "Makefile" | "makefile" | "GNUmakefile" | "justfile" | "Justfile" => makefile(text, found),
        "pytest.ini" | ".pytest.ini" | "tox.ini" | "setup.cfg" | "pyproject.toml" | "pytest.toml" => {
            python(change, text, found)
        }
        "Cargo.toml" => cargo(text, found),
        "pom.xml" | "build.gradle" | "build.gradle.kts" => java(text, found),
        _ if is_script_settings(name) => script(text, found),
        _ if is_shell(text) => shell(text, found),
        _ => {}
    }
}

fn is_script_settings(name: &str) -> bool {
    [
        "jest.config.",
        "vitest.config.",
        "vite.config.",
        ".mocharc",
        "ava.config.",
        "karma.conf",
        "playwright.config.",
    ]
    .iter()
    .any(|start| name.starts_with(start))
}

fn is_shell(text: &Text<'_>) -> bool {
    let is_shell = text.name.ends_with(".sh")
        || text.after().starts_with("#!/bin/sh")
        || text.after().starts_with("#!/bin/bash")
        || text.after().starts_with("#!/usr/bin/env bash");
    is_shell && ["test", "check", "ci", "verify"].iter().any(|word| text.path.to_lowercase().contains(word))
}

fn changed(text: &Text<'_>, line: Option<u32>, grave: bool, what: String) -> Weakening {
    text.weakening(WeakeningKind::TestCommandChanged, line, grave, what)
}

fn package(text: &Text<'_>, found: &mut Vec<Weakening>) {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or(Value::Null);
    let (before, after) = (read(text.before()), read(text.after()));
    let scripts = |value: &Value| -> BTreeMap<String, String> {
        value
            .get("scripts")
            .and_then(Value::as_object)
            .map(|scripts| {
                scripts
                    .iter()
                    .filter_map(|(name, command)| Some((name.clone(), command.as_str()?.to_owned())))
                    .collect()
            })
            .unwrap_or_default()
    };
    let (old, new) = (scripts(&before), scripts(&after));
    let test = old.get("test").map_or("", String::as_str);
    for (name, command) in &old {
        let is_test = name == "test"
            || name.starts_with("test:")
            || matches!(name.as_str(), "pretest" | "posttest" | "check" | "coverage");
        let is_called = test.split_whitespace().any(|word| word == name);
        if !is_test && !is_called {
            continue;
        }
        match new.get(name) {
            Some(now) => {
                if let Some(worse) = worse(command, now) {
                    found.push(changed(
                        text,
                        None,
                        worse.grave,
                        format!("the script `{name}`: {}", worse.how),
                    ));
                }
            }
            None if name == "test" => {
                found.push(changed(text, None, true, "the script `test` is gone".to_owned()))
            }
            None => {}
        }
    }
    for name in ["pretest", "posttest"] {
        if let Some(command) = new.get(name).filter(|_| !old.contains_key(name)) {
            let grave = hole("", command).is_some() || is_forging_command(command);
            found.push(changed(
                text,
                None,
                grave,
                format!("`{command}` runs beside the tests now, as `{name}`"),
            ));
        }
    }
    for runner in ["jest", "mocha", "vitest", "ava", "c8", "nyc"] {
        let (was, is) = (before.get(runner), after.get(runner));
        if was != is {
            let lines = is.map(|value| format!("{value:#}")).unwrap_or_default();
            let old_lines = was.map(|value| format!("{value:#}")).unwrap_or_default();
            for (_, line) in super::beyond(&lines, &old_lines) {
                script_line(text, None, line, found);
            }
        }
    }
}

/// Keys of JavaScript runners that take tests from a run.
const HIDING: &[&str] = &[
    "testPathIgnorePatterns",
    "modulePathIgnorePatterns",
    "testMatch",
    "testRegex",
    "exclude",
    "include",
    "passWithNoTests",
    "testNamePattern",
    "grep",
    "fgrep",
    "invert",
    "bail",
    "ignore",
    "dangerouslyIgnoreUnhandledErrors",
    "allowOnly",
    "testIgnore",
    "forbidOnly",
];

fn script(text: &Text<'_>, found: &mut Vec<Weakening>) {
    if text.is_added() && !text.after().contains("passWithNoTests") {
        return;
    }
    for (number, line) in text.new_lines() {
        script_line(text, Some(number), line, found);
    }
}

fn script_line(text: &Text<'_>, number: Option<u32>, line: &str, found: &mut Vec<Weakening>) {
    let key = line.split(':').next().unwrap_or_default().trim().trim_matches(['"', '\'', '{', ' ']);
    if HIDING.contains(&key) {
        found.push(changed(text, number, true, format!("the runner leaves tests out: `{line}`")));
    } else if matches!(key, "runner" | "testRunner" | "resolver" | "moduleNameMapper") {
        let what = format!("another program runs the tests: `{line}`");
        found.push(text.weakening(WeakeningKind::RunnerShadowed, number, key != "moduleNameMapper", what));
    } else if matches!(key, "setupFiles" | "setupFilesAfterEnv" | "globalSetup" | "require") {
        found.push(changed(text, number, false, format!("code runs before the tests now: `{line}`")));
    }
}

fn makefile(text: &Text<'_>, found: &mut Vec<Weakening>) {
    let (old, new) = (recipes(text.before()), recipes(text.after()));
    for (target, recipe) in &old {
        if !is_test_target(target) {
            continue;
        }
        match new.get(target) {
            Some(now) if now != recipe => {
                let hides = now.lines().any(|line| line.starts_with('-'))
                    && !recipe.lines().any(|line| line.starts_with('-'));
                let forges = now.lines().any(is_forging_command) && !recipe.lines().any(is_forging_command);
                if hides || forges {
                    found.push(changed(
                        text,
                        None,
                        true,
                        format!("the target `{target}` hides failures: `{now}`"),
                    ));
                } else if let Some(worse) = worse(recipe, now) {
                    found.push(changed(
                        text,
                        None,
                        worse.grave,
                        format!("the target `{target}`: {}", worse.how),
                    ));
                }
            }
            Some(_) => {}
            None => {
                found.push(changed(text, None, target == "test", format!("the target `{target}` is gone")))
            }
        }
    }
    for (number, line) in text.new_lines() {
        let flat: String = line.chars().filter(|c| !c.is_whitespace()).collect();
        let hides = flat.starts_with(".IGNORE")
            || (flat.starts_with("MAKEFLAGS")
                && (flat.contains("-i") || flat.contains("-k") || flat.contains("ignore")))
            || (flat.starts_with("SHELL")
                && !flat.ends_with("bash")
                && !flat.ends_with("/sh")
                && !flat.ends_with("=sh"));
        if hides {
            found.push(changed(
                text,
                Some(number),
                true,
                format!("failures of recipes are hidden: `{line}`"),
            ));
        }
    }
}

fn is_test_target(target: &str) -> bool {
    ["test", "tests", "check", "verify", "ci", "coverage"].iter().any(|name| {
        target == *name || target.strip_prefix(name).is_some_and(|rest| rest.starts_with(['-', '_', ':']))
    })
}

/// Targets and what they run.
fn recipes(text: &str) -> BTreeMap<String, String> {
    let mut recipes: BTreeMap<String, String> = BTreeMap::new();
    let mut current: Vec<String> = Vec::new();
    for line in text.lines() {
        if line.starts_with(['\t', ' ']) {
            for target in &current {
                let recipe = recipes.entry(target.clone()).or_default();
                let command = line.trim().trim_start_matches('@').trim();
                if !command.is_empty() && !command.starts_with('#') {
                    recipe.push_str(command);
                    recipe.push('\n');
                }
            }
        } else if let Some((targets, rest)) = line.split_once(':').filter(|(_, rest)| !rest.starts_with('='))
        {
            current = targets.split_whitespace().map(String::from).collect();
            for target in &current {
                let recipe = recipes.entry(target.clone()).or_default();
                if let Some((_, command)) = rest.split_once(';') {
                    recipe.push_str(command.trim());
                }
            }
        }
    }
    recipes
}

fn python(change: &Change<'_>, text: &Text<'_>, found: &mut Vec<Weakening>) {
    let (old, new) = (keys(text.before()), keys(text.after()));
    for (key, value) in &new {
        let was = old.get(key).map_or("", String::as_str);
        if was == value {
            continue;
        }
        match key.as_str() {
            "addopts" | "commands" => {
                let worse = hole(was, value).map(|hole| format!("`{hole}` came in"));
                if let Some(how) = worse {
                    found.push(changed(text, None, true, format!("`{key}`: {how}: `{value}`")));
                } else if value.contains("-p ") && !was.contains("-p ") {
                    found.push(changed(
                        text,
                        None,
                        true,
                        format!("`{key}` changes the plugins of the run: `{value}`"),
                    ));
                }
            }
            "python_files" | "python_functions" | "python_classes" | "norecursedirs" | "collect_ignore" => {
                found.push(changed(
                    text,
                    None,
                    true,
                    format!("other tests are collected: `{key} = {value}`"),
                ));
            }
            "testpaths" => {
                let outside = change.before.files.iter().filter(|file| !file.tests.is_empty()).any(|file| {
                    !value
                        .split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '[' | ']'))
                        .filter(|place| !place.is_empty())
                        .any(|place| place == "." || file.path.starts_with(place))
                });
                found.push(changed(
                    text,
                    None,
                    outside,
                    format!("tests are looked for in other places: `{value}`"),
                ));
            }
            _ => {}
        }
    }
}

/// Keys and values of an INI or TOML file; values over several lines are joined.
fn keys(text: &str) -> BTreeMap<String, String> {
    let mut keys: BTreeMap<String, String> = BTreeMap::new();
    let mut last: Option<String> = None;
    let mut is_open = false;
    for line in text.lines() {
        let bare = line.split(" #").next().unwrap_or_default();
        let continues = line.starts_with([' ', '\t']) || is_open;
        match bare.split_once('=').filter(|_| !continues) {
            Some((key, value)) => {
                let key = key.trim().to_owned();
                is_open = value.contains('[') && !value.contains(']');
                keys.insert(key.clone(), value.trim().to_owned());
                last = Some(key);
            }
            None if continues => {
                is_open &= !bare.contains(']');
                if let Some(value) = last.as_ref().and_then(|key| keys.get_mut(key)) {
                    value.push(' ');
                    value.push_str(bare.trim());
                }
            }
            None => last = None,
        }
    }
    keys
}

fn cargo(text: &Text<'_>, found: &mut Vec<Weakening>) {
    let switched = |text: &str| -> Vec<(String, String)> {
        let mut section = String::new();
        let mut all = Vec::new();
        for line in text.lines() {
            let line: String =
                line.split('#').next().unwrap_or_default().chars().filter(|c| !c.is_whitespace()).collect();
            if line.starts_with('[') {
                section = line;
            } else if matches!(
                line.as_str(),
                "autotests=false"
                    | "test=false"
                    | "harness=false"
                    | "overflow-checks=false"
                    | "debug-assertions=false"
            ) || (section == "[[test]]" && line.starts_with("required-features"))
            {
                all.push((section.clone(), line));
            }
        }
        all
    };
    let before = switched(text.before());
    for (section, line) in switched(text.after()).into_iter().filter(|entry| !before.contains(entry)) {
        if section.starts_with("[profile") && !section.contains("test") && !section.contains("dev") {
            continue;
        }
        found.push(changed(
            text,
            None,
            true,
            format!("cargo runs fewer tests, or checks less: `{line}` in {section}"),
        ));
    }
}

fn java(text: &Text<'_>, found: &mut Vec<Weakening>) {
    let holes = [
        "skipTests>true",
        "maven.test.skip>true",
        "testFailureIgnore>true",
        "ignoreFailures = true",
        "ignoreFailures.set(true)",
        "onlyIf { false }",
        "failIfNoTests>false",
        "<exclude>",
        "excludeTestsMatching",
        "<groups>",
        "excludedGroups",
    ];
    let is_test_task = text.after().contains("test");
    for (number, line) in text.new_lines() {
        let is_hole = holes.iter().any(|hole| line.contains(hole))
            || (is_test_task
                && (line == "enabled = false"
                    || line.starts_with("exclude ")
                    || line.starts_with("exclude(")));
        if is_hole {
            found.push(changed(
                text,
                Some(number),
                true,
                format!("the build runs fewer tests, or hides failures: `{line}`"),
            ));
        }
    }
}

fn shell(text: &Text<'_>, found: &mut Vec<Weakening>) {
    for (number, line) in text.new_lines() {
        if line.starts_with('#') {
            continue;
        }
        if is_forging_command(line) {
            let what = format!("prints what only a test runner says: `{line}`");
            found.push(text.weakening(WeakeningKind::ForgedOutput, Some(number), true, what));
        } else if !text.is_added() && (line == "exit 0" || hole("", line).is_some()) {
            found.push(changed(
                text,
                Some(number),
                true,
                format!("a script of the tests hides failures: `{line}`"),
            ));
        }
    }
    let runs = |text: &str| {
        text.lines().any(|line| !line.trim_start().starts_with('#') && super::ci::runs_tests(line))
    };
    if !text.is_added() && runs(text.before()) && !runs(text.after()) {
        found.push(changed(text, None, true, "the script no longer runs a test runner".to_owned()));
    }
}
