//! Rust projects: what Cargo downloads and tests.
//!
//! May know: Cargo.toml. Must never know: other ecosystems.

mod items;
mod kept_build;
mod manifest;
mod reach;
mod runners;
pub mod tests_inside;

use crate::dependency_versions::DependencyReader;
use crate::files::{RepositoryFiles, is_named};
use crate::language::{Facts, Language, PackageSource, PackedFiles};
use crate::not_loaded::NotLoaded;
use crate::planned::KeptBuild;
use crate::project::{Detection, FoundProject};
use crate::test_call::TestCall;
use crate::text::toml_table;
use crate::tool_facts::{SetupAction, ToolFacts};

pub(crate) struct Rust;

impl Language for Rust {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                sources: &["rs"],
                with_tests: &["rs"],
                with_examples: &[("rs", "```")],
                configuration: manifest::CONFIGURATION,
                settings: manifest::SETTINGS,
                manifests: &["Cargo.toml"],
                programs: &["cargo"],
                tools: &[ToolFacts {
                    name: "rust",
                    programs: &["cargo"],
                    actions: &[
                        SetupAction::new("dtolnay/rust-toolchain", "toolchain"),
                        SetupAction::new("actions-rs/toolchain", "toolchain"),
                        SetupAction::new("actions-rust-lang/setup-rust-toolchain", "toolchain"),
                        SetupAction::new("moonrepo/setup-rust", "channel"),
                    ],
                    any_version: &["stable"],
                    ..ToolFacts::NONE
                }],
                packages: &[PackageSource {
                    signs: &["Cargo.toml"],
                    programs: &["cargo"],
                    hosts: &["index.crates.io", "static.crates.io"],
                }],
                lockfiles: &["Cargo.lock"],
                decides: &["build.rs", "rust-toolchain", "rust-toolchain.toml", ".cargo/"],
                dependency_folders: &["/target"],
                protected: &[
                    ".cargo/config", ".cargo/config.toml", ".cargo/credentials", ".cargo/credentials.toml",
                ],
                // A member of a workspace needs the others.
                packed: Some(PackedFiles {
                    by: "Cargo",
                    manifest: r"Cargo\.toml",
                    list: "grep -q '^\\[package]' Cargo.toml && ! grep -q '^\\[workspace' Cargo.toml &&
                        cargo package --list --allow-dirty --offline && echo Cargo.lock",
                    installed: "",
                    below: "registry",
                }),
                runners: runners::RUNNERS,
                missing: &[
                    r"^.*error: no matching package named .*$",
                    r"^.*error: failed to (?:get|download|load source for dependency) .*$",
                ],
                no_version: &[
                    r"^error: rustup could not choose a version of .*$",
                    r"^error: no override and no default toolchain set\b.*$",
                    r"^error: (?:override )?toolchain '[^']+' is not installed\b.*$",
                    r"^error: '[^']+' is not installed for the (?:custom )?toolchain '[^']+'.*$",
                ],
                not_loaded: NOT_LOADED,
                surroundings: &[
                    r"\b(?:is_terminal|option_env|thread::current|debug_assertions|Location::caller|track_caller|current_exe|CARGO_(?:MANIFEST|PRIMARY)\w*)\b",
                ],
                syntax: Some(&items::SYNTAX),
                ..Facts::NONE
            }
        }
    }

    fn find(&self, ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
        find(ask)
    }

    fn dependencies(&self, path: &str) -> Option<DependencyReader> {
        is_named(path, "Cargo.toml").then_some(manifest::dependencies)
    }

    fn reaches(&self, call: &TestCall<'_, '_>) -> bool {
        reach::reaches(call)
    }

    /// Tests of another language may load a library.
    fn is_loaded_by_others(&self, call: &TestCall<'_, '_>) -> bool {
        call.manifest.contains("cdylib")
            || call.file("pyproject.toml").is_some_and(|text| text.contains("maturin"))
    }

    fn build_call<'w>(&self, words: &[&'w str]) -> Option<Vec<&'w str>> {
        kept_build::call(words)
    }

    fn keep_build(&self, files: &RepositoryFiles<'_>, kept: &mut KeptBuild) -> bool {
        kept_build::keep(files, kept)
    }
}

const NOT_LOADED: &[NotLoaded] = &[
    NotLoaded::part(r"^error: could not compile `([^`]+)`"),
    // Cargo also prints such a line for tests that ran and failed.
    NotLoaded::run(r"error(?:\[E\d+\])?: ")
        .unless(r"error: (?:(?:doc)?test failed, to rerun pass |\d+ targets? failed:)"),
    NotLoaded::base(r"error\[E\d+\]: "),
    NotLoaded::base(r"error: could not compile "),
    NotLoaded::program(
        r"error\[E0[0-9]+\]: .*?(?:named|function|value|type|macro|method|module|import|associated item)s? .*?`([\w:]+)`",
    ),
    NotLoaded::program(r"^error(?:\[E\d+\])?: "),
];

fn find(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    let text = ask.files.text("Cargo.toml")?;
    let table = toml_table(&text);
    // Cargo reports a manifest that does not parse here.
    let says = |key: &str| {
        let value = table.as_ref().and_then(|table| table.get(key)?.as_table().cloned());
        value.is_some_and(|table| !table.is_empty())
    };
    let needs = ["dependencies", "dev-dependencies", "build-dependencies", "workspace", "target"];
    let mut found =
        FoundProject { what: "Rust with Cargo", because: "Cargo.toml".into(), ..FoundProject::default() };
    ask.tools.need("rust", "Cargo.toml");
    if table.is_none() || needs.into_iter().any(says) {
        let locked = if ask.files.has("Cargo.lock") { " --locked" } else { "" };
        found.setup(
            format!("cargo fetch{locked}"),
            if locked.is_empty() { "Cargo.toml" } else { "Cargo.lock" },
        );
    }
    // In the root, cargo tests only the root package or the workspace's default members.
    let workspace = table.as_ref().and_then(|table| table.get("workspace"));
    let has_default = workspace.is_some_and(|workspace| workspace.get("default-members").is_some());
    let (command, because) = match has_default || says("package") && workspace.is_some() {
        true => ("cargo test --workspace", "[workspace] in Cargo.toml"),
        false => ("cargo test", "Cargo.toml"),
    };
    // Code behind a feature has tests behind it too. Nightly-only or mutually exclusive features fail on the base,
    // which then falls back to the default features. So may members for another platform.
    let optional = if has_optional_code(table.as_ref()) { " --all-features" } else { "" };
    found.test(format!("{command}{optional}"), because);
    if has_default {
        found.tests_alone("cargo test");
    } else if !optional.is_empty() {
        found.tests_alone(command);
    }
    Some(found)
}

/// Whether a package has features that are off by default.
fn has_optional_code(manifest: Option<&toml::Table>) -> bool {
    let Some(manifest) = manifest else { return false };
    let features = manifest.get("features").and_then(toml::Value::as_table);
    let default =
        features.and_then(|features| features.get("default")?.as_array().cloned()).unwrap_or_default();
    let is_on = |name: &str| default.iter().any(|on| on.as_str() == Some(name));
    let is_off = |name: &String| name != "default" && !is_on(name);
    let optional = manifest.get("dependencies").and_then(toml::Value::as_table).into_iter().flatten();
    let is_optional =
        |value: &toml::Value| value.get("optional").and_then(toml::Value::as_bool) == Some(true);
    // A stable compiler would fail only after building all the dependencies.
    let is_nightly = |name: &String| ["nightly", "unstable"].iter().any(|word| name.contains(word));
    if features.is_some_and(|features| features.keys().any(is_nightly)) {
        return false;
    }
    features.is_some_and(|features| features.keys().any(is_off))
        || optional.into_iter().any(|(name, value)| is_optional(value) && !is_on(name))
}
