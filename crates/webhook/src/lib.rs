//! From bytes to a signal: is it GitHub's, and what does it mean to us.
//!
//! May know: `order`'s words and GitHub's webhook payloads; their shape stays private here.
//! Must never know: the store, HTTP, settings, or what an order does with a signal.
//!
//! Everything is hostile until it is parsed, also when its signature is right: an issue's text is anybody's.

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
