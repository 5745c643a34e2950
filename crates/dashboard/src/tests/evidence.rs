//! What an order's page says about its commit, compared to the pull request.

use crate::parts::{parts, projection};
use journeyman_order::scrutiny::MutantTally;
use journeyman_order::{EffectOutcome, Journal, JournalEvent};

const VERIFIED: &str = include_str!(
    "../../../order/journals/2026-11-24/a_person_asks_for_changes_and_every_thread_is_answered.jsonl"
);

fn journal(text: &str) -> Journal {
    Journal::new(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()).unwrap()
}

fn without(text: &str, begin: &str, end: char) -> String {
    let mut pieces = text.split(begin);
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |kept, piece| kept + " " + piece.split_once(end).map_or("", |(_, rest)| rest))
}

fn words(text: &str) -> String {
    let is_shape = |c: char| c.is_whitespace() || "*`#\\[]-".contains(c);
    text.split(is_shape).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn words_of_html(html: &str) -> String {
    let text = without(html, "<", '>').replace("&quot;", "\"").replace("&gt;", ">").replace("&lt;", "<");
    words(&text.replace("&amp;", "&"))
}

fn words_of_markdown(text: &str) -> String {
    words(&without(text, "](", ')'))
}

#[test]
fn the_page_of_an_order_has_the_pull_requests_evidence_above_the_steps() {
    let journal = journal(VERIFIED);
    let projection = projection(&journal);
    let pull = words_of_markdown(&journeyman_render::pull(&journal, &projection, "").unwrap());
    let evidence = journeyman_render::evidence(&journal, &projection).unwrap();
    let evidence = [words_of_markdown(&evidence.lines), words_of_markdown(&evidence.details)];
    for said in ["1 test of the base failed before", "falsified expectations", "What was not verified"] {
        assert!(evidence[0].contains(said), "{said} is not in {evidence:?}");
    }
    assert!(evidence.iter().all(|words| pull.contains(words)), "{evidence:?} is not in {pull}");

    let parts = parts(&journal, &projection, "http://here", false).unwrap();

    let at = |id: &str| parts.iter().position(|part| part.id == id).unwrap();
    assert!(at("receipt") < at("step-1") && parts[at("receipt")].into == "top");
    let page = words_of_html(&parts[at("receipt")].html);
    assert!(evidence.iter().all(|words| page.contains(words)), "{evidence:?} is not in {page}");
}

#[test]
fn a_step_says_what_its_checks_found_before_what_its_agent_claims() {
    let journal = journal(VERIFIED);
    let parts = parts(&journal, &projection(&journal), "http://here", false).unwrap();
    let steps =
        parts.iter().map(|part| part.html.as_str()).filter(|html| html.contains("pushed commit: passed"));
    let mut steps = steps.filter(|html| html.contains("<pre tabindex=\"0\">")).peekable();
    assert!(steps.peek().is_some());
    for step in steps {
        let at = |words: &str| step.find(words).unwrap();
        assert!(at("pushed commit: passed") < at("<pre tabindex=\"0\">"), "{step}");
    }
    let commit = projection(&journal).trace.work.unwrap().commit;
    let whole: String = parts.iter().map(|part| part.html.as_str()).collect();
    assert!(whole.contains(commit.as_str()), "{whole}");
    for entry in journal.entries() {
        let JournalEvent::Observed { outcome, .. } = &entry.event else { continue };
        if let EffectOutcome::Imported { pushed, .. } = &**outcome {
            assert!(!whole.contains(pushed.short()), "the agent's own commit is shown nowhere");
        }
    }
}

#[test]
fn where_no_mutants_were_tried_page_and_pull_request_say_why() {
    let journal = journal(VERIFIED);
    let mut projection = projection(&journal);
    let tests = projection.trace.work.as_mut().and_then(|work| work.tests.as_mut()).unwrap();
    let said = "No mutants were tried, because the tests took too long.";
    tests.scrutiny.as_mut().unwrap().mutants = Some(MutantTally::untried("the tests took too long"));

    let pull = journeyman_render::pull(&journal, &projection, "").unwrap();

    let gaps = pull.split("**What was not verified**").nth(1).unwrap();
    assert!(gaps.contains(&format!("\n- {said}\n")) && !pull.contains("0 of 0"), "{pull}");
    let parts = parts(&journal, &projection, "http://here", false).unwrap();
    assert!(parts.iter().any(|part| part.id == "receipt" && part.html.contains(said)));
}

#[test]
fn a_receipt_can_be_checked_by_what_the_page_says_once_there_is_one() {
    let whole = journal(VERIFIED);
    let receipt = |journal: &Journal| {
        let parts = parts(journal, &projection(journal), "http://here", false).unwrap();
        parts.into_iter().find(|part| part.id == "receipt").unwrap().html
    };
    let commit = projection(&whole).trace.work.unwrap().commit;
    let lines = receipt(&whole);
    assert!(
        lines.contains("Bearer $JOURNEYMAN_API_TOKEN") && !lines.contains("$JOURNEYMAN_TOKEN"),
        "{lines}"
    );
    assert!(lines.contains(&format!("git fetch -q origin {commit}")), "{lines}");
    let at_work =
        (1..whole.last_seq()).rev().filter_map(|length| whole.prefix(usize::try_from(length).ok()?));
    let mut at_work = at_work.filter(|early| projection(early).next.settled.is_none());
    let early = at_work.find(|early| projection(early).trace.work.is_some()).unwrap();
    assert!(!receipt(&early).contains("Check it yourself"), "nothing is signed yet");
}
