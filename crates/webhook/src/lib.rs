//! Turns a delivery's bytes into a signal: whether GitHub sent it, and what it means to us.
//!
//! May know: `order`'s words and GitHub's webhook payloads; their shape stays private here.
//! Must never know: the store, HTTP, settings, or what an order does with a signal.
//!
//! Everything is untrusted until parsed, even with a valid signature: anyone can write an issue's text.

mod aftermath;
mod events;
mod meaning;
mod mentions;
mod payload;
mod signature;
#[cfg(test)]
mod tests;
mod understand;

pub use aftermath::{MergeFact, MergeNews, merge_news};
pub use meaning::{AppIdentity, DeliveryMeaning, RoutedSignal, SignalCondition, SignalSubject};
pub use mentions::names;
pub use signature::{SignatureError, verify};
pub use understand::{events, understand};
