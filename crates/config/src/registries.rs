//! `[registries.NAME]`: package registries for setups.

use secrecy::SecretString;
use url::Url;

use super::SettingsError;
use super::environment::EnvironmentVariables;
use super::known;
use super::raw::{SettingKeys, SettingReader};
use journeyman_order::names::is_variable_of_a_key;
use journeyman_order::{PackageRegistry, RegistryCredential, RegistryKind, RegistryName, byte_order_mark};

/// All registries in the settings.
pub(super) fn registries(
    given: &SettingKeys,
    variables: &EnvironmentVariables,
) -> Result<Vec<PackageRegistry>, SettingsError> {
    let names = given.names("registries").into_iter();
    names.map(|name| registry(given.of(&name), &name, variables)).collect()
}

fn registry(
    keys: SettingReader<'_>,
    name: &str,
    variables: &EnvironmentVariables,
) -> Result<PackageRegistry, SettingsError> {
    let named = RegistryName::parse(name);
    let named = named.map_err(|error| keys.wrong(known::REGISTRY_KIND, format!("of a registry: {error}")))?;
    let word: Option<String> = keys.get(known::REGISTRY_KIND)?;
    let kind = RegistryKind::ALL.into_iter().find(|kind| word.as_deref() == Some(kind.word()));
    let kind = kind.ok_or_else(|| keys.wrong(known::REGISTRY_KIND, known::REGISTRY_KIND.kind.expected()))?;
    let url: Option<Url> = keys.get(known::REGISTRY_URL)?;
    let url = url.ok_or_else(|| keys.wrong(known::REGISTRY_URL, known::REGISTRY_URL.kind.expected()))?;
    let scopes: Vec<String> = keys.need(known::REGISTRY_SCOPES)?;
    scopes_fit(keys, kind, &scopes)?;
    Ok(PackageRegistry {
        name: named,
        kind,
        url,
        credential: credential(keys, variables)?,
        mirror: keys.need(known::REGISTRY_MIRROR)?,
        scopes,
        within: keys.get(known::REGISTRY_AT)?,
    })
}

/// Scopes are written into variables and files of package managers.
fn scopes_fit(keys: SettingReader<'_>, kind: RegistryKind, scopes: &[String]) -> Result<(), SettingsError> {
    let is_plain = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic() && !b"\"'\\$`,=<>&".contains(&b))
    };
    let (fits, expected): (fn(&str) -> bool, _) = match kind {
        RegistryKind::Npm => {
            (|scope| scope.len() > 1 && scope.starts_with('@'), "a list of scopes, [\"@example\"]")
        }
        RegistryKind::Go => (|_| true, "a list of patterns of modules, [\"go.example.org/*\"]"),
        RegistryKind::Maven => (|_| true, "a list of what it mirrors, [\"central\"]"),
        RegistryKind::Pip | RegistryKind::Cargo => {
            (|_| false, "left out: it is for the kinds `npm`, `go` and `maven` alone")
        }
    };
    match scopes.iter().all(|scope| fits(scope) && is_plain(scope)) {
        true => Ok(()),
        false => Err(keys.wrong(known::REGISTRY_SCOPES, expected)),
    }
}

fn credential(
    keys: SettingReader<'_>,
    variables: &EnvironmentVariables,
) -> Result<RegistryCredential, SettingsError> {
    let user: Option<String> = keys.get(known::REGISTRY_USER)?;
    let variable: Option<String> = keys.get(known::REGISTRY_KEY_ENV)?;
    let file = keys.path(known::REGISTRY_KEY_FILE)?;
    let secret = match (variable, file) {
        (Some(_), Some(_)) => {
            return Err(keys.wrong(known::REGISTRY_KEY_FILE, "left out where `key_env` is given"));
        }
        (Some(name), None) => {
            if !is_variable_of_a_key(&name) {
                // People easily put the secret itself here.
                let expected = "the name of a variable in capitals that holds the password or token, and not the secret \
                                itself; none of Journeyman's own";
                return Err(keys.wrong(known::REGISTRY_KEY_ENV, expected));
            }
            let value = variables.get(&name).cloned();
            let missing = || {
                keys.wrong(
                    known::REGISTRY_KEY_ENV,
                    format!("the name of a variable that is set; {name} is not"),
                )
            };
            Some(value.ok_or_else(missing)?)
        }
        (None, Some(file)) => {
            let wrong = |why: &str| {
                keys.wrong(
                    known::REGISTRY_KEY_FILE,
                    format!("a file with a secret: {}: {why}", file.display()),
                )
            };
            let text = std::fs::read_to_string(&file).map_err(|error| wrong(&error.to_string()))?;
            let text = byte_order_mark::strip(&text).trim();
            if text.is_empty() || text.contains(char::is_control) {
                return Err(wrong("it has to be one line"));
            }
            Some(SecretString::from(text))
        }
        (None, None) => None,
    };
    match (user, secret) {
        (None, None) => Ok(RegistryCredential::None),
        (None, Some(token)) => Ok(RegistryCredential::Token(token)),
        (Some(user), Some(password)) if !user.contains(':') => {
            Ok(RegistryCredential::Password { user, password })
        }
        (Some(_), Some(_)) => {
            Err(keys
                .wrong(known::REGISTRY_USER, "a name without a colon; the password has a place of its own"))
        }
        (Some(_), None) => {
            Err(keys
                .wrong(known::REGISTRY_USER, "given with `key_env` or `key_file`, which hold the password"))
        }
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;
    use crate::TestRunSettings;

    fn load(toml: &str, env: &[(&str, &str)]) -> Result<Vec<PackageRegistry>, SettingsError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), toml).unwrap();
        let env: Vec<(String, String)> =
            env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Ok(TestRunSettings::load(Some(file.path()), env.into_iter())?.testing.registries)
    }

    #[test]
    fn a_registry_is_read_with_a_credential_that_stands_elsewhere() {
        let secret = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(secret.path(), "from-file\n").unwrap();
        let toml = format!(
            "[registries.a-b]\nkind = \"npm\"\nurl = \"https://npm.example/\"\nscopes = [\"@corp\"]\n\
             key_env = \"NPM_KEY\"\nat = \"10.0.0.0/8\"\n\
             [registries.pypi]\nkind = \"pip\"\nurl = \"https://pypi.example/simple\"\nmirror = true\n\
             user = \"ada\"\nkey_file = \"{}\"\n[registries.open]\nkind = \"go\"\nurl = \"http://goproxy/\"\n",
            secret.path().display()
        );
        let env = [("NPM_KEY", "t0ken"), ("JOURNEYMAN_REGISTRIES__A_B__MIRROR", "true")];
        let read = load(&toml, &env).unwrap();
        let said: Vec<_> = read
            .iter()
            .map(|registry| {
                let secret = registry.credential.secret().map(|secret| secret.expose_secret().to_owned());
                (registry.name.as_str(), registry.kind.word(), registry.mirror, secret)
            })
            .collect();
        let expected = [
            ("a-b", "npm", true, Some("t0ken".to_owned())),
            ("open", "go", false, None),
            ("pypi", "pip", true, Some("from-file".to_owned())),
        ];
        assert_eq!(said, expected);
        assert_eq!(
            (read[0].scopes.as_slice(), read[0].within.as_deref()),
            (&["@corp".to_owned()][..], Some("10.0.0.0/8"))
        );
        assert!(matches!(&read[2].credential, RegistryCredential::Password { user, .. } if user == "ada"));
    }

    #[test]
    fn what_is_wrong_with_a_registry_is_said_by_its_key_and_without_its_value() {
        let with =
            |more: &str| format!("[registries.r]\nkind = \"npm\"\nurl = \"https://r.example/\"\n{more}\n");
        for (toml, words) in [
            (
                "[registries.r]\nurl = \"https://r.example/\"".to_owned(),
                "`registries.r.kind` has to be \"pip\"",
            ),
            ("[registries.r]\nkind = \"npm\"".to_owned(), "`registries.r.url` has to be a URL"),
            (with("kind2 = 1"), "unknown key `registries.r.kind2`"),
            ("[registries.R]\nkind = \"npm\"".to_owned(), "unknown key `registries.R.kind`"),
            (with("key_env = \"npm_s3cret\""), "the name of a variable in capitals"),
            (with("key_env = \"S3CRET_NOT_SET\""), "S3CRET_NOT_SET is not"),
            (with("key_file = \"/no/such/file\""), "/no/such/file"),
            (with("key_env = \"A\"\nkey_file = \"/b\""), "left out where `key_env` is given"),
            (with("user = \"ada\""), "given with `key_env` or `key_file`"),
            (with("user = \"ada:s3cret\"\nkey_env = \"A\""), "a name without a colon"),
            (with("scopes = [\"corp\"]"), "a list of scopes"),
            (with("scopes = [\"@corp\\nx\"]"), "a list of scopes"),
            (with("").replace("npm", "pip") + "scopes = [\"@corp\"]", "left out: it is for the kinds"),
            (with("").replace("https://r", "https://ada:s3cret@r"), "without a name or password in it"),
        ] {
            let error = load(&toml, &[("A", "s3cret")]).unwrap_err().to_string();
            assert!(error.contains(words) && !error.contains("s3cret"), "{toml}: {error}");
        }
    }
}
