//! Continuous integration: whether it still runs, runs the tests, and fails with them.

use super::Text;
use super::command::hole;
use crate::order::{Weakening, WeakeningKind};

pub(super) fn look(texts: &[Text<'_>], found: &mut Vec<Weakening>) {
    let files: Vec<&Text<'_>> = texts.iter().filter(|text| is_ci(text.path)).collect();
    let now: String = files.iter().map(|text| code(text.after())).collect::<Vec<_>>().join("\n");
    for text in &files {
        let mut say = |line: Option<u32>, grave: bool, what: String| {
            found.push(text.weakening(WeakeningKind::CiSwitchedOff, line, grave, what));
        };
        let old = code(text.before());
        let ran: Vec<&str> = old.lines().map(str::trim).filter(|line| runs_tests(line)).collect();
        let gone: Vec<&&str> = ran.iter().filter(|line| !now.contains(**line)).collect();
        if text.after.is_none() {
            let grave = ran.is_empty() || !gone.is_empty();
            say(None, grave, format!("{} is gone", text.path));
            continue;
        }
        let new = code(text.after());
        for (number, line) in super::beyond(&new, &old) {
            if let Some(what) = switched_off(line) {
                say(Some(number), !only_uses(&new, number), format!("{what}: `{line}`"));
            }
        }
        if text.is_added() {
            continue;
        }
        if !gone.is_empty() && !new.lines().any(runs_tests) {
            say(
                None,
                true,
                format!("the tests are no longer run: `{}` is gone", gone.first().map_or("", |line| **line)),
            );
        } else if let Some(line) = gone.first() {
            // Replaced by a command that is no weaker: that the line itself is looked at above.
            say(None, false, format!("the tests are run otherwise: `{line}` is gone"));
        }
        for trigger in ["pull_request", "push"] {
            let has = |text: &str| {
                text.lines().any(|line| {
                    line.trim().trim_start_matches("- ").starts_with(trigger)
                        || line.contains(&format!("[{trigger}"))
                        || line.contains(&format!("{trigger}]"))
                        || line.contains(&format!("{trigger},"))
                })
            };
            if has(&old) && !has(&new) {
                say(None, true, format!("it no longer runs on `{trigger}`"));
            }
        }
    }
}

fn is_ci(path: &str) -> bool {
    path.starts_with(".github/workflows/")
        || path.starts_with(".circleci/")
        || path.starts_with(".buildkite/")
        || matches!(
            path,
            ".gitlab-ci.yml"
                | "azure-pipelines.yml"
                | "Jenkinsfile"
                | ".travis.yml"
                | ".drone.yml"
                | "appveyor.yml"
                | "bitbucket-pipelines.yml"
                | ".cirrus.yml"
                | ".woodpecker.yml"
        )
}

/// The file without comments, line by line.
fn code(text: &str) -> String {
    text.lines()
        .map(
            |line| {
                if line.trim_start().starts_with('#') { "" } else { line.split(" #").next().unwrap_or(line) }
            },
        )
        .collect::<Vec<_>>()
        .join("\n")
}

/// Whether a line belongs to a step that only calls what others made, such as an upload.
fn only_uses(text: &str, number: u32) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    let Some(at) = usize::try_from(number).ok().and_then(|number| number.checked_sub(1)) else {
        return false;
    };
    let begins = |line: &&str| line.trim_start().starts_with("- ");
    let (Some(above), Some(below)) = (lines.get(..=at), lines.get(at + 1..)) else { return false };
    let Some(start) = above.iter().rposition(begins) else { return false };
    let column = |line: &str| line.len() - line.trim_start().len();
    let Some(first) = lines.get(start) else { return false };
    let rest = below.iter().take_while(|line| line.trim().is_empty() || column(line) > column(first));
    let step: Vec<&&str> = above.iter().skip(start).chain(rest).collect();
    // What is not deeper than the step's first line belongs to the job.
    step.iter().skip(1).take(at - start).all(|line| line.trim().is_empty() || column(line) > column(first))
        && step.iter().any(|line| line.contains("uses:"))
        && !step.iter().any(|line| runs_tests(line))
}

/// Whether a line runs tests.
pub(super) fn runs_tests(line: &str) -> bool {
    [
        "pytest",
        "unittest",
        "cargo test",
        "cargo nextest",
        "npm test",
        "npm t",
        "npm run test",
        "yarn test",
        "pnpm test",
        "node --test",
        "go test",
        "jest",
        "vitest",
        "mocha",
        "make test",
        "make check",
        "tox",
        "nox",
        "mvn test",
        "mvn verify",
        "gradlew test",
        "gradle test",
        "gradlew check",
    ]
    .iter()
    .any(|command| line.contains(command))
        && !line.contains("install")
        && !line.trim_start().starts_with("- name:")
        && !line.trim_start().starts_with("name:")
}

fn switched_off(line: &str) -> Option<String> {
    let flat: String = line
        .trim_start_matches("- ")
        .chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, '"' | '\''))
        .collect();
    let off = match flat.as_str() {
        "continue-on-error:true" | "allow_failure:true" | "continueOnError:true" | "allow-failure:true" => {
            "a failure is let through"
        }
        "if:false" | "if:${{false}}" | "when:never" | "enabled:false" | "if:never()" => "a step never runs",
        "fail-fast:false" => return None,
        _ if flat.starts_with("if:${{false&&") => "a step never runs",
        _ => {
            let runs = line.contains("run:") || runs_tests(line) || line.starts_with("- ");
            let hole = hole("", line).filter(|hole| {
                hole.starts_with('|') || hole.starts_with(';') || *hole == "exit 0" || *hole == "set +e"
            })?;
            return (runs || *hole == *"exit 0" || *hole == *"set +e")
                .then(|| format!("`{hole}` hides a failure"));
        }
    };
    Some(off.to_owned())
}
