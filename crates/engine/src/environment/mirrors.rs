//! Lockfiles whose packages have addresses of their own: where the settings have a mirror, these lead past it.

use journeyman_order::{PackageRegistry, RegistryKind, TestingSettings};
use journeyman_workspace::SourceTree;

const WITH_ADDRESSES: [(&str, &str); 2] = [
    (
        "uv.lock",
        "uv export --frozen --no-emit-project -o ~/locked.txt && uv venv && uv pip install -r ~/locked.txt",
    ),
    ("pdm.lock", "pdm export -f requirements -o ~/locked.txt && pip install -r ~/locked.txt"),
];
const PUBLIC_FILES: &str = "https://files.pythonhosted.org/";

pub(super) fn past_mirror(settings: &TestingSettings, source: &SourceTree) -> Option<String> {
    let is_mirror = |registry: &&PackageRegistry| registry.kind == RegistryKind::Pip && registry.mirror;
    let mirror = settings.registries.iter().find(is_mirror)?;
    let has_addresses = |file: &str| {
        source.read(file).is_some_and(|text| String::from_utf8_lossy(&text).contains(PUBLIC_FILES))
    };
    let (file, instead) = WITH_ADDRESSES.into_iter().find(|(file, _)| has_addresses(file))?;
    Some(format!(
        "{file} has addresses at files.pythonhosted.org, which lead past the mirror registries.{}; \
         where that host cannot be reached, `setup` may be: {instead}",
        mirror.name
    ))
}
