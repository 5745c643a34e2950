//! Services of models: whose dialect one speaks, what it wants to see, and what its tokens cost. Asks nobody.

use secrecy::SecretString;

/// Whose dialect a model's service speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's responses and chat completions, which many servers speak.
    OpenAi,
}

/// What a model's service wants to see of whoever asks. Printing it shows nothing of it.
#[derive(Debug, Clone)]
pub enum Credential {
    /// Nothing: a server of one's own.
    None,
    /// A key, as Anthropic takes it: `x-api-key`.
    ApiKey(SecretString),
    /// A key or token, as OpenAI and others take it: `authorization: Bearer`.
    Bearer(SecretString),
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
