//! What only `serve` needs: GitHub and its webhook, a correct clock, templates, a store, disk space, a port.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use secrecy::ExposeSecret;

use super::{good, problem, warning};
use crate::app::database::postgres_at;
use crate::app::registration::AppCheck;
use crate::app::{DATA_LOCK, dashboard, github, rules};
use crate::attest::SigningKey;
use crate::config::{DeliveryMode, DoctorFinding, Settings, Templates};
use crate::github::{HookDelivery, HookReport};
use crate::notify::Notifier;
use crate::store::{DatabaseFiles, FileLock, problem_of_postgres, problem_of_sqlite};
use crate::telemetry::SpanExporter;
use crate::workspace::{KEPT_FREE_OF_OBJECTS, free_bytes};

/// With less, the first large repository could fill the disk.
const COMFORTABLY_FREE: u64 = 5 << 30;
/// The fix for a file or folder that is not writable.
const MAY_NOT: &str = "; let the user that runs Journeyman write there, or name another place";
const WEBHOOK: &str = "webhook";
/// GitHub rejects a token dated more than a minute into its future.
const MOST_SECONDS_APART: i64 = 30;
/// A restart of the server can explain one or two failures.
const FAILS_IN_A_ROW: usize = 3;

pub(super) async fn examine(settings: &Settings) -> Vec<DoctorFinding> {
    let mut findings = app(settings).await;
    findings.extend(refused(settings));
    let (port, runs) = port(settings);
    findings.extend([store_of(settings).await, room("data.dir", &settings.data.dir)]);
    findings.extend((!runs).then(|| taken(settings)).flatten());
    findings.push(port);
    findings
}

/// Tries what `serve` derives from the settings alone when it starts.
fn refused(settings: &Settings) -> Vec<DoctorFinding> {
    let about_templates = "templates.dir, defaults.pipeline";
    let known = Templates::load(settings.templates.as_deref()).map_err(anyhow::Error::from);
    let templates = known.and_then(|known| rules(settings, known, "")).map(|rules| rules.pipeline.name);
    let outgoing = &settings.testing.outgoing;
    let notifier = settings.notifications.clone().map(|told| Notifier::new(told, outgoing)).transpose();
    let traces = settings.telemetry.clone().map(|sent| SpanExporter::new(sent, outgoing)).transpose();
    let others = [
        ("notifications", notifier.map(drop).map_err(anyhow::Error::from)),
        ("telemetry", traces.map(drop).map_err(anyhow::Error::from)),
        ("github.client_id", dashboard::door(settings).map(drop)),
        ("data.dir", SigningKey::find(&settings.data.dir).map(drop).map_err(anyhow::Error::from)),
    ];
    let tried = others.into_iter().filter_map(|(about, tried)| Some((about, tried.err()?)));
    let mut findings: Vec<_> = tried.map(|(about, error)| problem(about, format!("{error:#}"))).collect();
    findings.push(match templates {
        Ok(pipeline) => good(about_templates, format!("orders go through the pipeline {pipeline}")),
        Err(error) => problem(about_templates, format!("{error:#}")),
    });
    findings
}

/// Reports another server that uses the same data folder or database.
fn taken(settings: &Settings) -> Option<DoctorFinding> {
    let database = DatabaseFiles::of(settings.store.url.expose_secret()).map(|files| files.lock);
    let locks = [("data.dir", Some(settings.data.dir.join(DATA_LOCK))), ("store.url", database)];
    let held = |(about, lock): (&str, Option<PathBuf>)| {
        let holder = FileLock::holder(&lock?)?;
        Some(problem(
            about,
            format!("another server has it ({holder}), and `serve` does not start beside it"),
        ))
    };
    locks.into_iter().find_map(held)
}

async fn app(settings: &Settings) -> Vec<DoctorFinding> {
    let about = "github";
    let github = match github(&settings.github, settings.testing.outgoing.clone()) {
        Ok(github) => github,
        Err(error) => return vec![problem(about, format!("{error:#}"))],
    };
    let (app, is_known) = match AppCheck::ask(&github).await {
        AppCheck::Well { slug } => {
            (good(about, format!("the App {slug}, with the permissions and events it needs")), true)
        }
        AppCheck::Lacking(why) => (problem(about, why), true),
        AppCheck::Unknown(why) | AppCheck::Unanswered(why) => (problem(about, why), false),
    };
    let mut findings = vec![app];
    if is_known {
        match github.hook_report().await {
            Ok(report) => findings.extend(webhook(&report, settings, Utc::now())),
            Err(error) => {
                let text = format!("GitHub cannot be asked about the App's webhook: {error}");
                findings.push(problem(WEBHOOK, text));
            }
        }
    }
    findings
}

/// Checks the webhook's address, its deliveries, and how far the two clocks are apart.
fn webhook(report: &HookReport, settings: &Settings, now: DateTime<Utc>) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    let wanted = settings
        .server
        .public_url
        .as_ref()
        .map(|url| format!("{}/webhook", url.as_str().trim_end_matches('/')));
    findings.push(match (settings.github.deliveries, &report.url, &wanted) {
        (DeliveryMode::Pull, _, _) => {
            good(WEBHOOK, "GitHub is asked for them every few seconds: no public address is needed")
        }
        (DeliveryMode::Webhook, None, _) => {
            let text = "the App has no webhook: set its address on the App's page on GitHub, or set github.deliveries \
                        to \"pull\"";
            problem(WEBHOOK, text)
        }
        (DeliveryMode::Webhook, Some(url), Some(wanted)) if url != wanted => {
            let text = format!(
                "GitHub sends to {url}, and server.public_url says {wanted}: change the one that is wrong"
            );
            problem(WEBHOOK, text)
        }
        (DeliveryMode::Webhook, Some(url), _) => good(WEBHOOK, format!("GitHub sends to {url}")),
    });
    if settings.github.deliveries == DeliveryMode::Webhook {
        findings.extend(delivered(&report.newest));
    }
    if let Some(at) = report.answered_at {
        let apart = (now - at).num_seconds().abs();
        findings.push(match apart {
            0..=MOST_SECONDS_APART => good("clock", "it agrees with GitHub's"),
            _ => {
                let text = format!(
                    "it is {apart} seconds from GitHub's: set it, as with NTP; GitHub refuses our tokens else"
                );
                problem("clock", text)
            }
        });
    }
    findings
}

/// Checks the newest deliveries. A server that starts fetches those that failed while none ran.
fn delivered(newest: &[HookDelivery]) -> Option<DoctorFinding> {
    let last = newest.first()?;
    let failed = newest.iter().filter(|one| !one.was_taken_in).count();
    let at = last.delivered_at.format("%Y-%m-%d %H:%M UTC");
    let (event, of) = (&last.event, newest.len());
    if last.was_taken_in {
        let text = format!("the newest ({event}, {at}) was taken in; {failed} of the last {of} were not");
        return Some(good("deliveries", text));
    }
    let in_a_row = newest.iter().take_while(|one| !one.was_taken_in).count();
    let text = format!(
        "the newest ({event}, {at}) was not taken in, {in_a_row} in a row: `serve` fetches what failed when it starts; if \
         it runs, GitHub does not reach it"
    );
    let describe = if in_a_row < FAILS_IN_A_ROW { warning } else { problem };
    Some(describe("deliveries", text))
}

/// Opens the store read-only: opening it for writing would migrate its tables, which is the server's job.
async fn store_of(settings: &Settings) -> DoctorFinding {
    let about = "store.url";
    let url = settings.store.url.expose_secret();
    if !url.starts_with("sqlite:") {
        let what = postgres_at(url).unwrap_or_else(|| "PostgreSQL".to_owned());
        return match problem_of_postgres(url).await {
            None => good(about, format!("{what} can be used")),
            Some(why) => problem(about, format!("{what} cannot be used: {why}")),
        };
    }
    // The address has the file's name percent-encoded.
    let Some(DatabaseFiles { database: file, .. }) = DatabaseFiles::of(url) else {
        return warning(about, "in memory: everything is forgotten at the end");
    };
    let file = file.as_path();
    let length = match std::fs::metadata(file) {
        Ok(about) => Some(about.len()),
        // Something else is in the place of its folder, which is reported below.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
        Err(error) => {
            let text = format!(
                "{} cannot be looked at: {error}; let the user that runs Journeyman enter its folder",
                file.display()
            );
            return problem(about, text);
        }
    };
    if let Some(length) = length {
        if let Err(error) = std::fs::File::options().append(true).open(file) {
            return problem(about, format!("{}: {error}{MAY_NOT}", file.display()));
        }
        return match problem_of_sqlite(file).await {
            Some(what) => problem(about, format!("{} {what}", file.display())),
            None if length == 0 => {
                let text = "is empty: `serve` begins without any order. If there were some, put a backup in its place";
                warning(about, format!("{} {text}", file.display()))
            }
            None => good(about, format!("{} can be written", file.display())),
        };
    }
    // A bare file name is relative to the current folder.
    match std::path::absolute(file).and_then(|file| writable(file.parent().unwrap_or(&file))) {
        Ok(_) => good(about, format!("{} will be created", file.display())),
        Err(error) => problem(about, format!("{} cannot be created: {error}{MAY_NOT}", file.display())),
    }
}

/// Where data is kept, and its free space.
fn room(about: &str, folder: &Path) -> DoctorFinding {
    let dir = folder.display();
    let folder = match writable(folder) {
        Ok(folder) => folder,
        Err(error) => return problem(about, format!("{dir} cannot be written: {error}{MAY_NOT}")),
    };
    let Some(free) = free_bytes(&folder) else {
        return good(about, format!("{dir} can be written"));
    };
    let text = format!("{dir} can be written, {} GiB are free", free >> 30);
    let more = "make room, or name a folder on a larger disk";
    match free {
        0..KEPT_FREE_OF_OBJECTS => {
            problem(about, format!("{text}, with which no repository is fetched: {more}"))
        }
        KEPT_FREE_OF_OBJECTS..COMFORTABLY_FREE => warning(about, format!("{text}: {more}")),
        COMFORTABLY_FREE.. => good(about, text),
    }
}

/// The folder, or its nearest existing parent, if it is writable.
fn writable(folder: &Path) -> std::io::Result<PathBuf> {
    let folder = std::path::absolute(folder)?;
    let found = folder.ancestors().find(|above| above.exists()).unwrap_or(&folder).to_owned();
    if !found.is_dir() {
        return Err(std::io::Error::other(format!("{} is a file", found.display())));
    }
    tempfile::tempfile_in(&found)?;
    Ok(found)
}

/// Whether the address is free, or the server of these settings holds it.
fn port(settings: &Settings) -> (DoctorFinding, bool) {
    let (about, listen) = ("server.listen", settings.server.listen);
    let error = match TcpListener::bind(listen) {
        Ok(_) => return (good(about, format!("{listen} is free")), false),
        Err(error) => error,
    };
    if error.kind() == ErrorKind::AddrInUse && FileLock::holder(&settings.data.dir.join(DATA_LOCK)).is_some()
    {
        return (good(about, format!("{listen} is taken, and the server of these settings runs")), true);
    }
    let remedies = [
        (ErrorKind::AddrInUse, "stop the program that has it, or set another port"),
        (ErrorKind::PermissionDenied, "ports below 1024 are root's: set another, and put a proxy in front"),
        (ErrorKind::AddrNotAvailable, "this machine has no such address: set 127.0.0.1 or 0.0.0.0"),
    ];
    let remedy = remedies.iter().find(|(kind, _)| *kind == error.kind());
    let fix = remedy.map_or("set another address", |(_, fix)| fix);
    (problem(about, format!("cannot listen on {listen}: {error}; {fix}")), false)
}
