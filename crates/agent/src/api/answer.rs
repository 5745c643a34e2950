//! An answer as far as it has come.

use super::ModelCall;
use journeyman_order::network::MeteredTokens;

/// Letters of English and of code that make a token, about.
const BYTES_OF_A_TOKEN: usize = 4;

#[derive(Debug, Default)]
pub(super) struct ModelAnswer {
    pub(super) text: String,
    pub(super) tokens: MeteredTokens,
    /// Why the model stopped; none: it has not.
    pub(super) stop: Option<StopReason>,
    /// The service said that nothing more comes.
    pub(super) is_over: bool,
    /// What the model says in place of an answer.
    pub(super) refusal: String,
    pub(super) warnings: Vec<String>,
    /// Anything came at all: from then on it costs.
    pub(super) has_begun: bool,
    /// The service counted what came in, and what went out.
    pub(super) has_usage: bool,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StopReason {
    End,
    /// No more tokens, says which limit.
    Limit(&'static str),
    /// It will not answer, and why.
    Refused(String),
    /// In the service's words.
    Other(String),
}

impl ModelAnswer {
    /// Services count at the end: what broke off before has been paid for, and nobody said how much it was.
    pub(super) fn estimate_missing_usage(&mut self, call: &ModelCall<'_>) {
        if !self.has_begun || self.has_usage {
            return;
        }
        let tokens = |bytes: usize| u64::try_from(bytes / BYTES_OF_A_TOKEN).unwrap_or(u64::MAX);
        if self.tokens.read() == 0 {
            self.tokens.input = tokens(call.prompt.len() + call.system.map_or(0, str::len));
        }
        self.tokens.output = self.tokens.output.max(tokens(self.text.len()));
        self.warnings.push(
            "the service did not say what the call used in the end; it is estimated from the lengths of the texts"
                .to_owned(),
        );
    }
}
