//! Temporary addresses of one content each: logs, attachments and large files, as in GitHub's storage services.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use chrono::Duration;
use uuid::Uuid;

use super::api::{arrived, carry_out};
use super::pages::problem;
use super::request::header;
use super::state::calls::Caller;
use super::state::{EmulatorState, SharedEmulatorState, SignedContent};
use crate::clock;

/// The header that opens a large file.
pub(crate) const GRANT: &str = "x-large-file-grant";

impl EmulatorState {
    /// Creates a token that opens a content for this many seconds.
    pub(crate) fn sign(&mut self, content: SignedContent, seconds: i64) -> String {
        let token = Uuid::new_v4().simple().to_string();
        self.signed.insert(token.clone(), (content, clock::now() + Duration::seconds(seconds)));
        token
    }
}

/// A storage service accepts only the token, in the address or in its own header, and no other credentials.
pub(crate) async fn stored(
    request: HttpRequest,
    shared: web::Data<Arc<SharedEmulatorState>>,
) -> HttpResponse {
    let call = arrived(&request, Caller::Nobody, String::new());
    let apply = async {
        if !header(request.headers(), "authorization").is_empty() {
            return problem(400, "InvalidAuthenticationInfo: the address is signed, and no header is wanted");
        }
        let in_address = request.query_string().rsplit_once("jwt=").map(|(_, token)| token.to_owned());
        let token = in_address.unwrap_or_else(|| header(request.headers(), GRANT));
        let world = shared.lock();
        match world.signed.get(&token).filter(|(_, until)| *until > clock::now()) {
            Some((SignedContent::Bytes(bytes), _)) => HttpResponse::Ok().body(bytes.clone()),
            Some((SignedContent::Elsewhere(location), _)) => {
                HttpResponse::Found().insert_header(("Location", location.clone())).finish()
            }
            None => problem(403, "AuthenticationFailed: the address is unknown, or its time is over"),
        }
    };
    carry_out(&shared, call, apply).await
}
