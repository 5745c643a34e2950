//! Killed while an agent is working: its output so far is on disk. A final result is not paid for twice; without one
//! its session is resumed.

use std::fs;
use std::time::{Duration, Instant};

use journeyman::order::{AgentRun, EffectOutcome, Journal, JournalEvent};

use super::every_moment::undisturbed;
use super::hold::result;
use super::world::{Agent, Ended, PATIENCE, World};

/// Works, prints its result, and keeps running, like programs with background children.
const LIVES_ON: &str = r#"run="$JOURNEYMAN_STAGE/$JOURNEYMAN_ROUND"
case "$JOURNEYMAN_ROLE" in code_reviewer | tech_lead) run="$run/$JOURNEYMAN_ROLE" ;; esac
echo "begun $run" >> "$HOME/diary"
"$@"
echo "ended $run" >> "$HOME/diary"
if [ "$run" = implement/1 ]; then sleep 600; fi
"#;

/// Prints its session and thinks forever; the second time it works.
const THINKS_FOR_EVER: &str = r#"run="$JOURNEYMAN_STAGE/$JOURNEYMAN_ROUND"
case "$JOURNEYMAN_ROLE" in code_reviewer | tech_lead) run="$run/$JOURNEYMAN_ROLE" ;; esac
echo "begun $run" >> "$HOME/diary"
if [ "$run" = implement/1 ]; then
    echo "${JOURNEYMAN_SESSION:-none}" >> "$HOME/sessions"
    times=$(wc -l < "$HOME/sessions")
    tee "$HOME/prompt-$times" > "$HOME/prompt"
    if [ "$times" = 1 ]; then
        echo '{"type":"system","subtype":"init","session_id":"s-77"}'
        echo ready > "$HOME/ready"
        sleep 600
    fi
    "$@" < "$HOME/prompt"
else
    "$@"
fi
echo "ended $run" >> "$HOME/diary"
"#;

/// Waits until the order's folder contains this.
async fn until(world: &World, what: &str, is_there: impl Fn(&std::path::Path) -> bool) {
    let begun = Instant::now();
    while !world.orders().iter().any(|order| is_there(order)) {
        assert!(begun.elapsed() < PATIENCE, "{what} does not come: {}", world.said());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The observed result of the developer's first round.
fn first_fix(journal: &Journal) -> AgentRun {
    let mut runs = journal.entries().iter().filter_map(|entry| match &entry.event {
        JournalEvent::Observed { key, outcome } if key.0 == "implement/1/agent" => match &**outcome {
            EffectOutcome::AgentRan(run) => Some((**run).clone()),
            other => panic!("{other:?}"),
        },
        _ => None,
    });
    let run = runs.next().expect("it ran");
    assert!(runs.next().is_none(), "it is recorded once");
    run
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_between_an_agents_last_word_and_the_record_of_it_it_is_not_paid_twice() {
    let (_, expected) = undisturbed().await;
    let world = World::new(Agent::Quick).await;
    fs::write(world.path("agent.sh"), LIVES_ON).expect("an agent");
    let mut first = world.start(None).await;
    world.label().await;
    let stream = "runs/implement-1-agent.1/stream.jsonl";
    let is_said = |order: &std::path::Path| {
        let stream = fs::read_to_string(order.join(stream)).unwrap_or_default();
        stream.lines().any(|line| line.contains(r#""type":"result""#)) && stream.ends_with('\n')
    };
    until(&world, "the last word", is_said).await;

    first.kill().await;

    assert!(world.sandboxes_end(Duration::from_secs(3)).await.is_empty());
    assert!(!world.remembered().contains("implement-1-agent.1"), "it was not recorded");
    let mut second = world.start(None).await;
    assert_eq!(second.ended().await, Ended::Code(0), "{}", world.said());
    let result = result(&world).await.unwrap_or_else(|wrong| panic!("{wrong}\n{}", world.said()));
    assert_eq!(result, expected, "the same work for the same money");
    let begun = world.runs().begun;
    assert!(begun.values().all(|times| *times == 1), "no agent ran twice: {begun:?}");
    let (journal, _) = world.journals().await.remove(0);
    let run = first_fix(&journal);
    assert_eq!((run.usage.usd, run.result.as_deref()), (0.06, Some("I fixed it. All tests pass.")));
    assert_eq!(
        run.warnings,
        [
            "the server ended after its last word: this was read from its stream, and what it used is what it says itself"
        ]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_before_an_agents_last_word_it_goes_on_in_its_session() {
    let world = World::new(Agent::Quick).await;
    fs::write(world.path("agent.sh"), THINKS_FOR_EVER).expect("an agent");
    let mut killed = world.start(None).await;
    world.label().await;
    until(&world, "the agent", |order| order.join("home.upper/ready").exists()).await;
    let stream = "runs/implement-1-agent.1/stream.jsonl";
    let is_said = |order: &std::path::Path| {
        fs::read_to_string(order.join(stream)).is_ok_and(|said| said.contains("s-77"))
    };
    until(&world, "the session", is_said).await;
    killed.kill().await;
    assert!(world.sandboxes_end(Duration::from_secs(3)).await.is_empty());

    let mut last = world.start(None).await;

    assert_eq!(last.ended().await, Ended::Code(0), "{}", world.said());
    result(&world).await.unwrap_or_else(|wrong| panic!("{wrong}\n{}", world.said()));
    let home = world.orders().remove(0).join("home.upper");
    let read = |name: &str| fs::read_to_string(home.join(name)).expect("it was written");
    assert_eq!(read("sessions"), "none\ns-77\n");
    let (prompt, again) = (read("prompt-1"), read("prompt-2"));
    assert!(prompt.contains("Take the mean of the middle two"), "{prompt}");
    assert!(again.contains("You were cut off while you worked on this"), "{again}");
    assert!(again.contains("Take the mean of the middle two"), "the task is said again: {again}");
    let begun = world.runs().begun;
    assert_eq!(begun.get("implement/1"), Some(&2), "{begun:?}");
    assert!(begun.iter().all(|(run, times)| run == "implement/1" || *times == 1), "{begun:?}");
    let (journal, _) = world.journals().await.remove(0);
    assert_eq!(first_fix(&journal).session_id.as_deref(), Some("s-77"));
}
