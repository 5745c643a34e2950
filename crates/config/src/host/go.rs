//! Go's settings: its module proxies, and which modules no public database knows.

use super::{HostFindings, NamedRegistry, lines_of_values};
use journeyman_order::RegistryKind;

const PUBLIC: &str = "https://proxy.golang.org";

pub(super) fn read(found: &mut HostFindings<'_>) {
    let folder = found.host.variable("XDG_CONFIG_HOME").map(|folder| format!("{folder}/go/env"));
    let file = found.host.variable("GOENV").map(str::to_owned).or(folder).map(Into::into);
    let file = file.or_else(|| found.host.home(".config/go/env"));
    let text = file.as_ref().and_then(|file| found.host.text(file)).unwrap_or_default();
    let stored = lines_of_values(&text);
    let said = |name: &str| -> Option<(String, String)> {
        let variable = found.host.variable(name).map(|value| (value.to_owned(), name.to_owned()));
        let in_file = || {
            let (.., value) = stored.iter().rev().find(|(_, known, _)| known == name)?;
            Some((value.clone(), file.as_ref()?.display().to_string()))
        };
        variable.or_else(in_file)
    };
    let Some((proxies, from)) = said("GOPROXY") else { return };
    let proxies: Vec<&str> = proxies.split([',', '|']).map(str::trim).collect();
    let has_public = proxies.iter().any(|proxy| proxy.trim_end_matches('/') == PUBLIC);
    let unknown = if said("GOSUMDB").is_some_and(|(value, _)| value == "off") {
        Some("*".to_owned())
    } else {
        said("GONOSUMDB").or_else(|| said("GOPRIVATE")).map(|(value, _)| value)
    };
    let scopes: Vec<String> = unknown
        .iter()
        .flat_map(|patterns| patterns.split(',').map(str::trim))
        .filter(|pattern| !pattern.is_empty())
        .map(str::to_owned)
        .collect();
    for url in proxies.into_iter().filter(|proxy| !matches!(*proxy, "" | "direct" | "off")) {
        let credential = found.of_netrc(url);
        let named = NamedRegistry::new(RegistryKind::Go, url);
        found.add(&from, NamedRegistry { credential, mirror: !has_public, scopes: scopes.clone(), ..named });
    }
}
