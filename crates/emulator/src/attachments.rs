//! Files attached to issues and comments: where to read them, and who may.
//!
//! As on GitHub, a private repository's links need a browser session. Without one, only the API's rendered text has
//! picture addresses, signed and short-lived.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use uuid::Uuid;

use super::Emulator;
use super::api::{arrived, carry_out};
use super::pages::problem;
use super::state::calls::Caller;
use super::state::{EmulatedAttachment, EmulatorState, SharedEmulatorState, SignedContent};

/// Extensions that GitHub stores as images and videos; the rest are files.
const ASSETS: [&str; 7] = ["png", "jpg", "jpeg", "gif", "webp", "svg", "mp4"];

/// Lifetime of a signed address in seconds, as on GitHub.
const SIGNED_FOR: i64 = 300;

impl EmulatorState {
    /// Renders a text like the API, greatly simplified except for picture addresses in private repositories.
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
    /// Uploads a file like a browser and returns its address. Addresses of images and videos have no file name.
    pub fn attach(&self, repository: &str, name: &str, bytes: &[u8]) -> anyhow::Result<String> {
        self.upload(repository, name, SignedContent::Bytes(bytes.to_vec()))
    }

    /// Adds an upload whose address redirects to any other address.
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

/// `GET /user-attachments/…`: the link in the text, opened without a session.
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
