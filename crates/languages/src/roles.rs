//! What a file is to the tests, by its path.
//!
//! May know: the languages. Must never know: what is in a file.

use crate::grammar_kind::{GrammarKind, file_name};
use crate::table::{all, syntaxes};

/// The grammar by which a file is parsed.
pub fn grammar_of(path: &str) -> Option<GrammarKind> {
    let (_, ending) = file_name(path).rsplit_once('.')?;
    let mut grammars = syntaxes().flat_map(|rules| rules.grammars);
    grammars.find(|(_, endings)| endings.contains(&ending)).map(|(grammar, _)| *grammar)
}

/// Whether a file is source in a language that is parsed here.
pub fn is_source_path(path: &str) -> bool {
    grammar_of(path).is_some()
}

/// The language of a file of code that is not parsed here, for people.
pub fn unparsed_language(path: &str) -> Option<&'static str> {
    let (_, ending) = file_name(path).rsplit_once('.')?;
    all(|facts| facts.unparsed).find(|(_, endings)| endings.contains(&ending)).map(|(name, _)| *name)
}

/// Whether a file is compiled code: it runs, but its source cannot be inspected.
pub fn is_compiled_path(path: &str) -> bool {
    let name = file_name(path);
    // A library may have a version suffix: `libsums.so.2`.
    let ending = name.rsplit('.').find(|part| !part.bytes().all(|byte| byte.is_ascii_digit()));
    name.contains('.')
        && ending
            .is_some_and(|ending| all(|facts| facts.compiled).any(|one| one.eq_ignore_ascii_case(ending)))
}

/// Whether a file of code may hold tests as well.
pub fn may_hold_tests(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, ending)| all(|facts| facts.with_tests).any(|one| *one == ending))
}

/// What begins an example in the documentation of a file of code, if such examples run as tests.
pub fn example_mark(path: &str) -> Option<&'static str> {
    let (_, ending) = path.rsplit_once('.')?;
    all(|facts| facts.with_examples).find(|(one, _)| *one == ending).map(|(_, mark)| *mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_parsed_or_its_language_has_a_name() {
        for ending in all(|facts| facts.sources) {
            let path = format!("src/a.{ending}");
            assert_ne!(is_source_path(&path), unparsed_language(&path).is_some(), "{path}");
        }
        assert_eq!((unparsed_language("a.rb"), unparsed_language("a.md")), (Some("Ruby"), None));
    }

    #[test]
    fn compiled_code_is_known_by_its_name() {
        for (path, expected) in [
            ("sums/_sizes.pyc", true),
            ("lib/libsums.so.2.1", true),
            ("web/app.WASM", true),
            ("sums/node.py", false),
            ("node", false),
            ("docs/class.md", false),
        ] {
            assert_eq!(is_compiled_path(path), expected, "{path}");
        }
    }
}
