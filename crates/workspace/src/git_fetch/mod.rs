//! One fetch, by git itself: a whole history takes about as long as `git clone` takes for it, and libgit2 takes longer.
//!
//! May know: git's command line, its environment, and what it says when it fails.
//! Must never know: whose repository it is. It runs in repositories of ours only, never where an agent could write.
//!
//! Nothing that is set on the machine reaches git, no secret is on its command line, and it takes the objects of one
//! refspec: no tags, no submodules, no hook, nothing tidied up afterwards.

#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::{GitError, GitErrorKind, libgit2, write_whole};
use journeyman_order::TrustedCertificates;

/// The variable that the helper finds the token in.
const TOKEN: &str = "JOURNEYMAN_GIT_TOKEN";

/// Answers git when the server has asked for a password. The shell prints by itself, so that the token is no argument.
const HELPER: &str =
    "!answer() { printf 'username=x-access-token\\npassword=%s\\n' \"$JOURNEYMAN_GIT_TOKEN\"; }; answer";

/// How often a fetch looks up from its work.
const LOOK: Duration = Duration::from_millis(100);

/// What is kept of what git says: its last words say what went wrong.
const MOST_SAID: usize = 8 << 10;
const MOST_TOLD: usize = 500;

/// How long a fetch may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct FetchLimits {
    /// Without a single byte from the server. Whole seconds.
    pub(super) silence: Duration,
    /// For everything: a server can be slow without end.
    pub(super) whole: Duration,
}

impl FetchLimits {
    /// A minute of silence, as libgit2 has it. The largest repositories there are take an hour on a slow line.
    pub(super) const USUAL: Self =
        Self { silence: Duration::from_secs(60), whole: Duration::from_secs(3 * 60 * 60) };
}

/// Whoever waits for what is fetched: once this is dropped, a fetch that is under way is ended.
#[derive(Debug)]
pub struct FetchGuard(pub(super) Arc<AtomicBool>);

impl Drop for FetchGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Why nothing was fetched.
#[derive(Debug)]
pub(super) struct FetchFailure {
    pub(super) kind: GitErrorKind,
    /// What git said, as it said it.
    pub(super) said: String,
}

/// What git is to fetch from where, and how it gets there.
#[derive(Debug)]
pub(super) struct GitFetch<'a> {
    /// The repository that takes it, a bare one of ours.
    pub(super) into: &'a Path,
    pub(super) url: &'a Url,
    /// Shown to the host of the address only, and only when it asks.
    pub(super) token: Option<&'a SecretString>,
    /// With its password.
    pub(super) proxy: Option<SecretString>,
    /// Instead of the system's: one file with all that are trusted.
    pub(super) certificates: Option<&'a Path>,
    pub(super) limits: FetchLimits,
    pub(super) is_given_up: &'a AtomicBool,
}

impl GitFetch<'_> {
    /// Blocks until the reference is where the server has it and everything that it leads to is here. Ended before that,
    /// by whatever it is, nothing leads to what came: the next fetch begins where this one did.
    pub(super) fn run(&self, refspec: &str) -> Result<(), FetchFailure> {
        self.run_command(self.command(&[], refspec))
    }

    /// The same, of what the refspec names without what is behind it.
    pub(super) fn run_shallow(&self, refspec: &str) -> Result<(), FetchFailure> {
        self.run_command(self.command(&["--depth=1"], refspec))
    }

    fn run_command(&self, command: Command) -> Result<(), FetchFailure> {
        run(command, self.limits.whole, self.is_given_up)
    }

    fn command(&self, how: &[&str], refspec: &str) -> Command {
        let mut command = own_git(self.into);
        // A redirect leads to no other scheme.
        command.env("GIT_ALLOW_PROTOCOL", self.url.scheme());
        // These two are secrets. Arguments can be seen by everybody on the machine, variables by its own user.
        if let Some(proxy) = &self.proxy {
            command.env("https_proxy", proxy.expose_secret());
        }
        if let Some(token) = self.token {
            command.env(TOKEN, token.expose_secret());
        }
        for setting in self.settings() {
            command.arg("-c").arg(setting);
        }
        command.args(["fetch", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"]).args(how);
        // Who sees progress hears from the server all the time, also while it counts: a silent one is stuck. And git
        // that goes on speaking when nobody listens ends.
        command.args(["--progress", "--", self.url.as_str(), refspec]);
        command
    }

    fn settings(&self) -> Vec<OsString> {
        let set = |key: &str, value: &OsStr| {
            let mut setting = OsString::from(format!("{key}="));
            setting.push(value);
            setting
        };
        let mut settings: Vec<OsString> = [
            // Always a pack: what is handed to agents are packs.
            "fetch.unpackLimit=1",
            "http.proxyAuthMethod=basic",
            "http.lowSpeedLimit=1",
        ]
        .map(OsString::from)
        .into();
        let silence = self.limits.silence.as_secs().max(1).to_string();
        settings.push(set("http.lowSpeedTime", silence.as_ref()));
        if self.token.is_some() {
            let host = self.url.origin().ascii_serialization();
            settings.push(set(&format!("credential.{host}.helper"), HELPER.as_ref()));
        }
        // The same as libgit2 trusts, whichever library this git was built with.
        let (file, folder) = libgit2::system_certificates();
        let file = self.certificates.map(Path::to_owned).or(file);
        settings.extend(file.map(|file| set("http.sslCAInfo", file.as_ref())));
        settings.extend(folder.map(|folder| set("http.sslCAPath", folder.as_ref())));
        settings
    }
}

/// Has git do something in a repository of ours that reaches no server; [`own_git`] begins the command.
pub(super) fn run_task(command: Command, is_given_up: &AtomicBool) -> Result<(), FetchFailure> {
    run(command, FetchLimits::USUAL.whole, is_given_up)
}

/// git for a bare repository of ours, behind the fences that hold for all of it: no settings of the machine or of a person,
/// no hook, nothing to ask, and what it writes is on the disk before it has a name.
pub(super) fn own_git(repository: &Path) -> Command {
    let mut command = Command::new("git");
    command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    // Neither the system's settings nor a person's; and no `.netrc`, which curl would look for.
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("HOME", "/dev/null");
    command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    for setting in ["core.hooksPath=/dev/null", "core.fsync=all", "gc.auto=0", "maintenance.auto=false"] {
        command.args(["-c", setting]);
    }
    command.arg("--git-dir").arg(repository);
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    // git has children of its own, and they end with it.
    command.process_group(0);
    command
}

fn run(command: Command, limit: Duration, is_given_up: &AtomicBool) -> Result<(), FetchFailure> {
    let failed = |kind, said: String| FetchFailure { kind, said };
    let mut process = GitProcess::start(command).map_err(|error| {
        failed(GitErrorKind::Broken, format!("git cannot be started, is it installed? {error}"))
    })?;
    let last_words = process.last_words();
    let until = Instant::now() + limit;
    let said = loop {
        match last_words.recv_timeout(LOOK) {
            Ok(said) => break said,
            // The listener is gone only if it panicked.
            Err(RecvTimeoutError::Disconnected) => break Vec::new(),
            Err(RecvTimeoutError::Timeout) if is_given_up.load(Ordering::Relaxed) => {
                let said = "nobody waits for it any more".to_owned();
                return Err(failed(GitErrorKind::Unavailable, said));
            }
            Err(RecvTimeoutError::Timeout) if Instant::now() >= until => {
                let said = format!("it was not done after {} seconds", limit.as_secs());
                return Err(failed(GitErrorKind::Unavailable, said));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    };
    let ended =
        process.end().map_err(|error| failed(GitErrorKind::Broken, format!("wait for git: {error}")))?;
    if ended.success() {
        return Ok(());
    }
    let said = complaints(&said);
    let kind = kind(&said);
    Err(failed(kind, if said.is_empty() { format!("git ended with {ended}") } else { said }))
}

/// One file with the certificates that the system trusts and those of the settings behind them: git takes one file only,
/// and instead of its own.
pub(super) fn joined_certificates(trusted: &TrustedCertificates, data: &Path) -> Result<PathBuf, GitError> {
    let (system, _) = libgit2::system_certificates();
    let mut all = match system {
        Some(file) => {
            std::fs::read(&file).map_err(|error| GitError::file("read the certificates in", &file, &error))?
        }
        None => Vec::new(),
    };
    all.push(b'\n');
    all.extend(&trusted.pem);
    let path = data.join("certificates.pem");
    write_whole(&path, &all).map_err(|error| GitError::file("write", &path, &error))?;
    Ok(path)
}

/// git and its children: none of them is left when this is dropped.
struct GitProcess {
    child: Child,
    is_reaped: bool,
}

impl GitProcess {
    fn start(mut command: Command) -> std::io::Result<Self> {
        Ok(Self { child: command.spawn()?, is_reaped: false })
    }

    /// Told once, when git and all its children have ended: they speak through one pipe.
    fn last_words(&mut self) -> mpsc::Receiver<Vec<u8>> {
        let (sender, receiver) = mpsc::channel();
        if let Some(stderr) = self.child.stderr.take() {
            std::thread::spawn(move || sender.send(last_of(stderr)));
        }
        receiver
    }

    fn end(mut self) -> std::io::Result<std::process::ExitStatus> {
        let ended = self.child.wait();
        self.is_reaped = true;
        ended
    }
}

impl Drop for GitProcess {
    fn drop(&mut self) {
        // Until it is reaped, its number is no other process's.
        if !self.is_reaped {
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// Reads to the end, and keeps the end.
fn last_of(mut stderr: ChildStderr) -> Vec<u8> {
    let (mut said, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(length @ 1..) = stderr.read(&mut piece) {
        said.extend_from_slice(&piece[..length]);
        said.drain(..said.len().saturating_sub(MOST_SAID));
    }
    said
}

/// What git itself complains of, without progress and without what the server says through it.
fn complaints(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let lines = text.split(['\n', '\r']);
    let complaints = lines.filter_map(|line| line.strip_prefix("fatal: ").or(line.strip_prefix("error: ")));
    let complaints = complaints.collect::<Vec<_>>().join("; ");
    complaints.chars().filter(|letter| !letter.is_control()).take(MOST_TOLD).collect()
}

/// What a complaint asks for. git has one exit code for everything, but its words, untranslated, are old ones.
fn kind(said: &str) -> GitErrorKind {
    let status = said.split("returned error: ").nth(1).and_then(|rest| rest.get(..3)?.parse().ok());
    if let Some(status) = status {
        return GitErrorKind::of_status(status);
    }
    let says = |words: &[&str]| words.iter().any(|words| said.contains(words));
    if says(&["Authentication failed", "could not read Username", "could not read Password"]) {
        GitErrorKind::Unauthorized
    } else if says(&["couldn't find remote ref"])
        || said.contains("repository '") && said.contains("not found")
    {
        GitErrorKind::NotFound
    } else if says(&[
        "unable to access",
        "RPC failed",
        "early EOF",
        "hung up",
        "disconnect",
        "timed out",
        "No space left",
    ]) {
        GitErrorKind::Unavailable
    } else {
        GitErrorKind::Broken
    }
}
