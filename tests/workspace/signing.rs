//! Signed commits: git itself verifies them, and repeating gives the same commit.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use chrono::DateTime;
use journeyman::order::conversation::BranchUpdateMethod;
use journeyman::order::{CommitSha, CommitSigning, CommitterIdentity, SignatureFormat, TreeSha};
use journeyman::workspace::{CommitSigner, NewCommit, Workspaces};
use secrecy::SecretString;
use tempfile::TempDir;

use super::{House, git};

pub const COMMITTER: &str = "Sums <sums@example.org>";

/// A person's key, and what is needed to verify its signatures.
pub struct Keyring {
    folder: TempDir,
    format: SignatureFormat,
    /// The private key, as in its file.
    pub private: String,
}

impl Keyring {
    /// `ed25519`, `ecdsa` or `rsa`.
    pub fn ssh(kind: &str, passphrase: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("key");
        let arguments = ["-q", "-t", kind, "-N", passphrase, "-C", "sums", "-f", key.to_str().unwrap()];
        assert!(Command::new("ssh-keygen").args(arguments).status().unwrap().success());
        let public = fs::read_to_string(folder.path().join("key.pub")).unwrap();
        fs::write(folder.path().join("allowed"), format!("sums@example.org {public}")).unwrap();
        let private = fs::read_to_string(key).unwrap();
        Self { folder, format: SignatureFormat::Ssh, private }
    }

    pub fn gpg(passphrase: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("gpg").tempdir_in("/tmp").unwrap();
        let gpg = |arguments: &[&str]| {
            let mut command = Command::new("gpg");
            command.args(["--batch", "--no-tty", "--pinentry-mode", "loopback", "--passphrase", passphrase]);
            let done = command.args(arguments).env("GNUPGHOME", folder.path()).output().unwrap();
            assert!(done.status.success(), "{done:?}");
            String::from_utf8(done.stdout).unwrap()
        };
        gpg(&["--quick-gen-key", COMMITTER, "ed25519", "sign", "never"]);
        let private = gpg(&["--armor", "--export-secret-keys"]);
        Self { folder, format: SignatureFormat::Gpg, private }
    }

    pub fn signing(&self) -> CommitSigning {
        let committer = CommitterIdentity::parse(COMMITTER).unwrap();
        let key = SecretString::from(self.private.as_str());
        CommitSigning { format: self.format, key, committer }
    }

    fn signer(&self) -> CommitSigner {
        CommitSigner::new(self.signing()).unwrap()
    }

    /// Git's output about a commit's signature; successful only if the signature is good.
    pub fn verify(&self, repository: &Path, commit: &str) -> Output {
        let allowed = format!("gpg.ssh.allowedSignersFile={}", self.folder.path().join("allowed").display());
        let mut command = Command::new("git");
        command.args(["-c", &allowed, "verify-commit", "-v", commit]).current_dir(repository);
        command.env("GNUPGHOME", self.folder.path()).output().unwrap()
    }

    #[track_caller]
    pub fn assert_good(&self, repository: &Path, commit: &str) {
        let said = self.verify(repository, commit);
        assert!(said.status.success(), "{commit}: {}", String::from_utf8_lossy(&said.stderr));
    }
}

impl Drop for Keyring {
    fn drop(&mut self) {
        if self.format == SignatureFormat::Gpg {
            let mut command = Command::new("gpgconf");
            let _ = command.args(["--kill", "all"]).env("GNUPGHOME", self.folder.path()).status();
        }
    }
}

impl House {
    fn sign_with(&mut self, keys: &Keyring) {
        self.workspaces = self.workspaces.clone().signed_by(Some(keys.signer()));
    }

    fn make(&self, workspaces: &Workspaces, message: &str) -> CommitSha {
        let tree: TreeSha =
            git(&self.server.path("octo/sums"), &["rev-parse", "main^{tree}"]).parse().unwrap();
        let date = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
        let (name, parent) = ("implement-1", &self.base);
        let new = NewCommit { order: self.order, name, tree: &tree, parent, merges: None, message, date };
        workspaces.commit(&self.repository, new).unwrap()
    }

    fn ours(&self) -> std::path::PathBuf {
        self.data.path().join("commits/octo/sums.git")
    }
}

#[tokio::test]
async fn git_verifies_a_commit_of_every_kind_of_key_and_the_same_again_is_the_same_commit() {
    for keys in
        [Keyring::ssh("ed25519", ""), Keyring::ssh("ecdsa", ""), Keyring::ssh("rsa", ""), Keyring::gpg("")]
    {
        let mut house = House::new().await;
        let unsigned = house.make(&house.workspaces, "Fix it");
        house.sign_with(&keys);
        let commit = house.make(&house.workspaces, "Fix it");

        keys.assert_good(&house.ours(), commit.as_str());
        assert_ne!(commit, unsigned, "one that was made before there was a key is not taken for it");
        assert!(!keys.verify(&house.ours(), unsigned.as_str()).status.success());
        let who = git(&house.ours(), &["log", "-1", "--format=%an|%cn|%ce|%s", commit.as_str()]);
        assert_eq!(who, "journeyman[bot]|Sums|sums@example.org|Fix it");
        let header = git(&house.ours(), &["cat-file", "commit", commit.as_str()]);
        assert_eq!(header.matches("\ngpgsig ").count(), 1, "{header}");

        // The server died before it recorded the commit. ECDSA and OpenPGP signatures differ each time.
        let again = Workspaces::new(house.data.path()).unwrap().signed_by(Some(keys.signer()));
        assert_eq!(house.make(&again, "Fix it"), commit);
        assert_ne!(house.make(&again, "Fix it well"), commit);
        // A commit with the previous key is not reused for the new key.
        let other = Keyring::ssh("ed25519", "");
        let after = Workspaces::new(house.data.path()).unwrap().signed_by(Some(other.signer()));
        other.assert_good(&house.ours(), house.make(&after, "Fix it").as_str());
    }
}

#[tokio::test]
async fn a_merge_of_the_base_and_a_rebase_are_signed_too() {
    let keys = Keyring::ssh("ed25519", "");
    let mut house = House::with_lines("").await;
    house.sign_with(&keys);
    let head = house.published("echo ours > ours.txt").await;
    house.person("main", "echo theirs > theirs.txt");
    for how in [BranchUpdateMethod::Merge, BranchUpdateMethod::Rebase] {
        let (_, commit, _, _) = house.clean(&head, how);
        keys.assert_good(&house.ours(), commit.as_str());
        assert_eq!(house.clean(&head, how).1, commit, "again");
    }
    // GitHub has the signed commit.
    keys.assert_good(&house.server.path("octo/sums"), head.as_str());
    let shown = house.server.path("octo/sums");
    let allowed = format!("gpg.ssh.allowedSignersFile={}", keys.folder.path().join("allowed").display());
    let log = git(&shown, &["-c", &allowed, "log", "-1", "--format=%G? %GS", head.as_str()]);
    assert_eq!(log, "G sums@example.org");
}

#[test]
fn a_key_that_cannot_sign_is_refused_and_nothing_of_it_is_told() {
    let mut pem = Keyring::ssh("ed25519", "");
    pem.private = "hunter2-secret\n".to_owned();
    let mut public = Keyring::ssh("ed25519", "");
    public.private = fs::read_to_string(public.folder.path().join("key.pub")).unwrap();
    let mut no_openpgp = Keyring::gpg("");
    no_openpgp.private = "hunter2-secret\n".to_owned();
    let locked = "`signing.key_file`: the key has a passphrase. Make a key without one.";
    let no_ssh = "`signing.key_file` has to hold a private SSH key in OpenSSH's own form, as `ssh-keygen -t ed25519` \
                  makes it; ssh-keygen cannot sign with it";
    let no_gpg = "`signing.key_file` has to hold a private OpenPGP key, as `gpg --export-secret-keys --armor` prints it; \
                  gpg cannot sign with it";
    for (keys, expected) in [
        (Keyring::ssh("ed25519", "hunter2-secret"), locked),
        (Keyring::gpg("hunter2-secret"), locked),
        (pem, no_ssh),
        (public, no_ssh),
        (no_openpgp, no_gpg),
    ] {
        let error = CommitSigner::new(keys.signing()).unwrap_err().to_string();
        assert_eq!(error, expected);
    }
    let debugged = format!("{:?}", Keyring::ssh("ed25519", "").signer());
    assert!(debugged.starts_with("CommitSigner(ssh SHA256:") && !debugged.contains("PRIVATE"), "{debugged}");
}

/// Wrappers around the real programs record what any user of the machine can see.
#[test]
fn the_key_is_in_no_argument_and_no_variable_and_leaves_no_file() {
    let place = tempfile::tempdir().unwrap();
    let seen = place.path().join("seen");
    let path = std::env::var("PATH").unwrap();
    for program in ["ssh-keygen", "gpg", "gpgconf"] {
        let script = format!(
            "#!/bin/sh\n{{ tr '\\0' '\\n' < /proc/$$/cmdline; env; }} >> {}\nPATH={path} exec {program} \"$@\"\n",
            seen.display()
        );
        fs::write(place.path().join(program), script).unwrap();
        assert!(Command::new("chmod").arg("+x").arg(place.path().join(program)).status().unwrap().success());
    }
    let all = [Keyring::ssh("ed25519", ""), Keyring::gpg("")];
    // Each test has its own process, but the path is still passed to a child instead of set here.
    for keys in &all {
        let settings = place.path().join("journeyman.toml");
        let word = keys.signing().format.word();
        let key = place.path().join("key");
        fs::write(&key, &keys.private).unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        let toml = format!(
            "[signing]\nkey_file = {key:?}\ncommitter = \"{COMMITTER}\"\n[sandbox]\nmode = \"none\"\n"
        );
        fs::write(&settings, toml).unwrap();
        let mut doctor = Command::new(env!("CARGO_BIN_EXE_journeyman"));
        doctor.args(["doctor", "--config"]).arg(&settings);
        let done = doctor.env("PATH", format!("{}:{path}", place.path().display())).output().unwrap();
        let text = String::from_utf8([done.stdout, done.stderr].concat()).unwrap();
        let expected = format!("ok    signing: commits are signed with the key {word} ");
        assert!(text.contains(&expected) && text.contains(COMMITTER), "{text}");
        let seen = fs::read_to_string(&seen).unwrap();
        assert!(seen.contains(if word == "ssh" { "-Y\nsign" } else { "--detach-sign" }), "{seen}");
        for line in keys.private.lines().filter(|line| line.len() > 20) {
            assert!(!seen.contains(line) && !text.contains(line), "{seen}{text}");
        }
    }
    let seen = fs::read_to_string(&seen).unwrap();
    let homes: Vec<&str> = seen.lines().filter_map(|line| line.strip_prefix("HOME=")).collect();
    assert!(homes.len() > 4 && homes.iter().all(|home| !Path::new(home).exists()), "{homes:?}");
}
