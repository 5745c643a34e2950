//! The conversation on a pull request: what people say there, read as a whole, and what we say to it.
//!
//! REST knows no review threads, so those are read and resolved by GraphQL.

mod limits;
mod people;
mod read;
mod threads;
mod wire;

#[cfg(test)]
mod tests;

pub use people::ThreadAnswer;
pub use wire::MentionMatcher;
