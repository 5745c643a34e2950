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
use super::request::header;
use super::state::attachments::{AttachmentAnswer, EmulatedAttachment};
use super::state::calls::Caller;
use super::state::{RepositoryVisibility, SharedEmulatorState};
use crate::clock;

/// What GitHub keeps as pictures and films; the rest are files.
const ASSETS: [&str; 7] = ["png", "jpg", "jpeg", "gif", "webp", "svg", "mp4"];

impl Emulator {
    /// Uploads a file as somebody's browser does; its address, for a text. Pictures and films have no name in theirs.
    ///
    /// # Errors
    /// When there is no such repository.
    pub fn attach(&self, repository: &str, name: &str, bytes: &[u8]) -> anyhow::Result<String> {
        self.upload(repository, name, AttachmentAnswer::Bytes(bytes.to_vec()))
    }

    /// An upload whose address leads to another one, whatever that is.
    ///
    /// # Errors
    /// When there is no such repository.
    pub fn attach_elsewhere(&self, repository: &str, name: &str, location: &str) -> anyhow::Result<String> {
        self.upload(repository, name, AttachmentAnswer::Elsewhere(location.to_owned()))
    }

    fn upload(&self, repository: &str, name: &str, answer: AttachmentAnswer) -> anyhow::Result<String> {
        self.shared.change(|world| {
            let repository = world.require_repository(repository)?.full_name.clone();
            let (id, uuid) = (world.new_id(), Uuid::new_v4().to_string());
            let is_asset = name.rsplit('.').next().is_some_and(|ending| ASSETS.contains(&ending));
            let path = match is_asset {
                true => format!("/user-attachments/assets/{uuid}"),
                false => format!("/user-attachments/files/{id}/{name}"),
            };
            let link = format!("{}{path}", world.origin);
            let signed = Vec::new();
            world.attachments.push(EmulatedAttachment { id, repository, path, uuid, answer, signed });
            Ok(link)
        })
    }
}

/// `GET /user-attachments/…`: the link in the text, as it answers without a session.
pub(crate) async fn link(request: HttpRequest, shared: web::Data<Arc<SharedEmulatorState>>) -> HttpResponse {
    let call = arrived(&request, Caller::Nobody, String::new());
    let apply = async {
        shared.change(|world| {
            let origin = world.origin.clone();
            let found = world.attachments.iter().position(|one| one.path == request.path());
            let Some(at) = found else { return problem(404, "Not Found") };
            let is_public = world.attachments.get(at).is_some_and(|one| {
                let repository = world.repository(&one.repository);
                repository.is_some_and(|found| found.visibility == RepositoryVisibility::Public)
            });
            match world.attachments.get_mut(at) {
                Some(one) if is_public => {
                    let location = match &one.answer {
                        AttachmentAnswer::Bytes(_) => format!("{origin}/_attachments?jwt={}", one.sign()),
                        AttachmentAnswer::Elsewhere(location) => location.clone(),
                    };
                    HttpResponse::Found().insert_header(("Location", location)).finish()
                }
                Some(_) | None => problem(404, "Not Found"),
            }
        })
    };
    carry_out(&shared, call, apply).await
}

/// As the storage service behind GitHub answers, which takes the address alone.
pub(crate) async fn stored(
    request: HttpRequest,
    shared: web::Data<Arc<SharedEmulatorState>>,
) -> HttpResponse {
    let call = arrived(&request, Caller::Nobody, String::new());
    let apply = async {
        if !header(request.headers(), "authorization").is_empty() {
            return problem(400, "InvalidAuthenticationInfo: the address is signed, and no header is wanted");
        }
        let given = request.query_string().rsplit_once("jwt=").map_or("", |(_, given)| given);
        let world = shared.lock();
        let is_known = |one: &&EmulatedAttachment| {
            one.signed.iter().any(|(token, until)| token == given && *until > clock::now())
        };
        match world.attachments.iter().find(is_known).map(|one| &one.answer) {
            Some(AttachmentAnswer::Bytes(bytes)) => HttpResponse::Ok().body(bytes.clone()),
            Some(AttachmentAnswer::Elsewhere(location)) => {
                HttpResponse::Found().insert_header(("Location", location.clone())).finish()
            }
            None => problem(403, "AuthenticationFailed: the address is unknown, or its time is over"),
        }
    };
    carry_out(&shared, call, apply).await
}
