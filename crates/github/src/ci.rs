//! External checks on a commit: check runs that are not ours, commit statuses, the output of failing jobs, and
//! re-running jobs.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::endpoints::InstalledRepository;
use super::error::{ErrorKind, GitHubError, Result};
use super::gate::WritePriority;
use super::identity::AppWire;
use super::permissions::TokenPermissions;
use super::queries::percent_encoded;
use super::service::{GitHub, PAGE, pages};
use super::transport::GitHubRequest;
use journeyman_order::bounds::{LONGEST_LINE, LONGEST_MESSAGE};
use journeyman_order::length::shorten;

/// Limit on the pages of a list.
const MOST_PAGES: u32 = 10;

/// An external check: a check run or a commit status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalCheck {
    /// Its name, or a status's context. Untrusted.
    pub name: String,
    pub state: ExternalCheckState,
    /// The check run's id; `None` for a commit status.
    pub check_run: Option<u64>,
    /// The job's id, if it is a job of GitHub Actions.
    pub job: Option<u64>,
    pub url: String,
    /// Its own description. Untrusted.
    pub summary: String,
    pub has_annotations: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExternalCheckState {
    /// Passed, or irrelevant: skipped, neutral, cancelled.
    Passed,
    /// Not finished, or waiting for a person.
    Pending,
    Failed,
}

#[derive(Deserialize)]
struct ExternalCheckRunWire {
    id: u64,
    name: String,
    status: String,
    conclusion: Option<String>,
    details_url: Option<String>,
    html_url: Option<String>,
    output: Option<ExternalCheckOutputWire>,
    app: Option<AppWire>,
}

#[derive(Deserialize)]
struct ExternalCheckOutputWire {
    title: Option<String>,
    summary: Option<String>,
    #[serde(default)]
    annotations_count: u64,
}

#[derive(Deserialize)]
struct CommitStatusWire {
    context: String,
    state: String,
    description: Option<String>,
    target_url: Option<String>,
}

#[derive(Deserialize)]
struct ExternalAnnotationWire {
    path: Option<String>,
    start_line: Option<u64>,
    message: Option<String>,
}

impl ExternalCheckRunWire {
    fn state(&self) -> ExternalCheckState {
        match (self.status.as_str(), self.conclusion.as_deref()) {
            // The work cannot fix a check that waits for a person's click.
            ("completed", Some("action_required")) => ExternalCheckState::Pending,
            ("completed", Some("failure" | "timed_out" | "startup_failure")) => ExternalCheckState::Failed,
            ("completed", _) => ExternalCheckState::Passed,
            _ => ExternalCheckState::Pending,
        }
    }

    fn read(self) -> ExternalCheck {
        let standing = self.state();
        let is_job = self.app.as_ref().and_then(|app| app.slug.as_deref()) == Some("github-actions");
        let page = self.details_url.or(self.html_url).unwrap_or_default();
        // A job's check run has the job's id; its page's address contains it as well.
        let job = is_job.then(|| job_of(&page).unwrap_or(self.id));
        let output = self.output.as_ref();
        let said =
            output.map(|one| [&one.title, &one.summary].map(|text| text.as_deref().unwrap_or_default()));
        ExternalCheck {
            name: line(&self.name, LONGEST_LINE),
            state: standing,
            check_run: Some(self.id),
            job,
            url: line(&page, 500),
            summary: said.map(|said| line(&said.join(" "), LONGEST_MESSAGE)).unwrap_or_default(),
            has_annotations: output.is_some_and(|one| one.annotations_count > 0),
        }
    }
}

impl CommitStatusWire {
    fn read(self) -> ExternalCheck {
        ExternalCheck {
            name: line(&self.context, LONGEST_LINE),
            state: match self.state.as_str() {
                "failure" | "error" => ExternalCheckState::Failed,
                "success" => ExternalCheckState::Passed,
                _ => ExternalCheckState::Pending,
            },
            check_run: None,
            job: None,
            url: line(&self.target_url.unwrap_or_default(), 500),
            summary: line(&self.description.unwrap_or_default(), LONGEST_MESSAGE),
            has_annotations: false,
        }
    }
}

/// `…/actions/runs/1/job/2` is job 2.
fn job_of(page: &str) -> Option<u64> {
    let (_, after) = page.rsplit_once("/job/")?;
    after.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The text on one line, shortened to this length.
fn line(text: &str, most: usize) -> String {
    let beginning: String = text.chars().take(4 * most).collect();
    let words: Vec<&str> = beginning.split(|c: char| c.is_whitespace() || c.is_control()).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    shorten(&words.join(" "), most)
}

impl GitHub {
    /// The newest external check of each name on a commit or a branch's head. Checks that the App may not read are left
    /// out.
    pub async fn checks_of_others(
        &self,
        at: &InstalledRepository,
        git_ref: &str,
    ) -> Result<Vec<ExternalCheck>> {
        let git_ref = percent_encoded(git_ref);
        let runs = format!("/commits/{git_ref}/check-runs?filter=latest&");
        let runs: Vec<ExternalCheckRunWire> =
            self.list_within(at, TokenPermissions::ReadChecks, &runs, "check_runs").await?;
        let mut newest: BTreeMap<(u64, String), ExternalCheckRunWire> = BTreeMap::new();
        for run in runs {
            let app = run.app.as_ref().map_or(0, |app| app.id);
            if app == self.0.app_id {
                continue;
            }
            let key = (app, run.name.clone());
            if newest.get(&key).is_none_or(|known| known.id < run.id) {
                newest.insert(key, run);
            }
        }
        let statuses = format!("/commits/{git_ref}/status?");
        let statuses: Vec<CommitStatusWire> =
            self.list_within(at, TokenPermissions::ReadStatuses, &statuses, "statuses").await?;
        Ok(newest
            .into_values()
            .map(ExternalCheckRunWire::read)
            .chain(statuses.into_iter().map(CommitStatusWire::read))
            .collect())
    }

    /// A list in a field of an object; empty if the App may not read it. `route` ends with `?` or `&`.
    async fn list_within<T: DeserializeOwned>(
        &self,
        at: &InstalledRepository,
        permissions: TokenPermissions,
        route: &str,
        field: &str,
    ) -> Result<Vec<T>> {
        let all = pages(MOST_PAGES, |page| async move {
            let request = GitHubRequest::get(at.route(&format!("{route}per_page={PAGE}&page={page}")));
            let answer = self.call(at, permissions, &request).await?;
            let mut object: serde_json::Map<String, serde_json::Value> = answer.json()?;
            let list = object.remove(field).unwrap_or_default();
            let list: Vec<T> = serde_json::from_value(list).map_err(|error| {
                GitHubError::unexpected(format!(
                    "GitHub's list of {field} is not what is documented ({error})"
                ))
            })?;
            Ok((list, answer.has_next))
        });
        match all.await {
            Err(error) if error.is_forbidden() => {
                tracing::info!(repository = %at.repository, %error, "not read");
                Ok(Vec::new())
            }
            read => Ok(read?.0),
        }
    }

    /// The first annotations of a check run, as `path:line: message`.
    pub async fn annotations(
        &self,
        at: &InstalledRepository,
        check_run: u64,
        most: usize,
    ) -> Result<Vec<String>> {
        let most = most.min(PAGE);
        let route = format!("/check-runs/{check_run}/annotations?per_page={most}");
        let list: Vec<ExternalAnnotationWire> = self.read(at, TokenPermissions::ReadChecks, &route).await?;
        let told = |one: ExternalAnnotationWire| {
            let (path, message) = (one.path.unwrap_or_default(), one.message.unwrap_or_default());
            let place = one.start_line.map_or(path.clone(), |line| format!("{path}:{line}"));
            line(&format!("{place}: {message}"), LONGEST_MESSAGE)
        };
        Ok(list.into_iter().take(most).map(told).collect())
    }

    /// Re-runs jobs of GitHub Actions; returns how many workflow runs restarted. Runs that restarted already or are in
    /// progress are skipped, so that a repeat is harmless.
    pub async fn rerun_jobs(&self, at: &InstalledRepository, jobs: &[u64]) -> Result<usize> {
        let _turn = self.turn(&format!("rerun {at:?}")).await;
        let mut of_run: BTreeMap<u64, Vec<JobWire>> = BTreeMap::new();
        for job in jobs {
            if let Some(wire) = self.read_or_left::<JobWire>(at, &format!("/actions/jobs/{job}")).await? {
                of_run.entry(wire.run_id).or_default().push(wire);
            }
        }
        let mut begun = 0;
        for (run, jobs) in of_run {
            let Some(now) = self.read_or_left::<WorkflowRunWire>(at, &format!("/actions/runs/{run}")).await?
            else {
                continue;
            };
            if jobs.iter().any(|job| now.run_attempt > job.run_attempt) {
                continue;
            }
            // A run can re-run only one job by id: for a second one it would already be in progress.
            let route = match jobs.as_slice() {
                [job] => format!("/actions/jobs/{}/rerun", job.id),
                _ => format!("/actions/runs/{run}/rerun-failed-jobs"),
            };
            let request = GitHubRequest::post(at.route(&route), json!({})).yielding(WritePriority::Ordinary);
            match self.call(at, TokenPermissions::WriteActions, &request).await {
                Ok(_) => begun += 1,
                Err(error) if is_left(&error) => {
                    tracing::warn!(repository = %at.repository, run, %error, "jobs could not be run once more");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(begun)
    }

    async fn read_or_left<T: DeserializeOwned>(
        &self,
        at: &InstalledRepository,
        route: &str,
    ) -> Result<Option<T>> {
        match self.read(at, TokenPermissions::ReadActions, route).await {
            Ok(read) => Ok(Some(read)),
            Err(error) if is_left(&error) => {
                tracing::warn!(repository = %at.repository, %error, "not known, and not run once more");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

fn is_left(error: &GitHubError) -> bool {
    error.is_forbidden()
        || matches!(error.kind, ErrorKind::NotFound | ErrorKind::Invalid | ErrorKind::Conflict)
}

#[derive(Deserialize)]
struct JobWire {
    id: u64,
    run_id: u64,
    #[serde(default)]
    run_attempt: u64,
}

#[derive(Deserialize)]
struct WorkflowRunWire {
    #[serde(default)]
    run_attempt: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_conclusion_stands_somewhere() {
        for (status, conclusion, expected) in [
            ("queued", None, ExternalCheckState::Pending),
            ("in_progress", None, ExternalCheckState::Pending),
            ("waiting", None, ExternalCheckState::Pending),
            ("completed", Some("success"), ExternalCheckState::Passed),
            ("completed", Some("neutral"), ExternalCheckState::Passed),
            ("completed", Some("skipped"), ExternalCheckState::Passed),
            ("completed", Some("cancelled"), ExternalCheckState::Passed),
            ("completed", Some("stale"), ExternalCheckState::Passed),
            ("completed", Some("failure"), ExternalCheckState::Failed),
            ("completed", Some("timed_out"), ExternalCheckState::Failed),
            ("completed", Some("startup_failure"), ExternalCheckState::Failed),
            ("completed", Some("action_required"), ExternalCheckState::Pending),
        ] {
            let wire = json!({"id": 1, "name": "x", "status": status, "conclusion": conclusion});
            let run: ExternalCheckRunWire = serde_json::from_value(wire).unwrap();
            assert_eq!(run.state(), expected, "{status} {conclusion:?}");
        }
    }

    #[test]
    fn a_jobs_id_is_told_by_its_page() {
        assert_eq!(job_of("https://github.com/o/r/actions/runs/12/job/345?pr=6"), Some(345));
        assert_eq!(job_of("https://ci.example.org/builds/9"), None);
        assert_eq!(job_of("https://github.com/o/r/actions/runs/12/job/"), None);
    }

    #[test]
    fn foreign_text_is_one_line_of_limited_length() {
        assert_eq!(line(" a\n\tb\u{0}c  d ", 10), "a b c d");
        assert_eq!(line(&"x".repeat(50), 10), format!("{}…", "x".repeat(9)));
    }
}
