//! What a runtime without tools or memory gets.

use std::collections::BTreeMap;

use super::{EffectsFixture, REPOSITORY, key, name};
use journeyman_agent::{AgentSettings, Agents, ApiSettings, Prices, Runtime, RuntimeKind};
use journeyman_order::model_service::Provider;
use journeyman_order::moves::{AgentAnswerFormat, AgentTask, Rework};
use journeyman_order::{AgentRun, Category, EffectOutcome, Feedback, JournalEvent};
use journeyman_workspace::Outline;

pub(super) fn api() -> Agents {
    let settings = ApiSettings {
        provider: Provider::OpenAi,
        base_url: "http://127.0.0.1:1/v1".parse().unwrap(),
        model: "some-model".to_owned(),
        key_env: None,
        max_output_tokens: 1_000,
        prices: Prices::default(),
    };
    let settings = AgentSettings {
        name: "engineer".to_owned(),
        runtime: RuntimeKind::Api(Box::new(settings)),
        ..AgentSettings::default()
    };
    Agents::new([("engineer".to_owned(), settings)].into(), &Default::default()).unwrap()
}

impl EffectsFixture {
    pub(super) async fn given(&self, task: AgentTask, runtime: &Runtime) -> BTreeMap<String, String> {
        let context = self.context("work/2/agent").await;
        context.with_what_it_needs(task, runtime).await.unwrap().inputs
    }

    async fn outline(&self, named: &str, budget: usize) -> Outline {
        let base = self.journal().await.prepared().unwrap().base.clone();
        self.parts.workspaces.outline(&name(), &base, named, budget).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_without_tools_is_shown_the_tree_and_the_files_that_are_named() {
    let world = EffectsFixture::new().await;
    let agents = api();
    let runtime = agents.get("engineer").unwrap();
    let task = || AgentTask {
        answers: AgentAnswerFormat::CodeArtifact,
        inputs: BTreeMap::from([("specification".to_owned(), "Mend `add` in sums.py.".to_owned())]),
        ..world.task()
    };
    let inputs = world.given(task(), runtime).await;
    assert_eq!(
        inputs.keys().collect::<Vec<_>>(),
        ["specification", "the repository's files", "the repository's tree"]
    );
    assert!(
        inputs["the repository's tree"].contains(": 4 files.")
            && inputs["the repository's tree"].contains("24000 tokens"),
        "{inputs:?}"
    );
    assert!(
        inputs["the repository's tree"].ends_with("\n\n.github/journeyman.yml\nREADME.md\nrun.sh\nsums.py\n"),
        "{inputs:?}"
    );
    assert_eq!(
        inputs["the repository's files"],
        "The files that your task names, each whole.\n\n=== sums.py ===\ndef add(a, b):\n    return a - b\n"
    );
    // Later it gets the current state of the work, and the files that the feedback names.
    let script = "sed -i 's/a - b/a + b/' sums.py; git commit -qam 'Mend the sum of two'; git push -q";
    world.agent("work/1/agent", world.task(), script).await;
    world.import("work/1").await;
    let rework = Rework {
        feedback: vec![Feedback::failed(Category::TestFailure, "see README.md:1")],
        ..Rework::default()
    };
    let inputs = world.given(AgentTask { rework: Some(rework), ..task() }, runtime).await;
    assert!(
        inputs["the repository's files"].contains("return a + b\n\n=== README.md ===\nSums\n")
            || inputs["the repository's files"]
                .contains("=== README.md ===\nSums\n\n=== sums.py ===\ndef add(a, b):\n    return a + b\n"),
        "{inputs:?}"
    );
    // An agent with tools looks for itself.
    let program = world.parts.agents.get(super::AGENT).unwrap();
    assert_eq!(world.given(task(), program).await.len(), 1);
    let freely = AgentTask { answers: AgentAnswerFormat::Freely, ..task() };
    assert_eq!(world.given(freely, runtime).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runtime_without_a_memory_is_told_its_answer_before() {
    let world = EffectsFixture::new().await;
    let agents = api();
    let runtime = agents.get("engineer").unwrap();
    let said = "I did it.".to_owned();
    let run = AgentRun { result: Some(said.clone()), ..AgentRun::default() };
    let outcome = Box::new(EffectOutcome::AgentRan(Box::new(run)));
    world.write(JournalEvent::Observed { key: key("work/1/agent"), outcome }).await;
    let task = || AgentTask { previous: Some(key("work/1/agent")), ..world.task() };
    let inputs = world.given(task(), runtime).await;
    assert_eq!(inputs["your previous answer"], said);
    // A session remembers it, and a run that never answered has no answer to show.
    let session = AgentTask { session: Some("s-1".to_owned()), ..task() };
    assert!(world.given(session, runtime).await.is_empty());
    let other = AgentTask { previous: Some(key("work/0/agent")), ..task() };
    assert!(world.given(other, runtime).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outline_keeps_its_budget() {
    let world = EffectsFixture::new().await;
    assert_eq!(world.emulator.branches(REPOSITORY).len(), 1);
    let whole = world.outline("sums.py and README.md", 10_000).await;
    assert_eq!((whole.total, whole.paths.len(), whole.files.len(), whole.left_out.len()), (4, 4, 2, 0));
    let small = world.outline("sums.py and README.md", 50).await;
    assert_eq!(small.paths, ["… and 4 more"]);
    assert_eq!(small.files, [("README.md".to_owned(), "Sums\n".to_owned())]);
    assert_eq!(small.left_out, ["sums.py: no room"]);
}
