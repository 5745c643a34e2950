//! What happens to merged pull requests, from deliveries that arrive anyway: reverts, and failing checks on the default
//! branch. It is for statistics only; no order reacts to it.
//!
//! May know: GitHub's payloads. Must never know: which pull requests are ours.
//!
//! Commit messages and pull request texts are claims of people who can push or open a pull request.
//! Comments and issues are not read.

use journeyman_order::bounds::MOST_LISTED;
use journeyman_order::{CommitSha, PullNumber, RepositoryId};

use super::events::OUR_CHECK;
use super::payload::{WebhookPayload, shorten};

/// The fewest hexadecimal digits that identify a commit.
const SHORTEST_SHA: usize = 7;
const REVERTS_COMMIT: &str = "This reverts commit ";
const REVERTS_PULL: &str = "Reverts ";

/// What a delivery says about merged pull requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeNews {
    pub repository: RepositoryId,
    pub facts: Vec<MergeFact>,
}

/// One event after a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeFact {
    Merged {
        pull: PullNumber,
        /// The resulting commit on its base.
        commit: Option<CommitSha>,
        head: Option<CommitSha>,
    },
    /// A commit on the default branch says that it reverts another one.
    CommitReverted {
        by: CommitSha,
        /// The reverted commit, possibly abbreviated.
        commit: String,
    },
    /// A pull request merged to the default branch says that it reverts another one.
    PullReverted { by: PullNumber, pull: PullNumber },
    /// A check failed on a commit of the default branch.
    CheckFailed { commit: CommitSha, check: String },
}

/// Reads a delivery with a valid signature. `None` if it says nothing about merges.
pub fn merge_news(event: &str, body: &[u8]) -> Option<MergeNews> {
    let read = match event {
        "push" => pushed,
        "pull_request" => merged,
        "check_suite" => |payload: &WebhookPayload| checked(payload, "check_suite"),
        "check_run" => |payload: &WebhookPayload| checked(payload, "check_run"),
        "workflow_run" => |payload: &WebhookPayload| checked(payload, "workflow_run"),
        "status" => reported,
        _ => return None,
    };
    let payload = WebhookPayload::parse(body).ok()?;
    let facts = read(&payload);
    let (_, repository) = payload.repository().ok()?;
    (!facts.is_empty()).then_some(MergeNews { repository, facts })
}

fn pushed(payload: &WebhookPayload) -> Vec<MergeFact> {
    let is_default = match payload.pushed_branch() {
        Ok(Some(branch)) => payload.default_branch().as_deref() == Some(branch),
        Ok(None) | Err(_) => false,
    };
    if !is_default {
        return Vec::new();
    }
    let claims = payload.pushed_commits().flat_map(|(by, message)| {
        let named = message.lines().filter_map(reverted_commit);
        named.map(move |commit| MergeFact::CommitReverted { by: by.clone(), commit })
    });
    claims.take(MOST_LISTED).collect()
}

/// Git writes this at the start of a line. GitHub's squash turns such lines into list items.
fn reverted_commit(line: &str) -> Option<String> {
    let line = line.trim_start();
    let said = line.strip_prefix("* ").unwrap_or(line).strip_prefix(REVERTS_COMMIT)?;
    let end = said.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(said.len());
    let sha = said.get(..end)?.to_ascii_lowercase();
    let is_sha = (SHORTEST_SHA..=40).contains(&sha.len()) && sha.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_sha.then_some(sha)
}

fn merged(payload: &WebhookPayload) -> Vec<MergeFact> {
    if payload.action() != Some("closed") || !payload.merged() {
        return Vec::new();
    }
    let Ok(pull) = payload.pull() else { return Vec::new() };
    // The resulting commit on its base.
    let commit = payload.sha("/pull_request/merge_commit_sha");
    let head = payload.sha("/pull_request/head/sha");
    let mut facts = vec![MergeFact::Merged { pull, commit, head }];
    if let (Some(base), Ok((name, _))) = (payload.text("/pull_request/base/ref"), payload.repository())
        && payload.default_branch().as_deref() == Some(base)
    {
        let text = payload.text("/pull_request/body").unwrap_or_default();
        let named = text.lines().filter_map(|line| reverted_pull(line, &name.to_string()));
        facts.extend(
            named.map(|reverted| MergeFact::PullReverted { by: pull, pull: reverted }).take(MOST_LISTED),
        );
    }
    facts
}

/// GitHub's revert button writes this.
fn reverted_pull(line: &str, repository: &str) -> Option<PullNumber> {
    let (named, number) = line.trim().strip_prefix(REVERTS_PULL)?.split_once('#')?;
    let number = number.strip_suffix('.').unwrap_or(number);
    let is_here = named.eq_ignore_ascii_case(repository) && number.bytes().all(|byte| byte.is_ascii_digit());
    let number = number.parse::<u64>().ok().filter(|number| i64::try_from(*number).is_ok())?;
    is_here.then_some(PullNumber(number))
}

fn checked(payload: &WebhookPayload, event: &str) -> Vec<MergeFact> {
    let conclusion = payload.text(&format!("/{event}/conclusion"));
    let is_failure = payload.action() == Some("completed")
        && matches!(conclusion, Some("failure" | "timed_out" | "startup_failure"));
    let default = payload.default_branch();
    if !is_failure || default.is_none() || payload.check_branch(event) != default.as_deref() {
        return Vec::new();
    }
    let Ok(check) = payload.check(event) else { return Vec::new() };
    if event == "check_run" && check.name == OUR_CHECK {
        return Vec::new();
    }
    let name = if check.name.is_empty() { "its checks" } else { check.name };
    vec![MergeFact::CheckFailed { commit: check.head, check: shorten(name) }]
}

fn reported(payload: &WebhookPayload) -> Vec<MergeFact> {
    let is_failure = matches!(payload.text("/state"), Some("failure" | "error"));
    let is_default = payload
        .default_branch()
        .is_some_and(|default| payload.status_branches().any(|branch| branch == default));
    let Some(commit) = payload.sha("/sha").filter(|_| is_failure && is_default) else { return Vec::new() };
    let check = shorten(payload.text("/context").unwrap_or_default());
    vec![MergeFact::CheckFailed { commit, check }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revert_is_read_where_git_and_github_write_it_and_nowhere_else() {
        let full = "0123456789abcdef0123456789abcdef01234567";
        for (line, reverted) in [
            (format!("This reverts commit {full}."), Some(full)),
            (format!("This reverts commit {full}, reversing"), Some(full)),
            ("This reverts commit 0123456.".to_owned(), Some("0123456")),
            ("This reverts commit 0123456 (Give the answer, 2026-01-01).".to_owned(), Some("0123456")),
            ("* This reverts commit 0123ABC.".to_owned(), Some("0123abc")),
            ("This reverts commit 012345.".to_owned(), None),
            (format!("This reverts commit {full}0."), None),
            ("This reverts commit 0123456%.".to_owned(), Some("0123456")),
            ("This reverts commit _______.".to_owned(), None),
            ("This reverts commit deadbeefs.".to_owned(), None),
            (format!("It says: This reverts commit {full}."), None),
            (format!("Reverts commit {full}."), None),
        ] {
            assert_eq!(reverted_commit(&line).as_deref(), reverted, "{line}");
        }
        for (line, reverted) in [
            ("Reverts octo-org/sums#12", Some(12)),
            ("Reverts Octo-Org/Sums#12.", Some(12)),
            ("Reverts octo-org/sums#", None),
            ("Reverts octo-org/sums#+12", None),
            ("Reverts octo-org/sums#99999999999999999999", None),
            ("Reverts octo-org/others#12", None),
            ("Reverts #12", None),
            ("It reverts octo-org/sums#12", None),
        ] {
            assert_eq!(reverted_pull(line, "octo-org/sums"), reverted.map(PullNumber), "{line}");
        }
    }

    #[test]
    fn only_what_is_on_the_default_branch_counts_and_no_comment() {
        let sha = "0123456789abcdef0123456789abcdef01234567";
        let told = |event: &str, mut payload: serde_json::Value| {
            payload["repository"] =
                serde_json::json!({"id": 99, "full_name": "octo-org/sums", "default_branch": "main"});
            merge_news(event, payload.to_string().as_bytes()).map_or_else(Vec::new, |news| news.facts)
        };
        let message = format!("Revert it\n\nThis reverts commit {sha}.");
        let push = |branch: &str| {
            let commits = serde_json::json!([{"id": "f".repeat(40), "message": message}]);
            told("push", serde_json::json!({"ref": format!("refs/heads/{branch}"), "commits": commits}))
        };
        let by: CommitSha = "f".repeat(40).parse().unwrap();
        assert_eq!(push("main"), [MergeFact::CommitReverted { by, commit: sha.to_owned() }]);
        assert_eq!(push("other"), []);

        let commit: CommitSha = sha.parse().unwrap();
        let failed =
            |check: &str| [MergeFact::CheckFailed { commit: commit.clone(), check: check.to_owned() }];
        let check = |name: &str, branch: &str, conclusion: &str| {
            let run = serde_json::json!({
                "head_sha": sha, "name": name, "conclusion": conclusion, "check_suite": {"head_branch": branch},
            });
            told("check_run", serde_json::json!({"action": "completed", "check_run": run}))
        };
        assert_eq!(check("build", "main", "failure"), failed("build"));
        for (name, branch, conclusion) in
            [("build", "other", "failure"), ("build", "main", "cancelled"), (OUR_CHECK, "main", "failure")]
        {
            assert_eq!(check(name, branch, conclusion), [], "{name} {branch} {conclusion}");
        }
        let status = |branch: &str, state: &str| {
            let branches = serde_json::json!([{"name": branch}]);
            told(
                "status",
                serde_json::json!({"sha": sha, "state": state, "context": "ci", "branches": branches}),
            )
        };
        assert_eq!(status("main", "error"), failed("ci"));
        assert_eq!((status("main", "pending"), status("other", "error")), (Vec::new(), Vec::new()));

        let merged = |base: &str, merged: bool| {
            let pull = serde_json::json!({
                "number": 5, "merged": merged, "merge_commit_sha": sha, "base": {"ref": base},
                "body": "Reverts octo-org/sums#4",
            });
            told("pull_request", serde_json::json!({"action": "closed", "pull_request": pull}))
        };
        let (pull, head) = (PullNumber(5), None);
        let merge = MergeFact::Merged { pull, commit: Some(commit.clone()), head };
        let revert = MergeFact::PullReverted { by: pull, pull: PullNumber(4) };
        assert_eq!(merged("main", true), [merge.clone(), revert]);
        assert_eq!(merged("release", true), [merge]);
        assert_eq!(merged("main", false), []);
        let comment = serde_json::json!({"action": "created", "comment": {"id": 1, "body": message}});
        assert_eq!(told("issue_comment", comment), []);
    }
}
