//! Values with more than one written form: a duration, a version, the roles that judge.

use std::fmt;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::problem::quoted;

/// A duration in whole seconds, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seconds(pub u64);

impl Seconds {
    /// Parses `90`, `90s`, `10m` or `2h`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (digits, unit) = match text.strip_suffix(['s', 'm', 'h']) {
            Some(digits) => (digits, &text[digits.len()..]),
            None => (text, "s"),
        };
        let factor = match unit {
            "m" => 60,
            "h" => 3_600,
            _ => 1,
        };
        let seconds = digits.trim().parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
        seconds
            .filter(|seconds| (1..=7 * 24 * 3_600).contains(seconds))
            .map(Self)
            .ok_or_else(|| format!("{text:?} is no length of time; write 90s, 10m or 2h"))
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            seconds if seconds % 3_600 == 0 => write!(out, "{}h", seconds / 3_600),
            seconds if seconds % 60 == 0 => write!(out, "{}m", seconds / 60),
            seconds => write!(out, "{seconds}s"),
        }
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "a length of time such as 90s, 10m or 2h";
        deserializer.deserialize_any(NumberOrText { expected, parse: Self::parse })
    }
}

/// Reads a value written as a number or as text.
struct NumberOrText<T> {
    expected: &'static str,
    parse: fn(&str) -> Result<T, String>,
}

impl<T> Visitor<'_> for NumberOrText<T> {
    type Value = T;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.expected)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&format!("{number:?}"))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).map_err(E::custom)
    }
}

const LONGEST_VERSION: usize = 40;

/// A pipeline's version. It is only shown, never compared: `1` and `"1.0"` stay as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipelineVersion(String);

impl PipelineVersion {
    /// Parses a number, or digits followed by letters, dots and hyphens.
    pub fn parse(text: &str) -> Result<Self, String> {
        let fits = text.starts_with(|first: char| first.is_ascii_digit())
            && text.len() <= LONGEST_VERSION
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
    /// Whole numbers stay numbers, as in all existing journals.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.parse::<u32>() {
            Ok(number) if number.to_string() == self.0 => serializer.serialize_u32(number),
            Ok(_) | Err(_) => serializer.serialize_str(&self.0),
        }
    }
}

impl<'de> Deserialize<'de> for PipelineVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "a number or a text such as \"1.0\"";
        deserializer.deserialize_any(NumberOrText { expected, parse: Self::parse })
    }
}

/// The roles that the check `verifier` asks in parallel, in the file's order. `verifier: a` equals `verifier: [a]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verifiers(Vec<String>);

impl Verifiers {
    pub fn roles(&self) -> &[String] {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Verifiers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0.join(", "))
    }
}

impl Serialize for Verifiers {
    /// One role as text and no role as null, as in older journals that have no list.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [] => serializer.serialize_none(),
            [only] => serializer.serialize_str(only),
            several => several.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Verifiers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct VerifiersVisitor;
        impl<'de> Visitor<'de> for VerifiersVisitor {
            type Value = Verifiers;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a role, or a list of roles")
            }

            fn visit_unit<E>(self) -> Result<Verifiers, E> {
                Ok(Verifiers::default())
            }

            fn visit_bool<E: Error>(self, is_yes: bool) -> Result<Verifiers, E> {
                let words =
                    if is_yes { "`y`, `yes`, `on` and `true`" } else { "`n`, `no`, `off` and `false`" };
                Err(E::custom(format_args!("{words} are words of YAML: put the role's name in quotes")))
            }

            fn visit_str<E>(self, role: &str) -> Result<Verifiers, E> {
                Ok(Verifiers(vec![role.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Verifiers, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(Verifiers)
            }
        }
        deserializer.deserialize_any(VerifiersVisitor)
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

    #[test]
    fn one_verifier_is_kept_as_it_was_before_there_were_lists() {
        for (json, roles) in [("null", &[][..]), ("\"a\"", &["a"]), ("[\"a\",\"b\"]", &["a", "b"])] {
            let read: Verifiers = serde_json::from_str(json).unwrap();
            assert_eq!(read.roles(), roles);
            assert_eq!(serde_json::to_string(&read).unwrap(), json);
        }
        assert_eq!(serde_json::to_string(&crate::yaml::read::<Verifiers>("[a]").unwrap()).unwrap(), "\"a\"");
    }
}
