//! How this machine reaches other hosts: through which proxy, and with which certificates besides the system's. All
//! adapters that use HTTPS share it.
//!
//! May know: TLS clients, proxies, [`journeyman_order::OutgoingNetwork`].
//! Must never know: what a connection carries, or which code uses it.

mod connect;

pub use connect::connect_through;

use std::sync::{Arc, OnceLock};

use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, ClientBuilder, NoProxy, Proxy};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use secrecy::ExposeSecret;

use journeyman_order::{OutgoingNetwork, RegistryCredential};

/// Never use a proxy for these.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";

/// Why `network.ca_file` or the proxy cannot be used. Contains no password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidOutgoing(String);

/// A client with the common settings and those of `added`. It follows no redirects: a request is meant for its own
/// address only.
///
/// # Errors
/// If the certificates or the proxy are unusable, or TLS cannot be set up with them.
pub fn client(
    outgoing: &OutgoingNetwork,
    added: impl FnOnce(ClientBuilder) -> ClientBuilder,
) -> Result<Client, InvalidOutgoing> {
    let built = added(client_builder(outgoing)?).build();
    built.map_err(|error| no_tls(&innermost(&error)))
}

/// Ignores the environment: the settings' reader has already handled it. Only HTTPS uses the proxy; plain HTTP is for
/// nearby hosts.
fn client_builder(outgoing: &OutgoingNetwork) -> Result<ClientBuilder, InvalidOutgoing> {
    let mut builder = Client::builder().no_proxy().redirect(Policy::none());
    if let Some(trusted) = &outgoing.trusted {
        let is_readable =
            |one: &CertificateDer<'_>| RootCertStore::empty().add(one.clone().into_owned()).is_ok();
        let all = CertificateDer::pem_slice_iter(&trusted.pem).filter_map(Result::ok).filter(is_readable);
        let certificates: Vec<Certificate> = all.filter_map(|one| Certificate::from_der(&one).ok()).collect();
        if certificates.is_empty() {
            let file = trusted.file.display();
            let why = "no certificate in it can be read; it has to be PEM";
            return Err(InvalidOutgoing(format!("network.ca_file: {file}: {why}")));
        }
        for certificate in certificates {
            builder = builder.add_root_certificate(certificate);
        }
    } else {
        builder = builder.tls_backend_preconfigured(system_tls()?);
    }
    if let Some(proxy) = &outgoing.proxy {
        let through = Proxy::https(proxy.url.clone());
        let wrong = |error: reqwest::Error| InvalidOutgoing(format!("HTTPS_PROXY: {}", error.without_url()));
        let mut through = through.map_err(wrong)?;
        if let RegistryCredential::Password { user, password } = &proxy.credential {
            through = through.basic_auth(user, password.expose_secret());
        }
        let bypassed = std::iter::once(LOOPBACK).chain(proxy.bypass.iter().map(String::as_str));
        let bypassed = bypassed.collect::<Vec<_>>().join(",");
        builder = builder.proxy(through.no_proxy(NoProxy::from_string(&bypassed)));
    }
    Ok(builder)
}

/// TLS with the system's certificates. They are hundreds of files, needed by every adapter, so they are read once.
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
    SYSTEM.get_or_init(read).clone().map_err(|error| no_tls(&error))
}

fn no_tls(why: &str) -> InvalidOutgoing {
    InvalidOutgoing(format!("no HTTPS on this machine, are its root certificates there? {why}"))
}

/// The root cause of an error. The outermost error is vague and may contain the address.
pub fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// Checks early whether clients can be created with these settings.
///
/// # Errors
/// Names the key and what is wrong with it.
pub fn check(outgoing: &OutgoingNetwork) -> Result<(), InvalidOutgoing> {
    client(outgoing, |builder| builder).map(drop)
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
