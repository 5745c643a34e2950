//! `[network]`: how other hosts are reached. Where it says nothing, the variables that everybody knows.

use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::SettingsError;
use super::environment::EnvironmentVariables;
use super::known;
use super::raw::SettingReader;
use journeyman_order::{OutgoingNetwork, OutgoingProxy, RegistryCredential, TrustedCertificates};

/// Larger files are no list of certificates.
const LARGEST: u64 = 8 << 20;

pub(super) fn outgoing(
    keys: SettingReader<'_>,
    variables: &EnvironmentVariables,
) -> Result<OutgoingNetwork, SettingsError> {
    Ok(OutgoingNetwork { trusted: trusted(keys)?, proxy: proxy(keys, variables)? })
}

fn trusted(keys: SettingReader<'_>) -> Result<Option<TrustedCertificates>, SettingsError> {
    let Some(file) = keys.path(known::CA_FILE)? else { return Ok(None) };
    let wrong = |why: &str| {
        keys.wrong(known::CA_FILE, format!("a file with certificates in PEM: {}: {why}", file.display()))
    };
    let found = std::fs::metadata(&file).map_err(|error| wrong(&error.to_string()))?;
    if found.len() > LARGEST {
        return Err(wrong("it is too large"));
    }
    let pem = std::fs::read(&file).map_err(|error| wrong(&error.to_string()))?;
    let mark = b"-----BEGIN CERTIFICATE-----";
    if !pem.windows(mark.len()).any(|part| part == mark) {
        return Err(wrong("there is no certificate in it"));
    }
    // Whoever opens it later may stand in another folder.
    let file = file.canonicalize().map_err(|error| wrong(&error.to_string()))?;
    Ok(Some(TrustedCertificates { file, pem }))
}

fn proxy(
    keys: SettingReader<'_>,
    variables: &EnvironmentVariables,
) -> Result<Option<OutgoingProxy>, SettingsError> {
    let without: Option<Vec<String>> = keys.get(known::NO_PROXY)?;
    let of = |names: [&str; 2]| names.into_iter().find_map(|name| variables.get(name));
    let expected = "http://HOST:PORT or http://USER:PASSWORD@HOST:PORT, a proxy that takes CONNECT";
    let given: Option<SecretString> = keys.get(known::PROXY)?;
    let (text, wrong) = match (given, of(["HTTPS_PROXY", "https_proxy"])) {
        (Some(text), _) => (text, keys.wrong(known::PROXY, expected)),
        (None, Some(text)) => {
            let place = "the environment, HTTPS_PROXY".to_owned();
            let key = known::PROXY.key.to_owned();
            (text.clone(), SettingsError::Value { key, place, expected: expected.to_owned() })
        }
        (None, None) => return Ok(None),
    };
    let bypass: Vec<String> = match without {
        Some(hosts) => hosts,
        None => of(["NO_PROXY", "no_proxy"]).map_or_else(Vec::new, |hosts| {
            let hosts = hosts.expose_secret().split(',').map(str::trim);
            hosts.filter(|host| !host.is_empty()).map(str::to_owned).collect()
        }),
    };
    match read(text.expose_secret()) {
        Some((url, credential)) => Ok(Some(OutgoingProxy { url, credential, bypass })),
        None => Err(wrong),
    }
}

fn read(text: &str) -> Option<(Url, RegistryCredential)> {
    let text = text.trim();
    let text = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let mut url = Url::parse(&text).ok()?;
    let is_proxy = url.scheme() == "http" && url.has_host() && url.path() == "/" && url.query().is_none();
    let decoded = |text: &str| super::host::percent_decoded(text);
    let credential = match (url.username(), url.password()) {
        ("", None) => RegistryCredential::None,
        (user, password) => RegistryCredential::Password {
            user: decoded(user)?,
            password: SecretString::from(decoded(password.unwrap_or_default())?),
        },
    };
    let is_bare = url.set_username("").is_ok() && url.set_password(None).is_ok();
    (is_proxy && is_bare).then_some((url, credential))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TestRunSettings;

    fn load(toml: &str, env: &[(&str, &str)]) -> Result<OutgoingNetwork, SettingsError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), toml).unwrap();
        let env: Vec<(String, String)> =
            env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Ok(TestRunSettings::load(Some(file.path()), env.into_iter())?.testing.outgoing)
    }

    #[test]
    fn a_proxy_is_read_from_the_settings_or_else_from_the_environment() {
        let env = [("HTTPS_PROXY", "http://of-env:1"), ("NO_PROXY", "a.example, .b.example")];
        let said = |toml: &str, env: &[(&str, &str)]| {
            let proxy = load(toml, env).unwrap().proxy.unwrap();
            let whole = proxy.with_credential().expose_secret().to_owned();
            (proxy.url.to_string(), whole, proxy.bypass)
        };
        let toml =
            "[network]\nproxy = \"http://ada:p%40ss@proxy.example:3128\"\nno_proxy = [\"c.example\"]\n";
        let (url, whole, bypass) = said(toml, &env);
        assert_eq!((url.as_str(), bypass), ("http://proxy.example:3128/", vec!["c.example".to_owned()]));
        assert_eq!(whole, "http://ada:p%40ss@proxy.example:3128/");
        let (url, _, bypass) = said("", &env);
        assert_eq!((url.as_str(), bypass.len()), ("http://of-env:1/", 2));
        assert_eq!(said("", &[("https_proxy", "plain.example:8080")]).0, "http://plain.example:8080/");
        assert_eq!(load("", &[]).unwrap(), OutgoingNetwork::default());
    }

    #[test]
    fn who_is_reached_without_the_proxy() {
        let env = [("HTTPS_PROXY", "http://p:1"), ("NO_PROXY", "a.example,.b.example,*.c.example")];
        let proxy = load("", &env).unwrap().proxy.unwrap();
        for host in [
            "a.example",
            "x.a.example",
            "A.Example.",
            "x.b.example",
            "x.c.example",
            "localhost",
            "127.0.0.1",
            "[::1]",
        ] {
            assert!(proxy.is_bypassed(host), "{host}");
        }
        for host in ["xa.example", "example", "a.example.org", "10.0.0.1", ""] {
            assert!(!proxy.is_bypassed(host), "{host}");
        }
        let env = [("HTTPS_PROXY", "http://p:1"), ("NO_PROXY", "*")];
        assert!(load("", &env).unwrap().proxy.unwrap().is_bypassed("any.example"));
    }

    #[test]
    fn what_is_wrong_with_the_network_is_said_without_the_password() {
        for proxy in ["https://ada:s3cret@p", "socks5://p", "http://", "http://p/path", "http://p?q", "%"] {
            let toml = format!("[network]\nproxy = \"{proxy}\"\n");
            let error = load(&toml, &[]).unwrap_err().to_string();
            assert!(error.contains("`network.proxy` has to be http://HOST:PORT"), "{proxy}: {error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
        let error = load("", &[("HTTPS_PROXY", "socks5://ada:s3cret@p")]).unwrap_err().to_string();
        assert!(error.contains("the environment, HTTPS_PROXY") && !error.contains("s3cret"), "{error}");
        let error = load("[network]\nca_file = \"/no/such.pem\"", &[]).unwrap_err().to_string();
        assert!(error.contains("network.ca_file") && error.contains("/no/such.pem"), "{error}");
        let empty = tempfile::NamedTempFile::new().unwrap();
        let error = load(&format!("[network]\nca_file = \"{}\"", empty.path().display()), &[]).unwrap_err();
        assert!(error.to_string().contains("there is no certificate in it"), "{error}");
    }
}
