//! What the files of a JavaScript project say about its tests and dependencies.
//!
//! May know: package.json, bunfig.toml, names of runners' files. Must never know: what changed in them.

use serde_json::Value;

use crate::dependency_versions::{DependencyVersions, put};
use crate::old_settings::{OldPart, OldSettings, old_toml, restore_keys};
use crate::text::json;

pub(super) const CONFIGURATION: &[&str] = &[
    ".npmrc", ".nvmrc", ".node-version", ".swcrc", "tsconfig.json", "tsconfig.*", ".babelrc", ".babelrc.*",
    "babel.config.*", ".nycrc", ".nycrc.*", "nyc.config.*", ".c8rc", ".c8rc.*", ".mocharc", ".mocharc.*",
    "mocha.opts", "mocha.config.*", ".jestrc", "jest.config.*", "jest.preset.*", "jest.setup.js",
    "jest.setup.ts", "jest.setup.mjs", "jest.setup.cjs", "jest.setup.tsx", "setupTests.js", "setupTests.ts",
    "vite.config.*", "vitest.config.*", "vitest.workspace.*", "vitest.setup.js", "vitest.setup.ts",
    "ava.config.*", ".taprc*", "karma.conf.*", "playwright.config.*", "cypress.config.*", "webpack.test*",
    "rollup.test*", "deno.json", "deno.jsonc", "import_map.json",
];

pub(super) const SETTINGS: &[(&str, OldPart)] = &[
    ("package.json", old_package),
    ("bunfig.toml", |base, after| old_toml(base, after, |before, now| restore_keys(BUN, before, now))),
];

/// Sections of package.json that decide how tests run and how their imports resolve. Dependencies are not among them.
const PACKAGE: [&str; 17] = [
    "scripts", "jest", "vitest", "mocha", "ava", "nyc", "c8", "babel", "tap", "xo", "wireit", "imports",
    "exports", "main", "module", "browser", "_moduleAliases",
];
/// Tables of bunfig.toml that decide how `bun test` and scripts run. `install` is not among them.
const BUN: &[&[&str]] = &[&["test"], &["preload"], &["define"], &["loader"], &["run"]];

fn old_package(base: Option<&[u8]>, after: &[u8]) -> OldSettings {
    let before = base.map_or(Some(Value::Null), json);
    let (Some(Value::Object(mut now)), Some(before)) = (json(after), before) else {
        return OldSettings::Whole;
    };
    let mut is_touched = false;
    for key in PACKAGE {
        let old = before.get(key);
        if old == now.get(key) {
            continue;
        }
        is_touched = true;
        match old {
            Some(old) => drop(now.insert(key.to_owned(), old.clone())),
            None => drop(now.remove(key)),
        }
    }
    match is_touched {
        true => serde_json::to_vec_pretty(&now).map_or(OldSettings::Whole, OldSettings::Part),
        false => OldSettings::AsItIs,
    }
}

pub(super) fn dependencies(text: &str) -> Option<DependencyVersions> {
    let value = json(text.as_bytes())?;
    let mut entries = DependencyVersions::new();
    let lists = [
        "dependencies", "devDependencies", "optionalDependencies", "peerDependencies", "overrides",
        "resolutions",
    ];
    for list in lists.iter().filter_map(|list| value.get(list)?.as_object()) {
        for (name, version) in list {
            let version = version.as_str().map_or_else(|| version.to_string(), str::to_owned);
            put(&mut entries, name, &version, "");
        }
    }
    for list in ["bundledDependencies", "bundleDependencies"] {
        for name in value.get(list).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
        {
            put(&mut entries, name, "bundled", "");
        }
    }
    Some(entries)
}
