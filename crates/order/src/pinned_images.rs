//! What names of images mean for one order: a tag is looked up once, and written down by digest.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Names of images as they were written, each with the name that means the same image for ever.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PinnedImages(BTreeMap<String, String>);

impl PinnedImages {
    pub fn get(&self, image: &str) -> Option<&str> {
        self.0.get(image).map(String::as_str)
    }

    pub fn insert(&mut self, image: String, pinned: String) {
        self.0.insert(image, pinned);
    }

    /// Whether somebody wrote the digest of an image that a name was found to mean.
    pub fn is_named_by_digest(&self, pinned: &str) -> bool {
        self.0.iter().any(|(name, means)| means == pinned && name.contains('@'))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
