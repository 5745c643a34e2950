//! The house holds its own rules: who may import whom, what a module begins with, how long a file gets.
//!
//! The map is in `docs/ARCHITECTURE.md`. To change an arrow, change [`ARROWS`] and the map together.

mod security;
mod source;
mod tokens;

use std::collections::BTreeSet;

use source::{Source, sources};

/// What each room may import besides itself. Not here: not a room.
const ARROWS: &[(&str, &[&str])] = &[
    ("lib", &[]),
    ("tally", &[]),
    ("main", &["cli"]),
    // Programs beside the main one, such as the scripted agent, are outsiders.
    ("bin", &["order"]),
    ("cli", &["app", "attest", "config", "emulator", "order"]),
    (
        "app",
        &[
            "config",
            "http",
            "engine",
            "webhook",
            "store",
            "agent",
            "workspace",
            "verify",
            "sandbox",
            "gateway",
            "github",
            "attest",
            "order",
        ],
    ),
    ("http", &["webhook", "store", "attest", "order"]),
    (
        "engine",
        &[
            "config",
            "webhook",
            "store",
            "agent",
            "workspace",
            "verify",
            "sandbox",
            "gateway",
            "github",
            "order",
        ],
    ),
    ("config", &["order"]),
    ("webhook", &["order"]),
    ("store", &["order"]),
    ("agent", &["order"]),
    ("workspace", &["order"]),
    ("verify", &["order"]),
    ("sandbox", &["order"]),
    ("gateway", &["order"]),
    ("github", &["order"]),
    ("attest", &["order"]),
    ("emulator", &["order"]),
    ("order", &[]),
];

/// Rooms that only unit tests may import in addition: GitHub's emulator is a test's partner, and the tally is for tests.
const FOR_TESTS: &[&str] = &["emulator", "tally"];

const LONGEST_FILE: usize = 600;

/// Every breach of the arrows in one file, each with what to do about it.
fn breaches(source: &Source) -> Vec<String> {
    let Some((_, allowed)) = ARROWS.iter().find(|(room, _)| *room == source.room()) else {
        return vec![format!(
            "{}: there is no room {:?}. Put the file into an existing room, or add the room to ARROWS in \
             tests/house/mod.rs and to the map in docs/ARCHITECTURE.md.",
            source.path,
            source.room()
        )];
    };
    let mut breaches = Vec::new();
    for import in source.imports() {
        let known = ARROWS.iter().any(|(room, _)| *room == import.room);
        let may = import.room == source.room()
            || allowed.contains(&import.room.as_str())
            || (import.in_test && FOR_TESTS.contains(&import.room.as_str()));
        let what = format!("{}:{}: imports `{}`", source.path, import.line, import.text);
        if !known {
            breaches.push(format!(
                "{what}, and {:?} is no room. Only rooms stand at the crate's root; put the item into one.",
                import.room
            ));
        } else if !may {
            let list = if allowed.is_empty() { "nothing of ours".to_owned() } else { allowed.join(", ") };
            breaches.push(format!(
                "{what}, but `{}` may import {list} only. Take what is needed as an argument or a trait and let \
                 `app` or `engine` bring the two together, or move a shared type to `order`.",
                source.room()
            ));
        }
    }
    breaches
}

#[test]
fn the_arrows_of_the_house_run_one_way() {
    let breaches: Vec<String> = sources("src").iter().flat_map(breaches).collect();
    assert!(breaches.is_empty(), "\n{}\n", breaches.join("\n"));
}

#[test]
fn the_arrows_themselves_have_no_circle() {
    let mut settled: BTreeSet<&str> = BTreeSet::new();
    loop {
        let free: Vec<&str> = ARROWS
            .iter()
            .filter(|(room, to)| !settled.contains(room) && to.iter().all(|to| settled.contains(to)))
            .map(|(room, _)| *room)
            .collect();
        if free.is_empty() {
            break;
        }
        settled.extend(free);
    }
    let left: Vec<&str> =
        ARROWS.iter().map(|(room, _)| *room).filter(|room| !settled.contains(room)).collect();
    assert!(
        left.is_empty(),
        "these rooms of ARROWS import each other in a circle, or an unknown room: {left:?}"
    );
}

#[test]
fn every_module_begins_with_what_it_is_for() {
    let silent: Vec<String> = sources("src")
        .iter()
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
    let long: Vec<String> = sources("src")
        .iter()
        .chain(&sources("tests"))
        .map(|source| (source, source.text.lines().count()))
        .filter(|(_, lines)| *lines > LONGEST_FILE)
        .map(|(source, lines)| {
            format!("{}: {lines} lines, at most {LONGEST_FILE}. One file, one job: split it.", source.path)
        })
        .collect();
    assert!(long.is_empty(), "\n{}\n", long.join("\n"));
}

#[test]
fn nothing_is_unwrapped_outside_tests() {
    let unwrapped: Vec<String> = sources("src")
        .iter()
        .flat_map(|source| {
            source.unwraps().into_iter().map(|line| {
                format!("{}:{line}: `unwrap()`. Return an error that says what to do next.", source.path)
            })
        })
        .collect();
    assert!(unwrapped.is_empty(), "\n{}\n", unwrapped.join("\n"));
}

#[test]
fn no_file_is_forgotten_by_its_parent_module() {
    let forgotten: Vec<String> = ["src", "tests"]
        .iter()
        .flat_map(|folder| sources(folder))
        .filter(|source| !source.is_reached)
        .map(|source| {
            format!("{}: is not compiled. Declare it with `mod` in its parent, or delete it.", source.path)
        })
        .collect();
    assert!(forgotten.is_empty(), "\n{}\n", forgotten.join("\n"));
}

/// The rules see what they are for: each line is a file that must be refused, or must not.
#[test]
fn the_rules_see_through_groups_super_tests_strings_and_comments() {
    for (path, text, expected) in [
        ("src/store/mod.rs", "use crate::order::OrderId;", 0),
        ("src/store/mod.rs", "use crate::github::Client;", 1),
        ("src/store/mod.rs", "use crate::{order::{OrderId, Journal}, github, agent::{self}};", 2),
        ("src/store/mod.rs", "use super::github::Client;", 1),
        ("src/store/sqlite.rs", "use super::rows::Row; use self::a::b;", 0),
        ("src/store/sqlite.rs", "use super::super::github::Client;", 1),
        ("src/store/mod.rs", "mod tests { use super::Store; use super::super::github::Client; }", 1),
        ("src/store/mod.rs", "fn f() { vec![crate :: github /* so */ :: x()] }", 1),
        ("src/store/mod.rs", "pub(crate) fn f() {} pub(in crate::store) fn g() {} pub(super) fn h() {}", 0),
        (
            "src/store/mod.rs",
            "// crate::github::x\n/* /* */ crate::github::x */ \"crate::github\"; r#\"\" crate::agent \"#;",
            0,
        ),
        ("src/store/mod.rs", "fn f<'a>(x: &'a str) { let c = '\"'; crate::github::y(c, '\\'', b'\"') }", 1),
        ("src/engine/mod.rs", "#[cfg(test)] mod tests { use crate::emulator::GitHub; }", 0),
        ("src/engine/mod.rs", "mod real { use crate::emulator::GitHub; }", 1),
        ("src/engine/mod.rs", "use crate::http::Route;", 1),
        ("src/order/next.rs", "use crate::config::Settings;", 1),
        ("src/order/next.rs", "use crate::Surprise;", 1),
        ("src/main.rs", "fn main() { journeyman::cli::run(); journeyman::engine::go() }", 1),
        ("src/bin/journeyman-agent.rs", "use journeyman::order::OrderId; use journeyman::cli;", 1),
        ("src/cellar/mod.rs", "", 1),
    ] {
        let found = breaches(&Source::new(path, text));
        assert_eq!(found.len(), expected, "{path}: {text}\n{found:#?}");
    }
    for (text, expected) in [
        ("fn f() { x.unwrap() }", 1),
        ("fn f() { x.unwrap_or(1); unwrap(x); \".unwrap()\"; }", 0),
        ("fn f() { x\n  .unwrap\n () }", 1),
        ("#[cfg(test)]\nmod tests { fn f() { x.unwrap() } }", 0),
        ("#[cfg(test)]\n#[allow(dead_code)]\nfn f() { x.unwrap() }", 0),
        ("#[cfg(test)] mod tests; fn f() { x.unwrap() }", 1),
        ("#[cfg(not(test))] mod real { fn f() { x.unwrap() } }", 1),
        ("#[cfg(test)] mod tests { fn f() {} } fn g() { x.unwrap() }", 1),
    ] {
        assert_eq!(Source::new("src/store/mod.rs", text).unwraps().len(), expected, "{text}");
    }
}
