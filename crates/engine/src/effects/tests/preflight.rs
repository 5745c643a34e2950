//! Preflight finds everything that would stop the work, all at once.

use std::time::{Duration, Instant};

use journeyman_agent::{AgentSettings, RuntimeKind};
use journeyman_emulator::FaultKind;
use journeyman_order::{EffectOutcome, Move, Pipeline, Role};
use serde_json::{Value, json};

use super::{EffectsFixture, FixtureOptions, REPOSITORY};

async fn found(world: &EffectsFixture) -> (Vec<String>, Vec<String>) {
    match world.attempt("preflight/1", Move::Preflight).await {
        EffectOutcome::Preflighted { problems, warnings } => (problems, warnings),
        other => panic!("{other:?}"),
    }
}

/// Each of these is in exactly one text, in this order, and there are no other texts.
#[track_caller]
fn said(texts: &[String], expected: &[&str]) {
    let texts_of = |at: usize| texts.get(at).map_or("", String::as_str);
    assert!(
        texts.len() == expected.len()
            && expected.iter().enumerate().all(|(at, part)| texts_of(at).contains(part)),
        "{expected:#?}\n{texts:#?}"
    );
    for text in texts {
        assert!(text.ends_with('.') && !text.contains("\n") && !text.contains("  "), "no sentence: {text:?}");
    }
}

fn command(name: &str, program: &str, env: &[&str]) -> AgentSettings {
    AgentSettings {
        name: name.to_owned(),
        runtime: RuntimeKind::Command,
        program: vec![program.to_owned()],
        env: env.iter().map(|name| (*name).to_owned()).collect(),
        ..AgentSettings::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_all_is_well_nothing_is_said_and_it_is_quick() {
    let world = EffectsFixture::new().await;
    std::fs::write(world.script(), "true").expect("a script");
    let before = world.emulator.calls().len();
    let begun = Instant::now();
    assert_eq!(found(&world).await, (Vec::new(), Vec::new()));
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    let calls = world.emulator.calls();
    let writes: Vec<&str> = calls[before..]
        .iter()
        .filter(|call| call.method != "GET" && !call.path.contains("access_tokens"))
        .map(|call| call.path.as_str())
        .collect();
    assert!(writes.is_empty(), "it only looks: {writes:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_that_github_would_refuse_is_told_at_once() {
    let world = EffectsFixture::new().await;
    std::fs::write(world.script(), "true").expect("a script");
    let emulator = &world.emulator;
    emulator.forbid_branches(REPOSITORY, "journeyman/**").expect("forbidden");
    emulator.add_rule(REPOSITORY, ("**", "required_signatures"), Value::Null, false).expect("a rule");
    emulator
        .add_rule(REPOSITORY, ("**", "pull_request"), Value::Null, true)
        .expect("one that lets us through");
    emulator.add_rule(REPOSITORY, ("main", "creation"), Value::Null, false).expect("no matter to us");
    emulator.add_rule(REPOSITORY, ("**", "non_fast_forward"), Value::Null, false).expect("a rule");
    let name = json!({"operator": "starts_with", "pattern": "feature/", "negate": false});
    emulator.add_rule(REPOSITORY, ("**", "branch_name_pattern"), name, false).expect("a rule");
    emulator.archive(REPOSITORY).expect("archived");
    for permission in ["checks", "pull_requests", "statuses"] {
        emulator.remove_permission(permission);
    }
    let (problems, warnings) = found(&world).await;
    said(
        &problems,
        &[
            "lacks the permission \"Pull requests: Read and write\": grant it",
            "lacks the permission \"Checks: Read and write\": grant it",
            "acme/sums is archived",
            "forbids creating it: let the App bypass it, or leave journeyman/** out of it.",
            "forbids pushing to it",
            "requires signed commits: set signing.key_file and signing.committer so that",
            "has the rule branch_name_pattern: {",
        ],
    );
    said(&warnings, &["\"Commit statuses: Read-only\"", "forbids overwriting it"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_that_github_does_not_answer_are_no_problem() {
    let world = EffectsFixture::new().await;
    std::fs::write(world.script(), "true").expect("a script");
    world.emulator.forbid_branches(REPOSITORY, "journeyman/**").expect("forbidden");
    let refused = FaultKind::Status { code: 403, headers: Vec::new(), body: "{}".to_owned() };
    // It is requested twice.
    for _ in 0..2 {
        world.strike("GET", "/rules/branches", refused.clone());
    }
    world.strike("GET", "/installation", FaultKind::Delay(Duration::from_secs(5)));
    let begun = Instant::now();
    assert_eq!(found(&world).await, (Vec::new(), Vec::new()));
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_programs_credentials_and_commands_are_looked_for() {
    const PIPELINE: &str = "
name: large
version: 1
stages:
  - name: classify
    agent: analyst
    command: classify_issue
    output: {one_of: [/feature, /no-such-kind]}
  - name: work
    depends_on: [classify]
    agent: developer
    command: '{{classify.result}}'
    checks: [pushed_commit, verifier]
    verifier: reviewer
    escalate_on_exhaust: lead
  - name: write
    depends_on: [work]
    agent: writer
    command: no-such-template
";
    let wishes = FixtureOptions {
        settings: "agents: {analyst: absent, developer: keyless, writer: missing, lead: pathless}\n",
        agents: vec![
            command("missing", "no-such-program-anywhere", &[]),
            command("pathless", "/no/such/program", &[]),
            command("keyless", "sh", &["SOME_API_KEY", "SOME_PROXY"]),
            // No stage needs it, so it is not mentioned.
            command("idle", "no-such-program-either", &["OTHER_TOKEN"]),
        ],
        opened: |opened| {
            opened.pipeline = Pipeline::parse(PIPELINE).expect("a pipeline");
            for (name, more) in
                [("reviewer", "review_command: judge-it"), ("analyst", ""), ("writer", ""), ("lead", "")]
            {
                let role = Role::parse(&format!("name: {name}\n{more}\n")).expect("a role");
                opened.roles.insert(name.to_owned(), role);
            }
            opened.limits.usd = 0.0;
        },
    };
    let world = EffectsFixture::with(wishes).await;
    let (problems, warnings) = found(&world).await;
    said(
        &problems,
        &[
            "(for analyst) needs an agent that is not there: no agent \"absent\" in the settings",
            "The agent keyless has no credential: agents.keyless.env asks for SOME_API_KEY, and it is not set",
            "The program \"no-such-program-anywhere\" of the agent missing was not found",
            "The program \"/no/such/program\" of the agent pathless was not found",
            "The agent scripted needs ",
            "Stage work: there is no command template \"judge-it\"",
            "Stage work: there is no command template \"no-such-kind\"; add .github/journeyman/commands/no-such-kind.md",
            "Stage write: there is no command template \"no-such-template\"",
            "The order may spend $0.00, which is nothing",
        ],
    );
    said(&warnings, &[]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_without_tests_is_told_that_nothing_will_be_verified() {
    let world = EffectsFixture::with(FixtureOptions { settings: "{}\n", ..FixtureOptions::default() }).await;
    std::fs::write(world.script(), "true").expect("a script");
    let (problems, warnings) = found(&world).await;
    said(&problems, &[]);
    said(&warnings, &["No test command was found on the base branch"]);
}
