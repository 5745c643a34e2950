//! Secrets in outgoing bytes: our own by value, other people's by form.
//!
//! May know: bytes, and the secrets that it is given. Must never know: where the bytes come from. It never shows what
//! it found, only the name or rule and the line.

mod known;
mod rules;
mod shapes;

use std::collections::HashSet;

use sha2::{Digest, Sha256};

pub use known::SecretSet;
use rules::SecretRule;

/// Most findings reported for one text.
const MOST_SPOTS: usize = 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SecretFinding {
    Ours {
        /// The name given to [`SecretSet::new`].
        name: String,
        /// From 1.
        line: usize,
    },
    Formed {
        rule: &'static str,
        /// From 1.
        line: usize,
        /// Whether it may be published with a warning.
        may: bool,
        /// Lets the repository's settings allow it. It does not reveal the secret.
        fingerprint: String,
    },
}

#[derive(Debug, Clone)]
pub(super) struct SecretScan<'a> {
    known: &'a SecretSet,
    allowed: HashSet<String>,
}

impl<'a> SecretScan<'a> {
    /// Searches for these secrets and for all forms except these fingerprints.
    pub(super) fn new(known: &'a SecretSet, allowed: &[String]) -> Self {
        Self { known, allowed: allowed.iter().map(|print| print.trim().to_ascii_lowercase()).collect() }
    }

    /// The secrets in a content, the worst first. A secret that was already in `before` counts only if it is ours.
    pub(super) fn spots(&self, content: &[u8], before: Option<&[u8]>) -> Vec<SecretFinding> {
        let ours = self.known.hits(content, MOST_SPOTS).into_iter();
        let mut spots: Vec<SecretFinding> =
            ours.map(|(name, line)| SecretFinding::Ours { name: name.to_owned(), line }).collect();
        let mut formed: Vec<(&SecretRule, usize, String)> = Vec::new();
        for rule in rules::all() {
            let places =
                |text| rule.matches(text).filter_map(move |place| Some((place.start, text.get(place)?)));
            let mut old: Option<HashSet<&[u8]>> = None;
            let mut found = 0;
            for (start, secret) in places(content) {
                let old = old.get_or_insert_with(|| {
                    before
                        .map(|before| places(before).map(|(_, secret)| secret).collect())
                        .unwrap_or_default()
                });
                if old.contains(secret) {
                    continue;
                }
                let fingerprint = fingerprint(secret);
                if !self.allowed.contains(&fingerprint) {
                    formed.push((rule, start, fingerprint));
                    found += 1;
                }
                if found == MOST_SPOTS {
                    break;
                }
            }
        }
        formed.sort_by_key(|(rule, start, _)| (rule.may, *start));
        formed.truncate(MOST_SPOTS.saturating_sub(spots.len()));
        spots.extend(formed.into_iter().map(|(rule, start, fingerprint)| {
            let line = 1 + content.iter().take(start).filter(|byte| **byte == b'\n').count();
            SecretFinding::Formed { rule: rule.name, line, may: rule.may, fingerprint }
        }));
        spots
    }

    /// Describes the secret in a text that is not a file, if there is one.
    pub(super) fn names(&self, text: &str) -> Option<String> {
        self.names_ours(text).or_else(|| {
            let spots = self.spots(text.as_bytes(), None);
            spots.into_iter().find_map(|spot| match spot {
                SecretFinding::Formed { rule, may: false, .. } => {
                    Some(format!("what has the form of a secret (`{rule}`)"))
                }
                SecretFinding::Formed { may: true, .. } | SecretFinding::Ours { .. } => None,
            })
        })
    }

    /// Like [`Self::names`], for a path whose last name is new.
    pub(super) fn names_path(&self, path: &str) -> Option<String> {
        let name = path.rsplit('/').next().unwrap_or_default();
        if name.len() >= rules::SHORTEST { self.names(name) } else { None }.or_else(|| self.names_ours(path))
    }

    fn names_ours(&self, text: &str) -> Option<String> {
        self.known.named_in(text).map(str::to_owned)
    }
}

fn fingerprint(secret: &[u8]) -> String {
    let digest = Sha256::digest(secret);
    hex::encode(digest.get(..8).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::SecretString;

    fn aws() -> String {
        ["AKIA", "Q3ZX7RTV5BNM2KLW"].concat()
    }

    #[test]
    fn what_is_new_is_told_by_rule_and_line_and_never_by_its_value() {
        let ours = "model-key-7Zx2Lm9Rt4Vb8Nc1";
        let known = SecretSet::new([("the model's key".to_owned(), SecretString::from(ours))]);
        let scan = SecretScan::new(&known, &[]);
        let text = format!("one\nid = {}\npostgres://app:Zx2Lm9Rt4Vb8@db.example.org\n{ours}\n", aws());
        let spots = scan.spots(text.as_bytes(), None);
        let [
            SecretFinding::Ours { name, line: 4 },
            SecretFinding::Formed { rule: "aws-access-key", line: 2, may: false, fingerprint },
            SecretFinding::Formed { rule: "password-in-address", line: 3, may: true, .. },
        ] = spots.as_slice()
        else {
            panic!("{spots:?}")
        };
        assert_eq!((name.as_str(), fingerprint.len()), ("the model's key", 16));
        assert!(!format!("{spots:?}{scan:?}").contains("Zx2Lm9"), "a value is told");

        // The base already has it: only our own secret counts.
        let left = scan.spots(text.as_bytes(), Some(text.as_bytes()));
        assert_eq!(left, [SecretFinding::Ours { name: name.clone(), line: 4 }]);
        // Many old findings must not hide a new one.
        let many: String = (0..40)
            .map(|i| format!("{}{i:02}\n", &aws()[..18]))
            .collect::<String>()
            .replace(['0', '1', '8', '9'], "A");
        let more = format!("{many}{}\n", aws());
        assert!(matches!(
            scan.spots(more.as_bytes(), Some(many.as_bytes())).as_slice(),
            [SecretFinding::Formed { line: 41, .. }]
        ));
        // The repository's settings can allow a form, but not our own secret.
        let scan =
            SecretScan::new(&known, &[fingerprint.to_uppercase(), super::fingerprint(ours.as_bytes())]);
        assert_eq!(scan.spots(text.as_bytes(), None).len(), 2);
    }

    #[test]
    fn a_text_without_a_file_is_named_by_what_is_in_it() {
        let known = SecretSet::new([("the token".to_owned(), SecretString::from("qZ7xL2mR9tV4bN8c"))]);
        let scan = SecretScan::new(&known, &[]);
        assert_eq!(scan.names("journeyman/issue-1-qZ7xL2mR9tV4bN8c").as_deref(), Some("the token"));
        assert_eq!(scan.names(&aws()).as_deref(), Some("what has the form of a secret (`aws-access-key`)"));
        assert_eq!(scan.names("journeyman/issue-1-fix-the-sum"), None);
        assert_eq!(scan.names_path("src/qZ7xL2mR/9tV4bN8c").as_deref(), Some("the token"));
        assert!(scan.names_path(&format!("src/{}", aws())).is_some());
        assert_eq!(scan.names_path("src/sum.py"), None);
    }
}
