//! When the attempts run out, the tech lead guides or calls a person.

use crate::world::Story;

/// A wrong answer with a word, so that each failure is different.
fn wrong(round: u32, word: &str) -> String {
    format!(
        "
- stage: implement
  role: developer
  round: {round}
  usd: 0.05
  run: |
    cat
    echo {word} > answer
    git commit -q -a -m 'Give the answer {word}' && git push -q origin HEAD
"
    )
}

fn three_wrong() -> String {
    wrong(1, "many") + &wrong(2, "lots") + &wrong(3, "plenty")
}

/// Right in any round without a scene of its own, and prints its prompt.
const AT_LAST: &str = "
- stage: implement
  role: developer
  usd: 0.05
  run: |
    cat
    echo 42 > answer
    git commit -q -a -m 'Give the right answer' && git push -q origin HEAD
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tech_lead_guides_and_the_developer_succeeds() {
    // Guides only if its prompt contains the evidence.
    let lead = r#"
- stage: implement
  role: tech_lead
  usd: 0.04
  run: |
    prompt=$(cat)
    for part in 'Round 3' 'Round 1' '+plenty' 'found plenty'; do
      case "$prompt" in *"$part"*) ;; *) echo "I do not see: $part"; exit ;; esac
    done
    echo '{"decision": "guide", "diagnosis": "It writes words.", "guidance": "Write digits into the file."}'
"#;
    let world = Story::of(&(three_wrong() + AT_LAST + lead)).labeled().await;
    let ended = world.settled().await;

    assert_eq!(ended.word(), "verified", "{}: {}", ended.because(), ended.said("implement/3/diagnosis-1"));
    assert_eq!((ended.runs_of("implement"), ended.judged_of("implement")), (4, 1));
    let told = ended.said("implement/4/agent");
    for words in ["attempt 1 of 3", "It writes words.", "Write digits into the file.", "found plenty"] {
        assert!(told.contains(words), "{words:?}: {told}");
    }
    assert!(!ended.said("implement/3/agent").contains("Write digits"), "not before it was asked");
    assert!(!world.pull().draft);
    assert_eq!(world.labels(), ["journeyman", "journeyman:done"]);
    world.assert_shown_as_verified().await;
    world.end().await;
}
