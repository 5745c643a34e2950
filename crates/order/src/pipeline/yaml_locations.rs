//! Where in the file each value stands: a second reading that keeps places and drops what they mean.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use crate::yaml;

/// A file's values with their places.
#[derive(Debug, Default)]
pub(super) struct YamlLocations(Option<Spanned<YamlNode>>);

/// A step from a value to one inside it.
#[derive(Debug, Clone, Copy)]
pub(super) enum YamlPathSegment<'a> {
    Key(&'a str),
    Item(usize),
}

/// Line and column, from 1.
pub(super) type YamlPosition = (u64, u64);

#[derive(Debug)]
enum YamlNode {
    Map(Vec<(String, Spanned<YamlNode>)>),
    List(Vec<Spanned<YamlNode>>),
    Text(String),
    Other,
}

impl YamlLocations {
    /// Of a file that may be anything; what cannot be read has no places.
    pub(super) fn of(yaml: &str) -> Self {
        Self(yaml::read_leniently(yaml).ok())
    }

    /// Where the value at this path stands; as near to it as the file goes.
    pub(super) fn of_path(&self, path: &[YamlPathSegment<'_>]) -> Option<YamlPosition> {
        let mut node = self.0.as_ref()?;
        for step in path {
            let Some(inner) = node.value.inner(*step) else { break };
            node = inner;
        }
        place(node)
    }

    /// Whether the file has a value at exactly this path.
    pub(super) fn has(&self, path: &[YamlPathSegment<'_>]) -> bool {
        let Some(mut node) = self.0.as_ref() else { return false };
        for step in path {
            let Some(inner) = node.value.inner(*step) else { return false };
            node = inner;
        }
        true
    }

    /// The name of the stage that a line belongs to.
    pub(super) fn stage_at(&self, line: u64) -> Option<&str> {
        let YamlNode::List(stages) = &self.0.as_ref()?.value.inner(YamlPathSegment::Key("stages"))?.value
        else {
            return None;
        };
        let stage = stages.iter().rfind(|stage| place(stage).is_some_and(|(begin, _)| begin <= line))?;
        match &stage.value.inner(YamlPathSegment::Key("name"))?.value {
            YamlNode::Text(name) => Some(name),
            YamlNode::Map(_) | YamlNode::List(_) | YamlNode::Other => None,
        }
    }
}

impl YamlLocations {
    /// The key whose value begins exactly here.
    pub(super) fn key_at(&self, at: YamlPosition) -> Option<&str> {
        self.0.as_ref()?.value.key_at(at)
    }
}

impl YamlNode {
    fn key_at(&self, at: YamlPosition) -> Option<&str> {
        match self {
            Self::Map(entries) => entries.iter().find_map(|(key, node)| {
                if place(node) == Some(at) { Some(key.as_str()) } else { node.value.key_at(at) }
            }),
            Self::List(items) => items.iter().find_map(|item| item.value.key_at(at)),
            Self::Text(_) | Self::Other => None,
        }
    }

    fn inner(&self, step: YamlPathSegment<'_>) -> Option<&Spanned<YamlNode>> {
        match (self, step) {
            (Self::Map(entries), YamlPathSegment::Key(key)) => {
                entries.iter().find(|(name, _)| name == key).map(|(_, node)| node)
            }
            (Self::List(items), YamlPathSegment::Item(place)) => items.get(place),
            (Self::Map(_), YamlPathSegment::Item(_))
            | (Self::List(_), YamlPathSegment::Key(_))
            | (Self::Text(_) | Self::Other, YamlPathSegment::Key(_) | YamlPathSegment::Item(_)) => None,
        }
    }
}

fn place(node: &Spanned<YamlNode>) -> Option<YamlPosition> {
    let (line, column) = (node.referenced.line(), node.referenced.column());
    (line > 0).then_some((line, column))
}

impl<'de> Deserialize<'de> for YamlNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(YamlNodeVisitor)
    }
}

struct YamlNodeVisitor;

impl<'de> Visitor<'de> for YamlNodeVisitor {
    type Value = YamlNode;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("anything")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<YamlNode, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            entries.push((key, map.next_value()?));
        }
        Ok(YamlNode::Map(entries))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<YamlNode, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(YamlNode::List(items))
    }

    fn visit_str<E>(self, text: &str) -> Result<YamlNode, E> {
        Ok(YamlNode::Text(text.to_owned()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<YamlNode, E> {
        Ok(YamlNode::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<YamlNode, E> {
        Ok(YamlNode::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<YamlNode, E> {
        Ok(YamlNode::Other)
    }

    fn visit_i128<E>(self, _: i128) -> Result<YamlNode, E> {
        Ok(YamlNode::Other)
    }

    fn visit_u128<E>(self, _: u128) -> Result<YamlNode, E> {
        Ok(YamlNode::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<YamlNode, E> {
        Ok(YamlNode::Other)
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<YamlNode, E> {
        Ok(YamlNode::Other)
    }

    fn visit_unit<E>(self) -> Result<YamlNode, E> {
        Ok(YamlNode::Other)
    }

    fn visit_none<E>(self) -> Result<YamlNode, E> {
        Ok(YamlNode::Other)
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<YamlNode, D::Error> {
        IgnoredAny::deserialize(inner).map(|_| YamlNode::Other)
    }
}
