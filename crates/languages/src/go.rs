//! Go projects: modules and workspaces.
//!
//! May know: go.mod, go.work. Must never know: other ecosystems.

use crate::files::quote;
use crate::project::{Detection, FoundProject};
use crate::project_signs::is_beside;
use journeyman_order::bounds::MOST_NAMED;

pub(crate) fn find(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    let files = ask.files;
    let mut found = FoundProject { what: "Go", ..FoundProject::default() };
    if let Some(work) = files.text("go.work") {
        found.because = "go.work".into();
        ask.tools.need("go", "go.work");
        let packages: Vec<String> = used(&work).iter().map(|folder| quote(&in_folder(folder))).collect();
        found.setup("go mod download", "go.work");
        if !packages.is_empty() {
            tested(&mut found, |test| format!("{test} {}", packages.join(" ")), "go.work");
        }
        return Some(found);
    }
    if let Some(module) = files.text("go.mod") {
        found.because = "go.mod".into();
        ask.tools.need("go", "go.mod");
        let needs = module.lines().any(|line| line.trim_start().starts_with("require"));
        // Vendored modules need no download.
        if needs && !files.has("vendor/modules.txt") {
            found.setup("go mod download", "go.mod");
        }
        tested(&mut found, |test| format!("{test} ./..."), "go.mod");
        return Some(found);
    }
    // Modules below a root that is not a module.
    let modules: Vec<&str> =
        files.all().filter_map(|path| path.strip_suffix("/go.mod")).filter(|path| !is_beside(path)).collect();
    let first = modules.first()?;
    // A folder of examples does not make it a Go project.
    if files.has("package.json") || files.has("pyproject.toml") || modules.len() > MOST_NAMED {
        return None;
    }
    found.because = format!("{first}/go.mod");
    ask.tools.need("go", &found.because);
    let each = |command: &str| {
        let one = |folder: &&str| format!("(cd {} && {command})", quote(folder));
        modules.iter().map(one).collect::<Vec<_>>().join(" && ")
    };
    let because = found.because.clone();
    found.setup(each("go mod download"), &because);
    tested(&mut found, |test| each(&format!("{test} ./...")), &because);
    Some(found)
}

/// The tests, and an alternative without vet: a newer Go reports more in old code than its tests do.
fn tested(found: &mut FoundProject, command: impl Fn(&str) -> String, because: &str) {
    found.test(command("go test"), because);
    found.tests_alone(command("go test -vet=off"));
}

/// The folders that a workspace uses.
fn used(work: &str) -> Vec<String> {
    let mut folders = Vec::new();
    let mut is_open = false;
    for line in work.lines().map(|line| line.split("//").next().unwrap_or_default().trim()) {
        let named = match line.strip_prefix("use") {
            Some(rest) if rest.trim() == "(" => {
                is_open = true;
                continue;
            }
            Some(rest) if rest.starts_with(char::is_whitespace) => rest.trim(),
            _ if line == ")" => {
                is_open = false;
                continue;
            }
            _ if is_open => line,
            _ => continue,
        };
        if !named.is_empty() {
            folders.push(named.trim_matches('"').trim_end_matches('/').to_owned());
        }
    }
    folders
}

fn in_folder(folder: &str) -> String {
    match folder {
        "." => "./...".to_owned(),
        other if other.starts_with('.') => format!("{other}/..."),
        other => format!("./{other}/..."),
    }
}
