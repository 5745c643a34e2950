//! A file's values with their places, and the file written out again without some of them.

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
    /// Each with its number in the file.
    List(Vec<(usize, YamlValue)>),
    Text(String),
    /// A number, a truth, or nothing, as it is written.
    Plain(String),
    Null,
    /// What stands for a key that is missing.
    FilledIn,
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

    /// The text at this path.
    pub(super) fn text(&self, path: &[YamlPathSegment<'_>]) -> Option<&str> {
        match &self.get(path)?.node {
            YamlNode::Text(text) | YamlNode::Plain(text) => Some(text),
            YamlNode::Map(_) | YamlNode::List(_) | YamlNode::Null | YamlNode::FilledIn => None,
        }
    }

    pub(super) fn place(&self, path: &[YamlStep]) -> Option<YamlPosition> {
        self.of_path(&borrowed(path))
    }

    /// Where the key of this value stands.
    pub(super) fn place_of_key(&self, path: &[YamlStep]) -> Option<YamlPosition> {
        let Some((YamlStep::Key(key), parents)) = path.split_last() else { return self.place(path) };
        let YamlNode::Map(entries) = &self.get(&borrowed(parents))?.node else { return None };
        let entry = entries.iter().find(|entry| entry.key == *key)?;
        entry.place.or(entry.value.place)
    }

    /// Takes out every key that is there a second time, and says where.
    pub(super) fn take_doubles(&mut self) -> Vec<(Vec<YamlStep>, YamlPosition)> {
        let mut found = Vec::new();
        if let Some(root) = &mut self.0 {
            root.take_doubles(&mut Vec::new(), &mut found);
        }
        found
    }

    /// Whether something was put in this place that the file does not say.
    pub(super) fn is_filled_in(&self, path: &[YamlStep]) -> bool {
        self.get(&borrowed(path)).is_some_and(|value| matches!(value.node, YamlNode::FilledIn))
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

    /// Takes a value out; whether there was one inside the file's own.
    pub(super) fn remove(&mut self, path: &[YamlStep]) -> bool {
        let Some((last, parents)) = path.split_last() else { return false };
        match (self.at(parents).map(|value| &mut value.node), last) {
            (Some(YamlNode::Map(entries)), YamlStep::Key(key)) => {
                let before = entries.len();
                entries.retain(|entry| entry.key != *key);
                entries.len() < before
            }
            (Some(YamlNode::List(items)), YamlStep::Item(number)) => {
                let before = items.len();
                items.retain(|(known, _)| known != number);
                items.len() < before
            }
            (Some(_) | None, _) => false,
        }
    }

    /// Puts something in the place of a key that is missing, so that the rest can be read.
    pub(super) fn fill_in(&mut self, path: &[YamlStep], key: &str) -> bool {
        let Some(YamlValue { node: YamlNode::Map(entries), place }) = self.at(path) else { return false };
        let value = YamlValue { place: *place, node: YamlNode::FilledIn };
        entries.push(YamlEntry { key: key.to_owned(), place: *place, value });
        true
    }

    fn at(&mut self, path: &[YamlStep]) -> Option<&mut YamlValue> {
        path.iter().try_fold(self.0.as_mut()?, |value, step| value.inner_mut(step))
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
                for (number, value) in items {
                    self.path.push(YamlStep::Item(*number));
                    self.begin_line();
                    self.write(value, nulls.after(&YamlStep::Item(*number)));
                    self.text.push(',');
                    self.path.pop();
                }
                self.begin_line();
                self.text.push(']');
            }
            YamlNode::Text(text) => self.push_text(text),
            YamlNode::Plain(plain) => self.text.push_str(plain),
            YamlNode::Null => self.text.push('~'),
            YamlNode::FilledIn => self.push_text("1"),
        }
    }

    fn begin_line(&mut self) {
        self.text.push('\n');
        self.lines.push(self.path.clone());
    }

    /// JSON's texts are YAML's.
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
            (YamlNode::List(items), YamlPathSegment::Item(number)) => {
                items.iter().find(|(known, _)| *known == number).map(|(_, value)| value)
            }
            (_, YamlPathSegment::Key(_) | YamlPathSegment::Item(_)) => None,
        }
    }

    fn inner_mut(&mut self, step: &YamlStep) -> Option<&mut Self> {
        match (&mut self.node, step) {
            (YamlNode::Map(entries), YamlStep::Key(key)) => {
                entries.iter_mut().find(|entry| entry.key == *key).map(|entry| &mut entry.value)
            }
            (YamlNode::List(items), YamlStep::Item(number)) => {
                items.iter_mut().find(|(known, _)| known == number).map(|(_, value)| value)
            }
            (_, YamlStep::Key(_) | YamlStep::Item(_)) => None,
        }
    }

    fn take_doubles(&mut self, path: &mut Vec<YamlStep>, found: &mut Vec<(Vec<YamlStep>, YamlPosition)>) {
        match &mut self.node {
            YamlNode::Map(entries) => {
                let mut known: Vec<String> = Vec::new();
                entries.retain_mut(|entry| {
                    path.push(YamlStep::Key(entry.key.clone()));
                    let is_new = !known.contains(&entry.key);
                    if is_new {
                        entry.value.take_doubles(path, found);
                        known.push(entry.key.clone());
                    } else {
                        found.push((path.clone(), entry.place.or(entry.value.place).unwrap_or_default()));
                    }
                    path.pop();
                    is_new
                });
            }
            YamlNode::List(items) => {
                for (number, value) in items {
                    path.push(YamlStep::Item(*number));
                    value.take_doubles(path, found);
                    path.pop();
                }
            }
            YamlNode::Text(_) | YamlNode::Plain(_) | YamlNode::Null | YamlNode::FilledIn => {}
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
            YamlNode::List(items.into_iter().map(|item| with_source(item, yaml)).enumerate().collect())
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
