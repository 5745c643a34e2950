//! The stages around the work: a name for the branch, the push, the pull request, the end of its draft.

use super::feedback::{Category, Feedback};
use super::ids::{BranchName, CommitSha};
use super::journal::Event;
use super::moves::{Move, MoveKey, Outcome};
use super::pipeline::Stage;
use super::rounds::{Judged, Rounds};
use super::settlement::Settlement;
use super::trace::{PullTrace, StageState, Standing, Work};
use super::walk::{Halt, Walk};

/// How many names are tried when branches of the wished name exist.
const MOST_NAMES: u32 = 20;

impl Walk<'_> {
    /// The agent names the branch; whatever it answers is made safe, and there is always a name.
    pub(super) fn branch_stage(&mut self, stage: &Stage) -> Result<(), Halt> {
        let issue = self.journal.opened().issue.number;
        let title = self.journal.opened().issue.title.clone();
        let worker = self.worker(stage, &stage.name)?;
        let named = self.rounds(&worker, |_, _, run| {
            let line = run.result.as_deref().unwrap_or_default().trim();
            let words = line.split_whitespace().count();
            Ok(if words == 1 && line.len() <= 120 && line.chars().any(|c| c.is_ascii_alphanumeric()) {
                Judged::Passed(BranchName::for_issue(issue, line, 1))
            } else {
                Judged::invalid_output(
                    Feedback::failed(Category::InvalidOutput, "the answer is no name for a branch").suggest(
                        "Answer with three to six lower-case words joined by hyphens and nothing else.",
                    ),
                )
            })
        })?;
        let branch = match named {
            Rounds::Passed(branch) => branch,
            Rounds::Exhausted { because } => {
                self.trace.note(format!("The branch was named after the issue's title: {because}."));
                BranchName::for_issue(issue, &title, 1)
            }
        };
        self.variables.insert(format!("{}.name", stage.name), branch.to_string());
        self.trace.branch = Some(branch);
        Ok(())
    }

    /// Push, ask the remote, open the draft.
    pub(super) fn publish_stage(&mut self, stage: &Stage) -> Result<(), Halt> {
        let (Some(work), Some(branch)) = (self.trace.work.clone(), self.trace.branch.clone()) else {
            let because = format!("stage {}: there is no commit to publish", stage.name);
            return Err(Halt::Settled(Settlement::Failed { because }));
        };
        let branch = self.push(stage, &work, &branch)?;
        let (title, summary) = self.pull_text(stage, &work)?;

        let key = MoveKey(format!("{}/pull", stage.name));
        let open = Move::OpenPull { branch, title: title.clone(), summary: summary.clone() };
        let seen = self.observe(&key, |_| open)?;
        let Outcome::PullOpened { number, url } = seen.outcome else { return Err(self.mismatch(&key)) };
        self.variables.insert(format!("{}.url", stage.name), url.clone());
        self.trace.pull = Some(PullTrace { number: *number, url: url.clone(), summary, title, ready: false });
        Ok(())
    }

    /// The branch under which the commit is on the remote.
    #[expect(clippy::wildcard_enum_match_arm, reason = "any other outcome is of another move")]
    fn push(&mut self, stage: &Stage, work: &Work, wished: &BranchName) -> Result<BranchName, Halt> {
        let issue = self.journal.opened().issue.number;
        let before = self.last_pushed(&work.commit);
        let slug = wished.as_str().to_owned();
        for again in 1..=MOST_NAMES {
            let branch = match &before {
                Some((branch, _)) => branch.clone(),
                None => BranchName::for_issue(issue, slug.trim_start_matches("journeyman/"), again),
            };
            let key = MoveKey(format!("{}/{}/push-{again}", stage.name, work.commit.short()));
            let lease = before.as_ref().map(|(_, commit)| commit.clone());
            let push = Move::Push { branch: branch.clone(), commit: work.commit.clone(), lease };
            match self.observe(&key, |_| push)?.outcome {
                Outcome::Pushed => {
                    self.trace.branch = Some(branch.clone());
                    self.trace.pushed = Some(work.commit.clone());
                    return Ok(branch);
                }
                // A person may have made room before they said `/retry`.
                Outcome::BranchTaken { .. } if self.heard.retry_after(self.last_seen()).is_some() => {}
                Outcome::BranchTaken { at } if before.is_some() => {
                    let at = at.as_ref().map_or("gone", CommitSha::short);
                    let because = format!(
                        "{branch} was changed by somebody else (it is {at}); Journeyman does not overwrite that"
                    );
                    let pull = match self.seen(&MoveKey(format!("{}/pull", stage.name))) {
                        Some(Outcome::PullOpened { number, .. }) => Some(*number),
                        Some(_) | None => None,
                    };
                    return Err(Halt::Settled(Settlement::Escalated { pull, because }));
                }
                Outcome::BranchTaken { .. } => {}
                _ => return Err(self.mismatch(&key)),
            }
        }
        let because =
            format!("{MOST_NAMES} branches of the name {wished} exist; delete those that are done with");
        Err(Halt::Settled(Settlement::Failed { because }))
    }

    /// The branch and the commit that we pushed last, other than this commit.
    fn last_pushed(&self, commit: &CommitSha) -> Option<(BranchName, CommitSha)> {
        let mut last = None;
        let mut intended: Option<(&MoveKey, &BranchName, &CommitSha)> = None;
        for entry in self.entries {
            match &entry.event {
                Event::Intended { key, r#move } => {
                    if let Move::Push { branch, commit, .. } = &**r#move {
                        intended = Some((key, branch, commit));
                    }
                }
                Event::Observed { key, outcome } => {
                    if let (Some((pushing, branch, pushed)), Outcome::Pushed) = (intended, &**outcome)
                        && pushing == key
                        && pushed != commit
                    {
                        last = Some((branch.clone(), pushed.clone()));
                    }
                }
                Event::Opened(_) | Event::Signaled { .. } => {}
            }
        }
        last
    }

    /// Title and text: the agent's, or the issue's own title when it has none to offer.
    fn pull_text(&mut self, stage: &Stage, work: &Work) -> Result<(String, String), Halt> {
        let worker = self.worker(stage, &format!("{}/{}/text", stage.name, work.commit.short()))?;
        let written = self.rounds(&worker, |_, _, run| {
            let text = run.result.as_deref().unwrap_or_default().trim();
            let (title, summary) = text.split_once('\n').unwrap_or((text, ""));
            let title = title.trim().trim_start_matches(['#', '*', ' ']).trim_end_matches(['*', ' ']);
            let summary = summary.trim();
            let fits = (5..=200).contains(&title.chars().count()) && !summary.is_empty();
            Ok(if fits {
                Judged::Passed((title.to_owned(), summary.to_owned()))
            } else {
                Judged::invalid_output(
                    Feedback::failed(
                        Category::InvalidOutput,
                        "the answer is no title and text of a pull request",
                    )
                    .suggest("Answer with the title on the first line, an empty line, then the text."),
                )
            })
        })?;
        Ok(match written {
            Rounds::Passed(text) => text,
            Rounds::Exhausted { because } => {
                self.trace.note(format!("The pull request was named after the issue: {because}."));
                let title = self.journal.opened().issue.title.trim();
                let title: String = title.chars().take(200).collect();
                let title =
                    if title.is_empty() { "Change for an issue without a title".to_owned() } else { title };
                (title, String::new())
            }
        })
    }

    /// The text is brought up to date; what is verified leaves its draft.
    pub(super) fn ready_stage(&mut self, stage: &Stage) -> Result<StageState, Halt> {
        let (Some(pull), Some(work)) = (self.trace.pull.clone(), self.trace.work.clone()) else {
            let because = format!("stage {}: there is no pull request", stage.name);
            return Err(Halt::Settled(Settlement::Failed { because }));
        };
        let ready = match work.standing {
            Standing::Verified => true,
            Standing::Unverified { .. } | Standing::NotVerified { .. } => false,
        };
        let key = MoveKey(format!("{}/{}/finish", stage.name, work.commit.short()));
        let finish = Move::FinishPull {
            pull: pull.number,
            title: pull.title.clone(),
            summary: pull.summary.clone(),
            ready,
        };
        let seen = self.observe(&key, |_| finish)?;
        if !matches!(seen.outcome, Outcome::PullFinished) {
            return Err(self.mismatch(&key));
        }
        self.trace.pull = Some(PullTrace { ready, ..pull });
        // A draft that is handed over is finished, but it is not ready.
        Ok(if ready { StageState::Passed } else { StageState::Failed })
    }
}
