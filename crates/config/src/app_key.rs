//! `[github]`: the App's private key, from a systemd credential or a file.
//!
//! May know: where keys are kept and which can sign. Must never know: GitHub.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretString};

use super::SettingsError;
use super::environment::EnvironmentVariables;
use super::known;
use super::raw::SettingReader;
use journeyman_order::bounds::LARGEST_SETTINGS;
use journeyman_order::byte_order_mark;

/// The credential's name in a unit: `LoadCredential=app.pem:…`.
pub const APP_KEY_CREDENTIAL: &str = "app.pem";
/// The variable in which systemd passes the credentials' folder.
const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";

/// The credential's file, if the unit passes one.
pub(super) fn credential(variables: &EnvironmentVariables) -> Option<PathBuf> {
    let folder = PathBuf::from(variables.value(CREDENTIALS)?);
    let file = folder.join(APP_KEY_CREDENTIAL);
    (folder.is_absolute() && file.exists()).then_some(file)
}

/// The App's key. A unit passes a credential for this very start, so it overrides the settings.
pub(super) fn private_key(
    keys: SettingReader<'_>,
    variables: &EnvironmentVariables,
) -> Result<SecretString, SettingsError> {
    let in_file = known::PRIVATE_KEY_PATH;
    if let Some(file) = credential(variables) {
        let wrong = |expected: String| SettingsError::Value {
            key: in_file.key.to_owned(),
            place: format!("systemd's credential {APP_KEY_CREDENTIAL}"),
            expected,
        };
        return usable(&of_file(&file).map_err(wrong)?, &file.display().to_string()).map_err(wrong);
    }
    let wrong = |expected: String| keys.wrong(in_file, expected);
    let path = keys.path(in_file)?.ok_or_else(|| wrong(in_file.kind.expected()))?;
    usable(&of_file(&path).map_err(wrong)?, &path.display().to_string()).map_err(wrong)
}

/// An error describes the expected file.
fn of_file(path: &Path) -> Result<SecretString, String> {
    let unreadable = |error: std::io::Error| format!("a file that can be read: {}: {error}", path.display());
    let found = std::fs::metadata(path).map_err(unreadable)?;
    if found.is_file() && found.len() > LARGEST_SETTINGS as u64 {
        return Err(format!("the App's private key; {} is too large for one", path.display()));
    }
    // Text that is not UTF-8 is no PEM either; `usable` reports that.
    let pem = std::fs::read(path).map_err(unreadable)?;
    let pem = byte_order_mark::strip_bytes(&pem);
    let pem = SecretString::from(String::from_utf8_lossy(pem).into_owned());
    if found.permissions().mode() & 0o007 != 0 {
        let shown = path.display();
        return Err(format!(
            "a file that only the user who runs Journeyman may read: everybody on this machine may read {shown}; \
             `chmod 600 {shown}` changes that"
        ));
    }
    Ok(pem)
}

/// An error describes the expected key.
fn usable(pem: &SecretString, place: &str) -> Result<SecretString, String> {
    let says = |words: &str| pem.expose_secret().contains(words);
    let what = match () {
        () if says("PUBLIC KEY-----") => "holds a public key",
        () if says("BEGIN CERTIFICATE-----") => "holds a certificate",
        () if can_sign(pem) => return Ok(pem.clone()),
        () => "is not",
    };
    Err(format!(
        "the App's private key, RSA in PEM form; {place} {what}: generate a private key on the App's page, and save the \
         downloaded file there"
    ))
}

/// Whether the key can sign tokens for GitHub. The token library's parser accepts more than the signer's, so check
/// both. Sign nothing: a process's first signature gathers randomness, which would dominate the server's startup time.
fn can_sign(pem: &SecretString) -> bool {
    let key = jsonwebtoken::EncodingKey::from_rsa_pem(pem.expose_secret().as_bytes());
    key.is_ok_and(|key| aws_lc_rs::rsa::KeyPair::from_der(key.inner()).is_ok())
}
