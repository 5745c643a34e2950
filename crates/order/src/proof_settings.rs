//! The repository's key `prove`: a word, or a table with that word and what is asked of mutants.

use std::fmt;

use schemars::JsonSchema;
use serde::de::{MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Of which changes a test is wanted that fails without them. Who brings none is asked once; then the receipt says
/// *passing, not proven*.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProofRequirement {
    Always,
    /// Of all but upkeep: a bug's has to fail in what it expects, a feature's may fail for what is not there yet.
    #[default]
    Changes,
    /// Of what was classified as `/bug`.
    Bugs,
    Never,
}

/// Of which changes a test is wanted that fails without them, and how strong it has to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProofSettings {
    pub of: ProofRequirement,
    /// Seconds for mutants of the changed lines; the lower of this and the server's counts. None: the server's.
    pub mutants: Option<u32>,
    /// The share of them that has to be caught, in percent; none: they inform, and that is all.
    pub caught: Option<u8>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ProofTable {
    #[serde(default)]
    of: ProofRequirement,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mutants: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 100))]
    caught: Option<u8>,
}

impl From<ProofRequirement> for ProofSettings {
    fn from(of: ProofRequirement) -> Self {
        Self { of, ..Self::default() }
    }
}

impl Serialize for ProofSettings {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let Self { of, mutants, caught } = *self;
        if mutants.is_none() && caught.is_none() {
            return of.serialize(out);
        }
        ProofTable { of, mutants, caught }.serialize(out)
    }
}

impl<'de> Deserialize<'de> for ProofSettings {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct WordOrTable;
        impl<'de> Visitor<'de> for WordOrTable {
            type Value = ProofSettings;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(
                    "`always`, `changes`, `bugs` or `never`, or a table of `of`, `mutants` and `caught`",
                )
            }

            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<ProofSettings, E> {
                let of = match word {
                    "always" => ProofRequirement::Always,
                    "changes" => ProofRequirement::Changes,
                    "bugs" => ProofRequirement::Bugs,
                    "never" => ProofRequirement::Never,
                    other => return Err(E::unknown_variant(other, &["always", "changes", "bugs", "never"])),
                };
                Ok(of.into())
            }

            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<ProofSettings, M::Error> {
                let ProofTable { of, mutants, caught } =
                    ProofTable::deserialize(MapAccessDeserializer::new(map))?;
                if caught.is_some_and(|caught| caught > 100) {
                    return Err(serde::de::Error::custom("`caught` is a percentage, at most 100"));
                }
                Ok(ProofSettings { of, mutants, caught })
            }
        }
        from.deserialize_any(WordOrTable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_or_a_table_says_what_has_to_be_proven() {
        for (text, of, mutants, caught) in [
            ("\"always\"", ProofRequirement::Always, None, None),
            ("\"bugs\"", ProofRequirement::Bugs, None, None),
            (r#"{"of": "never", "mutants": 0}"#, ProofRequirement::Never, Some(0), None),
            (r#"{"mutants": 30, "caught": 60}"#, ProofRequirement::Changes, Some(30), Some(60)),
        ] {
            let read: ProofSettings = serde_json::from_str(text).unwrap();
            assert_eq!(read, ProofSettings { of, mutants, caught });
            let again: ProofSettings = serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap();
            assert_eq!(again, read);
        }
        for bad in ["\"some\"", r#"{"caught": 101}"#, r#"{"speed": 1}"#, "3"] {
            assert!(serde_json::from_str::<ProofSettings>(bad).is_err(), "{bad}");
        }
    }
}
