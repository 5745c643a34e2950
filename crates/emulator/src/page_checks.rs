//! The checks on a pull request's head, for its page.

use super::checks::{CheckRun, Conclusion, Maker, Progress};
use super::markdown;
use super::page_parts::CheckPart;
use super::state::Repository;

/// The newest of each name, the App's own first; then commit statuses.
pub(crate) fn check_parts(repository: &Repository, sha: &str) -> Vec<CheckPart> {
    let suites = repository.checks.suites.iter().filter(|suite| suite.head_sha == sha);
    let mut runs: Vec<&CheckRun> = suites.flat_map(|suite| repository.checks.latest(suite)).collect();
    runs.sort_by_key(|run| (run.maker != Maker::App, run.id));
    let runs = runs.into_iter().map(|run| {
        let summary = run.output.summary.as_deref().unwrap_or_default();
        CheckPart {
            id: run.id,
            by_app: run.maker == Maker::App,
            name: run.name.clone(),
            mark: mark(run.progress),
            word: run
                .progress
                .conclusion()
                .map_or(run.progress.status(), Conclusion::as_str)
                .replace('_', " "),
            title: run.output.title.clone().unwrap_or_default(),
            html: markdown::render(summary, &repository.full_name),
            annotations: run.output.annotations.clone(),
            actions: run.actions.clone(),
        }
    });
    let statuses = repository.checks.statuses_of(sha).into_iter().map(|status| CheckPart {
        id: status.id,
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
        actions: Vec::new(),
    });
    runs.chain(statuses).collect()
}

fn mark(progress: Progress) -> &'static str {
    match progress {
        Progress::Queued | Progress::Running => "●",
        Progress::Completed(Conclusion::Success) => "✓",
        Progress::Completed(Conclusion::Neutral | Conclusion::Skipped | Conclusion::Cancelled) => "○",
        Progress::Completed(Conclusion::ActionRequired) => "!",
        Progress::Completed(Conclusion::Failure | Conclusion::TimedOut) => "✗",
    }
}
