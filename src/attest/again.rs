//! What a receipt says of the tests, held against a run of today: statement by statement.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::order::receipt::TestEvidence;

/// Of a list or a text, more is not shown.
const LONGEST: usize = 300;

/// One statement of a receipt, and what came of it when it was tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Compared {
    /// What it is about, such as `test: exit`.
    pub statement: String,
    /// What the receipt says. Foreign: it may hold anything.
    pub receipt: String,
    /// What was found here. Foreign in part: names of tests come from the repository.
    pub here: String,
    /// How the two compare.
    #[serde(flatten)]
    pub found: Found,
}

/// How what a receipt says compares with what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "found", rename_all = "snake_case")]
pub enum Found {
    /// It is so here as well.
    Same,
    /// It is not so here.
    Differs,
    /// Nobody can tell by trying again.
    CannotBeRepeated {
        /// Why.
        because: &'static str,
    },
}

impl Found {
    /// Whether two things are the same.
    pub fn of(same: bool) -> Self {
        if same { Self::Same } else { Self::Differs }
    }
}

impl Compared {
    /// A statement that trying again tells nothing about.
    pub fn not_repeated(statement: &str, receipt: &str, because: &'static str) -> Self {
        Self {
            statement: statement.to_owned(),
            receipt: shorten(receipt),
            here: String::new(),
            found: Found::CannotBeRepeated { because },
        }
    }

    /// A statement and what was found.
    pub fn new(statement: &str, receipt: &str, here: &str) -> Self {
        Self {
            statement: statement.to_owned(),
            receipt: shorten(receipt),
            here: shorten(here),
            found: Found::of(receipt == here),
        }
    }
}

/// Every statement of a receipt about its tests, `tests` of [`super::Statement::receipt`], beside a run of today. What the receipt does not speak of, because it
/// is of an older version, is not compared.
///
/// # Errors
/// When the run of today cannot be written as JSON.
pub fn compare(said: &Value, here: &TestEvidence) -> Result<Vec<Compared>, serde_json::Error> {
    let mut rows = Vec::new();
    walk(&mut rows, "", said, &serde_json::to_value(here)?);
    Ok(rows)
}

fn walk(rows: &mut Vec<Compared>, path: &str, said: &Value, here: &Value) {
    let nothing = Map::new();
    let (said, here) = (said.as_object().unwrap_or(&nothing), here.as_object().unwrap_or(&nothing));
    for (key, said) in said {
        let statement = if path.is_empty() {
            key.replace('_', " ")
        } else {
            format!("{path}: {}", key.replace('_', " "))
        };
        match (kind(key), here.get(key)) {
            (Kind::Time, _) => {}
            (_, None) => rows.push(Compared::not_repeated(
                &statement,
                &shown(said),
                "this version of Journeyman does not know it",
            )),
            (Kind::Result, Some(here)) if said.is_object() && here.is_object() => {
                walk(rows, &statement, said, here)
            }
            (kind, Some(here)) => {
                let found = match kind {
                    Kind::Digest if said != here => {
                        Found::CannotBeRepeated { because: "what is printed holds times and places" }
                    }
                    Kind::Walls if said != here => Found::CannotBeRepeated {
                        because: "this run was in another: sandbox.mode says in which",
                    },
                    Kind::Digest | Kind::Walls | Kind::Whole | Kind::Result | Kind::Time => {
                        Found::of(said == here)
                    }
                };
                rows.push(Compared { statement, receipt: shown(said), here: shown(here), found });
            }
        }
    }
}

/// Of what kind a field is, by its name.
enum Kind {
    /// How long it took, and whether it was remembered: no result.
    Time,
    /// Of an output.
    Digest,
    /// In which sandbox.
    Walls,
    /// Several numbers that are one statement.
    Whole,
    /// Whatever else there is.
    Result,
}

fn kind(key: &str) -> Kind {
    match key {
        "kept" => Kind::Time,
        "sandbox" => Kind::Walls,
        "exit" | "counts" => Kind::Whole,
        _ if key.ends_with("_seconds") => Kind::Time,
        _ if key.ends_with("sha256") => Kind::Digest,
        _ => Kind::Result,
    }
}

fn shown(value: &Value) -> String {
    let list = |items: Vec<String>| if items.is_empty() { "none".to_owned() } else { items.join(", ") };
    shorten(&match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => list(items.iter().map(shown).collect()),
        Value::Object(fields) => list(
            fields.iter().map(|(key, value)| format!("{} {}", key.replace('_', " "), shown(value))).collect(),
        ),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    })
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
