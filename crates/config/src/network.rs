//! How the server reaches other hosts: `network.ca_file`, `HTTPS_PROXY` and `NO_PROXY`.

use percent_encoding::percent_decode_str;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::SettingsError;
use super::environment::EnvironmentVariables;
use super::known;
use super::raw::SettingReader;
use journeyman_order::bounds::LARGEST_DOCUMENT;
use journeyman_order::{OutgoingNetwork, OutgoingProxy, RegistryCredential, TrustedCertificates};

pub(super) fn outgoing(
    keys: SettingReader<'_>,
    variables: &EnvironmentVariables,
) -> Result<OutgoingNetwork, SettingsError> {
    Ok(OutgoingNetwork { trusted: trusted(keys)?, proxy: proxy(variables)? })
}

fn trusted(keys: SettingReader<'_>) -> Result<Option<TrustedCertificates>, SettingsError> {
    let Some(file) = keys.path(known::CA_FILE)? else { return Ok(None) };
    let wrong = |why: &str| {
        keys.wrong(known::CA_FILE, format!("a file with certificates in PEM: {}: {why}", file.display()))
    };
    let found = std::fs::metadata(&file).map_err(|error| wrong(&error.to_string()))?;
    if found.len() > LARGEST_DOCUMENT as u64 {
        return Err(wrong("it is too large"));
    }
    let pem = std::fs::read(&file).map_err(|error| wrong(&error.to_string()))?;
    let pem = match readable_certificates(&pem) {
        (readable, others) if readable.is_empty() && others.is_empty() => {
            return Err(wrong("there is no certificate in it"));
        }
        // No certificate is readable: keep the file as it is, so that creating the client reports the error.
        (readable, _) if readable.is_empty() => pem,
        (readable, _) => readable,
    };
    // Code that opens the file later may run in another folder.
    let file = file.canonicalize().map_err(|error| wrong(&error.to_string()))?;
    Ok(Some(TrustedCertificates { file, pem }))
}

/// The readable certificates of a PEM file, and the numbers of the unreadable ones. A strict parser would stop at the
/// first unreadable one.
pub fn readable_certificates(pem: &[u8]) -> (Vec<u8>, Vec<usize>) {
    const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
    const END: &str = "-----END CERTIFICATE-----";
    let text = String::from_utf8_lossy(pem);
    let (mut readable, mut others) = (Vec::new(), Vec::new());
    for (block, number) in text.split(BEGIN).skip(1).zip(1..) {
        let inner = block.split_once(END).map_or(block, |(inner, _)| inner);
        let one = format!("{BEGIN}{inner}{END}\n");
        let certificate = CertificateDer::from_pem_slice(one.as_bytes());
        match certificate.is_ok_and(|certificate| RootCertStore::empty().add(certificate).is_ok()) {
            true => readable.extend(one.into_bytes()),
            false => others.push(number),
        }
    }
    (readable, others)
}

fn proxy(variables: &EnvironmentVariables) -> Result<Option<OutgoingProxy>, SettingsError> {
    let of = |names: [&str; 2]| names.into_iter().find_map(|name| variables.get(name));
    let Some(text) = of(["HTTPS_PROXY", "https_proxy"]) else { return Ok(None) };
    let bypass = of(["NO_PROXY", "no_proxy"]).map_or_else(Vec::new, |hosts| {
        let hosts = hosts.expose_secret().split(',').map(str::trim);
        hosts.filter(|host| !host.is_empty()).map(str::to_owned).collect()
    });
    let expected = "http://HOST:PORT or http://USER:PASSWORD@HOST:PORT, a proxy that takes CONNECT";
    let (url, credential) =
        read(text.expose_secret()).ok_or_else(|| SettingsError::in_environment("HTTPS_PROXY", expected))?;
    Ok(Some(OutgoingProxy { url, credential, bypass }))
}

fn read(text: &str) -> Option<(Url, RegistryCredential)> {
    let text = text.trim();
    let text = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let (url, credential) = split_credential(Url::parse(&text).ok()?)?;
    let is_proxy = url.scheme() == "http" && url.has_host() && url.path() == "/" && url.query().is_none();
    is_proxy.then_some((url, credential))
}

/// Moves the user and password out of an address. `None` if they are not UTF-8.
pub(super) fn split_credential(mut url: Url) -> Option<(Url, RegistryCredential)> {
    let decoded = |text: &str| Some(percent_decode_str(text).decode_utf8().ok()?.into_owned());
    let credential = match (url.username(), url.password()) {
        ("", None) => RegistryCredential::None,
        (user, password) => RegistryCredential::Password {
            user: decoded(user)?,
            password: SecretString::from(decoded(password.unwrap_or_default())?),
        },
    };
    let is_bare = url.set_username("").is_ok() && url.set_password(None).is_ok();
    is_bare.then_some((url, credential))
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
    fn a_proxy_is_read_from_the_environment() {
        let said = |env: &[(&str, &str)]| {
            let proxy = load("", env).unwrap().proxy.unwrap();
            let whole = proxy.with_credential().expose_secret().to_owned();
            (proxy.url.to_string(), whole, proxy.bypass)
        };
        let env =
            [("HTTPS_PROXY", "http://ada:p%40ss@proxy.example:3128"), ("NO_PROXY", "a.example, .b.example")];
        let (url, whole, bypass) = said(&env);
        assert_eq!((url.as_str(), bypass.len()), ("http://proxy.example:3128/", 2));
        assert_eq!(whole, "http://ada:p%40ss@proxy.example:3128/");
        assert_eq!(said(&[("https_proxy", "plain.example:8080")]).0, "http://plain.example:8080/");
        assert_eq!(load("", &[]).unwrap(), OutgoingNetwork::default());
    }

    #[test]
    fn who_is_reached_without_the_proxy() {
        let env = [("HTTPS_PROXY", "http://p:1"), ("NO_PROXY", "a.example,.b.example,*.c.example")];
        let proxy = load("", &env).unwrap().proxy.unwrap();
        for host in [
            "a.example", "x.a.example", "A.Example.", "x.b.example", "x.c.example", "localhost", "127.0.0.1",
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
            let error = load("", &[("HTTPS_PROXY", proxy)]).unwrap_err().to_string();
            assert!(error.contains("`HTTPS_PROXY` has to be http://HOST:PORT"), "{proxy}: {error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
        let error = load("[network]\nca_file = \"/no/such.pem\"", &[]).unwrap_err().to_string();
        assert!(error.contains("network.ca_file") && error.contains("/no/such.pem"), "{error}");
        let empty = tempfile::NamedTempFile::new().unwrap();
        let error = load(&format!("[network]\nca_file = \"{}\"", empty.path().display()), &[]).unwrap_err();
        assert!(error.to_string().contains("there is no certificate in it"), "{error}");
    }

    #[test]
    fn a_certificate_that_cannot_be_read_is_left_out_and_the_others_are_trusted() {
        let good = CERTIFICATE.trim_start();
        let bad = "-----BEGIN CERTIFICATE-----\nbm90IGEgY2VydA==\n-----END CERTIFICATE-----\n";
        let cut = good.get(..200).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let toml = format!("[network]\nca_file = \"{}\"", file.path().display());
        for (text, others) in
            [(format!("\u{feff}{good}"), vec![]), (format!("# Corp\n{bad}{good}{cut}\n{good}"), vec![1, 3])]
        {
            assert_eq!(readable_certificates(text.as_bytes()).1, others);
            std::fs::write(file.path(), &text).unwrap();
            let trusted = load(&toml, &[]).unwrap().trusted.unwrap();
            let read = String::from_utf8(trusted.pem).unwrap();
            assert_eq!(
                read,
                good.repeat(text.matches("END CERTIFICATE").count() - usize::from(!others.is_empty()))
            );
        }
    }

    const CERTIFICATE: &str = "
-----BEGIN CERTIFICATE-----
MIIBdTCCARugAwIBAgIUVf/pYOMLgZGscXu4eKZs8HFP4Z0wCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEY29ycDAgFw0yNjExMjkyMTA0MTJaGA8yMTI2MTEwNTIxMDQx
MlowDzENMAsGA1UEAwwEY29ycDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABE9V
bSr2UYjcF7/Lk3EzzN6uysB6rVVhxTU/S4hGyL/w9pusiUzlnF6zDiXnraCS7Ckx
u/hqspsfYn9gZzdJvomjUzBRMB0GA1UdDgQWBBSveVA3Cfxm0cLNfvZadZMio5hm
GzAfBgNVHSMEGDAWgBSveVA3Cfxm0cLNfvZadZMio5hmGzAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0gAMEUCIQCWaVwTZYC2fCTJj0l2lhpzvrPw/wY62MaW
PrhTawVkeAIgbm72VFDRP050RcajtPcY/qhYAPIfwDXkkmG/PMOJPI8=
-----END CERTIFICATE-----
";
}
