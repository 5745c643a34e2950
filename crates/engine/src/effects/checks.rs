//! Our check run on a commit, and the results of others' checks on it.

use std::collections::BTreeSet;

use super::job_log;
use super::{EffectContext, EffectResult};
use journeyman_github::{
    CheckButton, ErrorKind, ExternalCheck, ExternalCheckState, InstalledRepository, OrderCheckRun,
};
use journeyman_order::bounds::MOST_NAMED;
use journeyman_order::conversation::{CheckRunState, ChecksSnapshot, FailingJob};
use journeyman_order::moves::AgentTask;
use journeyman_order::{CommitSha, EffectError, EffectOutcome};
use journeyman_render::order_page;

const MOST_LOOKED_INTO: usize = 10;

impl EffectContext {
    pub(super) async fn show_check(&self, head: &CommitSha, state: CheckRunState) -> EffectResult {
        let at = self.at().await?;
        let text = journeyman_render::check(&self.journal, &self.projection, head, state);
        // The buttons belong on the commit that replaced this one.
        let (shown, is_current) = (self.projection.surfaces(), state != CheckRunState::Superseded);
        let retry = (is_current && shown.can_be_retried).then_some(CheckButton::Retry);
        let approve = (is_current && shown.can_be_approved).then_some(CheckButton::Approve);
        let buttons: Vec<CheckButton> = retry.into_iter().chain(approve).collect();
        let url = self.parts.settings.public_url.as_ref();
        let details = url.and_then(|url| url::Url::parse(&order_page(url, self.order)).ok());
        let details = details.as_ref();
        let run = OrderCheckRun { head, order: self.order, state, text: &text, details, buttons: &buttons };
        self.parts.github.show_check(&at, run).await?;
        Ok(EffectOutcome::Done)
    }

    /// The state of others' checks on a commit. What also fails on the base branch is listed separately.
    pub(super) async fn read_checks(
        &self,
        at: &InstalledRepository,
        head: &CommitSha,
    ) -> Result<ChecksSnapshot, EffectError> {
        let all = self.parts.github.checks_of_others(at, head.as_str()).await?;
        let mut reading = ChecksSnapshot::default();
        let mut failing = Vec::new();
        for check in all {
            match check.state {
                ExternalCheckState::Passed => reading.passed += 1,
                ExternalCheckState::Pending => reading.pending.push(check.name),
                ExternalCheckState::Failed => failing.push(check),
            }
        }
        if failing.is_empty() {
            return Ok(reading);
        }
        let known = self.failing_on_base(at).await?;
        let (old, new): (Vec<_>, Vec<_>) = failing.into_iter().partition(|check| known.contains(&check.name));
        reading.failing_on_base = old.into_iter().map(|check| check.name).collect();
        for (place, check) in new.into_iter().enumerate() {
            reading.failing.push(self.look_into(at, check, place < MOST_LOOKED_INTO).await);
        }
        Ok(reading)
    }

    /// Checks that fail on the commit where the work starts, or on the base branch now: CI tests both together.
    async fn failing_on_base(&self, at: &InstalledRepository) -> Result<BTreeSet<String>, EffectError> {
        let base = self.projection.trace.base.clone().map_or_else(|| self.base(), Ok)?;
        let mut names = BTreeSet::new();
        for place in [base.as_str(), &self.base_branch()] {
            match self.parts.github.checks_of_others(at, place).await {
                Ok(checks) => {
                    let failed = checks.into_iter().filter(|check| check.state == ExternalCheckState::Failed);
                    names.extend(failed.map(|check| check.name));
                }
                // The branch was renamed or history rewritten, so its checks are unknown.
                Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::Invalid) => {
                    tracing::info!(order = %self.order, %error, "the base's checks are not known");
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(names)
    }

    /// What a failing check reports. What GitHub does not tell about it is left out.
    async fn look_into(&self, at: &InstalledRepository, check: ExternalCheck, deeply: bool) -> FailingJob {
        let github = &self.parts.github;
        let mut job = FailingJob {
            name: check.name,
            job: check.job,
            url: check.url,
            summary: self.without_secrets(&check.summary),
            ..FailingJob::default()
        };
        if !deeply {
            return job;
        }
        if let Some(id) = check.check_run.filter(|_| check.has_annotations) {
            match github.annotations(at, id, MOST_NAMED).await {
                Ok(told) => job.annotations = told.iter().map(|text| self.without_secrets(text)).collect(),
                Err(error) => tracing::info!(order = %self.order, %error, "annotations were not read"),
            }
        }
        if let Some(id) = check.job {
            match github.job_log(at, id).await {
                Ok(log) => job.log = job_log::end_of(&self.without_our_keys(&log.unwrap_or_default())),
                Err(error) => tracing::info!(order = %self.order, %error, "a job's log was not read"),
            }
        }
        job
    }

    pub(super) fn without_secrets(&self, text: &str) -> String {
        job_log::redacted(&self.without_our_keys(text))
    }

    /// CI may use the same keys as our agents.
    fn without_our_keys(&self, text: &str) -> String {
        let agents = &self.parts.agents;
        let runtimes = agents.names().filter_map(|name| agents.get(name).ok());
        runtimes.fold(text.to_owned(), |text, runtime| self.redaction(runtime, &AgentTask::default())(&text))
    }

    /// Reruns failing jobs. Does nothing if that is not allowed or they are gone.
    pub(super) async fn rerun_jobs(&self, jobs: &[u64]) -> EffectResult {
        let at = self.at().await?;
        let begun = self.parts.github.rerun_jobs(&at, jobs).await?;
        tracing::info!(order = %self.order, asked = jobs.len(), begun, "jobs are to run once more");
        Ok(EffectOutcome::Done)
    }
}
