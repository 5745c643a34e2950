//! `software-team` on a model's HTTP API: no tools, and the engineer sees its last artifact again.

use std::sync::atomic::{AtomicUsize, Ordering};

use journeyman::config::{ApiSettings, Prices, Provider, RuntimeKind};
use serde_json::Value;

use crate::model_server::{ModelServer, Reply, Request};
use crate::world::Story;
use crate::world::team::{TESTS, artifact, specification, stories, test_cases};

const ENGINEER: &str = "Build what the specification says";

/// The first omits a story, the second prints something else, the third is right.
fn artifacts() -> [Value; 3] {
    [
        artifact("echo 42 # the answer", &[]),
        artifact("echo many # the answer", &["US-002"]),
        artifact("echo 42 # the answer", &["US-002"]),
    ]
}

fn answer(request: &Request, built: &AtomicUsize) -> Reply {
    let prompt = request.prompt();
    let says = |words: &str| prompt.contains(words);
    if says(ENGINEER) {
        let artifacts = artifacts();
        let round = built.fetch_add(1, Ordering::SeqCst).min(artifacts.len() - 1);
        // Models wrap their answers in text, and their claims about tests are not believed.
        let mut artifact = artifacts[round].clone();
        artifact["test_result"] = "all passed".into();
        Reply::text(format!("Here it is:\n```json\n{artifact}\n```\n"))
    } else if says("Analyse issue #") {
        Reply::text(stories().to_string())
    } else if says("Write the test cases for the stories") {
        Reply::text(test_cases().to_string())
    } else if says("Write the technical specification") {
        Reply::text(specification().to_string())
    } else if says("A submission is clean") {
        Reply::text(r#"{"passed": true, "score": 1, "summary": "As specified.", "issues": []}"#)
    } else {
        Reply::text("Give the right answer\n\nIt is printed now.")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engineer_without_memory_is_given_its_last_artifact_and_the_end_of_the_output() {
    let built = AtomicUsize::new(0);
    let model = ModelServer::start(move |request| answer(request, &built));
    let api = ApiSettings {
        provider: Provider::OpenAi,
        base_url: format!("{}/v1", model.url()).parse().expect("an address"),
        model: "loopback".to_owned(),
        key_env: None,
        max_output_tokens: 4000,
        prices: Prices::default(),
    };
    let world = Story::of("")
        .file("answer.sh", "echo 41\n")
        .file("test.sh", TESTS)
        .settings(move |settings| {
            settings.defaults.pipeline = "software-team".to_owned();
            for agent in settings.agents.values_mut() {
                agent.runtime = RuntimeKind::Api(Box::new(api.clone()));
                agent.resumes = false;
            }
        })
        .labeled()
        .await;
    let ended = world.settled_as("verified").await;

    assert_eq!((ended.runs_of("software_engineer"), ended.judged_of("tech_lead")), (3, 1));
    let requests = model.requests();
    let prompts: Vec<String> =
        requests.iter().map(Request::prompt).filter(|prompt| prompt.contains(ENGINEER)).collect();
    let [first, second, third] = &prompts[..] else { panic!("{} prompts", prompts.len()) };
    for given in ["US-001", "US-002", "TC-001", "NOTES.md says why", "echo 41"] {
        assert!(first.contains(given), "{given:?} is not given: {first}");
    }
    assert!(!first.contains("attempt 2"), "{first}");
    assert!(second.contains("attempt 2 of 3") && second.contains("no file covers US-002"), "{second}");
    assert!(second.contains(&artifacts()[0]["files"][0]["content"].to_string()), "{second}");

    // The previous artifact in full, and the last 3,000 characters of the tests' output.
    for file in artifacts()[1]["files"].as_array().expect("files") {
        assert!(third.contains(&file.to_string()), "{file} is not in {third}");
    }
    for told in ["expected 42, found many", "line 200 of the search", "not ok 1 - the answer is right"] {
        assert!(third.contains(told), "{told:?}: {third}");
    }
    assert!(!third.contains("line 90 of the search"), "no more than the end: {third}");
    let shown =
        third.matches(" of the search").count() * "# looking for the answer, line 100 of the search\n".len();
    assert!((2_700..=3_000).contains(&shown), "{shown} characters of the output");

    assert_eq!(world.handed_over("answer.sh"), "echo 42 # the answer\n");
    assert!(!world.pull().draft);
    assert!(!world.pull().issue.body.contains("all passed"), "{}", world.pull().issue.body);
    world.end().await;
}
