//! `/journeyman fix` on somebody else's pull request: the work goes on from its head, and its commits stay.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use journeyman::emulator::CheckConclusion;

use super::verification::{BRANCH, RIGHT, check, comments, content, label, only_comment, open};
use crate::world::judges::finds;
use crate::world::{MAINTAINER, OUTSIDER, REPOSITORY, Story, World};

/// The right answer, and nobody knows any more to what.
const WITHOUT_QUESTION: &[(&str, &str)] = &[("answer", "42\n"), ("question", "")];

/// Puts the question back, and says what it was told.
const MENDS: &str = "
- stage: mend
  role: developer
  usd: 0.05
  run: |
    cat
    echo 'How many roads must a man walk down?' > question
    git commit -q -a -m 'Ask the question again' && git push -q origin HEAD
";

fn story() -> Story {
    Story::of(&format!("{MENDS}{}{}", finds("mend", "code_reviewer", None, &[]), content()))
}

fn without_question() -> BTreeMap<String, Option<Vec<u8>>> {
    let files = WITHOUT_QUESTION.iter();
    files.map(|(name, text)| ((*name).to_owned(), Some(text.as_bytes().to_vec()))).collect()
}

/// An outsider's pull request.
fn from_fork(world: &World) -> u64 {
    let (title, files) = ("Give the right answer", without_question());
    world.github.open_pull_from_fork(REPOSITORY, OUTSIDER, title, &files).expect("it opens")
}

async fn command(world: &World, pull: u64, by: &str, text: &str) {
    world.github.comment(REPOSITORY, pull, by, text).await.expect("the pull request is there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_colleagues_failing_change_is_mended_on_their_branch() {
    let world = story().begin().await;
    let (pull, head) = open(&world, WITHOUT_QUESTION, "It was off by one.").await;
    label(&world, pull, MAINTAINER).await;
    world.settled_as("escalated").await;

    command(&world, pull, MAINTAINER, "/journeyman fix\nKeep the wording.").await;
    let ended = world.settled_as("verified").await;

    let told = ended.said("mend/1/agent");
    for part in ["there is a question", "Keep the wording.", "Give the right answer", "It was off by one."] {
        assert!(told.contains(part), "{part:?} is not in the prompt: {told}");
    }
    let after = world.pull();
    assert_eq!(world.branches(), [BRANCH]);
    assert_eq!(world.git(&["rev-parse", &format!("{}^", after.head_sha)]), head, "on top of their commit");
    assert_eq!(world.handed_over("question"), "How many roads must a man walk down?\n");
    assert_eq!(world.calls("POST", "git-receive-pack").len(), 1);
    assert_eq!(check(&world, &head), Some(CheckConclusion::Failure), "what was said of it stands");
    assert_eq!(check(&world, &after.head_sha), Some(CheckConclusion::Success));
    let comment = only_comment(&world, pull);
    assert!(comment.contains("### Verified") && comment.contains(&format!("#{pull}")), "{comment}");
    assert_eq!((after.draft, after.issue.body.as_str()), (false, "It was off by one."));
    assert!(world.own_comments().is_empty() && world.labels().is_empty(), "{:#?}", world.thread());
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verification_under_way_gives_way() {
    let slow = content().replace("  usd:", "  think: 3000\n  usd:");
    let scenes = format!("{MENDS}{}{slow}", finds("mend", "code_reviewer", None, &[]));
    let world = Story::of(&scenes).begin().await;
    let (pull, _) = open(&world, RIGHT, "").await;
    label(&world, pull, MAINTAINER).await;
    world.until_begun("verify/1/verify-1").await;
    command(&world, pull, MAINTAINER, "/journeyman fix").await;
    world.settled().await;

    let orders = world.orders().await;
    assert_eq!(orders.len(), 2);
    let (_, verification) = world.look(orders[1]).await;
    assert_eq!(verification.surfaces().because.as_deref(), Some("mona asked for a fix"));
    assert_eq!(comments(&world, pull).len(), 1, "{:#?}", comments(&world, pull));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forks_change_is_mended_in_a_pull_request_with_its_authors_commit_below() {
    let world = story().begin().await;
    let theirs = from_fork(&world);
    let head = world.pull().head_sha;
    command(&world, theirs, MAINTAINER, "/journeyman fix").await;
    let ended = world.settled_as("verified").await;

    let ours = ended.projection.trace.pull.as_ref().expect("a pull request").number.0;
    assert_ne!(ours, theirs);
    let pulls = world.pulls();
    let opened = pulls.iter().find(|pull| pull.issue.number == ours).expect("it is open");
    assert_eq!(world.git(&["rev-parse", &format!("{}^", opened.head_sha)]), head, "their commit is below");
    assert!(
        opened.issue.body.starts_with(&format!("This continues #{theirs} by oscar")),
        "{}",
        opened.issue.body
    );
    assert!(!opened.draft && !opened.issue.body.contains("Closes #"), "{}", opened.issue.body);
    assert_eq!(check(&world, &opened.head_sha), Some(CheckConclusion::Success));
    let comment = only_comment(&world, theirs);
    assert!(comment.contains(&format!("#{ours}")), "{comment}");
    assert!(world.github.check_runs(REPOSITORY, &head).is_empty());

    // What happens to the pull request of the fork is not about ours.
    world.github.close(REPOSITORY, theirs, MAINTAINER).await.expect("it is there");
    assert_eq!(world.settled().await.word(), "verified");
    world.end().await;
}

/// What waits behind a push would wait until the work has ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_push_to_the_fork_meanwhile_keeps_nobody_from_cancelling() {
    let slow = MENDS.replace("  usd:", "  think: 20000\n  usd:");
    let world = Story::of(&format!("{slow}{}", content())).begin().await;
    let theirs = from_fork(&world);
    command(&world, theirs, MAINTAINER, "/journeyman fix").await;
    world.until_begun("mend/1/agent").await;

    world.github.push_to_fork(REPOSITORY, OUTSIDER, theirs, &without_question()).expect("it is pushed");
    command(&world, theirs, MAINTAINER, "/cancel").await;

    let ended = world.settled_as("cancelled").await;
    assert!(world.branches().is_empty() && ended.journal.opened().continued().is_some());
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_fork_gets_after_the_comment_is_not_brought_into_the_repository() {
    let mut world = story().begin().await;
    let theirs = from_fork(&world);
    world.stop_bot().await;
    command(&world, theirs, MAINTAINER, "/journeyman fix").await;
    world.github.push_to_fork(REPOSITORY, OUTSIDER, theirs, &without_question()).expect("it is pushed");
    world.delivered().await;
    world.start_bot().await;
    let begun = Instant::now();
    while comments(&world, theirs).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(20), "nothing is said");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    world.quiet().await;

    assert!(world.orders().await.is_empty() && world.branches().is_empty());
    let comment = only_comment(&world, theirs);
    assert!(comment.contains(&format!("Read commit {}", world.pull().head_sha)), "{comment}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_that_changes_what_steers_ci_is_not_brought_into_the_repository() {
    let world = story().begin().await;
    let file = (".github/workflows/ci.yml".to_owned(), Some(b"on: push\n".to_vec()));
    let theirs = world.github.open_pull_from_fork(REPOSITORY, OUTSIDER, "Run more", &BTreeMap::from([file]));
    command(&world, theirs.expect("it opens"), MAINTAINER, "/journeyman fix").await;
    let ended = world.settled_as("failed").await;

    assert!(ended.because().contains("protected"), "{}", ended.because());
    assert!(world.branches().is_empty() && world.calls("POST", "git-receive-pack").is_empty());
    assert_eq!(ended.runs_of("mend"), 0, "nothing is paid for");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outsider_who_asks_for_a_fix_changes_nothing() {
    let world = story().begin().await;
    let (pull, head) = open(&world, WITHOUT_QUESTION, "").await;
    command(&world, pull, OUTSIDER, "/journeyman fix").await;
    world.quiet().await;

    assert!(world.orders().await.is_empty() && comments(&world, pull).is_empty());
    assert_eq!(world.github.branch_head(REPOSITORY, BRANCH).as_deref(), Some(head.as_str()));
    world.end().await;
}
