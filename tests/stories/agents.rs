//! Agents are programs: they break off, talk nonsense, are overloaded, or are not there.

use crate::world::{MAINTAINER, REPOSITORY, Story, WELL};

/// The work, then whatever follows as its stream.
fn works_and_prints(stream: &str, exit: u8) -> String {
    format!(
        "
- stage: implement
  raw: true
  exit: {exit}
  run: |
    echo 42 > answer
    git commit -q -a -m 'Give the right answer' && git push -q origin HEAD
    {stream}
"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_pushed_counts_even_if_the_agent_broke_off() {
    let world = Story::of(&works_and_prints("echo 'Segmentation fault' >&2", 139)).labeled().await;
    let ended = world.settled().await;
    assert_eq!(ended.word(), "verified", "{}", ended.because());
    assert_eq!(ended.runs_of("implement"), 1);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_overloaded_service_is_waited_for_and_costs_no_round() {
    let overloaded =
        r#"{"type":"result","subtype":"success","is_error":true,"result":"API Error: Overloaded"}"#;
    let scenes = format!(
        "
- stage: implement
  raw: true
  run: |
    if [ ! -e \"$HOME/once\" ]; then touch \"$HOME/once\"; echo '{overloaded}'; exit; fi
    echo 42 > answer
    git commit -q -a -m 'Give the right answer' && git push -q origin HEAD
    echo done
"
    );
    let world = Story::of(&scenes).labeled().await;
    let ended = world.settled().await;
    assert_eq!(ended.word(), "verified", "{}", ended.because());
    assert_eq!(ended.runs_of("implement"), 2, "the same round again");
    assert!(!ended.moves().iter().any(|key| key == "implement/2/agent"), "{:?}", ended.moves());
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_is_not_there_is_named_and_retry_works_once_it_is() {
    let mut world = Story::of(WELL).begin().await;
    let program =
        world.change_agent(|agent| std::mem::replace(&mut agent.program, vec!["/no/such/agent".to_owned()]));
    world.stop_bot().await;
    world.start_bot().await;
    world.label().await;
    let ended = world.settled().await;
    assert_eq!(ended.word(), "failed");
    let status = world.status_comment();
    assert!(status.contains("/no/such/agent") && status.contains("was not found"), "{status}");
    assert_eq!(ended.runs_of("classify"), 0);

    world.change_agent(|agent| agent.program = program);
    world.stop_bot().await;
    world.start_bot().await;
    world.comment(MAINTAINER, "/retry").await;
    assert_eq!(world.settled().await.word(), "verified");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_agent_leaves_running_ends_with_it() {
    let scenes = WELL.replace(
        "run: |",
        "run: |\n    setsid sh -c 'sleep 300' >/dev/null 2>&1 &\n    (sleep 301 &) >/dev/null 2>&1",
    );
    let world = Story::of(&scenes).labeled().await;
    assert_eq!(world.settled().await.word(), "verified");
    world.assert_no_process_is_left().await;
    world.end().await;
}

/// It prints a session's id, as many programs do, and cannot continue it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_does_not_resume_is_sent_back_with_its_whole_task() {
    let scenes = "
- stage: implement
  run: |
    cat; echo \"session ${JOURNEYMAN_SESSION:-none}\"
    [ $JOURNEYMAN_ROUND = 2 ] && echo 42 > answer || echo 43 > answer
    git commit -q -a -m 'Give an answer' && git push -q origin HEAD
";
    let world = Story::of(scenes)
        .settings(|settings| settings.agents.values_mut().for_each(|agent| agent.resumes = false))
        .labeled()
        .await;
    let ended = world.settled().await;
    assert_eq!(ended.word(), "verified", "{}", ended.because());
    let said = ended.said("implement/2/agent");
    for words in
        ["<untrusted what=\"plan\">", "your previous answer", "This is attempt 2 of 3", "session none"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_session_of_the_first_round_is_resumed_in_the_second() {
    let scenes = "
- stage: implement
  run: |
    echo \"session ${JOURNEYMAN_SESSION:-none}\"
    [ $JOURNEYMAN_ROUND = 2 ] && echo 42 > answer || echo 43 > answer
    git commit -q -a -m 'Give an answer' && git push -q origin HEAD
";
    let world = Story::of(scenes).labeled().await;
    let ended = world.settled().await;
    assert_eq!(ended.word(), "verified", "{}", ended.because());
    assert_eq!(ended.said("implement/1/agent"), "session none");
    let session = ended.session("implement/1/agent");
    assert_eq!(ended.said("implement/2/agent"), format!("session {session}"));
    assert!(world.github.file(REPOSITORY, &world.pull().head, "answer").is_some_and(|text| text == b"42\n"));
    world.end().await;
}
