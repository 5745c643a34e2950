//! `--init`: writes settings that pin the detected environment, for people to adapt.
//!
//! May know: plans, the form of `.github/journeyman.yml`. Must never know: how a plan is made.
//!
//! The reader of those files reads the result back, and it must give the same plan.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Value, json};

use super::checkout::LocalCheckout;
use crate::app::LocalEnvironment;
use crate::config::repository_settings;
use crate::engine::{EnvironmentSurvey, SETTINGS_FILE};
use crate::environment::{EnvironmentPlan, SetupCommand};
use crate::order::RepositorySettings;

const CANNOT: &str =
    "what was found cannot be written as .github/journeyman.yml; name `setup` and `test` there yourself";
/// Added if tests already fail on the commit.
const ACCEPTED: &str = "\n# Some tests fail already. A change may leave these as they are; whatever else fails stands against it.\n\
                        accept: no_new_failures\n";
pub(super) struct PinnedFile {
    pub(super) path: PathBuf,
    /// False if a file already existed: nothing is ever overwritten.
    pub(super) is_written: bool,
    /// What was written.
    pub(super) text: String,
}

impl PinnedFile {
    pub(super) async fn write(
        checkout: &LocalCheckout,
        environment: &LocalEnvironment,
        plan: &EnvironmentPlan,
        survey: &EnvironmentSurvey,
    ) -> anyhow::Result<Self> {
        let path = checkout.work_tree()?.join(SETTINGS_FILE);
        if fs::symlink_metadata(&path).is_ok() {
            return Ok(Self { path, is_written: false, text: String::new() });
        }
        let pinned = PinnedSettings::leanest(environment, plan).await?;
        // If no test passes, this setting would accept any change.
        let counts = survey.reading.counts.filter(|counts| counts.passed > 0 && counts.failed > 0);
        let accepted = if counts.is_some() && survey.report.problem.is_none() { ACCEPTED } else { "" };
        let text_of = |pinned: &PinnedSettings| format!("{}{}{accepted}", heading(plan), pinned.text());
        let read_back = |text: &str| repository_settings(text.as_bytes()).context(CANNOT);
        let of_root = PinnedSettings { folders: Vec::new(), ..pinned.clone() };
        let planned = environment.plan_with(read_back(&text_of(&of_root))?).await?;
        if !is_same(plan, &planned) {
            anyhow::bail!(CANNOT);
        }
        let text = text_of(&pinned);
        let (whole, planned) =
            (plan.clone().with_projects(&pinned.folders), environment.plan_with(read_back(&text)?).await?);
        if whole.test_command() != planned.test_command() {
            anyhow::bail!(CANNOT);
        }
        create(&path, &text)?;
        Ok(Self { path, is_written: true, text })
    }

    pub(super) fn as_json(&self) -> Value {
        json!({
            "file": self.path.display().to_string(), "written": self.is_written, "text": self.text,
        })
    }
}

/// Never overwrites a file, and follows no link out of the repository.
fn create(path: &Path, text: &str) -> anyhow::Result<()> {
    let told = || format!("cannot write {}", path.display());
    if let Some(folder) = path.parent() {
        if fs::symlink_metadata(folder).is_ok_and(|found| found.is_symlink()) {
            anyhow::bail!("{}: {} is a link", told(), folder.display());
        }
        fs::create_dir_all(folder).with_context(told)?;
    }
    let mut file = fs::File::create_new(path).with_context(told)?;
    file.write_all(text.as_bytes()).with_context(told)
}

fn heading(plan: &EnvironmentPlan) -> String {
    let source: String =
        plan.source.to_string().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!(
        "# How Journeyman prepares and tests this repository. It is read from the default branch.\n\
         # Made by `journeyman environment --init` from {source}.\n"
    )
}

fn is_same(found: &EnvironmentPlan, pinned: &EnvironmentPlan) -> bool {
    found.setup_command() == pinned.setup_command()
        && found.test_command() == pinned.test_command()
        && found.image == pinned.image
}

/// What a file must say to get a plan.
#[derive(Debug, Clone, Default)]
struct PinnedSettings {
    image: Option<String>,
    variables: BTreeMap<String, String>,
    /// Commands that each end the setup if they fail.
    setup: Vec<String>,
    test: Option<String>,
    /// Subfolders with tests of their own.
    folders: Vec<String>,
}

impl PinnedSettings {
    /// The whole plan, except the first commands of its setup.
    fn of(plan: &EnvironmentPlan, skipped: usize) -> Self {
        Self {
            image: plan.image.clone(),
            variables: plan.variables.clone(),
            setup: plan.setup.iter().skip(skipped).map(|setup| setup.command.trim().to_owned()).collect(),
            test: plan.test_command().map(|test| test.trim().to_owned()),
            folders: plan
                .below
                .iter()
                .filter(|below| below.plan.is_some())
                .map(|below| below.path.clone())
                .collect(),
        }
    }

    /// The smallest settings with the same plan. Tools that a setup calls are installed anyway, and so are a package
    /// manager's variables set.
    async fn leanest(environment: &LocalEnvironment, plan: &EnvironmentPlan) -> anyhow::Result<Self> {
        for skipped in (0..plan.setup.len().max(1)).rev() {
            let lean = Self { variables: BTreeMap::new(), ..Self::of(plan, skipped) };
            let planned = environment.plan_with(lean.settings()).await?;
            if is_same(plan, &planned) {
                let mut variables = plan.variables.clone();
                variables.retain(|name, value| planned.variables.get(name) != Some(value));
                return Ok(Self { variables, ..lean });
            }
        }
        Ok(Self::of(plan, 0))
    }

    fn settings(&self) -> RepositorySettings {
        RepositorySettings {
            image: self.image.clone(),
            setup: self.setup_command(),
            test: self.test.clone(),
            ..RepositorySettings::default()
        }
    }

    fn setup_command(&self) -> Option<String> {
        let commands = self
            .setup
            .iter()
            .map(|command| SetupCommand { command: command.clone(), because: String::new() });
        EnvironmentPlan { setup: commands.collect(), ..EnvironmentPlan::default() }.setup_command()
    }

    /// The file's keys, each with a line of explanation.
    fn text(&self) -> String {
        let mut text = String::new();
        let mut add = |comment: &str, entry: String| {
            text.push_str(&format!("\n# {comment}\n{entry}"));
        };
        if let Some(image) = &self.image {
            add("What setup, tests and agents run in.", entry("image", image));
        }
        if !self.variables.is_empty() {
            let line = |(name, value): (&String, &String)| format!("  {name}: {}\n", quoted(value));
            let lines: String = self.variables.iter().map(line).collect();
            add("Variables of setup, tests and agents.", format!("env:\n{lines}"));
        }
        if let Some(setup) = self.setup_command() {
            let comment = "Installs what the tests need, with a network to package registries; once for the same lockfiles.";
            add(comment, entry("setup", &setup));
        }
        match &self.test {
            test if !self.folders.is_empty() => add(
                "Tests of a folder run for a change there, those of `.` for every change; without network. Exit codes decide.",
                folder_list(test.as_deref(), &self.folders),
            ),
            Some(test) => {
                add("Runs the tests, without network; its exit code decides.", entry("test", test));
            }
            None => add(
                "No tests were found. Name the command that runs them: without tests, nothing can be verified.",
                "# test: make check\n".to_owned(),
            ),
        }
        text
    }
}

/// A key and its text in the plainest YAML form that reads back unchanged.
fn entry(key: &str, text: &str) -> String {
    let literal = format!("{key}: |-\n{}", indented(text.lines()));
    let candidates = [format!("{key}: {text}\n"), literal];
    let last = || format!("{key}: {}\n", quoted(text));
    candidates.into_iter().find(|candidate| reads_as(candidate, key, text)).unwrap_or_else(last)
}

/// The folders whose tests run; the root comes with its command.
fn folder_list(of_root: Option<&str>, folders: &[String]) -> String {
    let root = of_root.map(|test| format!("  - path: .\n    test: {}\n", quoted(test)));
    let each: String = folders.iter().map(|folder| format!("  - path: {}\n", quoted(folder))).collect();
    format!("tests:\n{}{each}", root.unwrap_or_default())
}

fn indented(lines: impl Iterator<Item = impl AsRef<str>>) -> String {
    lines.map(|line| format!("  {}", line.as_ref()).trim_end().to_owned() + "\n").collect()
}

/// A JSON string is also a YAML string.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn reads_as(yaml: &str, key: &str, text: &str) -> bool {
    let Ok(read) = repository_settings(yaml.as_bytes()) else { return false };
    let value = match key {
        "image" => read.image,
        "setup" => read.setup,
        _ => read.test,
    };
    value.as_deref() == Some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::environment::{EnvironmentSource, PlannedTest, ProjectBelow};

    fn plan(setup: &[&str], test: Option<&str>) -> EnvironmentPlan {
        let because = "pyproject.toml".to_owned();
        EnvironmentPlan {
            source: EnvironmentSource::Found { what: "Python with pip", because: because.clone() },
            setup: setup
                .iter()
                .map(|command| SetupCommand { command: (*command).to_owned(), because: because.clone() })
                .collect(),
            test: test.map(|command| PlannedTest::new(command, because)),
            ..EnvironmentPlan::default()
        }
    }

    fn whole(plan: &EnvironmentPlan) -> String {
        format!("{}{}", heading(plan), PinnedSettings::of(plan, 0).text())
    }

    #[test]
    fn a_file_is_for_people_to_read() {
        let mut found = plan(
            &[
                "python3 -m venv .venv",
                ".venv/bin/python -m pip install -e '.[test]' -r requirements-dev.txt",
            ],
            Some("pytest -q"),
        );
        found.image = Some("python:3.12-slim".to_owned());
        found.variables.insert("UV_CACHE_DIR".to_owned(), "{home}/.cache/uv".to_owned());
        insta::assert_snapshot!(whole(&found), @r#"
            # How Journeyman prepares and tests this repository. It is read from the default branch.
            # Made by `journeyman environment --init` from Python with pip, found by `pyproject.toml`.

            # What setup, tests and agents run in.
            image: python:3.12-slim

            # Variables of setup, tests and agents.
            env:
              UV_CACHE_DIR: "{home}/.cache/uv"

            # Installs what the tests need, with a network to package registries; once for the same lockfiles.
            setup: python3 -m venv .venv && .venv/bin/python -m pip install -e '.[test]' -r requirements-dev.txt

            # Runs the tests, without network; its exit code decides.
            test: pytest -q
            "#);
        insta::assert_snapshot!(whole(&plan(&[], None)), @"
            # How Journeyman prepares and tests this repository. It is read from the default branch.
            # Made by `journeyman environment --init` from Python with pip, found by `pyproject.toml`.

            # No tests were found. Name the command that runs them: without tests, nothing can be verified.
            # test: make check
            ");
    }

    #[test]
    fn folders_with_tests_of_their_own_are_listed_with_the_root() {
        let mut found = plan(&[], Some("python3 -m unittest"));
        let own = Some(plan(&[], Some("npm test")));
        let below =
            |path: &str, plan| ProjectBelow { path: path.to_owned(), plan, ..ProjectBelow::default() };
        found.below = vec![below("web", own), below("app", None)];
        let text = PinnedSettings::of(&found, 0).text();
        let tests = repository_settings(text.as_bytes()).unwrap().tests;
        let told: Vec<_> = tests.iter().map(|one| (one.path.as_str(), one.test.as_deref())).collect();
        assert_eq!(told, [(".", Some("python3 -m unittest")), ("web", None)], "{text}");
    }

    proptest! {
        /// Commands are foreign text: whatever they contain, the file says exactly them.
        #[test]
        fn what_is_written_reads_back_as_the_same_commands(
            setup in proptest::collection::vec("[ -~\n\t#:{}'\"&|>%@`\u{85}\u{2028}é]{1,60}", 1..4),
            test in "[ -~\n\t#:{}'\"&|>%@`]{1,60}",
        ) {
            let parts: Vec<&str> = setup.iter().map(|command| command.trim()).collect();
            prop_assume!(parts.iter().all(|part| !part.is_empty()) && !test.trim().is_empty());
            let found = plan(&parts, Some(test.trim()));
            let text = whole(&found);
            let read = repository_settings(text.as_bytes()).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
            prop_assert_eq!(&read.setup, &found.setup_command(), "{}", text);
            prop_assert_eq!(read.test.as_deref(), found.test_command(), "{}", text);
            prop_assert_eq!(
                read,
                RepositorySettings {
                    setup: found.setup_command(),
                    test: Some(test.trim().to_owned()),
                    ..RepositorySettings::default()
                }
            );
        }
    }
}
