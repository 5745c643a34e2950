//! A second agent reviews what passed the tests, and the developer answers publicly.

use crate::world::{Story, WELL};

/// Adds a line to the question in each round, and prints its prompt.
pub(super) const MENDS: &str = "
- stage: review
  role: developer
  usd: 0.03
  run: |
    cat
    echo \"and $JOURNEYMAN_ROUND more\" >> question
    git commit -q -a -m 'Ask for more' -m 'The reviewer wants it.' && git push -q origin HEAD
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_reviewer_is_shown_the_change_and_its_own_words_and_what_it_writes_changes_nothing() {
    // The reviewer writes into a layer of its own.
    let judge = r#"
- stage: review
  role: code_reviewer
  round: 1
  run: |
    prompt=$(cat)
    saw() { case "$prompt" in *"$1"*) printf '%s yes, ' "$1" ;; *) printf '%s no, ' "$1" ;; esac; }
    wrote=$( (echo 43 > answer) 2>/dev/null && echo yes || echo no)
    pushed=$(git push -q origin HEAD 2>/dev/null && echo yes || echo no)
    printf '{"passed": false, "score": 0.5, "summary": "%s%s%s wrote %s, pushed %s, reads %s", "issues": [
      {"severity": "major", "category": "style", "description": "Ask for more."}]}' \
      "$(saw '+42')" "$(saw 'It says 41')" "$(saw '2 passed')" "$wrote" "$pushed" "$(cat answer)"
- stage: review
  role: code_reviewer
  round: 2
  run: |
    case "$(cat)" in *'Ask for more.'*) again=yes ;; *) again=no ;; esac
    printf '{"passed": true, "score": 1, "summary": "own words %s", "issues": []}' "$again"
"#;
    let world = Story::of(&(WELL.to_owned() + judge + MENDS)).labeled().await;
    let ended = world.settled_as("verified").await;

    let said = ended.said("review/1/verify-1");
    for seen in ["+42 yes", "It says 41 yes", "2 passed yes", "wrote yes", "pushed no", "reads 43"] {
        assert!(said.contains(seen), "{seen:?}: {said}");
    }
    assert!(ended.said("review/2/verify-1").contains("own words yes"), "{}", ended.said("review/2/verify-1"));
    world.assert_shown_as_verified().await;
    world.end().await;
}
