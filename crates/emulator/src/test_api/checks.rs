//! What a story does about checks, rules and permissions, and what it can see of them.

use serde_json::Value;

use crate::clock;
use crate::mutations::checks::NewCheckRun;
use crate::state::EmulatorState;
use crate::state::checks::{
    CheckConclusion, CheckRunAction, CheckRunMaker, CheckRunProgress, EmulatedAnnotation, EmulatedCheckRun,
};
use crate::state::rules::RulesetRule;
use crate::{Emulator, repos};

/// A check run, as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRunView {
    /// Its id; for a job of Actions the job's.
    pub id: u64,
    pub name: String,
    /// Whether the App made it, rather than Actions.
    pub by_app: bool,
    /// `queued`, `in_progress` or `completed`.
    pub status: String,
    /// What it came to, once it is completed.
    pub conclusion: Option<CheckConclusion>,
    /// What its maker knows it by.
    pub external_id: String,
    /// The page that it leads to.
    pub details_url: Option<String>,
    pub title: String,
    pub summary: String,
    /// What it says of lines.
    pub annotations: Vec<EmulatedAnnotation>,
    pub actions: Vec<CheckRunAction>,
}

/// A repository's CI: jobs of Actions, and commit statuses of other systems.
#[derive(Debug, Clone, Copy)]
pub struct EmulatedCi<'a> {
    emulator: &'a Emulator,
    repository: &'a str,
}

impl Emulator {
    /// The CI of a repository.
    pub fn ci<'a>(&'a self, repository: &'a str) -> EmulatedCi<'a> {
        EmulatedCi { emulator: self, repository }
    }

    /// All check runs on a commit, the oldest first.
    pub fn check_runs(&self, repository: &str, sha: &str) -> Vec<CheckRunView> {
        let world = self.shared.lock();
        let Some(found) = world.repository(repository) else { return Vec::new() };
        found
            .checks
            .runs
            .iter()
            .filter(|run| run.head_sha == sha)
            .map(|run| CheckRunView {
                id: run.id,
                name: run.name.clone(),
                by_app: run.maker == CheckRunMaker::App,
                status: run.progress.status().to_owned(),
                conclusion: run.progress.conclusion(),
                external_id: run.external_id.clone(),
                details_url: run.details_url.clone(),
                title: run.output.title.clone().unwrap_or_default(),
                summary: run.output.summary.clone().unwrap_or_default(),
                annotations: run.output.annotations.clone(),
                actions: run.actions.clone(),
            })
            .collect()
    }

    /// A ruleset forbids to make and to move branches of this pattern, such as `journeyman/**`.
    ///
    /// # Errors
    /// When there is no such repository.
    pub fn forbid_branches(&self, repository: &str, pattern: &str) -> anyhow::Result<()> {
        let ruleset = self.shared.change(EmulatorState::new_id);
        for kind in ["creation", "update"] {
            self.push_rule(repository, ruleset, (pattern, kind, Value::Null), false)?;
        }
        Ok(())
    }

    /// A ruleset with one rule, by GitHub's name of it, such as `required_signatures`; `bypass` lets the App through.
    ///
    /// # Errors
    /// When there is no such repository.
    pub fn add_rule(
        &self,
        repository: &str,
        (pattern, kind): (&str, &str),
        parameters: Value,
        bypass: bool,
    ) -> anyhow::Result<()> {
        let ruleset = self.shared.change(EmulatorState::new_id);
        self.push_rule(repository, ruleset, (pattern, kind, parameters), bypass)
    }

    fn push_rule(
        &self,
        repository: &str,
        ruleset: u64,
        (pattern, kind, parameters): (&str, &str, Value),
        bypass: bool,
    ) -> anyhow::Result<()> {
        let (pattern, kind) = (pattern.to_owned(), kind.to_owned());
        self.shared.change(|world| {
            let rule = RulesetRule { ruleset, pattern, kind, parameters, bypass };
            world.require_repository_mut(repository)?.rules.rules.push(rule);
            Ok(())
        })
    }

    /// Branches of this pattern are protected, as in a repository's older settings: not deleted, not overwritten.
    ///
    /// # Errors
    /// When there is no such repository.
    pub fn protect_branches(&self, repository: &str, pattern: &str) -> anyhow::Result<()> {
        self.shared.change(|world| {
            world.require_repository_mut(repository)?.rules.protected.push(pattern.to_owned());
            Ok(())
        })
    }

    /// Makes a repository read-only.
    ///
    /// # Errors
    /// When there is no such repository.
    pub fn archive(&self, repository: &str) -> anyhow::Result<()> {
        self.shared.change(|world| {
            world.require_repository_mut(repository)?.rules.archived = true;
            Ok(())
        })
    }

    /// Takes a permission, such as `checks`, from the App; tokens that were made before keep it.
    pub fn remove_permission(&self, name: &str) {
        self.shared.change(|world| world.app.permissions.remove(name));
    }
}

impl EmulatedCi<'_> {
    /// A job begins.
    ///
    /// # Errors
    /// When there is no such repository or commit.
    pub fn start_job(&self, sha: &str, name: &str) -> anyhow::Result<u64> {
        self.job(sha, name, CheckRunProgress::Running, "", Vec::new())
    }

    /// A job fails, having printed this, and says this of lines. One that had begun is the one that ends.
    ///
    /// # Errors
    /// When there is no such repository or commit.
    pub fn fail_job(
        &self,
        sha: &str,
        name: &str,
        log: &str,
        annotations: Vec<EmulatedAnnotation>,
    ) -> anyhow::Result<u64> {
        self.job(sha, name, CheckRunProgress::Completed(CheckConclusion::Failure), log, annotations)
    }

    /// A job passes.
    ///
    /// # Errors
    /// When there is no such repository or commit.
    pub fn pass_job(&self, sha: &str, name: &str) -> anyhow::Result<u64> {
        self.job(sha, name, CheckRunProgress::Completed(CheckConclusion::Success), "all good\n", Vec::new())
    }

    /// A job ends otherwise.
    ///
    /// # Errors
    /// When there is no such repository or commit.
    pub fn finish_job(&self, sha: &str, name: &str, conclusion: CheckConclusion) -> anyhow::Result<u64> {
        self.job(sha, name, CheckRunProgress::Completed(conclusion), "", Vec::new())
    }

    /// A CI system without an App says how a commit stands: `error`, `failure`, `pending` or `success`.
    ///
    /// # Errors
    /// When there is no such repository or commit, or the state is another word.
    pub fn status(&self, sha: &str, context: &str, state: &str) -> anyhow::Result<u64> {
        self.emulator.shared.change(|world| {
            let found = world.require_repository(self.repository)?;
            let (owner, sha) = (found.owner, require_commit(world, self.repository, sha)?);
            let about = Some(format!("{context}: {state}"));
            let page = Some(format!("https://ci.example.org/{context}"));
            Ok(world.set_status(self.repository, owner, (&sha, context, state), (about, page))?)
        })
    }

    fn job(
        &self,
        sha: &str,
        name: &str,
        progress: CheckRunProgress,
        log: &str,
        annotations: Vec<EmulatedAnnotation>,
    ) -> anyhow::Result<u64> {
        self.emulator.shared.change(|world| {
            let head_sha = require_commit(world, self.repository, sha)?;
            let begun = world.require_repository(self.repository)?.checks.runs.iter().rev().find(|run| {
                run.name == name
                    && run.head_sha == head_sha
                    && run.maker == CheckRunMaker::Actions
                    && run.progress.conclusion().is_none()
            });
            let fill = |run: &mut EmulatedCheckRun| {
                run.output.annotations.extend(annotations);
                run.log = Some(printed(log));
            };
            match begun.map(|run| run.id) {
                Some(id) => {
                    world.update_check(self.repository, id, Some(progress), fill)?;
                    Ok(id)
                }
                None => {
                    let new = NewCheckRun {
                        maker: CheckRunMaker::Actions,
                        name: name.to_owned(),
                        head_sha,
                        progress,
                    };
                    Ok(world.create_check(self.repository, new, fill)?)
                }
            }
        })
    }
}

fn require_commit(world: &EmulatorState, repository: &str, sha: &str) -> anyhow::Result<String> {
    repos::resolve(&world.require_repository(repository)?.git, sha)
        .ok_or_else(|| anyhow::anyhow!("{repository} has no commit {sha}"))
}

/// As Actions keeps what a job prints: a mark at the beginning, a time before each line, and tidying at the end.
fn printed(log: &str) -> String {
    let now = clock::now().format("%Y-%m-%dT%H:%M:%S%.6f0Z").to_string();
    let lines = log.lines().chain(["Post job cleanup.", "Cleaning up orphan processes"]);
    let lines: String = lines.map(|line| format!("{now} {line}\r\n")).collect();
    format!("\u{feff}{lines}")
}
