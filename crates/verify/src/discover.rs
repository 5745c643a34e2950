//! Finds a repository's test runner by its files.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::Value;

/// A runner that was found.
pub(super) struct DiscoveredRunner {
    pub(super) runner: &'static str,
    /// The file that told.
    pub(super) because: String,
    pub(super) setup: Option<String>,
    pub(super) test: String,
    /// A folder of programs that the setup makes, from the root.
    pub(super) path: Option<&'static str>,
}

/// A repository's files, as far as they are asked for. All of them were written by others.
pub(super) struct DiscoveryFiles<'a> {
    root: BTreeSet<&'a str>,
    read: &'a dyn Fn(&str) -> Option<Vec<u8>>,
}

impl<'a> DiscoveryFiles<'a> {
    pub(super) fn new(root: &'a [String], read: &'a dyn Fn(&str) -> Option<Vec<u8>>) -> Self {
        Self { root: root.iter().map(|name| name.trim_end_matches('/')).collect(), read }
    }

    fn has(&self, name: &str) -> bool {
        self.root.contains(name)
    }

    fn text(&self, path: &str) -> Option<String> {
        // Names in the root are asked of the list first: reading may be slow.
        if !path.contains('/') && !self.has(path) {
            return None;
        }
        (self.read)(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The first of the runners that fits.
pub(super) fn find(files: &DiscoveryFiles<'_>) -> Option<DiscoveredRunner> {
    cargo(files)
        .or_else(|| node(files))
        .or_else(|| go(files))
        .or_else(|| python(files))
        .or_else(|| make(files))
}

fn cargo(files: &DiscoveryFiles<'_>) -> Option<DiscoveredRunner> {
    let manifest = files.text("Cargo.toml")?;
    // A manifest that we cannot read is for cargo to complain of.
    let has_dependencies = manifest.parse::<toml::Table>().map_or(true, |table| {
        ["dependencies", "dev-dependencies", "build-dependencies", "workspace", "target"]
            .iter()
            .any(|key| table.get(*key).and_then(toml::Value::as_table).is_some_and(|table| !table.is_empty()))
    });
    Some(DiscoveredRunner {
        runner: "cargo test",
        because: "Cargo.toml".into(),
        setup: has_dependencies.then(|| "cargo fetch".into()),
        test: "cargo test".into(),
        path: None,
    })
}

fn node(files: &DiscoveryFiles<'_>) -> Option<DiscoveredRunner> {
    let manifest: Value = serde_json::from_str(&files.text("package.json")?).ok()?;
    let script = manifest.get("scripts")?.get("test")?.as_str()?.trim();
    // `npm init` writes a script that only complains.
    if script.is_empty() || script.contains("no test specified") {
        return None;
    }
    let has_dependencies = ["dependencies", "devDependencies", "optionalDependencies", "workspaces"]
        .iter()
        .any(|key| manifest.get(*key).is_some_and(|value| value != &Value::Object(serde_json::Map::new())));
    let (runner, test, setup) = if files.has("pnpm-lock.yaml") {
        ("pnpm test", "pnpm test", "pnpm install --frozen-lockfile")
    } else if files.has("yarn.lock") {
        ("yarn test", "yarn test", "yarn install --frozen-lockfile")
    } else if files.has("package-lock.json") || files.has("npm-shrinkwrap.json") {
        ("npm test", "npm test", "npm ci --no-audit --no-fund")
    } else {
        ("npm test", "npm test", "npm install --no-audit --no-fund")
    };
    Some(DiscoveredRunner {
        runner,
        because: "a test script in package.json".into(),
        setup: has_dependencies.then(|| setup.into()),
        test: test.into(),
        path: None,
    })
}

fn go(files: &DiscoveryFiles<'_>) -> Option<DiscoveredRunner> {
    let module = files.text("go.mod")?;
    let has_requirements = module.lines().any(|line| line.trim_start().starts_with("require"));
    Some(DiscoveredRunner {
        runner: "go test",
        because: "go.mod".into(),
        setup: has_requirements.then(|| "go mod download".into()),
        test: "go test ./...".into(),
        path: None,
    })
}

const REQUIREMENTS: [&str; 4] =
    ["requirements.txt", "requirements-dev.txt", "requirements-test.txt", "test-requirements.txt"];

fn python(files: &DiscoveryFiles<'_>) -> Option<DiscoveredRunner> {
    let (runner, because, test) = match pytest_sign(files) {
        Some(sign) => ("pytest", sign, "python3 -m pytest".to_owned()),
        None => {
            let (because, test) = unittest_sign(files)?;
            ("unittest", because, test)
        }
    };
    let needs = requirements(files);
    let is_pytest_missing = runner == "pytest" && !needs.iter().any(|(_, text)| names_pytest(text));
    let setup = (!needs.is_empty()).then(|| {
        let files: String = needs.iter().map(|(name, _)| format!(" -r {name}")).collect();
        let extra = if is_pytest_missing { " pytest" } else { "" };
        format!("python3 -m venv .venv && .venv/bin/python -m pip install{files}{extra}")
    });
    let path = setup.is_some().then_some(".venv/bin");
    Some(DiscoveredRunner { runner, because, setup, test, path })
}

/// The files of requirements that require something.
fn requirements(files: &DiscoveryFiles<'_>) -> Vec<(&'static str, String)> {
    REQUIREMENTS
        .iter()
        .filter_map(|name| Some((*name, files.text(name)?)))
        .filter(|(_, text)| text.lines().any(|line| !line.trim().is_empty() && !line.trim().starts_with('#')))
        .collect()
}

fn pytest_sign(files: &DiscoveryFiles<'_>) -> Option<String> {
    for (name, section) in [
        ("pytest.ini", ""),
        ("pyproject.toml", "[tool.pytest"),
        ("setup.cfg", "[tool:pytest]"),
        ("tox.ini", "[pytest]"),
        ("conftest.py", ""),
        ("tests/conftest.py", ""),
        ("test/conftest.py", ""),
    ] {
        if files.text(name).is_some_and(|text| text.contains(section)) {
            return Some(if section.is_empty() { name.into() } else { format!("{section} in {name}") });
        }
    }
    // Named as a requirement, and something to run.
    unittest_sign(files)?;
    REQUIREMENTS
        .iter()
        .chain(&["pyproject.toml", "setup.py", "setup.cfg"])
        .find(|name| files.text(name).is_some_and(|text| names_pytest(&text)))
        .map(|name| format!("pytest in {name}"))
}

/// `pytest` as a requirement, not `pytest-cov` alone and not in a comment.
fn names_pytest(text: &str) -> bool {
    text.lines().filter(|line| !line.trim_start().starts_with('#')).any(|line| {
        line.match_indices("pytest").any(|(at, word)| {
            let is_end =
                |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '-' && c != '_' && c != '.');
            is_end(line.get(..at).and_then(|before| before.chars().next_back()))
                && is_end(line.get(at + word.len()..).and_then(|after| after.chars().next()))
        })
    })
}

fn unittest_sign(files: &DiscoveryFiles<'_>) -> Option<(String, String)> {
    let from_root = "python3 -m unittest discover".to_owned();
    let in_root = files.root.iter().find(|name| name.starts_with("test") && name.ends_with(".py"));
    if let Some(name) = in_root {
        return Some(((*name).to_owned(), from_root));
    }
    let is_python = files.root.iter().any(|name| name.ends_with(".py") || *name == "pyproject.toml")
        || files.has("requirements.txt")
        || files.has("setup.cfg");
    let folder = ["tests", "test"].into_iter().find(|name| files.has(name)).filter(|_| is_python)?;
    // Discovery from the root looks only into packages.
    let test = if files.text(&format!("{folder}/__init__.py")).is_some() {
        from_root
    } else {
        format!("{from_root} -s {folder}")
    };
    Some((format!("{folder}/"), test))
}

fn make(files: &DiscoveryFiles<'_>) -> Option<DiscoveredRunner> {
    // As make itself looks for them.
    let (name, text) = ["GNUmakefile", "makefile", "Makefile"]
        .into_iter()
        .find_map(|name| Some((name, files.text(name)?)))?;
    let target = Regex::new(r"(?m)^test\s*::?([^:=]|$)").ok()?;
    target.is_match(&text).then(|| DiscoveredRunner {
        runner: "make test",
        because: format!("a target test in {name}"),
        setup: None,
        test: "make test".into(),
        path: None,
    })
}
