//! From a label to a verified pull request with the real Claude Code, its model scripted on loopback.

use std::path::Path;

use super::model::{BOAST, FILES, ISSUE, Task, reply, task};
use super::server::{REPOSITORY, World};
use crate::claude_code::claude_or_skip;
use crate::model_server::{ModelServer, Request};

const KEY: &str = "sk-ant-no-key-of-anybody";

async fn world(claude: &Path, model: &ModelServer) -> World {
    let claude = claude.canonicalize().expect("the program is there");
    let agents = format!(
        "[agents.claude]\nruntime = \"claude\"\nprogram = [{claude:?}]\n\
         env = [\"ANTHROPIC_API_KEY\", \"ANTHROPIC_BASE_URL\"]\n"
    );
    let environment = [("ANTHROPIC_BASE_URL", model.url()), ("ANTHROPIC_API_KEY", KEY)];
    World::start(&agents, &environment, FILES, ISSUE).await
}

fn of(model: &ModelServer, wanted: Task) -> Vec<Request> {
    model.conversation().into_iter().filter(|request| task(request) == Some(wanted)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_real_claude_code_goes_from_label_to_pull_request_by_a_wrong_fix_and_a_resumed_session() {
    let Some(claude) = claude_or_skip() else { return };
    let model = ModelServer::start(reply);
    let world = world(&claude, &model).await;

    world.label().await;
    let pull = world.ready_pull().await;

    // The published commit is the tested one, and the right fix.
    assert_eq!(world.github.branch_head(REPOSITORY, &pull.head).as_ref(), Some(&pull.head_sha));
    assert!(pull.issue.body.contains(&format!("- Commit: `{}`", pull.head_sha)), "{}", pull.issue.body);
    assert!(pull.issue.body.contains("2 passed"), "{}", pull.issue.body);
    let fixed = world.github.file(REPOSITORY, &pull.head, "total.py").expect("the file");
    assert!(String::from_utf8_lossy(&fixed).contains("sum(numbers)"), "{fixed:?}");
    assert!(pull.head.starts_with(&format!("journeyman/issue-{}-total-of-all-numbers", world.issue)));
    assert_eq!(pull.issue.title, "Sum all numbers in total");
    assert!(world.github.file(REPOSITORY, &pull.head, ".journeyman/plans/issue-1-total.md").is_none());

    // The examiner only saw the issue and the base, and its programs pass.
    let examined = of(&model, Task::Examine);
    assert!(examined.iter().all(|request| !request.prompt().contains("# Plan")), "{examined:#?}");
    let said = "1 of 1 statements of the issue hold, 1 of 1 promises are kept";
    assert!(pull.issue.body.contains(said), "{}", pull.issue.body);

    // The tests rejected the wrong fix despite the agent's claim, and the same session continued.
    let asked = of(&model, Task::Implement);
    let prompt = asked.first().expect("a first round").prompt();
    assert!(prompt.contains("Sums are never rounded here."), "it is told what CLAUDE.md imports: {prompt}");
    let rework = of(&model, Task::Rework);
    let resumed = rework.first().expect("a second round");
    assert_eq!(resumed.prompts().len(), 2, "{:#?}", resumed.prompts());
    for remembered in ["Carry out the plan below", "numbers[:-1]", BOAST, "test_of_some"] {
        assert!(resumed.remembers(remembered), "{remembered:?} is not in the resumed conversation");
    }
    let steps = world.steps().await;
    let is_of_developer = |step: &&serde_json::Value| {
        step["stage"] == "implement" && step["key"].as_str().is_some_and(|key| key.ends_with("/agent"))
    };
    let runs: Vec<_> = steps.iter().filter(is_of_developer).collect();
    assert_eq!(runs.len(), 2, "{steps:#?}");
    assert_eq!(runs[0]["session_id"], runs[1]["session_id"]);

    // The cost on the receipt is positive, and no more than the sum of the steps.
    let parts: f64 = steps.iter().filter_map(|step| step["usage"]["usd"].as_f64()).sum();
    assert!(parts > 0.0, "{steps:#?}");
    assert!(pull.issue.body.contains(&format!("\\${parts:.2}")), "{parts} is not in {}", pull.issue.body);

    let ended = world.stop().await;
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    assert!(!ended.said.contains(KEY));
}
