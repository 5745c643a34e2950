//! What a story does about checks, rules and permissions, and what it can see of them.

use serde_json::Value;

use crate::clock;
use crate::state::EmulatorState;
use crate::state::checks::{CheckConclusion, EmulatedAnnotation, EmulatedCheckRun, EmulatedCommitStatus};
use crate::state::rules::RulesetRule;
use crate::{Emulator, repos};

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
    pub fn check_runs(&self, repository: &str, sha: &str) -> Vec<EmulatedCheckRun> {
        let world = self.shared.lock();
        let all = world.repository(repository).into_iter().flat_map(|found| &found.checks.runs);
        all.filter(|run| run.head_sha == sha).cloned().collect()
    }

    /// Rulesets forbid to make and to move branches of this pattern, such as `journeyman/**`.
    ///
    /// # Errors
    /// When there is no such repository.
    pub fn forbid_branches(&self, repository: &str, pattern: &str) -> anyhow::Result<()> {
        let forbid = |kind| self.add_rule(repository, (pattern, kind), Value::Null, false);
        ["creation", "update"].into_iter().try_for_each(forbid)
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
        let (pattern, kind) = (pattern.to_owned(), kind.to_owned());
        self.shared.change(|world| {
            let rule = RulesetRule { ruleset: world.new_id(), pattern, kind, parameters, bypass };
            world.require_repository_mut(repository)?.rules.rules.push(rule);
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
        self.job(sha, name, None, "", Vec::new())
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
        self.job(sha, name, Some(CheckConclusion::Failure), log, annotations)
    }

    /// A job passes.
    ///
    /// # Errors
    /// When there is no such repository or commit.
    pub fn pass_job(&self, sha: &str, name: &str) -> anyhow::Result<u64> {
        self.job(sha, name, Some(CheckConclusion::Success), "all good\n", Vec::new())
    }

    /// A job ends otherwise.
    ///
    /// # Errors
    /// When there is no such repository or commit.
    pub fn finish_job(&self, sha: &str, name: &str, conclusion: CheckConclusion) -> anyhow::Result<u64> {
        self.job(sha, name, Some(conclusion), "", Vec::new())
    }

    /// A CI system without an App says how a commit stands: `error`, `failure`, `pending` or `success`.
    ///
    /// # Errors
    /// When there is no such repository or commit.
    pub fn status(&self, sha: &str, context: &str, state: &str) -> anyhow::Result<()> {
        self.emulator.shared.change(|world| {
            let sha = require_commit(world, self.repository, sha)?;
            let status = EmulatedCommitStatus {
                id: world.new_id(),
                sha,
                context: context.to_owned(),
                state: state.to_owned(),
                description: format!("{context}: {state}"),
                target_url: format!("https://ci.example.org/{context}"),
            };
            Ok(world.set_status(self.repository, status)?)
        })
    }

    fn job(
        &self,
        sha: &str,
        name: &str,
        conclusion: Option<CheckConclusion>,
        log: &str,
        annotations: Vec<EmulatedAnnotation>,
    ) -> anyhow::Result<u64> {
        self.emulator.shared.change(|world| {
            let head_sha = require_commit(world, self.repository, sha)?;
            let runs = &world.require_repository(self.repository)?.checks.runs;
            let is_it = |run: &&EmulatedCheckRun| run.name == name && run.head_sha == head_sha && !run.by_app;
            let begun = runs.iter().rev().find(|run| is_it(run) && run.conclusion.is_none()).cloned();
            let mut run = begun.unwrap_or_else(|| EmulatedCheckRun::queued(false, name, head_sha));
            run.status = if conclusion.is_some() { "completed" } else { "in_progress" }.to_owned();
            run.conclusion = conclusion;
            run.annotations.extend(annotations);
            run.log = Some(printed(log));
            Ok(world.put_check(self.repository, run)?)
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
