//! Calls like those that the change's tests make: their literal arguments, varied a little. A fix that knows the inputs of
//! its tests answers these as before.
//!
//! May know: the changed files, syntax trees. Must never know: the verdict, which does not rest on this.

use std::collections::BTreeSet;
use std::iter::once;

use super::judge::{comparable, is_alike};
use super::program::AskedCalls;
use crate::{ChangedPath, changed_lines};
use journeyman_languages::chain::function_name;
use journeyman_languages::example_runners;
use journeyman_languages::roles::grammar_of;
use journeyman_languages::syntax_tree::{NodeId, SyntaxTree, is_function, is_string};
use journeyman_order::bounds::LONGEST_LINE;
use journeyman_order::scrutiny::{NeighbourRun, NeighbourTally};
use journeyman_order::test_path::is_of_tests;

const MOST_CALLS: usize = 6;
/// Most variations of one call.
const MOST_LIKE: usize = 5;
const MOST_SHOWN: usize = 5;
/// How often a process asks a call, and how many seconds it has for all variations.
const TURNS: u32 = 2;
const SECONDS: u32 = 5;

/// A call of a changed function that a test makes, and calls like it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestedCall {
    call: String,
    like: Vec<String>,
}

impl TestedCall {
    pub fn asked(&self) -> AskedCalls {
        AskedCalls {
            codes: self.codes().cloned().collect(),
            setup: String::new(),
            turns: TURNS,
            seconds: SECONDS,
        }
    }

    fn codes(&self) -> impl Iterator<Item = &String> {
        once(&self.call).chain(&self.like)
    }
}

/// The calls of changed functions in the change's test files. Those that the change adds come first.
pub fn tested_calls(changed: &[ChangedPath<'_>]) -> Vec<TestedCall> {
    let mut found: Vec<(bool, TestedCall)> = Vec::new();
    for runner in example_runners() {
        let files = |of_tests: bool| {
            changed.iter().filter(move |file| runner.takes(file.path) && is_of_tests(file.path) == of_tests)
        };
        let names: BTreeSet<String> = files(false).flat_map(touched).collect();
        found.extend(files(true).flat_map(|file| calls_in(file, &names)));
    }
    found.sort_by_key(|(is_new, _)| !is_new);
    let mut seen = BTreeSet::new();
    let mut calls: Vec<TestedCall> = found.into_iter().map(|(_, tested)| tested).collect();
    calls.retain(|tested| seen.insert(tested.call.clone()));
    calls.truncate(MOST_CALLS);
    let tests = changed.iter().filter(|file| is_of_tests(file.path)).filter_map(|file| file.after);
    let tests: Vec<_> = tests.map(String::from_utf8_lossy).collect();
    for TestedCall { like, .. } in &mut calls {
        like.retain(|call| {
            !tests.iter().any(|text| text.contains(call.as_str())) && seen.insert(call.clone())
        });
        like.truncate(MOST_LIKE);
    }
    calls
}

/// What both codes answer to these calls.
pub fn neighbour_tally(
    tested: &[TestedCall],
    issue: &str,
    [before, after]: [&[[Vec<String>; 2]]; 2],
) -> NeighbourTally {
    let mut tally = NeighbourTally::default();
    let mut answers = before.iter().zip(after).map(|(before, after)| comparable(before, after));
    for call in tested {
        for (code, (before, after)) in call.codes().zip(answers.by_ref()) {
            let ([before], [after]) = (before.as_slice(), after.as_slice()) else { continue };
            let is_alike = is_alike(before, after);
            if *code == call.call {
                tally.tested_differs |= !is_alike;
            } else if !issue.contains(code) {
                tally.tried += 1;
                tally.alike += u32::from(is_alike);
                if !is_alike && tally.differing.len() < MOST_SHOWN {
                    let (call, before, after) = (code.clone(), before.clone(), after.clone());
                    tally.differing.push(NeighbourRun { call, before, after });
                }
            }
        }
    }
    tally
}

fn parsed<'f>(path: &str, bytes: &'f [u8]) -> Option<SyntaxTree<'f>> {
    SyntaxTree::read(grammar_of(path)?, bytes).ok()
}

/// The names of the functions that differ between both sides of a file.
fn touched(file: &ChangedPath<'_>) -> Vec<String> {
    let (Some(before), Some(after)) = (file.before, file.after) else { return Vec::new() };
    let mut names = Vec::new();
    for (from, to) in [(before, after), (after, before)] {
        let Some(tree) = parsed(file.path, to) else { continue };
        let lines = changed_lines(Some(from), to);
        let is_touched = |function: &NodeId| {
            let (first, more) = (tree.line(*function), tree.text(*function).matches('\n').count());
            let last = first.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
            lines.iter().any(|of| *of.start() <= last && first <= *of.end())
        };
        let functions = tree.everything().filter(|node| is_function(tree.kind(*node))).filter(is_touched);
        let named = functions.filter_map(|function| function_name(&tree, function)?.rsplit('.').next());
        names.extend(named.map(str::to_owned));
    }
    names
}

/// The calls of these functions in a test file, each with whether the change adds its line.
fn calls_in(file: &ChangedPath<'_>, names: &BTreeSet<String>) -> Vec<(bool, TestedCall)> {
    let Some(bytes) = file.after.filter(|_| !names.is_empty()) else { return Vec::new() };
    let Some(tree) = parsed(file.path, bytes) else { return Vec::new() };
    let lines = changed_lines(file.before, bytes);
    let tested = |node: NodeId| {
        let is_call = matches!(tree.kind(node), "call" | "call_expression");
        let name = is_call.then(|| tree.field_text(node, "function").rsplit('.').next())??;
        let arguments = tree.field(node, "arguments").filter(|_| names.contains(name))?;
        let call = format!("{name}{}", tree.text(arguments));
        let is_one = is_literal(&tree, arguments) && !call.contains('\n') && call.len() <= LONGEST_LINE;
        let is_new = lines.iter().any(|of| of.contains(&tree.line(node)));
        is_one.then(|| (is_new, TestedCall { like: like(&tree, name, arguments), call }))
    };
    tree.everything().filter_map(tested).collect()
}

/// Whether there are arguments, and they hold nothing but literals.
fn is_literal(tree: &SyntaxTree<'_>, arguments: NodeId) -> bool {
    const PARTS: [&str; 16] = [
        "arguments", "argument_list", "keyword_argument", "list", "array", "tuple", "dictionary", "object",
        "pair", "property_identifier", "string_start", "string_content", "string_end", "string_fragment",
        "escape_sequence", "concatenated_string",
    ];
    let is_one = |node: NodeId| {
        let kind = tree.kind(node);
        let is_keyword = kind == "identifier" && tree.field_of(node) == Some("name");
        let is_sign = !kind.contains(char::is_alphabetic);
        PARTS.contains(&kind) || is_keyword || is_sign || tree.is_literal(node)
    };
    tree.parts(arguments).next().is_some() && tree.all(arguments).all(is_one)
}

/// The same call with one other argument, of each argument in turn.
fn like(tree: &SyntaxTree<'_>, name: &str, arguments: NodeId) -> Vec<String> {
    let (text, start) = (tree.text(arguments), tree.bytes(arguments).start);
    let others = |argument: NodeId| {
        let value = tree.field(argument, "value").unwrap_or(argument);
        let bytes = tree.bytes(value);
        let (head, tail) = (text.get(..bytes.start - start), text.get(bytes.end - start..));
        let (head, tail) = (head.unwrap_or_default(), tail.unwrap_or_default());
        let calls = variations(tree, value).into_iter().map(|other| format!("{name}{head}{other}{tail}"));
        calls.collect::<Vec<_>>()
    };
    let each: Vec<Vec<String>> = tree.parts(arguments).map(others).collect();
    let most = each.iter().map(Vec::len).max().unwrap_or_default();
    (0..most).flat_map(|at| each.iter().filter_map(move |calls| calls.get(at).cloned())).collect()
}

/// Other values of the same kind, the nearest first.
fn variations(tree: &SyntaxTree<'_>, value: NodeId) -> Vec<String> {
    let text = tree.text(value);
    let mut others = match tree.kind(value) {
        "list" | "array" => {
            let parts: Vec<&str> = tree.parts(value).map(|part| tree.text(part)).collect();
            let reversed: Vec<&str> = parts.iter().rev().copied().collect();
            let first = parts.first().copied().unwrap_or_default();
            vec![format!("[{}]", reversed.join(", ")), format!("[{first}]"), "[]".to_owned()]
        }
        kind if is_string(kind) => other_texts(text).unwrap_or_default(),
        _ => other_words(text),
    };
    others.retain(|other| other != text);
    others
}

/// `None` if the text of the string is not what it stands for, as with an escape.
fn other_texts(text: &str) -> Option<Vec<String>> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    if inner.contains([quote, '\\']) {
        return None;
    }
    let other = |c: char| match c.to_digit(10) {
        Some(digit) => char::from_digit((digit + 3) % 10, 10).unwrap_or(c),
        None => c,
    };
    let short = inner.char_indices().next_back().and_then(|(last, _)| inner.get(..last));
    let texts = [
        format!("{inner} "),
        short.unwrap_or_default().to_owned(),
        inner.chars().map(other).collect(),
        inner.to_uppercase(),
        inner.repeat(2),
        String::new(),
    ];
    Some(texts.map(|text| format!("{quote}{text}{quote}")).to_vec())
}

fn other_words(text: &str) -> Vec<String> {
    let word = match text {
        "True" | "None" => "False",
        "False" => "True",
        "true" | "null" | "undefined" => "false",
        "false" => "true",
        _ => "",
    };
    if !word.is_empty() {
        return vec![word.to_owned()];
    }
    match (text.parse::<i64>(), text.parse::<f64>()) {
        (Ok(number), _) => {
            let near = [number.saturating_add(1), number.saturating_sub(1), number.saturating_neg(), 0];
            near.map(|near| near.to_string()).to_vec()
        }
        (_, Ok(number)) => {
            let near = [number + 1.0, number - 1.0, -number, 0.0];
            near.map(|near| format!("{near:?}")).to_vec()
        }
        (Err(_), Err(_)) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file<'f>(path: &'f str, before: &'f str, after: &'f str) -> ChangedPath<'f> {
        let bytes = |text: &'f str| Some(text.as_bytes()).filter(|bytes| !bytes.is_empty());
        ChangedPath { path, before: bytes(before), after: bytes(after) }
    }

    fn calls(code: [&str; 3], tests: [&str; 3]) -> Vec<TestedCall> {
        tested_calls(&[code, tests].map(|[path, before, after]| file(path, before, after)))
    }

    #[test]
    fn a_literal_argument_is_varied_into_its_neighbours() {
        let like = |call: &str| {
            let code = ["a.py", "def f(a, b):\n    return 1\n", "def f(a, b):\n    return 2\n"];
            let test = format!("def test_f():\n    assert f({call}) == 1\n");
            calls(code, ["test_a.py", "", &test])
                .into_iter()
                .flat_map(|tested| tested.like)
                .collect::<Vec<_>>()
        };
        assert_eq!(like("3"), ["f(4)", "f(2)", "f(-3)", "f(0)"]);
        assert_eq!(like("-1.5"), ["f(-0.5)", "f(-2.5)", "f(1.5)", "f(0.0)"]);
        assert_eq!(like("'a9'"), ["f('a9 ')", "f('a')", "f('a2')", "f('A9')", "f('a9a9')"]);
        assert_eq!(like("\"\""), ["f(\" \")"]);
        assert_eq!(like("[1, 'b']"), ["f(['b', 1])", "f([1])", "f([])"]);
        assert_eq!(like("b=None, a=True"), ["f(b=False, a=True)", "f(b=None, a=False)"]);
        assert_eq!(
            like("{'a': 1}, 2"),
            ["f({'a': 1}, 3)", "f({'a': 1}, 1)", "f({'a': 1}, -2)", "f({'a': 1}, 0)"]
        );
        for unknown in ["", "x", "'a' + x", "f'{x}'", "[x]", "{'a': x}", "g(1)"] {
            assert!(like(unknown).is_empty(), "{unknown}");
        }
    }

    #[test]
    fn calls_of_changed_functions_are_found_and_new_ones_come_first() {
        const CODE: &str = "def same(a):\n    return a\n\n\ndef slug(text):\n    return text.lower()\n";
        let code = ["a/texts.py", CODE, &CODE.replace("lower()", "lower().strip('-')")];
        let old = "def test_old():\n    assert same('x') == 'x'\n    assert texts.slug('Old') == 'old'\n";
        let new = format!("{old}    assert slug('New?') == 'new'\n    assert slug('New') == 'new'\n");
        let found = calls(code, ["tests/test_texts.py", old, &new]);
        let codes: Vec<&str> = found.iter().map(|tested| tested.call.as_str()).collect();
        assert_eq!(codes, ["slug('New?')", "slug('New')", "slug('Old')"]);
        assert!(!found[0].like.contains(&"slug('New')".to_owned()), "a test has it");

        let code = "exports.inc = (version) => version + 1;\nfunction half(a) {\n  return a;\n}\n";
        let test = "test('a', () => assert.deepEqual(half([1, 2], { deep: true }), 1));\ntest('b', () => assert.equal(inc(1), 2));\n";
        let found = calls(["a.js", code, &code.replace("return a", "return b")], ["a.test.js", "", test]);
        assert_eq!(found[0].call, "half([1, 2], { deep: true })");
        assert_eq!((found.len(), found[0].like[0].as_str()), (1, "half([2, 1], { deep: true })"));
        let found = calls(["a.js", code, &code.replace("+ 1", "+ 2")], ["a.test.js", "", test]);
        assert_eq!(found[0].call, "inc(1)");
    }

    #[test]
    fn only_calls_with_one_answer_on_each_side_count_and_errors_of_a_kind_are_alike() {
        let like = ["f(2)", "f(3)", "f(4)", "f(5)", "f(6)"].map(str::to_owned).to_vec();
        let tested = [TestedCall { call: "f(1)".to_owned(), like }];
        let side = |answers: [&str; 6]| {
            answers.map(|said| [said.split_whitespace().map(str::to_owned).collect::<Vec<_>>(), Vec::new()])
        };
        let errors = |mut answers: [[Vec<String>; 2]; 6], message: &str| {
            answers[1][0] = vec![format!("! ValueError: {message}")];
            answers
        };
        let before = errors(side(["1", "", "3", "4", "5 6", "7"]), "no");
        let after = errors(side(["2", "", "3", "5", "5", "8"]), "not that");
        let tally = neighbour_tally(&tested, "See `f(6)`.", [&before, &after]);
        assert_eq!((tally.tried, tally.alike, tally.tested_differs), (3, 2, true));
        let differing =
            NeighbourRun { call: "f(4)".to_owned(), before: "4".to_owned(), after: "5".to_owned() };
        assert_eq!(tally.differing, [differing]);
        assert!(!tally.is_of_tested_inputs_alone());
        let all = NeighbourTally { tried: 8, alike: 8, tested_differs: true, differing: Vec::new() };
        assert!(all.is_of_tested_inputs_alone());
        assert!(!NeighbourTally { tried: 7, alike: 7, ..all.clone() }.is_of_tested_inputs_alone(), "too few");
        assert!(!NeighbourTally { tested_differs: false, ..all }.is_of_tested_inputs_alone());
    }
}
