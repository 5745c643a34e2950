//! `journeyman setup`: pages on loopback that lead a person from nothing to a server that works: the App, its key and its
//! secrets, where it is installed, its labels, the agent's key, whether all of it works, and the service that runs it.
//!
//! What is done is seen in the files and on GitHub, and remembered nowhere else: whoever comes again goes on where they
//! stopped.
//!
//! May know: the settings' file, GitHub's pages and its App. Must never know: orders, agents, how work is done.

mod answers;
mod files;
mod pages;
mod progress;
mod server;
mod service;
mod unit;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use journeyman_config::{DoctorFinding, Settings};

pub use progress::{SetupApp, SetupProgress, SetupStep};
pub use server::{SetupEnd, SetupServer, start};
pub use service::{ServicePlan, has_user_manager};
pub use unit::ServiceScope;

/// What `setup` begins with.
#[derive(Clone)]
pub struct SetupOptions {
    /// The settings' file, which is made or completed.
    pub settings: PathBuf,
    /// Where new settings keep data; none: at their own folder.
    pub data: Option<PathBuf>,
    /// Where the pages are; loopback.
    pub listen: SocketAddr,
    pub doctor: Arc<dyn SetupDoctor>,
}

/// Checks whether a server with these settings works.
#[async_trait]
pub trait SetupDoctor: Send + Sync {
    /// What `GET /ready` of the server there says: nothing where it is ready, or why it is not.
    async fn ready(&self, server: SocketAddr) -> Result<(), String>;

    async fn examine(&self, settings: &Settings) -> Vec<DoctorFinding>;
}
