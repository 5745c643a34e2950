//! What a run of today cannot say of a true receipt: it knows neither the issue nor the plan, and tries no mutants.
//!
//! A statement is open only where what it says rests on the issue or the plan alone. Whatever is found worse here differs.

use std::collections::BTreeMap;

use journeyman_order::TestVerdict;
use journeyman_order::receipt::TestEvidence;
use journeyman_order::scrutiny::ExampleRun;

const EXAMPLES: &str =
    "the examples come from the issue, which a receipt does not hold: this is the signer's word alone";
const EXAMINATION: &str =
    "the programs come from the examiner, and a receipt does not hold them: this is the signer's word alone";
const MUTANTS: &str = "mutants are not tried again: this is the signer's word alone";
const ISSUE: &str = "what the issue speaks of is not in a receipt";
const IMAGE: &str = "not checked, since the image's name has no digest and means another image today";

/// A run of today that a receipt is held against.
#[derive(Debug, Clone, Copy)]
pub struct RunOfToday<'a> {
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
    if found.examples.is_empty() {
        open.insert("scrutiny: examples", EXAMPLES);
    }
    if found.examination.is_none() {
        open.insert("scrutiny: examination", EXAMINATION);
    }
    if found.unnamed_inputs.is_empty() {
        open.insert("scrutiny: unnamed inputs", ISSUE);
    }
    if found.mutants.is_none() {
        open.insert("scrutiny: mutants", MUTANTS);
    }
    let is_for_the_issue =
        said.verdict == TestVerdict::Unmended && scrutiny.examples.iter().any(ExampleRun::is_against);
    if is_for_the_issue && matches!(here.verdict, TestVerdict::Passed | TestVerdict::NoTests) {
        open.insert("verdict", ISSUE);
    }
    open
}

/// An image without its digest; none where it has none, or one that is no digest.
fn repository_of(image: &str) -> Option<&str> {
    let (name, digest) = image.split_once("@sha256:")?;
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (digest.len() == 64 && digest.bytes().all(is_hex)).then_some(name)
}
