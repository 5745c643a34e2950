//! An effect that kills the server each time that it is tried: its order ends with a word, and the one beside it is finished.

use journeyman::order::{EffectOutcome, JournalEvent};

use super::moment::Moment;
use super::world::{Agent, Ended, PERSON, REPOSITORY, World};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_kills_the_server_each_time_ends_its_own_order_and_not_the_one_beside_it() {
    let world = World::new(Agent::Quick).await;
    let guilty = world.issue;
    let title = "Take the mean of the middle two, again";
    let body = "`sh median.sh 1 2 3 5` prints 3. It should print 2.5.";
    let innocent = world.emulator.open_issue(REPOSITORY, PERSON, title, body).await.expect("an issue");
    let poison = Moment::Poisoned { issue: guilty, effect: "implement/1/tests".to_owned() };
    let mut server = world.start(Some(poison.clone())).await;
    for issue in [guilty, innocent] {
        world.emulator.label(REPOSITORY, issue, "journeyman", PERSON).await.expect("it is labeled");
    }

    let mut deaths = 0;
    while server.ended().await == Ended::Killed {
        deaths += 1;
        assert!(deaths < 10, "it dies again and again: {}", world.said());
        server = world.start(Some(poison.clone())).await;
    }

    assert_eq!(deaths, 5, "{}", world.said());
    let journals = world.journals().await;
    let of = |issue: u64| {
        let found = journals.iter().find(|(journal, _)| journal.opened().issue.number.0 == issue);
        found.expect("it has an order")
    };
    let (_, survey) = of(innocent);
    assert!(survey.surfaces().verified, "{}", world.said());
    let (journal, survey) = of(guilty);
    assert!(survey.next.settled.is_some() && !survey.surfaces().verified);
    let said = journal.entries().iter().find_map(|entry| match &entry.event {
        JournalEvent::Observed { key, outcome } if key.0 == "implement/1/tests" => match &**outcome {
            EffectOutcome::Trouble(trouble) => Some(trouble.message.as_str()),
            _ => None,
        },
        _ => None,
    });
    assert_eq!(
        said,
        Some(
            "the server died 5 times while this was under way, 3 times with nothing beside it; it is not tried again by \
             itself, and /retry tries it once more"
        )
    );
    let comments = world.emulator.issue(REPOSITORY, guilty).expect("the issue").comments;
    assert!(comments.iter().any(|comment| comment.body.contains("the server died 5 times")), "{comments:#?}");
}
