//! A person's options for one order: its pipeline, its agent, the branch it starts from and targets, and advice.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bounds::{LONGEST_LINE, MOST_NAMED};

pub const OPTIONS: [&str; 3] = ["pipeline", "agent", "base"];

/// The text after the command that requests an order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OrderRequest {
    /// The `key=value` options of its first line, as written. Unknown keys are detected when the order begins.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// Advice for the agents that plan and write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl OrderRequest {
    /// Parses the text after the command: options at the start of its first line, then advice.
    pub fn of(text: &str) -> Self {
        let mut rest = text.trim_start_matches([' ', '\t']);
        let mut options = BTreeMap::new();
        while options.len() < MOST_NAMED {
            let (word, after) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
            let Some((key, value)) = option(word) else { break };
            options.insert(key.to_owned(), value.to_owned());
            rest = after.trim_start_matches([' ', '\t']);
        }
        Self { options, advice: Some(rest.trim().to_owned()).filter(|advice| !advice.is_empty()) }
    }

    /// Parses the options of a label that starts an order: the text after the colon of
    /// `journeyman:agent=codex,base=next`. `None` if the text has another form.
    pub fn of_label(label: &str) -> Option<(&str, Self)> {
        let (start, asked) = label.rsplit_once(':')?;
        let options: Option<BTreeMap<String, String>> = asked
            .split(',')
            .map(|word| option(word.trim()).map(|(key, value)| (key.to_owned(), value.to_owned())))
            .collect();
        Some((start, Self { options: options?, advice: None }))
    }

    pub fn is_bare(&self) -> bool {
        *self == Self::default()
    }

    pub fn pipeline(&self) -> Option<&str> {
        self.options.get("pipeline").map(String::as_str)
    }

    /// The chosen agent, for every role.
    pub fn agent(&self) -> Option<&str> {
        self.options.get("agent").map(String::as_str)
    }

    /// The chosen branch, both the start and the pull request's target.
    pub fn base(&self) -> Option<&str> {
        self.options.get("base").map(String::as_str)
    }

    /// The words after `fix`, if it asks to mend a pull request; empty without any.
    pub fn fix(&self) -> Option<&str> {
        let advice = self.advice.as_deref().filter(|_| self.options.is_empty())?;
        let rest = advice.strip_prefix("fix")?;
        (rest.is_empty() || rest.starts_with(char::is_whitespace)).then_some(rest.trim())
    }

    /// The unknown options, with the valid ones; `None` if all are known.
    pub fn unknown(&self) -> Option<String> {
        let unknown: Vec<&str> =
            self.options.keys().map(String::as_str).filter(|key| !OPTIONS.contains(key)).collect();
        let known = OPTIONS.map(|key| format!("{key}=NAME")).join(", ");
        (!unknown.is_empty())
            .then(|| format!("{} cannot be chosen for an order; {known} can", unknown.join(", ")))
    }
}

fn option(word: &str) -> Option<(&str, &str)> {
    let (key, value) = word.split_once('=')?;
    let is_key = (1..=24).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    (is_key && (1..=LONGEST_LINE).contains(&value.len())).then_some((key, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_stand_at_the_beginning_of_the_first_line() {
        for (text, options, advice) in [
            ("", &[][..], None),
            (" use a checked sum", &[], Some("use a checked sum")),
            (
                " pipeline=short agent=codex\nuse a checked sum\n",
                &["agent=codex", "pipeline=short"],
                Some("use a checked sum"),
            ),
            (" agent=codex, please", &["agent=codex,"], Some("please")),
            ("\nagent=codex", &[], Some("agent=codex")),
            (" let x=5 be", &[], Some("let x=5 be")),
            (" a==b X=1 =y", &["a==b"], Some("X=1 =y")),
        ] {
            let request = OrderRequest::of(text);
            let found: Vec<String> =
                request.options.iter().map(|(key, value)| format!("{key}={value}")).collect();
            assert_eq!(
                (found.iter().map(String::as_str).collect::<Vec<_>>(), request.advice.as_deref()),
                (options.to_vec(), advice),
                "{text:?}"
            );
        }
        assert_eq!(OrderRequest::of("agent=a pipeline=b").unknown(), None);
        let of_label = |label| {
            OrderRequest::of_label(label)
                .map(|(start, request)| (start, request.options.into_iter().collect()))
        };
        let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> {
            list.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        assert_eq!(
            of_label("journeyman:agent=codex, base=release/2"),
            Some(("journeyman", pairs(&[("agent", "codex"), ("base", "release/2")])))
        );
        assert_eq!(of_label("team:bot:base=next"), Some(("team:bot", pairs(&[("base", "next")]))));
        for label in ["journeyman", "journeyman:working", "journeyman:", "journeyman:a=b,c", "a=b"] {
            assert_eq!(of_label(label), None::<(&str, Vec<_>)>, "{label}");
        }
        assert_eq!(
            OrderRequest::of("agnet=a").unknown().as_deref(),
            Some("agnet cannot be chosen for an order; pipeline=NAME, agent=NAME, base=NAME can")
        );
    }

    #[test]
    fn fix_is_a_word_of_its_own_and_the_rest_is_what_to_mend() {
        for (text, words) in [
            (" fix", Some("")),
            (" fix the empty list", Some("the empty list")),
            (" fix\r\nthe empty list\n", Some("the empty list")),
            (" fixed", None),
            (" please fix", None),
            (" agent=codex fix", None),
            ("", None),
        ] {
            assert_eq!(OrderRequest::of(text).fix(), words, "{text:?}");
        }
    }
}
