//! cargo's settings: what stands in for crates.io, and registries beside it.

use std::path::PathBuf;

use secrecy::SecretString;
use toml::{Table, Value};

use super::{HostFindings, NamedRegistry};
use journeyman_order::{RegistryCredential, RegistryKind};

/// Replacements of replacements; more are a circle.
const MOST_REPLACED: usize = 8;

pub(super) fn read(found: &mut HostFindings<'_>) {
    let Some(home) = found.host.named_or_home("CARGO_HOME", ".cargo") else { return };
    let (settings, from) = table(found, &home, ["config.toml", "config"]);
    let (credentials, _) = table(found, &home, ["credentials.toml", "credentials"]);
    let registries = settings.get("registries").and_then(Value::as_table).cloned().unwrap_or_default();
    let token = |name: &str| -> Option<String> {
        let variable = format!("CARGO_REGISTRIES_{}_TOKEN", name.to_ascii_uppercase().replace('-', "_"));
        let stored =
            |table: &Table| Some(table.get("registries")?.get(name)?.get("token")?.as_str()?.to_owned());
        let given = found.host.variable(&variable).map(str::to_owned);
        given.or_else(|| stored(&credentials)).or_else(|| stored(&settings))
    };
    let index = |name: &str, table: &Value| -> Option<(String, String)> {
        let variable = format!("CARGO_REGISTRIES_{}_INDEX", name.to_ascii_uppercase().replace('-', "_"));
        match found.host.variable(&variable) {
            Some(index) => Some((index.to_owned(), variable)),
            None => Some((table.get("index")?.as_str()?.to_owned(), from.clone())),
        }
    };
    let mut named: Vec<(String, String, Option<String>, Option<String>)> = Vec::new();
    if let Some((url, origin)) = mirror(&settings) {
        let same = |(name, table): (&String, &Value)| {
            let (index, _) = index(name, table)?;
            (index.trim_end_matches('/') == url.trim_end_matches('/')).then(|| token(name)).flatten()
        };
        let token = registries.iter().find_map(same).or_else(|| token(&origin));
        named.push((url, from.clone(), token, None));
    }
    for (name, table) in &registries {
        if let Some((url, from)) = index(name, table) {
            named.push((url, from, token(name), Some(name.clone())));
        }
    }
    for (url, from, token, known_as) in named {
        let Some(url) = url.strip_prefix("sparse+") else {
            found.skip(&from, "a registry for cargo: only sparse indexes (`sparse+https://…`) can be taken");
            continue;
        };
        let token = token.map(SecretString::from);
        let credential = token.map_or(RegistryCredential::None, RegistryCredential::Token);
        let mirror = known_as.is_none();
        found.add(
            &from,
            NamedRegistry { credential, mirror, known_as, ..NamedRegistry::new(RegistryKind::Cargo, url) },
        );
    }
}

/// What stands in for crates.io in the end, and what that source is called.
fn mirror(settings: &Table) -> Option<(String, String)> {
    let sources = settings.get("source")?.as_table()?;
    let mut name = "crates-io".to_owned();
    for _ in 0..MOST_REPLACED {
        let source = sources.get(&name)?;
        match source.get("replace-with").and_then(Value::as_str) {
            Some(next) => next.clone_into(&mut name),
            // A folder with sources is no registry.
            None => return Some((source.get("registry")?.as_str()?.to_owned(), name)),
        }
    }
    None
}

/// The first of these files that is there; older ones have no ending.
fn table(found: &mut HostFindings<'_>, home: &std::path::Path, names: [&str; 2]) -> (Table, String) {
    let files: [PathBuf; 2] = names.map(|name| home.join(name));
    for file in files {
        if let Some(text) = found.host.text(&file) {
            let from = file.display().to_string();
            match toml::from_str(&text) {
                Ok(table) => return (table, from),
                // The parser's own words show lines, and with them perhaps a secret.
                Err(_) => found.skip(&from, "settings of cargo: they are not TOML"),
            }
        }
    }
    (Table::new(), String::new())
}
