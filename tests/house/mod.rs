//! Checks the code's own rules: which crate may depend on which, how a module starts, how long a file may be.
//!
//! The map is in `docs/ARCHITECTURE.md`. To change an arrow, change [`ARROWS`] and the map together.

mod book;
mod cycles;
mod security;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use source::{FOLDERS, Source, sources};

/// The crates of ours that each crate may depend on; the compiler enforces the rest. Adapters do not know one another.
const ARROWS: &[(&str, &[&str])] = &[
    ("metrics", &[]),
    ("order", &[]),
    ("outgoing", &["order"]),
    ("languages", &["order"]),
    ("agent", &["order", "outgoing"]),
    ("notify", &["metrics", "order", "outgoing"]),
    ("attest", &["order"]),
    ("emulator", &["order"]),
    ("environment", &["languages", "order"]),
    ("gateway", &["order", "outgoing"]),
    ("github", &["metrics", "order", "outgoing"]),
    ("image", &["order"]),
    ("config", &["agent", "image", "order"]),
    ("render", &["order"]),
    ("sandbox", &["metrics", "order"]),
    ("store", &["metrics", "order"]),
    ("telemetry", &["metrics", "order", "outgoing"]),
    ("verify", &["languages", "order"]),
    ("webhook", &["order"]),
    ("workspace", &["languages", "order", "outgoing"]),
    ("http", &["attest", "metrics", "order", "store", "webhook"]),
    ("dashboard", &["config", "http", "order", "render", "store"]),
    ("setup", &["agent", "config", "github", "order"]),
    (
        "engine",
        &[
            "agent", "config", "environment", "gateway", "github", "image", "metrics", "notify", "order",
            "render", "sandbox", "store", "telemetry", "verify", "webhook", "workspace",
        ],
    ),
    ("test-support", &[]),
];

const LONGEST_FILE: usize = 600;

/// Our crates in a manifest's dependencies, dev-dependencies excluded.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let manifest: toml::Table = manifest.parse().expect("a manifest is TOML");
    let of = |table: &str| manifest.get(table).and_then(toml::Value::as_table).cloned().unwrap_or_default();
    let named = of("dependencies").into_iter().chain(of("build-dependencies")).map(|(name, _)| name);
    named.filter_map(|name| name.strip_prefix("journeyman-").map(str::to_owned)).collect()
}

#[test]
fn the_arrows_of_the_house_run_one_way() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    let mut known = BTreeSet::new();
    for (at, (name, may)) in ARROWS.iter().enumerate() {
        let manifest = crates.join(name).join("Cargo.toml");
        let manifest = fs::read_to_string(&manifest).unwrap_or_else(|error| panic!("{name}: {error}"));
        let may: BTreeSet<String> = may.iter().map(|name| (*name).to_owned()).collect();
        let more: Vec<_> = dependencies(&manifest).difference(&may).cloned().collect();
        assert!(
            more.is_empty(),
            "crates/{name} depends on {more:?}. Take what is needed as an argument or a trait and let `app` or \
             `engine` bring the two together, or move a shared type to `order`; or change ARROWS and the map in \
             docs/ARCHITECTURE.md together."
        );
        let before: BTreeSet<&str> = ARROWS[..at].iter().map(|(name, _)| *name).collect();
        assert!(may.iter().all(|name| before.contains(name.as_str())), "{name}: its arrows run backwards");
        known.insert((*name).to_owned());
    }
    let all = fs::read_dir(&crates).expect("the crates are there");
    let all: BTreeSet<String> = all.flatten().map(|entry| entry.file_name().display().to_string()).collect();
    assert_eq!(all, known, "each folder of crates/ stands in ARROWS");
}

#[test]
fn the_server_is_built_without_the_emulator() {
    let mut tree = std::process::Command::new(env!("CARGO"));
    tree.args(["tree", "--offline", "--package=journeyman", "--edges=normal", "--prefix=none"]);
    tree.arg("--no-default-features").current_dir(env!("CARGO_MANIFEST_DIR"));
    let tree = tree.output().expect("cargo is there");
    let said = String::from_utf8_lossy(&tree.stdout);
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    assert!(said.contains("journeyman-engine "), "{said}");
    let is_left_out = !said.contains("journeyman-emulator ");
    assert!(is_left_out, "the emulator belongs to a feature in Cargo.toml, as optional");
}

#[test]
fn every_module_begins_with_what_it_is_for() {
    let silent: Vec<String> = ["crates", "src"]
        .iter()
        .flat_map(|folder| sources(folder))
        .filter(|source| source.is_module_root() && !source.text.starts_with("//!"))
        .map(|source| {
            format!(
                "{}: begin with `//!`: what the module is for, what it may know, what it must never know.",
                source.path
            )
        })
        .collect();
    assert!(silent.is_empty(), "\n{}\n", silent.join("\n"));
}

#[test]
fn no_file_has_grown_too_long_to_be_read() {
    let long: Vec<String> = FOLDERS
        .iter()
        .flat_map(|folder| sources(folder))
        .map(|source| (source.text.lines().count(), source.path))
        .filter(|(lines, _)| *lines > LONGEST_FILE)
        .map(|(lines, path)| {
            format!("{path}: {lines} lines, at most {LONGEST_FILE}. One file, one job: split it.")
        })
        .collect();
    assert!(long.is_empty(), "\n{}\n", long.join("\n"));
}

/// The names of a text's public types, whatever their visibility.
fn public_types(text: &str) -> Vec<&str> {
    let declared = |line: &'_ str| -> Option<usize> {
        let line = line.trim_start();
        let public = line.strip_prefix("pub")?;
        let after = if public.starts_with('(') { public.split_once(')')?.1 } else { public };
        let (keyword, name) = after.trim_start().split_once(' ')?;
        let is_type = ["struct", "enum", "trait", "type", "union"].contains(&keyword);
        is_type.then_some(name.len())
    };
    let named = text.lines().filter_map(|line| Some(&line[line.len() - declared(line)?..]));
    let is_of_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    named.filter_map(|rest| rest.split(|letter| !is_of_name(letter)).next()).collect()
}

#[test]
fn a_public_types_name_is_unique() {
    // Tests contain programs as texts.
    let is_test = |source: &Source| source.path.contains("/tests/");
    let sources: Vec<Source> =
        ["crates", "src"].into_iter().flat_map(sources).filter(|source| !is_test(source)).collect();
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for source in &sources {
        for name in public_types(&source.text) {
            places.entry(name).or_default().push(&source.path);
        }
    }
    places.retain(|_, places| places.len() > 1);
    assert!(places.is_empty(), "say in each name what it is a name of: {places:#?}");
}

#[test]
fn a_public_type_is_known_by_its_keyword() {
    let text = "pub struct One;\nstruct Two;\n    pub(super) enum Three<T> {\npub type Four = u8;\npub fn five() {}\n// pub trait Six";
    assert_eq!(public_types(text), ["One", "Three", "Four"]);
}

#[test]
fn no_file_is_forgotten_by_its_parent_module() {
    let all: Vec<Source> = FOLDERS.iter().flat_map(|folder| sources(folder)).collect();
    let forgotten: Vec<String> = all
        .iter()
        .filter(|source| !source.is_declared_in(&all))
        .map(|source| {
            format!("{}: is not compiled. Declare it with `mod` in its parent, or delete it.", source.path)
        })
        .collect();
    assert!(forgotten.is_empty(), "\n{}\n", forgotten.join("\n"));
}

#[test]
fn a_file_is_forgotten_unless_its_own_parent_declares_it() {
    let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
    let all = [
        source(
            "crates/store/src/lib.rs",
            "pub mod rows;\n// mod gone;\n#[path = \"other.rs\"]\nmod shelf;\n",
        ),
        source("crates/store/src/rows.rs", "mod deep;\n"),
        source("crates/store/src/rows/deep.rs", ""),
        source("crates/store/src/other.rs", ""),
        source("crates/store/src/gone.rs", ""),
        source("crates/store/src/rows/rows.rs", ""),
    ];
    let forgotten = all.iter().filter(|source| !source.is_declared_in(&all));
    assert_eq!(
        forgotten.map(|source| source.path.as_str()).collect::<Vec<_>>(),
        ["crates/store/src/gone.rs", "crates/store/src/rows/rows.rs"]
    );
}
