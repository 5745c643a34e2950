//! Scenes for roles that answer in JSON: reviewers, and the tech lead.

use journeyman::emulator::CommentView;
use serde_json::{Value, json};

use super::look::BOT;
use super::{REPOSITORY, World};

/// A scene in which a role gives this answer only. Without a round, it applies to every round without a scene of its
/// own.
pub fn says(stage: &str, role: &str, round: Option<u32>, answer: &Value) -> String {
    let round = round.map(|round| format!("  round: {round}\n")).unwrap_or_default();
    let answer = answer.to_string().replace('\'', "''");
    format!("\n- stage: {stage}\n  role: {role}\n{round}  usd: 0.02\n  say: '{answer}'\n")
}

/// A reviewer with these findings; no findings is a pass.
pub fn finds(stage: &str, role: &str, round: Option<u32>, findings: &[&str]) -> String {
    let issues: Vec<Value> = findings
        .iter()
        .map(|what| {
            json!({"severity": "major", "category": "logic_error", "description": what, "location": "question"})
        })
        .collect();
    let summary = if findings.is_empty() { "It is right.".to_owned() } else { findings.join(" ") };
    let score = if findings.is_empty() { 0.9 } else { 0.5 };
    let answer = json!({"passed": findings.is_empty(), "score": score, "summary": summary, "issues": issues});
    says(stage, role, round, &answer)
}

impl World {
    /// Our comments on the only pull request.
    pub fn reviews(&self) -> Vec<CommentView> {
        let comments = self.pull().issue.comments.into_iter();
        comments.filter(|comment| comment.author == BOT).collect()
    }

    /// A file at the head of the only pull request.
    pub fn handed_over(&self, file: &str) -> String {
        let content = self.github.file(REPOSITORY, &self.pull().head, file);
        String::from_utf8(content.unwrap_or_default()).expect("a file in UTF-8")
    }

    /// An order's artifact as text, through the API.
    pub async fn artifact(&self, order: journeyman::order::OrderId, name: &str) -> String {
        let (status, text) =
            self.api("GET", &format!("/api/v1/work-orders/{order}/artifacts/{name}"), None).await;
        assert_eq!(status, 200, "{name}: {text}");
        text.as_str().map_or_else(|| text.to_string(), str::to_owned)
    }
}
