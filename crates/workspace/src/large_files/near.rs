//! Addresses of this machine or its local link, which a server's answer must not lead to.
//!
//! May know: addresses and names. Must never know: what is read at one.

use std::net::{IpAddr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// Resolves no name to an address of this machine.
pub(super) struct ElsewhereResolver;

impl Resolve for ElsewhereResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let far: Vec<SocketAddr> = found.filter(|address| !is_near_address(address.ip())).collect();
            if far.is_empty() {
                return Err("its name leads to this machine or its own link".into());
            }
            Ok(Box::new(far.into_iter()) as Addrs)
        })
    }
}

pub(super) fn is_loopback(url: &Url) -> bool {
    url.host().is_some_and(|host| journeyman_order::is_loopback(&host))
}

pub(super) fn is_near(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(_)) | None => is_loopback(url),
        Some(Host::Ipv4(address)) => is_near_address(address.into()),
        Some(Host::Ipv6(address)) => is_near_address(address.into()),
    }
}

/// This machine, or its local link only, such as the metadata services of clouds that hand out credentials. A private
/// network is allowed: a company's server may be in one.
fn is_near_address(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            address.is_loopback()
                || address.is_link_local()
                || address.is_unspecified()
                || address.is_multicast()
        }
        IpAddr::V6(address) => {
            address.is_loopback()
                || address.is_unicast_link_local()
                || address.is_unspecified()
                || address.is_multicast()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_that_leads_to_this_machine_has_no_address() {
        let found = ElsewhereResolver.resolve("localhost".parse().unwrap()).await;
        assert!(found.is_err_and(|error| error.to_string().contains("this machine")));
    }
}
