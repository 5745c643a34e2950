//! The conversation on a pull request: what people say there, read as a whole, and what we say to it.
//!
//! REST has no review threads and cannot settle or fold anything; those few things go by GraphQL.

mod fold;
mod limits;
mod people;
mod read;
mod threads;
mod wire;

#[cfg(test)]
mod tests;

pub use fold::RoundComment;
pub use people::ThreadAnswer;
pub use read::{Addressed, PullTalk};
pub use threads::SeenThread;
