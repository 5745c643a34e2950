//! What an operator may say about images: credentials' places, certificates, proxy, limits.
//!
//! May know: the places where other tools keep their settings. Must never know: our own settings files; whoever makes
//! the store says what they are called.

use std::env;
use std::fmt;
use std::path::PathBuf;

use url::Url;

const GIB: u64 = 1 << 30;

/// How images are fetched, and how large they may be.
#[derive(Clone)]
pub struct ImageSettings {
    /// Files with registries' credentials, in the form of docker's `config.json`. The first that has an entry for a
    /// registry counts; files that do not exist are passed over.
    pub auth_files: Vec<PathBuf>,
    /// Certificates in PEM that are trusted beside the system's.
    pub ca_file: Option<PathBuf>,
    /// For every registry but those on this machine.
    pub proxy: Option<Url>,
    /// Whether a registry on this machine may be asked over plain HTTP, where it does not speak TLS.
    pub plain_http_on_loopback: bool,
    pub limits: ImageLimits,
    /// Where the limits are set, for errors that say which one to raise: `images` in `images.download_bytes`.
    pub section: String,
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

impl fmt::Debug for ImageSettings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A proxy's address can hold a password.
        out.debug_struct("ImageSettings")
            .field("auth_files", &self.auth_files)
            .field("ca_file", &self.ca_file)
            .field("proxy", &self.proxy.as_ref().and_then(Url::host_str))
            .field("plain_http_on_loopback", &self.plain_http_on_loopback)
            .field("limits", &self.limits)
            .field("section", &self.section)
            .finish()
    }
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
            ca_file: None,
            proxy: None,
            plain_http_on_loopback: true,
            limits: ImageLimits::default(),
            section: "images".to_owned(),
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
