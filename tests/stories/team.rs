//! The pipeline `software-team`: analysis, test cases and specification, then whole files from an engineer, and a
//! tech lead.

use crate::world::judges::{diagnoses, finds, says};
use crate::world::team::{TESTS, analysts, artifact, artifact_with, engineer};
use crate::world::{Ended, Story, World};

const RIGHT: &str = "echo 42 # the answer";

/// The tech lead looks at what is clean.
fn content() -> String {
    finds("tech_lead", "tech_lead", None, &[])
}

fn team(scenes: &str) -> Story {
    Story::of(scenes)
        .file("answer.sh", "echo 41\n")
        .file("test.sh", TESTS)
        .settings(|settings| settings.defaults.pipeline = "software-team".to_owned())
}

async fn told(scenes: &str) -> (World, Ended) {
    let world = team(scenes).labeled().await;
    let ended = world.settled().await;
    (world, ended)
}

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
    let (world, ended) = told(&(analysts() + &engineer(&[artifact(RIGHT, &["US-002"])]) + lead)).await;

    assert_eq!(ended.word(), "verified", "{}", ended.because());
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
    let tested = ended.survey.trace.work.as_ref().map(|work| work.commit.to_string());
    assert_eq!(Some(&pull.head_sha), tested.as_ref());
    assert_eq!(world.git(&["rev-list", "--count", &format!("main..{}", pull.head)]), "1");
    assert!(pull.issue.body.contains("Seen and liked."), "{}", pull.issue.body);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_artifact_that_covers_not_every_story_is_sent_back_before_anything_is_written() {
    let engineer = engineer(&[artifact(RIGHT, &[]), artifact(RIGHT, &["US-002"])]);
    let (world, ended) = told(&(analysts() + &engineer + &content())).await;

    assert_eq!(ended.word(), "verified", "{}", ended.because());
    assert_eq!(ended.runs_of("software_engineer"), 2);
    let moves = ended.moves();
    assert!(!moves.iter().any(|name| name == "software_engineer/1/write"), "{moves:?}");
    let first = ended.survey.trace.stages.iter().find(|stage| stage.name == "software_engineer");
    let first = first.and_then(|stage| stage.rounds.first()).and_then(|round| round.feedback.clone());
    assert!(first.as_ref().is_some_and(|said| said.summary.contains("US-002")), "{first:?}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tech_lead_who_objects_to_a_clean_submission_gets_another() {
    let again = artifact("echo 42 # the answer, as it was computed", &["US-002"]);
    let scenes = analysts()
        + &engineer(&[artifact(RIGHT, &["US-002"])])
        + &finds("tech_lead", "tech_lead", Some(1), &["It does not say where it is from."])
        + &content()
        + &says("tech_lead", "software_engineer", None, &again);
    let (world, ended) = told(&scenes).await;

    assert_eq!(ended.word(), "verified", "{}", ended.because());
    assert_eq!((ended.judged_of("tech_lead"), ended.runs_of("tech_lead")), (2, 1));
    assert_eq!(world.handed_over("answer.sh"), "echo 42 # the answer, as it was computed\n");
    assert!(!world.pull().draft);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stuck_engineer_is_diagnosed_by_the_tech_lead() {
    let wrong = ["echo many # words", "echo lots # words", "echo plenty # words"];
    let mut answers: Vec<_> = wrong.iter().map(|body| artifact(body, &["US-002"])).collect();
    answers.push(artifact(RIGHT, &["US-002"]));
    let lead = diagnoses("software_engineer", "guide", "It answers in words.", "Print digits.");
    let (world, ended) = told(&(analysts() + &engineer(&answers) + &lead + &content())).await;

    assert_eq!(ended.word(), "verified", "{}", ended.because());
    assert_eq!((ended.runs_of("software_engineer"), ended.judged_of("software_engineer")), (4, 1));
    assert_eq!((ended.runs_of("tech_lead"), ended.judged_of("tech_lead")), (0, 1), "and then reviewed");
    assert_eq!(world.handed_over("answer.sh"), "echo 42 # the answer\n");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_artifact_that_leads_out_of_the_tree_is_never_written() {
    for path in ["../x", ".git/hooks/post-checkout", "a/../../x", "/etc/x"] {
        let engineer = engineer(&[artifact_with(path)]);
        let flag = diagnoses("software_engineer", "flag", "It wants out.", "");
        let (world, ended) = told(&(analysts() + &engineer + &flag)).await;
        assert_eq!(ended.word(), "blocked", "{path}: {}", ended.because());
        let moves = ended.moves();
        assert!(!moves.iter().any(|name| name.contains("/write") || name.contains("/import")), "{moves:?}");
        assert!(world.pulls().is_empty() && world.branches().is_empty(), "{path}");
        world.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_artifact_that_touches_what_guards_the_repository_gets_no_further_than_the_airlock() {
    let engineer = engineer(&[artifact_with(".github/workflows/x.yml"), artifact(RIGHT, &["US-002"])]);
    let (world, ended) = told(&(analysts() + &engineer + &content())).await;

    assert_eq!(ended.word(), "verified", "{}", ended.because());
    let first = ended.survey.trace.stages.iter().find(|stage| stage.name == "software_engineer");
    let first = first.and_then(|stage| stage.rounds.first()).and_then(|round| round.feedback.clone());
    assert!(first.as_ref().is_some_and(|said| said.summary.contains(".github/workflows/x.yml")), "{first:?}");
    assert_eq!(world.handed_over(".github/workflows/x.yml"), "");
    assert_eq!(world.handed_over("answer.sh"), "echo 42 # the answer\n");
    world.end().await;
}
