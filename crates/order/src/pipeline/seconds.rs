//! A length of time as people write it: `90`, `90s`, `10m`, `2h`.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A length of time, in whole seconds, of at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seconds(pub u64);

impl Seconds {
    /// Reads `90`, `90s`, `10m` or `2h`.
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
        struct SecondsVisitor;
        impl serde::de::Visitor<'_> for SecondsVisitor {
            type Value = Seconds;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a length of time such as 90s, 10m or 2h")
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Seconds, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Seconds, E> {
                Seconds::parse(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(SecondsVisitor)
    }
}
