//! A file's values with their places, and the file written out again without keys that say nothing.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

/// A step from a value to one inside it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum YamlStep {
    Key(String),
    Item(usize),
}

/// The same, borrowed.
#[derive(Debug, Clone, Copy)]
pub(super) enum YamlPathSegment<'a> {
    Key(&'a str),
    Item(usize),
}

/// Line and column, from 1.
pub(super) type YamlPosition = (u64, u64);

/// A file's values with their places.
#[derive(Debug, Clone, Default)]
pub struct YamlTree(Option<YamlValue>);

#[derive(Debug, Clone)]
struct YamlValue {
    place: Option<YamlPosition>,
    node: YamlNode,
}

#[derive(Debug, Clone)]
enum YamlNode {
    Map(Vec<YamlEntry>),
    List(Vec<YamlValue>),
    Text(String),
    /// A number, a truth, or nothing, as it is written.
    Plain(String),
    Null,
}

#[derive(Debug, Clone)]
struct YamlEntry {
    key: String,
    place: Option<YamlPosition>,
    value: YamlValue,
}

impl YamlTree {
    pub(super) fn new(root: Spanned<ParsedNode>, yaml: &str) -> Self {
        Self(Some(with_source(root, yaml)))
    }

    /// Where the value at this path stands; as near to it as the file goes.
    pub(super) fn of_path(&self, path: &[YamlPathSegment<'_>]) -> Option<YamlPosition> {
        let mut node = self.0.as_ref()?;
        for step in path {
            let Some(inner) = node.inner(*step) else { break };
            node = inner;
        }
        node.place
    }

    fn get(&self, path: &[YamlPathSegment<'_>]) -> Option<&YamlValue> {
        path.iter().try_fold(self.0.as_ref()?, |value, step| value.inner(*step))
    }

    /// Whether the file says something at exactly this path.
    pub(super) fn has(&self, path: &[YamlPathSegment<'_>]) -> bool {
        self.get(path).is_some_and(|value| !matches!(value.node, YamlNode::Null))
    }

    pub(super) fn text(&self, path: &[YamlPathSegment<'_>]) -> Option<&str> {
        match &self.get(path)?.node {
            YamlNode::Text(text) | YamlNode::Plain(text) => Some(text),
            YamlNode::Map(_) | YamlNode::List(_) | YamlNode::Null => None,
        }
    }

    pub(super) fn place(&self, path: &[YamlStep]) -> Option<YamlPosition> {
        self.of_path(&borrowed(path))
    }

    pub(super) fn place_of_key(&self, path: &[YamlStep]) -> Option<YamlPosition> {
        let Some((YamlStep::Key(key), parents)) = path.split_last() else { return self.place(path) };
        let YamlNode::Map(entries) = &self.get(&borrowed(parents))?.node else { return None };
        let entry = entries.iter().find(|entry| entry.key == *key)?;
        entry.place.or(entry.value.place)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|root| matches!(root.node, YamlNode::Null))
    }

    /// Whether it is a map of known keys that says nothing.
    pub(super) fn is_empty_map(&self, path: &[YamlStep]) -> bool {
        if path.iter().fold(Nulls::Left, |nulls, step| nulls.after(step)) != Nulls::Left {
            return false;
        }
        let Some(YamlNode::Map(entries)) = self.get(&borrowed(path)).map(|value| &value.node) else {
            return false;
        };
        entries.iter().all(|entry| matches!(entry.value.node, YamlNode::Null))
    }

    /// The file with one value a line, without keys that say nothing, and the path of the value in each line.
    pub(super) fn written(&self) -> (String, Vec<Vec<YamlStep>>) {
        let mut writer = TreeWriter { text: String::new(), lines: vec![Vec::new()], path: Vec::new() };
        if let Some(root) = &self.0 {
            writer.write(root, Nulls::Left);
        }
        (writer.text, writer.lines)
    }
}

/// Which keys without a value are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nulls {
    /// None: such a key is as good as left out.
    Left,
    /// Those of this map, whose keys the file makes up itself.
    Here,
    /// All: JSON schemas know `null`.
    Below,
}

impl Nulls {
    fn after(self, step: &YamlStep) -> Self {
        match (self, step) {
            (_, YamlStep::Key(key)) => self.inside(key),
            (Self::Below, YamlStep::Item(_)) => Self::Below,
            (Self::Left | Self::Here, YamlStep::Item(_)) => Self::Left,
        }
    }

    fn inside(self, key: &str) -> Self {
        match (self, key) {
            (Self::Below, _) | (_, "json_schema" | "output_schema") => Self::Below,
            (_, "output" | "env" | "inputs" | "agents" | "services") => Self::Here,
            (Self::Left | Self::Here, _) => Self::Left,
        }
    }
}

/// Writes a tree, one value a line.
struct TreeWriter {
    text: String,
    /// The path of the value in each line.
    lines: Vec<Vec<YamlStep>>,
    path: Vec<YamlStep>,
}

impl TreeWriter {
    fn write(&mut self, value: &YamlValue, nulls: Nulls) {
        match &value.node {
            YamlNode::Map(entries) => {
                self.text.push('{');
                for YamlEntry { key, value, .. } in entries {
                    if nulls == Nulls::Left && matches!(value.node, YamlNode::Null) {
                        continue;
                    }
                    self.path.push(YamlStep::Key(key.clone()));
                    self.begin_line();
                    self.push_text(key);
                    self.text.push_str(": ");
                    self.write(value, nulls.inside(key));
                    self.text.push(',');
                    self.path.pop();
                }
                self.begin_line();
                self.text.push('}');
            }
            YamlNode::List(items) => {
                self.text.push('[');
                for (number, value) in items.iter().enumerate() {
                    self.path.push(YamlStep::Item(number));
                    self.begin_line();
                    self.write(value, nulls.after(&YamlStep::Item(number)));
                    self.text.push(',');
                    self.path.pop();
                }
                self.begin_line();
                self.text.push(']');
            }
            YamlNode::Text(text) => self.push_text(text),
            YamlNode::Plain(plain) => self.text.push_str(plain),
            YamlNode::Null => self.text.push('~'),
        }
    }

    fn begin_line(&mut self) {
        self.text.push('\n');
        self.lines.push(self.path.clone());
    }

    fn push_text(&mut self, text: &str) {
        self.text.push_str(&serde_json::Value::from(text).to_string());
    }
}

impl YamlValue {
    fn inner(&self, step: YamlPathSegment<'_>) -> Option<&Self> {
        match (&self.node, step) {
            (YamlNode::Map(entries), YamlPathSegment::Key(key)) => {
                entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
            }
            (YamlNode::List(items), YamlPathSegment::Item(number)) => items.get(number),
            (_, YamlPathSegment::Key(_) | YamlPathSegment::Item(_)) => None,
        }
    }
}

fn borrowed(path: &[YamlStep]) -> Vec<YamlPathSegment<'_>> {
    path.iter()
        .map(|step| match step {
            YamlStep::Key(key) => YamlPathSegment::Key(key),
            YamlStep::Item(number) => YamlPathSegment::Item(*number),
        })
        .collect()
}

/// A value as the parser has it.
pub(super) enum ParsedNode {
    Map(Vec<(Spanned<String>, Spanned<ParsedNode>)>),
    List(Vec<Spanned<ParsedNode>>),
    Text(String),
    Plain,
    Null,
}

fn with_source(parsed: Spanned<ParsedNode>, yaml: &str) -> YamlValue {
    let at = parsed.referenced;
    let source = || {
        let begin = usize::try_from(at.span().byte_offset()?).ok()?;
        let length = usize::try_from(at.span().byte_len()?).ok()?;
        yaml.get(begin..begin.checked_add(length)?)
    };
    let node = match parsed.value {
        ParsedNode::Map(entries) => YamlNode::Map(
            entries
                .into_iter()
                .map(|(key, value)| YamlEntry {
                    place: position(key.referenced),
                    key: key.value,
                    value: with_source(value, yaml),
                })
                .collect(),
        ),
        ParsedNode::List(items) => {
            YamlNode::List(items.into_iter().map(|item| with_source(item, yaml)).collect())
        }
        ParsedNode::Text(text) => YamlNode::Text(text),
        ParsedNode::Plain => source().map_or(YamlNode::Null, |text| YamlNode::Plain(text.trim().to_owned())),
        ParsedNode::Null => YamlNode::Null,
    };
    YamlValue { place: position(at), node }
}

fn position(at: serde_saphyr::Location) -> Option<YamlPosition> {
    (at.line() > 0).then_some((at.line(), at.column()))
}

impl<'de> Deserialize<'de> for ParsedNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ParsedNodeVisitor)
    }
}

struct ParsedNodeVisitor;

impl<'de> Visitor<'de> for ParsedNodeVisitor {
    type Value = ParsedNode;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("anything")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ParsedNode, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(ParsedNode::Map(entries))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ParsedNode, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(ParsedNode::List(items))
    }

    fn visit_str<E>(self, text: &str) -> Result<ParsedNode, E> {
        Ok(ParsedNode::Text(text.to_owned()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<ParsedNode, E> {
        Ok(ParsedNode::Plain)
    }

    fn visit_i64<E>(self, _: i64) -> Result<ParsedNode, E> {
        Ok(ParsedNode::Plain)
    }

    fn visit_u64<E>(self, _: u64) -> Result<ParsedNode, E> {
        Ok(ParsedNode::Plain)
    }

    fn visit_i128<E>(self, _: i128) -> Result<ParsedNode, E> {
        Ok(ParsedNode::Plain)
    }

    fn visit_u128<E>(self, _: u128) -> Result<ParsedNode, E> {
        Ok(ParsedNode::Plain)
    }

    fn visit_f64<E>(self, _: f64) -> Result<ParsedNode, E> {
        Ok(ParsedNode::Plain)
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<ParsedNode, E> {
        Ok(ParsedNode::Plain)
    }

    fn visit_unit<E>(self) -> Result<ParsedNode, E> {
        Ok(ParsedNode::Null)
    }

    fn visit_none<E>(self) -> Result<ParsedNode, E> {
        Ok(ParsedNode::Null)
    }
}
