//! npm's settings, which pnpm, yarn and bun read too.

use std::collections::BTreeMap;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::SecretString;

use super::{HostFindings, NamedRegistry, expanded, password_of};
use journeyman_order::{RegistryCredential, RegistryKind};

pub(super) fn read(found: &mut HostFindings<'_>) {
    let mut values: BTreeMap<String, (String, String)> = BTreeMap::new();
    for file in files(found) {
        let Some(text) = found.host.text(&file) else { continue };
        for (name, value) in lines(&text) {
            let variable = |name: &str| found.host.variable(name.trim_end_matches('?')).map(str::to_owned);
            match (expanded(&name, &variable), expanded(&value, &variable)) {
                (Some(name), Some(value)) => {
                    values.insert(name, (value, file.display().to_string()));
                }
                (None, _) | (_, None) if name.contains("registry") => {
                    found.skip(
                        &file.display().to_string(),
                        "a registry for npm: it names a variable that is not set",
                    );
                }
                (None, _) | (_, None) => {}
            }
        }
    }
    for (name, value) in &found.host.variables {
        if name.eq_ignore_ascii_case("npm_config_registry") && !value.trim().is_empty() {
            values.insert("registry".to_owned(), (value.clone(), name.clone()));
        }
    }
    if let Some((url, from)) = values.get("registry") {
        let credential = credential(&values, url);
        let named = NamedRegistry { credential, mirror: true, ..NamedRegistry::new(RegistryKind::Npm, url) };
        found.add(from, named);
    }
    let mut by_address: BTreeMap<&str, (Vec<String>, &str)> = BTreeMap::new();
    for (name, (url, from)) in &values {
        if let Some(scope) = name.strip_suffix(":registry").filter(|scope| scope.starts_with('@')) {
            by_address.entry(url).or_insert((Vec::new(), from)).0.push(scope.to_owned());
        }
    }
    for (url, (scopes, from)) in by_address {
        let credential = credential(&values, url);
        found.add(from, NamedRegistry { credential, scopes, ..NamedRegistry::new(RegistryKind::Npm, url) });
    }
}

/// `name = value`; a name may hold colons, so that only `=` parts it from its value.
fn lines(text: &str) -> Vec<(String, String)> {
    let unquoted = |text: &str| text.trim().trim_matches('"').trim_matches('\'').to_owned();
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';', '[']));
    lines
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (unquoted(name), unquoted(value)))
        .collect()
}

/// By the longest address that the registry's begins with.
fn credential(values: &BTreeMap<String, (String, String)>, url: &str) -> RegistryCredential {
    let Some((_, address)) = url.trim().split_once("//") else { return RegistryCredential::None };
    let mut address = format!("//{}/", address.trim_end_matches('/'));
    loop {
        let of = |key: &str| {
            let with = values.get(&format!("{address}:{key}"));
            let without = || values.get(&format!("{}:{key}", address.trim_end_matches('/')));
            with.or_else(without).map(|(value, _)| value.clone())
        };
        if let Some(token) = of("_authToken") {
            return RegistryCredential::Token(SecretString::from(token));
        }
        let decoded = |text: String| String::from_utf8(STANDARD.decode(text).ok()?).ok();
        let both = of("_auth").and_then(decoded);
        if let Some((user, password)) = both.as_deref().and_then(|both| both.split_once(':')) {
            return password_of(user.to_owned(), password.to_owned());
        }
        if let (Some(user), Some(password)) = (of("username"), of("_password").and_then(decoded)) {
            return password_of(user, password);
        }
        let above = address.trim_end_matches('/').rsplit_once('/').map(|(above, _)| format!("{above}/"));
        match above {
            Some(above) if above.len() > 2 => address = above,
            Some(_) | None => return RegistryCredential::None,
        }
    }
}

/// Those that are read later go over those before.
fn files(found: &HostFindings<'_>) -> Vec<PathBuf> {
    let host = found.host;
    let named = |names: [&str; 2]| names.into_iter().find_map(|name| host.variable(name)).map(PathBuf::from);
    let system = ["etc/npmrc", "usr/etc/npmrc", "usr/local/etc/npmrc"].map(|path| host.system(path));
    let global = named(["NPM_CONFIG_GLOBALCONFIG", "npm_config_globalconfig"]);
    let user = named(["NPM_CONFIG_USERCONFIG", "npm_config_userconfig"]).or_else(|| host.home(".npmrc"));
    system.into_iter().chain(global).chain(user).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_parted_at_its_first_equals_sign() {
        let text =
            "; a comment\n# another\nregistry = \"https://a.example/\"\n//a.example/:_authToken=abc=\nflag\n";
        let expected = [("registry", "https://a.example/"), ("//a.example/:_authToken", "abc=")]
            .map(|(a, b)| (a.into(), b.into()));
        assert_eq!(lines(text), expected);
    }
}
