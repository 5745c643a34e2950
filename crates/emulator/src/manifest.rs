//! Creating an App: a form with its manifest, a confirmation page, a code, its conversion, an installation.
//!
//! May know: GitHub's manifest flow. Must never know: who requests an App.

use std::collections::HashMap;
use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use jsonwebtoken::DecodingKey;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use url::Url;
use uuid::Uuid;

use crate::keys;
use crate::pages::forms::{foreign, refused};
use crate::pages::{problem, show_with};
use crate::reply::{ActResult, EmulatedApiError, EmulatedApiReply};
use crate::state::{AppStage, EmulatorState, PendingManifest, SharedEmulatorState};

type FormFields = web::Form<HashMap<String, String>>;

pub(crate) fn routes(config: &mut web::ServiceConfig) {
    config
        .route("/settings/apps/new", web::post().to(ask))
        .route("/settings/apps", web::post().to(make))
        .route("/apps/{slug}/installations/new", web::get().to(ask_where))
        .route("/apps/{slug}/installations", web::post().to(install));
}

#[derive(Template)]
#[template(path = "emulator/new_app.html")]
struct NewAppPage {
    manifest: String,
    name: String,
    state: String,
    permissions: Vec<String>,
}

#[derive(Template)]
#[template(path = "emulator/install_app.html")]
struct InstallAppPage {
    slug: String,
    repositories: Vec<String>,
}

/// Its form may lead to another site: the one that requested the App.
fn show(page: &impl Template) -> HttpResponse {
    show_with(page, "default-src 'none'; style-src 'unsafe-inline'")
}

/// Any site may send this form; nothing is created until a person confirms.
async fn ask(request: HttpRequest, fields: FormFields) -> HttpResponse {
    let manifest = fields.get("manifest").map_or("", String::as_str);
    let parsed: Value = match serde_json::from_str(manifest) {
        Ok(parsed) => parsed,
        Err(error) => return problem(422, &format!("the manifest is no JSON: {error}")),
    };
    let query: HashMap<String, String> =
        url::form_urlencoded::parse(request.query_string().as_bytes()).into_owned().collect();
    let permissions = parsed["default_permissions"].as_object().into_iter().flatten();
    show(&NewAppPage {
        manifest: manifest.to_owned(),
        name: parsed["name"].as_str().unwrap_or_default().to_owned(),
        state: query.get("state").cloned().unwrap_or_default(),
        permissions: permissions
            .map(|(name, level)| format!("{name}: {}", level.as_str().unwrap_or_default()))
            .collect(),
    })
}

async fn make(
    request: HttpRequest,
    fields: FormFields,
    shared: web::Data<Arc<SharedEmulatorState>>,
) -> HttpResponse {
    if foreign(&request) {
        return refused();
    }
    let field = |name: &str| fields.get(name).map_or("", String::as_str);
    let Ok(manifest) = serde_json::from_str::<Value>(field("manifest")) else {
        return problem(422, "the manifest is no JSON");
    };
    let Some(mut back) = manifest["redirect_url"].as_str().and_then(|url| Url::parse(url).ok()) else {
        return problem(422, "redirect_url: is missing, or no address");
    };
    let code = Uuid::new_v4().simple().to_string();
    let pending = PendingManifest { manifest, name: field("name").to_owned() };
    shared.change(|world| world.manifests.insert(code.clone(), pending));
    back.query_pairs_mut().append_pair("code", &code).append_pair("state", field("state"));
    HttpResponse::Found().insert_header(("Location", back.as_str())).finish()
}

/// `POST /app-manifests/{code}/conversions`: returns the App, its key and its secrets, once.
pub(crate) fn convert(world: &mut EmulatorState, code: &str) -> ActResult {
    let PendingManifest { manifest, name } =
        world.manifests.remove(code).ok_or_else(EmulatedApiError::not_found)?;
    let keys = keys::generate().map_err(EmulatedApiError::broken)?;
    let slug = slug(&name);
    let permissions = serde_json::from_value(manifest["default_permissions"].clone());
    let permissions = permissions.map_err(|error| EmulatedApiError::new(422, error.to_string()))?;
    let secret = Uuid::new_v4().simple().to_string();
    let hook = &manifest["hook_attributes"];
    let is_active = hook["active"].as_bool().unwrap_or(true);
    world.webhook_url = hook["url"].as_str().filter(|_| is_active).map(str::to_owned);
    let callbacks = manifest["callback_urls"].as_array().into_iter().flatten();
    world.app.callbacks = callbacks.filter_map(|url| url.as_str().map(str::to_owned)).collect();
    let id = world.new_id();
    let app = &mut world.app;
    app.key = DecodingKey::from_rsa_pem(keys.public_pem.as_bytes()).map_err(EmulatedApiError::broken)?;
    (app.id, app.slug, app.permissions, app.stage) = (id, slug.clone(), permissions, AppStage::Made);
    app.webhook_secret = SecretString::from(secret.clone());
    let bot = app.bot;
    if let Some(bot) = world.accounts.get_mut(&bot) {
        bot.login = format!("{slug}[bot]");
    }
    let mut made = world.app_json();
    made["name"] = json!(name);
    let client_secret = Uuid::new_v4().simple().to_string();
    made["client_secret"] = json!(client_secret);
    world.app.client_secret = SecretString::from(client_secret);
    made["webhook_secret"] = json!(secret);
    made["pem"] = json!(keys.private_pem.expose_secret());
    Ok(EmulatedApiReply::json(201, made))
}

/// GitHub's slug for a name.
fn slug(name: &str) -> String {
    let letters = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    let dashed: String = letters.collect();
    dashed.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

async fn ask_where(slug: web::Path<String>, shared: web::Data<Arc<SharedEmulatorState>>) -> HttpResponse {
    let world = shared.lock();
    if world.app.stage == AppStage::None || world.app.slug != *slug {
        return problem(404, "no such App");
    }
    let repositories = world.repositories.values().map(|one| one.full_name.clone()).collect();
    show(&InstallAppPage { slug: slug.clone(), repositories })
}

async fn install(
    request: HttpRequest,
    slug: web::Path<String>,
    shared: web::Data<Arc<SharedEmulatorState>>,
) -> HttpResponse {
    if foreign(&request) {
        return refused();
    }
    let is_there = shared.change(|world| {
        let is_there = world.app.stage != AppStage::None && world.app.slug == *slug;
        if is_there {
            world.app.stage = AppStage::Installed;
        }
        is_there
    });
    match is_there {
        true => HttpResponse::SeeOther().insert_header(("Location", "/")).finish(),
        false => problem(404, "no such App"),
    }
}
