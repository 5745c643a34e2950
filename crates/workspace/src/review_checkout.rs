//! The folder of a reviewer, with the commit's files and a home. Reviewers never share a home or a work tree with the
//! author.

use std::path::PathBuf;

use sha2::{Digest, Sha256};

use super::Workspaces;
use journeyman_order::OrderId;

impl Workspaces {
    /// The folder for this role in this stage, which may not exist yet.
    pub fn review_folder(&self, order: OrderId, stage: &str, role: &str) -> PathBuf {
        self.order_dirs(order).reviews.join(format!("{}.{}", part(stage), part(role)))
    }
}

/// A name for a folder, without a full stop. Changed or long names get a digest, so that they stay distinct.
fn part(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' })
        .take(60)
        .collect();
    if plain == name {
        return plain;
    }
    let digest = hex::encode(Sha256::digest(name));
    format!("{plain}_{}", digest.get(..12).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn every_name_has_a_folder_of_its_own() {
        assert_eq!(part("review"), "review");
        let long = "x".repeat(300);
        let names = ["", "a/b", "a_b", "a.b", "..", "A", "a", "ä", long.as_str(), &long[1..]];
        let parts: std::collections::BTreeSet<String> = names.iter().map(|name| part(name)).collect();
        assert_eq!(parts.len(), names.len());
        assert!(parts.iter().all(|part| part.len() < 80 && !part.contains(['.', '/'])), "{parts:?}");
    }
}
