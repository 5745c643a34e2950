//! Parameters that a change gives to functions of the base, and tests without arguments for them: what nobody but the new tests
//! passes mends nothing for anybody else.
//!
//! Nothing is judged by reading: what is read here says what is left out in a run.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::about::{asks_for_option, is_named};
use super::names::OTHERWISE;
use super::sides::{ChangedPath, is_of_tests};
use crate::tamper::language::Language;
use crate::tamper::syntax::{NodeId, Syntax, is_function};

/// What a function of the base takes with the change only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewParameters {
    /// The function, or the class that it makes one of; none: any that is given options.
    function: Option<String>,
    /// How many arguments it took by their place; none where it took any number.
    places: Option<usize>,
    names: BTreeSet<String>,
}

/// What a function takes. Of several that are called alike, all that any of them does.
#[derive(Debug, Default)]
struct Signature {
    places: usize,
    is_open: bool,
    names: BTreeSet<String>,
}

/// The new parameters of functions that the base has, in the languages in which a call may leave them out, and what else is read
/// of options. `new_words` are those of the change's code that stand nowhere in the base.
pub fn new_parameters(changed: &[ChangedPath<'_>], new_words: &BTreeSet<String>) -> Vec<NewParameters> {
    let mut all = read_options(changed, new_words);
    for file in changed.iter().filter(|file| !is_of_tests(file.path)) {
        let sides = (signatures(file.path, file.before), signatures(file.path, file.after));
        let (Some(before), Some(after)) = sides else { continue };
        for (function, now) in after {
            let Some(was) = before.get(&function) else { continue };
            let names: BTreeSet<String> = now.names.difference(&was.names).cloned().collect();
            if !names.is_empty() {
                let places = (!was.is_open).then_some(was.places);
                all.push(NewParameters { function: Some(function), places, names });
            }
        }
    }
    all
}

/// Files of code that could be read on the base and cannot with the change: what they bring, nobody can tell.
pub fn unread_sources(changed: &[ChangedPath<'_>]) -> Vec<String> {
    let is_read = |path: &str, bytes: Option<&[u8]>| match (Language::of(path), bytes) {
        (Some(language), Some(bytes)) if optional_in(path).is_none() => Syntax::read(language, bytes).is_ok(),
        (Some(_), Some(_)) => signatures(path, bytes).is_some(),
        (Some(_) | None, _) => true,
    };
    let is_unread =
        |file: &&ChangedPath<'_>| !is_read(file.path, file.after) && is_read(file.path, file.before);
    let code = changed.iter().filter(|file| !is_of_tests(file.path));
    code.filter(is_unread).map(|file| file.path.to_owned()).collect()
}

/// New properties that the code reads and does not call: of an object of options they may be the keys.
fn read_options(changed: &[ChangedPath<'_>], new_words: &BTreeSet<String>) -> Vec<NewParameters> {
    let Some(property) = pattern!(r"(?m)\.(\w+)\s*(?:[^(\w\s]|$)") else { return Vec::new() };
    let mut read = BTreeSet::new();
    let code = changed.iter().filter(|file| {
        !is_of_tests(file.path) && optional_in(file.path).is_some_and(|language| language != Language::Python)
    });
    for text in code.filter_map(|file| file.after).map(String::from_utf8_lossy) {
        let mut from = 0;
        // What ends one may begin the next.
        while let Some(name) = property.captures_at(&text, from).and_then(|found| found.get(1)) {
            read.extend(new_words.get(name.as_str()).cloned());
            from = name.end();
        }
    }
    let option = |word| NewParameters { function: None, places: None, names: BTreeSet::from([word]) };
    read.into_iter().map(option).collect()
}

/// A file of tests without some arguments.
pub(super) enum FewerArguments {
    /// It has none of them.
    None,
    /// Nobody can tell.
    Unread,
    /// Its text without them, and for which parameters they were.
    LeftOut(String, BTreeSet<String>),
}

/// Parameters that an issue does not name.
pub(super) fn not_asked_for<'p>(parameters: &'p [NewParameters], issue: &str) -> Vec<&'p NewParameters> {
    let asked_for =
        |new: &&NewParameters| asks_for_option(issue) || new.names.iter().any(|name| is_named(issue, name));
    parameters.iter().filter(|new| !asked_for(new)).collect()
}

/// A file of tests with no argument for any of these.
pub(super) fn without_arguments(path: &str, text: &str, parameters: &[&NewParameters]) -> FewerArguments {
    let Some(language) = optional_in(path).filter(|_| !parameters.is_empty()) else {
        return FewerArguments::None;
    };
    let Ok(syntax) = Syntax::read(language, text.as_bytes()) else { return FewerArguments::Unread };
    // Of one that is called so; and those of whatever is called.
    let mut by_name: BTreeMap<&str, Vec<&NewParameters>> = BTreeMap::new();
    let mut of_all: Vec<&NewParameters> = Vec::new();
    for new in parameters.iter().copied() {
        match &new.function {
            Some(function) => by_name.entry(function).or_default().push(new),
            None => of_all.push(new),
        }
    }
    let (mut edits, mut used) = (BTreeMap::new(), BTreeSet::new());
    for call in syntax.everything() {
        let Some(arguments) = syntax.field(call, "arguments") else { continue };
        let called = syntax.field(call, "function").or_else(|| syntax.field(call, "constructor"));
        let whole = called.map_or("", |called| syntax.text(called));
        let called = last_name(whole);
        // What is expected is no option.
        let lower = whole.to_lowercase();
        let expects = ["assert", "expect", "equal", "match", "tobe"].iter().any(|word| lower.contains(word));
        let of_it = by_name.get(called).into_iter().flatten();
        for new in of_it.chain(of_all.iter().filter(|_| !expects)) {
            let found = arguments_for(&syntax, arguments, new);
            if !found.is_empty() {
                used.extend(new.names.iter().cloned());
            }
            edits.extend(found.into_iter().map(|(bytes, put)| (bytes.start, (bytes, put))));
        }
    }
    if syntax.is_exhausted() {
        return FewerArguments::Unread;
    }
    // An argument within one that is left out goes with it.
    let (mut now, mut from) = (String::with_capacity(text.len()), 0);
    for (bytes, put) in edits.into_values().filter(|(bytes, _)| !bytes.is_empty()) {
        if bytes.start >= from {
            now.push_str(text.get(from..bytes.start).unwrap_or_default());
            now.push_str(put);
            from = bytes.end;
        }
    }
    now.push_str(text.get(from..).unwrap_or_default());
    match used.is_empty() {
        true => FewerArguments::None,
        false => FewerArguments::LeftOut(now, used),
    }
}

/// What of a call's arguments is for new parameters, and what is put in its place.
fn arguments_for(
    syntax: &Syntax<'_>,
    arguments: NodeId,
    new: &NewParameters,
) -> Vec<(Range<usize>, &'static str)> {
    let is_new = |name: &str| new.names.contains(name);
    let (mut found, mut place, mut last) = (Vec::new(), 0, None);
    for part in syntax.parts(arguments) {
        let bytes = syntax.bytes(part);
        // With the comma before it.
        let whole = last.unwrap_or(bytes.start)..bytes.end;
        last = Some(bytes.end);
        match syntax.kind(part) {
            "keyword_argument" => {
                if is_new(syntax.field_text(part, "name")) {
                    found.push((whole, ""));
                }
            }
            // What follows has no known place.
            "list_splat" | "dictionary_splat" | "spread_element" => break,
            kind => {
                place += 1;
                if new.places.is_some_and(|places| place > places) {
                    found.push((whole, ""));
                } else if kind == "object" {
                    let keys = syntax.parts(part).filter_map(|pair| syntax.field(pair, "key"));
                    let keys = keys.filter(|key| is_new(syntax.text(*key).trim_matches(['"', '\''])));
                    found.extend(keys.map(|key| (syntax.bytes(key), OTHERWISE)));
                }
            }
        }
    }
    found
}

/// The functions of a file, by name; none where it cannot be read.
fn signatures(path: &str, bytes: Option<&[u8]>) -> Option<BTreeMap<String, Signature>> {
    let mut all: BTreeMap<String, Signature> = BTreeMap::new();
    let (Some(language), Some(bytes)) = (optional_in(path), bytes) else { return Some(all) };
    let syntax = Syntax::read(language, bytes).ok()?;
    for function in syntax.everything().filter(|node| is_function(syntax.kind(*node))) {
        let Some(parameters) = syntax.field(function, "parameters") else { continue };
        let Some(name) = name_of(&syntax, function) else { continue };
        let signature = all.entry(name).or_default();
        let mut places = 0;
        for (at, part) in syntax.parts(parameters).enumerate() {
            match syntax.kind(part) {
                "list_splat_pattern" | "rest_pattern" => signature.is_open = true,
                "dictionary_splat_pattern" | "keyword_separator" | "positional_separator" => {}
                _ => {
                    let own = own_names(&syntax, part);
                    if at > 0 || !own.iter().any(|name| name == "self" || name == "cls") {
                        places += 1;
                        signature.names.extend(own);
                    }
                }
            }
        }
        signature.is_open |= syntax.text(function).contains("arguments");
        signature.places = signature.places.max(places);
    }
    (!syntax.is_exhausted()).then_some(all)
}

/// What a parameter is called, and what it is taken apart into.
fn own_names(syntax: &Syntax<'_>, parameter: NodeId) -> Vec<String> {
    let named = ["name", "left", "pattern"].iter().find_map(|field| syntax.field(parameter, field));
    let is_named = |node: &NodeId| syntax.kind(*node) == "identifier";
    let pattern = named.or_else(|| syntax.parts(parameter).find(is_named)).unwrap_or(parameter);
    match syntax.kind(pattern) {
        "object_pattern" => {
            let key = |part: NodeId| {
                let node = ["key", "left"].iter().find_map(|field| syntax.field(part, field)).unwrap_or(part);
                syntax.text(node).to_owned()
            };
            syntax.parts(pattern).map(key).collect()
        }
        "assignment_pattern" if pattern != parameter => own_names(syntax, pattern),
        _ => vec![syntax.text(pattern).to_owned()],
    }
}

/// What a function is called by: its own name, that of what it is assigned to, or of the class that it makes one of.
fn name_of(syntax: &Syntax<'_>, function: NodeId) -> Option<String> {
    let up = syntax.parent(function)?;
    let own = syntax.field_text(function, "name");
    if matches!(own, "__init__" | "constructor") {
        let class = syntax.ancestors(function).find(|node| syntax.kind(*node).starts_with("class_d"))?;
        return Some(syntax.field_text(class, "name").to_owned()).filter(|name| !name.is_empty());
    }
    let assigned = || ["name", "left", "key"].iter().map(|field| syntax.field_text(up, field));
    let name = std::iter::once(own).chain(assigned()).find(|name| !name.is_empty())?;
    Some(last_name(name).to_owned()).filter(|name| !name.is_empty())
}

/// The language of a file, if a call may leave arguments out in it.
fn optional_in(path: &str) -> Option<Language> {
    Language::of(path).filter(|language| match language {
        Language::Python | Language::JavaScript | Language::TypeScript | Language::Tsx => true,
        Language::Rust | Language::Go | Language::Java => false,
    })
}

fn last_name(text: &str) -> &str {
    text.rsplit(|c: char| !c.is_alphanumeric() && c != '_' && c != '$').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(path: &str, (before, after): (&str, &str), test: &str, issue: &str) -> Option<String> {
        let file = ChangedPath { path, before: Some(before.as_bytes()), after: Some(after.as_bytes()) };
        let test_path = format!("tests/test_a.{}", path.rsplit('.').next().unwrap());
        let new = BTreeSet::from(["dropEmpty", "env", "read"].map(str::to_owned));
        let parameters = new_parameters(&[file], &new);
        match without_arguments(&test_path, test, &not_asked_for(&parameters, issue)) {
            FewerArguments::LeftOut(text, _) => Some(text),
            FewerArguments::None => None,
            FewerArguments::Unread => panic!("it can be read"),
        }
    }

    #[test]
    fn a_test_passes_nothing_for_what_the_change_alone_takes() {
        let python = (
            "def part(n, seq):\n    pass\n\n\nclass Reader:\n    def __init__(self, path):\n        pass\n",
            "def part(n, seq, strict=False):\n    pass\n\n\nclass Reader:\n    def __init__(self, path, *, strict: bool = False):\n        pass\n",
        );
        for (test, now) in [
            (
                "assert list(part(5, Lying([1, 2]), True)) == []",
                Some("assert list(part(5, Lying([1, 2]))) == []"),
            ),
            ("part(1, part(2, x, True), strict=True)", Some("part(1, part(2, x))")),
            ("it.part(1, x,\n    True,\n)", Some("it.part(1, x,\n)")),
            ("Reader('a', strict=True)", Some("Reader('a')")),
            ("part(1, x)\nother(1, 2, 3, strict=True)\npart(*all)", None),
        ] {
            assert_eq!(without("it.py", python, test, "It fails.").as_deref(), now, "{test}");
        }
        for issue in ["With `strict` it fails.", "I would like an optional argument for it."] {
            assert_eq!(without("it.py", python, "part(1, x, True)", issue), None, "{issue}");
        }
        let prose = "A strict reader would expect an error.";
        assert!(
            without("it.py", python, "part(1, x, True)", prose).is_some(),
            "a word of prose names nothing"
        );
        let javascript = (
            "exports.inc = (version, release) => 1;\nclass A {\n  read(text, { loose }) {}\n  constructor() {}\n}\n",
            "exports.inc = (version, release, dotted) => 1;\nclass A {\n  read(text, { loose, dotted = 1 } = {}) {}\n  constructor(dotted) {}\n}\n",
        );
        for (test, now) in [
            ("equal(inc('1', 'pre', true), 2)", Some("equal(inc('1', 'pre'), 2)")),
            (
                "new A(true).read('x', { loose: 1, 'dotted': 2 })",
                Some("new A().read('x', { loose: 1, _called_otherwise: 2 })"),
            ),
            ("inc('1')", None),
        ] {
            assert_eq!(without("inc.js", javascript, test, "It fails.").as_deref(), now, "{test}");
        }
        let options = ("const a = 1;\n", "const b = options.dropEmpty || process.env.B || this.read();\n");
        for (test, now) in [
            (
                "equal(slug('a', { dropEmpty: true, read: 1 }), { dropEmpty: 1 }); process.env.B = 1;",
                Some(
                    "equal(slug('a', { _called_otherwise: true, read: 1 }), { dropEmpty: 1 }); process.env.B = 1;",
                ),
            ),
            ("deepEqual(list(), { dropEmpty: true })", None),
        ] {
            assert_eq!(without("a.js", options, test, "It fails.").as_deref(), now, "{test}");
        }
        let typescript = (
            "export function inc(version: string): number {}\n",
            "export function inc(version: string, dotted?: boolean, deep: number = 1): number {}\n",
        );
        assert_eq!(
            without("inc.ts", typescript, "inc('1', true, 2)", "It fails.").as_deref(),
            Some("inc('1')")
        );
    }

    #[test]
    fn what_took_any_number_and_what_only_moved_is_left() {
        for (before, after) in [
            ("def a(*all):\n    pass\n", "def a(*all, x=1):\n    pass\n"),
            ("def a(x, y):\n    pass\n", "def a(y, x):\n    pass\n"),
            ("def b():\n    pass\n", "def a(x, y, z):\n    pass\n"),
        ] {
            assert_eq!(without("a.py", (before, after), "a(1, 2, 3)", ""), None, "{after}");
        }
    }
}
