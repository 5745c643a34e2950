//! What `serve` needs besides: GitHub and its webhook, a clock that is right, a store, room, a port.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};
use secrecy::ExposeSecret;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{DoctorFinding, DoctorScope, finding};
use crate::app::database::PostgresAddress;
use crate::app::github;
use crate::app::registration::AppCheck;
use crate::config::{DeliveryMode, Settings};
use crate::github::{HookDelivery, HookReport};
use crate::store::DatabaseFiles;

/// With less, the first large repository fills the disk.
const LEAST_FREE_GIB: u64 = 5;
const PATIENCE: Duration = Duration::from_secs(2);
/// What to do about a file or a folder that cannot be written.
const MAY_NOT: &str = "; let the user that runs Journeyman write there, or name another place";
const WEBHOOK: &str = "webhook";
/// GitHub takes no token that says it was made more than a minute later.
const MOST_SECONDS_APART: i64 = 30;
/// One or two may have come while the server was started again.
const FAILS_IN_A_ROW: usize = 3;

pub(super) async fn examine(settings: &Settings, scope: DoctorScope) -> Vec<DoctorFinding> {
    let mut findings = app(settings).await;
    let store = match own_store(settings).filter(|_| scope == DoctorScope::RunningServer) {
        Some(own) => own,
        None => store_of(settings).await,
    };
    findings.extend([store, room(settings), port(settings.server.listen).await]);
    findings
}

async fn app(settings: &Settings) -> Vec<DoctorFinding> {
    let about = "github";
    let github = match github(&settings.github, settings.testing.outgoing.clone()) {
        Ok(github) => github,
        Err(error) => return vec![finding(about, format!("{error:#}"), false)],
    };
    let (app, is_known) = match AppCheck::ask(&github).await {
        AppCheck::Well { slug } => {
            (finding(about, format!("the App {slug}, with the permissions and events it needs"), true), true)
        }
        AppCheck::Lacking(problem) => (finding(about, problem, false), true),
        AppCheck::Unknown(problem) | AppCheck::Unanswered(problem) => (finding(about, problem, false), false),
    };
    let mut findings = vec![app];
    if is_known {
        match github.hook_report().await {
            Ok(report) => findings.extend(webhook(&report, settings, Utc::now())),
            Err(error) => {
                let text = format!("GitHub cannot be asked about the App's webhook: {error}");
                findings.push(finding(WEBHOOK, text, false));
            }
        }
    }
    findings
}

/// Where GitHub sends what happens, whether it came, and how far the clocks are apart.
fn webhook(report: &HookReport, settings: &Settings, now: DateTime<Utc>) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    let wanted = settings
        .server
        .public_url
        .as_ref()
        .map(|url| format!("{}/webhook", url.as_str().trim_end_matches('/')));
    findings.push(match (settings.github.deliveries, &report.url, &wanted) {
        (DeliveryMode::Pull, _, _) => {
            let text = "GitHub is asked for them every few seconds: no public address is needed".to_owned();
            finding(WEBHOOK, text, true)
        }
        (DeliveryMode::Webhook, None, _) => {
            let text = "the App has no webhook: set its address on the App's page on GitHub, or set github.deliveries \
                        to \"pull\"";
            finding(WEBHOOK, text.to_owned(), false)
        }
        (DeliveryMode::Webhook, Some(url), Some(wanted)) if url != wanted => {
            let text = format!(
                "GitHub sends to {url}, and server.public_url says {wanted}: change the one that is wrong"
            );
            finding(WEBHOOK, text, false)
        }
        (DeliveryMode::Webhook, Some(url), _) => finding(WEBHOOK, format!("GitHub sends to {url}"), true),
    });
    if settings.github.deliveries == DeliveryMode::Webhook {
        findings.extend(delivered(&report.newest));
    }
    if let Some(at) = report.answered_at {
        let apart = (now - at).num_seconds().abs();
        let text = match apart {
            0..=MOST_SECONDS_APART => "it agrees with GitHub's".to_owned(),
            _ => format!(
                "it is {apart} seconds from GitHub's: set it, as with NTP; GitHub refuses our tokens else"
            ),
        };
        findings.push(finding("clock", text, apart <= MOST_SECONDS_APART));
    }
    findings
}

/// What became of the newest deliveries. What failed while no server ran is fetched when one starts.
fn delivered(newest: &[HookDelivery]) -> Option<DoctorFinding> {
    let last = newest.first()?;
    let failed = newest.iter().filter(|one| !one.was_taken_in).count();
    let at = last.delivered_at.format("%Y-%m-%d %H:%M UTC");
    let (event, of) = (&last.event, newest.len());
    if last.was_taken_in {
        let text = format!("the newest ({event}, {at}) was taken in; {failed} of the last {of} were not");
        return Some(finding("deliveries", text, true));
    }
    let in_a_row = newest.iter().take_while(|one| !one.was_taken_in).count();
    let text = format!(
        "the newest ({event}, {at}) was not taken in, {in_a_row} in a row: `serve` fetches what failed when it starts; if \
         it runs, GitHub does not reach it"
    );
    Some(finding("deliveries", text, in_a_row < FAILS_IN_A_ROW))
}

/// The file of a running server's SQLite, which that process must not open beside SQLite: to close it again ends the locks that
/// SQLite holds on it, and the next program that comes to the database takes itself for the only one.
fn own_store(settings: &Settings) -> Option<DoctorFinding> {
    settings.store.url.expose_secret().strip_prefix("sqlite:")?;
    let text = "SQLite, in use by this server: GET /ready says whether it can be written, and `journeyman doctor` looks at \
                the file";
    Some(finding("store.url", text.to_owned(), true))
}

/// It is not opened to be written: that would bring its tables up to date, which is for the server to do.
async fn store_of(settings: &Settings) -> DoctorFinding {
    let about = "store.url";
    let url = settings.store.url.expose_secret();
    if !url.starts_with("sqlite:") {
        let Some(at) = PostgresAddress::of(url) else {
            return finding(about, "PostgreSQL; it is asked at the start of `serve`".to_owned(), true);
        };
        return match at.reach().await {
            Ok(()) => {
                let text =
                    format!("{at} takes connections; who may sign in is asked at the start of `serve`");
                finding(about, text, true)
            }
            Err(why) => {
                let text = format!("{at} cannot be reached: {why}; start it, or change store.url");
                finding(about, text, false)
            }
        };
    }
    // Its name is percent-encoded in the address.
    let Some(DatabaseFiles { database: file, .. }) = DatabaseFiles::of(url) else {
        return finding(about, "in memory: everything is forgotten at the end".to_owned(), true);
    };
    let file = file.as_path();
    let is_there = match file.try_exists() {
        Ok(is_there) => is_there,
        // Something else is in its folder's place, which is said below.
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => false,
        Err(error) => {
            let text = format!(
                "{} cannot be looked at: {error}; let the user that runs Journeyman enter its folder",
                file.display()
            );
            return finding(about, text, false);
        }
    };
    if is_there {
        return match std::fs::File::options().append(true).open(file) {
            Ok(_) => match damage(file).or(crate::store::problem_of_sqlite(file).await) {
                None => finding(about, format!("{} can be written", file.display()), true),
                Some(what) => finding(about, format!("{} {what}", file.display()), false),
            },
            Err(error) => finding(about, format!("{}: {error}{MAY_NOT}", file.display()), false),
        };
    }
    // A name alone begins at the current folder.
    match std::path::absolute(file).and_then(|file| writable(file.parent().unwrap_or(&file))) {
        Ok(_) => finding(about, format!("{} will be created", file.display()), true),
        Err(error) => {
            finding(about, format!("{} cannot be created: {error}{MAY_NOT}", file.display()), false)
        }
    }
}

/// What the beginning of a file of SQLite tells of it; not whether every page is sound.
fn damage(file: &Path) -> Option<String> {
    let what = broken_head(file)?;
    Some(format!("{what}: put a backup in its place, or move it away to begin anew"))
}

fn broken_head(file: &Path) -> Option<String> {
    const MAGIC: &[u8] = b"SQLite format 3\0";
    let mut head = [0_u8; 100];
    let mut open = std::fs::File::open(file).ok()?;
    let there = open.metadata().ok()?.len();
    if there == 0 {
        return Some("is empty, and every order in it is gone".to_owned());
    }
    if std::io::Read::read_exact(&mut open, &mut head).is_err() || !head.starts_with(MAGIC) {
        return Some("is no database of SQLite".to_owned());
    }
    let number = |at: usize, bytes: usize| {
        head.get(at..at + bytes).into_iter().flatten().fold(0_u64, |all, byte| (all << 8) | u64::from(*byte))
    };
    // 1 stands for the largest page.
    let page = if number(16, 2) == 1 { 65_536 } else { number(16, 2) };
    let should = page * number(28, 4);
    (there < should).then(|| format!("is damaged: it has {there} bytes, and should have {should}"))
}

/// Where data is kept, and how much room there is.
fn room(settings: &Settings) -> DoctorFinding {
    let (about, dir) = ("data.dir", settings.data.dir.display());
    let folder = match writable(&settings.data.dir) {
        Ok(folder) => folder,
        Err(error) => return finding(about, format!("{dir} cannot be written: {error}{MAY_NOT}"), false),
    };
    let Ok(found) = rustix::fs::statvfs(&folder) else {
        return finding(about, format!("{dir} can be written"), true);
    };
    let free = (found.f_bavail.saturating_mul(found.f_frsize)) >> 30;
    let text = format!("{dir} can be written, {free} GiB are free");
    if free < LEAST_FREE_GIB {
        return finding(about, format!("{text}: make room, or name a folder on a larger disk"), false);
    }
    finding(about, text, true)
}

/// The folder, or the nearest one above it that is there, if something can be written in it.
fn writable(folder: &Path) -> std::io::Result<PathBuf> {
    let folder = std::path::absolute(folder)?;
    let found = folder.ancestors().find(|above| above.exists()).unwrap_or(&folder).to_owned();
    if !found.is_dir() {
        return Err(std::io::Error::other(format!("{} is a file", found.display())));
    }
    tempfile::tempfile_in(&found)?;
    Ok(found)
}

async fn port(listen: SocketAddr) -> DoctorFinding {
    let about = "server.listen";
    match TcpListener::bind(listen) {
        Ok(_) => finding(about, format!("{listen} is free"), true),
        Err(_) if is_journeyman(listen).await => {
            finding(about, format!("a Journeyman answers on {listen}"), true)
        }
        Err(error) => {
            let remedies = [
                (ErrorKind::AddrInUse, "stop the program that has it, or set another port"),
                (
                    ErrorKind::PermissionDenied,
                    "ports below 1024 are root's: set another, and put a proxy in front",
                ),
                (ErrorKind::AddrNotAvailable, "this machine has no such address: set 127.0.0.1 or 0.0.0.0"),
            ];
            let remedy = remedies.iter().find(|(kind, _)| *kind == error.kind());
            let mend = remedy.map_or("set another address", |(_, mend)| mend);
            finding(about, format!("cannot listen on {listen}: {error}; {mend}"), false)
        }
    }
}

/// Whether a server of ours is there already.
async fn is_journeyman(at: SocketAddr) -> bool {
    let asked = async {
        let mut stream = tokio::net::TcpStream::connect(at).await?;
        stream.write_all(b"GET /sign-in HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await?;
        let mut answer = Vec::new();
        stream.take(64 << 10).read_to_end(&mut answer).await?;
        std::io::Result::Ok(String::from_utf8_lossy(&answer).contains("Journeyman"))
    };
    matches!(tokio::time::timeout(PATIENCE, asked).await, Ok(Ok(true)))
}
