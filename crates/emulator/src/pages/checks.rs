//! The checks on a pull request's head, for its page.

use super::markdown;
use super::parts::CheckPart;
use crate::state::EmulatedRepository;
use crate::state::checks::{CheckConclusion, CheckRunMaker, CheckRunProgress, EmulatedCheckRun};

/// The newest of each name, the App's own first; then commit statuses.
pub(crate) fn check_parts(repository: &EmulatedRepository, sha: &str) -> Vec<CheckPart> {
    let suites = repository.checks.suites.iter().filter(|suite| suite.head_sha == sha);
    let mut runs: Vec<&EmulatedCheckRun> = suites.flat_map(|suite| repository.checks.latest(suite)).collect();
    runs.sort_by_key(|run| (run.maker != CheckRunMaker::App, run.id));
    let runs = runs.into_iter().map(|run| {
        let summary = run.output.summary.as_deref().unwrap_or_default();
        CheckPart {
            by_app: run.maker == CheckRunMaker::App,
            name: run.name.clone(),
            mark: mark(run.progress),
            word: run
                .progress
                .conclusion()
                .map_or(run.progress.status(), CheckConclusion::as_str)
                .replace('_', " "),
            title: run.output.title.clone().unwrap_or_default(),
            html: markdown::render(summary, &repository.full_name),
            annotations: run.output.annotations.clone(),
        }
    });
    let statuses = repository.checks.statuses_of(sha).into_iter().map(|status| CheckPart {
        by_app: false,
        name: status.context.clone(),
        mark: match status.state.as_str() {
            "success" => "✓",
            "pending" => "●",
            _ => "✗",
        },
        word: status.state.clone(),
        title: status.description.clone().unwrap_or_default(),
        html: String::new(),
        annotations: Vec::new(),
    });
    runs.chain(statuses).collect()
}

fn mark(progress: CheckRunProgress) -> &'static str {
    match progress {
        CheckRunProgress::Queued | CheckRunProgress::Running => "●",
        CheckRunProgress::Completed(CheckConclusion::Success) => "✓",
        CheckRunProgress::Completed(
            CheckConclusion::Neutral | CheckConclusion::Skipped | CheckConclusion::Cancelled,
        ) => "○",
        CheckRunProgress::Completed(CheckConclusion::ActionRequired) => "!",
        CheckRunProgress::Completed(CheckConclusion::Failure | CheckConclusion::TimedOut) => "✗",
    }
}
