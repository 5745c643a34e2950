//! What reaches a server, by git itself: what is there, one fetch, one push. A whole history takes about as long as
//! `git clone` takes for it, and libgit2 takes longer, which would need a TLS library of its own besides.
//!
//! May know: git's command line, its environment, and what it says when it fails.
//! Must never know: whose repository it is. It runs in repositories of ours only, never where an agent could write.
//!
//! Nothing that is set on the machine reaches git, no secret is on its command line, and it moves the objects of one
//! refspec: no tags, no submodules, no hook, nothing tidied up afterwards.

#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::bounds::{self, KEPT_FREE_OF_OBJECTS};
use super::{GitError, GitErrorKind, write_whole};
use journeyman_order::TrustedCertificates;

/// The variable that the helper finds the token in.
const TOKEN: &str = "JOURNEYMAN_GIT_TOKEN";

/// Answers git when the server has asked for a password. The shell prints by itself, so that the token is no argument.
const HELPER: &str =
    "!answer() { printf 'username=x-access-token\\npassword=%s\\n' \"$JOURNEYMAN_GIT_TOKEN\"; }; answer";

/// How often whoever waits for git looks up.
const LOOK: Duration = Duration::from_millis(100);

/// What is kept of what git says: its last words say what went wrong.
const MOST_SAID: usize = 8 << 10;
const MOST_TOLD: usize = 500;
/// The end of what a server says beside its answer.
const MOST_REASON: usize = 800;
/// What a server lists, at most: some 500,000 references.
const MOST_LISTED: usize = 64 << 20;

/// How long it may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct WireLimits {
    /// Without a single byte from the server. Whole seconds.
    pub(super) silence: Duration,
    /// For everything: a server can be slow without end.
    pub(super) whole: Duration,
    /// Bytes that stay free on the disk.
    pub(super) kept_free: u64,
}

impl WireLimits {
    /// A minute of silence. The largest repositories there are take an hour on a slow line.
    pub(super) const USUAL: Self = Self {
        silence: Duration::from_secs(60),
        whole: Duration::from_secs(3 * 60 * 60),
        kept_free: KEPT_FREE_OF_OBJECTS,
    };
}

/// Whoever waits for what is fetched: once this is dropped, a fetch that is under way is ended.
#[derive(Debug)]
pub struct FetchGuard(pub(super) Arc<AtomicBool>);

impl Drop for FetchGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Why nothing came of it.
#[derive(Debug)]
pub(super) struct WireFailure {
    pub(super) kind: GitErrorKind,
    /// What git said, as it said it.
    pub(super) said: String,
}

/// What a server did with a push that reached it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PushAnswer {
    /// It took it.
    Taken,
    /// Git itself saw that the branch is not where the lease has it: nothing was sent.
    Stale,
    /// In its words.
    Declined(String),
}

/// What git is to reach, from where, and how it gets there.
#[derive(Debug)]
pub(super) struct GitWire<'a> {
    /// A bare repository of ours: what takes what is fetched, or has what is pushed.
    pub(super) ours: &'a Path,
    pub(super) url: &'a Url,
    /// Shown to the host of the address only, and only when it asks.
    pub(super) token: Option<&'a SecretString>,
    /// With its password.
    pub(super) proxy: Option<SecretString>,
    /// Instead of the system's: one file with all that are trusted.
    pub(super) certificates: Option<&'a Path>,
    pub(super) limits: WireLimits,
    pub(super) is_given_up: &'a AtomicBool,
}

impl GitWire<'_> {
    /// Blocks until the reference is where the server has it and everything that it leads to is here. Ended before that,
    /// by whatever it is, nothing leads to what came: the next fetch begins where this one did.
    pub(super) fn run(&self, refspec: &str) -> Result<(), WireFailure> {
        self.fetch(&[], refspec)
    }

    /// The same, of what the refspec names without what is behind it.
    pub(super) fn run_shallow(&self, refspec: &str) -> Result<(), WireFailure> {
        self.fetch(&["--depth=1"], refspec)
    }

    fn fetch(&self, how: &[&str], refspec: &str) -> Result<(), WireFailure> {
        let source = refspec.trim_start_matches('+').split(':').next().unwrap_or_default();
        self.run_command(self.command(how, refspec)).map_err(|failure| {
            // Of a branch that moved meanwhile it is said as well, and passes.
            let is_refused = git2::Oid::from_str(source).is_ok() && failure.said.contains("not our ref");
            WireFailure { kind: if is_refused { GitErrorKind::Refused } else { failure.kind }, ..failure }
        })
    }

    /// What a server lists: names and what they lead to, tags both as they are and as the commit behind them.
    pub(super) fn list(&self) -> Result<Vec<(String, git2::Oid)>, WireFailure> {
        let mut command = self.begun();
        // One question and one answer.
        command.args(["-c", "protocol.version=0", "ls-remote", "--", self.url.as_str()]);
        let listed = self.run_telling(command).and_then(PrintedText::of_success)?;
        let unreadable = |line: &str| WireFailure {
            kind: GitErrorKind::Broken,
            said: format!("the server lists {:?}", line.chars().take(MOST_TOLD).collect::<String>()),
        };
        let read = |line: &str| {
            let (id, name) = line.split_once('\t').ok_or_else(|| unreadable(line))?;
            let id = git2::Oid::from_str(id).map_err(|_| unreadable(line))?;
            Ok((name.to_owned(), id))
        };
        listed.lines().map(read).collect()
    }

    /// Puts a commit on a branch, if the branch is there as the lease has it: at a commit, or not at all. What the server
    /// lists in the very conversation is compared, and the server compares again itself.
    pub(super) fn push(
        &self,
        commit: &str,
        reference: &str,
        lease: Option<&str>,
    ) -> Result<PushAnswer, WireFailure> {
        let mut command = self.begun();
        command.args(["push", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no"]);
        command.arg(format!("--force-with-lease={reference}:{}", lease.unwrap_or_default()));
        command.args(["--", self.url.as_str(), &format!("{commit}:{reference}")]);
        let ended = self.run_telling(command)?;
        // A line for each reference: how it went, which it is, and in words what became of it.
        let told = ended.printed.lines().find_map(|line| {
            let (sign, rest) = line.split_once('\t')?;
            Some((sign.trim(), rest.split_once('\t')?.1))
        });
        let reason = words(&ended.said);
        let with_reason =
            |said: &str| if reason.is_empty() { said.to_owned() } else { format!("{said}: {reason}") };
        match told {
            Some(("!", said)) if said.contains("(stale info)") => Ok(PushAnswer::Stale),
            // The server declines half of a push, and what failed is here.
            _ if !ended.is_success && own_trouble(&ended.said).is_some() => Err(ended.failure()),
            Some(("!", said)) if !said.contains("(remote failed") => {
                let why = said.split_once('(').map_or(said, |(_, why)| why.trim_end_matches(')'));
                Ok(PushAnswer::Declined(with_reason(&why.chars().take(MOST_TOLD).collect::<String>())))
            }
            _ if ended.is_success => Ok(PushAnswer::Taken),
            // The same objects are never taken, and git tells it as trouble of the network.
            _ if reason.contains("fsck error") => Ok(PushAnswer::Declined(with_reason("unpack failed"))),
            _ => {
                let failure = ended.failure();
                Err(WireFailure { said: with_reason(&failure.said), ..failure })
            }
        }
    }

    fn run_command(&self, command: Command) -> Result<(), WireFailure> {
        let kept = self.limits.kept_free;
        let is_full = || bounds::room(self.ours).is_some_and(|free| free < kept);
        let full = || WireFailure {
            kind: GitErrorKind::Unavailable,
            said: format!("less than {} MiB would be free on the disk", kept >> 20),
        };
        if is_full() {
            return Err(full());
        }
        let fetched = run(command, self.limits.whole, &|| match () {
            () if is_full() => Some(full()),
            () => given_up(self.is_given_up),
        });
        fetched.and_then(PrintedText::of_success).map(drop)
    }

    fn run_telling(&self, command: Command) -> Result<PrintedText, WireFailure> {
        run(command, self.limits.whole, &|| given_up(self.is_given_up))
    }

    fn command(&self, how: &[&str], refspec: &str) -> Command {
        let mut command = self.begun();
        command.args(["fetch", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"]).args(how);
        // Who sees progress hears from the server all the time, also while it counts: a silent one is stuck. And git
        // that goes on speaking when nobody listens ends.
        command.args(["--progress", "--", self.url.as_str(), refspec]);
        command
    }

    /// git in our repository, with its way to the server.
    fn begun(&self) -> Command {
        let mut command = own_git(self.ours);
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
        // What is said to this process is not in git's environment.
        let [file, folder] = ["SSL_CERT_FILE", "SSL_CERT_DIR"].map(said_place);
        let file = self.certificates.map(Path::to_owned).or(file);
        settings.extend(file.map(|file| set("http.sslCAInfo", file.as_ref())));
        settings.extend(folder.map(|folder| set("http.sslCAPath", folder.as_ref())));
        settings
    }
}

/// Has git do something in a repository of ours that reaches no server; [`own_git`] begins the command.
pub(super) fn run_task(command: Command, is_given_up: &AtomicBool) -> Result<(), WireFailure> {
    run(command, WireLimits::USUAL.whole, &|| given_up(is_given_up))
        .and_then(PrintedText::of_success)
        .map(drop)
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
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // git has children of its own, and they end with it.
    command.process_group(0);
    command
}

/// What git printed, and how it ended.
struct PrintedText {
    /// Its answer, the end of it.
    printed: String,
    /// What it said of how it went, the end of it.
    said: Vec<u8>,
    is_success: bool,
    is_killed: bool,
    ended: String,
}

impl PrintedText {
    /// Its answer, where it ended well.
    fn of_success(self) -> Result<String, WireFailure> {
        if self.is_success { Ok(self.printed) } else { Err(self.failure()) }
    }

    fn failure(&self) -> WireFailure {
        let said = complaints(&self.said);
        // Whoever ends it, for want of memory above all, says nothing of what was asked.
        let kind = match self.is_killed {
            true => GitErrorKind::Unavailable,
            false => own_trouble(&self.said).unwrap_or_else(|| kind(&said)),
        };
        let nothing = || format!("git ended with {}", self.ended);
        WireFailure { kind, said: if said.is_empty() { nothing() } else { said } }
    }
}

/// Why nobody waits any more, where that is so.
fn given_up(is_given_up: &AtomicBool) -> Option<WireFailure> {
    is_given_up.load(Ordering::Relaxed).then(|| WireFailure {
        kind: GitErrorKind::Unavailable,
        said: "nobody waits for it any more".to_owned(),
    })
}

/// `is_over` is asked now and then for a reason to end it.
fn run(
    command: Command,
    limit: Duration,
    is_over: &dyn Fn() -> Option<WireFailure>,
) -> Result<PrintedText, WireFailure> {
    let failed = |kind, said: String| WireFailure { kind, said };
    let mut process = GitProcess::start(command).map_err(|error| {
        if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) {
            return failed(GitErrorKind::Broken, format!("git cannot be started, is it installed? {error}"));
        }
        // No processes, no files, no memory: that passes.
        failed(GitErrorKind::Unavailable, format!("git cannot be started now: {error}"))
    })?;
    let [answer, last_words] = process.outputs();
    let until = Instant::now() + limit;
    let said = loop {
        match last_words.recv_timeout(LOOK) {
            Ok(said) => break said,
            // The listener is gone only if it panicked.
            Err(RecvTimeoutError::Disconnected) => break Vec::new(),
            Err(RecvTimeoutError::Timeout) if Instant::now() >= until => {
                let said = format!("it was not done after {} seconds", limit.as_secs());
                return Err(failed(GitErrorKind::Unavailable, said));
            }
            Err(RecvTimeoutError::Timeout) => is_over().map_or(Ok(()), Err)?,
        }
    };
    let ended =
        process.end().map_err(|error| failed(GitErrorKind::Broken, format!("wait for git: {error}")))?;
    let answer = answer.recv().unwrap_or_default();
    if answer.len() >= MOST_LISTED {
        return Err(failed(GitErrorKind::Refused, "it lists more than can be read".to_owned()));
    }
    let printed = String::from_utf8_lossy(&answer).into_owned();
    let is_killed = ended.code().is_none();
    Ok(PrintedText { printed, said, is_success: ended.success(), is_killed, ended: ended.to_string() })
}

/// What a server said beside its answer, without progress.
fn words(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let lines = text.split(['\n', '\r']).filter_map(|line| line.strip_prefix("remote:"));
    let lines = lines.map(str::trim).filter(|line| !line.is_empty() && !line.contains("% ("));
    let plain: Vec<String> = lines.map(|line| line.replace(char::is_control, "")).collect();
    let all = plain.join("; ");
    let from = all.ceil_char_boundary(all.len().saturating_sub(MOST_REASON));
    all.get(from..).unwrap_or_default().to_owned()
}

/// Where systems keep the authorities that they trust, all in one file.
const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The file with the certificates that the system trusts; none where it is in no usual place.
pub fn system_certificates() -> Option<&'static Path> {
    BUNDLES.iter().map(Path::new).find(|file| file.is_file())
}

/// A place that a variable names, where there is something.
fn said_place(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.exists())
}

/// One file with the certificates that the system trusts and those of the settings behind them: git takes one file only,
/// and instead of its own.
pub(super) fn joined_certificates(trusted: &TrustedCertificates, data: &Path) -> Result<PathBuf, GitError> {
    let said = said_place("SSL_CERT_FILE");
    let mut all = match said.as_deref().or(system_certificates()) {
        Some(file) => {
            std::fs::read(file).map_err(|error| GitError::file("read the certificates in", file, &error))?
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

    /// Its answer, and what it says of how it goes: each told once, when git and all its children have ended, for they speak
    /// through one pipe.
    fn outputs(&mut self) -> [mpsc::Receiver<Vec<u8>>; 2] {
        fn told(pipe: Option<impl Read + Send + 'static>, most: usize) -> mpsc::Receiver<Vec<u8>> {
            let (sender, receiver) = mpsc::channel();
            if let Some(pipe) = pipe {
                std::thread::spawn(move || sender.send(last_of(pipe, most)));
            }
            receiver
        }
        [told(self.child.stdout.take(), MOST_LISTED), told(self.child.stderr.take(), MOST_SAID)]
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
fn last_of(mut pipe: impl Read, most: usize) -> Vec<u8> {
    let (mut said, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(length @ 1..) = pipe.read(&mut piece) {
        said.extend_from_slice(&piece[..length]);
        if said.len() > most * 2 {
            said.drain(..said.len() - most);
        }
    }
    said.drain(..said.len().saturating_sub(most));
    said
}

/// What git itself complains of, line by line, without progress and without most of what the server says through it.
fn complaint_lines(said: &str) -> impl Iterator<Item = &str> {
    let lines = said.split(['\n', '\r']);
    lines.filter_map(|line| line.strip_prefix("fatal: ").or(line.strip_prefix("error: ")))
}

fn complaints(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let complaints = complaint_lines(&text).collect::<Vec<_>>().join("; ");
    complaints.chars().filter(|letter| !letter.is_control()).take(MOST_TOLD).collect()
}

/// What is wrong here, and not with the server: this machine has no room for now, or an object cannot be read.
fn own_trouble(said: &[u8]) -> Option<GitErrorKind> {
    const DAMAGED: [&str; 7] = [
        "corrupt",
        "unable to read",
        "Could not read",
        "cannot be read",
        "unable to find",
        "bad ",
        "is empty",
    ];
    let is_name = |word: &str| word.len() == 40;
    let text = String::from_utf8_lossy(said);
    // What a server answers in place of data can have several lines, and is the last that git says.
    let lines = || complaint_lines(&text).take_while(|line| !line.starts_with("remote error: "));
    let own = || lines().filter(|line| !line.starts_with("remote "));
    if own().any(|line| OF_THIS_MACHINE.iter().any(|words| line.contains(words))) {
        return Some(GitErrorKind::Unavailable);
    }
    let is_of_an_object = |line: &str| {
        line.split(|letter: char| !letter.is_ascii_hexdigit()).any(is_name)
            && DAMAGED.iter().any(|words| line.contains(words))
    };
    own().any(is_of_an_object).then_some(GitErrorKind::Broken)
}

/// What git says where a machine has not enough of something.
const OF_THIS_MACHINE: [&str; 10] = [
    "cannot fork",
    "unable to fork",
    "Too many open files",
    "Resource temporarily unavailable",
    "died of signal 9",
    "Cannot allocate memory",
    "Out of memory",
    "out of memory",
    "No space left",
    "quota exceeded",
];

/// What a complaint asks for. git has one exit code for everything, but its words, untranslated, are old ones.
fn kind(said: &str) -> GitErrorKind {
    let status = said.split("returned error: ").nth(1).and_then(|rest| rest.get(..3)?.parse().ok());
    if let Some(status) = status {
        return GitErrorKind::of_status(status);
    }
    let says = |words: &[&str]| words.iter().any(|words| said.contains(words));
    if says(&["Authentication failed", "could not read Username", "could not read Password"]) {
        GitErrorKind::Unauthorized
    } else if says(&["maximum allowed tree depth"]) {
        GitErrorKind::NotForUs
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
        // A server that is not itself for a while, or a page of something before it.
        "remote error: ",
        "protocol error",
        "invalid server response",
        "is this a git repository",
        "expected flush",
        "redirection",
    ]) || says(&OF_THIS_MACHINE)
        // Without another word about what came: it was ended, for want of memory above all.
        || said == "fetch-pack: invalid index-pack output"
    {
        GitErrorKind::Unavailable
    } else {
        GitErrorKind::Broken
    }
}
