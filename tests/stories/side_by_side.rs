//! Stages that do not depend on one another are worked on at the same time, each at a place of its own.

use journeyman::order::{Journal, JournalEvent};

use crate::world::{Ended, Story, WELL, World};

const TEAM: &str = "\
name: team
version: 1
stages:
  - { name: specify, agent: technical_architect, command: work, output: text }
  - { name: test_cases, agent: quality_analyst, command: work, output: text }
  - name: branch
    depends_on: [specify, test_cases]
    uses: branch
    agent: developer
    command: generate_branch
    arguments: [chore, '{{issue.number}}', '{{specify.result}}', '{{test_cases.result}}']
  - name: implement
    depends_on: [branch]
    agent: developer
    command: implement
    arguments: ['{{specify.result}}', '{{issue.title}}', '{{issue.body}}', '{{branch.name}}']
    checks: [pushed_commit, tests]
  - name: publish
    depends_on: [implement]
    uses: publish
    agent: developer
    command: create_pull_request
    arguments: ['{{issue.number}}', '{{issue.title}}', '{{issue.body}}', '', '{{implement.changed}}']
  - { name: ready, uses: ready, depends_on: [publish] }
";

/// Each says what it sees of the other, which is nothing, and one takes longer.
const LOOK: &str = r#"
- stage: specify
  usd: 0.01
  run: echo once >> "$HOME/diary"; pwd; cat answer; ls ../../test_cases.quality_analyst 2>&1 | tail -n 1
- stage: test_cases
  usd: 0.02
  think: 1500
  run: echo begun >> "$HOME/diary"; pwd; cat answer
"#;

fn story() -> Story {
    Story::of(&format!("{LOOK}{WELL}"))
        .file(".github/journeyman.yml", "test: sh test.sh\npipeline: team\n")
        .file(".github/journeyman/pipelines/team.yaml", TEAM)
}

/// Where an effect was first intended and first observed.
fn places(journal: &Journal, name: &str) -> (Option<u64>, Option<u64>) {
    let (mut intended, mut observed) = (None, None);
    for entry in journal.entries() {
        match &entry.event {
            JournalEvent::Intended { key, .. } if key.0 == name => drop(intended.get_or_insert(entry.seq)),
            JournalEvent::Observed { key, .. } if key.0 == name => drop(observed.get_or_insert(entry.seq)),
            JournalEvent::Opened(_)
            | JournalEvent::Signaled { .. }
            | JournalEvent::Intended { .. }
            | JournalEvent::Observed { .. } => {}
        }
    }
    (intended, observed)
}

fn hold_to_what_was_done(world: &World, ended: &Ended) {
    assert_eq!(ended.word(), "verified", "{}", ended.because());
    for stage in ["specify", "test_cases", "branch", "implement", "publish"] {
        assert_eq!(ended.runs_of(stage), 1, "{stage} was paid once");
    }
    let specified = ended.said("specify/1/agent");
    let seen: Vec<&str> = specified.lines().collect();
    let [place, answer, other] = seen[..] else { panic!("{specified}") };
    assert_eq!(place, "/workspace/work");
    assert_eq!(answer, "41", "the base as it is");
    assert!(other.contains("No such file"), "nothing is seen of the other: {other}");
    assert_eq!(world.branches().len(), 1);
    assert!(!world.pull().draft);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stages_are_worked_on_at_the_same_time() {
    let world = story().labeled().await;
    let ended = world.settled().await;
    hold_to_what_was_done(&world, &ended);
    let (one, other) =
        (places(&ended.journal, "specify/1/agent"), places(&ended.journal, "test_cases/1/agent"));
    assert!(one.0 < other.1 && other.0 < one.1, "both had begun before one was done: {one:?} {other:?}");
    world.end().await;
}
