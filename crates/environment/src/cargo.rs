//! Rust's projects: what Cargo fetches and tests.
//!
//! May know: Cargo.toml. Must never know: other ecosystems.

use crate::project::{Detection, FoundProject};

pub(crate) fn find(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    let text = ask.files.text("Cargo.toml")?;
    let table = text.parse::<toml::Table>().ok();
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
    // From the root of a package cargo tests that package alone, unless the workspace says otherwise.
    let workspace = table.as_ref().and_then(|table| table.get("workspace"));
    let has_members = workspace.is_some_and(|workspace| workspace.get("members").is_some());
    let is_left_to_cargo = workspace.is_some_and(|workspace| workspace.get("default-members").is_some());
    match says("package") && has_members && !is_left_to_cargo {
        true => found.test("cargo test --workspace", "[workspace] in Cargo.toml"),
        false => found.test("cargo test", "Cargo.toml"),
    }
    Some(found)
}
