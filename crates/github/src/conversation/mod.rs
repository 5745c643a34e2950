//! The conversation on a pull request: what people say there, read as a whole, and what we say to it.
//!
//! REST has no review threads and cannot settle or fold anything; those few things go by GraphQL.

mod limits;
mod minimize;
mod people;
mod read;
mod threads;
mod wire;

#[cfg(test)]
mod tests;

pub use minimize::RoundComment;
pub use people::ThreadAnswer;
pub use read::PullConversation;
pub use threads::ReviewThreadSnapshot;
pub use wire::MentionMatcher;
