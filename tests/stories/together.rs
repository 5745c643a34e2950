//! Several orders, and people who work beside Journeyman in the same repository.

use journeyman::order::{EffectOutcome, JournalEvent, Move};

use crate::world::{MAINTAINER, REPOSITORY, Story, World, slowly};

async fn three_issues(world: &World) {
    for title in ["The second wrong answer", "The third wrong answer"] {
        world.github.open_issue(REPOSITORY, MAINTAINER, title, "").await.expect("an issue");
    }
    for issue in 1..=3 {
        world.github.label(REPOSITORY, issue, "journeyman", MAINTAINER).await.expect("the issue is there");
    }
    world.quiet().await;
}

/// The highest number of agents running at the same time, according to the journals.
async fn most_agents_at_once(world: &World) -> usize {
    let mut moments = Vec::new();
    for order in world.orders().await {
        let (journal, _) = world.look(order).await;
        for entry in journal.entries() {
            match &entry.event {
                JournalEvent::Intended { r#move, .. } if matches!(**r#move, Move::RunAgent(_)) => {
                    moments.push((entry.at, 1))
                }
                JournalEvent::Observed { outcome, .. } if matches!(**outcome, EffectOutcome::AgentRan(_)) => {
                    moments.push((entry.at, -1));
                }
                JournalEvent::Opened(_)
                | JournalEvent::Signaled { .. }
                | JournalEvent::Intended { .. }
                | JournalEvent::Observed { .. } => {}
            }
        }
    }
    moments.sort();
    let mut now = 0_i32;
    let most = moments.into_iter().map(|(_, change)| {
        now += change;
        now
    });
    usize::try_from(most.max().unwrap_or(0)).unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_issues_of_one_repository_become_three_pull_requests_side_by_side() {
    let world = Story::of(&slowly(700)).begin().await;
    three_issues(&world).await;
    let pulls = world.pulls();
    assert_eq!(pulls.len(), 3);
    for pull in &pulls {
        assert!(!pull.draft);
        assert_eq!(world.github.branch_head(REPOSITORY, &pull.head).as_ref(), Some(&pull.head_sha));
        assert_eq!(world.git(&["rev-list", "--count", &format!("main..{}", pull.head)]), "1");
    }
    let mut closed: Vec<&str> =
        pulls.iter().map(|pull| pull.issue.body.lines().next().unwrap_or_default()).collect();
    closed.sort_unstable();
    assert_eq!(closed, ["Closes #1", "Closes #2", "Closes #3"]);
    assert!(most_agents_at_once(&world).await > 1, "they are worked on side by side");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_orders_are_at_work_than_the_settings_allow() {
    let world =
        Story::of(&slowly(700)).settings(|settings| settings.limits.concurrent_orders = 1).begin().await;
    three_issues(&world).await;
    assert_eq!(world.pulls().len(), 3, "the others waited, and were not forgotten");
    assert_eq!(most_agents_at_once(&world).await, 1);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_persons_commit_on_the_branch_is_never_overwritten() {
    let wrong = "
- stage: implement
  run: |
    echo 1$JOURNEYMAN_ROUND > answer
    git commit -q -a -m 'Give an answer' && git push -q origin HEAD
";
    let world = Story::of(wrong).labeled().await;
    assert_eq!(world.settled().await.word(), "escalated");
    let branch = world.pull().head;
    let change = [("answer".to_owned(), Some(b"42\n".to_vec()))].into();
    let theirs =
        world.github.push_commit(REPOSITORY, &branch, MAINTAINER, "Say 42", change).await.expect("a push");
    let ended = world.settled().await;
    assert_eq!(ended.word(), "unverified", "no reviewer has seen theirs: {}", ended.because());
    world.comment(MAINTAINER, "/retry").await;
    // Their commit waits for a reviewer, so it can be retried. The result belongs to their commit.
    world.settled_as("escalated").await;

    assert_eq!(world.github.branch_head(REPOSITORY, &branch), Some(theirs));
    assert_eq!(world.branches(), [branch]);
    world.end().await;
}
