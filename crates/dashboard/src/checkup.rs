//! Whether the server can do its work, as `journeyman doctor` looks at it: asked for with a button, beside the threads that
//! answer, one look at a time and at most one in a minute.
//!
//! May know: what was found. Must never know: how one looks.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use actix_web::rt::task::spawn_blocking;
use actix_web::web::{Data, Form};
use actix_web::{HttpRequest, HttpResponse};
use chrono::{DateTime, Utc};
use journeyman_config::DoctorFinding;
use serde::Deserialize;
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::DashboardState;
use super::answer::{conflict, to};
use super::memory::locked;
use super::session::may_change_by_token;

/// What was found holds for so long.
const HOLDS: Duration = Duration::from_secs(60);
/// A look that takes longer is given up.
const MOST: Duration = Duration::from_secs(60);
/// Whoever pressed the button waits so long for it.
const PATIENCE: Duration = Duration::from_secs(20);

/// The last look, and whose turn it is to look.
#[derive(Default)]
pub(crate) struct LastCheckup {
    found: Arc<Mutex<Option<CheckupResult>>>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

/// What a look came to.
#[derive(Clone)]
pub(crate) struct CheckupResult {
    pub(crate) at: DateTime<Utc>,
    since: Instant,
    /// None where it took too long.
    pub(crate) findings: Option<Arc<[DoctorFinding]>>,
}

#[derive(Deserialize)]
pub(crate) struct CheckupForm {
    #[serde(default)]
    word: String,
}

impl LastCheckup {
    pub(crate) fn found(&self) -> Option<CheckupResult> {
        locked(&self.found).clone()
    }

    pub(crate) fn is_under_way(&self) -> bool {
        self.turn.try_lock().is_err()
    }
}

/// Looks, and leads back to the page. What was found less than a minute ago is shown again.
pub(crate) async fn look(
    request: HttpRequest,
    form: Form<CheckupForm>,
    state: Data<DashboardState>,
) -> HttpResponse {
    if let Err(refused) = may_change_by_token(&request, &state, &form.word).await {
        return *refused;
    }
    let Some(checkup) = state.checkup.clone() else {
        return conflict("This server was not started from settings that could be looked at.");
    };
    let last = &state.shared.checkup;
    let is_fresh = last.found().is_some_and(|found| found.since.elapsed() < HOLDS);
    if let Ok(turn) = Arc::clone(&last.turn).try_lock_owned()
        && !is_fresh
    {
        let (found, here) = (Arc::clone(&last.found), Handle::current());
        // It goes on where nobody waits for it any more, and is found when the page is loaded again.
        let looked = spawn_blocking(move || {
            let findings = here.block_on(async { timeout(MOST, checkup.look()).await.ok() });
            let findings = findings.map(Arc::from);
            *locked(&found) = Some(CheckupResult { at: Utc::now(), since: Instant::now(), findings });
            drop(turn);
        });
        let _ = timeout(PATIENCE, looked).await;
    }
    to("/settings#checks")
}
