//! The real programs: `journeyman` as people start it, the real Claude Code, real git, real sandboxes.
//!
//! May know: the command line, the settings, the REST API, and what (emulated) GitHub shows. Must never know: how the
//! work is done inside.

mod api;
mod app;
mod claude;
mod demo;
mod environment;
mod local;
mod model;
pub mod program;
mod run;
mod server;
pub use server::write_private;
mod unit;
mod verify;
