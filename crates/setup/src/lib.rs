//! `journeyman setup`: pages on loopback that lead a person to a working server. They cover the App with its key and
//! secrets, its installation and labels, the agent's key, a check of everything, and the service.
//!
//! Files and GitHub hold all progress; nothing else is remembered. A person who returns resumes where they stopped.
//!
//! May know: the settings file, GitHub's pages and its App. Must never know: orders, agents, how work is done.

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

/// Options of `setup`.
#[derive(Clone)]
pub struct SetupOptions {
    /// The settings file to create or complete.
    pub settings: PathBuf,
    /// The data folder for new settings. `None` means beside the settings.
    pub data: Option<PathBuf>,
    /// The loopback address of the pages.
    pub listen: SocketAddr,
    pub doctor: Arc<dyn SetupDoctor>,
}

/// Checks whether a server with these settings works.
#[async_trait]
pub trait SetupDoctor: Send + Sync {
    /// Calls `GET /ready` of the server. The error says why it is not ready.
    async fn ready(&self, server: SocketAddr) -> Result<(), String>;

    async fn examine(&self, settings: &Settings) -> Vec<DoctorFinding>;
}
