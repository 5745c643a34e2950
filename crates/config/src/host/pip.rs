//! pip's settings, and the variables of uv.

use std::path::PathBuf;

use super::{HostFindings, NamedRegistry, lines_of_values};
use journeyman_order::{RegistryCredential, RegistryKind};

/// A value, and what says it.
type SaidValue = Option<(String, String)>;

pub(super) fn read(found: &mut HostFindings<'_>) {
    let (mut index, mut extra): (SaidValue, SaidValue) = (None, None);
    for file in files(found) {
        let Some(text) = found.host.text(&file) else { continue };
        let values = lines_of_values(&text);
        for wanted in ["global", "install"] {
            for (_, name, value) in values.iter().filter(|(section, ..)| section == wanted) {
                let said = Some((value.clone(), file.display().to_string()));
                match name.replace('_', "-").as_str() {
                    "index-url" => index = said,
                    "extra-index-url" => extra = said,
                    _ => {}
                }
            }
        }
    }
    let variable = |name: &str| Some((found.host.variable(name)?.to_owned(), name.to_owned()));
    index = variable("PIP_INDEX_URL")
        .or(index)
        .or_else(|| variable("UV_DEFAULT_INDEX"))
        .or_else(|| variable("UV_INDEX_URL"));
    extra = variable("PIP_EXTRA_INDEX_URL").or(extra);
    if let Some((url, from)) = index {
        add(found, &from, &url, true);
    }
    if let Some((urls, from)) = extra {
        for url in urls.split_whitespace() {
            add(found, &from, url, false);
        }
    }
}

fn add(found: &mut HostFindings<'_>, from: &str, url: &str, mirror: bool) {
    // Its own address comes first, and one without is looked up.
    let has_user =
        url.split("//").nth(1).and_then(|rest| rest.split('/').next()).is_some_and(|host| host.contains('@'));
    let credential = if has_user { RegistryCredential::None } else { found.of_netrc(url) };
    found.add(from, NamedRegistry { credential, mirror, ..NamedRegistry::new(RegistryKind::Pip, url) });
}

/// Those that are read later go over those before.
fn files(found: &HostFindings<'_>) -> Vec<PathBuf> {
    let host = found.host;
    let own = host.variable("PIP_CONFIG_FILE").map(PathBuf::from);
    if own.as_ref().is_some_and(|own| own.as_os_str() == "/dev/null") {
        return Vec::new();
    }
    let shared = host.variable("XDG_CONFIG_DIRS").map_or_else(
        || vec![host.system("etc/xdg/pip/pip.conf")],
        |folders| folders.split(':').map(|folder| PathBuf::from(folder).join("pip/pip.conf")).collect(),
    );
    let user = match host.variable("XDG_CONFIG_HOME") {
        Some(folder) => Some(PathBuf::from(folder).join("pip/pip.conf")),
        None => host.home(".config/pip/pip.conf"),
    };
    let last = [host.home(".pip/pip.conf"), user, own];
    let system = [host.system("etc/pip.conf")];
    shared.into_iter().chain(system).chain(last.into_iter().flatten()).collect()
}
