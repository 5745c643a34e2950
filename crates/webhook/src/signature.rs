//! `X-Hub-Signature-256`: HMAC-SHA256 over the raw bytes.

use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

/// Why a delivery does not count as GitHub's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error("the header X-Hub-Signature-256 is missing: set the webhook's secret on GitHub")]
    Missing,
    /// The header has another form, such as a SHA-1 signature.
    #[error("X-Hub-Signature-256 has to be `sha256=` and 64 hexadecimal digits")]
    Form,
    /// It was made with another secret or for another body.
    #[error("the signature does not fit the body: compare github.webhook_secret with the secret on GitHub")]
    Mismatch,
}

/// Whether one of the secrets signed these bytes. During a rotation there are two.
///
/// The comparison takes constant time, and every secret is tried.
///
/// # Errors
/// [`SignatureError`]. Its messages contain no part of the secret, the header or the body.
pub fn verify(secrets: &[SecretString], header: Option<&str>, body: &[u8]) -> Result<(), SignatureError> {
    let claimed = claimed(header)?;
    let mut fits = false;
    for secret in secrets {
        // Anyone can sign with an empty secret.
        if secret.expose_secret().is_empty() {
            continue;
        }
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes()) else { continue };
        mac.update(body);
        fits |= mac.verify_slice(&claimed).is_ok();
    }
    if fits { Ok(()) } else { Err(SignatureError::Mismatch) }
}

/// The signature in the header, not yet verified.
fn claimed(header: Option<&str>) -> Result<[u8; 32], SignatureError> {
    let digits =
        header.ok_or(SignatureError::Missing)?.strip_prefix("sha256=").ok_or(SignatureError::Form)?;
    let mut claimed = [0; 32];
    hex::decode_to_slice(digits, &mut claimed).map_err(|_| SignatureError::Form)?;
    Ok(claimed)
}
