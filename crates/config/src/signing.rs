//! `[signing]`: the key that signs commits.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use secrecy::{ExposeSecret, SecretString};

use super::SettingsError;
use super::known;
use super::raw::SettingReader;
use journeyman_order::bounds::LARGEST_SETTINGS;
use journeyman_order::{CommitSigning, CommitterIdentity, SignatureFormat, byte_order_mark};

/// Found in GPG keys. All other keys are SSH keys.
const OF_GPG: &str = "BEGIN PGP PRIVATE KEY";

/// The signing key. `None` if the settings name no file.
pub(super) fn signing(keys: SettingReader<'_>) -> Result<Option<CommitSigning>, SettingsError> {
    let (in_file, of_committer) = (known::SIGNING_KEY_FILE, known::SIGNING_COMMITTER);
    let committer: Option<String> = keys.get(of_committer)?;
    let Some(path) = keys.path(in_file)? else {
        return match committer {
            Some(_) => Err(keys.wrong(of_committer, "given with `signing.key_file`, or left out")),
            None => Ok(None),
        };
    };
    let wrong = |why: String| keys.wrong(in_file, format!("a private key's file: {}: {why}", path.display()));
    let key = read_private(&path).map_err(wrong)?;
    let committer = committer.as_deref().and_then(CommitterIdentity::parse);
    let expected = "given with `signing.key_file`: \"NAME <ADDRESS>\" of the account that the key belongs to";
    let committer = committer.ok_or_else(|| keys.wrong(of_committer, expected))?;
    let format = match key.expose_secret().contains(OF_GPG) {
        true => SignatureFormat::Gpg,
        false => SignatureFormat::Ssh,
    };
    Ok(Some(CommitSigning { format, key, committer }))
}

/// Reads a file that others cannot access. If another user owns it, as with systemd's credentials, our group may have
/// access.
pub(super) fn read_private(path: &Path) -> Result<SecretString, String> {
    let said = |error: std::io::Error| error.to_string();
    let file = std::fs::File::open(path).map_err(said)?;
    let found = file.metadata().map_err(said)?;
    if !found.is_file() {
        return Err("it is not a file".to_owned());
    }
    let others = if found.uid() == rustix::process::geteuid().as_raw() { 0o077 } else { 0o007 };
    let mode = found.mode() & 0o7777;
    if mode & others != 0 {
        return Err(format!(
            "others can read or change it (mode {mode:04o}). `chmod 600` it, and make a new key if somebody may have read it"
        ));
    }
    let mut text = String::new();
    file.take(LARGEST_SETTINGS as u64 + 1).read_to_string(&mut text).map_err(said)?;
    if text.len() > LARGEST_SETTINGS || text.trim().is_empty() {
        return Err("it is empty or too large".to_owned());
    }
    // ssh-keygen only reads keys that end with a newline.
    Ok(format!("{}\n", byte_order_mark::strip(&text).trim()).into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::server::commit_signing;
    use crate::tests::SettingsFixture;

    const COMMITTER: &str = "committer = \"Sums <sums@example.org>\"";

    fn load(toml: &str) -> Result<Option<CommitSigning>, SettingsError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("[signing]\n{toml}\n")).unwrap();
        commit_signing(Some(file.path()))
    }

    fn key_file(mode: u32) -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "s3cret-key\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let line = format!("key_file = \"{}\"", path.display());
        (folder, line)
    }

    #[test]
    fn the_key_says_which_program_signs_and_without_one_nothing_is_signed() {
        assert!(load("").unwrap().is_none());
        let (folder, line) = key_file(0o600);
        let read = load(&format!("{line}\n{COMMITTER}")).unwrap().unwrap();
        assert_eq!((read.format, read.key.expose_secret()), (SignatureFormat::Ssh, "s3cret-key\n"));
        assert_eq!(read.committer.email, "sums@example.org");
        assert!(!format!("{read:?}").contains("s3cret"));
        std::fs::write(folder.path().join("key"), "-----BEGIN PGP PRIVATE KEY BLOCK-----\n").unwrap();
        let read = load(&format!("{line}\n{COMMITTER}")).unwrap().unwrap();
        assert_eq!(read.format, SignatureFormat::Gpg);
    }

    #[test]
    fn what_is_wrong_with_a_key_is_said_by_its_setting_and_without_the_key() {
        let with = |more: &str| format!("{COMMITTER}\n{more}");
        let (_a, readable) = key_file(0o644);
        let (_b, by_group) = key_file(0o640);
        let (_c, good) = key_file(0o400);
        for (toml, words) in [
            (with("key_file = \"/no/such/key\""), "a private key's file: /no/such/key: No such file"),
            (with("key_file = \"/etc\""), "/etc: it is not a file"),
            (with(&readable), "key: others can read or change it (mode 0644). `chmod 600` it"),
            (with(&by_group), "(mode 0640)"),
            (with(""), "`signing.committer` has to be given with `signing.key_file`, or left out"),
            (good.clone(), "`signing.committer` has to be given with `signing.key_file`: \"NAME"),
            (format!("{good}\ncommitter = \"Sums\""), "`signing.committer` has to be"),
        ] {
            let error = load(&toml).unwrap_err().to_string();
            assert!(error.contains(words) && !error.contains("s3cret"), "{toml}: {error}");
        }
    }

    #[test]
    fn what_signs_commits_is_where_no_agent_can_read_it() {
        let home = SettingsFixture::new();
        let place = home.folder.path().join("keys");
        std::fs::create_dir(&place).unwrap();
        let key = place.join("signing");
        std::fs::write(&key, "s3cret-key\n").unwrap();
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&place, home.folder.path().join("linked")).unwrap();
        let signing =
            |key: &str, more: &str| format!("[signing]\ncommitter = \"A <a@b.example>\"\n{key}\n{more}");
        let in_file = format!("key_file = \"{}\"", key.display());
        assert!(home.load(&signing(&in_file, ""), &[]).unwrap().signing.is_some());
        for folder in ["keys", "linked", "."] {
            let read = format!("read = [\"{}\"]", home.folder.path().join(folder).display());
            for table in ["[sandbox]", "[agents.claude]"] {
                let error =
                    home.load(&signing(&in_file, &format!("{table}\n{read}")), &[]).unwrap_err().to_string();
                let expected = "`signing.key_file` has to be a file outside of the folders that agents and tests may read";
                assert!(error.contains(expected), "{error}");
            }
        }
    }
}
