//! A model's API with a key, and where the key goes.

use super::model::{FILES, ISSUE, Task, reply, task};
use super::server::{REPOSITORY, World};
use crate::model_server::{ModelServer, Reply};

const KEY: &str = "sk-no-key-of-anybody";

#[tokio::test(flavor = "multi_thread")]
async fn the_key_goes_to_the_service_and_is_nowhere_else_even_if_the_service_repeats_it() {
    let model = ModelServer::start(|request| match task(request) {
        Some(Task::Classify) => reply(request),
        Some(_) | None => Reply::Refuse {
            status: 403,
            kind: "permission_error",
            message: format!("the key {KEY} may not do this"),
        },
    });
    let agents = format!(
        "[agents.claude]\nruntime = \"api\"\nprovider = \"anthropic\"\nmodel = \"claude-sonnet-4-5\"\n\
         key_env = \"STORY_KEY\"\nbase_url = \"{}\"\n",
        model.url()
    );
    let world = World::start(&agents, &[("STORY_KEY", KEY)], FILES, ISSUE).await;

    world.label().await;
    let status = world.status_that_says("Failed").await;

    for words in ["403", "the key \\[STORY\\_KEY\\] may not do this", "agents.claude.key\\_env"] {
        assert!(status.contains(words), "{words:?} is not in: {status}");
    }
    assert!(model.requests().iter().all(|request| request.has_key));
    let steps = world.steps().await;
    let first = steps.iter().find(|step| step["stage"] == "classify").expect("the first stage");
    assert_eq!(first["result"], "/bug", "{steps:#?}");
    assert!(first["usage"]["usd"].as_f64().is_some_and(|usd| usd > 0.0), "{steps:#?}");
    assert!(world.github.pulls(REPOSITORY).is_empty());
    assert!(!status.contains(KEY));
    let files = world.files_that_hold(KEY);
    assert!(files.is_empty(), "{files:?}");
    assert!(!world.files_that_hold("may not do this").is_empty(), "its journal is among them");
    let ended = world.stop().await;
    assert!(ended.code == Some(0) && !ended.said.contains(KEY), "{}", ended.said);
}
