//! RSA key pairs for an App.

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::KeyPair as _;
use secrecy::SecretString;

/// A new 2048-bit RSA key pair for an App.
#[derive(Debug)]
pub struct AppKeys {
    /// PEM, `PRIVATE KEY` (PKCS #8): the App signs its tokens with it.
    pub private_pem: SecretString,
    /// PEM, `PUBLIC KEY`: the emulator checks the tokens with it.
    pub public_pem: String,
}

/// Generates a key pair, which takes a few hundred milliseconds.
///
/// # Errors
/// If the machine provides no randomness.
pub fn generate() -> anyhow::Result<AppKeys> {
    let failed = |_| anyhow::anyhow!("an RSA key pair could not be made on this machine");
    let pair = KeyPair::generate(KeySize::Rsa2048).map_err(failed)?;
    let private: Pkcs8V1Der<'_> = pair.as_der().map_err(failed)?;
    let public: PublicKeyX509Der<'_> = pair.public_key().as_der().map_err(failed)?;
    Ok(AppKeys {
        private_pem: SecretString::from(pem("PRIVATE KEY", private.as_ref())),
        public_pem: pem("PUBLIC KEY", public.as_ref()),
    })
}

fn pem(kind: &str, der: &[u8]) -> String {
    let lines = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
    pem::encode_config(&pem::Pem::new(kind, der), lines)
}
