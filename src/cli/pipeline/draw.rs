//! Draws a pipeline as a list for a terminal, and as a Mermaid flowchart for GitHub and editors.

use std::fmt::Write as _;

use crate::order::Pipeline;
use crate::order::pipeline::{Check, Escalation, MOST_RUNS, Stage, StageKind, StageOutput, StageStart};

/// Each stage with its dependencies, and what it does below.
pub(super) fn list(pipeline: &Pipeline) -> String {
    let before = comes_after(pipeline);
    let mut text = String::new();
    for (stage, before) in pipeline.stages.iter().zip(&before) {
        let names: Vec<&str> = before.iter().map(|number| pipeline.stages[*number].name.as_str()).collect();
        let arrow = if names.is_empty() { "" } else { " ← " };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}{arrow}{}", stage.name, names.join(", "));
        lines(stage).iter().for_each(|line| text.push_str(&format!("    {line}\n")));
    }
    text
}

/// Agents' stages are boxes; built-in ones have double sides.
pub(super) fn mermaid(pipeline: &Pipeline) -> String {
    let mut text = format!("flowchart TD\n    accTitle: {} {}\n", pipeline.name, pipeline.version);
    for (number, (stage, before)) in pipeline.stages.iter().zip(comes_after(pipeline)).enumerate() {
        let (open, close) = if stage.uses == StageKind::Agent { ("[", "]") } else { ("[[", "]]") };
        let lines: String = lines(stage).iter().map(|line| format!("<br/>{}", escaped(line))).collect();
        let _ = writeln!(text, "    s{number}{open}\"<b>{}</b>{lines}\"{close}", stage.name);
        before.iter().for_each(|before| text.push_str(&format!("    s{before} --> s{number}\n")));
    }
    text
}

/// For each stage, the indexes of its dependencies without implied ones.
fn comes_after(pipeline: &Pipeline) -> Vec<Vec<usize>> {
    let number = |name: &String| pipeline.stages.iter().position(|stage| stage.name == *name);
    // Every stage comes after its dependencies.
    let mut all: Vec<Vec<usize>> = Vec::new();
    let mut shown = Vec::new();
    for stage in &pipeline.stages {
        let direct: Vec<usize> = stage.depends_on.iter().filter_map(number).collect();
        let implied: Vec<usize> = direct.iter().flat_map(|before| all[*before].clone()).collect();
        shown.push(direct.iter().copied().filter(|before| !implied.contains(before)).collect());
        all.push([direct, implied].concat());
    }
    shown
}

fn lines(stage: &Stage) -> Vec<String> {
    let mut lines = vec![worker(stage)];
    lines.extend(stage.when.clone().map(|when| format!("when {}", String::from(when))));
    lines.extend(gives(stage).map(|gives| format!("→ {gives}")));
    let checks = checks(stage);
    if !checks.is_empty() {
        let first = match stage.begins_with {
            StageStart::Worker => "",
            StageStart::Checks => "first: ",
        };
        lines.push(format!("✓ {first}{}", checks.join(" · ")));
    }
    match &stage.escalate_on_exhaust {
        Escalation::None => {}
        Escalation::HumanApproval => lines.push("⇢ asks a person".to_owned()),
        Escalation::Agent(role) => lines.push(format!("⇢ asks {role}, then a person")),
    }
    lines.iter().map(|line| visible(line)).collect()
}

/// Shows control and direction characters as dots, because the file's texts reach a terminal.
fn visible(text: &str) -> String {
    let steers = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    text.chars().map(|c| if steers(c) { '·' } else { c }).collect()
}

/// Escapes characters that could be Mermaid syntax or HTML.
fn escaped(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || !c.is_ascii() || " ,.:-_/*(){}'".contains(c);
    text.chars().map(|c| if is_plain(c) { c.to_string() } else { format!("#{};", u32::from(c)) }).collect()
}

fn worker(stage: &Stage) -> String {
    let command = stage.command.as_deref().unwrap_or("work");
    let agent = stage.agent.as_ref().map(|role| format!("{role} · {}", command.trim_start_matches('/')));
    match stage.uses {
        StageKind::Agent | StageKind::Examine | StageKind::Branch | StageKind::Publish => {
            agent.unwrap_or_default()
        }
        StageKind::Archive => agent.unwrap_or_else(|| "built in: archive".to_owned()),
        StageKind::Tests => "built in: the repository's tests".to_owned(),
        StageKind::Verify => "built in: the pull request's commit".to_owned(),
        StageKind::Ready => "built in: out of draft".to_owned(),
    }
}

fn gives(stage: &Stage) -> Option<String> {
    Some(match (stage.uses, &stage.output) {
        (StageKind::Examine, _) => "statements of issue and base".to_owned(),
        (StageKind::Branch, _) => "the branch's name".to_owned(),
        (StageKind::Publish, _) => "the draft pull request".to_owned(),
        (StageKind::Archive, _) => "artifacts of the order".to_owned(),
        (StageKind::Tests | StageKind::Verify | StageKind::Ready, _)
        | (StageKind::Agent, None | Some(StageOutput::Text)) => {
            return None;
        }
        (StageKind::Agent, Some(StageOutput::OneOf(choices))) => format!("one of {}", choices.join(", ")),
        (StageKind::Agent, Some(StageOutput::File(glob))) => format!("file {glob}"),
        (StageKind::Agent, Some(StageOutput::JsonSchema(_))) => "JSON of a schema".to_owned(),
        (StageKind::Agent, Some(StageOutput::CodeArtifact)) => "a code artifact".to_owned(),
    })
}

/// The checks of a stage, and how often each may fail.
fn checks(stage: &Stage) -> Vec<String> {
    let one = |check: &Check| {
        let (word, limit) = match check {
            Check::Verifier => (stage.verifier.roles().join(" + "), stage.max_adversarial_rounds),
            Check::PushedCommit | Check::Policy | Check::Tests => (check.word().to_owned(), MOST_RUNS),
        };
        // Nobody is sent back.
        let limit = if stage.uses == StageKind::Verify { limit.min(1) } else { limit };
        if limit > 0 { format!("{word} ×{limit}") } else { format!("{word} (not asked)") }
    };
    stage.checks.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipeline(stages: &str) -> Pipeline {
        Pipeline::parse(&format!("{{name: p, version: 1, stages: [{stages}]}}")).unwrap()
    }

    #[test]
    fn what_others_imply_is_not_drawn() {
        let pipeline = pipeline(
            "{name: a, agent: x}, {name: b, agent: x, depends_on: [a]}, {name: c, agent: x, depends_on: [a]}, \
             {name: d, agent: x, depends_on: [a, b, c]}",
        );
        assert_eq!(
            list(&pipeline),
            "a\n    x · work\nb ← a\n    x · work\nc ← a\n    x · work\nd ← b, c\n    x · work\n"
        );
        let drawn = mermaid(&pipeline);
        let arrows: Vec<&str> = drawn.lines().filter(|line| line.contains("-->")).map(str::trim).collect();
        assert_eq!(arrows, ["s0 --> s1", "s0 --> s2", "s1 --> s3", "s2 --> s3"]);
    }

    #[test]
    fn texts_of_a_file_stay_texts_and_steer_no_terminal() {
        let choices = r#"["<b>", "\e[2J", "\u202Eabc", "\"]; %%{init: {}}%%`&#", "x\ny"]"#;
        let pipeline = pipeline(&format!("{{name: a, agent: x, output: {{one_of: {choices}}}}}"));
        let drawn = mermaid(&pipeline);
        let expected = "    s0[\"<b>a</b><br/>x · work<br/>→ one of #60;b#62;, ·#91;2J, ·abc, \
                        #34;#93;#59; #37;#37;{init: {}}#37;#37;#96;#38;#35;, x·y\"]";
        assert_eq!(drawn.lines().last(), Some(expected), "{drawn}");
        assert!(!list(&pipeline).contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'));
    }
}
