//! What a runner's name of a test says: which file the test belongs to, and its own title.

use crate::grammar_kind::file_name;

/// Whether a test belongs to a file. `None` if its name does not say.
pub fn is_of(name: &str, path: &str) -> Option<bool> {
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    let (folder, file) = stem.rsplit_once('/').unwrap_or(("", stem));
    let whole = file_name(path);
    if name.contains(path) || has_word(name, whole) {
        return Some(true);
    }
    // Rust names modules, Python dotted paths.
    let is_rust = path.ends_with(".rs");
    let own = match (file, is_rust) {
        ("mod" | "lib" | "main", true) => file_name(folder),
        _ => file,
    };
    if !own.is_empty() && has_word(name, own) {
        return Some(true);
    }
    let names_a_file = [".py", ".rs", ".rb", ".js", ".ts", ".mjs", ".cjs", ".mts", ".cts"]
        .iter()
        .any(|ending| name.contains(ending));
    let is_dotted = path.ends_with(".py") && name.matches('.').count() >= 2;
    // PHPUnit's classes are called as their files. Files with other names may hold any.
    let is_class_file = path.ends_with(".php") && file.starts_with(|c: char| c.is_ascii_uppercase());
    let is_of_class = is_class_file && (name.contains('.') || name.contains("::"));
    (names_a_file || is_dotted || is_of_class).then_some(false)
}

/// Whether a name is that of a program of C or C++, which is called as its file is: its tests are those of this file.
pub fn is_program_of(name: &str, path: &str) -> bool {
    let own = name.rsplit([':', '/']).next();
    let of_c = |(stem, ending): (&str, &str)| {
        ["c", "cc", "cpp", "cxx"].contains(&ending) && own.is_some_and(|own| own == stem)
    };
    file_name(path).rsplit_once('.').is_some_and(of_c)
}

/// Whether a text contains a word that is not part of a longer name.
pub fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let is_name = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !is_name(text.get(..at).and_then(|before| before.chars().next_back()))
            && !is_name(text.get(at + word.len()..).and_then(|after| after.chars().next()))
    })
}

/// The words of a text: exactly those for which [`has_word`] is true.
pub fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// A test's own title, without file, group and parameters. Different tests may share it.
pub fn title_of(name: &str) -> &str {
    let own = without_parameters(name);
    own.rsplit(['.', ':', '>', '/']).map(str::trim).find(|part| !part.is_empty()).unwrap_or(own)
}

/// A test's name without its parameters. Those of PHPUnit are words.
pub fn without_parameters(name: &str) -> &str {
    let own = name.split_once('[').map_or(name, |(own, _)| own);
    match own.split_once(" with data set ") {
        Some((own, set)) if set.starts_with(['#', '"']) => own,
        _ => own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tests_name_says_which_file_it_is_of() {
        for (name, path, is) in [
            ("tests.test_parse.CentsTest.test_whole", "tests/test_parse.py", Some(true)),
            ("tests.test_parse.CentsTest.test_whole", "tests/test_other.py", Some(false)),
            ("parse.test.js > cents > reads", "test/parse.test.js", Some(true)),
            ("parse.test.js > cents > reads", "test/other.test.js", Some(false)),
            ("web/parse.test.mjs > cents > reads", "web/parse.test.mjs", Some(true)),
            ("web/parse.test.mjs > cents > reads", "web/other.test.mjs", Some(false)),
            ("amounts > tests/amounts.rs > whole", "tests/amounts.rs", Some(true)),
            ("whole", "tests/amounts.rs", None),
            ("spec/calc_spec.rb > Calc adds", "spec/calc_spec.rb", Some(true)),
            ("test/calc_test.rb > CalcTest > test_adds", "test/other_test.rb", Some(false)),
            ("App.Tests.CalcTest.testAdds", "tests/Unit/CalcTest.php", Some(true)),
            ("CalcTest::testAdds", "tests/Unit/CalcTest.php", Some(true)),
            ("App.Tests.CalcTest.testAdds", "tests/Unit/OtherTest.php", Some(false)),
            ("App.Tests.CalcTest.testAdds", "tests/all_tests.php", None),
        ] {
            assert_eq!(is_of(name, path), is, "{name} {path}");
        }
    }

    #[test]
    fn a_program_of_c_is_called_as_its_file_is() {
        for (name, path, is) in [
            ("misc_tests", "tests/misc_tests.c", true),
            ("shop:misc_tests", "tests/misc_tests.cpp", true),
            ("misc_tests", "tests/old_misc_tests.c", false),
            ("misc_tests", "tests/misc_tests.py", false),
            ("Shop.misc_tests", "tests/misc_tests.cc", false),
        ] {
            assert_eq!(is_program_of(name, path), is, "{name} {path}");
        }
    }

    #[test]
    fn cases_of_a_test_differ_in_their_parameters() {
        for (name, own, title) in [
            ("a.T.test_x[1-2]", "a.T.test_x", "test_x"),
            (r#"App.CalcTest.testAdds with data set "a[1]""#, "App.CalcTest.testAdds", "testAdds"),
            ("App.CalcTest.testAdds with data set #0", "App.CalcTest.testAdds", "testAdds"),
            ("a.js > starts with data set up", "a.js > starts with data set up", "starts with data set up"),
        ] {
            assert_eq!((without_parameters(name), title_of(name)), (own, title));
        }
    }
}
