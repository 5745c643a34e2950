//! An agent's session and the plan belong to its order: they are there on another machine, and after the order's
//! folders were tidied away.

use journeyman::emulator::ReviewState;

use super::conversation::ANSWERS;
use crate::world::{MAINTAINER, REPOSITORY, Story, WELL, World};

/// Remembers what it did in a session as Codex does. Its first answer is wrong; what it says of the second round is what
/// it finds in its home.
const REMEMBERS: &str = r#"
- stage: implement
  round: 1
  raw: true
  run: |
    say() { echo "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"$1\",\"session_id\":\"$SESSION\",\"total_cost_usd\":0.05}"; }
    SESSION=0198c0de-story
    folder="$HOME/.codex/sessions/2026"; mkdir -p "$folder"
    echo 'I wrote 43, since it looked right.' > "$folder/rollout-$SESSION.jsonl"
    ln -s /etc/passwd "$folder/link-$SESSION.jsonl"; mkfifo "$folder/pipe-$SESSION"
    mkdir -p "$HOME/.claude"; ln -s /etc "$HOME/.claude/projects"
    echo mine > "$folder/another.jsonl"
    echo 43 > answer
    git commit -q -a -m 'Give an answer' && git push -q origin HEAD
    say 'It is 43.'
- stage: implement
  raw: true
  run: |
    say() { echo "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"$1\",\"session_id\":\"$JOURNEYMAN_SESSION\",\"total_cost_usd\":0.05}"; }
    sleep 0.4
    told=$(grep -c '^Your work tree was made anew'); cd "$HOME"; found=$(find .codex .claude 2>/dev/null | sort | tr '\n' ' '; cat .codex/sessions/2026/rollout-* | tr -d '\n'); cd - >/dev/null
    echo 42 > answer
    git commit -q -a -m 'Give the right answer' && git push -q origin HEAD
    say "$JOURNEYMAN_SESSION, told $told: $found"
"#;

/// The next starts are on a machine with this database, and nothing else.
fn move_to_another_machine(world: &mut World) {
    world.change_settings(|settings| settings.data.dir = settings.data.dir.with_file_name("another-machine"));
}

const FOUND: &str = "0198c0de-story, told 1: .codex .codex/sessions .codex/sessions/2026 \
    .codex/sessions/2026/rollout-0198c0de-story.jsonl I wrote 43, since it looked right.";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_another_machine_the_next_round_goes_on_in_the_session_and_finds_its_files_and_nothing_planted() {
    let mut world = Story::of(REMEMBERS).labeled().await;
    world.until_begun("implement/2/agent").await;
    world.stop_bot().await;
    move_to_another_machine(&mut world);
    world.start_bot().await;

    let ended = world.settled().await;

    assert_eq!(ended.word(), "verified", "{}", ended.because());
    let observed = ended.observed("implement/2/agent");
    let (_, run) = observed.last().expect("it ran");
    assert_eq!(run.result.as_deref(), Some(FOUND));
    assert_eq!(run.session_id.as_deref(), Some("0198c0de-story"));
    let artifacts = world.store.artifacts(ended.order).await.expect("artifacts");
    let sessions: Vec<&str> =
        artifacts.iter().map(|kept| kept.name.as_str()).filter(|name| name.starts_with("session-")).collect();
    let [session] = sessions[..] else { panic!("one for the session, and not {sessions:?}") };
    assert!(run.artifacts.iter().any(|name| name == session), "the journal names it: {:?}", run.artifacts);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_another_machine_the_developer_has_the_plan_in_its_prompt() {
    let reads = "
- stage: implement
  think: 400
  run: |
    cat; ls .journeyman/plans 2>&1
    echo 42 > answer
    git commit -q -a -m 'Give the right answer' && git push -q origin HEAD
";
    let mut world = Story::of(reads).labeled().await;
    world.until_begun("implement/1/agent").await;
    world.stop_bot().await;
    move_to_another_machine(&mut world);
    world.start_bot().await;

    let ended = world.settled().await;

    assert_eq!(ended.word(), "verified", "{}", ended.because());
    let said = ended.said("implement/1/agent");
    assert!(said.contains("<untrusted what=\"plan\">\n# Write 42 into answer\n"), "{said}");
    assert!(said.contains("No such file"), "the file itself stayed on the other machine: {said}");
    assert_eq!(ended.runs_of("plan"), 1, "and nobody plans again");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_on_another_machine_goes_on_in_the_session_and_on_the_draft() {
    let wrong = REMEMBERS.replace("echo 42 > answer", "date +%s%N > answer");
    let mut world = Story::of(&wrong).labeled().await;
    let ended = world.settled().await;
    assert_eq!(ended.word(), "escalated", "{}", ended.because());
    let before = world.pull();
    world.stop_bot().await;
    move_to_another_machine(&mut world);
    world.rescript(REMEMBERS);
    world.start_bot().await;

    world.comment(MAINTAINER, "/retry It is 42.").await;
    let again = world.settled().await;

    assert_eq!((again.word(), again.order), ("verified", ended.order), "{}", again.because());
    assert_eq!((world.pull().issue.number, world.pull().draft), (before.issue.number, false));
    let last = again
        .moves()
        .into_iter()
        .rev()
        .find(|name| name.starts_with("implement/") && name.ends_with("/agent"));
    assert_eq!(again.said(&last.expect("it ran again")), FOUND);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_review_is_answered_on_another_machine_on_top_of_what_was_reviewed() {
    let mut world = Story::of(&(WELL.to_owned() + ANSWERS)).labeled().await;
    let ended = world.settled().await;
    assert_eq!(ended.word(), "verified", "{}", ended.because());
    let before = world.pull();
    world.stop_bot().await;
    move_to_another_machine(&mut world);
    world.start_bot().await;

    let verdict = (ReviewState::ChangesRequested, "One thing.");
    let note = ("answer", 1, "say it to the end, please");
    let reviewed =
        world.github.review_lines(REPOSITORY, before.issue.number, MAINTAINER, verdict, &[note]).await;
    reviewed.expect("the pull request is there");
    let again = world.settled().await;

    assert_eq!(again.word(), "verified", "{}", again.because());
    let pull = world.pull();
    assert_ne!(pull.head_sha, before.head_sha);
    assert_eq!(world.git(&["rev-parse", &format!("{}^", pull.head_sha)]), before.head_sha);
    world.end().await;
}
