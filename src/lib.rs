//! Journeyman turns a labeled GitHub issue into a verified pull request.
//!
//! The architecture from the entry point inwards. Each part is a crate, so the compiler enforces the arrows:
//!
//! ```text
//! main → cli → app → {dashboard → http, engine} → {webhook, store, agent, workspace, environment, verify, sandbox, github, render, attest} → order
//! ```
//!
//! Adapters do not depend on one another, `order` depends on nothing, and only `cli` and the tests use `emulator`.

pub use journeyman_agent as agent;
pub use journeyman_attest as attest;
pub use journeyman_config as config;
pub use journeyman_dashboard as dashboard;
#[cfg(feature = "emulator")]
pub use journeyman_emulator as emulator;
pub use journeyman_engine as engine;
pub use journeyman_environment as environment;
pub use journeyman_gateway as gateway;
pub use journeyman_github as github;
pub use journeyman_http as http;
pub use journeyman_notify as notify;
pub use journeyman_order as order;
pub use journeyman_outgoing as outgoing;
pub use journeyman_render as render;
pub use journeyman_sandbox as sandbox;
pub use journeyman_setup as setup;
pub use journeyman_store as store;
pub use journeyman_telemetry as telemetry;
pub use journeyman_verify as verify;
pub use journeyman_webhook as webhook;
pub use journeyman_workspace as workspace;

pub mod app;
pub mod cli;
