//! The answer received so far.

use super::ModelCall;
use journeyman_order::network::MeteredTokens;

/// Approximate: English text and code.
const BYTES_OF_A_TOKEN: usize = 4;

#[derive(Debug, Default)]
pub(super) struct ModelAnswer {
    pub(super) text: String,
    pub(super) tokens: MeteredTokens,
    /// Why the model stopped; `None` while it is still answering.
    pub(super) stop: Option<StopReason>,
    /// The service announced the end.
    pub(super) is_over: bool,
    /// The model's text if it refuses to answer.
    pub(super) refusal: String,
    pub(super) warnings: Vec<String>,
    /// Something arrived: from then on the call costs money.
    pub(super) has_begun: bool,
    /// The service reported both input and output tokens.
    pub(super) has_usage: bool,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StopReason {
    End,
    /// Reached a token limit; says which.
    Limit(&'static str),
    /// Refused to answer; says why.
    Refused(String),
    /// The service's own reason.
    Other(String),
}

impl ModelAnswer {
    /// Services report usage at the end: an answer that broke off before has cost an unknown amount.
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
