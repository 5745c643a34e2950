//! Files around the code must match it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use journeyman::config::repository_settings;
use journeyman::order::findings::FindingLine;

fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
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
    for page in ["README.md", "CONTRIBUTING.md", "docs/ARCHITECTURE.md", "docs/ENVIRONMENTS.md"] {
        let folder = root.join(page).parent().map(PathBuf::from).unwrap_or_default();
        for link in file(page).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let is_local = !link.starts_with("http") && !link.starts_with('#');
            let path = link.split('#').next().unwrap_or_default();
            assert!(!is_local || folder.join(path).exists(), "{page}: {link} is not there");
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
    scripts.extend([root.join(".ci/run"), root.join("install.sh")]);
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

/// Whoever opens a pull request names its branch. Pasted into a script, the name would run there.
#[test]
fn the_action_describes_its_inputs_and_pastes_nothing_into_its_scripts() {
    let action: serde_json::Value = serde_saphyr::from_str(&file("action.yml")).expect("it is YAML");
    let inputs = action["inputs"].as_object().expect("inputs");
    let names: Vec<&str> = inputs.keys().map(String::as_str).collect();
    assert_eq!(names.len(), 5, "{names:?}");
    for (name, input) in inputs {
        let description = input["description"].as_str().unwrap_or_default();
        assert!(!description.trim().is_empty(), "{name} has no description");
    }
    assert_eq!(action["runs"]["using"], "composite");
    let steps = action["runs"]["steps"].as_array().expect("steps");
    let scripts: Vec<&str> = steps.iter().filter_map(|step| step["run"].as_str()).collect();
    assert_eq!(scripts.len(), 3, "{scripts:?}");
    for script in scripts {
        assert!(!script.contains("${{"), "a value has to come by the environment: {script}");
    }
    for step in steps {
        assert_eq!(step["run"].is_string(), step["shell"].is_string(), "{step}");
        let Some(uses) = step["uses"].as_str() else { continue };
        let commit = uses.split_once('@').map(|(_, commit)| commit).unwrap_or_default();
        let is_pinned = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(is_pinned, "{uses}: name the commit, since a tag can be moved");
    }
}

#[test]
fn the_summary_of_the_action_has_the_words_of_the_five_lines() {
    let script = file("scripts/verify-action.sh");
    for line in [
        FindingLine::WhatRan,
        FindingLine::RedThenGreen,
        FindingLine::ExistingTests,
        FindingLine::Strength,
        FindingLine::NotVerified,
    ] {
        let name = serde_json::to_value(line).expect("a word");
        let said = format!("{}: \"{}\"", name.as_str().unwrap_or_default(), line.label());
        assert!(script.contains(&said), "{said}");
    }
}

/// People copy them unchanged.
#[test]
fn the_examples_of_environments_are_settings() {
    let page = file("docs/ENVIRONMENTS.md");
    let (_, examples) = page.split_once("\n## Examples\n").expect("examples");
    let mut stacks = Vec::new();
    for section in examples.split("\n### ").skip(1) {
        let (stack, text) = section.split_once('\n').expect("a heading");
        let yaml = text.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next());
        let yaml = yaml.unwrap_or_else(|| panic!("{stack} has no example"));
        let settings =
            repository_settings(yaml.as_bytes()).unwrap_or_else(|error| panic!("{stack}: {error}"));
        assert!(settings.test.is_some(), "{stack} says how it is tested");
        stacks.push(stack);
    }
    assert_eq!(stacks.len(), 11, "{stacks:?}");
    for block in page.split("```yaml\n").skip(1) {
        let yaml = block.split("```").next().unwrap_or_default();
        repository_settings(yaml.as_bytes()).unwrap_or_else(|error| panic!("{yaml}: {error}"));
    }
}

#[test]
fn the_chart_is_of_the_version_that_cargo_names() {
    let manifest: toml::Table = file("Cargo.toml").parse().expect("it is TOML");
    let version = manifest["workspace"]["package"]["version"].as_str().expect("a version").to_owned();
    let chart: serde_json::Value =
        serde_saphyr::from_str(&file("deploy/helm/journeyman/Chart.yaml")).expect("it is YAML");
    assert_eq!((&chart["version"], &chart["appVersion"]), (&version.clone().into(), &version.into()));
}

/// Kubernetes supports no conditions on capabilities in such a profile, and would treat each rule as unconditional.
#[test]
fn the_filter_of_the_container_names_what_it_allows_and_nothing_by_condition() {
    let filter: serde_json::Value = serde_json::from_str(&file("deploy/seccomp.json")).expect("it is JSON");
    assert_eq!(filter["defaultAction"], "SCMP_ACT_ERRNO");
    let rules = filter["syscalls"].as_array().expect("rules");
    let is_plain = |rule: &&serde_json::Value| rule["includes"].is_null() && rule["excludes"].is_null();
    assert_eq!(rules.iter().filter(is_plain).count(), rules.len());
    let names: Vec<&str> =
        rules[0]["names"].as_array().expect("names").iter().filter_map(|name| name.as_str()).collect();
    for needed in ["clone", "unshare", "mount", "pivot_root", "sethostname"] {
        assert!(names.contains(&needed), "bubblewrap needs {needed}");
    }
    for refused in ["bpf", "init_module", "kexec_load", "open_by_handle_at", "perf_event_open", "swapon"] {
        assert!(!names.contains(&refused), "{refused}");
    }
}
