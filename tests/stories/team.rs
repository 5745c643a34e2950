//! The pipeline `software-team`: analysis, test cases and specification, then whole files by an engineer, and a tech
//! lead.

use crate::world::Story;
use crate::world::team::{TESTS, analysts, artifact, engineer};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_analysts_at_once_then_whole_files_that_are_written_committed_tested_and_reviewed() {
    let lead = r#"
- stage: tech_lead
  role: tech_lead
  usd: 0.02
  run: |
    case "$(cat)" in *'+echo 42'*'1 passed'*) passed=true ;; *) passed=false ;; esac
    echo "{\"passed\": $passed, \"score\": 1, \"summary\": \"Seen and liked.\", \"issues\": []}"
"#;
    let scenes = analysts() + &engineer(&[artifact("echo 42 # the answer", &["US-002"])]) + lead;
    let world = Story::of(&scenes)
        .file("answer.sh", "echo 41\n")
        .file("test.sh", TESTS)
        .settings(|settings| settings.defaults.pipeline = "software-team".to_owned())
        .labeled()
        .await;
    let ended = world.settled_as("verified").await;

    let (quality, architect) =
        (ended.span("quality_analyst/1/agent"), ended.span("technical_architect/1/agent"));
    assert!(quality.0 < architect.1 && architect.0 < quality.1, "not at once: {quality:?} {architect:?}");
    let analyst = ended.span("business_analyst/1/agent");
    assert!(analyst.1 < quality.0 && analyst.1 < architect.0, "not before there are stories");
    assert_eq!(ended.runs_of("software_engineer"), 1);
    assert!(!ended.moves().iter().any(|name| name.contains("/diagnosis-")));

    let pull = world.pull();
    assert!(!pull.draft);
    assert_eq!(world.handed_over("answer.sh"), "echo 42 # the answer\n");
    assert_eq!(world.handed_over("NOTES.md"), "The answer is what it is.\n");
    assert_eq!(world.handed_over("question"), "How many roads must a man walk down?\n", "the rest stays");
    let tested = ended.projection.trace.work.as_ref().map(|work| work.commit.to_string());
    assert_eq!(Some(&pull.head_sha), tested.as_ref());
    assert_eq!(world.git(&["rev-list", "--count", &format!("main..{}", pull.head)]), "1");
    assert!(pull.issue.body.contains("Seen and liked."), "{}", pull.issue.body);
    world.end().await;
}
