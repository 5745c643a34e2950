//! What is said of a stage in its box, whatever draws the box.

use super::summary;
use crate::order::pipeline::{BeginsWith, Escalation, Output, Stage, Uses};

/// A box.
pub(super) struct Card {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) lines: Vec<Line>,
    pub(super) asks: Asks,
}

/// Who does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Agent,
    BuiltIn,
}

/// Texts of the file go to a terminal: what would steer it, or turn the direction of writing, is shown as a dot.
fn visible(text: &str) -> String {
    let steers = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    text.chars().map(|c| if steers(c) { '·' } else { c }).collect()
}

/// A text in lines of at most so many characters, broken at spaces where there are any; at most `most` lines.
pub(super) fn wrap(text: &str, width: usize, most: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let mut word: Vec<char> = word.chars().collect();
        if !line.is_empty() && line.chars().count() + 1 + word.len() > width {
            lines.push(std::mem::take(&mut line));
        }
        while word.len() > width {
            lines.push(word.drain(..width).collect());
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word);
    }
    lines.push(line);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            *last = last.chars().take(width - 1).collect::<String>() + "…";
        }
    }
    lines
}

/// A line below the name.
pub(super) struct Line {
    pub(super) part: Part,
    pub(super) text: String,
}

/// What a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Worker,
    Gives,
    Checks,
    When,
}

/// Who is asked when rounds run out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asks {
    Nobody,
    Person,
    Role(String),
}

impl Card {
    pub(super) fn of(stage: &Stage) -> Self {
        let kind = match stage.uses {
            Uses::Agent => Kind::Agent,
            Uses::Branch | Uses::Tests | Uses::Publish | Uses::Ready | Uses::Archive => Kind::BuiltIn,
        };
        let mut lines = vec![Line { part: Part::Worker, text: worker(stage) }];
        let mut add = |part: Part, text: Option<String>| lines.extend(text.map(|text| Line { part, text }));
        add(Part::When, stage.when.clone().map(|when| format!("when {}", String::from(when))));
        add(Part::Gives, gives(stage));
        let checks = summary::checks(stage);
        if !checks.is_empty() {
            let first = match stage.begins_with {
                BeginsWith::Worker => "",
                BeginsWith::Checks => "first: ",
            };
            add(Part::Checks, Some(format!("✓ {first}{}", checks.join(" · "))));
        }
        let asks = match &stage.escalate_on_exhaust {
            Escalation::None => Asks::Nobody,
            Escalation::HumanApproval => Asks::Person,
            Escalation::Agent(role) => Asks::Role(role.clone()),
        };
        for line in &mut lines {
            line.text = visible(&line.text);
        }
        Self { name: stage.name.clone(), kind, lines, asks }
    }
}

impl Asks {
    /// In words; none when nobody is asked.
    pub(super) fn words(&self) -> Option<String> {
        match self {
            Self::Nobody => None,
            Self::Person => Some("a person".to_owned()),
            Self::Role(role) => Some(format!("{role}, then a person")),
        }
    }
}

fn worker(stage: &Stage) -> String {
    let role = stage.agent.as_deref();
    let command = stage.command.as_deref().unwrap_or("work");
    let agent = role.map(|role| format!("{role} · {}", command.trim_start_matches('/')));
    match stage.uses {
        Uses::Agent => agent.unwrap_or_default(),
        Uses::Branch | Uses::Publish => agent.unwrap_or_default(),
        Uses::Archive => agent.unwrap_or_else(|| "built in: archive".to_owned()),
        Uses::Tests => "built in: the repository's tests".to_owned(),
        Uses::Ready => "built in: out of draft".to_owned(),
    }
}

fn gives(stage: &Stage) -> Option<String> {
    let gives = match (stage.uses, &stage.output) {
        (Uses::Branch, _) => "the branch's name".to_owned(),
        (Uses::Publish, _) => "the draft pull request".to_owned(),
        (Uses::Archive, _) => "artifacts of the order".to_owned(),
        (Uses::Tests | Uses::Ready, _) | (Uses::Agent, None | Some(Output::Text)) => return None,
        (Uses::Agent, Some(Output::OneOf(choices))) => format!("one of {}", choices.join(", ")),
        (Uses::Agent, Some(Output::File(glob))) => format!("file {glob}"),
        (Uses::Agent, Some(Output::JsonSchema(_))) => "JSON of a schema".to_owned(),
        (Uses::Agent, Some(Output::CodeArtifact)) => "a code artifact".to_owned(),
    };
    Some(format!("→ {gives}"))
}
