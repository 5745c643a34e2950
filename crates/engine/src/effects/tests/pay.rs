//! What a run costs counts against the day, and is in the ledger whenever the server ends.

use std::sync::Arc;

use super::{EffectsFixture, FixtureOptions};
use journeyman_order::{EffectOutcome, GivenChange, Move, PullNumber, UserId};

/// Reports its cost, and that it ran.
const DEAR: &str = r#"
echo ran >> "$HOME/runs"
echo '{"type": "result", "subtype": "success", "is_error": false, "result": "done", "session_id": "s", "total_cost_usd": 0.4}'
"#;

async fn world(usd: f64) -> EffectsFixture {
    let mut world = EffectsFixture::new().await;
    let mut parts = (*world.parts).clone();
    parts.settings.limits.per_day.repository.usd = Some(usd);
    world.parts = Arc::new(parts);
    world
}

fn runs(world: &EffectsFixture) -> usize {
    let runs = std::fs::read_to_string(world.places().root.join("home.upper/runs")).unwrap_or_default();
    runs.lines().count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_started_that_the_day_does_not_allow() {
    let world = world(0.7).await;
    std::fs::write(world.script(), DEAR).expect("a script");
    let task = || Move::RunAgent(world.task());
    // The server ends after the run but before the report: the run is recalled and counted once.
    for _ in 0..2 {
        let ran = world.attempt("work/1/agent", task()).await;
        assert!(matches!(&ran, EffectOutcome::AgentRan(run) if run.usage.usd == 0.4), "{ran:?}");
    }
    let EffectOutcome::BudgetSpent { because } = world.attempt("work/2/agent", task()).await else {
        panic!("0.40 and about 0.40 are over 0.70")
    };
    assert!(because.contains("$0.40 of today's $0.70 for this repository are spent"), "{because}");
    assert!(because.contains("the next run costs about $0.40"), "{because}");
    assert_eq!(runs(&world), 1, "neither was run");
}

/// Each push to it costs something, and the settings may be all that asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verification_counts_against_the_pull_requests_author() {
    let options = FixtureOptions {
        opened: |opened| {
            opened.change = Some(GivenChange {
                pull: PullNumber(opened.issue.number.0),
                url: "u".to_owned(),
                head: "6113728f27ae82c7b1a177c8d03f9e96e0adf246".parse().expect("a commit"),
                base: "main".to_owned(),
                author: "eve".to_owned(),
                author_id: Some(UserId(66)),
                fork: None,
                closes: None,
                merge_group: false,
                continued: None,
            });
        },
        ..FixtureOptions::default()
    };
    let mut world = EffectsFixture::with(options).await;
    let mut parts = (*world.parts).clone();
    parts.settings.limits.per_day.sender.usd = Some(0.7);
    world.parts = Arc::new(parts);
    std::fs::write(world.script(), DEAR).expect("a script");
    let ran = world.attempt("work/1/agent", Move::RunAgent(world.task())).await;
    assert!(matches!(ran, EffectOutcome::AgentRan(_)), "{ran:?}");
    let spent = world.attempt("work/2/agent", Move::RunAgent(world.task())).await;
    let EffectOutcome::BudgetSpent { because } = spent else { panic!("0.40 and about 0.40 are over 0.70") };
    assert!(because.contains("$0.40 of today's $0.70 for what one person asks for"), "{because}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_could_not_begin_has_cost_nothing() {
    let world = world(0.5).await;
    std::fs::write(world.script(), DEAR).expect("a script");
    // A folder where the stream's file belongs.
    let folder = world.places().runs.join("work-1-agent.1");
    std::fs::create_dir_all(folder.join("stream.jsonl")).expect("a folder");
    let trouble = world.attempt("work/1/agent", Move::RunAgent(world.task())).await;
    assert!(matches!(trouble, EffectOutcome::Trouble(_)), "{trouble:?}");
    let ran = world.attempt("work/2/agent", Move::RunAgent(world.task())).await;
    assert!(matches!(ran, EffectOutcome::AgentRan(_)), "{ran:?}");
    assert_eq!(runs(&world), 1);
}
