//! The files around the code say what is so.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use journeyman::config::{GithubSettings, Settings};
use journeyman::order::WriteLimits;

fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What is set in the example, and what it shows commented out: `# key = value` and `# [table]`.
fn with_defaults(example: &str) -> String {
    let is_setting = |line: &str| {
        let key = line.split(" = ").next().unwrap_or_default();
        let names_a_key = line.contains(" = ") && key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        names_a_key || line.starts_with('[')
    };
    let uncommented = |line: &str| match line.strip_prefix("# ") {
        Some(setting) if is_setting(setting) => setting.to_owned(),
        _ => line.to_owned(),
    };
    example.lines().map(uncommented).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_example_settings_are_toml_and_the_readme_lists_every_key_with_its_default() {
    let example = file("journeyman.example.toml");
    let minimal: toml::Table = toml::from_str(&example).expect("the example is TOML");
    let whole: toml::Table =
        toml::from_str(&with_defaults(&example)).expect("uncommented it is TOML as well");
    let readme = file("README.md");
    let named = ["agents", "prices"];
    for (section, keys) in whole.iter().filter(|(section, _)| !named.contains(&section.as_str())) {
        for (key, default) in keys.as_table().expect("a section") {
            if let Some(parts) = default.as_table() {
                for part in parts.keys() {
                    let begins = format!("| `{section}.{key}.{part}.");
                    let listed = readme.lines().any(|line| line.starts_with(&begins));
                    assert!(listed, "README.md: the settings' table lacks {section}.{key}.{part}");
                }
                continue;
            }
            let row = readme.lines().find(|line| line.starts_with(&format!("| `{section}.{key}` |")));
            let row = row.unwrap_or_else(|| panic!("README.md: the settings' table lacks {section}.{key}"));
            let must_be_set = minimal.get(section).is_some_and(|keys| keys.get(key).is_some());
            if must_be_set || has_no_default(&example, section, key) {
                assert!(row.contains("` | | "), "README.md: {section}.{key} has no default");
            } else {
                let default = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
                assert!(row.contains(&format!("| `{default}` |")), "README.md: {section}.{key} is {default}");
            }
        }
    }
    assert!(whole["limits"].as_table().is_some_and(|limits| limits.len() == 10), "comments were not read");
}

#[test]
fn the_example_settings_are_taken_as_they_are_and_with_every_key_uncommented() {
    let example = file("journeyman.example.toml");
    let everything = with_defaults(&example).replace('…', "long enough to be a secret");
    let folder = tempfile::tempdir().expect("a temporary folder");
    for text in [&example, &everything] {
        let path = folder.path().join("journeyman.toml");
        fs::write(&path, text).expect("a file");
        // `[github]` names a key file that only GitHub can give; its keys are known all the same.
        let github = GithubSettings {
            api_url: "https://api.github.com".parse().expect("a URL"),
            app_id: 1,
            private_key: String::new().into(),
            webhook_secrets: Vec::new(),
            writes: WriteLimits::NONE,
        };
        let settings = Settings::load_beside(github, Some(&path), std::iter::empty());
        settings.unwrap_or_else(|error| panic!("journeyman.example.toml: {error}"));
    }
}

/// Whether the line above the key says so, in its section.
fn has_no_default(example: &str, section: &str, key: &str) -> bool {
    let all = example.lines().skip_while(|line| *line != format!("[{section}]")).skip(1);
    let lines: Vec<&str> = all.take_while(|line| !line.starts_with('[')).collect();
    let mut pairs = lines.windows(2);
    pairs.any(|pair| pair[0].contains("No default") && pair[1].starts_with(&format!("# {key} = ")))
}

#[test]
fn the_manifest_asks_for_no_more_than_it_gives_reasons_for() {
    let manifest = file("app-manifest.yml");
    let parsed: serde_json::Value = serde_saphyr::from_str(&manifest).expect("the manifest is YAML");
    for key in ["name", "url", "hook_attributes", "default_permissions", "default_events"] {
        assert!(!parsed[key].is_null(), "app-manifest.yml: {key} is missing");
    }
    assert!(parsed["default_permissions"]["workflows"].is_null(), "a change to CI is a person's affair");
    let lines: Vec<&str> = manifest.lines().collect();
    let first = lines.iter().position(|line| *line == "default_permissions:").expect("permissions");
    for pair in lines[first + 1..].windows(2) {
        let asks = !pair[1].trim().is_empty() && !pair[1].trim().starts_with('#') && pair[1].starts_with(' ');
        assert!(
            !asks || pair[0].trim().starts_with('#'),
            "app-manifest.yml: no reason for {}",
            pair[1].trim()
        );
    }
}

#[test]
fn what_readers_are_pointed_to_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for page in ["README.md", "CONTRIBUTING.md", "docs/ARCHITECTURE.md"] {
        let folder = root.join(page).parent().map(PathBuf::from).unwrap_or_default();
        for link in file(page).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let is_local = !link.starts_with("http") && !link.starts_with('#');
            assert!(!is_local || folder.join(link).exists(), "{page}: {link} is not there");
        }
    }
    let makefile = file("Makefile");
    for page in ["README.md", "CONTRIBUTING.md"] {
        let text = file(page);
        for target in
            text.split("make ").skip(1).map(|rest| rest.split(|c: char| !c.is_ascii_lowercase()).next())
        {
            let target = target.unwrap_or_default();
            let is_prose = ["it", "sense", ""].contains(&target);
            assert!(
                is_prose || makefile.contains(&format!("\n{target}:")),
                "{page}: there is no `make {target}`"
            );
        }
    }
}

#[test]
fn scripts_are_sound_and_executable() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = fs::read_dir(root.join("scripts")).expect("there are scripts");
    let mut scripts: Vec<PathBuf> = folder.map(|entry| entry.expect("an entry").path()).collect();
    scripts.retain(|path| path.extension().is_some_and(|extension| extension == "sh"));
    scripts.push(root.join(".ci/run"));
    assert!(scripts.len() >= 4, "{scripts:?}");
    for script in scripts {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&script).expect("it is there").permissions().mode();
        assert!(mode & 0o111 != 0, "{}: chmod +x", script.display());
        let checked = Command::new("bash").arg("-n").arg(&script).output().expect("bash is there");
        assert!(
            checked.status.success(),
            "{}: {}",
            script.display(),
            String::from_utf8_lossy(&checked.stderr)
        );
    }
}
