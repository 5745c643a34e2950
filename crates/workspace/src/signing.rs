//! Signs our commits with the programs of OpenSSH and GnuPG.
//!
//! May know: the programs' command lines, and what git expects in a commit's header.
//! Must never know: the key's owner, or where it was read from.
//!
//! Programs get the key in an unnamed file in memory, never as an argument or variable. GnuPG's copy exists only during
//! one signature.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use git2::{Oid, Repository, Signature, Time};
use rustix::fs::{MemfdFlags, Mode, fchmod, memfd_create};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::{GitError, GitErrorKind};
use journeyman_order::bounds::LONGEST_TAIL;
use journeyman_order::{CommitSigning, CommitterIdentity, SignatureFormat};

/// Timeout of one program. No program can prompt.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(5);
/// Signed at startup to test the key.
const TRIAL: &[u8] = b"Journeyman tries its key.\n";

/// Signs commits. Prints only the public half of its key.
pub struct CommitSigner {
    format: SignatureFormat,
    key: SecretString,
    committer: CommitterIdentity,
    public: PublicHalf,
}

/// The public facts of a key.
#[derive(Default)]
struct PublicHalf {
    /// Bytes in every signature by the key: an SSH key's public half, or an OpenPGP key's fingerprint.
    mark: Vec<u8>,
    fingerprint: String,
    /// The public key as text for people.
    text: String,
}

impl std::fmt::Debug for CommitSigner {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "CommitSigner({} {})", self.format.word(), self.public.fingerprint)
    }
}

impl CommitSigner {
    /// Creates a signer and tests it with a signature.
    pub fn new(signing: CommitSigning) -> Result<Self, GitError> {
        let CommitSigning { format, key, committer } = signing;
        let mut signer = Self { format, key, committer, public: PublicHalf::default() };
        signer.public = match format {
            SignatureFormat::Ssh => signer.try_ssh()?,
            SignatureFormat::Gpg => signer.try_gpg()?,
        };
        Ok(signer)
    }

    /// The key's fingerprint for people: `ssh SHA256:…` or `gpg 40 digits`.
    pub fn fingerprint(&self) -> String {
        format!("{} {}", self.format.word(), self.public.fingerprint)
    }

    /// The public half of the key, for people to share.
    pub fn public(&self) -> &str {
        &self.public.text
    }

    pub fn committer(&self) -> &CommitterIdentity {
        &self.committer
    }

    /// The committer line of a signed commit.
    pub(super) fn committed(&self, seconds: i64) -> Result<Signature<'static>, GitError> {
        Signature::new(&self.committer.name, &self.committer.email, &Time::new(seconds, 0))
            .map_err(GitError::from)
    }

    /// Keeps a commit with its signature. It reuses an earlier commit of the same name if content and key match,
    /// because some kinds of keys never produce the same signature twice.
    pub(super) fn keep(
        &self,
        commits: &Repository,
        before: impl Iterator<Item = Oid>,
        content: &str,
    ) -> Result<Oid, GitError> {
        for made in before {
            if let Ok((signature, signed)) = commits.extract_signature(&made, None)
                && *signed == *content.as_bytes()
                && self.is_by_us(&signature)
            {
                return Ok(made);
            }
        }
        let signature = self.sign(content.as_bytes())?;
        commits.commit_signed(content, signature.trim_end(), None).map_err(GitError::from)
    }

    fn is_by_us(&self, signature: &[u8]) -> bool {
        let text = String::from_utf8_lossy(signature);
        let lines = text.lines().filter(|line| !line.starts_with(['-', '=']) && !line.contains(':'));
        let decoded = STANDARD.decode(lines.map(str::trim).collect::<String>()).unwrap_or_default();
        decoded.windows(self.public.mark.len()).any(|part| part == self.public.mark)
    }

    fn sign(&self, content: &[u8]) -> Result<String, GitError> {
        let signed = match self.format {
            SignatureFormat::Ssh => self.sign_ssh(content),
            SignatureFormat::Gpg => GpgHome::with(&self.key).and_then(|(home, _)| home.sign(content)),
        };
        let signed = signed.and_then(|done| if done.is_good { Ok(done.out) } else { Err(done.problem()) });
        // It worked at startup, so a retry may work.
        let failed = |said: String| {
            let message = format!("could not sign a commit with the key {}: {said}", self.fingerprint());
            GitError::new(GitErrorKind::Unavailable, message)
        };
        signed.map_err(|said| failed(said.to_string()))
    }

    fn sign_ssh(&self, content: &[u8]) -> std::io::Result<ProgramResult> {
        let place = private_folder()?;
        let path = place.path().join("commit");
        std::fs::write(&path, content)?;
        let arguments = ["-q", "-Y", "sign", "-n", "git", "-f", "/dev/stdin"].map(OsStr::new);
        let mut done = run(
            "ssh-keygen",
            arguments.into_iter().chain([path.as_os_str()]),
            self.key.expose_secret().as_bytes(),
            place.path(),
        )?;
        if done.is_good {
            done.out = std::fs::read_to_string(place.path().join("commit.sig"))?;
        }
        Ok(done)
    }

    fn try_ssh(&self) -> Result<PublicHalf, GitError> {
        let missing = |error| not_there("ssh-keygen", "OpenSSH 8.2", &error);
        let place = private_folder().map_err(missing)?;
        let arguments = ["-y", "-P", "", "-f", "/dev/stdin"].map(OsStr::new);
        let public =
            run("ssh-keygen", arguments.into_iter(), self.key.expose_secret().as_bytes(), place.path())
                .map_err(missing)?;
        if public.err.contains("passphrase") {
            return Err(locked());
        }
        let blob = public.out.split_whitespace().nth(1).and_then(|blob| STANDARD.decode(blob).ok());
        let trial = self.sign_ssh(TRIAL).map_err(missing)?;
        match blob.filter(|blob| public.is_good && trial.is_good && !blob.is_empty()) {
            Some(mark) => {
                let fingerprint = format!("SHA256:{}", STANDARD_NO_PAD.encode(Sha256::digest(&mark)));
                Ok(PublicHalf { mark, fingerprint, text: public.out })
            }
            None => {
                let made = "a private SSH key in OpenSSH's own form, as `ssh-keygen -t ed25519` makes it";
                Err(GitError::broken(format!(
                    "`signing.key_file` has to hold {made}; ssh-keygen cannot sign with it"
                )))
            }
        }
    }

    fn try_gpg(&self) -> Result<PublicHalf, GitError> {
        let missing = |error| not_there("gpg", "GnuPG 2.2", &error);
        let (home, imported) = GpgHome::with(&self.key).map_err(missing)?;
        let trial = home.sign(TRIAL).map_err(missing)?;
        if trial.err.to_lowercase().contains("pinentry") || trial.err.to_lowercase().contains("passphrase") {
            return Err(locked());
        }
        // The key that signed, which may be a subkey.
        let used =
            trial.err.lines().find_map(|line| line.split_once("SIG_CREATED ")?.1.split(' ').next_back());
        match used.and_then(|used| Some((hex::decode(used).ok()?, used.to_owned()))) {
            Some((mark, fingerprint)) if imported.is_good && trial.is_good && !mark.is_empty() => {
                let text = home.gpg(&["--armor", "--export"], b"").map_err(missing)?.out;
                Ok(PublicHalf { mark, fingerprint, text })
            }
            Some(_) | None => {
                let made = "a private OpenPGP key, as `gpg --export-secret-keys --armor` prints it";
                Err(GitError::broken(format!(
                    "`signing.key_file` has to hold {made}; gpg cannot sign with it"
                )))
            }
        }
    }
}

fn locked() -> GitError {
    GitError::broken("`signing.key_file`: the key has a passphrase. Make a key without one.")
}

fn not_there(program: &str, version: &str, error: &std::io::Error) -> GitError {
    GitError::broken(format!(
        "`signing.key_file` needs {program} on this machine ({version} or newer): {error}"
    ))
}

/// GnuPG's files and agent for one signature. Both are removed afterwards.
struct GpgHome(TempDir);

impl GpgHome {
    fn with(key: &SecretString) -> std::io::Result<(Self, ProgramResult)> {
        let home = Self(private_folder()?);
        let imported = home.gpg(&["--import"], key.expose_secret().as_bytes())?;
        Ok((home, imported))
    }

    fn sign(&self, content: &[u8]) -> std::io::Result<ProgramResult> {
        self.gpg(&["--status-fd", "2", "--pinentry-mode", "error", "--detach-sign", "--armor"], content)
    }

    fn gpg(&self, arguments: &[&str], stdin: &[u8]) -> std::io::Result<ProgramResult> {
        let first = ["--batch", "--no-tty", "--no-options"].map(OsStr::new).into_iter();
        run("gpg", first.chain(arguments.iter().map(OsStr::new)), stdin, self.0.path())
    }
}

impl Drop for GpgHome {
    fn drop(&mut self) {
        for arguments in [["--kill", "gpg-agent"].as_slice(), &["--remove-socketdir"]] {
            let _ = run("gpgconf", arguments.iter().map(OsStr::new), b"", self.0.path());
        }
    }
}

/// In memory if possible, because GnuPG accepts keys only as files.
fn private_folder() -> std::io::Result<TempDir> {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let mut folder = tempfile::Builder::new();
    folder.prefix("journeyman-sign-");
    folder.tempdir_in(place).or_else(|_| folder.tempdir())
}

struct ProgramResult {
    is_good: bool,
    out: String,
    err: String,
}

impl ProgramResult {
    /// Its last line, which usually gives the reason. No program prints parts of a key.
    fn problem(&self) -> std::io::Error {
        let last = self.err.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it does not say why");
        std::io::Error::other(last.chars().filter(|c| !c.is_control()).take(300).collect::<String>())
    }
}

/// Runs a program to completion with only `PATH` in its environment. Its output goes to files: GnuPG's agent inherits
/// the handles, so a pipe would stay open.
fn run<'a>(
    program: &str,
    arguments: impl Iterator<Item = &'a OsStr>,
    stdin: &[u8],
    home: &Path,
) -> std::io::Result<ProgramResult> {
    let (mut out, mut err) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command.env("HOME", home).env("GNUPGHOME", home).env("LC_ALL", "C").current_dir("/");
    command.stdin(Stdio::from(unnamed(stdin)?));
    command.stdout(Stdio::from(out.try_clone()?)).stderr(Stdio::from(err.try_clone()?));
    let mut child = command.spawn()?;
    let until = Instant::now() + PATIENCE;
    let ended = loop {
        match child.try_wait()? {
            Some(ended) => break ended,
            None if Instant::now() < until => std::thread::sleep(LOOK),
            None => {
                child.kill()?;
                child.wait()?;
                return Err(std::io::Error::other(format!(
                    "{program} was not done after {} s",
                    PATIENCE.as_secs()
                )));
            }
        }
    };
    Ok(ProgramResult { is_good: ended.success(), out: written(&mut out)?, err: written(&mut err)? })
}

/// A file in memory without a name, which only this user could open.
fn unnamed(bytes: &[u8]) -> std::io::Result<File> {
    let memory = memfd_create("journeyman", MemfdFlags::CLOEXEC)?;
    // ssh-keygen refuses a key that others could read.
    fchmod(&memory, Mode::RUSR | Mode::WUSR)?;
    let mut file = File::from(memory);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

fn written(file: &mut File) -> std::io::Result<String> {
    file.rewind()?;
    let mut bytes = Vec::new();
    file.take(LONGEST_TAIL as u64).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
