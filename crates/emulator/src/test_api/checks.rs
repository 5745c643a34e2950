//! Lets tests control checks, rules and permissions, and look at them.

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
    pub fn ci<'a>(&'a self, repository: &'a str) -> EmulatedCi<'a> {
        EmulatedCi { emulator: self, repository }
    }

    /// All check runs on a commit, oldest first.
    pub fn check_runs(&self, repository: &str, sha: &str) -> Vec<EmulatedCheckRun> {
        let world = self.shared.lock();
        let all = world.repository(repository).into_iter().flat_map(|found| &found.checks.runs);
        all.filter(|run| run.head_sha == sha).cloned().collect()
    }

    /// Adds rulesets that forbid creating and moving branches of this pattern, such as `journeyman/**`.
    pub fn forbid_branches(&self, repository: &str, pattern: &str) -> anyhow::Result<()> {
        let forbid = |kind| self.add_rule(repository, (pattern, kind), Value::Null, false);
        ["creation", "update"].into_iter().try_for_each(forbid)
    }

    /// Adds a ruleset with one rule, by GitHub's name such as `required_signatures`; `bypass` exempts the App.
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
    pub fn archive(&self, repository: &str) -> anyhow::Result<()> {
        self.shared.change(|world| {
            world.require_repository_mut(repository)?.rules.archived = true;
            Ok(())
        })
    }

    /// Revokes one of the App's permissions, such as `checks`; existing tokens keep it.
    pub fn remove_permission(&self, name: &str) {
        self.shared.change(|world| world.app.permissions.remove(name));
    }
}

impl EmulatedCi<'_> {
    /// Starts a job.
    pub fn start_job(&self, sha: &str, name: &str) -> anyhow::Result<u64> {
        self.job(sha, name, None, "", Vec::new())
    }

    /// Fails a job with this output and these annotations. A job that has started is the one that ends.
    pub fn fail_job(
        &self,
        sha: &str,
        name: &str,
        log: &str,
        annotations: Vec<EmulatedAnnotation>,
    ) -> anyhow::Result<u64> {
        self.job(sha, name, Some(CheckConclusion::Failure), log, annotations)
    }

    /// Passes a job.
    pub fn pass_job(&self, sha: &str, name: &str) -> anyhow::Result<u64> {
        self.job(sha, name, Some(CheckConclusion::Success), "all good\n", Vec::new())
    }

    /// Ends a job with another conclusion.
    pub fn finish_job(&self, sha: &str, name: &str, conclusion: CheckConclusion) -> anyhow::Result<u64> {
        self.job(sha, name, Some(conclusion), "", Vec::new())
    }

    /// Sets a commit status like a CI system without an App: `error`, `failure`, `pending` or `success`.
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

/// Formats output like Actions: a byte order mark first, a time before each line, and cleanup lines at the end.
fn printed(log: &str) -> String {
    let now = clock::now().format("%Y-%m-%dT%H:%M:%S%.6f0Z").to_string();
    let lines = log.lines().chain(["Post job cleanup.", "Cleaning up orphan processes"]);
    let lines: String = lines.map(|line| format!("{now} {line}\r\n")).collect();
    format!("\u{feff}{lines}")
}
