//! Compares a receipt's statements about the tests with a run of today, one by one.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value};

use super::key::is_sha256;
use journeyman_order::bounds::LONGEST_LINE;
use journeyman_order::length::shorten;
use journeyman_order::receipt::TestEvidence;
use journeyman_order::scrutiny::ExampleRun;
use journeyman_order::{Scrutiny, TestVerdict};

/// One statement of a receipt, and the result of trying it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReverifiedStatement {
    /// The subject, such as `test: exit`.
    pub statement: String,
    /// What the receipt says. Foreign: it may contain anything.
    pub receipt: String,
    /// What was found here. Partly foreign: names of tests come from the repository.
    pub here: String,
    #[serde(flatten)]
    pub found: ReverificationResult,
}

/// How a receipt's statement compares with today's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "found", rename_all = "snake_case")]
pub enum ReverificationResult {
    Same,
    Differs,
    CannotBeRepeated { because: &'static str },
}

impl ReverificationResult {
    pub fn of(same: bool) -> Self {
        if same { Self::Same } else { Self::Differs }
    }
}

impl ReverifiedStatement {
    /// A statement that a rerun cannot check.
    pub fn not_repeated(statement: &str, receipt: &str, because: &'static str) -> Self {
        Self {
            statement: statement.to_owned(),
            receipt: shorten(receipt, LONGEST_LINE),
            here: String::new(),
            found: ReverificationResult::CannotBeRepeated { because },
        }
    }

    pub fn new(statement: &str, receipt: &str, here: &str) -> Self {
        Self {
            statement: statement.to_owned(),
            receipt: shorten(receipt, LONGEST_LINE),
            here: shorten(here, LONGEST_LINE),
            found: ReverificationResult::of(receipt == here),
        }
    }
}

/// Every statement of a receipt about its tests, beside a run of today. `said` is `tests` of
/// [`super::Statement::receipt`], including fields that this version does not know. Statements that an older receipt
/// lacks are not compared. Something unknown only here does not count as a difference.
pub fn compare(
    said: &Value,
    known: &TestEvidence,
    today: RunOfToday<'_>,
) -> Result<Vec<ReverifiedStatement>, serde_json::Error> {
    let open = unknowable(known, today);
    let (known, here) = (serde_json::to_value(known)?, serde_json::to_value(today.tests)?);
    let mut rows = Vec::new();
    let mut fields: Vec<(&String, &Value)> = said.as_object().into_iter().flatten().collect();
    fields.sort_by_key(|(key, _)| rank(key));
    for (key, said) in fields {
        match known.get(key) {
            Some(_) => row(&mut rows, &open, &words(key), key, said, here.get(key).unwrap_or(&Value::Null)),
            None => rows.push(ReverifiedStatement::not_repeated(
                &words(key),
                &shown(said),
                "this version of Journeyman does not know it",
            )),
        }
    }
    Ok(rows)
}

/// Statements that cannot be checked here, with the reason.
type OpenStatements = BTreeMap<&'static str, &'static str>;

fn row(
    rows: &mut Vec<ReverifiedStatement>,
    open: &OpenStatements,
    statement: &str,
    key: &str,
    said: &Value,
    here: &Value,
) {
    let kind = kind(key);
    if let (FieldKind::Result, Value::Object(said), Value::Object(here)) = (kind, said, here)
        && (has_parts(said) || has_parts(here))
    {
        let keys: BTreeSet<&String> = said.keys().chain(here.keys()).collect();
        for key in keys {
            let part = |of: &Map<String, Value>| of.get(key).cloned().unwrap_or_default();
            row(rows, open, &format!("{statement}: {}", words(key)), key, &part(said), &part(here));
        }
        return;
    }
    let same = bare(said) == bare(here);
    let found = match kind {
        FieldKind::Aside => return,
        FieldKind::Digest if !same => {
            ReverificationResult::CannotBeRepeated { because: "what is printed holds times and places" }
        }
        FieldKind::Walls if !same => ReverificationResult::CannotBeRepeated {
            because: "this run was in another: sandbox.mode says in which",
        },
        FieldKind::Digest | FieldKind::Walls | FieldKind::Result => match open.get(statement) {
            Some(because) if !same => ReverificationResult::CannotBeRepeated { because },
            Some(_) | None => ReverificationResult::of(same),
        },
    };
    rows.push(ReverifiedStatement {
        statement: statement.to_owned(),
        receipt: shown(said),
        here: shown(here),
        found,
    });
}

/// A field's kind, by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldKind {
    /// Duration, caching, how often tests run, which depends on the speed of a machine, and what decides nothing: no
    /// result.
    Aside,
    Digest,
    Walls,
    Result,
}

fn kind(key: &str) -> FieldKind {
    match key {
        "kept" | "runs" | "without_result" | "user_place" | "neighbours" => FieldKind::Aside,
        "sandbox" => FieldKind::Walls,
        _ if key.ends_with("_seconds") => FieldKind::Aside,
        _ if key.ends_with("sha256") => FieldKind::Digest,
        _ => FieldKind::Result,
    }
}

/// Whether its fields are separate statements, rather than one statement as counts are.
fn has_parts(fields: &Map<String, Value>) -> bool {
    fields.iter().any(|(key, value)| value.is_object() || kind(key) != FieldKind::Result)
}

/// Only results. A missing value and an empty one are the same.
fn bare(value: &Value) -> Value {
    match value {
        Value::Array(items) if items.is_empty() => Value::Null,
        Value::Array(items) => items.iter().map(bare).collect(),
        Value::Object(fields) => {
            let results = fields.iter().filter(|(key, _)| kind(key) == FieldKind::Result);
            Value::Object(results.map(|(key, value)| (key.clone(), bare(value))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn rank(key: &str) -> usize {
    let order = ["setup", "test", "verdict", "counts", "failing", "doubt", "sandbox"];
    order.iter().position(|known| *known == key).unwrap_or(order.len())
}

fn words(key: &str) -> String {
    key.replace('_', " ")
}

fn shown(value: &Value) -> String {
    let list = |items: Vec<String>| if items.is_empty() { "none".to_owned() } else { items.join(", ") };
    let text = match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => list(items.iter().map(shown).collect()),
        // The total, and the names that are listed.
        Value::Object(fields) if fields.contains_key("total") => {
            let part = |key: &str| fields.get(key).map(shown);
            [part("total"), part("names")].into_iter().flatten().collect::<Vec<_>>().join(": ")
        }
        Value::Object(fields) => {
            list(fields.iter().map(|(key, value)| format!("{} {}", words(key), shown(value))).collect())
        }
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    };
    shorten(&text, LONGEST_LINE)
}

const EXAMPLES: &str =
    "the examples come from the issue, which a receipt does not hold: this is the signer's word alone";
const EXAMINATION: &str =
    "the programs come from the examiner, and a receipt does not hold them: this is the signer's word alone";
const MUTANTS: &str = "mutants are not tried again: this is the signer's word alone";
const ISSUE: &str = "what the issue speaks of is not in a receipt";
const TIME: &str = "how many edits of the tests are tried depends on how long the tests take on a machine";
const IMAGE: &str = "not checked, since the image's name has no digest and means another image today";

/// A run of today that a receipt is compared with.
#[derive(Debug, Clone, Copy)]
pub struct RunOfToday<'a> {
    pub tests: &'a TestEvidence,
    /// Whether the image was requested by digest, which always means the same image.
    pub is_image_by_digest: bool,
}

/// Statements that a run of today cannot confirm: it lacks the issue and the plan, and tries no mutants. A statement is
/// open only if it rests on these alone. Anything worse here counts as a difference.
fn unknowable(said: &TestEvidence, today: RunOfToday<'_>) -> OpenStatements {
    let mut open = BTreeMap::new();
    let here = today.tests;
    // A name with a digest always means the same image: another one is another image.
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
    let is_cut = |of: &Scrutiny| !of.without_result.is_empty();
    if let (Some(said), Some(here)) = (&scrutiny.lies, &found.lies)
        && (is_cut(scrutiny) || is_cut(found))
        && (said.told.iter().all(|lie| here.told.contains(lie))
            || here.told.iter().all(|lie| said.told.contains(lie)))
    {
        open.insert("scrutiny: lies: told", TIME);
    }
    let is_for_the_issue =
        said.verdict == TestVerdict::Unmended && scrutiny.examples.iter().any(ExampleRun::is_against);
    if is_for_the_issue && matches!(here.verdict, TestVerdict::Passed | TestVerdict::NoTests) {
        open.insert("verdict", ISSUE);
    }
    open
}

/// An image's name without its digest; `None` if the digest is missing or invalid.
fn repository_of(image: &str) -> Option<&str> {
    let (name, digest) = image.split_once("@sha256:")?;
    is_sha256(digest).then_some(name)
}
