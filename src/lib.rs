//! Journeyman turns a labeled GitHub issue into a verified pull request.
//!
//! The house, from the door to the heart. Arrows run one way, and `tests/house.rs` holds them:
//!
//! ```text
//! main → cli → app → {http, engine} → {webhook, store, agent, workspace, verify, sandbox, github, attest} → order
//! ```
//!
//! The adapters do not know one another; `order` knows nobody; `emulator` is known to `cli` and the tests only.

pub mod agent;
pub mod app;
pub mod attest;
pub mod cli;
pub mod config;
pub mod emulator;
pub mod engine;
pub mod gateway;
pub mod github;
pub mod http;
pub mod order;
pub mod sandbox;
pub mod store;
#[cfg(test)]
mod tally;
pub mod verify;
pub mod webhook;
pub mod workspace;
