//! The registries that setups are led to: those of the settings, and those that this machine's own package managers are
//! set to.

use std::path::Path;

use crate::config::{DoctorFinding, FindingLevel, HostRegistries, HostRegistry, SandboxSettings};
use crate::gateway::RegistryUpstream;
use crate::order::{PackageRegistry, RegistryCredential, TestingSettings};

/// Adds what this machine is set to, where the settings let it, and says what was taken from where.
///
/// # Errors
/// When a registry of the settings cannot be used.
pub fn complete_registries(
    sandbox: &SandboxSettings,
    testing: &mut TestingSettings,
) -> anyhow::Result<Vec<DoctorFinding>> {
    let host = match sandbox.host_registries {
        true => HostRegistries::read(Path::new("/"), std::env::vars()),
        false => HostRegistries::default(),
    };
    merge(testing, host)
}

/// Those of the settings win.
fn merge(testing: &mut TestingSettings, host: HostRegistries) -> anyhow::Result<Vec<DoctorFinding>> {
    let mut notes = Vec::new();
    for own in &testing.registries {
        RegistryUpstream::new(own.clone(), testing.outgoing.clone())?;
        notes.push(DoctorFinding::new(&format!("registries.{}", own.name), told(own), FindingLevel::Good));
    }
    let own = testing.registries.clone();
    for HostRegistry { registry, taken_from: from } in host.found {
        let (text, level) = match own.iter().find(|own| stands_before(own, &registry)) {
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
        };
        notes.push(DoctorFinding::new(&from, text, level));
    }
    notes.extend(host.skipped.iter().map(|skipped| {
        let text = format!("not taken: {}", skipped.because);
        DoctorFinding::new(&skipped.taken_from, text, FindingLevel::Warning)
    }));
    Ok(notes)
}

/// The same registry, or another for the same packages.
fn stands_before(own: &PackageRegistry, of_host: &PackageRegistry) -> bool {
    let is_same = own.url == of_host.url || own.name == of_host.name;
    let has_its_scopes = own.scopes.iter().any(|scope| of_host.scopes.contains(scope));
    own.kind == of_host.kind
        && (is_same || (own.mirror && of_host.mirror) || has_its_scopes || own.known_as == of_host.known_as)
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
    use crate::config::SkippedRegistry;
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
            known_as: name.to_owned(),
        }
    }

    fn of_host(registry: PackageRegistry) -> HostRegistry {
        HostRegistry { registry, taken_from: "~/.npmrc".to_owned() }
    }

    #[test]
    fn the_settings_stand_before_the_machine_and_all_is_told_without_secrets() {
        let mut testing = TestingSettings {
            registries: vec![registry("corp", RegistryKind::Npm, "https://npm.example/", true)],
            ..TestingSettings::default()
        };
        let scoped = PackageRegistry {
            scopes: vec!["@corp".to_owned()],
            ..registry("host-npm-2", RegistryKind::Npm, "https://own.example/", false)
        };
        let host = HostRegistries {
            found: vec![
                of_host(registry("host-npm", RegistryKind::Npm, "https://mirror.example/", true)),
                of_host(scoped),
                of_host(registry("host-pip", RegistryKind::Pip, "http://pypi.example/simple", true)),
                of_host(registry("host-pip-2", RegistryKind::Pip, "http://localhost:3141/simple", false)),
            ],
            skipped: vec![SkippedRegistry { taken_from: "GOPROXY".to_owned(), because: "so".to_owned() }],
        };
        let notes = merge(&mut testing, host).expect("the settings' own can be used");
        let names: Vec<&str> = testing.registries.iter().map(|registry| registry.name.as_str()).collect();
        assert_eq!(names, ["corp", "host-npm-2", "host-pip-2"]);
        let text: Vec<String> = notes.iter().map(|note| format!("{}: {}", note.about, note.text)).collect();
        insta::assert_snapshot!(text.join("\n"), @r#"
        registries.corp: npm: https://npm.example/, in place of the public one, with a token
        ~/.npmrc: not taken: registries.corp of the settings stands before it
        ~/.npmrc: npm: https://own.example/, for @corp, with a token
        ~/.npmrc: not taken: its address has to be https://HOST/PATH, without user, query and fragment; http:// only on this machine, at private addresses and for names of one's own network (`at` says which network that is)
        ~/.npmrc: pip: http://localhost:3141/simple, with a token
        GOPROXY: not taken: so
        "#);
        testing.registries = vec![registry("bad", RegistryKind::Npm, "http://npm.example/", true)];
        let error = merge(&mut testing, HostRegistries::default()).expect_err("it is plain").to_string();
        assert!(error.contains("registries.bad.url") && !error.contains("t0ken"), "{error}");
    }
}
