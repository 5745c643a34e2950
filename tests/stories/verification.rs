//! A colleague's pull request is verified: it is tested and reviewed, the verdict is shown on it, and nothing is written
//! to its branch.

use journeyman::emulator::CheckConclusion;
use journeyman::order::IssueNumber;

use crate::browser::Browser;
use crate::world::judges::finds;
use crate::world::look::BOT;
use crate::world::{MAINTAINER, REPOSITORY, Story, TRIAGER, World};

const COLLEAGUE: &str = "carl";
pub const BRANCH: &str = "carls-answer";
const LABEL: &str = "journeyman:verify";
const TITLE: &str = "Give the right answer";

pub const RIGHT: &[(&str, &str)] = &[("answer", "42\n")];
/// What was asked is asked otherwise.
const MORE: &[(&str, &str)] = &[("question", "How many roads?\n")];

/// A reviewer without objections.
pub fn content() -> String {
    finds("verify", "code_reviewer", None, &[])
}

/// The colleague pushes these files; returns the commit.
pub async fn push(world: &World, files: &[(&str, &str)]) -> String {
    let bytes = |text: &str| Some(text.as_bytes().to_vec());
    let files = files.iter().map(|(name, text)| ((*name).to_owned(), bytes(text))).collect();
    world.github.push_commit(REPOSITORY, BRANCH, COLLEAGUE, TITLE, files).await.expect("a commit")
}

/// The same as a pull request; returns its number and its head.
pub async fn open(world: &World, files: &[(&str, &str)], body: &str) -> (u64, String) {
    let head = push(world, files).await;
    let pull = world.github.open_pull(REPOSITORY, COLLEAGUE, (BRANCH, "main"), (TITLE, body));
    (pull.expect("a pull request"), head)
}

pub async fn label(world: &World, pull: u64, by: &str) {
    world.github.label(REPOSITORY, pull, LABEL, by).await.expect("the pull request is there");
}

/// What our only check run on this commit says.
pub fn check(world: &World, head: &str) -> Option<CheckConclusion> {
    let mut runs = world.github.check_runs(REPOSITORY, head);
    runs.retain(|run| run.name == "journeyman");
    assert_eq!(runs.len(), 1, "one check run on {head}: {runs:#?}");
    runs.remove(0).conclusion
}

/// Our comments on a pull request.
pub fn comments(world: &World, pull: u64) -> Vec<String> {
    let thread = world.github.issue(REPOSITORY, pull).expect("the pull request is there");
    let own = thread.comments.into_iter().filter(|comment| comment.author == BOT);
    own.map(|comment| comment.body).collect()
}

pub fn only_comment(world: &World, pull: u64) -> String {
    let mut comments = comments(world, pull);
    assert_eq!(comments.len(), 1, "one comment: {comments:#?}");
    comments.remove(0)
}

/// Journeyman pushed nothing, and the pull request is as the colleague left it.
fn assert_left_alone(world: &World, head: &str, body: &str) {
    assert!(world.calls("POST", "git-receive-pack").is_empty());
    assert_eq!(world.branches(), [BRANCH]);
    assert_eq!(world.github.branch_head(REPOSITORY, BRANCH).as_deref(), Some(head));
    let pull = world.pull();
    assert_eq!((pull.head_sha.as_str(), pull.draft, pull.threads.len()), (head, false, 0));
    assert_eq!((pull.issue.title.as_str(), pull.issue.body.as_str()), (TITLE, body));
    assert!(world.own_comments().is_empty() && world.labels().is_empty(), "{:#?}", world.thread());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_colleagues_pull_request_gets_a_check_run_and_one_comment_and_nothing_else() {
    let world = Story::of(&content()).begin().await;
    let (pull, head) = open(&world, RIGHT, "It was off by one.").await;
    label(&world, pull, MAINTAINER).await;

    let ended = world.settled_as("verified").await;

    assert_eq!(check(&world, &head), Some(CheckConclusion::Success));
    let comment = only_comment(&world, pull);
    assert!(
        comment.contains("-->\n### ✅ Verified, not examined\n\n- **What ran:** `sh test.sh`"),
        "{comment}"
    );
    assert!(comment.contains(" · task: the pull request's own text, by carl\n"), "{comment}");
    assert!(comment.contains(&format!("- Commit: `{head}`\n")), "{comment}");
    assert_eq!((ended.runs_of("verify"), ended.judged_of("verify")), (0, 1), "{:?}", ended.moves());
    assert_left_alone(&world, &head, "It was off by one.");
    assert_eq!(world.pull().issue.labels, [LABEL]);
    if std::env::var_os("JOURNEYMAN_UPDATE_DOCS").is_some() {
        take_picture(&format!("{}/{REPOSITORY}/pull/{pull}", world.github.origin()));
    }
    world.end().await;
}

/// The picture of docs/VERIFY.md.
fn take_picture(page: &str) {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/images");
    tokio::task::block_in_place(|| {
        let Some(mut browser) = Browser::start() else { return };
        browser.size(960, 820);
        browser.open(page);
        browser.picture_in(&docs, "verify-pull-request");
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_push_in_between_cancels_and_the_new_head_is_verified_in_the_same_comment() {
    let world = Story::of(&format!("{}  think: 3000\n", content())).begin().await;
    let (pull, first) = open(&world, RIGHT, "").await;
    label(&world, pull, MAINTAINER).await;
    world.until_begun("verify/1/verify-1").await;

    let second = push(&world, MORE).await;
    world.settled_as("verified").await;

    let orders = world.orders().await;
    assert_eq!(orders.len(), 2, "one order for each head");
    let (journal, projection) = world.look(orders[1]).await;
    let change = journal.opened().change.as_ref().expect("a change");
    assert_eq!(change.head.as_str(), first);
    let shown = projection.surfaces();
    let because = shown.because.unwrap_or_default();
    assert_eq!(
        (shown.outcome, because.as_str()),
        ("cancelled", &*format!("carl pushed another commit, {}", &second[..10]))
    );
    assert_eq!(check(&world, &first), Some(CheckConclusion::Cancelled));
    assert_eq!(check(&world, &second), Some(CheckConclusion::Success));
    let comment = only_comment(&world, pull);
    assert!(comment.contains("### ✅ Verified") && comment.contains(&second), "{comment}");
    assert!(!comment.contains(&first[..10]), "{comment}");
    assert_left_alone(&world, &second, "");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_task_is_the_issue_that_the_pull_request_closes() {
    let world = Story::of(&content()).begin().await;
    let body = format!("Closes #{}", world.issue);
    let (pull, head) = open(&world, RIGHT, &body).await;
    label(&world, pull, MAINTAINER).await;

    let ended = world.settled_as("verified").await;

    let opened = ended.journal.opened();
    let task = world.thread();
    assert_eq!((&opened.issue.title, &opened.issue.body), (&task.title, &task.body));
    let change = opened.change.as_ref().expect("a change");
    assert_eq!((change.closes, change.author.as_str()), (Some(IssueNumber(world.issue)), COLLEAGUE));
    let comment = only_comment(&world, pull);
    assert!(comment.contains(&format!(" · task: issue #{}\n", world.issue)), "{comment}");
    assert!(!comment.to_lowercase().contains("closes"), "{comment}");
    assert_left_alone(&world, &head, &body);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_label_of_somebody_without_write_access_does_nothing() {
    let world = Story::of(&content()).begin().await;
    let (pull, head) = open(&world, RIGHT, "").await;
    label(&world, pull, TRIAGER).await;

    let ended = world.settled_as("refused").await;

    assert_eq!(ended.moves(), ["authorize/1"]);
    assert!(comments(&world, pull).is_empty());
    assert!(world.github.check_runs(REPOSITORY, &head).is_empty());
    assert_left_alone(&world, &head, "");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_verifies_one_head_and_no_later_one() {
    let world = Story::of(&content()).begin().await;
    let (pull, first) = open(&world, RIGHT, "").await;
    let command = || world.github.comment(REPOSITORY, pull, MAINTAINER, "/journeyman verify");
    command().await.expect("the pull request is there");
    world.settled_as("verified").await;
    assert_eq!(check(&world, &first), Some(CheckConclusion::Success));

    let second = push(&world, MORE).await;
    world.quiet().await;
    assert_eq!(world.orders().await.len(), 1);
    assert!(world.github.check_runs(REPOSITORY, &second).is_empty());
    assert!(only_comment(&world, pull).contains(&first));

    command().await.expect("the pull request is there");
    world.settled_as("verified").await;
    assert_eq!(check(&world, &second), Some(CheckConclusion::Success));
    assert!(only_comment(&world, pull).contains(&second));
    assert_left_alone(&world, &second, "");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_whose_tests_fail_is_not_verified_and_the_failing_test_is_named() {
    let world = Story::of(&content()).begin().await;
    let (pull, head) = open(&world, &[("answer", "42\n"), ("question", "")], "").await;
    label(&world, pull, MAINTAINER).await;

    let ended = world.settled_as("escalated").await;

    assert_eq!(check(&world, &head), Some(CheckConclusion::Failure));
    let comment = only_comment(&world, pull);
    assert!(comment.contains("-->\n### ❌ Not verified\n"), "{comment}");
    assert!(comment.contains("`there is a question`"), "{comment}");
    assert!(comment.contains("Comment `/retry` to verify this commit again."), "{comment}");
    assert_eq!(ended.judged_of("verify"), 0, "no review is paid for: {:?}", ended.moves());
    assert_left_alone(&world, &head, "");
    world.end().await;
}
