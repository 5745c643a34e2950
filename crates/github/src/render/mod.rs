//! What is said on GitHub, as text.
//!
//! May know: the words and shapes of comments and pull requests.
//! Must never know: the network, tokens, journals.
//!
//! Text of agents, repositories and people is foreign: whoever writes it may want to ping a team, close an issue,
//! show a tracking image, forge our status or our markers. [`markdown()`] lets through a small set of shapes
//! (paragraphs, lists, quotes, bold, code) and nothing else. What would make GitHub act, a mention, a reference,
//! a link, is put into a code span: GitHub searches the rendered text for mentions and references and leaves out
//! what is code. A backslash would not do, because it is gone by then; an invisible character would, but then
//! nobody could copy the text or see why it is odd.

mod answer;
mod check;
mod markdown;
mod pages;
mod pull;
mod receipt;
mod review;
mod saying;
mod scrutiny;
mod status;
mod table;
mod text;

#[cfg(test)]
mod bodies;
#[cfg(test)]
mod harmless;

pub use answer::{answer, reply};
pub use check::{AnnotationLevel, CheckAnnotation, CheckRunOutput, CheckView, check};
pub use markdown::markdown;
pub use pages::{FileLocation, RepositoryLinks};
pub use pull::{PullBodyView, pull};
pub use receipt::{ReceiptCommandRun, ReceiptReview, ReceiptView, RoundLine};
pub use review::{FindingFollowUp, ReviewCommentView, review};
pub use saying::{NoticeView, notice};
pub use status::{SlashCommandLine, StageLine, StageLineState, StatusAttemptLine, StatusView, status};
pub use text::{code_block, code_span, fit, plain, shorten, title};

use journeyman_order::IssueNumber;

/// GitHub takes no longer body of an issue, a comment or a pull request, in characters.
pub const LONGEST_BODY: usize = 65_536;

/// What our bodies are made to fit: before a comment stands a marker of ours, which has to have room as well.
const ROOM: usize = LONGEST_BODY - 536;

/// What makes GitHub close an issue when a pull request with it is merged. The one place that writes it.
pub fn closes(issue: IssueNumber) -> String {
    format!("Closes #{issue}")
}
