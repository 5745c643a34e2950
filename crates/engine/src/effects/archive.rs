//! Stores texts that must last as artifacts of the order.

use sha2::{Digest, Sha256};

use super::{EffectContext, EffectResult};
use journeyman_order::EffectOutcome;

impl EffectContext {
    pub(super) async fn archive(&self, stage: &str, parts: &[(String, String)]) -> EffectResult {
        let mut artifacts = Vec::new();
        for (name, text) in parts {
            let (ending, media_type) = form(text);
            let artifact = format!("{}.{ending}", artifact_name(stage, name));
            self.parts.store.put_artifact(self.order, &artifact, media_type, text.as_bytes()).await?;
            artifacts.push(artifact);
        }
        Ok(EffectOutcome::Archived { artifacts })
    }
}

fn form(text: &str) -> (&'static str, &'static str) {
    let text = text.trim_start();
    if text.starts_with("diff --git ") {
        ("patch", "text/x-diff; charset=utf-8")
    } else if text.starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
        ("json", "application/json")
    } else {
        ("md", "text/markdown; charset=utf-8")
    }
}

/// `archive-STAGE-NAME`, with a digest if two pairs could give the same name.
fn artifact_name(stage: &str, name: &str) -> String {
    let plain = |text: &str| -> String {
        text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).take(60).collect()
    };
    let (short_stage, short_name) = (plain(stage), plain(name));
    let artifact = format!("archive-{short_stage}-{short_name}");
    if short_stage == stage
        && short_name == name
        && !artifact.trim_start_matches("archive-").replacen('-', "", 1).contains('-')
    {
        return artifact;
    }
    let digest =
        hex::encode(Sha256::new().chain_update(stage).chain_update([0]).chain_update(name).finalize());
    format!("{artifact}-{}", digest.get(..8).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{artifact_name, form};

    #[test]
    fn every_text_has_a_name_of_its_own() {
        assert_eq!(artifact_name("archive", "final_code"), "archive-archive-final_code");
        let long = "x".repeat(500);
        let pairs = [
            ("a", "b-c"),
            ("a-b", "c"),
            ("a", "b.c"),
            ("a", "b_c"),
            ("a", ""),
            ("a", &long),
            ("a", "ä/../b"),
        ];
        let names: std::collections::BTreeSet<String> =
            pairs.iter().map(|(stage, name)| artifact_name(stage, name)).collect();
        assert_eq!(names.len(), pairs.len());
        assert!(names.iter().all(|name| name.len() < 150 && name.is_ascii() && !name.contains(['/', '.'])));
    }

    #[test]
    fn a_text_is_kept_as_what_it_looks_like() {
        assert_eq!(form("diff --git a/x b/x\n").0, "patch");
        assert_eq!(form("\n{\"passed\": 3}").0, "json");
        assert_eq!(form("{broken").0, "md");
        assert_eq!(form("# What was done\n").0, "md");
        assert_eq!(form("").0, "md");
    }
}
