//! The registries that setups use: from the settings, and from this machine's own pip, npm and cargo configuration.

use std::path::Path;

use crate::config::{DoctorFinding, FindingLevel, HostRegistry, SandboxSettings, host_registries};
use crate::gateway::RegistryUpstream;
use crate::order::{PackageRegistry, RegistryCredential, TestingSettings};

/// Adds this machine's registries if the settings allow it, and reports which came from where.
///
/// # Errors
/// If a registry of the settings cannot be used.
pub fn complete_registries(
    sandbox: &SandboxSettings,
    testing: &mut TestingSettings,
) -> anyhow::Result<Vec<DoctorFinding>> {
    let host = match sandbox.host_registries {
        true => host_registries(Path::new("/"), std::env::vars()),
        false => Vec::new(),
    };
    merge(testing, host)
}

/// Registries of the settings take precedence.
fn merge(testing: &mut TestingSettings, host: Vec<HostRegistry>) -> anyhow::Result<Vec<DoctorFinding>> {
    let mut notes = Vec::new();
    for own in &testing.registries {
        RegistryUpstream::new(own.clone(), testing.outgoing.clone())?;
        notes.push(DoctorFinding::new(&format!("registries.{}", own.name), told(own), FindingLevel::Good));
    }
    let own = testing.registries.clone();
    for HostRegistry { taken_from, registry } in host {
        let (text, level) = match registry {
            Err(because) => (format!("not taken: {because}"), FindingLevel::Warning),
            Ok(registry) => match own.iter().find(|own| stands_before(own, &registry)) {
                Some(own) => {
                    let text = format!("not taken: registries.{} of the settings stands before it", own.name);
                    (text, FindingLevel::Good)
                }
                None => match RegistryUpstream::new(registry.clone(), testing.outgoing.clone()) {
                    Ok(_) => {
                        let text = told(&registry);
                        testing.registries.push(registry);
                        (text, FindingLevel::Good)
                    }
                    Err(error) => (format!("not taken: {}", error.problem), FindingLevel::Warning),
                },
            },
        };
        notes.push(DoctorFinding::new(&taken_from, text, level));
    }
    Ok(notes)
}

/// Whether `own` replaces `of_host`: the same registry, or another mirror of the public one.
fn stands_before(own: &PackageRegistry, of_host: &PackageRegistry) -> bool {
    own.name == of_host.name || (own.kind == of_host.kind && (own.mirror || own.url == of_host.url))
}

fn told(registry: &PackageRegistry) -> String {
    let PackageRegistry { kind, url, credential, mirror, scopes, .. } = registry;
    let for_what = match (mirror, scopes.is_empty()) {
        (true, _) => ", in place of the public one".to_owned(),
        (false, true) => String::new(),
        (false, false) => format!(", for {}", scopes.join(", ")),
    };
    let with = match credential {
        RegistryCredential::None => "without a credential",
        RegistryCredential::Password { .. } => "with a name and a password",
        RegistryCredential::Token(_) => "with a token",
    };
    format!("{kind}: {url}{for_what}, {with}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::{RegistryKind, RegistryName};

    fn registry(name: &str, kind: RegistryKind, url: &str, mirror: bool) -> PackageRegistry {
        PackageRegistry {
            name: RegistryName::parse(name).expect("a name"),
            kind,
            url: url.parse().expect("an address"),
            credential: RegistryCredential::Token("t0ken-t0ken".into()),
            mirror,
            scopes: Vec::new(),
            within: None,
        }
    }

    fn of_host(registry: PackageRegistry) -> HostRegistry {
        HostRegistry { taken_from: "~/.npmrc".to_owned(), registry: Ok(registry) }
    }

    #[test]
    fn the_settings_stand_before_the_machine_and_all_is_told_without_secrets() {
        let mut testing = TestingSettings {
            registries: vec![registry("corp", RegistryKind::Npm, "https://npm.example/", true)],
            ..TestingSettings::default()
        };
        let host = vec![
            of_host(registry("host-npm", RegistryKind::Npm, "https://mirror.example/", true)),
            of_host(registry("host-pip", RegistryKind::Pip, "http://pypi.example/simple", true)),
            of_host(registry("host-cargo", RegistryKind::Cargo, "http://localhost:3141/index/", true)),
            HostRegistry { taken_from: "PIP_INDEX_URL".to_owned(), registry: Err("so") },
        ];
        let notes = merge(&mut testing, host).expect("the settings' own can be used");
        let names: Vec<&str> = testing.registries.iter().map(|registry| registry.name.as_str()).collect();
        assert_eq!(names, ["corp", "host-cargo"]);
        let text: Vec<String> = notes.iter().map(|note| format!("{}: {}", note.about, note.text)).collect();
        insta::assert_snapshot!(text.join("\n"), @r#"
        registries.corp: npm: https://npm.example/, in place of the public one, with a token
        ~/.npmrc: not taken: registries.corp of the settings stands before it
        ~/.npmrc: not taken: its address has to be https://HOST/PATH, without user, query and fragment; http:// only on this machine, at private addresses and for names of one's own network (`at` says which network that is)
        ~/.npmrc: cargo: http://localhost:3141/index/, in place of the public one, with a token
        PIP_INDEX_URL: not taken: so
        "#);
        testing.registries = vec![registry("bad", RegistryKind::Npm, "http://npm.example/", true)];
        let error = merge(&mut testing, Vec::new()).expect_err("it is plain").to_string();
        assert!(error.contains("registries.bad.url") && !error.contains("t0ken"), "{error}");
    }
}
