//! Rust's projects: what Cargo fetches and tests.
//!
//! May know: Cargo.toml. Must never know: other ecosystems.

use crate::files::toml_table;
use crate::project::{Detection, FoundProject};

pub(crate) fn find(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    let text = ask.files.text("Cargo.toml")?;
    let table = toml_table(&text);
    // A manifest that we cannot read is for cargo to complain of.
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
    // From the root cargo tests the package there alone, or the members that the workspace names as its default.
    let workspace = table.as_ref().and_then(|table| table.get("workspace"));
    let has_default = workspace.is_some_and(|workspace| workspace.get("default-members").is_some());
    let (command, because) = match has_default || says("package") && workspace.is_some() {
        true => ("cargo test --workspace", "[workspace] in Cargo.toml"),
        false => ("cargo test", "Cargo.toml"),
    };
    // Code behind a feature has its tests there. Features that only a nightly compiler knows, or that exclude one
    // another, fail on the base, and then the default ones are what is tested. So may members for another machine.
    let optional = if has_optional_code(table.as_ref()) { " --all-features" } else { "" };
    found.test(format!("{command}{optional}"), because);
    if has_default {
        found.tests_alone("cargo test");
    } else if !optional.is_empty() {
        found.tests_alone(command);
    }
    Some(found)
}

/// Whether a package has features that are not on by default.
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
    // The compiler that is there would fail after it had built all that they need.
    let is_nightly = |name: &String| ["nightly", "unstable"].iter().any(|word| name.contains(word));
    if features.is_some_and(|features| features.keys().any(is_nightly)) {
        return false;
    }
    features.is_some_and(|features| features.keys().any(is_off))
        || optional.into_iter().any(|(name, value)| is_optional(value) && !is_on(name))
}
