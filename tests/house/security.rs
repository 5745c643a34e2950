//! The tests and mutants that `docs/SECURITY.md` names exist, and every mutant applies to the code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::source::{FOLDERS, Source, sources};

const PAGE: &str = "docs/SECURITY.md";
const TABLE: &str = "scripts/mutants.toml";

fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// One promise on the page.
struct Promise {
    line: usize,
    tests: Vec<String>,
    mutants: Vec<String>,
}

/// The texts in backticks.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The rows of all tables, without headers.
fn promises(page: &str) -> Vec<Promise> {
    let rows = page.lines().enumerate().filter(|(_, line)| line.starts_with("| "));
    rows.filter_map(|(number, line)| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [promise, tests, mutants] = cells[..] else {
            panic!("{PAGE}:{}: a promise, its tests, its mutants", number + 1)
        };
        (promise != "promise").then(|| Promise {
            line: number + 1,
            tests: quoted(tests),
            mutants: quoted(mutants),
        })
    })
    .collect()
}

struct Mutant {
    name: String,
    file: String,
    old: String,
    tests: Vec<String>,
}

fn mutants() -> Vec<Mutant> {
    let table: toml::Table = toml::from_str(&file(TABLE)).expect("it is TOML");
    let text = |value: &toml::Value| value.as_str().expect("a text").to_owned();
    let mutants = table["mutant"].as_array().expect("a list");
    mutants
        .iter()
        .map(|mutant| Mutant {
            name: text(&mutant["name"]),
            file: text(&mutant["file"]),
            old: text(&mutant["old"]),
            tests: mutant["tests"].as_array().expect("a list").iter().map(text).collect(),
        })
        .collect()
}

/// The module of a file's tests: `crates/store/src/rows.rs` is `store::rows`.
fn module(path: &str) -> String {
    let path = path.trim_start_matches("crates/").trim_start_matches("src/").trim_start_matches("tests/");
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod").trim_end_matches("/lib");
    path.replacen("/src", "", 1).replace('/', "::")
}

/// The names of a file's tests.
fn tests_in(text: &str) -> BTreeSet<&str> {
    let mut tests = BTreeSet::new();
    let mut is_marked = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with("#[test]")
            || line.starts_with("#[tokio::test")
            || line.starts_with("#[actix_web::test")
        {
            is_marked = true;
        } else if let Some((_, rest)) =
            line.split_once("fn ").filter(|_| is_marked && !line.starts_with("//"))
        {
            tests.insert(rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default());
            is_marked = false;
        }
    }
    tests
}

/// All tests by cargo's names. An inline module `tests` may be part of the path.
struct Tests(BTreeMap<String, BTreeSet<String>>);

impl Tests {
    fn of(sources: &[Source]) -> Self {
        let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for source in sources {
            let names = tests_in(&source.text);
            all.entry(module(&source.path)).or_default().extend(names.into_iter().map(str::to_owned));
        }
        Self(all)
    }

    fn have(&self, test: &str) -> bool {
        let Some((module, name)) = test.rsplit_once("::") else { return false };
        let is_in = |module: &str| self.0.get(module).is_some_and(|tests| tests.contains(name));
        is_in(module) || module.strip_suffix("::tests").is_some_and(is_in)
    }
}

#[test]
fn every_promise_names_tests_and_mutants_that_are_there() {
    let all: Vec<Source> = FOLDERS.iter().flat_map(|folder| sources(folder)).collect();
    let tests = Tests::of(&all);
    let mutants: BTreeSet<String> = mutants().into_iter().map(|mutant| mutant.name).collect();
    let promises = promises(&file(PAGE));
    assert!(promises.len() > 40, "the tables were not read");
    let mut wrong = Vec::new();
    let mut named = BTreeSet::new();
    for promise in promises {
        let at = format!("{PAGE}:{}", promise.line);
        if promise.tests.is_empty() {
            wrong.push(format!("{at}: no test holds this promise. Write one, or do not promise it."));
        }
        let missing = promise.tests.iter().filter(|test| !tests.have(test));
        wrong.extend(missing.map(|test| format!("{at}: there is no test {test}")));
        let unknown = promise.mutants.iter().filter(|name| !mutants.contains(*name));
        wrong.extend(unknown.map(|name| format!("{at}: {TABLE} has no mutant {name}")));
        named.extend(promise.mutants);
    }
    wrong
        .extend(mutants.difference(&named).map(|name| format!("{PAGE}: no promise names the mutant {name}")));
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn every_mutant_finds_what_it_takes_away_and_the_tests_that_hold_it() {
    let all: Vec<Source> = ["crates", "src"].iter().flat_map(|folder| sources(folder)).collect();
    let tests = Tests::of(&all);
    let mut wrong = Vec::new();
    for Mutant { name, file: path, old, tests: wanted } in mutants() {
        let found = file(&path).matches(&old).count();
        if found != 1 {
            wrong.push(format!("{TABLE}: {name}: its old text is {found} times in {path}, not once"));
        }
        if wanted.is_empty() {
            wrong.push(format!("{TABLE}: {name}: no test is named"));
        }
        let missing = wanted.iter().filter(|test| !tests.have(test));
        wrong.extend(missing.map(|test| format!("{TABLE}: {name}: there is no test {test}")));
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn a_test_is_known_by_its_mark_and_its_module() {
    let text = "#[tokio::test(start_paused = true)]\nasync fn one() {}\nfn helper() {}\n#[test]\n#[cfg(unix)]\nfn two() {}";
    assert_eq!(tests_in(text), BTreeSet::from(["one", "two"]));
    let tests = Tests::of(&[Source { path: "crates/store/src/lib.rs".to_owned(), text: text.to_owned() }]);
    assert!(tests.have("store::one") && tests.have("store::tests::two"));
    assert!(!tests.have("store::helper") && !tests.have("other::one") && !tests.have("one"));
    let page = "| promise | held by | mutant |\n|---|---|---|\n| It holds | `a::b`, `a::c` | |\n";
    let promises = promises(page);
    assert_eq!(promises.len(), 1);
    assert_eq!((promises[0].tests.len(), promises[0].mutants.len(), promises[0].line), (2, 0, 3));
}
