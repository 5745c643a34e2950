//! Git over the network: list, fetch and push. libgit2 speaks git's protocol, and [`smart_http`] carries it.
//!
//! May know: libgit2's remotes, and what its errors mean. Must never know: whose repository it is.
//!
//! It moves the objects of one refspec: no tags, no submodules, no cleanup afterwards. libgit2 runs no hooks and reads
//! only the settings of our own repository.

mod smart_http;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use git2::{
    AutotagOption, ErrorClass, FetchOptions, FetchPrune, Oid, PushOptions, RemoteCallbacks, Repository,
};
use secrecy::SecretString;
use url::Url;

use super::GitErrorKind;
use super::bounds::KEPT_FREE_OF_OBJECTS;
use journeyman_order::OutgoingNetwork;
use journeyman_order::bounds::{LONGEST_MESSAGE, LONGEST_TAIL};
use smart_http::SmartHttp;
pub(super) use smart_http::register;

/// Limits of one conversation.
#[derive(Debug, Clone, Copy)]
pub(super) struct WireLimits {
    /// Time without a single byte to or from the server.
    pub(super) silence: Duration,
    /// Time for everything, because a server can be slow forever.
    pub(super) whole: Duration,
    /// Bytes that must stay free on the disk.
    pub(super) kept_free: u64,
}

impl WireLimits {
    /// A minute of silence; three hours in all, because the largest repositories take an hour on a slow line.
    pub(super) const USUAL: Self = Self {
        silence: Duration::from_secs(60),
        whole: Duration::from_secs(3 * 60 * 60),
        kept_free: KEPT_FREE_OF_OBJECTS,
    };
}

/// Dropping this stops a running fetch.
#[derive(Debug)]
pub struct FetchGuard(pub(super) Arc<AtomicBool>);

impl Drop for FetchGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Why a conversation failed.
#[derive(Debug)]
pub(super) struct WireFailure {
    pub(super) kind: GitErrorKind,
    /// The message of the server or libgit2.
    pub(super) said: String,
}

/// The server's answer to a push that reached it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PushAnswer {
    /// The server accepted the push.
    Taken,
    /// The branch is not at the commit that the lease expects; nothing was sent.
    Stale,
    /// With the server's reason.
    Declined(String),
}

/// What to reach, from which repository, and how.
#[derive(Debug)]
pub(super) struct GitWire<'a> {
    /// Our bare repository that receives the fetch or holds the commit to push.
    pub(super) ours: &'a Path,
    pub(super) url: &'a Url,
    /// Shown only to the host of the address, and only on request.
    pub(super) token: Option<&'a SecretString>,
    pub(super) outgoing: &'a OutgoingNetwork,
    pub(super) limits: WireLimits,
    pub(super) is_given_up: &'a Arc<AtomicBool>,
}

impl GitWire<'_> {
    /// Blocks until the reference matches the server and all its objects are here. If it stops early, no reference
    /// points to what arrived, and the next fetch starts over.
    pub(super) fn run(&self, refspec: &str) -> Result<(), WireFailure> {
        self.fetch(0, refspec)
    }

    /// Like [`Self::run`], with this many commits of history; 0 fetches all.
    pub(super) fn fetch(&self, depth: i32, refspec: &str) -> Result<(), WireFailure> {
        let source = refspec.trim_start_matches('+').split(':').next().unwrap_or_default();
        let is_commit = Oid::from_str(source).is_ok();
        let fetched = SmartHttp::converse(self, |http| {
            let fetch = || {
                let repository = Repository::open_bare(self.ours)?;
                let mut callbacks = RemoteCallbacks::new();
                callbacks.transfer_progress(|_| http.may_go_on());
                let mut options = FetchOptions::new();
                options.depth(depth).download_tags(AutotagOption::None).prune(FetchPrune::Off);
                options.update_fetchhead(false).remote_callbacks(callbacks);
                let mut remote = repository.remote_anonymous(self.url.as_str())?;
                remote.fetch(&[refspec], Some(&mut options), Some(""))
            };
            fetch().map_err(|error| http.failure().unwrap_or_else(|| failure(&error)))?;
            // libgit2 does not report a missing reference.
            if !is_commit && !http.listed()?.iter().any(|(name, _)| name == source) {
                let said = format!("there is no {source}");
                return Err(WireFailure { kind: GitErrorKind::NotFound, said });
            }
            sync_packs(self.ours)
        });
        fetched.map_err(|failure| {
            // The server also says so while a branch moves, which is temporary; hence only for a commit.
            let is_refused = is_commit && failure.said.contains("not our ref");
            WireFailure { kind: if is_refused { GitErrorKind::Refused } else { failure.kind }, ..failure }
        })
    }

    /// The references that a server lists; annotated tags also with their commit.
    pub(super) fn list(&self) -> Result<Vec<(String, Oid)>, WireFailure> {
        SmartHttp::converse(&self.writing_nothing(), SmartHttp::list)
    }

    /// Pushes a commit to a branch if the branch matches the lease: at a commit, or absent. We compare the listing of
    /// the same conversation, and the server compares again.
    pub(super) fn push(
        &self,
        commit: Oid,
        reference: &str,
        lease: Option<Oid>,
    ) -> Result<PushAnswer, WireFailure> {
        SmartHttp::converse(&self.writing_nothing(), |http| {
            let (mut seen, mut declined, mut words) = (None, None, Vec::new());
            let mut push = || {
                let repository = Repository::open_bare(self.ours)?;
                let mut callbacks = RemoteCallbacks::new();
                callbacks.push_negotiation(|updates| {
                    let there = updates.first().map(git2::PushUpdate::src).filter(|there| !there.is_zero());
                    seen = Some(there);
                    let is_wanted = there == lease && there != Some(commit);
                    if is_wanted { Ok(()) } else { Err(git2::Error::from_str("nothing is to be sent")) }
                });
                callbacks.push_update_reference(|_, said| {
                    declined = said.map(plain);
                    Ok(())
                });
                callbacks.sideband_progress(|said| {
                    words.extend_from_slice(said);
                    words.drain(..words.len().saturating_sub(LONGEST_TAIL));
                    true
                });
                let mut options = PushOptions::new();
                options.remote_callbacks(callbacks);
                let mut remote = repository.remote_anonymous(self.url.as_str())?;
                remote.push(&[format!("+{commit}:{reference}")], Some(&mut options))
            };
            let pushed = push();
            if let Some(there) = seen
                && (there != lease || there == Some(commit))
            {
                return Ok(if there == lease { PushAnswer::Taken } else { PushAnswer::Stale });
            }
            let reason = reason(&words);
            let with_reason = |said| if reason.is_empty() { said } else { format!("{said}: {reason}") };
            match (pushed, declined) {
                // Only the text tells a permanent refusal from a problem of the server.
                (_, Some(said)) if said.starts_with("unpacker error") && !reason.contains("fsck error") => {
                    Err(WireFailure { kind: GitErrorKind::Unavailable, said: with_reason(said) })
                }
                (_, Some(said)) => Ok(PushAnswer::Declined(with_reason(said))),
                (Ok(()), None) => Ok(PushAnswer::Taken),
                (Err(error), None) => {
                    let WireFailure { kind, said } = http.failure().unwrap_or_else(|| failure(&error));
                    Err(WireFailure { kind, said: with_reason(said) })
                }
            }
        })
    }

    fn writing_nothing(&self) -> Self {
        Self { limits: WireLimits { kept_free: 0, ..self.limits }, ..*self }
    }
}

/// libgit2 writes packs without syncing them. Syncing a pack again costs almost nothing.
fn sync_packs(repository: &Path) -> Result<(), WireFailure> {
    let sync = || {
        for entry in std::fs::read_dir(repository.join("objects/pack"))? {
            std::fs::File::open(entry?.path())?.sync_all()?;
        }
        Ok(())
    };
    sync().map_err(|error: std::io::Error| WireFailure {
        kind: GitErrorKind::Broken,
        said: format!("what was fetched could not be written: {error}"),
    })
}

/// Classifies libgit2's own errors.
fn failure(error: &git2::Error) -> WireFailure {
    /// Messages of a machine that lacks disk, memory or files.
    const OF_THIS_MACHINE: [&str; 4] =
        ["No space left", "quota exceeded", "Too many open files", "Cannot allocate memory"];
    let said = plain(error.message());
    let is_short = OF_THIS_MACHINE.iter().any(|words| said.contains(words));
    let kind = if is_short || matches!(error.class(), ErrorClass::Net | ErrorClass::NoMemory) {
        GitErrorKind::Unavailable
    } else if said.contains("cannot fetch a specific object") {
        GitErrorKind::Refused
    } else {
        GitErrorKind::Broken
    };
    WireFailure { kind, said }
}

/// A server's side messages, without progress lines.
fn reason(words: &[u8]) -> String {
    let text = String::from_utf8_lossy(words);
    let lines = text.split(['\n', '\r']).map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.contains("% ("));
    let plain: Vec<String> = lines.map(|line| line.replace(char::is_control, "")).collect();
    let all = plain.join("; ");
    let from = all.ceil_char_boundary(all.len().saturating_sub(LONGEST_MESSAGE));
    all.get(from..).unwrap_or_default().to_owned()
}

/// The beginning of a message, on one line.
fn plain(said: &str) -> String {
    let letters = said.trim().chars().map(|letter| if letter.is_whitespace() { ' ' } else { letter });
    letters.filter(|letter| !letter.is_control()).take(LONGEST_MESSAGE).collect()
}
