//! What people and the App can do to issues, and to pull requests as issues. Each act changes the state and queues its
//! events.

pub(crate) mod checks;
mod merge_queue;
pub(crate) mod pulls;
pub(crate) mod reviews;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;

use crate::clock;
use crate::json::label_json;
use crate::reply::{ActResult, EmulatedApiError};
use crate::state::{
    EmulatedComment, EmulatedIssue, EmulatedIssueState, EmulatedLabel, EmulatedReaction, EmulatedRepository,
    EmulatorState, REACTIONS,
};

/// The longest text of an issue, a pull request or a comment, in characters.
const LONGEST_BODY: usize = 65_536;

/// Changes to an issue or pull request; `None` keeps a field as it is.
pub(crate) struct IssueEdit {
    pub title: Option<String>,
    pub body: Option<String>,
}

fn check_body(resource: &str, body: &str) -> ActResult<()> {
    if body.chars().count() > LONGEST_BODY {
        return Err(EmulatedApiError::custom(
            resource,
            format!("body is too long (maximum is {LONGEST_BODY} characters)"),
        ));
    }
    Ok(())
}

/// A comment must not be empty.
fn check_words(resource: &str, body: &str) -> ActResult<()> {
    if body.trim().is_empty() {
        return Err(EmulatedApiError::invalid(resource, "body", "missing_field"));
    }
    check_body(resource, body)
}

impl EmulatedIssue {
    /// GitHub's times are in whole seconds. Tests act faster, so each change advances the time by at least one.
    fn changed(&mut self) {
        self.updated_at = clock::now().max(self.updated_at + TimeDelta::seconds(1));
    }

    /// Applies the time of a comment.
    fn remarked(&mut self, at: DateTime<Utc>) {
        self.updated_at = self.updated_at.max(at);
    }
}

impl EmulatorState {
    pub(crate) fn require_repository(&self, repository: &str) -> ActResult<&EmulatedRepository> {
        self.repository(repository).ok_or_else(EmulatedApiError::not_found)
    }

    pub(crate) fn require_repository_mut(&mut self, repository: &str) -> ActResult<&mut EmulatedRepository> {
        self.repository_mut(repository).ok_or_else(EmulatedApiError::not_found)
    }

    pub(crate) fn thread(&self, repository: &str, number: u64) -> ActResult<&EmulatedIssue> {
        let found = self.require_repository(repository)?;
        found.threads.get(&number).ok_or_else(EmulatedApiError::not_found)
    }

    pub(crate) fn thread_mut(&mut self, repository: &str, number: u64) -> ActResult<&mut EmulatedIssue> {
        let found = self.require_repository_mut(repository)?;
        found.threads.get_mut(&number).ok_or_else(EmulatedApiError::not_found)
    }

    pub(crate) fn add_thread(
        &mut self,
        repository: &str,
        author: u64,
        title: &str,
        body: &str,
    ) -> ActResult<u64> {
        let kind = "Issue";
        if title.trim().is_empty() {
            return Err(EmulatedApiError::invalid(kind, "title", "missing_field"));
        }
        check_body(kind, body)?;
        let (id, now) = (self.new_id(), clock::now());
        let found = self.require_repository_mut(repository)?;
        let number = found.threads.keys().max().map_or(1, |last| last + 1);
        let thread = EmulatedIssue {
            id,
            number,
            author,
            title: title.to_owned(),
            body: body.to_owned(),
            state: EmulatedIssueState::Open,
            labels: Vec::new(),
            comments: Vec::new(),
            created_at: now,
            updated_at: now,
            events: Vec::new(),
            pull: None,
        };
        found.threads.insert(number, thread);
        Ok(number)
    }

    pub(crate) fn open_issue(
        &mut self,
        repository: &str,
        author: u64,
        title: &str,
        body: &str,
    ) -> ActResult<u64> {
        let number = self.add_thread(repository, author, title, body)?;
        self.emit_thread(repository, number, "opened", author, json!({}));
        Ok(number)
    }

    /// Adds labels. As on GitHub, the repository gets those that are missing.
    pub(crate) fn add_labels(
        &mut self,
        repository: &str,
        number: u64,
        names: &[String],
        by: u64,
    ) -> ActResult<()> {
        self.thread(repository, number)?;
        for wanted in names {
            let name = self.ensure_label(repository, wanted)?;
            let thread = self.thread_mut(repository, number)?;
            if thread.labels.contains(&name) {
                continue;
            }
            thread.labels.push(name.clone());
            thread.changed();
            self.emit_labeled(repository, number, &name, "labeled", by);
        }
        Ok(())
    }

    pub(crate) fn remove_label(
        &mut self,
        repository: &str,
        number: u64,
        name: &str,
        by: u64,
    ) -> ActResult<()> {
        let thread = self.thread_mut(repository, number)?;
        let at = thread.labels.iter().position(|one| one.eq_ignore_ascii_case(name));
        let Some(at) = at else { return Err(EmulatedApiError::new(404, "Label does not exist")) };
        let name = thread.labels.remove(at);
        thread.changed();
        self.emit_labeled(repository, number, &name, "unlabeled", by);
        Ok(())
    }

    fn emit_labeled(&mut self, repository: &str, number: u64, name: &str, action: &str, by: u64) {
        let Some(found) = self.repository(repository) else { return };
        let Some(label) = found.labels.iter().find(|label| label.name == name) else { return };
        let more = json!({"label": label_json(label)});
        self.emit_thread(repository, number, action, by, more);
    }

    fn ensure_label(&mut self, repository: &str, name: &str) -> ActResult<String> {
        let same = |label: &&EmulatedLabel| label.name.eq_ignore_ascii_case(name);
        if let Some(label) = self.require_repository(repository)?.labels.iter().find(same) {
            return Ok(label.name.clone());
        }
        self.create_label(repository, name, "ededed")?;
        Ok(name.to_owned())
    }

    pub(crate) fn create_label(&mut self, repository: &str, name: &str, color: &str) -> ActResult<()> {
        let kind = "Label";
        if name.trim().is_empty() || name.chars().count() > 50 {
            return Err(EmulatedApiError::invalid(kind, "name", "invalid"));
        }
        let id = self.new_id();
        let labels = &mut self.require_repository_mut(repository)?.labels;
        if labels.iter().any(|label| label.name.eq_ignore_ascii_case(name)) {
            return Err(EmulatedApiError::invalid(kind, "name", "already_exists"));
        }
        labels.push(EmulatedLabel { id, name: name.to_owned(), color: color.to_owned() });
        Ok(())
    }

    pub(crate) fn comment(
        &mut self,
        repository: &str,
        number: u64,
        author: u64,
        body: &str,
    ) -> ActResult<u64> {
        check_words("IssueComment", body)?;
        let comment = self.new_comment(None, author, body);
        let id = comment.id;
        let thread = self.thread_mut(repository, number)?;
        thread.remarked(comment.created_at);
        thread.comments.push(comment);
        self.emit_comment(repository, number, id, "created", author, json!({}));
        Ok(id)
    }

    fn new_comment(&mut self, review: Option<u64>, author: u64, body: &str) -> EmulatedComment {
        let (id, now) = (self.new_id(), clock::now());
        EmulatedComment {
            id,
            review,
            author,
            body: body.to_owned(),
            created_at: now,
            updated_at: now,
            reactions: Vec::new(),
        }
    }

    /// Reacts to a comment of either kind, once per person and reaction. Returns whether it is new.
    pub(crate) fn react(
        &mut self,
        repository: &str,
        comment: u64,
        content: &str,
        by: u64,
    ) -> ActResult<bool> {
        let known = REACTIONS.iter().find(|(name, _)| *name == content);
        let (content, _) =
            known.ok_or_else(|| EmulatedApiError::invalid("Reaction", "content", "invalid"))?;
        let threads = self.require_repository_mut(repository)?.threads.values_mut();
        let mut all = threads.flat_map(|EmulatedIssue { comments, pull, .. }| {
            let of_lines = pull.iter_mut().flat_map(|pull| &mut pull.review_threads);
            comments.iter_mut().chain(of_lines.flat_map(|of| &mut of.comments))
        });
        let found = all.find(|one| one.id == comment).ok_or_else(EmulatedApiError::not_found)?;
        let is_new = !found.reactions.iter().any(|one| one.by == by && one.content == *content);
        if is_new {
            found.reactions.push(EmulatedReaction { by, content });
        }
        Ok(is_new)
    }

    /// The number of a comment's thread.
    pub(crate) fn thread_of_comment(&self, repository: &str, comment: u64) -> ActResult<u64> {
        let has = |thread: &&EmulatedIssue| thread.comments.iter().any(|one| one.id == comment);
        self.require_repository(repository)?
            .threads
            .values()
            .find(has)
            .map(|thread| thread.number)
            .ok_or_else(EmulatedApiError::not_found)
    }

    pub(crate) fn edit_comment(
        &mut self,
        repository: &str,
        comment: u64,
        body: &str,
        by: u64,
    ) -> ActResult<u64> {
        check_body("IssueComment", body)?;
        let number = self.thread_of_comment(repository, comment)?;
        let thread = self.thread_mut(repository, number)?;
        let Some(found) = thread.comments.iter_mut().find(|one| one.id == comment) else {
            return Err(EmulatedApiError::not_found());
        };
        let before = std::mem::replace(&mut found.body, body.to_owned());
        found.updated_at = clock::now();
        self.emit_comment(
            repository,
            number,
            comment,
            "edited",
            by,
            json!({"changes": {"body": {"from": before}}}),
        );
        Ok(number)
    }

    pub(crate) fn delete_comment(&mut self, repository: &str, comment: u64, by: u64) -> ActResult<()> {
        let number = self.thread_of_comment(repository, comment)?;
        self.emit_comment(repository, number, comment, "deleted", by, json!({}));
        self.thread_mut(repository, number)?.comments.retain(|one| one.id != comment);
        Ok(())
    }

    pub(crate) fn edit(&mut self, repository: &str, number: u64, edit: IssueEdit, by: u64) -> ActResult<()> {
        if let Some(body) = &edit.body {
            check_body("Issue", body)?;
        }
        let thread = self.thread_mut(repository, number)?;
        let mut changes = serde_json::Map::new();
        if let Some(title) = edit.title.filter(|title| title != &thread.title) {
            changes.insert("title".to_owned(), json!({"from": std::mem::replace(&mut thread.title, title)}));
        }
        if let Some(body) = edit.body.filter(|body| body != &thread.body) {
            changes.insert("body".to_owned(), json!({"from": std::mem::replace(&mut thread.body, body)}));
        }
        thread.changed();
        if !changes.is_empty() {
            self.emit_thread(repository, number, "edited", by, json!({"changes": changes}));
        }
        Ok(())
    }

    pub(crate) fn set_state(
        &mut self,
        repository: &str,
        number: u64,
        state: EmulatedIssueState,
        by: u64,
    ) -> ActResult<()> {
        if self.thread(repository, number)?.state == state {
            return Ok(());
        }
        let thread = self.thread_mut(repository, number)?;
        if thread.pull.as_ref().is_some_and(|pull| pull.merged.is_some()) {
            return Err(EmulatedApiError::custom(
                "PullRequest",
                "state cannot be changed. The pull request is merged.".into(),
            ));
        }
        thread.state = state;
        thread.changed();
        let action = match state {
            EmulatedIssueState::Open => "reopened",
            EmulatedIssueState::Closed => "closed",
        };
        self.emit_thread(repository, number, action, by, json!({}));
        Ok(())
    }
}
