//! Points package managers at the gateway: variables, and files for those that read no variables. None of it is secret,
//! because the gateway needs no credential.

use super::EgressPolicy;
use super::environment::{HomeFile, PLACEHOLDER};
use super::gradle;
use super::registry::{NPM_PREFIX, RegistryUpstream};
use journeyman_order::{RegistryKind, RegistryName};

/// Go's own default.
const PUBLIC_GO: &str = "https://proxy.golang.org,direct";

/// The registries of one kind, mirrors of the public one first.
fn of_kind(access: &EgressPolicy, kind: RegistryKind) -> Vec<&RegistryUpstream> {
    let all = || access.registries.iter().filter(|upstream| upstream.registry().kind == kind);
    let (mirrors, others) =
        (all().filter(|of| of.registry().mirror), all().filter(|of| !of.registry().mirror));
    mirrors.chain(others).collect()
}

/// The variables of a job whose gateway has this loopback port.
pub(super) fn variables(port: u16, access: &EgressPolicy) -> Vec<(String, String)> {
    let mut variables: Vec<(&str, String)> = Vec::new();
    let pip = of_kind(access, RegistryKind::Pip);
    let index = pip.first().filter(|first| first.registry().mirror);
    if let Some(index) = index {
        for name in ["PIP_INDEX_URL", "UV_DEFAULT_INDEX", "PDM_PYPI_URL", "PIPENV_PYPI_MIRROR"] {
            variables.push((name, index.address(port)));
        }
    }
    let more = pip.iter().skip(usize::from(index.is_some())).map(|upstream| upstream.address(port));
    let more = more.collect::<Vec<_>>().join(" ");
    if !more.is_empty() {
        variables.push(("PIP_EXTRA_INDEX_URL", more.clone()));
        variables.push(("UV_INDEX", more));
    }
    if !of_kind(access, RegistryKind::Npm).is_empty() {
        let all = format!("http://127.0.0.1:{port}{NPM_PREFIX}");
        let names = [
            "npm_config_registry", "YARN_REGISTRY", "YARN_NPM_REGISTRY_SERVER", "BUN_CONFIG_REGISTRY",
            "COREPACK_NPM_REGISTRY",
        ];
        variables.extend(names.map(|name| (name, all.clone())));
        // A lock file names the registries that its packages once came from.
        variables.push(("npm_config_replace_registry_host", "always".to_owned()));
        variables.push(("YARN_UNSAFE_HTTP_WHITELIST", "127.0.0.1".to_owned()));
        // Files in repositories refer to these variables, and npm fails if they are unset.
        variables.extend(["NPM_TOKEN", "NODE_AUTH_TOKEN"].map(|name| (name, PLACEHOLDER.to_owned())));
    }
    let go = of_kind(access, RegistryKind::Go);
    if let Some(first) = go.first() {
        let mut proxies: Vec<String> = go.iter().map(|upstream| upstream.address(port)).collect();
        // Go treats a trailing slash as a part of the path.
        proxies.iter_mut().for_each(|proxy| proxy.truncate(proxy.trim_end_matches('/').len()));
        if !first.registry().mirror {
            proxies.push(PUBLIC_GO.to_owned());
        }
        variables.push(("GOPROXY", proxies.join(",")));
        let unknown = go.iter().flat_map(|upstream| upstream.registry().scopes.iter().map(String::as_str));
        let unknown = unknown.collect::<Vec<_>>().join(",");
        if !unknown.is_empty() {
            // Public checksum databases do not know private modules and should not learn their names.
            variables.push(("GONOSUMDB", unknown));
        }
    }
    variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Configuration for programs that only read files.
pub(super) fn home_files(port: u16, access: &EgressPolicy) -> Vec<HomeFile> {
    let files = [npm(port, access), cargo(port, access), maven(port, access)];
    let mut files: Vec<HomeFile> = files.into_iter().flatten().collect();
    if access.model.is_none() {
        files.extend(gradle::files(port, &of_kind(access, RegistryKind::Maven)));
    }
    files
}

fn npm(port: u16, access: &EgressPolicy) -> Option<HomeFile> {
    let scopes = of_kind(access, RegistryKind::Npm).into_iter().flat_map(|upstream| {
        let scopes = upstream.registry().scopes.iter();
        scopes.map(move |scope| format!("{scope}:registry={}\n", upstream.address(port)))
    });
    let text: String = scopes.collect();
    (!text.is_empty()).then_some(HomeFile { path: ".npmrc", text })
}

/// A lock file names each package's source, so the source itself is replaced by the gateway.
fn cargo(port: u16, access: &EgressPolicy) -> Option<HomeFile> {
    let registries = of_kind(access, RegistryKind::Cargo);
    let mut text = String::new();
    for (index, upstream) in registries.iter().enumerate() {
        let registry = upstream.registry();
        let source = format!("journeyman-{}", registry.name);
        let url = upstream.address(port);
        text += &format!("[source.{source}]\nregistry = \"sparse+{url}\"\n");
        if registry.mirror {
            if index == 0 {
                text += &format!("[source.crates-io]\nreplace-with = \"{source}\"\n");
            }
            continue;
        }
        let own = format!("sparse+{}/", registry.url.as_str().trim_end_matches('/'));
        let own = toml_text(&own);
        text += &format!("[source.{source}-itself]\nregistry = {own}\nreplace-with = \"{source}\"\n");
        text += &format!("[registries.{}]\nindex = {own}\n", registry.name);
    }
    (!text.is_empty()).then_some(HomeFile { path: ".cargo/config.toml", text })
}

/// TOML accepts JSON's escapes.
fn toml_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Java ignores proxy variables, so it needs this file even without a registry.
fn maven(port: u16, access: &EgressPolicy) -> Option<HomeFile> {
    if access.model.is_some() {
        return None;
    }
    let registries = of_kind(access, RegistryKind::Maven);
    let mut mirrors = String::new();
    let mut beside: Vec<(&RegistryName, String)> = Vec::new();
    for upstream in registries {
        let registry = upstream.registry();
        let (name, url) = (&registry.name, upstream.address(port));
        if registry.mirror || !registry.scopes.is_empty() {
            let of = if registry.scopes.is_empty() { "*".to_owned() } else { registry.scopes.join(",") };
            let of = xml_text(&of);
            mirrors +=
                &format!("    <mirror><id>{name}</id><mirrorOf>{of}</mirrorOf><url>{url}</url></mirror>\n");
        } else {
            beside.push((name, url));
        }
    }
    let mut repositories = String::new();
    for kind in ["repositor", "pluginRepositor"].into_iter().filter(|_| !beside.is_empty()) {
        repositories += &format!("      <{kind}ies>\n");
        for (name, url) in &beside {
            repositories += &format!("        <{kind}y><id>{name}</id><url>{url}</url></{kind}y>\n");
        }
        repositories += &format!("      </{kind}ies>\n");
    }
    let proxy = |protocol: &str| {
        format!(
            "    <proxy><id>{protocol}</id><active>true</active><protocol>{protocol}</protocol><host>127.0.0.1</host>\
             <port>{port}</port><nonProxyHosts>127.0.0.1|localhost</nonProxyHosts></proxy>\n"
        )
    };
    let mut text = format!("<settings>\n  <proxies>\n{}{}  </proxies>\n", proxy("https"), proxy("http"));
    if !mirrors.is_empty() {
        text += &format!("  <mirrors>\n{mirrors}  </mirrors>\n");
    }
    if !repositories.is_empty() {
        text += &format!(
            "  <profiles>\n    <profile>\n      <id>journeyman</id>\n{repositories}    </profile>\n  </profiles>\n  \
             <activeProfiles><activeProfile>journeyman</activeProfile></activeProfiles>\n"
        );
    }
    Some(HomeFile { path: ".m2/settings.xml", text: text + "</settings>\n" })
}

fn xml_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use journeyman_order::{OutgoingNetwork, PackageRegistry, RegistryCredential};

    fn registry(name: &str, kind: RegistryKind, mirror: bool, scopes: &[&str]) -> RegistryUpstream {
        let registry = PackageRegistry {
            name: RegistryName::parse(name).unwrap(),
            kind,
            url: format!("https://corp.example/{name}/simple").parse().unwrap(),
            credential: RegistryCredential::Token("hunter2-hunter2".to_owned().into()),
            mirror,
            scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
            within: None,
        };
        RegistryUpstream::new(registry, OutgoingNetwork::default()).unwrap()
    }

    fn told(registries: Vec<RegistryUpstream>) -> String {
        let access = EgressPolicy { registries, ..EgressPolicy::default() };
        let variables = variables(1080, &access);
        let mut text: String =
            variables.into_iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        for file in home_files(1080, &access) {
            // Gradle's script is always the same except for its first lines.
            let lines = if file.path.ends_with("journeyman.gradle") { 4 } else { usize::MAX };
            let file = HomeFile { text: file.text.split_inclusive('\n').take(lines).collect(), ..file };
            text += &format!("--- {}\n{}", file.path, file.text);
        }
        assert!(!text.contains("hunter2") && !text.contains("proxy.corp"), "{text}");
        text
    }

    #[test]
    fn package_managers_are_told_of_mirrors_and_of_registries_beside_the_public_one() {
        use RegistryKind::*;
        insta::assert_snapshot!(told(vec![
            registry("pypi", Pip, true, &[]),
            registry("more", Pip, false, &[]),
            registry("npm", Npm, true, &[]),
            registry("own", Npm, false, &["@corp", "@other"]),
            registry("crates", Cargo, true, &[]),
            registry("own-crates", Cargo, false, &[]),
            registry("modules", Go, true, &["corp.example/*"]),
            registry("central", Maven, true, &[]),
        ]), @r#"
        PIP_INDEX_URL=http://127.0.0.1:1080/registries/pypi/simple/
        UV_DEFAULT_INDEX=http://127.0.0.1:1080/registries/pypi/simple/
        PDM_PYPI_URL=http://127.0.0.1:1080/registries/pypi/simple/
        PIPENV_PYPI_MIRROR=http://127.0.0.1:1080/registries/pypi/simple/
        PIP_EXTRA_INDEX_URL=http://127.0.0.1:1080/registries/more/simple/
        UV_INDEX=http://127.0.0.1:1080/registries/more/simple/
        npm_config_registry=http://127.0.0.1:1080/npm/
        YARN_REGISTRY=http://127.0.0.1:1080/npm/
        YARN_NPM_REGISTRY_SERVER=http://127.0.0.1:1080/npm/
        BUN_CONFIG_REGISTRY=http://127.0.0.1:1080/npm/
        COREPACK_NPM_REGISTRY=http://127.0.0.1:1080/npm/
        npm_config_replace_registry_host=always
        YARN_UNSAFE_HTTP_WHITELIST=127.0.0.1
        NPM_TOKEN=held-outside-of-the-sandbox
        NODE_AUTH_TOKEN=held-outside-of-the-sandbox
        GOPROXY=http://127.0.0.1:1080/registries/modules
        GONOSUMDB=corp.example/*
        --- .npmrc
        @corp:registry=http://127.0.0.1:1080/registries/own/
        @other:registry=http://127.0.0.1:1080/registries/own/
        --- .cargo/config.toml
        [source.journeyman-crates]
        registry = "sparse+http://127.0.0.1:1080/registries/crates/"
        [source.crates-io]
        replace-with = "journeyman-crates"
        [source.journeyman-own-crates]
        registry = "sparse+http://127.0.0.1:1080/registries/own-crates/"
        [source.journeyman-own-crates-itself]
        registry = "sparse+https://corp.example/own-crates/simple/"
        replace-with = "journeyman-own-crates"
        [registries.own-crates]
        index = "sparse+https://corp.example/own-crates/simple/"
        --- .m2/settings.xml
        <settings>
          <proxies>
            <proxy><id>https</id><active>true</active><protocol>https</protocol><host>127.0.0.1</host><port>1080</port><nonProxyHosts>127.0.0.1|localhost</nonProxyHosts></proxy>
            <proxy><id>http</id><active>true</active><protocol>http</protocol><host>127.0.0.1</host><port>1080</port><nonProxyHosts>127.0.0.1|localhost</nonProxyHosts></proxy>
          </proxies>
          <mirrors>
            <mirror><id>central</id><mirrorOf>*</mirrorOf><url>http://127.0.0.1:1080/registries/central/</url></mirror>
          </mirrors>
        </settings>
        --- .gradle/gradle.properties
        systemProp.https.proxyHost=127.0.0.1
        systemProp.https.proxyPort=1080
        systemProp.http.proxyHost=127.0.0.1
        systemProp.http.proxyPort=1080
        systemProp.http.nonProxyHosts=127.0.0.1|localhost
        --- .gradle/init.d/journeyman.gradle
        def sources = [
            [own: 'https://corp.example/central/simple', door: 'http://127.0.0.1:1080/registries/central/', of: ['*']],
        ]
        def central = ~/^https?:\/\/(repo\.maven\.apache\.org|repo1\.maven\.org)\/.*/
        "#);
        insta::assert_snapshot!(told(vec![
            registry("pypi", Pip, false, &[]),
            registry("modules", Go, false, &[]),
            registry("central", Maven, false, &["central"]),
            registry("own", Maven, false, &[]),
        ]), @r#"
        PIP_EXTRA_INDEX_URL=http://127.0.0.1:1080/registries/pypi/simple/
        UV_INDEX=http://127.0.0.1:1080/registries/pypi/simple/
        GOPROXY=http://127.0.0.1:1080/registries/modules,https://proxy.golang.org,direct
        --- .m2/settings.xml
        <settings>
          <proxies>
            <proxy><id>https</id><active>true</active><protocol>https</protocol><host>127.0.0.1</host><port>1080</port><nonProxyHosts>127.0.0.1|localhost</nonProxyHosts></proxy>
            <proxy><id>http</id><active>true</active><protocol>http</protocol><host>127.0.0.1</host><port>1080</port><nonProxyHosts>127.0.0.1|localhost</nonProxyHosts></proxy>
          </proxies>
          <mirrors>
            <mirror><id>central</id><mirrorOf>central</mirrorOf><url>http://127.0.0.1:1080/registries/central/</url></mirror>
          </mirrors>
          <profiles>
            <profile>
              <id>journeyman</id>
              <repositories>
                <repository><id>own</id><url>http://127.0.0.1:1080/registries/own/</url></repository>
              </repositories>
              <pluginRepositories>
                <pluginRepository><id>own</id><url>http://127.0.0.1:1080/registries/own/</url></pluginRepository>
              </pluginRepositories>
            </profile>
          </profiles>
          <activeProfiles><activeProfile>journeyman</activeProfile></activeProfiles>
        </settings>
        --- .gradle/gradle.properties
        systemProp.https.proxyHost=127.0.0.1
        systemProp.https.proxyPort=1080
        systemProp.http.proxyHost=127.0.0.1
        systemProp.http.proxyPort=1080
        systemProp.http.nonProxyHosts=127.0.0.1|localhost
        --- .gradle/init.d/journeyman.gradle
        def sources = [
            [own: 'https://corp.example/central/simple', door: 'http://127.0.0.1:1080/registries/central/', of: ['central']],
            [own: 'https://corp.example/own/simple', door: 'http://127.0.0.1:1080/registries/own/', of: []],
        ]
        "#);
        insta::assert_snapshot!(told(Vec::new()), @r#"
        --- .m2/settings.xml
        <settings>
          <proxies>
            <proxy><id>https</id><active>true</active><protocol>https</protocol><host>127.0.0.1</host><port>1080</port><nonProxyHosts>127.0.0.1|localhost</nonProxyHosts></proxy>
            <proxy><id>http</id><active>true</active><protocol>http</protocol><host>127.0.0.1</host><port>1080</port><nonProxyHosts>127.0.0.1|localhost</nonProxyHosts></proxy>
          </proxies>
        </settings>
        --- .gradle/gradle.properties
        systemProp.https.proxyHost=127.0.0.1
        systemProp.https.proxyPort=1080
        systemProp.http.proxyHost=127.0.0.1
        systemProp.http.proxyPort=1080
        systemProp.http.nonProxyHosts=127.0.0.1|localhost
        "#);
    }
}
