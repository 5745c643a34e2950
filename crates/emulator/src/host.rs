//! Checks the Host header. The pages need no password, and a web site can point its own name at this machine (DNS
//! rebinding). The browser then treats the pages as that site's, and only the name in the request reveals it.

use std::net::{IpAddr, SocketAddr};

use actix_web::body::BoxBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::HOST;
use actix_web::middleware::Next;
use actix_web::{Error, HttpResponse};

/// Accepts a request for loopback or the listening address, with its port.
pub(super) async fn hold(
    listen: SocketAddr,
    request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse, Error> {
    let named = request.headers().get_all(HOST).map(|host| host.to_str().unwrap_or_default());
    // HTTP/2 puts it in the address.
    let mut hosts = named.chain(request.uri().authority().map(|authority| authority.as_str())).peekable();
    if hosts.peek().is_some() && hosts.all(|host| is_here(host, listen)) {
        return next.call(request).await;
    }
    let text = format!(
        "This is an emulator of GitHub for this machine alone. It answers at http://{listen} and to names of loopback \
         with its port, and not to the name that was asked for.\n"
    );
    let refused = HttpResponse::MisdirectedRequest().content_type("text/plain; charset=utf-8").body(text);
    Ok(request.into_response(refused))
}

fn is_here(host: &str, listen: SocketAddr) -> bool {
    let Some((name, port)) = host.rsplit_once(':') else { return false };
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let is_name = name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback() || address == listen.ip());
    is_name && port == listen.port().to_string()
}
