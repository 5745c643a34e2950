//! What may be said about images: credentials' places, how registries are reached, limits.
//!
//! May know: the places where other tools keep their settings. Must never know: our own settings files.

use std::env;
use std::path::PathBuf;

use journeyman_order::OutgoingNetwork;

const GIB: u64 = 1 << 30;

/// How images are fetched, and how large they may be.
#[derive(Debug, Clone)]
pub struct ImageSettings {
    /// Files with registries' credentials, in the form of docker's `config.json`. The first that has an entry for a
    /// registry counts; files that do not exist are passed over.
    pub auth_files: Vec<PathBuf>,
    /// How registries are reached.
    pub outgoing: OutgoingNetwork,
    /// Whether a registry on this machine may be asked over plain HTTP, where it does not speak TLS.
    pub plain_http_on_loopback: bool,
    pub limits: ImageLimits,
}

/// How much one image may take.
#[derive(Debug, Clone, Copy)]
pub struct ImageLimits {
    /// All layers as they are sent.
    pub download_bytes: u64,
    /// All layers unpacked.
    pub unpacked_bytes: u64,
    /// One file.
    pub file_bytes: u64,
    /// Files, folders and links of all layers.
    pub entries: u64,
}

impl Default for ImageLimits {
    fn default() -> Self {
        Self { download_bytes: 10 * GIB, unpacked_bytes: 30 * GIB, file_bytes: 8 * GIB, entries: 2_000_000 }
    }
}

impl Default for ImageSettings {
    fn default() -> Self {
        Self {
            auth_files: usual_auth_files(),
            outgoing: OutgoingNetwork::default(),
            plain_http_on_loopback: true,
            limits: ImageLimits::default(),
        }
    }
}

/// Where podman, skopeo and docker keep credentials, in the order in which podman looks.
fn usual_auth_files() -> Vec<PathBuf> {
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = variable("HOME");
    let config = variable("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
    let docker = variable("DOCKER_CONFIG").or_else(|| Some(home.as_ref()?.join(".docker")));
    [
        variable("REGISTRY_AUTH_FILE"),
        variable("XDG_RUNTIME_DIR").map(|folder| folder.join("containers/auth.json")),
        config.map(|folder| folder.join("containers/auth.json")),
        docker.map(|folder| folder.join("config.json")),
    ]
    .into_iter()
    .flatten()
    .collect()
}
