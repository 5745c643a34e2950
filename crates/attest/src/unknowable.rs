//! What a run of today cannot say of a true receipt: it knows neither the issue nor the plan, and tries no mutants.
//!
//! A statement is open only where the receipt says no more for the change by it than was found here, or what it says rests
//! on the issue or the plan alone. Whatever is found worse here differs.

use std::collections::BTreeMap;

use journeyman_order::comparison::{MOST_NAMED, TestList};
use journeyman_order::receipt::TestEvidence;
use journeyman_order::scrutiny::{ExampleRun, ExampleVerdict, LieVerdict, MutantTally, Objection, Scrutiny};
use journeyman_order::{Proof, TestVerdict};

const EXAMPLES: &str = "the examples come from the issue, which a receipt does not hold";
const REPRODUCTION: &str = "the test comes from the plan, which a receipt does not hold";
const MUTANTS: &str = "mutants are not tried again";
const ISSUE: &str = "what the issue speaks of is not in a receipt";
const IMAGE: &str = "the image's name means another image today";
/// How what the base's tests have against a change ends, where only the issue could excuse it.
const BESIDE_THE_ISSUE: &str = "the issue does not speak of it";
/// So many may be taken off a list of which not all are named.
const MOST_TAKEN_OFF: usize = 10;

/// Statements that differ or are missing here for what is not known here, by their names, and why.
pub(super) fn unknowable(said: &TestEvidence, here: &TestEvidence) -> BTreeMap<&'static str, &'static str> {
    let mut open = BTreeMap::new();
    if let (Some(said), Some(here)) = (&said.image, &here.image)
        && repository_of(said) == repository_of(here)
    {
        open.insert("image", IMAGE);
    }
    let (Some(scrutiny), Some(found)) = (&said.scrutiny, &here.scrutiny) else { return open };
    if found.examples.is_empty() && scrutiny.examples.iter().all(is_coherent) {
        open.insert("scrutiny: examples", EXAMPLES);
    }
    if found.reproduction.is_none() {
        open.insert("scrutiny: reproduction", REPRODUCTION);
    }
    if found.mutants.is_none() && scrutiny.mutants.as_ref().is_none_or(counts_fit) {
        open.insert("scrutiny: mutants", MUTANTS);
    }
    let is_beside = is_told_beside(scrutiny, found);
    if is_beside {
        open.insert("scrutiny: comparison: fixed", ISSUE);
        open.insert("scrutiny: comparison: fixed beside", ISSUE);
    }
    let is_proven_less = is_proven_less(scrutiny.proof.as_ref(), found.proof.as_ref());
    if is_proven_less {
        open.insert("scrutiny: proof", ISSUE);
    }
    if is_beside || is_proven_less {
        // Which expectations are made false follows from what proves the change.
        open.insert("scrutiny: lies: told", ISSUE);
        open.insert("scrutiny: lies: runs", ISSUE);
        let lies = |of: &Scrutiny| of.lies.as_ref().map(|lies| lies.said.clone());
        if lies(found) == Some(LieVerdict::Noticed) {
            open.insert("scrutiny: lies: said", ISSUE);
        }
        if here.doubt.is_none() {
            open.insert("doubt", ISSUE);
        }
    }
    let is_against = is_against_for_the_issue(scrutiny, found);
    if is_against {
        open.insert("scrutiny: against", ISSUE);
        open.insert("scrutiny: lies", ISSUE);
    }
    let is_for_the_issue = match said.verdict {
        TestVerdict::Unmended => scrutiny.examples.iter().any(ExampleRun::is_against),
        TestVerdict::Weakened => is_against,
        TestVerdict::Passed | TestVerdict::Failed | TestVerdict::SetupFailed | TestVerdict::NoTests => false,
    };
    if is_for_the_issue && matches!(here.verdict, TestVerdict::Passed | TestVerdict::NoTests) {
        open.insert("verdict", ISSUE);
    }
    open
}

/// What a receipt says of its tests that cannot be so whatever was run, by the name of its statement.
pub(super) fn incoherent(said: &TestEvidence) -> Vec<(String, &'static str)> {
    let mut wrong = Vec::new();
    let Some(scrutiny) = &said.scrutiny else { return wrong };
    let comparison = &scrutiny.comparison;
    for (name, list) in [
        ("fixed", &comparison.fixed),
        ("by data", &comparison.by_data),
        ("fixed beside", &comparison.fixed_beside),
        ("newly broken", &comparison.newly_broken),
        ("already red", &comparison.already_red),
        ("flaky", &comparison.flaky),
        ("gone", &comparison.gone),
        ("new", &comparison.new),
        ("new failing", &comparison.new_failing),
        ("skipped", &comparison.skipped),
    ] {
        if !names_fit(list) {
            wrong.push((format!("scrutiny: comparison: {name}"), "as many names as the number says"));
        }
    }
    if !scrutiny.examples.iter().all(is_coherent) {
        wrong.push(("scrutiny: examples".to_owned(), "answers that come to what is said of them"));
    }
    if !scrutiny.mutants.as_ref().is_none_or(counts_fit) {
        wrong.push(("scrutiny: mutants".to_owned(), "numbers that add up"));
    }
    let has_objection = scrutiny.objections().iter().any(|one| matches!(one, Objection::Example(_)));
    if has_objection && said.verdict == TestVerdict::Passed {
        wrong.push(("verdict".to_owned(), "unmended, as an example of the issue says"));
    }
    wrong
}

/// Whether a list has the names that its number asks for. Of a long one the first are named.
fn names_fit(list: &TestList) -> bool {
    let named = list.names.len();
    let is_long = named.saturating_add(MOST_TAKEN_OFF) >= MOST_NAMED;
    let total = usize::try_from(list.total).unwrap_or(usize::MAX);
    named == total || (named < total && is_long)
}

fn counts_fit(tally: &MutantTally) -> bool {
    let survivors = u32::try_from(tally.survivors.len()).unwrap_or(u32::MAX);
    tally.caught.checked_add(survivors).is_some_and(|known| known <= tally.tried)
}

/// Whether the answers to an example can come to what is said of them.
fn is_coherent(example: &ExampleRun) -> bool {
    match example.said {
        ExampleVerdict::Mended | ExampleVerdict::OtherThanNamed => {
            !example.after.is_empty() && example.before != example.after
        }
        ExampleVerdict::AsBefore => example.before == example.after,
        ExampleVerdict::Unsteady => example.after.len() > 1,
        ExampleVerdict::Open => true,
    }
}

/// Whether all that is fixed here is told as fixed beside the issue.
fn is_told_beside(said: &Scrutiny, here: &Scrutiny) -> bool {
    let (said, here) = (&said.comparison, &here.comparison);
    !here.fixed.is_empty() && said.fixed == TestList::default() && said.fixed_beside == here.fixed
}

/// Whether the receipt counts less of what proves the change here: names that the issue does not have prove nothing.
fn is_proven_less(said: Option<&Proof>, here: Option<&Proof>) -> bool {
    let Some(Proof::Proven { by, red }) = here else { return false };
    let is_of_red = |tests: &[String]| !tests.is_empty() && tests.iter().all(|test| red.contains(test));
    match said {
        Some(Proof::Proven { by: of, red: told }) => of == by && told.len() < red.len() && is_of_red(told),
        Some(Proof::NamesWhatIsNew { tests }) => is_of_red(tests),
        Some(Proof::NotProven { .. } | Proof::CannotTell { .. } | Proof::NoTestsChanged) | None => false,
    }
}

/// Whether the receipt has more against the change than is found here, and the issue is why.
fn is_against_for_the_issue(said: &Scrutiny, here: &Scrutiny) -> bool {
    let more: Vec<&String> = said.against.iter().filter(|told| !here.against.contains(told)).collect();
    !more.is_empty()
        && more.iter().all(|told| told.ends_with(BESIDE_THE_ISSUE))
        && here.against.iter().all(|told| said.against.contains(told))
}

/// An image without its digest; none where it has none.
fn repository_of(image: &str) -> Option<&str> {
    image.split_once("@sha256:").map(|(name, _)| name)
}
