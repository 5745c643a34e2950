//! Settings of libgit2 that hold for the whole process.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use git2::ConfigLevel;

use super::GitError;

/// Milliseconds until a server has to answer at all, and between two pieces of an answer.
const CONNECT_MS: i32 = 15_000;
const SILENCE_MS: i32 = 60_000;

/// Makes libgit2 read no configuration of the machine (an `insteadOf` there would send tokens elsewhere), refuse
/// objects that do not hash to their name or point to nothing, and not wait for ever. Done once.
pub(super) fn harden() -> Result<(), GitError> {
    static DONE: OnceLock<Result<(), String>> = OnceLock::new();
    DONE.get_or_init(|| set().map_err(|error| error.message().to_owned()))
        .clone()
        .map_err(|said| GitError::broken(format!("the settings of libgit2 could not be made: {said}")))
}

/// Has libgit2 trust the certificates of a file, besides those of the system.
#[allow(unsafe_code)]
pub(super) fn trust(file: &Path) -> Result<(), GitError> {
    // SAFETY: this adds to libgit2's one store of certificates, which OpenSSL guards itself. The application is put
    // together before anything is fetched.
    let added = unsafe { git2::opts::set_ssl_cert_file(file) };
    added.map_err(|error| {
        GitError::broken(format!(
            "network.ca_file: {}: git cannot use it: {}",
            file.display(),
            error.message()
        ))
    })
}

/// Where libgit2 finds the certificates that the system trusts: a file, and a folder. git2 looks where systems keep them
/// and leaves what it found in these variables, which OpenSSL reads, unless they are set already.
pub(super) fn system_certificates() -> (Option<PathBuf>, Option<PathBuf>) {
    let found = |variable: &str| std::env::var_os(variable).map(PathBuf::from).filter(|path| path.exists());
    (found("SSL_CERT_FILE"), found("SSL_CERT_DIR"))
}

#[allow(unsafe_code)]
fn set() -> Result<(), git2::Error> {
    git2::opts::strict_object_creation(true);
    git2::opts::strict_hash_verification(true);
    let levels = [ConfigLevel::ProgramData, ConfigLevel::System, ConfigLevel::XDG, ConfigLevel::Global];
    // SAFETY: these write process-wide variables of libgit2. Whoever uses it here first makes a `Workspaces`, which
    // comes through here, and `OnceLock` lets one thread in and the others wait.
    unsafe {
        for level in levels {
            git2::opts::set_search_path(level, "")?;
        }
        git2::opts::set_server_connect_timeout_in_milliseconds(CONNECT_MS)?;
        git2::opts::set_server_timeout_in_milliseconds(SILENCE_MS)
    }
}
