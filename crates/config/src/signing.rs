//! `[signing]`: the key that commits are signed with.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use secrecy::SecretString;

use super::SettingsError;
use super::api::is_key_name;
use super::environment::EnvironmentVariables;
use super::known;
use super::raw::SettingReader;
use journeyman_order::{CommitSigning, CommitterIdentity, SignatureFormat, byte_order_mark};

/// A file of keys that is larger is none.
const LARGEST_FILE: u64 = 256 * 1024;

/// The key, where the settings name one.
pub(super) fn signing(
    keys: SettingReader<'_>,
    variables: &EnvironmentVariables,
) -> Result<Option<CommitSigning>, SettingsError> {
    let format = match keys.get::<String>(known::SIGNING_FORMAT)?.as_deref() {
        Some("gpg") => SignatureFormat::Gpg,
        Some(_) => SignatureFormat::Ssh,
        None => {
            let others = [known::SIGNING_KEY_FILE, known::SIGNING_KEY_ENV, known::SIGNING_COMMITTER];
            return match others.into_iter().find(|other| keys.has(*other)) {
                Some(other) => Err(keys.wrong(other, "given with `signing.format`, or left out")),
                None => Ok(None),
            };
        }
    };
    let (key, known_as) = key(keys, variables)?;
    let committer: Option<String> = keys.get(known::SIGNING_COMMITTER)?;
    let committer = committer.as_deref().and_then(CommitterIdentity::parse);
    let expected = "given with `signing.format`: \"NAME <ADDRESS>\" of the account that the key belongs to";
    let committer = committer.ok_or_else(|| keys.wrong(known::SIGNING_COMMITTER, expected))?;
    Ok(Some(CommitSigning { format, key, known_as, committer }))
}

fn key(
    keys: SettingReader<'_>,
    variables: &EnvironmentVariables,
) -> Result<(SecretString, &'static str), SettingsError> {
    let (in_file, in_variable) = (known::SIGNING_KEY_FILE, known::SIGNING_KEY_ENV);
    match (keys.get::<String>(in_variable)?, keys.path(in_file)?) {
        (Some(_), Some(_)) => Err(keys.wrong(in_file, "left out where `key_env` is given")),
        (None, None) => {
            Err(keys.wrong(in_file, "given with `signing.format`: the file with the private key"))
        }
        (None, Some(path)) => {
            let wrong =
                |why: String| keys.wrong(in_file, format!("a private key's file: {}: {why}", path.display()));
            Ok((read_private(&path).map_err(wrong)?, in_file.key))
        }
        (Some(name), None) if is_key_name(&name) => match variables.get(&name) {
            Some(key) => Ok((whole(secrecy::ExposeSecret::expose_secret(key)), in_variable.key)),
            None => {
                Err(keys.wrong(in_variable, format!("the name of a variable that is set; {name} is not")))
            }
        },
        // The key itself is easily put here.
        (Some(_), None) => {
            let expected = "the name of a variable in capitals that holds the key, and not the key itself; none of \
                            Journeyman's own";
            Err(keys.wrong(in_variable, expected))
        }
    }
}

/// Its last line ends: ssh-keygen reads no other key, and variables often lack it.
fn whole(key: &str) -> SecretString {
    format!("{}\n", key.trim()).into()
}

/// Reads a file that nobody else may read. One that belongs to somebody else, as systemd's credentials do, may be our
/// group's.
pub(super) fn read_private(path: &Path) -> Result<SecretString, String> {
    let said = |error: std::io::Error| error.to_string();
    let file = std::fs::File::open(path).map_err(said)?;
    let found = file.metadata().map_err(said)?;
    if !found.is_file() {
        return Err("it is no file".to_owned());
    }
    let others = if found.uid() == rustix::process::geteuid().as_raw() { 0o077 } else { 0o007 };
    let mode = found.mode() & 0o7777;
    if mode & others != 0 {
        return Err(format!(
            "others can read or change it (mode {mode:04o}); if nobody else has, `chmod 600` it, otherwise make a new key"
        ));
    }
    let mut text = String::new();
    file.take(LARGEST_FILE + 1).read_to_string(&mut text).map_err(said)?;
    if text.len() as u64 > LARGEST_FILE || text.trim().is_empty() {
        return Err("it holds no key".to_owned());
    }
    Ok(whole(byte_order_mark::strip(&text)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use secrecy::ExposeSecret;

    use super::*;
    use crate::server::commit_signing;
    use crate::tests::SettingsFixture;

    const COMMITTER: &str = "committer = \"Sums <sums@example.org>\"";

    fn load(toml: &str, env: &[(&str, &str)]) -> Result<Option<CommitSigning>, SettingsError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("[signing]\n{toml}\n")).unwrap();
        let env: Vec<(String, String)> =
            env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        commit_signing(Some(file.path()), env.into_iter())
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
    fn without_a_format_nothing_is_signed_and_a_key_is_from_a_file_or_a_variable() {
        assert!(load("", &[]).unwrap().is_none());
        let (_folder, line) = key_file(0o600);
        let read = load(&format!("format = \"ssh\"\n{line}\n{COMMITTER}"), &[]).unwrap().unwrap();
        assert_eq!((read.format, read.known_as), (SignatureFormat::Ssh, "signing.key_file"));
        assert_eq!(read.committer.email, "sums@example.org");
        let env = [
            ("JOURNEYMAN_SIGNING__FORMAT", "gpg"),
            ("JOURNEYMAN_SIGNING__KEY_ENV", "SIGNING_KEY"),
            ("JOURNEYMAN_SIGNING__COMMITTER", "Sums <sums@example.org>"),
            ("SIGNING_KEY", "s3cret-key"),
        ];
        let read = load("", &env).unwrap().unwrap();
        assert_eq!((read.format, read.key.expose_secret()), (SignatureFormat::Gpg, "s3cret-key\n"));
        assert!(!format!("{read:?}").contains("s3cret"));
    }

    #[test]
    fn what_is_wrong_with_a_key_is_said_by_its_setting_and_without_the_key() {
        let with = |more: &str| format!("format = \"ssh\"\n{COMMITTER}\n{more}");
        let (_a, readable) = key_file(0o644);
        let (_b, by_group) = key_file(0o640);
        let (_c, good) = key_file(0o400);
        for (toml, words) in [
            (with("key_file = \"/no/such/key\""), "a private key's file: /no/such/key: No such file"),
            (with("key_file = \"/etc\""), "/etc: it is no file"),
            (
                with(&readable),
                "key: others can read or change it (mode 0644); if nobody else has, `chmod 600` it",
            ),
            (with(&by_group), "(mode 0640)"),
            (with(""), "`signing.key_file` has to be given with `signing.format`"),
            (with("key_env = \"s3cret-key\""), "the name of a variable in capitals that holds the key"),
            (with("key_env = \"NO_KEY\""), "a variable that is set; NO_KEY is not"),
            (with(&format!("key_env = \"A_KEY\"\n{good}")), "left out where `key_env` is given"),
            (good.clone(), "`signing.key_file` has to be given with `signing.format`, or left out"),
            (
                format!("format = \"ssh\"\n{good}"),
                "`signing.committer` has to be given with `signing.format`: \"NAME",
            ),
            (format!("format = \"ssh\"\n{good}\ncommitter = \"Sums\""), "`signing.committer` has to be"),
            (with(&good).replace("ssh", "x509"), "`signing.format` has to be \"ssh\" or \"gpg\""),
        ] {
            let error = load(&toml, &[("A_KEY", "s3cret-key")]).unwrap_err().to_string();
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
        let signing = |key: &str, more: &str| {
            format!("[signing]\nformat = \"ssh\"\ncommitter = \"A <a@b.example>\"\n{key}\n{more}")
        };
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
        let shared = signing("key_env = \"SIGNING_KEY\"", "[agents.claude]\nenv = [\"SIGNING_KEY\"]");
        let error = home.load(&shared, &[("SIGNING_KEY", "s3cret-key")]).unwrap_err().to_string();
        assert!(
            error.contains("`agents.claude.env` has to be left without the variable of `signing.key_env`"),
            "{error}"
        );
    }
}
