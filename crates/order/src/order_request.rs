//! What a person asks of one order besides its issue.

use serde::{Deserialize, Serialize};

/// What was said with the word that asks for an order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OrderRequest {
    /// What whoever plans and writes is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl OrderRequest {
    /// Reads what follows the word.
    pub fn of(text: &str) -> Self {
        Self { advice: Some(text.trim().to_owned()).filter(|advice| !advice.is_empty()) }
    }

    /// Whether nothing was said with the word.
    pub fn is_bare(&self) -> bool {
        *self == Self::default()
    }
}
