//! Everyone who works on a repository gets its environment: the agent and the reviewer can run the tests, and what they
//! damage there stays in their own layer.

use std::path::Path;

use journeyman_test_support::archives::TestImage;
use journeyman_test_support::local_registry::LocalRegistry;
use journeyman_test_support::root::{copy_libraries, copy_programs};

use crate::images::image_with;
use crate::world::{Story, WELL};

const SETTINGS: &str = ".github/journeyman.yml";

/// A package that the tests need, installed as pip would, without a registry.
const PYTHON: &str = r#"
setup: |
  python3 -m venv --without-pip .venv
  echo 'ANSWER = 42' > "$(.venv/bin/python -c 'import site; print(site.getsitepackages()[0])')/oracle.py"
test: .venv/bin/python -m unittest -v
"#;
const PYTHON_TEST: &str = "
import oracle, unittest
class TestAnswer(unittest.TestCase):
    def test_answer(self):
        self.assertEqual(int(open('answer').read()), oracle.ANSWER)
";

/// Runs the tests, fixes, runs them again, and damages the installed package after pushing.
const WORK: &str = r#"
- stage: implement
  run: |
    TEST >/dev/null 2>&1 && echo green before || echo red before
    echo 42 > answer
    TEST >/dev/null 2>&1 && echo green after || echo red after
    git add -A && git status --short
    git commit -q -m 'Give the right answer' && git push -q origin HEAD
    find . -name 'oracle.*' -exec sh -c 'echo poison > "$1"' - {} \; ; TEST >/dev/null 2>&1 || echo spoiled
- stage: review
  role: code_reviewer
  run: |
    TEST >/dev/null 2>&1 && said=green || said=red
    echo 41 > answer; TEST >/dev/null 2>&1 && wrong=green || wrong=red
    printf '{"passed": true, "score": 1, "summary": "%s, and %s with the old answer", "issues": []}' "$said" "$wrong"
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_and_a_reviewer_run_the_tests_of_python_where_they_work() {
    let story = Story::of(&WORK.replace("TEST", ".venv/bin/python -m unittest -v")).file(SETTINGS, PYTHON);
    let story = story.file("test_answer.py", PYTHON_TEST).file(".gitignore", "__pycache__\n");
    let world = story.without("test.sh").labeled().await;
    let ended = world.settled_as("verified").await;

    let said = ended.said("implement/1/agent");
    let seen: Vec<&str> = said.lines().collect();
    assert_eq!(seen, ["red before", "green after", "M  answer", "spoiled"]);
    let judged = ended.said("review/1/verify-1");
    assert!(judged.contains("green, and red with the old answer"), "{judged}");
    assert_eq!(world.git(&["show", &format!("{}:answer", world.pull().head)]), "42");
    world.end().await;
}

/// An image in which these stories' agents can start and export their work.
fn image_for_agents(word: &str) -> TestImage {
    image_with(word, |root| {
        copy_programs(root, &["git", "git-receive-pack", "git-upload-pack", "find"]);
        copy_libraries(root, Path::new(env!("CARGO_BIN_EXE_journeyman")));
    })
}

const DEVCONTAINER: &str = r#"{
    // By a comment, as people write it.
    "image": "IMAGE",
    "containerEnv": { "WORD": "of the container" },
    "postCreateCommand": "echo \"$TOOL $WORD\" >/opt/answer",
}"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_development_container_is_what_agents_and_tests_work_in() {
    let registry = LocalRegistry::start();
    let image = image_for_agents("container");
    let name = registry.push("team/container", "1", &image).await;
    let test = "[ \"$(cat answer) of the image of the container\" = \"42 $(cat /opt/answer)\" ] && echo '1..1
ok 1 - answer' && exit; echo '1..1
not ok 1 - answer'; exit 1";
    let story = Story::of(
        &WORK.replace("TEST", "sh test.sh").replace("; sh test.sh >/dev/null 2>&1 || echo spoiled", ""),
    );
    let story = story.file(".devcontainer/devcontainer.json", &DEVCONTAINER.replace("IMAGE", &name));
    let story = story.file(SETTINGS, "test: sh test.sh\n").file("test.sh", test);
    let world = story.labeled().await;
    let ended = world.settled_as("verified").await;
    let said = ended.said("implement/1/agent");
    assert_eq!(
        said.lines().take(3).collect::<Vec<_>>(),
        ["red before", "green after", "M  answer"],
        "{said}"
    );
    let report = ended.projection.trace.environment.as_ref().expect("a report");
    assert_eq!(
        report.source,
        "the development container `.devcontainer/devcontainer.json`, since `.github/journeyman.yml` has neither image nor setup"
    );
    assert_eq!(
        report.image.as_deref(),
        Some(format!("{}@{}", name.trim_end_matches(":1"), image.digest()).as_str())
    );
    world.end().await;
}

/// The answer is only in the image and in what its setup adds.
const IN_IMAGE: &str = "
setup: echo $TOOL 42 >/opt/answer
test: sh test.sh
";
const IMAGE_TEST: &str = "[ \"of the image $(cat answer)\" = \"$(cat /opt/answer)\" ] && echo '1..1
ok 1 - answer' && exit; echo '1..1
not ok 1 - answer'; exit 1";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_and_a_reviewer_work_in_the_image_of_their_repository() {
    let registry = LocalRegistry::start();
    let image = image_for_agents("story");
    let name = registry.push("team/tool", "1", &image).await;
    let settings = format!("image: {name}{IN_IMAGE}");
    let story =
        Story::of(&WORK.replace("; TEST", "; echo poison >/opt/answer; TEST").replace("TEST", "sh test.sh"));
    let world = story.file(SETTINGS, &settings).file("test.sh", IMAGE_TEST).labeled().await;
    let ended = world.settled_as("verified").await;

    let said = ended.said("implement/1/agent");
    let seen: Vec<&str> = said.lines().collect();
    assert_eq!(seen, ["red before", "green after", "M  answer", "spoiled"], "{said}");
    let judged = ended.said("review/1/verify-1");
    assert!(judged.contains("green, and red with the old answer"), "{judged}");
    let url = format!("/api/v1/work-orders/{}/receipt", ended.order);
    let (_, receipt) = world.api("GET", &url, None).await;
    let pinned = format!("{}@{}", name.trim_end_matches(":1"), image.digest());
    assert_eq!(receipt["tests"]["image"], pinned.as_str());
    let comments: Vec<String> = world.thread().comments.iter().map(|comment| comment.body.clone()).collect();
    let environment = format!(".github/journeyman.yml, which has image and setup · image `{pinned}`");
    assert!(comments.iter().any(|body| body.contains(&environment)), "{comments:?}");
    assert!(world.pull().issue.body.contains(&format!("image: `{pinned}`")), "{}", world.pull().issue.body);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_its_image_cannot_start_works_on_the_host_and_says_so() {
    let registry = LocalRegistry::start();
    let name = registry.push("team/tool", "1", &image_with("story", |_| ())).await;
    let settings = format!("image: {name}{IN_IMAGE}");
    let world = Story::of(WELL).file(SETTINGS, &settings).file("test.sh", IMAGE_TEST).labeled().await;
    let ended = world.settled_as("verified").await;
    let warned = ended.observed("implement/1/agent")[0].1.warnings.join("\n");
    assert!(warned.contains("could not be started in the image"), "{warned}");
    world.end().await;
}

/// Asks git for the repository's origin, like changelog and release tools.
const ASKS_ORIGIN: &str = r#"
setup: mkdir -p build && echo 42 > build/oracle
test: git remote get-url origin | grep -q '^http' && cmp -s answer build/oracle && printf '1..1\nok 1 - answer\n'
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tests_find_a_remote_origin_with_the_repositorys_address_and_no_token() {
    let work = "
- stage: implement
  run: |
    git config remote.origin.url
    git fetch -q origin && echo fetched
    echo 42 > answer
    git add -A && git commit -q -m 'Give the right answer' && git push -q origin HEAD
";
    let story = Story::of(work).file(SETTINGS, ASKS_ORIGIN).file("answer", "41\n").without("test.sh");
    let world = story.labeled().await;
    let ended = world.settled_as("verified").await;

    let said = ended.said("implement/1/agent");
    let seen: Vec<&str> = said.lines().collect();
    assert_eq!(seen.get(1), Some(&"fetched"), "{said}");
    assert!(seen[0].starts_with("http://127.0.0.1:") && !seen[0].contains('@'), "{said}");
    world.end().await;
}
