//! What a run of today cannot say of a true receipt: it knows neither the issue nor the plan, and tries no mutants.
//!
//! A statement is open only where what it says rests on the issue or the plan alone. Whatever is found worse here differs.

use std::collections::{BTreeMap, BTreeSet};

use journeyman_order::TestVerdict;
use journeyman_order::comparison::{MOST_NAMED, TestList};
use journeyman_order::receipt::TestEvidence;
use journeyman_order::scrutiny::{ExampleRun, ExampleVerdict, MutantTally, Objection};

const EXAMPLES: &str =
    "the examples come from the issue, which a receipt does not hold: this is the signer's word alone";
const EXAMINATION: &str =
    "the programs come from the examiner, and a receipt does not hold them: this is the signer's word alone";
const MUTANTS: &str = "mutants are not tried again: this is the signer's word alone";
const ISSUE: &str = "what the issue speaks of is not in a receipt";
const IMAGE: &str = "not checked, since the image's name has no digest and means another image today";
/// How a list of tests that is cut came to the names that it has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CutList {
    /// The first are named, and no more was done to it.
    Whole,
    /// Any of those that were named may have been taken off again.
    Thinned,
}

/// A run of today that a receipt is held against.
#[derive(Debug, Clone, Copy)]
pub struct RunOfToday<'a> {
    /// What it says of itself.
    pub tests: &'a TestEvidence,
    /// Whether the image was asked for by its digest, which means the same image for ever.
    pub is_image_by_digest: bool,
}

/// Statements that differ or are missing here for what is not known here, by their names, and why.
pub(super) fn unknowable(said: &TestEvidence, today: RunOfToday<'_>) -> BTreeMap<&'static str, &'static str> {
    let mut open = BTreeMap::new();
    let here = today.tests;
    // A name with a digest means the same image for ever: another one is another image.
    if !today.is_image_by_digest
        && let (Some(said), Some(here)) = (&said.image, &here.image)
        && repository_of(said).is_some_and(|name| Some(name) == repository_of(here))
    {
        open.insert("image", IMAGE);
    }
    let (Some(scrutiny), Some(found)) = (&said.scrutiny, &here.scrutiny) else { return open };
    if found.examples.is_empty() && scrutiny.examples.iter().all(is_coherent) {
        open.insert("scrutiny: examples", EXAMPLES);
    }
    if found.examination.is_none() {
        open.insert("scrutiny: examination", EXAMINATION);
    }
    if found.unnamed_inputs.is_empty() {
        open.insert("scrutiny: unnamed inputs", ISSUE);
    }
    if found.mutants.is_none() && scrutiny.mutants.as_ref().is_none_or(counts_fit) {
        open.insert("scrutiny: mutants", MUTANTS);
    }
    let is_for_the_issue =
        said.verdict == TestVerdict::Unmended && scrutiny.examples.iter().any(ExampleRun::is_against);
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
    // Tests that turn out to be something else are taken off what is fixed and what is flaky.
    for (name, list, cut) in [
        ("fixed", &comparison.fixed, CutList::Thinned),
        ("by data", &comparison.by_data, CutList::Whole),
        ("newly broken", &comparison.newly_broken, CutList::Whole),
        ("already red", &comparison.already_red, CutList::Whole),
        ("flaky", &comparison.flaky, CutList::Thinned),
        ("gone", &comparison.gone, CutList::Whole),
        ("new", &comparison.new, CutList::Whole),
        ("new failing", &comparison.new_failing, CutList::Whole),
        ("skipped", &comparison.skipped, CutList::Whole),
    ] {
        if !names_fit(list, cut) {
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

/// Whether a list has the names that its number asks for, each once. Of a long one the first are named.
fn names_fit(list: &TestList, cut: CutList) -> bool {
    let named = list.names.len();
    let total = usize::try_from(list.total).unwrap_or(usize::MAX);
    let are_distinct = list.names.iter().collect::<BTreeSet<_>>().len() == named;
    let is_cut = named < total && (named == MOST_NAMED || cut == CutList::Thinned);
    are_distinct && named <= MOST_NAMED && (named == total || is_cut)
}

fn counts_fit(tally: &MutantTally) -> bool {
    let count = |of: &[String]| u32::try_from(of.len()).unwrap_or(u32::MAX);
    let is_known =
        tally.caught.checked_add(count(&tally.survivors)).is_some_and(|known| known <= tally.tried);
    is_known && count(&tally.unread) <= tally.not_tried
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

/// An image without its digest; none where it has none, or one that is no digest.
fn repository_of(image: &str) -> Option<&str> {
    let (name, digest) = image.split_once("@sha256:")?;
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (digest.len() == 64 && digest.bytes().all(is_hex)).then_some(name)
}
