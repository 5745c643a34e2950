//! The bearer token.

use actix_web::HttpRequest;
use actix_web::http::header;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use super::HttpState;
use super::problem::ProblemDetails;

pub(super) fn require_token(request: &HttpRequest, state: &HttpState) -> Result<(), ProblemDetails> {
    let token = state.api_token.as_ref();
    let Some(token) = token.filter(|token| !token.expose_secret().is_empty()) else {
        return Err(ProblemDetails::unavailable(
            "the API is closed because it has no token: set server.api_token in journeyman.toml, or \
             JOURNEYMAN_SERVER__API_TOKEN, and start again",
        ));
    };
    let carried = request
        .headers()
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, carried)| carried.trim());
    let Some(carried) = carried else {
        return Err(unauthorized("send the header `Authorization: Bearer TOKEN`, with server.api_token"));
    };
    if !is_same_secret(carried, token) {
        return Err(unauthorized("the bearer token is not the one of server.api_token"));
    }
    Ok(())
}

/// Compares a shown secret with the real one in constant time.
pub fn is_same_secret(shown: &str, secret: &SecretString) -> bool {
    // Digests have equal length, so timing does not reveal the secret's length either.
    let digest = |text: &str| Sha256::digest(text.as_bytes());
    verify_slices_are_equal(&digest(shown), &digest(secret.expose_secret())).is_ok()
}

fn unauthorized(detail: &str) -> ProblemDetails {
    ProblemDetails::unauthorized(detail).with_header(header::WWW_AUTHENTICATE, "Bearer")
}
