//! Who a stage's check `verifier` asks: nobody, one role, or several at the same time.

use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The roles, in the order of the file. `verifier: a` and `verifier: [a]` are the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verifiers(Vec<String>);

impl Verifiers {
    pub fn roles(&self) -> &[String] {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many are asked at the same time.
    pub fn count(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }
}

impl fmt::Display for Verifiers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0.join(", "))
    }
}

impl Serialize for Verifiers {
    /// One as a text and none as null, as journals have them that know no list.
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

            fn visit_bool<E: serde::de::Error>(self, is_yes: bool) -> Result<Verifiers, E> {
                let words =
                    if is_yes { "`y`, `yes`, `on` and `true`" } else { "`n`, `no`, `off` and `false`" };
                Err(E::custom(format_args!("{words} are words of YAML: put the role's name in quotes")))
            }

            fn visit_str<E>(self, role: &str) -> Result<Verifiers, E> {
                Ok(Verifiers(vec![role.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Verifiers, A::Error> {
                let mut roles = Vec::new();
                while let Some(role) = list.next_element()? {
                    roles.push(role);
                }
                Ok(Verifiers(roles))
            }
        }
        deserializer.deserialize_any(VerifiersVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
