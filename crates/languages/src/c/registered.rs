//! A test's registration in CMake and Meson besides its name: its command, and the meaning of its exit. A change may
//! register new tests, but the base's tests run and are judged as before.
//!
//! May know: the form of calls in CMakeLists.txt and meson.build. Must never know: how anything is built.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::old_settings::OldSettings;
use journeyman_order::bounds::LARGEST_FILE;

/// A call that configures how a test runs.
struct Registration<'t> {
    bytes: Range<usize>,
    text: &'t str,
    /// The registered test. `None` for a call that sets properties of tests registered elsewhere.
    test: Option<String>,
}

/// Restores the base's registrations in a file of the change.
pub(super) fn old_registrations(base: Option<&[u8]>, after: &[u8]) -> OldSettings {
    let old = base.and_then(|base| with_old_registrations(&text(base), &text(after)));
    old.map_or(OldSettings::AsItIs, |old| OldSettings::Part(old.into_bytes()))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The change's file with the base's registrations restored, and without new properties for its tests. `None` if
/// nothing differs. If calls cannot be parsed, it is the base's file.
fn with_old_registrations(base: &str, after: &str) -> Option<String> {
    let (Some(before), Some(now)) = (registrations(base), registrations(after)) else {
        return Some(base.to_owned());
    };
    let said: BTreeSet<String> = before.iter().map(|call| in_one_line(call.text)).collect();
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    for call in &before {
        if let Some(test) = &call.test {
            known.entry(test).or_insert(call.text);
        }
    }
    let (mut text, mut from) = (String::with_capacity(after.len()), 0);
    for call in now.iter().filter(|call| !said.contains(&in_one_line(call.text))) {
        let old = match call.test.as_deref().map(|test| known.get(test)) {
            None => "",
            Some(Some(old)) => *old,
            // A new test is not part of the base.
            Some(None) => continue,
        };
        let Some(between) = after.get(from..call.bytes.start) else { return Some(base.to_owned()) };
        text.push_str(between);
        text.push_str(old);
        from = call.bytes.end;
    }
    text.push_str(after.get(from..)?);
    (from > 0).then_some(text)
}

/// Whether the change registers tests that the base does not.
pub(super) fn registers_more(base: Option<&[u8]>, after: Option<&[u8]>) -> bool {
    let tests = |bytes: Option<&[u8]>| -> BTreeSet<String> {
        let text = text(bytes.unwrap_or_default());
        registrations(&text).unwrap_or_default().into_iter().filter_map(|call| call.test).collect()
    };
    !tests(after).is_subset(&tests(base))
}

/// `None` if there is too much to parse.
fn registrations(text: &str) -> Option<Vec<Registration<'_>>> {
    let mut left = LARGEST_FILE;
    let begins = pattern!(
        r"(?im)^[ \t]*(test|add_test|set_tests_properties|set_property|\w+_discover_tests|\w*add_\w*test\w*)[ \t]*\("
    );
    let calls = begins.captures_iter(text).filter_map(|found| {
        let (whole, name) = (found.get(0)?, found.get(1)?);
        let bytes = name.start()..closing(text, whole.end(), &mut left)?;
        let arguments = text.get(whole.end()..bytes.end - 1)?;
        let mut words = arguments
            .split(|c: char| c.is_whitespace() || c == ',')
            .map(|word| word.trim_matches(['"', '\'']))
            .filter(|word| !word.is_empty());
        let test = match name.as_str().to_lowercase().as_str() {
            "set_tests_properties" => None,
            // Properties of something other than a test.
            "set_property" if !words.any(|word| word == "TEST") => return None,
            "set_property" => None,
            _ => words.find(|word| *word != "NAME").map(str::to_owned),
        };
        let text = text.get(bytes.clone())?;
        Some(Registration { bytes, text, test })
    });
    let calls = calls.collect();
    (left > 0).then_some(calls)
}

/// The position after the bracket that closes the one opened before `from`.
fn closing(text: &str, from: usize, left: &mut usize) -> Option<usize> {
    let (mut depth, mut quote, mut is_comment) = (1_usize, None, false);
    for (at, c) in text.get(from..)?.char_indices() {
        *left = left.checked_sub(1)?;
        match (quote, c) {
            (_, '\n') if is_comment => is_comment = false,
            _ if is_comment => {}
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '#') => is_comment = true,
            (None, '(') => depth += 1,
            (None, ')') => {
                depth -= 1;
                if depth == 0 {
                    return Some(from + at + 1);
                }
            }
            (None, _) => {}
        }
    }
    None
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn more(base: &str, after: &str) -> bool {
        registers_more(Some(base.as_bytes()), Some(after.as_bytes()))
    }

    #[test]
    fn where_calls_cannot_be_told_apart_all_is_as_it_was() {
        let base = "add_test(NAME sub COMMAND a sub)\n";
        let within = "add_test(NAME sub COMMAND\nadd_test(NAME sub COMMAND true)\n)\n";
        let open = "add_test(\n".repeat(20_000);
        for after in [within, &open] {
            assert_eq!(with_old_registrations(base, after).as_deref(), Some(base));
        }
        assert!(!more(base, &open));
    }

    #[test]
    fn tests_of_the_base_are_registered_as_they_were_and_new_ones_as_they_are() {
        let base = "project(a)\nadd_executable(a a.c)\nadd_test(NAME sub COMMAND a sub) # (one\nset_tests_properties(add PROPERTIES\n  TIMEOUT 9)\n";
        for (after, laid) in [
            (format!("{base}add_test(NAME new COMMAND a new)\n"), None),
            (base.replace("a.c", "a.c b.c"), None),
            (base.replace("PROPERTIES\n  TIMEOUT", "PROPERTIES TIMEOUT"), None),
            (
                format!("{base}add_test(new a)\nset_tests_properties(sub PROPERTIES WILL_FAIL TRUE)\n"),
                Some(format!("{base}add_test(new a)\n\n")),
            ),
            (base.replace("COMMAND a sub", "COMMAND true"), Some(base.to_owned())),
            (
                format!(
                    "{base}set_property(TEST sub PROPERTY WILL_FAIL ON)\nset_property(TARGET a PROPERTY C 11)\n"
                ),
                Some(format!("{base}\nset_property(TARGET a PROPERTY C 11)\n")),
            ),
        ] {
            assert_eq!(with_old_registrations(base, &after), laid, "{after}");
        }
        assert!(more(base, &format!("{base}add_test(new a)\n")));
        assert!(!more(base, &base.replace("a sub", "b sub")));
        let base = "exe = executable('a', 'a.c')\ntest('sub', exe, args: ['(sub'])\n";
        let after = base.replace("args: ", "should_fail: true, args: ");
        assert_eq!(with_old_registrations(base, &after).as_deref(), Some(base));
        assert_eq!(with_old_registrations(base, &format!("{base}test('new', exe)\n")), None);
    }
}
