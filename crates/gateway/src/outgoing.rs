//! How this machine reaches other hosts: the certificates that it trusts, and the proxy that it goes through.

use reqwest::{Certificate, ClientBuilder, NoProxy, Proxy};
use secrecy::ExposeSecret;

use journeyman_order::{OutgoingNetwork, RegistryCredential};

/// Never through a proxy.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";

/// What all clients have in common: they follow no redirect, and take nothing from the environment.
pub(super) fn builder(outgoing: &OutgoingNetwork) -> Result<ClientBuilder, String> {
    let mut builder =
        reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().referer(false);
    if let Some(trusted) = &outgoing.trusted {
        let file = trusted.file.display();
        let certificates = Certificate::from_pem_bundle(&trusted.pem)
            .map_err(|error| format!("network.ca_file: {file}: {error}"))?;
        for certificate in certificates {
            builder = builder.add_root_certificate(certificate);
        }
    }
    if let Some(proxy) = &outgoing.proxy {
        let mut through = Proxy::all(proxy.url.clone())
            .map_err(|error| format!("network.proxy: {}", error.without_url()))?;
        if let RegistryCredential::Password { user, password } = &proxy.credential {
            through = through.basic_auth(user, password.expose_secret());
        }
        let bypassed = std::iter::once(LOOPBACK).chain(proxy.bypass.iter().map(String::as_str));
        let bypassed = bypassed.collect::<Vec<_>>().join(",");
        builder = builder.proxy(through.no_proxy(NoProxy::from_string(&bypassed)));
    }
    Ok(builder)
}

/// Says what went wrong, where that is known best.
pub(super) fn no_client(error: &reqwest::Error) -> String {
    format!("no HTTPS on this machine, are its root certificates there? {error}")
}
