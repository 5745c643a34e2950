//! An effect that always kills the server ends its own order with a message; other orders continue.

use journeyman::order::{EffectOutcome, JournalEvent};

use super::moment::Moment;
use super::serve;
use super::world::{Agent, Ended, PERSON, REPOSITORY, World};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_effect_that_kills_the_server_three_times_ends_its_order_and_the_other_orders_go_on() {
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

    assert_eq!(deaths, 3, "{}", world.said());
    let journals = world.journals().await;
    let of = |issue: u64| {
        let found = journals.iter().find(|(journal, _)| journal.opened().issue.number.0 == issue);
        found.expect("it has an order")
    };
    let (_, projection) = of(innocent);
    assert!(projection.surfaces().verified, "{}", world.said());
    let (journal, projection) = of(guilty);
    assert!(projection.next.settled.is_some() && !projection.surfaces().verified);
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
            "implement/1/tests was interrupted 3 times in a row, as when the server crashes. Journeyman does not repeat it by \
             itself; /retry tries it once more"
        )
    );
    let comments = world.emulator.issue(REPOSITORY, guilty).expect("the issue").comments;
    assert!(
        comments.iter().any(|comment| comment.body.contains("was interrupted 3 times in a row")),
        "{comments:#?}"
    );

    // The effect no longer kills.
    let _server = serve::start(&world).await;
    world.emulator.comment(REPOSITORY, guilty, PERSON, "/retry").await.expect("it is said");
    serve::run_to_the_end(&world).await;
}
