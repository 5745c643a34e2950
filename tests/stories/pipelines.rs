//! Pipelines and roles of a repository, and of a server.

use crate::world::{MAINTAINER, REPOSITORY, Story, WELL};

const SETTINGS: &str = ".github/journeyman.yml";
const OWN: &str = ".github/journeyman/pipelines/short.yaml";
const POET: &str = ".github/journeyman/agents/poet.yaml";

/// No classification and no plan: a branch, the work, the pull request.
const SHORT: &str = "\
name: short
version: 1
stages:
  - name: branch
    uses: branch
    agent: developer
    command: generate_branch
    arguments: [chore, '{{issue.number}}', '{{issue.title}}', '{{issue.body}}']
  - name: implement
    depends_on: [branch]
    agent: poet
    command: implement
    arguments: ['{{issue.body}}', '{{issue.title}}', '{{issue.body}}', '{{branch.name}}']
    checks: [pushed_commit, tests]
  - name: publish
    depends_on: [implement]
    uses: publish
    agent: developer
    command: create_pull_request
    arguments: ['{{issue.number}}', '{{issue.title}}', '{{issue.body}}', '', '{{implement.changed}}']
  - { name: ready, uses: ready, depends_on: [publish] }
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_pipeline_is_answered_on_the_issue_with_file_line_and_reason() {
    let broken = SHORT.replace("'{{branch.name}}'", "'{{branch.nmae}}'");
    let story = Story::of(WELL).file(SETTINGS, "test: sh test.sh\npipeline: short\n");
    let world = story.file(OWN, &broken).file(POET, "name: poet\n").labeled().await;
    let ended = world.settled_as("failed").await;
    for said in
        ["short.yaml", "line 13", "stage \"implement\"", "branch.nmae", "there is name, result", "/retry"]
    {
        let status = world.status_comment().replace('\\', "");
        assert!(status.contains(said), "{said}: {status}");
    }
    assert_eq!(ended.moves().iter().filter(|name| name.ends_with("/agent")).count(), 0, "nothing was paid");

    // Fix it, and retry.
    let mended = [(OWN.to_owned(), Some(SHORT.as_bytes().to_vec()))].into();
    world.github.push_commit(REPOSITORY, "main", MAINTAINER, "Mend it", mended).await.expect("a push");
    world.comment(MAINTAINER, "/retry").await;
    let ended = world.settled_as("verified").await;
    assert_eq!((ended.runs_of("branch"), ended.runs_of("classify"), ended.runs_of("plan")), (1, 0, 0));
    let stages: Vec<&str> = ended.journal.pipeline().stages.iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!(stages, ["branch", "implement", "publish", "ready"], "pinned in the journal");
    let roles = ended.journal.prepared().map(|prepared| prepared.roles.clone()).unwrap_or_default();
    assert_eq!(roles.into_keys().collect::<Vec<_>>(), ["poet"]);
    world.end().await;
}

/// A pipeline as in other projects: a version as text, names with underscores, a template with more than nine
/// arguments.
const PUBLISHED: &str = "\
name: coding_harness
version: \"1.0\"
stages:
  - name: develop
    agent: developer
    command: develop
    arguments: ['{{issue.title}}', '{{issue.body}}']
    checks: [pushed_commit]
  - name: test
    depends_on: [develop]
    agent: developer
    command: develop
    arguments: ['{{issue.title}}', '{{issue.body}}']
    begins_with: checks
    checks: [pushed_commit, tests]
  - name: review
    depends_on: [test]
    agent: developer
    command: develop
    begins_with: checks
    checks: [verifier]
    verifier: code_reviewer
  - name: write_up
    depends_on: [review]
    agent: archiver
    command: note_it
    arguments: [a, b, c, d, e, f, g, h, '{{develop.code}}', '{{develop.test_files}}', '{{test.test_results}}', '{{review.final_code}}']
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pipeline_that_was_published_elsewhere_runs_as_it_is() {
    let scenes = "
- stage: develop
  usd: 0.05
  run: |
    echo 42 > answer; mkdir tests; echo 'the answer is 42' > tests/answer.txt
    git add . && git commit -q -m 'Give the right answer' && git push -q origin HEAD
  say: The answer is right now.
- stage: write_up
  run: cat
";
    let template = "code: $9\ntest files: ${10}\nresults: ${11}\nfinal: ${12}\nnobody: ${13}\n";
    let world = Story::of(scenes)
        .file(SETTINGS, "test: sh test.sh\npipeline: coding_harness\n")
        .file(".github/journeyman/pipelines/coding_harness.yaml", PUBLISHED)
        .file(".github/journeyman/commands/note_it.md", template)
        .labeled()
        .await;
    let ended = world.settled_as("verified").await;
    let prompt = ended.said("write_up/1/agent");
    for said in [
        "code: diff --git a/answer b/answer",
        "+42\n",
        "\ntest files: tests/answer.txt\n",
        "\nresults: 2 passed",
        "\nfinal: diff --git a/answer b/answer",
        "\nnobody: ${13}",
    ] {
        assert!(prompt.contains(said), "{said}: {prompt}");
    }

    // The step's warning is on the step, in the receipt and in the API.
    let warning = "the template asks for ${13}, but 12 arguments were given";
    let order = ended.journal.opened().order;
    let (_, steps) = world.api("GET", &format!("/api/v1/work-orders/{order}/steps"), None).await;
    let steps = steps["steps"].as_array().cloned().unwrap_or_default();
    let with_warnings: Vec<_> = steps.iter().filter(|step| step.get("warnings").is_some()).collect();
    assert_eq!(with_warnings.len(), 1);
    assert_eq!(with_warnings[0]["stage"], "write_up");
    assert_eq!(with_warnings[0]["warnings"], serde_json::json!([warning]));
    let (_, receipt) = world.api("GET", &format!("/api/v1/work-orders/{order}/receipt"), None).await;
    assert_eq!(receipt["pipeline"], "coding_harness v1.0");
    let rounds = receipt["rounds"].as_array().cloned().unwrap_or_default();
    let told: Vec<_> = rounds.iter().filter_map(|round| round.get("warnings")).collect();
    assert_eq!(told, [&serde_json::json!([warning])]);
    world.end().await;
}
