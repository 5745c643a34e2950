//! Registries' credentials from `auth.json`, as podman, skopeo and docker write it.
//!
//! May know: those files. Must never know: the network. Helper programs that such a file names are not run: a server
//! has no keyring to unlock, and a setting that names a program to run is one more way in.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use crate::error::ImageError;
use crate::reference::ImageReference;

/// Real ones have a few hundred bytes.
const LARGEST: u64 = 4 << 20;

/// How we make ourselves known to a registry.
#[derive(Debug, Clone)]
pub(crate) enum ImageCredential {
    Password {
        user: String,
        password: SecretString,
    },
    /// Exchanged for a token at the registry's token service.
    IdentityToken(SecretString),
}

/// What the files say about one image.
#[derive(Debug, Clone, Default)]
pub(crate) struct FoundCredential {
    pub(crate) credential: Option<ImageCredential>,
    /// The file it is from; without one, nothing was found.
    file: Option<PathBuf>,
    /// A file that leaves this registry to a helper program.
    helper: Option<PathBuf>,
    looked_in: Vec<PathBuf>,
}

impl FoundCredential {
    /// What a person can do when the registry refuses.
    pub(crate) fn hint(&self, registry: &str) -> String {
        if let Some(file) = &self.file {
            return format!(
                "the credential for {registry} from {} was refused or does not suffice; renew it with `podman login \
                 --authfile {} {registry}`",
                file.display(),
                file.display()
            );
        }
        if let Some(file) = &self.helper {
            return format!(
                "{} leaves {registry} to a helper program, which Journeyman does not run; write the credential to a \
                 file with `podman login --authfile FILE {registry}` and name it in REGISTRY_AUTH_FILE",
                file.display()
            );
        }
        let looked_in: Vec<String> = self.looked_in.iter().map(|file| file.display().to_string()).collect();
        format!(
            "if it is private, log in with `podman login {registry}` or `docker login {registry}` (no credential in \
             {})",
            if looked_in.is_empty() { "any file".to_owned() } else { looked_in.join(", ") }
        )
    }
}

/// What the first file with an entry for this image's registry holds.
pub(crate) fn credential(files: &[PathBuf], image: &ImageReference) -> Result<FoundCredential, ImageError> {
    let mut found = FoundCredential { looked_in: files.to_vec(), ..FoundCredential::default() };
    for path in files {
        let wrong = |reason: &str| ImageError::Settings(format!("{}: {reason}", path.display()));
        let Some(text) = read(path).map_err(|error| {
            wrong(&format!("{error}. Make it readable for the user that Journeyman runs as, or remove it"))
        })?
        else {
            continue;
        };
        // The parser's own message can repeat what stands there, which can be a password.
        let file: AuthFile = serde_json::from_str(text.expose_secret()).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            wrong(&format!(
                "not an auth.json at line {line}, column {column}. Write it anew with `podman login`"
            ))
        })?;
        if let Some((key, entry)) = file.entry(image) {
            let credential = entry.credential().map_err(|reason| {
                wrong(&format!("the entry `{key}` {reason}. Write it anew with `podman login`"))
            })?;
            if credential.is_some() {
                found.credential = credential;
                found.file = Some(path.clone());
                return Ok(found);
            }
        }
        if found.helper.is_none() && file.has_helper(image.registry()) {
            found.helper = Some(path.clone());
        }
    }
    Ok(found)
}

fn read(path: &Path) -> io::Result<Option<SecretString>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let mut text = String::new();
    file.take(LARGEST).read_to_string(&mut text)?;
    Ok(Some(SecretString::from(text)))
}

#[derive(Deserialize)]
struct AuthFile {
    #[serde(default)]
    auths: Option<std::collections::BTreeMap<String, Option<AuthEntry>>>,
    #[serde(default, rename = "credHelpers")]
    helpers: Option<std::collections::BTreeMap<String, String>>,
    #[serde(default, rename = "credsStore")]
    store: Option<String>,
}

#[derive(Deserialize)]
struct AuthEntry {
    auth: Option<SecretString>,
    username: Option<String>,
    password: Option<SecretString>,
    #[serde(rename = "identitytoken")]
    identity_token: Option<SecretString>,
}

impl AuthFile {
    /// The entry whose key says most of the image's name: `quay.io/owner/name` before `quay.io`.
    fn entry(&self, image: &ImageReference) -> Option<(&str, &AuthEntry)> {
        let full = format!("{}/{}", image.registry(), image.repository());
        let concerns =
            |key: &str| full == key || full.strip_prefix(key).is_some_and(|rest| rest.starts_with('/'));
        let entries = self.auths.iter().flatten().filter_map(|(key, entry)| Some((key, entry.as_ref()?)));
        entries
            .map(|(key, entry)| (key, place(key), entry))
            .filter(|(_, place, _)| concerns(place))
            .max_by_key(|(_, place, _)| place.len())
            .map(|(key, _, entry)| (key.as_str(), entry))
    }

    fn has_helper(&self, registry: &str) -> bool {
        let of_this_one = |key: &String| place(key) == registry;
        self.store.as_ref().is_some_and(|store| !store.is_empty())
            || self.helpers.iter().flat_map(|all| all.keys()).any(of_this_one)
    }
}

/// What a key stands for: docker writes addresses for registries, and an old one for its own.
fn place(key: &str) -> String {
    let is_address = key.starts_with("https://") || key.starts_with("http://");
    let key = key.trim_start_matches("https://").trim_start_matches("http://").trim_end_matches('/');
    let (host, rest) = key.split_once('/').map_or((key, None), |(host, rest)| (host, Some(rest)));
    let host = host.to_ascii_lowercase();
    let host = match host.as_str() {
        "index.docker.io" | "registry-1.docker.io" => "docker.io",
        other => other,
    };
    match rest {
        Some(rest) if !is_address && rest != "v1" && rest != "v2" => format!("{host}/{rest}"),
        Some(_) | None => host.to_owned(),
    }
}

impl AuthEntry {
    fn credential(&self) -> Result<Option<ImageCredential>, &'static str> {
        let given =
            |secret: &Option<SecretString>| secret.clone().filter(|text| !text.expose_secret().is_empty());
        if let Some(token) = given(&self.identity_token) {
            return Ok(Some(ImageCredential::IdentityToken(token)));
        }
        if let Some(auth) = given(&self.auth) {
            let bytes = base64::engine::general_purpose::STANDARD
                .decode(auth.expose_secret().trim())
                .map_err(|_| "has an `auth` that is not base64")?;
            let text = String::from_utf8(bytes).map_err(|_| "has an `auth` that is not text")?;
            let (user, password) = text.split_once(':').ok_or("has an `auth` that is not `user:password`")?;
            // Docker pads with NUL.
            let password = SecretString::from(password.trim_end_matches('\0'));
            return Ok(Some(ImageCredential::Password { user: user.to_owned(), password }));
        }
        let (Some(user), Some(password)) = (&self.username, given(&self.password)) else { return Ok(None) };
        Ok(Some(ImageCredential::Password { user: user.clone(), password }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const B64: base64::engine::GeneralPurpose = base64::engine::general_purpose::STANDARD;

    fn found(json: &str, image: &str) -> Result<FoundCredential, ImageError> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("auth.json");
        std::fs::write(&file, json).unwrap();
        credential(&[folder.path().join("none.json"), file], &image.parse().unwrap())
    }

    fn user(json: &str, image: &str) -> Option<String> {
        match found(json, image).unwrap().credential? {
            ImageCredential::Password { user, password } => {
                Some(format!("{user}/{}", password.expose_secret()))
            }
            ImageCredential::IdentityToken(token) => Some(format!("token {}", token.expose_secret())),
        }
    }

    fn entry(key: &str, credential: &str) -> String {
        format!(r#""{key}":{{"auth":"{}"}}"#, B64.encode(credential))
    }

    #[test]
    fn the_entry_that_says_most_of_the_name_counts() {
        let json = format!(
            r#"{{"auths":{{{},{},{},"other.example":{{}}}}}}"#,
            entry("quay.io", "all:1"),
            entry("quay.io/owner", "owner:2"),
            entry("quay.io/owner/name", "name:3:4"),
        );
        assert_eq!(user(&json, "quay.io/else/x").as_deref(), Some("all/1"));
        assert_eq!(user(&json, "quay.io/owner/x").as_deref(), Some("owner/2"));
        assert_eq!(user(&json, "quay.io/owner/name").as_deref(), Some("name/3:4"));
        assert_eq!(user(&json, "quay.io/ownership/x").as_deref(), Some("all/1"));
        assert_eq!(user(&json, "quay.io.example.org/owner/x"), None);
        assert_eq!(user(&json, "other.example/x"), None);
        assert_eq!(user("{}", "quay.io/x/y"), None);
    }

    #[test]
    fn dockers_own_spellings_are_known() {
        for key in ["https://index.docker.io/v1/", "docker.io", "index.docker.io"] {
            let json = format!(r#"{{"auths":{{{}}}}}"#, entry(key, "me:x\0\0"));
            assert_eq!(user(&json, "python:3.12").as_deref(), Some("me/x"), "{key}");
        }
        let json = format!(r#"{{"auths":{{{}}}}}"#, entry("http://localhost:5000/v2/", "me:x"));
        assert_eq!(user(&json, "localhost:5000/x").as_deref(), Some("me/x"));
        assert_eq!(user(&json, "localhost:5001/x"), None);
        let json = r#"{"auths":{"a.example":{"identitytoken":"t","auth":""},"b.example":{"username":"u","password":"p"}}}"#;
        assert_eq!(user(json, "a.example/x").as_deref(), Some("token t"));
        assert_eq!(user(json, "b.example/x").as_deref(), Some("u/p"));
    }

    #[test]
    fn a_file_that_is_none_is_named_and_its_secrets_are_not() {
        let hostile = [
            r#"{"auths": {"a.example": {"auth": hunter2}}}"#,
            r#"{"auths": {"a.example": {"auth": "hunter2!"}}}"#,
            r#"{"auths": {"a.example": {"auth": "aHVudGVyMg=="}}}"#,
            r#"{"auths": "hunter2"}"#,
        ];
        for json in hostile {
            let error = found(json, "a.example/x").unwrap_err().to_string();
            assert!(error.contains("auth.json") && error.contains("podman login"), "{error}");
            assert!(!error.contains("hunter2") && !error.contains("aHVudGVyMg"), "{error}");
        }
    }

    #[test]
    fn the_hint_says_what_to_do() {
        let hint = |json: &str| found(json, "a.example/x").unwrap().hint("a.example");
        assert!(hint(r#"{"credsStore":"desktop"}"#).contains("leaves a.example to a helper program"));
        assert!(
            hint(r#"{"credHelpers":{"a.example":"gcloud"}}"#)
                .contains("leaves a.example to a helper program")
        );
        assert!(hint("{}").contains("podman login a.example"));
        assert!(hint(&format!(r#"{{"auths":{{{}}}}}"#, entry("a.example", "u:p"))).contains("was refused"));
    }
}
