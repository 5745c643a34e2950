//! Services of models: whose dialect one speaks, and what its tokens cost. Asks nobody.

/// Whose dialect a model's service speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's responses and chat completions, which many servers speak.
    OpenAi,
}

/// Dollars for a million tokens of each kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Read, and not from a cache.
    pub input: f64,
    /// Written.
    pub output: f64,
    /// Read from a cache.
    pub cache_read: f64,
    /// Read and put into a cache.
    pub cache_write: f64,
}
