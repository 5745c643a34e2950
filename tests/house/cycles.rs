//! Finds circular use among sibling modules of a crate, from their imports and the paths in their code. A module and
//! its submodules may use each other.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Source, sources};

type Module = Vec<String>;
type Uses = BTreeMap<Module, BTreeSet<Module>>;

#[test]
fn modules_of_a_crate_do_not_use_one_another_in_a_circle() {
    let mut found = Vec::new();
    for source in sources("crates").iter().filter(|source| source.path.ends_with("/src/lib.rs")) {
        let root = source.path.trim_end_matches("lib.rs");
        let name = root.split('/').nth(1).expect("crates/NAME/src");
        let files: Vec<Source> = sources(root.trim_end_matches('/'));
        for circle in circles(&uses(root, &files)) {
            let modules: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
            found.push(format!("{name}: {}", modules.join(", ")));
        }
    }
    assert_eq!(found, Vec::<String>::new(), "move what both need to a module of its own, or below both");
}

#[test]
fn a_circle_is_seen_through_folders_grouped_imports_and_paths_in_code() {
    let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
    let files = [
        source("lib.rs", "mod a;\nmod b;\nmod c;\nuse a::One;\n"),
        source("a.rs", "use super::{c::Three, b::{self, Two}};\n"),
        source("b/mod.rs", "mod deep;\nuse self::deep::Deep;\n"),
        source("b/deep.rs", "use super::Two;\nuse crate::a::One;\n"),
        source("c.rs", "// use crate::a::One;\nmod d;\nmod e;\n"),
        source("c/d.rs", "fn two() {\n    super::e::three()\n}\n"),
        source("c/e.rs", "use super::d::two;\n"),
    ];
    let module = |path: &str| path.split("::").map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(circles(&uses("", &files)), [["a", "b"].map(module), ["c::d", "c::e"].map(module)]);
}

/// Which module uses which, each lifted to the level where the two are siblings.
fn uses(root: &str, files: &[Source]) -> Uses {
    let module = |path: &str| -> Module {
        let path = path.trim_start_matches(root).trim_end_matches(".rs");
        let mut names: Module = path.split('/').map(str::to_owned).collect();
        if names.last().is_some_and(|last| ["lib", "mod"].contains(&last.as_str())) {
            names.pop();
        }
        names
    };
    let all: BTreeSet<Module> = files.iter().map(|file| module(&file.path)).collect();
    let mut uses = Uses::new();
    for file in files {
        let from = module(&file.path);
        if from.iter().any(|name| name.ends_with("tests")) {
            continue;
        }
        for path in imports(&file.text) {
            let to = resolve(&from, &path, &all);
            let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
            if shared < from.len() && shared < to.len() {
                uses.entry(from[..=shared].to_vec()).or_default().insert(to[..=shared].to_vec());
            }
        }
    }
    uses
}

/// The paths that a file imports or uses in code outside its tests, one per name.
fn imports(text: &str) -> Vec<String> {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let statements = code.split("use ").skip(1).filter_map(|rest| rest.split_once(';'));
    let written_out = ["crate::", "super::"].into_iter().flat_map(|root| {
        let is_of_path = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
        let rests = code.split(root).skip(1);
        rests
            .filter_map(move |rest| rest.split(|letter| !is_of_path(letter)).next())
            .map(move |rest| format!("{root}{rest}"))
    });
    let imported = statements.flat_map(|(tree, _)| paths("", tree));
    imported.chain(written_out).collect()
}

/// Expands `a::{b, c::{self, D}}`.
fn paths(before: &str, tree: &str) -> Vec<String> {
    let Some((start, group)) = tree.split_once('{') else { return vec![format!("{before}{}", tree.trim())] };
    let before = format!("{before}{}", start.trim());
    let group = group.rsplit_once('}').map_or(group, |(inside, _)| inside);
    let mut depth = 0_i32;
    let parts = group.split(|letter: char| {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        letter == ',' && depth == 0
    });
    parts.filter(|part| !part.trim().is_empty()).flat_map(|part| paths(&before, part)).collect()
}

/// The module that a path leads to.
fn resolve(from: &[String], path: &str, all: &BTreeSet<Module>) -> Module {
    let mut place: Module = from.to_vec();
    let mut known = false;
    for word in path.split("::").map(str::trim) {
        match word {
            "crate" => place.clear(),
            "self" => {}
            "super" => drop(place.pop()),
            name => {
                place.push(name.to_owned());
                if !all.contains(&place) {
                    place.pop();
                    break;
                }
            }
        }
        known = true;
    }
    if known { place } else { from.to_vec() }
}

/// Groups of modules that all reach each other.
fn circles(uses: &Uses) -> Vec<Vec<Module>> {
    let reached = |from: &Module| {
        let mut seen: BTreeSet<&Module> = BTreeSet::new();
        let mut open: Vec<&Module> = uses.get(from).into_iter().flatten().collect();
        while let Some(module) = open.pop() {
            if seen.insert(module) {
                open.extend(uses.get(module).into_iter().flatten());
            }
        }
        seen
    };
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        uses.keys().map(|from| (from, reached(from))).collect();
    let mut circles: Vec<Vec<Module>> = Vec::new();
    for (module, to) in &reached {
        let back = |other: &&&Module| reached.get(**other).is_some_and(|back| back.contains(*module));
        let circle: Vec<Module> = to.iter().filter(back).map(|other| (*other).clone()).collect();
        if circle.len() > 1 && !circles.contains(&circle) {
            circles.push(circle);
        }
    }
    circles
}
