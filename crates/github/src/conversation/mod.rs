//! The conversation on a pull request: reads everything people wrote, and posts our replies.
//!
//! REST has no review threads, so GraphQL reads and resolves them.

mod limits;
mod people;
mod read;
mod threads;
mod wire;

#[cfg(test)]
mod tests;

pub use people::ThreadAnswer;
pub use wire::MentionMatcher;
