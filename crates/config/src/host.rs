//! The package indexes that this machine's pip, npm and cargo use instead of the public ones.
//!
//! Only the index's address is read. Scopes, tokens and further registries belong in `[registries.NAME]`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::Table;
use url::Url;

use super::network::split_credential;
use journeyman_order::bounds::LARGEST_DOCUMENT;
use journeyman_order::{PackageRegistry, RegistryCredential, RegistryKind, RegistryName, byte_order_mark};

/// Hosts that package managers use by default.
const PUBLIC: [&str; 4] = ["pypi.org", "registry.npmjs.org", "registry.yarnpkg.com", "index.crates.io"];
const UNUSABLE: &str =
    "its address cannot be used; name the registry in [registries.NAME], and its credential in key_env";
const NOT_SPARSE: &str = "only a sparse index (`sparse+https://…`) can be used";

/// The file or variable that names an index, and the index's address.
type NamedIndex = (String, String);

/// A package index that this machine is configured with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRegistry {
    /// The file or variable that names it.
    pub taken_from: String,
    /// The index, or why it cannot be used. The reason repeats no part of the address.
    pub registry: Result<PackageRegistry, &'static str>,
}

/// Reads the machine's configuration from the files below `root` and these variables of the user.
pub fn host_registries(root: &Path, variables: impl Iterator<Item = (String, String)>) -> Vec<HostRegistry> {
    let host = HostSettings { root: root.to_owned(), variables: variables.collect() };
    let all = [
        (RegistryKind::Pip, host.pip()),
        (RegistryKind::Npm, host.npm()),
        (RegistryKind::Cargo, host.cargo()),
    ];
    let named = all.into_iter().filter_map(|(kind, named)| {
        let (taken_from, address) = named?;
        Some(HostRegistry { taken_from, registry: registry(kind, &address) })
    });
    named.filter(|named| !named.registry.as_ref().is_ok_and(is_public)).collect()
}

fn registry(kind: RegistryKind, address: &str) -> Result<PackageRegistry, &'static str> {
    let address = if kind == RegistryKind::Cargo {
        address.strip_prefix("sparse+").ok_or(NOT_SPARSE)?
    } else {
        address
    };
    let url = Url::parse(address).ok().filter(|url| {
        // A user without a password is often a token. npm would substitute a variable in `${…}`.
        (url.username().is_empty() || url.password().is_some()) && !address.contains("${")
    });
    let (url, credential) = url.and_then(split_credential).ok_or(UNUSABLE)?;
    let name = RegistryName::parse(&format!("host-{kind}")).map_err(|_| UNUSABLE)?;
    Ok(PackageRegistry { name, kind, url, credential, mirror: true, scopes: Vec::new(), within: None })
}

fn is_public(registry: &PackageRegistry) -> bool {
    registry.credential == RegistryCredential::None
        && registry.url.host_str().is_some_and(|host| PUBLIC.contains(&host))
}

struct HostSettings {
    root: PathBuf,
    variables: BTreeMap<String, String>,
}

impl HostSettings {
    fn pip(&self) -> Option<NamedIndex> {
        let own = self.variable("PIP_CONFIG_FILE");
        let user = [".config/pip/pip.conf", ".pip/pip.conf"].map(|path| self.home(path));
        let system = ["etc/pip.conf", "etc/xdg/pip/pip.conf"].map(|path| self.root.join(path));
        // With this value, pip reads no configuration file.
        let files = own.map(PathBuf::from).into_iter().chain(user).chain(system);
        let files = files.filter(|_| own != Some("/dev/null"));
        self.in_variable(&["PIP_INDEX_URL"])
            .or_else(|| in_files(files, "global", "index-url"))
            .or_else(|| self.in_variable(&["UV_DEFAULT_INDEX", "UV_INDEX_URL"]))
    }

    fn npm(&self) -> Option<NamedIndex> {
        let user = self.variable("NPM_CONFIG_USERCONFIG").map_or_else(|| self.home(".npmrc"), PathBuf::from);
        let system = ["usr/local/etc/npmrc", "usr/etc/npmrc", "etc/npmrc"].map(|path| self.root.join(path));
        self.in_variable(&["npm_config_registry", "NPM_CONFIG_REGISTRY"])
            .or_else(|| in_files(std::iter::once(user).chain(system), "", "registry"))
    }

    fn cargo(&self) -> Option<NamedIndex> {
        let home = self.variable("CARGO_HOME").map_or_else(|| self.home(".cargo"), PathBuf::from);
        let file = home.join("config.toml");
        let settings: Table = toml::from_str(&text(&file)?).ok()?;
        let sources = settings.get("source")?;
        let mirror = sources.get("crates-io")?.get("replace-with")?.as_str()?;
        let index = sources.get(mirror)?.get("registry")?.as_str()?;
        Some((file.display().to_string(), index.to_owned()))
    }

    fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    fn in_variable(&self, names: &[&str]) -> Option<NamedIndex> {
        names.iter().find_map(|name| Some(((*name).to_owned(), self.variable(name)?.to_owned())))
    }

    fn home(&self, path: &str) -> PathBuf {
        Path::new(self.variable("HOME").unwrap_or_default()).join(path)
    }
}

/// The value in the first of these files that has it.
fn in_files(mut files: impl Iterator<Item = PathBuf>, section: &str, name: &str) -> Option<NamedIndex> {
    files.find_map(|file| Some((file.display().to_string(), value(&text(&file)?, section, name)?)))
}

/// Skips relative paths: the current folder is not trusted.
fn text(file: &Path) -> Option<String> {
    let is_small = |data: std::fs::Metadata| data.is_file() && data.len() <= LARGEST_DOCUMENT as u64;
    let is_read = file.is_absolute() && std::fs::metadata(file).is_ok_and(is_small);
    let text = is_read.then(|| std::fs::read_to_string(file).ok()).flatten()?;
    Some(byte_order_mark::strip(&text).to_owned())
}

/// The last value of this name in an INI file's section. npm's file has no sections.
fn value(text: &str, section: &str, name: &str) -> Option<String> {
    let (mut is_inside, mut found) = (section.is_empty(), None);
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        if let Some(header) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            is_inside = header.trim() == section;
        } else if is_inside
            && let Some((key, value)) = line.split_once(['=', ':'])
            && key.trim().replace('_', "-") == name
        {
            found = Some(value.trim().trim_matches(['"', '\'']).to_owned());
        }
    }
    found.filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use secrecy::ExposeSecret;

    use super::*;

    /// Formats what is read on a machine with these files (`~` is the user's home) and these variables.
    fn told(files: &[(&str, &str)], variables: &[(&str, &str)]) -> String {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("home/ada");
        for (path, text) in files {
            let path = match path.strip_prefix("~/") {
                Some(below) => home.join(below),
                None => root.path().join(path),
            };
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let of_home = ("HOME".to_owned(), home.display().to_string());
        let others = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let mut told = String::new();
        for HostRegistry { taken_from, registry } in host_registries(root.path(), others.chain([of_home])) {
            let text = match &registry {
                Ok(PackageRegistry {
                    name, url, credential: RegistryCredential::None, mirror: true, ..
                }) => {
                    format!("{name}: {url}")
                }
                Ok(PackageRegistry {
                    name,
                    url,
                    credential: RegistryCredential::Password { user, password },
                    ..
                }) => format!("{name}: {url} with {user} / {}", password.expose_secret()),
                other => format!("{other:?}"),
            };
            told += &format!("{text} ({taken_from})\n");
        }
        told.replace(&root.path().display().to_string(), "")
    }

    #[test]
    fn public_indexes_and_everything_beside_the_index_are_not_taken() {
        assert_eq!(told(&[], &[]), "");
        let files = [
            (
                "etc/pip.conf",
                "[global]\nindex-url = https://pypi.org/simple\nextra-index-url = https://b.example/simple\n",
            ),
            ("~/.npmrc", "registry=https://registry.npmjs.org/\n@corp:registry=https://b.example/\n"),
            ("~/.cargo/config.toml", "[registries.corp]\nindex = \"sparse+https://b.example/\"\n"),
            ("~/.config/go/env", "GOPROXY=https://b.example/\n"),
        ];
        assert_eq!(told(&files, &[("GOPROXY", "https://b.example/")]), "");
    }

    #[test]
    fn the_index_of_each_package_manager_is_read_from_variables_and_files() {
        let cargo = "[source.crates-io]\nreplace-with = \"a\"\n[source.a]\nregistry = \"sparse+https://c.example/\"\n";
        let files = [
            ("etc/pip.conf", "[global]\nindex-url = https://system.example/simple\n"),
            (
                "~/.config/pip/pip.conf",
                "# mine\n[global]\nindex_url: https://p.example/simple\n[install]\nx = y\n",
            ),
            ("etc/npmrc", "registry=https://system.example/npm/\n"),
            ("~/.npmrc", "; mine\n//n.example/:_authToken=t0ken\nregistry = \"https://n.example/npm/\"\n"),
            ("~/.cargo/config.toml", cargo),
        ];
        insta::assert_snapshot!(told(&files, &[("UV_INDEX_URL", "https://uv.example/")]), @r#"
        host-pip: https://p.example/simple (/home/ada/.config/pip/pip.conf)
        host-npm: https://n.example/npm/ (/home/ada/.npmrc)
        host-cargo: https://c.example/ (/home/ada/.cargo/config.toml)
        "#);
        let variables =
            [("PIP_INDEX_URL", "https://p2.example/"), ("npm_config_registry", "https://n2.example/")];
        insta::assert_snapshot!(told(&files[..4], &variables), @r#"
        host-pip: https://p2.example/ (PIP_INDEX_URL)
        host-npm: https://n2.example/ (npm_config_registry)
        "#);
        let variables = [("PIP_CONFIG_FILE", "/dev/null"), ("UV_DEFAULT_INDEX", "https://uv.example/")];
        insta::assert_snapshot!(told(&files[..2], &variables), @r#"
        host-pip: https://uv.example/ (UV_DEFAULT_INDEX)
        "#);
    }

    #[test]
    fn a_credential_is_split_from_the_address_and_never_printed() {
        let pip = [("PIP_INDEX_URL", "https://ada:p%40ss@a.example/simple")];
        insta::assert_snapshot!(told(&[], &pip), @r#"
        host-pip: https://a.example/simple with ada / p@ss (PIP_INDEX_URL)
        "#);
        let variable = |address: &str| std::iter::once(("PIP_INDEX_URL".to_owned(), address.to_owned()));
        for address in
            ["https://ada:hunter2@a.example/", "https://hunter2@a.example/", "hunter2", "file:///hunter2"]
        {
            let read = host_registries(Path::new("/nowhere"), variable(address));
            assert!(read.len() == 1 && !format!("{read:?}").contains("hunter2"), "{address}");
        }
    }

    #[test]
    fn what_cannot_be_used_is_reported_and_junk_does_no_harm() {
        let cargo = "[source.crates-io]\nreplace-with = \"a\"\n[source.a]\nregistry = \"https://git.example/index\"\n";
        let files = [("~/.npmrc", "registry=https://${HOST}/\n"), ("~/.cargo/config.toml", cargo)];
        insta::assert_snapshot!(told(&files, &[("PIP_INDEX_URL", "https://token@a.example/")]), @r#"
        Err("its address cannot be used; name the registry in [registries.NAME], and its credential in key_env") (PIP_INDEX_URL)
        Err("its address cannot be used; name the registry in [registries.NAME], and its credential in key_env") (/home/ada/.npmrc)
        Err("only a sparse index (`sparse+https://…`) can be used") (/home/ada/.cargo/config.toml)
        "#);
        for junk in ["", "\0", "[[[", "registry", "registry=", "=x", "[global]\nindex-url", "${"] {
            for file in ["etc/pip.conf", "~/.npmrc", "~/.cargo/config.toml"] {
                assert_eq!(told(&[(file, junk)], &[]), "", "{file}: {junk}");
            }
        }
    }
}
