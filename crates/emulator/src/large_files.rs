//! Git LFS: the batch API and the storage that its links lead to. Objects are stored in the repository's folder as
//! git-lfs does.
//!
//! As on GitHub, content is on another host, which accepts a special header and no other credentials. Only downloads
//! are supported.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::Emulator;
use super::api::{arrived, carry_out};
use super::git_access::{GitService, enter, refused};
use super::reply::status;
use super::request::header;
use super::signed::GRANT;
use super::state::{SharedEmulatorState, SignedContent};

const MEDIA_TYPE: &str = "application/vnd.git-lfs+json";
/// How long a download stays open, in seconds.
const GRANTED_FOR: i64 = 3_600;

impl Emulator {
    /// Stores a content as git-lfs would on push, and returns its pointer file.
    pub fn put_large_file(&self, repository: &str, bytes: &[u8]) -> anyhow::Result<String> {
        let id = hex::encode(Sha256::digest(bytes));
        let git = self.shared.lock().require_repository(repository)?.git.clone();
        let place = place(&git, &id).ok_or_else(|| anyhow::anyhow!("{id:?} is no SHA-256"))?;
        std::fs::create_dir_all(place.parent().unwrap_or(&git))?;
        std::fs::write(place, bytes)?;
        Ok(format!("version https://git-lfs.github.com/spec/v1\noid sha256:{id}\nsize {}\n", bytes.len()))
    }
}

fn place(git: &Path, id: &str) -> Option<PathBuf> {
    let is_id = id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (first, second) = (id.get(..2)?, id.get(2..4)?);
    is_id.then(|| git.join("lfs/objects").join(first).join(second).join(id))
}

fn refusal(code: u16, message: &str) -> HttpResponse {
    let body = json!({"message": message, "documentation_url": "https://docs.github.com/repositories"});
    HttpResponse::build(status(code)).content_type(MEDIA_TYPE).body(body.to_string())
}

/// `POST …/info/lfs/objects/batch`
pub(crate) async fn batch(
    request: HttpRequest,
    path: web::Path<(String, String)>,
    body: web::Bytes,
    shared: web::Data<Arc<SharedEmulatorState>>,
) -> HttpResponse {
    let (owner, name) = path.into_inner();
    let (caller, granted) = enter(&shared, &request, &format!("{owner}/{name}"), Some(GitService::Fetch));
    let call = arrived(&request, caller, String::from_utf8_lossy(&body).into_owned());
    let apply = async {
        match granted {
            Ok(granted) => answer(&shared, &granted.git, &request, &body),
            Err(error) => refused(&error),
        }
    };
    carry_out(&shared, call, apply).await
}

fn answer(shared: &SharedEmulatorState, git: &Path, request: &HttpRequest, body: &[u8]) -> HttpResponse {
    if !header(request.headers(), "accept").starts_with(MEDIA_TYPE)
        || !header(request.headers(), "content-type").starts_with(MEDIA_TYPE)
    {
        return refusal(406, "Not acceptable: the media type is application/vnd.git-lfs+json");
    }
    let Ok(asked) = serde_json::from_slice::<Value>(body) else {
        return refusal(422, "Unprocessable Entity");
    };
    let objects = asked["objects"].as_array().cloned().unwrap_or_default();
    let objects: Vec<Value> = objects.iter().map(|object| one(shared, git, object)).collect();
    let answer = json!({"transfer": "basic", "objects": objects, "hash_algo": "sha256"});
    HttpResponse::Ok().content_type(MEDIA_TYPE).body(answer.to_string())
}

fn one(shared: &SharedEmulatorState, git: &Path, object: &Value) -> Value {
    let (oid, size) = (object["oid"].as_str().unwrap_or_default(), object["size"].as_u64());
    let problem = |code: u16, message: &str| json!({"oid": oid, "size": size, "error": {"code": code, "message": message}});
    let Some(place) = place(git, oid) else { return problem(422, "Invalid object ID") };
    let Ok(bytes) = std::fs::read(place) else { return problem(404, "Object does not exist on the server") };
    let (token, href) = shared.change(|world| {
        // A different name makes it another host to clients.
        let href = format!("{}/_large-files/{oid}", world.origin.replace("127.0.0.1", "localhost"));
        (world.sign(SignedContent::Bytes(bytes), GRANTED_FOR), href)
    });
    json!({
        "oid": oid, "size": size, "authenticated": true,
        "actions": {"download": {"href": href, "header": {GRANT: token}, "expires_in": GRANTED_FOR}},
    })
}
