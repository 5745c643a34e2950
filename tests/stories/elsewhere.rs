//! The repository is renamed in the middle of an order.

use crate::world::{MAINTAINER, REPOSITORY, Story, slowly};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_that_is_renamed_or_transferred_keeps_its_orders() {
    for now in ["acme/replies", "umbrella/answers"] {
        let world = Story::of(&slowly(300)).labeled().await;
        world.until_begun("implement/1/agent").await;
        world.github.rename_repository(REPOSITORY, now).await.expect("the name is free");
        let ended = world.settled().await;
        assert_eq!(ended.word(), "verified", "{now}: {}", ended.because());
        assert_eq!(ended.runs_of("implement"), 1, "nobody pays for that: {now}");
        let pulls = world.github.pulls(now);
        assert_eq!((pulls.len(), pulls[0].draft), (1, false));
        let issue = world.github.issue(now, world.issue).expect("it came along");
        assert_eq!(issue.labels, ["journeyman", "journeyman:done"]);
        assert_eq!(issue.comments.len(), 1, "one status comment: {:#?}", issue.comments);

        // Comments there belong to the same order.
        world.github.merge(now, pulls[0].issue.number, MAINTAINER).await.expect("it is ready");
        world.quiet().await;
        assert_eq!(world.settled().await.word(), "merged");
        world.github.rename_repository(now, REPOSITORY).await.expect("the name is free");
        world.end().await;
    }
}
