//! Files that people attach to issues and comments: where they are read, and who may.
//!
//! As on GitHub, the link in the text answers nobody without a browser's session where the repository is private; then
//! only the rendered text of the API has addresses of pictures, signed and short-lived.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use uuid::Uuid;

use super::Emulator;
use super::api::{arrived, carry_out};
use super::pages::problem;
use super::state::calls::Caller;
use super::state::{EmulatedAttachment, EmulatorState, SharedEmulatorState, SignedContent};

/// What GitHub keeps as pictures and films; the rest are files.
const ASSETS: [&str; 7] = ["png", "jpg", "jpeg", "gif", "webp", "svg", "mp4"];

/// For how long a signed address can be used, in seconds; as with GitHub.
const SIGNED_FOR: i64 = 300;

impl EmulatorState {
    /// A text as the API renders it: much simpler, but for the addresses of pictures in private repositories.
    pub(crate) fn body_html(&mut self, repository: &str, body: &str) -> String {
        let mut html = body.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
        for one in self.attachments.clone().into_iter().filter(|one| one.repository == repository) {
            let link = format!("{}{}", self.origin, one.path);
            if html.contains(&link) && one.path.contains("/assets/") {
                let place = format!("{}/_private-user-images/7/{}-{}.png", self.origin, one.id, one.uuid);
                let token = self.sign(one.content, SIGNED_FOR);
                html = html.replace(&link, &format!("<img src=\"{place}?v=1&amp;jwt={token}\">"));
            }
        }
        format!("<p dir=\"auto\">{html}</p>")
    }
}

impl Emulator {
    /// Uploads a file as somebody's browser does; its address, for a text. Pictures and films have no name in theirs.
    ///
    /// # Errors
    /// When there is no such repository.
    pub fn attach(&self, repository: &str, name: &str, bytes: &[u8]) -> anyhow::Result<String> {
        self.upload(repository, name, SignedContent::Bytes(bytes.to_vec()))
    }

    /// An upload whose address leads to another one, whatever that is.
    ///
    /// # Errors
    /// When there is no such repository.
    pub fn attach_elsewhere(&self, repository: &str, name: &str, location: &str) -> anyhow::Result<String> {
        self.upload(repository, name, SignedContent::Elsewhere(location.to_owned()))
    }

    fn upload(&self, repository: &str, name: &str, content: SignedContent) -> anyhow::Result<String> {
        self.shared.change(|world| {
            let repository = world.require_repository(repository)?.full_name.clone();
            let (id, uuid) = (world.new_id(), Uuid::new_v4().to_string());
            let is_asset = name.rsplit('.').next().is_some_and(|ending| ASSETS.contains(&ending));
            let path = match is_asset {
                true => format!("/user-attachments/assets/{uuid}"),
                false => format!("/user-attachments/files/{id}/{name}"),
            };
            let link = format!("{}{path}", world.origin);
            world.attachments.push(EmulatedAttachment { id, repository, path, uuid, content });
            Ok(link)
        })
    }
}

/// `GET /user-attachments/…`: the link in the text, as it answers without a session.
pub(crate) async fn link(request: HttpRequest, shared: web::Data<Arc<SharedEmulatorState>>) -> HttpResponse {
    let call = arrived(&request, Caller::Nobody, String::new());
    let apply = async {
        shared.change(|world| {
            let is_public = |one: &&EmulatedAttachment| {
                let repository = world.repository(&one.repository);
                repository.is_some_and(|found| !found.is_private)
            };
            let found = world.attachments.iter().find(|one| one.path == request.path()).filter(is_public);
            let location = match found.map(|one| one.content.clone()) {
                Some(SignedContent::Elsewhere(location)) => location,
                Some(bytes) => {
                    let token = world.sign(bytes, SIGNED_FOR);
                    format!("{}/_attachments?jwt={token}", world.origin)
                }
                None => return problem(404, "Not Found"),
            };
            HttpResponse::Found().insert_header(("Location", location)).finish()
        })
    };
    carry_out(&shared, call, apply).await
}
