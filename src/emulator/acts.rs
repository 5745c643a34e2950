//! What can be done to the world, by people and by the App alike: each act changes it and queues its events.

use chrono::Utc;
use serde_json::json;

use super::events::{Moved, NO_SHA};
use super::reply::ApiError;
use super::repos;
use super::state::{
    Comment, Draft, Label, Merged, Pull, Repository, Review, ReviewState, State, Thread, World,
};

/// The longest text that an issue, a pull request or a comment can have, in characters.
const LONGEST_BODY: usize = 65_536;

/// What a pull request is opened with.
pub(crate) struct NewPull {
    pub title: String,
    pub body: String,
    pub head: String,
    pub base: String,
    pub draft: Draft,
}

/// What is changed of an issue or a pull request; none: left as it is.
#[derive(Default)]
pub(crate) struct Edit {
    pub title: Option<String>,
    pub body: Option<String>,
    pub state: Option<State>,
    pub base: Option<String>,
}

fn check_body(resource: &str, body: &str) -> Result<(), ApiError> {
    if body.chars().count() > LONGEST_BODY {
        return Err(ApiError::custom(
            resource,
            format!("body is too long (maximum is {LONGEST_BODY} characters)"),
        ));
    }
    Ok(())
}

impl World {
    pub(crate) fn found(&self, repository: &str) -> Result<&Repository, ApiError> {
        self.repository(repository).ok_or_else(ApiError::not_found)
    }

    pub(crate) fn found_mut(&mut self, repository: &str) -> Result<&mut Repository, ApiError> {
        self.repository_mut(repository).ok_or_else(ApiError::not_found)
    }

    pub(crate) fn thread(&self, repository: &str, number: u64) -> Result<&Thread, ApiError> {
        self.found(repository)?.threads.get(&number).ok_or_else(ApiError::not_found)
    }

    pub(crate) fn thread_mut(&mut self, repository: &str, number: u64) -> Result<&mut Thread, ApiError> {
        self.found_mut(repository)?.threads.get_mut(&number).ok_or_else(ApiError::not_found)
    }

    fn pull_mut(&mut self, repository: &str, number: u64) -> Result<&mut Pull, ApiError> {
        self.thread_mut(repository, number)?.pull.as_mut().ok_or_else(ApiError::not_found)
    }

    fn add_thread(
        &mut self,
        repository: &str,
        author: u64,
        title: &str,
        body: &str,
    ) -> Result<u64, ApiError> {
        let kind = "Issue";
        if title.trim().is_empty() {
            return Err(ApiError::invalid(kind, "title", "missing_field"));
        }
        check_body(kind, body)?;
        let (id, now) = (self.new_id(), Utc::now());
        let found = self.found_mut(repository)?;
        let number = found.threads.keys().next_back().map_or(1, |last| last + 1);
        let thread = Thread {
            id,
            number,
            author,
            title: title.to_owned(),
            body: body.to_owned(),
            state: State::Open,
            labels: Vec::new(),
            comments: Vec::new(),
            created_at: now,
            updated_at: now,
            closed_at: None,
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
    ) -> Result<u64, ApiError> {
        let number = self.add_thread(repository, author, title, body)?;
        self.emit_thread(repository, number, "opened", author, json!({}));
        Ok(number)
    }

    pub(crate) fn open_pull(&mut self, repository: &str, author: u64, new: NewPull) -> Result<u64, ApiError> {
        let kind = "PullRequest";
        let found = self.found(repository)?;
        let owner = self.login(found.owner).to_owned();
        let head = match new.head.split_once(':') {
            Some((login, branch)) if login.eq_ignore_ascii_case(&owner) => branch.to_owned(),
            Some(_) => return Err(ApiError::invalid(kind, "head", "invalid")),
            None => new.head.clone(),
        };
        let Some(base_sha) = repos::head(&found.git, &new.base) else {
            return Err(ApiError::invalid(kind, "base", "invalid"));
        };
        let Some(head_sha) = repos::head(&found.git, &head) else {
            return Err(ApiError::invalid(kind, "head", "invalid"));
        };
        if repos::ahead(&found.git, &base_sha, &head_sha).unwrap_or(0) == 0 {
            return Err(ApiError::custom(kind, format!("No commits between {} and {head}", new.base)));
        }
        let taken = found.threads.values().any(|thread| {
            thread.state == State::Open
                && thread.pull.as_ref().is_some_and(|pull| pull.head == head && pull.base == new.base)
        });
        if taken {
            return Err(ApiError::custom(kind, format!("A pull request already exists for {owner}:{head}.")));
        }
        let number = self.add_thread(repository, author, &new.title, &new.body)?;
        let id = self.new_id();
        self.thread_mut(repository, number)?.pull = Some(Pull {
            id,
            head,
            base: new.base,
            head_sha,
            base_sha,
            draft: new.draft,
            merged: None,
            reviews: Vec::new(),
        });
        self.emit_thread(repository, number, "opened", author, json!({}));
        Ok(number)
    }

    /// Puts labels on; those that the repository does not have yet are made, as GitHub does.
    pub(crate) fn add_labels(
        &mut self,
        repository: &str,
        number: u64,
        names: &[String],
        by: u64,
    ) -> Result<(), ApiError> {
        self.thread(repository, number)?;
        for wanted in names {
            let name = self.ensure_label(repository, wanted)?;
            let thread = self.thread_mut(repository, number)?;
            if thread.labels.contains(&name) {
                continue;
            }
            thread.labels.push(name.clone());
            thread.updated_at = Utc::now();
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
    ) -> Result<(), ApiError> {
        let thread = self.thread_mut(repository, number)?;
        let at = thread.labels.iter().position(|one| one.eq_ignore_ascii_case(name));
        let Some(at) = at else { return Err(ApiError::new(404, "Label does not exist")) };
        let name = thread.labels.remove(at);
        thread.updated_at = Utc::now();
        self.emit_labeled(repository, number, &name, "unlabeled", by);
        Ok(())
    }

    fn emit_labeled(&mut self, repository: &str, number: u64, name: &str, action: &str, by: u64) {
        let Some(found) = self.repository(repository) else { return };
        let Some(label) = found.labels.iter().find(|label| label.name == name) else { return };
        let more = json!({"label": self.label_json(found, label)});
        self.emit_thread(repository, number, action, by, more);
    }

    fn ensure_label(&mut self, repository: &str, name: &str) -> Result<String, ApiError> {
        let same = |label: &&Label| label.name.eq_ignore_ascii_case(name);
        if let Some(label) = self.found(repository)?.labels.iter().find(same) {
            return Ok(label.name.clone());
        }
        self.create_label(repository, name, "ededed", None)?;
        Ok(name.to_owned())
    }

    pub(crate) fn create_label(
        &mut self,
        repository: &str,
        name: &str,
        color: &str,
        description: Option<String>,
    ) -> Result<(), ApiError> {
        let kind = "Label";
        if name.trim().is_empty() || name.chars().count() > 50 {
            return Err(ApiError::invalid(kind, "name", "invalid"));
        }
        if color.len() != 6 || !color.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(ApiError::invalid(kind, "color", "invalid"));
        }
        if description.as_ref().is_some_and(|text| text.chars().count() > 100) {
            return Err(ApiError::invalid(kind, "description", "invalid"));
        }
        let id = self.new_id();
        let labels = &mut self.found_mut(repository)?.labels;
        if labels.iter().any(|label| label.name.eq_ignore_ascii_case(name)) {
            return Err(ApiError::invalid(kind, "name", "already_exists"));
        }
        labels.push(Label { id, name: name.to_owned(), color: color.to_ascii_lowercase(), description });
        Ok(())
    }

    pub(crate) fn comment(
        &mut self,
        repository: &str,
        number: u64,
        author: u64,
        body: &str,
    ) -> Result<u64, ApiError> {
        let kind = "IssueComment";
        if body.trim().is_empty() {
            return Err(ApiError::invalid(kind, "body", "missing_field"));
        }
        check_body(kind, body)?;
        let (id, now) = (self.new_id(), Utc::now());
        let thread = self.thread_mut(repository, number)?;
        thread.comments.push(Comment { id, author, body: body.to_owned(), created_at: now, updated_at: now });
        thread.updated_at = now;
        self.emit_comment(repository, number, id, "created", author, json!({}));
        Ok(id)
    }

    /// The number of the thread that a comment belongs to.
    pub(crate) fn thread_of_comment(&self, repository: &str, comment: u64) -> Result<u64, ApiError> {
        let has = |thread: &&Thread| thread.comments.iter().any(|one| one.id == comment);
        self.found(repository)?
            .threads
            .values()
            .find(has)
            .map(|thread| thread.number)
            .ok_or_else(ApiError::not_found)
    }

    pub(crate) fn edit_comment(
        &mut self,
        repository: &str,
        comment: u64,
        body: &str,
        by: u64,
    ) -> Result<u64, ApiError> {
        check_body("IssueComment", body)?;
        let number = self.thread_of_comment(repository, comment)?;
        let thread = self.thread_mut(repository, number)?;
        let Some(found) = thread.comments.iter_mut().find(|one| one.id == comment) else {
            return Err(ApiError::not_found());
        };
        let before = std::mem::replace(&mut found.body, body.to_owned());
        found.updated_at = Utc::now();
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

    pub(crate) fn delete_comment(&mut self, repository: &str, comment: u64, by: u64) -> Result<(), ApiError> {
        let number = self.thread_of_comment(repository, comment)?;
        self.emit_comment(repository, number, comment, "deleted", by, json!({}));
        self.thread_mut(repository, number)?.comments.retain(|one| one.id != comment);
        Ok(())
    }

    pub(crate) fn edit(
        &mut self,
        repository: &str,
        number: u64,
        edit: Edit,
        by: u64,
    ) -> Result<(), ApiError> {
        if let Some(body) = &edit.body {
            check_body("Issue", body)?;
        }
        if let (Some(base), Some(_)) = (&edit.base, &self.thread(repository, number)?.pull) {
            let Some(sha) = repos::head(&self.found(repository)?.git, base) else {
                return Err(ApiError::invalid("PullRequest", "base", "invalid"));
            };
            let pull = self.pull_mut(repository, number)?;
            pull.base.clone_from(base);
            pull.base_sha = sha;
        }
        let thread = self.thread_mut(repository, number)?;
        let mut changes = serde_json::Map::new();
        if let Some(title) = edit.title.filter(|title| title != &thread.title) {
            changes.insert("title".to_owned(), json!({"from": std::mem::replace(&mut thread.title, title)}));
        }
        if let Some(body) = edit.body.filter(|body| body != &thread.body) {
            changes.insert("body".to_owned(), json!({"from": std::mem::replace(&mut thread.body, body)}));
        }
        thread.updated_at = Utc::now();
        if !changes.is_empty() {
            self.emit_thread(repository, number, "edited", by, json!({"changes": changes}));
        }
        match edit.state {
            Some(state) => self.set_state(repository, number, state, by),
            None => Ok(()),
        }
    }

    pub(crate) fn set_state(
        &mut self,
        repository: &str,
        number: u64,
        state: State,
        by: u64,
    ) -> Result<(), ApiError> {
        let thread = self.thread_mut(repository, number)?;
        if thread.state == state {
            return Ok(());
        }
        if thread.pull.as_ref().is_some_and(|pull| pull.merged.is_some()) {
            return Err(ApiError::custom(
                "PullRequest",
                "state cannot be changed. The pull request is merged.".into(),
            ));
        }
        thread.state = state;
        thread.updated_at = Utc::now();
        let action = match state {
            State::Open => {
                thread.closed_at = None;
                "reopened"
            }
            State::Closed => {
                thread.closed_at = Some(Utc::now());
                "closed"
            }
        };
        self.emit_thread(repository, number, action, by, json!({}));
        Ok(())
    }

    /// Makes a draft ready or the other way round; again is harmless.
    pub(crate) fn set_draft(
        &mut self,
        repository: &str,
        number: u64,
        draft: Draft,
        by: u64,
    ) -> Result<(), ApiError> {
        let pull = self.pull_mut(repository, number)?;
        if pull.draft == draft {
            return Ok(());
        }
        pull.draft = draft;
        let action = match draft {
            Draft::Yes => "converted_to_draft",
            Draft::No => "ready_for_review",
        };
        self.emit_thread(repository, number, action, by, json!({}));
        Ok(())
    }

    pub(crate) fn review(
        &mut self,
        repository: &str,
        number: u64,
        author: u64,
        state: ReviewState,
        body: &str,
    ) -> Result<u64, ApiError> {
        let id = self.new_id();
        let thread = self.thread_mut(repository, number)?;
        let own = thread.author == author;
        let pull = thread.pull.as_mut().ok_or_else(ApiError::not_found)?;
        if own && state != ReviewState::Commented {
            return Err(ApiError::custom("PullRequestReview", "Can not review your own pull request".into()));
        }
        let commit = pull.head_sha.clone();
        pull.reviews.push(Review { id, author, state, body: body.to_owned(), commit, at: Utc::now() });
        self.emit_review(repository, number, id, author);
        Ok(id)
    }

    /// Merges with a merge commit, and closes the issues that the pull request's text says it closes.
    pub(crate) fn merge(&mut self, repository: &str, number: u64, by: u64) -> Result<String, ApiError> {
        let login = self.login(by).to_owned();
        let found = self.found(repository)?;
        let (git, default_branch) = (found.git.clone(), found.default_branch.clone());
        let thread = self.thread(repository, number)?;
        let pull = thread.pull.clone().ok_or_else(ApiError::not_found)?;
        if thread.state == State::Closed || pull.draft == Draft::Yes {
            return Err(ApiError::new(405, "Pull Request is not mergeable"));
        }
        let message =
            format!("Merge pull request #{number} from {login}/{}\n\n{}\n", pull.head, thread.title);
        let closes = closing_references(&thread.body);
        let before = repos::head(&git, &pull.base).unwrap_or_else(|| NO_SHA.to_owned());
        let commit = repos::merge(&git, &pull.base, &pull.head_sha, &login, &message)
            .map_err(ApiError::broken)?
            .ok_or_else(|| ApiError::new(405, "Pull Request is not mergeable"))?;
        let now = Utc::now();
        self.pull_mut(repository, number)?.merged = Some(Merged { commit: commit.clone(), by, at: now });
        let thread = self.thread_mut(repository, number)?;
        (thread.state, thread.closed_at, thread.updated_at) = (State::Closed, Some(now), now);
        self.emit_thread(repository, number, "closed", by, json!({}));
        let moved = Moved { reference: format!("refs/heads/{}", pull.base), before, after: commit.clone() };
        self.emit_push(repository, &moved, by);
        for issue in closes.into_iter().filter(|_| pull.base == default_branch) {
            // A number that is no issue here is no reason to fail the merge.
            let _ = self.set_state(repository, issue, State::Closed, by);
        }
        Ok(commit)
    }

    /// What follows when references moved: the `push` event, and pull requests that get a new head.
    pub(crate) fn pushed(&mut self, repository: &str, moved: &[Moved], by: u64) {
        for one in moved {
            self.emit_push(repository, one, by);
            let Some(branch) = one.reference.strip_prefix("refs/heads/") else { continue };
            let Some(found) = self.repository_mut(repository) else { continue };
            let mut synchronized = Vec::new();
            let mut orphaned = Vec::new();
            for thread in found.threads.values_mut().filter(|thread| thread.state == State::Open) {
                let Some(pull) = thread.pull.as_mut().filter(|pull| pull.head == branch) else { continue };
                if one.after == NO_SHA {
                    orphaned.push(thread.number);
                } else {
                    pull.head_sha.clone_from(&one.after);
                    thread.updated_at = Utc::now();
                    synchronized.push(thread.number);
                }
            }
            for number in synchronized {
                let more = json!({"before": one.before, "after": one.after});
                self.emit_thread(repository, number, "synchronize", by, more);
            }
            for number in orphaned {
                // GitHub closes the pull request of a branch that is deleted.
                let _ = self.set_state(repository, number, State::Closed, by);
            }
        }
    }
}

/// The issues of this repository that a text closes when it is merged.
fn closing_references(body: &str) -> Vec<u64> {
    let words: Vec<&str> = body.split_whitespace().collect();
    let mut found = Vec::new();
    for pair in words.windows(2) {
        let [keyword, reference] = pair else { continue };
        let keyword = keyword.trim_end_matches(':').to_ascii_lowercase();
        let closes =
            ["close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"];
        let number =
            reference.strip_prefix('#').map(|rest| rest.trim_end_matches(|c: char| !c.is_ascii_digit()));
        if closes.contains(&keyword.as_str())
            && let Some(Ok(number)) = number.map(str::parse)
        {
            found.push(number);
        }
    }
    found
}
