//! A plan's questions to people: two sections of its Markdown, written by an agent.
//!
//! May know: the plan's text. Must never know: who is asked, and when.

use crate::bounds::{LONGEST_MESSAGE, LONGEST_NAME};
use crate::length::shorten;

/// Most questions to ask at once.
const MOST: usize = 10;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PlanQuestions {
    /// Questions that must be answered before the plan is worth carrying out.
    pub(crate) blocking: QuestionList,
    /// Questions for which the plan states its assumption.
    pub(crate) open: QuestionList,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct QuestionList {
    /// The questions to ask; the rest is only counted.
    pub(crate) asked: Vec<String>,
    /// How many more there are.
    pub(crate) more: usize,
}

impl PlanQuestions {
    /// Reads the sections *Blocking questions* and *Open questions*: their list items and lines that end with a
    /// question mark, or their paragraphs if there are neither.
    pub(crate) fn of(plan: &str) -> Self {
        // Blocking questions, then open ones.
        let mut lists = [Vec::<QuestionBlock>::new(), Vec::new()];
        let mut section: Option<(Section, usize)> = None;
        let mut fence: Option<&str> = None;
        let mut is_within = false;
        for line in plan.lines() {
            let text = line.trim().trim_start_matches(['>', ' ']);
            let mark = ["```", "~~~"].into_iter().find(|mark| text.starts_with(mark));
            match (fence, mark) {
                (Some(open), Some(mark)) if open == mark => fence = None,
                (None, Some(mark)) => fence = Some(mark),
                (Some(_) | None, _) => {}
            }
            if fence.is_none()
                && let Some((level, heading)) = heading(line)
            {
                let named = Section::named(heading).map(|named| (named, level));
                is_within = false;
                match section.filter(|(_, above)| named.is_none() && level > *above) {
                    // A heading within the section.
                    Some((kind, _)) if heading.ends_with('?') => {
                        lists[kind as usize].push(QuestionBlock::new(heading, false));
                    }
                    Some(_) => {}
                    None => section = named,
                }
                continue;
            }
            let Some((kind, _)) = section else { continue };
            let list = &mut lists[kind as usize];
            match (item(line), list.last_mut()) {
                (Some(item), _) => {
                    list.push(QuestionBlock::new(item, true));
                    is_within = true;
                }
                (None, _) if text.is_empty() => is_within = false,
                (None, Some(last)) if is_within || (last.is_item && line.starts_with([' ', '\t'])) => {
                    last.text.push(' ');
                    last.text.push_str(text);
                }
                (None, _) => {
                    list.push(QuestionBlock::new(text, false));
                    is_within = true;
                }
            }
        }
        let [blocking, open] = lists.map(QuestionList::of);
        Self { blocking, open }
    }

    pub(crate) fn blocked_by(questions: Vec<String>) -> Self {
        Self { blocking: QuestionList::of_items(&questions), open: QuestionList::default() }
    }

    /// From an answer with the questions as JSON lists.
    pub(crate) fn listed(blocking: Option<&str>, open: Option<&str>) -> Self {
        let of = |list: Option<&str>| {
            let questions: Vec<String> =
                list.and_then(|list| serde_json::from_str(list).ok()).unwrap_or_default();
            QuestionList::of_items(&questions)
        };
        Self { blocking: of(blocking), open: of(open) }
    }
}

/// An item or a paragraph of a section.
struct QuestionBlock {
    text: String,
    is_item: bool,
}

impl QuestionBlock {
    fn new(text: &str, is_item: bool) -> Self {
        Self { text: text.to_owned(), is_item }
    }
}

impl QuestionList {
    fn of_items(texts: &[String]) -> Self {
        Self::of(texts.iter().map(|text| QuestionBlock::new(text, true)).collect())
    }

    fn of(mut blocks: Vec<QuestionBlock>) -> Self {
        blocks.retain(|block| block.text.chars().any(char::is_alphanumeric) && !is_none(&block.text));
        let asks = |block: &QuestionBlock| block.is_item || block.text.contains('?');
        if blocks.iter().any(asks) {
            blocks.retain(asks);
        }
        let more = blocks.len().saturating_sub(MOST);
        let plain = |block: QuestionBlock| {
            let text: String = block.text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            shorten(text.trim(), LONGEST_MESSAGE)
        };
        Self { asked: blocks.into_iter().take(MOST).map(plain).collect(), more }
    }
}

#[derive(Clone, Copy)]
enum Section {
    Blocking,
    Open,
}

impl Section {
    fn named(heading: &str) -> Option<Self> {
        // Plans may number their sections and count the entries.
        let plain = heading.trim_start_matches(|c: char| c.is_ascii_digit() || ".) ".contains(c));
        let plain = plain.split(" (").next().unwrap_or(plain).trim();
        match plain.to_lowercase().as_str() {
            "blocking questions" => Some(Self::Blocking),
            "open questions" => Some(Self::Open),
            _ => None,
        }
    }
}

/// The heading level of a bold line: below every heading.
const BOLD: usize = 7;

/// Level and text of a heading, or of a line that looks like one: `**Open questions**:`.
fn heading(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start();
    let rest = text.trim_start_matches('#');
    if rest.len() < text.len() {
        let level = text.len() - rest.len();
        return rest.starts_with(' ').then(|| (level, rest.trim_matches([' ', '#', '*', ':'])));
    }
    // Bold text alone on its line, also as a list item.
    let bold = text.trim_start_matches(['-', ' ']).trim_end_matches([':', ' ']);
    // Or plain underlined text.
    let inner = bold.strip_prefix("**").and_then(|rest| rest.strip_suffix("**")).unwrap_or(bold);
    let inner = inner.trim_matches([' ', ':']);
    Section::named(inner).is_some().then_some((BOLD, inner))
}

fn item(line: &str) -> Option<&str> {
    let text = line.trim_start();
    // Deeper indentation belongs to the item above.
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

/// Whether the text says that there are no questions.
fn is_none(text: &str) -> bool {
    let said = text.trim_matches(|c: char| !c.is_alphanumeric() && c != '?').to_lowercase();
    let first = said.split(|c: char| !c.is_alphanumeric() && c != '/').next().unwrap_or_default();
    let says = matches!(first, "none" | "n/a" | "nothing" | "no");
    says && !said.contains('?') && said.chars().count() <= LONGEST_NAME
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(plan: &str) -> (Vec<String>, Vec<String>) {
        let PlanQuestions { blocking, open } = PlanQuestions::of(plan);
        (blocking.asked, open.asked)
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
    fn questions_in_other_forms_are_not_lost() {
        for (section, asked) in [
            ("Should it be 3 or 2?\n", &["Should it be 3 or 2?"][..]),
            ("### Q1\n\nShould it be 3\nor 2?\n", &["Should it be 3 or 2?"]),
            ("### Should it be 3 or 2?\n", &["Should it be 3 or 2?"]),
            ("> Should it be 3 or 2?\n", &["Should it be 3 or 2?"]),
            (
                "| # | question |\n|---|---|\n| 1 | 3 or 2? |\n",
                &["| # | question | |---|---| | 1 | 3 or 2? |"],
            ),
            (
                "None of the callers agree: which one is right?\n",
                &["None of the callers agree: which one is right?"],
            ),
            ("Tell me whether 3 or 2 is meant.\n", &["Tell me whether 3 or 2 is meant."]),
            ("Please answer these.\n\n- 3 or 2\n  of them\n\n- why\n", &["3 or 2 of them", "why"]),
            ("- \u{1b}[31mred\u{1b}[0m\u{7}?\n", &["[31mred [0m ?"]),
        ] {
            let plan = format!("# Plan\n\n## Blocking questions\n\n{section}\n## Tests\n\n- which?\n");
            assert_eq!(read(&plan).0, asked, "{section}");
        }
    }

    #[test]
    fn a_section_is_known_however_its_heading_is_written() {
        for heading in [
            "## 3. Blocking questions",
            "## Blocking questions (2)",
            "Blocking questions\n------------------",
            "**Blocking questions:**",
            "#### BLOCKING QUESTIONS ##",
        ] {
            assert_eq!(read(&format!("# Plan\n\n{heading}\n\n- 3 or 2?\n")).0, ["3 or 2?"], "{heading}");
        }
    }

    #[test]
    fn a_section_without_a_question_asks_nothing() {
        for plan in [
            "",
            "## Open questions\n\nNone.\n",
            "## Open questions\n- None.\n- n/a\n- —\n",
            "## Blocking questions\n- None at this time.\n",
            "## Blocking questions\nNo questions.\n",
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
        assert_eq!((open.asked.len(), open.more), (MOST, 40));
        assert!(open.asked.iter().all(|question| question.chars().count() <= LONGEST_MESSAGE));
    }
}
