//! A file's values with their positions, and the file rewritten without keys that have no value.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

/// A step from a value to one inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YamlStep<S = String> {
    Key(S),
    Item(usize),
}

/// The borrowed form.
pub(super) type YamlPathSegment<'a> = YamlStep<&'a str>;

/// Line and column, from 1.
pub(super) type YamlPosition = (u64, u64);

/// A file's values with their positions.
#[derive(Debug, Clone, Default)]
pub struct YamlTree {
    root: Option<Spanned<YamlNode>>,
    /// The file's text, which shows how a plain value is written.
    source: String,
}

#[derive(Debug, Clone)]
pub(super) enum YamlNode {
    Map(Vec<(Spanned<String>, Spanned<YamlNode>)>),
    List(Vec<Spanned<YamlNode>>),
    Text(String),
    /// A number or a boolean.
    Plain,
    Null,
}

impl YamlTree {
    pub(super) fn new(root: Spanned<YamlNode>, yaml: &str) -> Self {
        Self { root: Some(root), source: yaml.to_owned() }
    }

    /// The position of the value at this path, or of its nearest existing ancestor.
    pub(super) fn place<S: AsRef<str>>(&self, path: &[YamlStep<S>]) -> Option<YamlPosition> {
        let mut node = self.root.as_ref()?;
        for step in path {
            let Some(inner) = inner(node, step) else { break };
            node = inner;
        }
        position(node.referenced)
    }

    fn get<S: AsRef<str>>(&self, path: &[YamlStep<S>]) -> Option<&Spanned<YamlNode>> {
        path.iter().try_fold(self.root.as_ref()?, inner)
    }

    /// Whether the file has a value at exactly this path.
    pub(super) fn has(&self, path: &[YamlPathSegment<'_>]) -> bool {
        self.get(path).is_some_and(|value| !matches!(value.value, YamlNode::Null))
    }

    pub(super) fn text(&self, path: &[YamlPathSegment<'_>]) -> Option<&str> {
        let value = self.get(path)?;
        match &value.value {
            YamlNode::Text(text) => Some(text),
            YamlNode::Plain => self.plain(value),
            YamlNode::Map(_) | YamlNode::List(_) | YamlNode::Null => None,
        }
    }

    /// The value as it is written.
    fn plain(&self, value: &Spanned<YamlNode>) -> Option<&str> {
        let span = value.referenced.span();
        let begin = usize::try_from(span.byte_offset()?).ok()?;
        let length = usize::try_from(span.byte_len()?).ok()?;
        self.source.get(begin..begin.checked_add(length)?).map(str::trim)
    }

    pub(super) fn place_of_key(&self, path: &[YamlStep]) -> Option<YamlPosition> {
        let Some((YamlStep::Key(key), parents)) = path.split_last() else { return self.place(path) };
        let YamlNode::Map(entries) = &self.get(parents)?.value else { return None };
        let (known, value) = entries.iter().find(|(known, _)| known.value == *key)?;
        position(known.referenced).or_else(|| position(value.referenced))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.root.as_ref().is_none_or(|root| matches!(root.value, YamlNode::Null))
    }

    /// Whether this map has only keys without a value, which are not written.
    pub(super) fn is_empty_map(&self, path: &[YamlStep]) -> bool {
        if path.iter().fold(Nulls::Left, |nulls, step| nulls.after(step)) != Nulls::Left {
            return false;
        }
        let Some(YamlNode::Map(entries)) = self.get(path).map(|value| &value.value) else { return false };
        entries.iter().all(|(_, value)| matches!(value.value, YamlNode::Null))
    }

    /// The file with one value a line, without keys that have no value, and the path of the value in each line.
    pub(super) fn written(&self) -> (String, Vec<Vec<YamlStep>>) {
        let mut writer =
            TreeWriter { tree: self, text: String::new(), lines: vec![Vec::new()], path: Vec::new() };
        if let Some(root) = &self.root {
            writer.write(root, Nulls::Left);
        }
        (writer.text, writer.lines)
    }
}

/// Which keys without a value are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nulls {
    /// None of them: such a key counts as left out.
    Left,
    /// The keys of this map, which the file chooses itself.
    Here,
    /// All keys below: JSON schemas use `null`.
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
struct TreeWriter<'t> {
    tree: &'t YamlTree,
    text: String,
    /// The path of the value in each line.
    lines: Vec<Vec<YamlStep>>,
    path: Vec<YamlStep>,
}

impl TreeWriter<'_> {
    fn write(&mut self, value: &Spanned<YamlNode>, nulls: Nulls) {
        match &value.value {
            YamlNode::Map(entries) => {
                self.text.push('{');
                for (Spanned { value: key, .. }, value) in entries {
                    if nulls == Nulls::Left && matches!(value.value, YamlNode::Null) {
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
            YamlNode::Plain => self.text.push_str(self.tree.plain(value).unwrap_or("~")),
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

fn inner<'t, S: AsRef<str>>(
    value: &'t Spanned<YamlNode>,
    step: &YamlStep<S>,
) -> Option<&'t Spanned<YamlNode>> {
    match (&value.value, step) {
        (YamlNode::Map(entries), YamlStep::Key(key)) => {
            entries.iter().find(|(known, _)| known.value == key.as_ref()).map(|(_, value)| value)
        }
        (YamlNode::List(items), YamlStep::Item(number)) => items.get(*number),
        (_, YamlStep::Key(_) | YamlStep::Item(_)) => None,
    }
}

pub(super) fn position(at: serde_saphyr::Location) -> Option<YamlPosition> {
    (at.line() > 0).then_some((at.line(), at.column()))
}

impl<'de> Deserialize<'de> for YamlNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(YamlNodeVisitor)
    }
}

struct YamlNodeVisitor;

/// Scalars other than text are kept as written.
macro_rules! plain {
    ($($visit:ident: $type:ty,)*) => {
        $(
            fn $visit<E>(self, _: $type) -> Result<YamlNode, E> {
                Ok(YamlNode::Plain)
            }
        )*
    };
}

impl<'de> Visitor<'de> for YamlNodeVisitor {
    type Value = YamlNode;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("anything")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<YamlNode, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
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

    plain! {
        visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_i128: i128, visit_u128: u128, visit_f64: f64,
        visit_bytes: &[u8],
    }

    fn visit_unit<E>(self) -> Result<YamlNode, E> {
        Ok(YamlNode::Null)
    }

    fn visit_none<E>(self) -> Result<YamlNode, E> {
        Ok(YamlNode::Null)
    }
}
