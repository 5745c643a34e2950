//! Signing a person in with the App: a confirmation page, a code, the person's token, and what it may read.
//!
//! May know: GitHub's OAuth flow for Apps, with PKCE. Must never know: who is signed in to.

use std::collections::HashMap;
use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, web};
use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::Duration;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;
use uuid::Uuid;

use crate::auth::Credentials;
use crate::clock;
use crate::json::with;
use crate::pages::forms::{foreign, refused};
use crate::pages::{problem, show_with};
use crate::reply::{ActResult, EmulatedApiError, EmulatedApiReply};
use crate::request::EmulatedApiRequest;
use crate::state::{
    AppStage, EmulatedAccountKind, EmulatedRepository, EmulatedToken, EmulatorState, PendingSignIn,
    RepositoryRole, SharedEmulatorState, TokenHolder,
};

/// Lifetime of a code, in minutes.
const CODE_HOLDS: i64 = 10;
/// Lifetime of a person's token, in hours.
const TOKEN_HOLDS: i64 = 8;

type Fields = HashMap<String, String>;

pub(crate) fn routes(config: &mut web::ServiceConfig) {
    config
        .route("/login/oauth/authorize", web::get().to(ask))
        .route("/login/oauth/authorize", web::post().to(answer))
        .route("/login/oauth/access_token", web::post().to(exchange));
}

#[derive(Template)]
#[template(path = "emulator/sign_in.html")]
struct SignInPage {
    slug: String,
    people: Vec<String>,
    asked: Vec<(&'static str, String)>,
}

/// The fields of the App's link. Errors in it are shown here and never sent to its target.
const ASKED: [&str; 5] = ["client_id", "redirect_uri", "state", "code_challenge", "code_challenge_method"];

fn field(fields: &Fields, name: &str) -> String {
    fields.get(name).cloned().unwrap_or_default()
}

/// The address to send the person back to.
fn back(world: &EmulatorState, fields: &Fields) -> Result<Url, &'static str> {
    if world.app.stage == AppStage::None || field(fields, "client_id") != world.client_id() {
        return Err("there is no App with this client_id");
    }
    let wanted = field(fields, "redirect_uri");
    if !world.app.callbacks.contains(&wanted) {
        return Err("The redirect_uri is not associated with this application.");
    }
    if field(fields, "code_challenge_method") != "S256" && !field(fields, "code_challenge").is_empty() {
        return Err("code_challenge_method: S256");
    }
    wanted.parse().map_err(|_| "redirect_uri: is no address")
}

async fn ask(fields: web::Query<Fields>, shared: web::Data<Arc<SharedEmulatorState>>) -> HttpResponse {
    let world = shared.lock();
    if let Err(wrong) = back(&world, &fields) {
        return problem(404, wrong);
    }
    let people = world.accounts.values().filter(|account| account.kind == EmulatedAccountKind::Person);
    let page = SignInPage {
        slug: world.app.slug.clone(),
        people: people.map(|account| account.login.clone()).collect(),
        asked: ASKED.map(|name| (name, field(&fields, name))).to_vec(),
    };
    // Its form leads to another site: the one that asked.
    show_with(&page, "default-src 'none'; style-src 'unsafe-inline'")
}

async fn answer(
    request: HttpRequest,
    fields: web::Form<Fields>,
    shared: web::Data<Arc<SharedEmulatorState>>,
) -> HttpResponse {
    if foreign(&request) {
        return refused();
    }
    let answered = shared.change(|world| {
        let mut back = back(world, &fields)?;
        let account = world.account_by_login(&field(&fields, "login")).map(|account| account.id);
        match account {
            Some(account) => {
                let code = Uuid::new_v4().simple().to_string();
                let pending = PendingSignIn {
                    account,
                    back: back.to_string(),
                    challenge: field(&fields, "code_challenge"),
                    until: clock::now() + Duration::minutes(CODE_HOLDS),
                };
                world.sign_ins.insert(code.clone(), pending);
                back.query_pairs_mut().append_pair("code", &code);
            }
            None => {
                back.query_pairs_mut()
                    .append_pair("error", "access_denied")
                    .append_pair("error_description", "The user has denied your application access.");
            }
        }
        back.query_pairs_mut().append_pair("state", &field(&fields, "state"));
        Ok::<Url, &'static str>(back)
    });
    match answered {
        Ok(back) => HttpResponse::Found().insert_header(("Location", back.as_str())).finish(),
        Err(wrong) => problem(404, wrong),
    }
}

/// An App that presents a code uses it up, even if it gets no token.
async fn exchange(fields: web::Form<Fields>, shared: web::Data<Arc<SharedEmulatorState>>) -> HttpResponse {
    let told = shared.change(|world| {
        let code = field(&fields, "code");
        let is_app = field(&fields, "client_id") == world.client_id()
            && field(&fields, "client_secret") == world.app.client_secret.expose_secret();
        if !is_app {
            let wrong = "The client_id and/or client_secret passed are incorrect.";
            return json!({"error": "incorrect_client_credentials", "error_description": wrong});
        }
        let shown = URL_SAFE_NO_PAD.encode(Sha256::digest(field(&fields, "code_verifier")));
        let known = world.sign_ins.remove(&code).filter(|pending| {
            pending.until > clock::now() && (pending.challenge.is_empty() || pending.challenge == shown)
        });
        let Some(known) = known else {
            let wrong = "The code passed is incorrect or expired.";
            return json!({"error": "bad_verification_code", "error_description": wrong});
        };
        if known.back != field(&fields, "redirect_uri") {
            let wrong = "The redirect_uri MUST match the registered callback URL for this application.";
            return json!({"error": "redirect_uri_mismatch", "error_description": wrong});
        }
        let text = format!("ghu_{}", Uuid::new_v4().simple());
        let holder = TokenHolder::Person(known.account);
        let expires_at = clock::now() + Duration::hours(TOKEN_HOLDS);
        world.tokens.insert(text.clone(), EmulatedToken { holder, expires_at });
        json!({"access_token": text, "token_type": "bearer", "expires_in": TOKEN_HOLDS * 3_600})
    });
    HttpResponse::Ok().json(told)
}

/// `/user` and everything below it.
pub(crate) fn serve(world: &EmulatorState, request: &EmulatedApiRequest, segments: &[&str]) -> ActResult {
    let person = match &request.credentials {
        Credentials::Token { holder: TokenHolder::Person(person), .. } => *person,
        Credentials::Nobody => return Err(EmulatedApiError::new(401, "Requires authentication")),
        Credentials::App | Credentials::Token { holder: TokenHolder::Installation { .. }, .. } => {
            return Err(EmulatedApiError::new(403, "Resource not accessible by integration"));
        }
    };
    // Public repositories are listed only for people with a role in them.
    let may = |one: &&EmulatedRepository| {
        one.owner == person || one.roles.get(&person).is_some_and(|role| *role >= RepositoryRole::Read)
    };
    let is_installed = world.app.stage == AppStage::Installed && !world.app.suspended;
    let mine: Vec<&EmulatedRepository> =
        world.repositories.values().filter(may).filter(|_| is_installed).collect();
    match (request.method.as_str(), segments) {
        ("GET", ["user"]) => Ok(EmulatedApiReply::ok(world.user_json(person))),
        ("GET", ["user", "installations"]) => {
            let owners = world.owners(mine.iter().copied());
            let list = owners.iter().map(|owner| world.installation_json(*owner)).collect();
            Ok(request.counted(world, "installations", list))
        }
        ("GET", ["user", "installations", id, "repositories"]) => {
            let included = mine.iter().filter(|one| world.installation_of(one.owner).to_string() == *id);
            let list: Vec<Value> = included
                .map(|one| {
                    let role = one.role(person);
                    let (push, pull) = (role >= RepositoryRole::Write, role >= RepositoryRole::Read);
                    let permissions = json!({"push": push, "pull": pull});
                    with(world.repository_json(one), json!({"permissions": permissions}))
                })
                .collect();
            if list.is_empty() {
                return Err(EmulatedApiError::not_found());
            }
            Ok(request.counted(world, "repositories", list))
        }
        _ => Err(EmulatedApiError::not_found()),
    }
}

impl EmulatorState {
    pub(crate) fn client_id(&self) -> String {
        format!("Iv1.{:016x}", self.app.id)
    }
}
