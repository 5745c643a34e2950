//! Why a run failed, classified by what to do about it.

use super::record::StreamResult;
use super::text::end_of;
use journeyman_order::Exit;
use journeyman_order::agent_run::{AgentFailure, AgentFailureKind};
use journeyman_order::bounds::LONGEST_MESSAGE;

const CREDENTIAL_HINT: &str = "check the credential that the agent's `env` setting names";

/// The failure that a result reports, given how the program ended.
pub(super) fn of_result(said: &StreamResult, exit: Exit, stderr: &str) -> Option<AgentFailure> {
    if !said.is_error {
        return match exit {
            // We ended it after its result, because it kept running: the result counts.
            Exit::Code(0) | Exit::TimedOut => None,
            Exit::Code(_) | Exit::Signal(_) => Some(failure(
                AgentFailureKind::Ended,
                format!("it reported success and then ended with {exit}"),
                stderr,
            )),
        };
    }
    let mut words = said.errors.join("; ");
    if let Some(text) = said.text.as_deref().filter(|text| !text.is_empty()) {
        words = if words.is_empty() { text.to_owned() } else { format!("{words}; {text}") };
    }
    if words.is_empty() {
        words = if said.subtype.is_empty() { "an error without words".into() } else { said.subtype.clone() };
    }
    let kind = kind_of_result(said, exit, &words);
    let words = match (kind == AgentFailureKind::Misconfigured, said.api_status) {
        (true, Some(status)) => format!("the model's service answered {status}: {words}; {CREDENTIAL_HINT}"),
        (true, None) => format!("{words}; {CREDENTIAL_HINT}"),
        (false, _) => words,
    };
    Some(failure(kind, words, stderr))
}

fn kind_of_result(said: &StreamResult, exit: Exit, words: &str) -> AgentFailureKind {
    if is_unknown_session(words) {
        return AgentFailureKind::UnknownSession;
    }
    match said.api_status {
        Some(401..=404) => return AgentFailureKind::Misconfigured,
        Some(408 | 429 | 500..=599) => return AgentFailureKind::Unavailable,
        Some(_) | None => {}
    }
    let at_limit = matches!(said.subtype.as_str(), "error_max_turns" | "error_max_budget_usd")
        || matches!(said.terminal_reason.as_str(), "max_turns" | "budget_exhausted" | "max_output_tokens")
        || exit == Exit::TimedOut;
    if at_limit {
        return AgentFailureKind::LimitReached;
    }
    // Only the service's own errors are classified by their text: an agent's text may mention anything.
    if said.subtype == "success" || said.terminal_reason == "api_error" {
        return kind_of_words(words).unwrap_or(AgentFailureKind::Ended);
    }
    AgentFailureKind::Ended
}

/// The failure of a run without a result. `noise` is what it printed instead of a stream.
pub(super) fn without_result(exit: Exit, stderr: &str, noise: &str, why: &str) -> AgentFailure {
    let words = if stderr.trim().is_empty() { noise } else { stderr };
    let kind = match exit {
        Exit::TimedOut => {
            let message = "its time was up before it had a result".to_owned();
            return failure(AgentFailureKind::LimitReached, message, words);
        }
        Exit::Code(126 | 127) => AgentFailureKind::Misconfigured,
        Exit::Code(_) | Exit::Signal(_) => {
            if is_unknown_session(words) {
                AgentFailureKind::UnknownSession
            } else if words.contains("execvp") || words.contains("root/sudo privileges") {
                AgentFailureKind::Misconfigured
            } else {
                kind_of_words(words).unwrap_or(AgentFailureKind::Ended)
            }
        }
    };
    let message = match kind == AgentFailureKind::Misconfigured {
        true => format!(
            "the agent could not be started or signed in ({exit}); check its `program`, and that the sandbox \
             lets it be seen (`read`), and {CREDENTIAL_HINT}"
        ),
        false => format!("{why} ({exit})"),
    };
    failure(kind, message, words)
}

fn is_unknown_session(words: &str) -> bool {
    words.contains("No conversation found with session ID")
}

fn kind_of_words(words: &str) -> Option<AgentFailureKind> {
    let words = words.to_ascii_lowercase();
    let says = |signs: &[&str]| signs.iter().any(|sign| words.contains(sign));
    if says(&[
        "not logged in", "/login", "invalid api key", "api key is required", "no api key", "oauth token",
    ]) {
        Some(AgentFailureKind::Misconfigured)
    } else if says(&["output token maximum", "max_tokens", "prompt is too long"]) {
        Some(AgentFailureKind::LimitReached)
    } else if says(&[
        "connection error", "unable to connect", "connection refused", "connectionrefused", "econnrefused",
        "econnreset", "enotfound", "etimedout", "eai_again", "fetch failed", "socket hang up",
        "request timed out", "overloaded", "rate limit", "usage limit reached",
    ]) {
        Some(AgentFailureKind::Unavailable)
    } else {
        None
    }
}

/// A failure with the end of the output, if there is any and the message lacks it.
pub(super) fn failure(kind: AgentFailureKind, message: String, printed: &str) -> AgentFailure {
    let mut message = end_of(&message, 2 * LONGEST_MESSAGE);
    let printed = end_of(printed, LONGEST_MESSAGE);
    if !printed.is_empty() && !message.contains(&printed) {
        message = format!("{message}: {printed}");
    }
    AgentFailure::new(kind, message)
}
