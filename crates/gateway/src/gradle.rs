//! Points Gradle at the gateway: a proxy, since Java ignores proxy variables, and a script that redirects a build's
//! repositories to the registries that replace them. None of it is secret.

use super::environment::HomeFile;
use super::registry::RegistryUpstream;

/// Works from Gradle 4 on.
const SCRIPT: &str = r"
def central = ~/^https?:\/\/(repo\.maven\.apache\.org|repo1\.maven\.org)\/.*/
def redirect = { repository ->
    if (!(repository instanceof org.gradle.api.artifacts.repositories.MavenArtifactRepository)) return
    def at = repository.url == null ? '' : repository.url.toString()
    if (!at.startsWith('http') || at.startsWith('http://127.0.0.1:')) return
    def source = sources.find { one ->
        at == one.own || at.startsWith(one.own + '/') || one.of.any { of ->
            of == '*' || of == 'external:*' || of == repository.name || (of == 'central' && at ==~ central)
        }
    }
    if (source == null) return
    repository.url = source.door
    if (repository.respondsTo('setAllowInsecureProtocol')) repository.allowInsecureProtocol = true
}
allprojects {
    buildscript.repositories.all(redirect)
    repositories.all(redirect)
}
settingsEvaluated { settings ->
    def plugins = settings.pluginManagement.repositories
    plugins.all(redirect)
    // Without one of its own a build has plugins from the portal, which is a repository like others then.
    if (plugins.empty && sources.any { it.of.contains('*') }) plugins.gradlePluginPortal()
    if (settings.hasProperty('dependencyResolutionManagement')) {
        settings.dependencyResolutionManagement.repositories.all(redirect)
    }
}
";

/// The files of a job whose gateway has this loopback port, for these Maven registries.
pub(super) fn files(port: u16, registries: &[&RegistryUpstream]) -> Vec<HomeFile> {
    let mut properties = String::new();
    for scheme in ["https", "http"] {
        properties +=
            &format!("systemProp.{scheme}.proxyHost=127.0.0.1\nsystemProp.{scheme}.proxyPort={port}\n");
    }
    properties += "systemProp.http.nonProxyHosts=127.0.0.1|localhost\n";
    let mut files = vec![HomeFile { path: ".gradle/gradle.properties", text: properties }];
    if !registries.is_empty() {
        let sources: String = registries.iter().map(|upstream| source(upstream, port)).collect();
        let text = format!("def sources = [\n{sources}]{SCRIPT}");
        files.push(HomeFile { path: ".gradle/init.d/journeyman.gradle", text });
    }
    files
}

fn source(upstream: &RegistryUpstream, port: u16) -> String {
    let registry = upstream.registry();
    let of: Vec<String> = match (registry.mirror, registry.scopes.as_slice()) {
        (true, []) => vec![groovy_text("*")],
        // Beside other registries it replaces only the repositories that builds name by its address.
        (_, scopes) => scopes.iter().map(|scope| groovy_text(scope)).collect(),
    };
    let own = groovy_text(registry.url.as_str().trim_end_matches('/'));
    format!("    [own: {own}, door: {}, of: [{}]],\n", groovy_text(&upstream.address(port)), of.join(", "))
}

fn groovy_text(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::groovy_text;

    #[test]
    fn a_text_ends_where_it_ends() {
        assert_eq!(groovy_text("https://h/a"), "'https://h/a'");
        assert_eq!(groovy_text(r"a'); println('b \"), r"'a\'); println(\'b \\'");
        assert_eq!(groovy_text("${x}"), "'${x}'", "nothing is put in for it");
    }
}
