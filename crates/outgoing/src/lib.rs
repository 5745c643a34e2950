//! How this machine reaches other hosts: the certificates that it trusts besides the system's, and the proxy that
//! connections go through. For every adapter that speaks HTTPS, so that all of them do it the same way.
//!
//! May know: TLS clients, proxies, [`journeyman_order::OutgoingNetwork`].
//! Must never know: what is said over a connection, or who asks for it.

mod connect;

pub use connect::connect_through;
pub use journeyman_order::is_loopback;

use std::sync::{Arc, OnceLock};

use reqwest::{Certificate, ClientBuilder, NoProxy, Proxy};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use secrecy::ExposeSecret;

use journeyman_order::{OutgoingNetwork, RegistryCredential};

/// Never through a proxy.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";

/// Why `network.ca_file` or the proxy cannot be used. Says nothing of a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidOutgoing {
    #[error("network.ca_file: {file}: {because}")]
    Certificates { file: String, because: String },
    #[error("HTTPS_PROXY: {0}")]
    Proxy(String),
    #[error("no HTTPS on this machine, are its root certificates there? {0}")]
    Client(String),
}

/// What all clients begin with. Nothing is taken from the environment: whoever reads the settings did that. In the clear
/// nothing goes through the proxy: what is not HTTPS is near.
///
/// # Errors
/// When certificates or proxy cannot be used.
pub fn client_builder(outgoing: &OutgoingNetwork) -> Result<ClientBuilder, InvalidOutgoing> {
    let mut builder = reqwest::Client::builder().no_proxy();
    if let Some(trusted) = &outgoing.trusted {
        let wrong = |because: String| InvalidOutgoing::Certificates {
            file: trusted.file.display().to_string(),
            because,
        };
        let is_readable =
            |one: &CertificateDer<'_>| RootCertStore::empty().add(one.clone().into_owned()).is_ok();
        let all = CertificateDer::pem_slice_iter(&trusted.pem).filter_map(Result::ok).filter(is_readable);
        let certificates: Vec<Certificate> = all.filter_map(|one| Certificate::from_der(&one).ok()).collect();
        if certificates.is_empty() {
            return Err(wrong("no certificate in it can be read; it has to be PEM".to_owned()));
        }
        for certificate in certificates {
            builder = builder.add_root_certificate(certificate);
        }
    } else {
        builder = builder.tls_backend_preconfigured(system_tls()?);
    }
    if let Some(proxy) = &outgoing.proxy {
        let through = Proxy::https(proxy.url.clone());
        let mut through = through.map_err(|error| InvalidOutgoing::Proxy(error.without_url().to_string()))?;
        if let RegistryCredential::Password { user, password } = &proxy.credential {
            through = through.basic_auth(user, password.expose_secret());
        }
        let bypassed = std::iter::once(LOOPBACK).chain(proxy.bypass.iter().map(String::as_str));
        let bypassed = bypassed.collect::<Vec<_>>().join(",");
        builder = builder.proxy(through.no_proxy(NoProxy::from_string(&bypassed)));
    }
    Ok(builder)
}

/// With what the system trusts. That is hundreds of files, and every adapter has a client: they are read once.
fn system_tls() -> Result<ClientConfig, InvalidOutgoing> {
    static SYSTEM: OnceLock<Result<ClientConfig, String>> = OnceLock::new();
    let read = || {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = Verifier::new(Arc::clone(&provider)).map_err(|error| error.to_string())?;
        let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let mut tls = versions
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        tls.alpn_protocols = [&b"h2"[..], b"http/1.1"].map(<[u8]>::to_vec).into();
        Ok(tls)
    };
    SYSTEM.get_or_init(read).clone().map_err(InvalidOutgoing::Client)
}

/// Builds a client.
///
/// # Errors
/// When there is no TLS to be had with these certificates.
pub fn build(builder: ClientBuilder) -> Result<reqwest::Client, InvalidOutgoing> {
    builder.build().map_err(|error| InvalidOutgoing::Client(innermost(&error)))
}

/// The reason behind an error. The outermost one only says that something failed, and may name the address.
pub fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// Whether clients can be made of these settings, before anything depends on it.
///
/// # Errors
/// Says what is wrong with which key.
pub fn check(outgoing: &OutgoingNetwork) -> Result<(), InvalidOutgoing> {
    build(client_builder(outgoing)?).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use journeyman_order::TrustedCertificates;

    #[test]
    fn a_file_without_a_certificate_is_named() {
        for pem in ["", "nothing", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            let trusted = TrustedCertificates { file: "/etc/corp.pem".into(), pem: pem.into() };
            let error = check(&OutgoingNetwork { trusted: Some(trusted), proxy: None }).unwrap_err();
            assert!(error.to_string().starts_with("network.ca_file: /etc/corp.pem: "), "{error}");
        }
        assert_eq!(check(&OutgoingNetwork::default()), Ok(()));
    }
}
