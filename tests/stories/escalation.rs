//! When the attempts run out the tech lead is asked: it guides, or it calls a person.

use crate::world::Story;
use crate::world::judges::diagnoses;

/// A wrong answer, in words, so that each fails in its own way.
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

/// Does it right in any round that has no scene of its own, and shows what it was told.
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
    // It guides only when it is shown what there is to see.
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
    insta::assert_snapshot!(world.surfaces().await, @"
    label: done
    status: Verified, not examined: the pull request is ready for review
    check: Verified, not examined: 2 of 2 tests pass (Some(Success))
    pull: ✅ Verified, not examined (ready)
    receipt: verified / verified / true
    api: verified / true
    exit: 0
    attestation: PASSED
    ");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tech_lead_flags_and_its_diagnosis_is_what_the_person_reads() {
    let lead = diagnoses("implement", "flag", "The test wants a number that the issue does not name.", "");
    let world = Story::of(&(three_wrong() + &lead)).labeled().await;
    let ended = world.settled().await;

    assert_eq!(ended.word(), "escalated", "{}", ended.because());
    assert_eq!((ended.runs_of("implement"), ended.judged_of("implement")), (3, 1));
    let pull = world.pull();
    assert!(pull.draft);
    assert!(pull.issue.body.contains("base commit ["), "{}", pull.issue.body);
    assert!(
        !pull.issue.body.to_lowercase().contains("passing, not"),
        "what fails is not called passing: {}",
        pull.issue.body
    );
    let status = world.status_comment();
    assert!(status.contains("The test wants a number that the issue does not name."), "{status}");
    assert_eq!(world.labels(), ["journeyman", "journeyman:needs-human"]);
    assert!(!ended.moves().iter().any(|name| name.starts_with("review/")), "{:?}", ended.moves());
    insta::assert_snapshot!(world.surfaces().await, @"
    label: needs-human
    status: Needs a person: the best attempt is not verified
    check: Not verified: 1 of 2 tests pass (Some(Failure))
    pull: ❌ Not verified (draft)
    receipt: escalated / not verified / false
    api: escalated / false
    exit: 3
    attestation: FAILED
    ");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_nothing_was_pushed_in_spite_of_advice_it_is_not_tried_again() {
    let lead = diagnoses("implement", "guide", "It is lazy.", "Work.");
    let world = Story::of(&("\n- stage: implement\n  role: developer\n  say: Done!\n".to_owned() + &lead));
    let world = world.labeled().await;
    let ended = world.settled().await;

    assert_eq!(ended.word(), "blocked", "{}", ended.because());
    assert_eq!((ended.judged_of("implement"), ended.runs_of("implement")), (1, 3), "twice, advice, once");
    assert!(ended.because().contains("also after the tech_lead's guidance"), "{}", ended.because());
    assert!(world.pulls().is_empty());
    insta::assert_snapshot!(world.surfaces().await, @"
    label: needs-human
    status: Blocked: there is no usable attempt
    check: none
    pull: none
    receipt: blocked / none / false
    api: blocked / false
    exit: 1
    attestation: none
    ");
    world.end().await;
}
