//! What the members of the pipeline `software-team` answer: stories, test cases, a specification, whole files.

use serde_json::{Value, json};

use super::judges::says;

/// The repository's test: it passes if `sh answer.sh` prints 42.
pub const TESTS: &str = "\
echo 1..1
found=$(sh answer.sh)
if [ \"$found\" = 42 ]; then echo 'ok 1 - the answer is right'; exit; fi
i=0; while [ $i -lt 200 ]; do i=$((i + 1)); echo \"# looking for the answer, line $i of the search\"; done
echo \"not ok 1 - the answer is right\"; echo \"# expected 42, found $found\"
exit 1
";

pub fn stories() -> Value {
    let story = |id: &str, what: &str| {
        json!({"id": id, "title": what, "as_a": "reader", "i_want": what, "so_that": "I know it",
            "acceptance_criteria": ["It is there."]})
    };
    json!({"summary": "The answer has to be right.", "open_questions": [],
        "stories": [story("US-001", "The right answer"), story("US-002", "A word about it")]})
}

pub fn test_cases() -> Value {
    json!({"test_cases": [{"test_id": "TC-001", "story_ids": ["US-001"], "title": "The answer",
        "test_type": "happy_path", "given": ["a checkout"], "when": ["answer.sh runs"], "then": ["it prints 42"],
        "priority": "high"}]})
}

/// The technical specification.
pub fn specification() -> Value {
    json!({"project_name": "answers", "specification": "answer.sh prints 42. NOTES.md says why.",
        "tech_stack": ["sh"], "data_models": [], "api_contracts": [], "decisions": [],
        "components": [{"name": "answer.sh", "responsibility": "prints the answer"}],
        "files": [{"path": "answer.sh", "purpose": "the answer"}], "risks": []})
}

/// Whole files: a program with this body, and notes that cover these stories.
pub fn artifact(body: &str, covered: &[&str]) -> Value {
    json!({"artifact_id": "CODE-001", "files": [
        {"file_path": "answer.sh", "file_type": "implementation", "content": format!("{body}\n"),
            "description": "the answer", "story_ids": ["US-001", "TC-001"]},
        {"file_path": "NOTES.md", "file_type": "config", "content": "The answer is what it is.\n",
            "description": "a word about it", "story_ids": covered}]})
}

/// Scenes for everyone but the engineer. The two in the middle take longer, the architect longest.
pub fn analysts() -> String {
    let slowly = |time: u32, scene: String| scene.replace("  usd:", &format!("  think: {time}\n  usd:"));
    says("business_analyst", "business_analyst", None, &stories())
        + &slowly(500, says("quality_analyst", "quality_analyst", None, &test_cases()))
        + &slowly(900, says("technical_architect", "technical_architect", None, &specification()))
}

/// The engineer's answers, round by round; the last one repeats in all further rounds.
pub fn engineer(answers: &[Value]) -> String {
    let scene = |(round, answer): (u32, &Value)| {
        let round = (round as usize != answers.len()).then_some(round);
        says("software_engineer", "software_engineer", round, answer)
    };
    (1..).zip(answers).map(scene).collect()
}
