//! A registry's answer on its way to the job: links lead to the gateway, and the credential is removed.

use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG,
    EXPIRES, LAST_MODIFIED, LOCATION, RETRY_AFTER,
};
use http::{HeaderName, HeaderValue, Response, StatusCode};

use super::RegistryUpstream;
use crate::egress_log::TrafficCounter;
use crate::refusal::{ProxyBody, plain, whole};
use crate::replace::{PassingPart, StreamReplacer, passing};
use journeyman_order::RegistryKind;

/// Headers that a package manager needs. No cookies, and no request for a credential.
const HANDED_BACK: [HeaderName; 9] = [
    CONTENT_TYPE, CONTENT_ENCODING, CONTENT_RANGE, ACCEPT_RANGES, CACHE_CONTROL, EXPIRES, ETAG,
    LAST_MODIFIED, RETRY_AFTER,
];
/// Precedes a link that starts with a slash, in HTML and in JSON.
const BEFORE_LINKS: [&str; 4] = ["href=\"", "href='", "\"url\":\"", "\"url\": \""];

pub(super) fn json(text: String) -> Response<ProxyBody> {
    let mut response = Response::new(whole(text));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A redirect to another path at the gateway.
pub(super) fn moved(status: StatusCode, to: &str) -> Response<ProxyBody> {
    let mut response = plain(status, String::new());
    if let Ok(to) = HeaderValue::from_str(to) {
        response.headers_mut().insert(LOCATION, to);
    }
    response
}

pub(super) fn pass_back(
    upstream: &RegistryUpstream,
    answer: reqwest::Response,
    port: u16,
    tally: TrafficCounter,
    most: u64,
) -> Response<ProxyBody> {
    let status = answer.status();
    let headers = answer.headers().clone();
    let is_index = upstream.has_links() && is_read_for_links(headers.get(CONTENT_TYPE));
    if is_index && headers.contains_key(CONTENT_ENCODING) {
        let name = &upstream.registry().name;
        let text = format!("the registry {name} answers compressed, although it was asked not to\n");
        return plain(StatusCode::BAD_GATEWAY, text);
    }
    let mut pairs = upstream.secrets();
    let secrets = StreamReplacer::of(pairs.clone());
    if is_index {
        pairs.extend(upstream.links(port));
    }
    let count = move |part: PassingPart<'_>| match part {
        PassingPart::Piece(bytes) if tally.add(bytes.len()) > most => {
            Err("more bytes than this job may have".into())
        }
        PassingPart::Piece(_) | PassingPart::End | PassingPart::BrokenOff => Ok(()),
    };
    let mut response = Response::new(passing(answer, StreamReplacer::of(pairs), count));
    *response.status_mut() = status;
    // Redaction keeps the length; rewritten links change it.
    let length = (!is_index).then_some(CONTENT_LENGTH);
    for name in HANDED_BACK.into_iter().chain(length) {
        for value in headers.get_all(&name) {
            // A header that repeats a secret is dropped.
            if !secrets.as_ref().is_some_and(|secrets| secrets.is_in(value.as_bytes())) {
                response.headers_mut().append(&name, value.clone());
            }
        }
    }
    response
}

fn is_read_for_links(kind: Option<&HeaderValue>) -> bool {
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default().to_ascii_lowercase();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    matches!(kind, "text/html" | "application/json") || kind.ends_with("+json") || kind.ends_with("+html")
}

impl RegistryUpstream {
    fn has_links(&self) -> bool {
        match self.registry().kind {
            RegistryKind::Pip | RegistryKind::Npm => true,
            // Their package managers build addresses from the gateway's.
            RegistryKind::Cargo | RegistryKind::Go | RegistryKind::Maven => false,
        }
    }

    /// Every spelling of its own address in links, and the replacement for the job.
    fn links(&self, port: u16) -> Vec<(Vec<u8>, Vec<u8>)> {
        let (root, local) = (&self.0.root, self.local_url(port));
        let mut pairs: Vec<(String, String)> = Vec::new();
        let host = root.host_str().unwrap_or_default();
        let path = root.path();
        let ports = match root.port() {
            Some(port) => vec![format!(":{port}")],
            None => vec![String::new(), ":443".to_owned(), ":80".to_owned()],
        };
        // Registries behind a TLS proxy often believe that they serve plain HTTP.
        for scheme in ["https", "http"] {
            for port in &ports {
                let link = format!("{scheme}://{host}{port}{path}");
                pairs.push((link.replace('/', "\\/"), local.replace('/', "\\/")));
                pairs.push((link, local.clone()));
            }
        }
        for before in BEFORE_LINKS {
            pairs.push((format!("{before}{path}"), format!("{before}{}", self.local_path())));
            // A link to another host stays.
            pairs.push((format!("{before}//"), format!("{before}//")));
        }
        pairs.into_iter().map(|(link, local)| (link.into_bytes(), local.into_bytes())).collect()
    }
}
