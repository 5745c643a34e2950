//! The questions that a plan leaves to people: two sections of it, in Markdown, written by an agent.
//!
//! May know: the plan's text. Must never know: who is asked, and when.

use crate::length::shorten;

/// More are not asked at once.
const MOST: usize = 10;
/// Characters of one.
const LONGEST: usize = 600;

/// What a plan asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PlanQuestions {
    /// Without an answer to these the plan is not worth carrying out.
    pub(crate) blocking: Vec<String>,
    /// For these it names what it takes to be so.
    pub(crate) open: Vec<String>,
}

impl PlanQuestions {
    /// Reads the sections *Blocking questions* and *Open questions*. Their items are those of the lists in them; a section
    /// without a list asks nothing.
    pub(crate) fn of(plan: &str) -> Self {
        let mut questions = Self::default();
        let mut section: Option<Section> = None;
        let mut fence: Option<&str> = None;
        for line in plan.lines() {
            let text = line.trim();
            let mark = ["```", "~~~"].into_iter().find(|mark| text.starts_with(mark));
            match (fence, mark) {
                (Some(open), Some(mark)) if open == mark => fence = None,
                (None, Some(mark)) => fence = Some(mark),
                (Some(_) | None, _) => {}
            }
            if fence.is_none()
                && let Some(heading) = heading(line)
            {
                section = Section::named(heading);
                continue;
            }
            let list = match section {
                Some(Section::Blocking) => &mut questions.blocking,
                Some(Section::Open) => &mut questions.open,
                None => continue,
            };
            match (item(line), list.last_mut()) {
                (Some(item), _) => list.push(item.to_owned()),
                (None, Some(last)) if !text.is_empty() => {
                    last.push(' ');
                    last.push_str(text);
                }
                (None, _) => {}
            }
        }
        for list in [&mut questions.blocking, &mut questions.open] {
            list.retain(|question| question.chars().any(char::is_alphanumeric) && !is_none(question));
            list.truncate(MOST);
            for question in list.iter_mut() {
                *question = shorten(question, LONGEST);
            }
        }
        questions
    }
}

#[derive(Clone, Copy)]
enum Section {
    Blocking,
    Open,
}

impl Section {
    fn named(heading: &str) -> Option<Self> {
        match heading.to_lowercase().as_str() {
            "blocking questions" => Some(Self::Blocking),
            "open questions" => Some(Self::Open),
            _ => None,
        }
    }
}

/// The text of a heading, or of a line that is one by its looks: `**Open questions**:`.
fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start();
    if let Some(rest) = text.strip_prefix('#') {
        let rest = rest.trim_start_matches('#');
        return rest.starts_with(' ').then(|| rest.trim_matches([' ', '#', '*', ':']));
    }
    // Bold alone on its line, also as the item of a list in which the sections are written.
    let bold = text.trim_start_matches(['-', ' ']).trim_end_matches([':', ' ']);
    let inner = bold.strip_prefix("**")?.strip_suffix("**")?;
    let inner = inner.trim_matches([' ', ':']);
    Section::named(inner).is_some().then_some(inner)
}

/// What an item of a list says.
fn item(line: &str) -> Option<&str> {
    let text = line.trim_start();
    // What stands deeper belongs to the item above.
    if line.len() - text.len() > 3 {
        return None;
    }
    let numbered = || {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let rest = text.get(digits..)?;
        (digits > 0).then(|| rest.strip_prefix(['.', ')'])).flatten()
    };
    let rest = text.strip_prefix(['-', '*', '+']).or_else(numbered)?;
    rest.starts_with(' ').then(|| rest.trim()).filter(|rest| !rest.is_empty())
}

/// Whether an item says that there is none.
fn is_none(question: &str) -> bool {
    let said = question.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    matches!(said.as_str(), "none" | "n/a" | "no" | "no questions" | "nothing")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(plan: &str) -> (Vec<String>, Vec<String>) {
        let PlanQuestions { blocking, open } = PlanQuestions::of(plan);
        (blocking, open)
    }

    #[test]
    fn questions_are_the_items_of_two_sections() {
        let plan = "# Plan\n\n- not one\n\n## Blocking questions\n\n1. Which of the two formats?\n   CSV or TSV.\n2) Since when?\n\n\
                    ## Open Questions:\n- May it be slow? Assumed: yes.\n\n## Tests\n- one\n";
        assert_eq!(
            read(plan),
            (
                vec!["Which of the two formats? CSV or TSV.".to_owned(), "Since when?".to_owned()],
                vec!["May it be slow? Assumed: yes.".to_owned()]
            )
        );
        assert_eq!(read("- **Open questions**:\n  1. Why?\n").1, ["Why?"]);
    }

    #[test]
    fn a_section_without_a_question_asks_nothing() {
        for plan in [
            "",
            "## Open questions\n\nNone.\n",
            "## Open questions\n- None.\n- n/a\n- —\n",
            "The open questions:\n- Why?\n",
            "```\n## Open questions\n- Why?\n```\n",
            "## Open questions about nothing\n- Why?\n",
        ] {
            assert_eq!(PlanQuestions::of(plan), PlanQuestions::default(), "{plan}");
        }
    }

    #[test]
    fn there_are_no_more_than_can_be_answered() {
        let plan = format!("## Open questions\n{}", format!("- {}\n", "why ".repeat(500)).repeat(50));
        let open = PlanQuestions::of(&plan).open;
        assert_eq!(open.len(), MOST);
        assert!(open.iter().all(|question| question.chars().count() <= LONGEST));
    }
}
