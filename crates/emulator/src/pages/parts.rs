//! What the page templates are filled with.

use askama::Template;

use super::timeline::TimelineEntry;
use crate::diffs::{DiffSize, FileDiff};
use crate::state::checks::EmulatedAnnotation;

pub(crate) struct PageFrame {
    pub title: String,
    pub here: String,
    pub version: u64,
    pub acting: String,
    pub accounts: Vec<String>,
}

pub(crate) struct LabelChip {
    pub name: String,
    pub color: String,
    /// Black or white, whichever can be read on the colour.
    pub ink: &'static str,
}

pub(crate) struct ThreadLine {
    pub href: String,
    pub number: u64,
    pub title: String,
    pub badge: Badge,
    pub labels: Vec<LabelChip>,
    pub author: String,
    pub comments: usize,
}

#[derive(Clone, Copy)]
pub(crate) struct Badge {
    pub class: &'static str,
    pub text: &'static str,
}

pub(crate) struct RepositoryLine {
    pub full_name: String,
    pub issues: usize,
    pub pulls: usize,
}

#[derive(Template)]
#[template(path = "emulator/index.html")]
pub(crate) struct IndexPage {
    pub frame: PageFrame,
    pub repositories: Vec<RepositoryLine>,
}

#[derive(Template)]
#[template(path = "emulator/repository.html")]
pub(crate) struct RepositoryPage {
    pub frame: PageFrame,
    pub full_name: String,
    pub default_branch: String,
    pub git_url: String,
    pub branches: Vec<(String, String)>,
    pub issues: Vec<ThreadLine>,
    pub pulls: Vec<ThreadLine>,
}

pub(crate) struct CommitLine {
    pub short: String,
    pub title: String,
    pub author: String,
}

pub(crate) struct PullPart {
    pub head: String,
    pub base: String,
    pub head_sha: String,
    pub draft: bool,
    pub size: DiffSize,
    pub commits: Vec<CommitLine>,
    pub files: Vec<FileDiff>,
    pub checks: Vec<CheckPart>,
    /// Who was asked for a review.
    pub requested: Vec<String>,
    /// Whether git cannot merge it.
    pub conflicts: bool,
}

/// A check run, or a commit status, on the head.
pub(crate) struct CheckPart {
    pub by_app: bool,
    pub name: String,
    pub mark: &'static str,
    pub word: String,
    pub title: String,
    pub html: String,
    pub annotations: Vec<EmulatedAnnotation>,
}

#[derive(Template)]
#[template(path = "emulator/thread.html")]
pub(crate) struct ThreadPage {
    pub frame: PageFrame,
    pub full_name: String,
    pub number: u64,
    pub title: String,
    pub badge: Badge,
    pub author: String,
    pub open: bool,
    pub merged: bool,
    pub may_triage: bool,
    pub may_close: bool,
    pub may_write: bool,
    pub labels: Vec<LabelChip>,
    pub other_labels: Vec<String>,
    pub entries: Vec<TimelineEntry>,
    pub pull: Option<PullPart>,
}
