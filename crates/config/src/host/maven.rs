//! Maven's settings: its mirrors, and the servers' names and passwords.

use std::collections::BTreeMap;
use std::path::PathBuf;

use quick_xml::Reader;
use quick_xml::events::Event;

use super::{HostFindings, NamedRegistry, expanded, password_of};
use journeyman_order::{RegistryCredential, RegistryKind};

/// Elements within elements; more are no settings.
const DEEPEST: usize = 64;

pub(super) fn read(found: &mut HostFindings<'_>) {
    let mut mirrors: BTreeMap<String, (BTreeMap<String, String>, String)> = BTreeMap::new();
    let mut servers: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for file in files(found) {
        let Some(text) = found.host.text(&file) else { continue };
        let from = file.display().to_string();
        let Some(entries) = entries(&text) else {
            found.skip(&from, "settings of Maven: they are not XML");
            continue;
        };
        for (kind, entry) in entries {
            let Some(id) = entry.get("id").cloned() else { continue };
            match kind {
                MavenEntry::Mirror => drop(mirrors.insert(id, (entry, from.clone()))),
                MavenEntry::Server => drop(servers.insert(id, entry)),
            }
        }
    }
    for (id, (mirror, from)) in mirrors {
        // One of these keeps Maven from plain HTTP, and leads nowhere.
        if mirror.get("blocked").is_some_and(|blocked| blocked == "true") {
            continue;
        }
        let (Some(url), Some(of)) = (mirror.get("url"), mirror.get("mirrorOf")) else { continue };
        let credential = match credential(found, servers.get(&id)) {
            Ok(credential) => credential,
            Err(because) => {
                found.skip(&from, format!("a mirror for maven: {because}"));
                continue;
            }
        };
        let is_of_all = matches!(of.as_str(), "*" | "external:*");
        let scopes =
            if is_of_all { Vec::new() } else { of.split(',').map(|of| of.trim().to_owned()).collect() };
        let named = NamedRegistry::new(RegistryKind::Maven, url);
        found.add(&from, NamedRegistry { credential, mirror: is_of_all, scopes, ..named });
    }
}

fn credential(
    found: &HostFindings<'_>,
    server: Option<&BTreeMap<String, String>>,
) -> Result<RegistryCredential, &'static str> {
    let Some(server) = server else { return Ok(RegistryCredential::None) };
    let variable =
        |name: &str| name.strip_prefix("env.").and_then(|name| found.host.variable(name)).map(str::to_owned);
    let said = |name: &str| match server.get(name) {
        None => Ok(None),
        Some(text) => {
            expanded(text, &variable).map(Some).ok_or("its server names a variable that is not set")
        }
    };
    match (said("username")?, said("password")?) {
        (_, Some(password)) if password.starts_with('{') => Err("its server's password is encrypted"),
        (Some(user), Some(password)) => Ok(password_of(user, password)),
        (_, None) | (None, Some(_)) => Ok(RegistryCredential::None),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MavenEntry {
    Mirror,
    Server,
}

/// Mirrors and servers, each with the texts of its elements.
fn entries(text: &str) -> Option<Vec<(MavenEntry, BTreeMap<String, String>)>> {
    let mut reader = Reader::from_str(text);
    let mut entries = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    loop {
        let kind = match open.get(1..3).map(|path| path.join("/")).as_deref() {
            Some("mirrors/mirror") => Some(MavenEntry::Mirror),
            Some("servers/server") => Some(MavenEntry::Server),
            Some(_) | None => None,
        };
        match reader.read_event().ok()? {
            Event::Start(start) => {
                open.push(start.local_name().as_ref().to_owned());
                if open.len() > DEEPEST {
                    return None;
                }
            }
            Event::End(_) => {
                if let Some(kind) = kind.filter(|_| open.len() == 3) {
                    let values = std::mem::take(&mut values).into_iter();
                    entries.push((kind, values.map(|(name, text)| (name, text.trim().to_owned())).collect()));
                }
                open.pop();
            }
            Event::Text(text) if kind.is_some() && open.len() == 4 => {
                values.entry(open.last()?.clone()).or_default().push_str(&text);
            }
            Event::GeneralRef(named) if kind.is_some() && open.len() == 4 => {
                let character = match named.resolve_char_ref().ok()? {
                    Some(character) => character.to_string(),
                    None => quick_xml::escape::resolve_predefined_entity(&named)?.to_owned(),
                };
                values.entry(open.last()?.clone()).or_default().push_str(&character);
            }
            Event::Eof => return open.is_empty().then_some(entries),
            Event::Text(_)
            | Event::Empty(_)
            | Event::CData(_)
            | Event::Comment(_)
            | Event::Decl(_)
            | Event::PI(_)
            | Event::DocType(_)
            | Event::GeneralRef(_) => {}
        }
    }
}

/// Those that are read later go over those before.
fn files(found: &HostFindings<'_>) -> Vec<PathBuf> {
    let host = found.host;
    let homes = ["MAVEN_HOME", "M2_HOME"].into_iter().filter_map(|name| host.variable(name));
    let homes = homes.map(|home| PathBuf::from(home).join("conf/settings.xml"));
    std::iter::once(host.system("etc/maven/settings.xml"))
        .chain(homes)
        .chain(host.home(".m2/settings.xml"))
        .collect()
}
