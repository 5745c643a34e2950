//! The version of a pipeline, as its author counts: `1`, `"1"`, `"1.0"`.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::problem::quoted;

const LONGEST: usize = 40;

/// A pipeline's version. It is shown and compared with nothing: `1` and `"1.0"` stay what they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipelineVersion(String);

impl PipelineVersion {
    /// Reads a number, or digits with letters, dots and hyphens after them.
    pub fn parse(text: &str) -> Result<Self, String> {
        let fits = text.starts_with(|first: char| first.is_ascii_digit())
            && text.len() <= LONGEST
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'+' | b'_'));
        match fits {
            true => Ok(Self(text.to_owned())),
            false => Err(format!("`version` is a number or a text such as \"1.0\", not {}", quoted(text))),
        }
    }
}

impl fmt::Display for PipelineVersion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl Serialize for PipelineVersion {
    /// Whole numbers as numbers, as they stand in journals since there are any.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.parse::<u32>() {
            Ok(number) if number.to_string() == self.0 => serializer.serialize_u32(number),
            Ok(_) | Err(_) => serializer.serialize_str(&self.0),
        }
    }
}

impl<'de> Deserialize<'de> for PipelineVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PipelineVersionVisitor;
        impl serde::de::Visitor<'_> for PipelineVersionVisitor {
            type Value = PipelineVersion;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a number or a text such as \"1.0\"")
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<PipelineVersion, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<PipelineVersion, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<PipelineVersion, E> {
                self.visit_str(&format!("{number:?}"))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<PipelineVersion, E> {
                PipelineVersion::parse(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(PipelineVersionVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(yaml: &str) -> Result<String, String> {
        let read = crate::yaml::read::<PipelineVersion>(yaml);
        read.map(|version| version.to_string()).map_err(|fault| crate::yaml::said(&fault))
    }

    #[test]
    fn a_version_is_a_number_or_a_text_and_stays_what_it_is() {
        for (yaml, shown, kept) in [
            ("1", "1", "1"),
            ("\"1\"", "1", "1"),
            ("1.0", "1.0", "\"1.0\""),
            ("\"1.0\"", "1.0", "\"1.0\""),
            ("'2.10.3-beta+x'", "2.10.3-beta+x", "\"2.10.3-beta+x\""),
            ("'01'", "01", "\"01\""),
        ] {
            assert_eq!(of(yaml).as_deref(), Ok(shown), "{yaml}");
            let version = PipelineVersion::parse(shown).unwrap();
            assert_eq!(serde_json::to_string(&version).unwrap(), kept);
            assert_eq!(serde_json::from_str::<PipelineVersion>(kept).unwrap(), version);
        }
        for yaml in
            ["-1", "one", "''", "'v1'", "'1 <b>'", ".nan", "true", "[]", &format!("'{}'", "1".repeat(41))]
        {
            let problem = of(yaml).unwrap_err();
            assert!(
                problem.contains("a number or a text such as \"1.0\"") || problem.contains("finite"),
                "{yaml}: {problem}"
            );
        }
    }
}
