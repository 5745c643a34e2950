//! What people's files said, read back from a journal. Where people write, a key that nobody knows is a mistake. In a
//! journal it is what another version knew, and is passed over: the rest means what it meant.
//!
//! May know: serde. Must never know: which values are pinned.

use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Value};

/// For `#[serde(deserialize_with = "…")]` on a field whose type refuses keys that it does not know.
pub(crate) fn read<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<T, D::Error> {
    T::deserialize(PinnedValue(Value::deserialize(from)?)).map_err(D::Error::custom)
}

/// A value that hands a struct only those keys that it knows. What is a word or a table (`prove`) reads its table itself.
struct PinnedValue(Value);

impl IntoDeserializer<'_, Error> for PinnedValue {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

fn map(
    entries: impl Iterator<Item = (String, Value)>,
) -> MapDeserializer<'static, impl Iterator<Item = (String, PinnedValue)>, Error> {
    MapDeserializer::new(entries.map(|(key, value)| (key, PinnedValue(value))))
}

impl<'de> Deserializer<'de> for PinnedValue {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(items) => {
                visitor.visit_seq(SeqDeserializer::new(items.into_iter().map(PinnedValue)))
            }
            Value::Object(entries) => visitor.visit_map(map(entries.into_iter())),
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
                plain.deserialize_any(visitor)
            }
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self {
            Self(Value::Object(entries)) => {
                let entries = entries.into_iter().filter(|(key, _)| known.contains(&key.as_str()));
                visitor.visit_map(map(entries))
            }
            other => other.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self {
            Self(Value::Object(entries)) => {
                visitor.visit_enum(MapAccessDeserializer::new(map(entries.into_iter())))
            }
            Self(plain) => plain.deserialize_enum(name, variants, visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::Pipeline;
    use crate::role::Role;
    use crate::settings::RepositorySettings;
    use serde::Serialize;
    use serde_json::json;

    /// Of another version: each object that a type of ours stands for has a key more.
    fn with_a_key_more(
        value: &mut Value,
        is_struct: &mut dyn FnMut(&serde_json::Map<String, Value>) -> bool,
    ) {
        match value {
            Value::Object(entries) => {
                entries.values_mut().for_each(|value| with_a_key_more(value, is_struct));
                if is_struct(entries) {
                    entries.insert("of_tomorrow".to_owned(), json!({"a": [1, null]}));
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|value| with_a_key_more(value, is_struct)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn reads_the_same<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(
        value: &T,
        structs: &[&str],
    ) {
        let mut written = serde_json::to_value(value).unwrap();
        with_a_key_more(&mut written, &mut |entries| structs.iter().any(|key| entries.contains_key(*key)));
        assert!(written.to_string().contains("of_tomorrow"));
        let strict = serde_json::from_value::<T>(written.clone()).unwrap_err().to_string();
        assert!(strict.contains("unknown field `of_tomorrow`"), "where people write: {strict}");
        assert_eq!(read::<_, T>(written).unwrap(), *value);
    }

    #[test]
    fn what_another_version_knew_of_a_pinned_value_is_passed_over() {
        let pipeline = "
name: all
version: 1.2
description: Everything.
stages:
  - { name: plan, agent: developer, output: { file: 'plans/*.md' }, timeout: 5m }
  - { name: kind, agent: developer, output: { one_of: [a, b] } }
  - { name: facts, agent: developer, output: { json_schema: { type: object, properties: { of_whom: {} } } } }
  - name: implement
    depends_on: [plan, kind]
    agent: developer
    command: implement
    arguments: ['{{plan.result}}']
    inputs: { plan: '{{plan.result}}' }
    checks: [pushed_commit, policy, tests, verifier]
    verifier: [one, two]
    feedback_mode: natural
    escalate_on_exhaust: tech_lead
    retry_policy: blind
    budget: 1.5
    when: '{{kind.result}} == a'
";
        reads_the_same(&Pipeline::parse(pipeline).unwrap(), &["stages", "depends_on"]);
        let role = "{ name: r, tools: [read, run], output_schema: { type: object }, required_fields: [a] }";
        reads_the_same(&Role::parse(role).unwrap(), &["tools"]);
        let settings = "
{ label: l, image: i, services: { db: { image: p, env: { A: b }, ready: r } }, env: { C: d }, accept: no_new_failures,
  network: [h], agents: { developer: claude }, task: { comments: all }, prove: { of: bugs, mutants: 3, caught: 50 },
  budget: { usd: 1.25, minutes: 4 }, plan: ask, ci: { answer: false, rerun: true }, delete_branch: true }";
        let settings: RepositorySettings = crate::yaml::read(settings).unwrap();
        let structs = ["label", "ready", "comments", "usd", "rerun"];
        reads_the_same(&settings, &structs);
    }
}
