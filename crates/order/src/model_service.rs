//! Model services: their API dialect, credential and token prices. Makes no requests.

use secrecy::SecretString;

/// The API dialect of a model's service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's responses and chat completions, which many servers support.
    OpenAi,
}

/// The credential for a model's service. Debug output shows nothing of it.
#[derive(Debug, Clone)]
pub enum Credential {
    /// No credential: the operator's own server.
    None,
    /// A key, as Anthropic takes it: `x-api-key`.
    ApiKey(SecretString),
    /// A key or token, as OpenAI and others take it: `authorization: Bearer`.
    Bearer(SecretString),
}

/// Dollars for a million tokens of each kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Input, not from a cache.
    pub input: f64,
    pub output: f64,
    /// Input read from a cache.
    pub cache_read: f64,
    /// Input written to a cache.
    pub cache_write: f64,
}
