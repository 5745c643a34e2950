//! An agent's session and the plan belong to the order: they survive a move to another machine, and the cleanup of the
//! order's folders.

use crate::world::{Story, World};

/// Keeps a session as Codex does. Its first answer is wrong; in the second round it prints what it finds in its home.
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

/// The next starts are on a machine that has only this database.
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

    let ended = world.settled_as("verified").await;

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
