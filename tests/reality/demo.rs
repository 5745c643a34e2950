//! `journeyman demo` as a person sees it, in the terminal and on the emulator's pages.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use super::local::{Desk, RIGHT, Tests};
use super::program::{Running, journeyman};

/// Pushes nothing until it is told how, then makes the right change to the sample.
const WAITS_FOR_ADVICE: &str = r"
- stage: implement
  say: Everything is fixed.
- stage: implement
  round: 3
  run: |
    cat > /tmp/prompt.txt
    sed -i 's|    return ordered\[middle\]|    if len(ordered) % 2 == 0:\n        return (ordered[middle - 1] + ordered[middle]) / 2\n    return ordered[middle]|' averages.py
    cat >> tests/test_averages.py <<'TEST'

        def test_median_of_an_even_number_of_values(self):
            self.assertEqual(median([4, 1, 3, 2]), 2.5)
    TEST
    grep -q 'push it, please' /tmp/prompt.txt && git commit -qam 'Take the mean of the middle two' && git push -q origin HEAD
  say: Pushed, as I was told.
";

const NEVER_ENDS: &str = "
- stage: implement
  think: 600000
  say: Late.
";

fn value(said: &str, name: &str) -> Option<String> {
    let line = said.lines().find_map(|line| line.trim().strip_prefix(name))?;
    line.split_whitespace().next().map(str::to_owned)
}

/// Submits a form of the emulator's pages like a browser.
async fn comment(pages: &str, text: &str) {
    let body: String =
        url::form_urlencoded::Serializer::new(String::new()).append_pair("body", text).finish();
    let origin = pages.split("/you/").next().expect("an origin").to_owned();
    let request = reqwest::Client::new()
        .post(format!("{pages}/issues/1/comment"))
        .header("origin", origin)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body);
    let answer = request.send().await.expect("the page answers").error_for_status().expect("a good answer");
    let page = answer.text().await.expect("a page");
    assert!(page.contains(text), "the comment is not on the page: {page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn once_ends_with_a_pull_request_whose_head_is_the_tested_commit() {
    let desk = Desk::new(RIGHT, Tests::None);
    std::fs::remove_file(desk.path("config/journeyman/journeyman.toml")).expect("the demo needs no settings");

    let ended = desk.journeyman(&["demo", "--once"]).await;

    assert_eq!(ended.code, Some(0), "{}", ended.said);
    let tested = value(&ended.printed, "tested commit:").expect("a tested commit");
    assert_eq!(value(&ended.printed, "its head:").as_ref(), Some(&tested), "{}", ended.said);
    assert_eq!(value(&ended.printed, "outcome:").as_deref(), Some("verified"));
    assert!(
        tested.len() == 40 && value(&ended.printed, "pull request:").is_some_and(|url| url.ends_with("/2"))
    );
    for words in ["a script, not a model", "round 2", "1 failed", "0 failed"] {
        assert!(ended.said.contains(words), "{words:?} is not in {}", ended.said);
    }
}

/// The program on this machine, with all Pythons hidden.
fn without_python(folder: &Path, arguments: &[&str]) -> Command {
    let command = journeyman(folder, arguments);
    let mut masked = Command::new("bwrap");
    masked.args(["--dev-bind", "/", "/"]);
    let search = std::env::var_os("PATH").unwrap_or_default();
    for folder in std::env::split_paths(&search).chain(["/usr/bin", "/usr/local/bin"].map(PathBuf::from)) {
        let programs = std::fs::read_dir(folder).into_iter().flatten().flatten();
        for program in programs.filter(|one| one.file_name().to_string_lossy().starts_with("python")) {
            masked.args(["--ro-bind", "/dev/null"]).arg(program.path());
        }
    }
    masked.arg("--").arg(command.get_program()).args(command.get_args()).current_dir(folder).env_clear();
    masked.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    masked
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_is_verified_on_a_machine_without_python() {
    let desk = Desk::new(RIGHT, Tests::None);
    std::fs::remove_file(desk.path("config/journeyman/journeyman.toml")).expect("the demo needs no settings");

    let ended = Running::start(without_python(desk.folder(), &["demo", "--once"])).end().await;

    assert_eq!(ended.code, Some(0), "{}", ended.said);
    assert_eq!(value(&ended.printed, "outcome:").as_deref(), Some("verified"));
    for words in ["sh tests/run.sh", "round 2", "1 failed"] {
        assert!(ended.said.contains(words), "{words:?} is not in {}", ended.said);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_once_it_stays_and_hears_a_retry_that_is_written_on_the_page() {
    let desk = Desk::new(WAITS_FOR_ADVICE, Tests::None);
    let mut demo = Running::start(journeyman(desk.folder(), &["demo", "--agent", "worker"]));
    let pages = demo.hears("an address", |said| value(said, "GitHub, emulated:")).await;
    demo.hears("the end of the first attempts", |said| said.contains("outcome:       blocked").then_some(()))
        .await;

    comment(&pages, "/retry push it, please").await;
    demo.hears("the second end", |said| said.contains("outcome:       verified").then_some(())).await;

    let said = demo.said();
    assert_eq!(said.matches("opened for issue #1").count(), 1, "what was shown is not shown again: {said}");
    assert!(said.contains("you commented /retry push it, please"), "{said}");
    let page = reqwest::get(format!("{pages}/pull/2")).await.expect("a page").text().await.expect("a page");
    assert!(page.contains("Verified") && !page.contains("Draft</span>"), "{page}");
    demo.interrupt(Signal::INT);
    let ended = demo.end().await;
    assert_eq!(ended.code, Some(0), "{}", ended.said);
}

/// Settings for another, real server.
const OF_A_SERVER: &str = "[server]\napi_token = \"the-token-of-their-own-server\"\n[defaults]\nlabel = \"bot\"\n\
    [notifications]\nurl = \"http://127.0.0.1:9/theirs\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_has_a_token_of_its_own_and_not_that_of_the_user_s_server() {
    let desk = Desk::new(NEVER_ENDS, Tests::None);
    let settings = std::fs::read_to_string(desk.path("config/journeyman/journeyman.toml")).expect("settings");
    // The agent is given on the command line instead.
    let settings = settings.replacen("[defaults]\nagent = \"worker\"\n", OF_A_SERVER, 1);
    desk.write("config/journeyman/journeyman.toml", &settings);
    let mut demo = Running::start(journeyman(desk.folder(), &["demo", "--agent", "worker"]));
    let export = |said: &str| {
        let (_, rest) = said.split_once("export JOURNEYMAN_URL=")?;
        let (url, rest) = rest.split_once(" JOURNEYMAN_API_TOKEN=")?;
        Some((url.to_owned(), rest.lines().next()?.to_owned()))
    };
    let (url, own) = demo.hears("a token", export).await;
    demo.hears("the agent at work", |said| said.contains("implement: worker is working").then_some(())).await;

    assert!(!demo.said().contains("the-token-of-their-own-server"), "{}", demo.said());
    let client = reqwest::Client::new();
    for (token, status) in [(&*own, 200), ("the-token-of-their-own-server", 401)] {
        let asked = client.get(format!("{url}/api/v1/work-orders")).bearer_auth(token).send().await;
        assert_eq!(asked.expect("it answers").status(), status);
    }
    assert!(demo.said().contains("added the label `journeyman`"), "{}", demo.said());
    demo.interrupt(Signal::INT);
    demo.end().await;
}
