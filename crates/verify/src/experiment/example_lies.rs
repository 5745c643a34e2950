//! Lies in documentation examples, which some runners treat as tests.

use super::family::SourceLanguage;
use super::lie::{Lie, lies_in, lies_of};
use super::scan::SourceScan;
use journeyman_languages::roles::{example_mark, may_hold_tests};
use journeyman_order::bounds::MOST_LOOKED_AT;

/// Whether a file belongs to the tests, or is code with tests in it. Lies are told only in these tests.
pub fn holds_tests(path: &str, bytes: &[u8]) -> bool {
    super::sides::is_of_tests(path)
        || may_hold_tests(path) && bytes.windows(6).any(|window| window == b"test]\n" || window == b"(test)")
}

/// Whether a code file may have documentation examples that run as tests.
pub fn holds_examples(path: &str, bytes: &[u8]) -> bool {
    example_mark(path).is_some_and(|mark| bytes.windows(mark.len()).any(|window| window == mark.as_bytes()))
}

/// Whether a file has no tests except documentation examples.
pub(super) fn is_code(path: &str, bytes: &[u8]) -> bool {
    holds_examples(path, bytes) && !holds_tests(path, bytes)
}

/// The possible lies in a file: in its tests, and in its documentation examples.
pub(super) fn all_lies_in(path: &str, bytes: &[u8]) -> Vec<Lie> {
    let mut lies = if is_code(path, bytes) { Vec::new() } else { lies_in(path, bytes) };
    if let (true, Ok(text)) = (holds_examples(path, bytes), std::str::from_utf8(bytes)) {
        lies.extend(lies_in_examples(path, text));
    }
    lies
}

/// The possible lies in a file's documentation examples.
fn lies_in_examples(path: &str, text: &str) -> Vec<Lie> {
    if path.ends_with(".py") {
        return lies_in_sessions(path, text);
    }
    lies_of(path, text, &SourceScan::of(&code_of_examples(text), SourceLanguage::Rust))
}

/// Whether a lie is in the output of a Python session.
pub(super) fn is_shown_in_a_session(lie: &Lie, text: &str) -> bool {
    lie.path.ends_with(".py") && lies_in_sessions(&lie.path, text).iter().any(|own| own.at == lie.at)
}

/// The possible lies in the output of Python sessions.
fn lies_in_sessions(path: &str, text: &str) -> Vec<Lie> {
    let (mut lies, mut at, mut is_answer) = (Vec::new(), 0, false);
    for (number, line) in (1_u32..).zip(text.split_inclusive('\n')) {
        let own = line.trim();
        let start = at + (line.len() - line.trim_start().len());
        at += line.len();
        if own.starts_with(">>>") || (is_answer && own.starts_with("...")) {
            // What is skipped is not compared.
            is_answer = !own.contains("+SKIP");
            continue;
        }
        let is_one = is_answer
            && !own.is_empty()
            && !own.starts_with("\"\"\"")
            && !own.starts_with("'''")
            && !own.starts_with("Traceback");
        is_answer = false;
        if is_one && lies.len() < MOST_LOOKED_AT {
            let digits = pattern!(r"\d{1,9}").find(own);
            let (at, now) =
                match digits.and_then(|found| Some((found, super::text::other_number(found.as_str())?))) {
                    Some((found, now)) => (start + found.start()..start + found.end(), now),
                    None => (start..start + own.len(), format!("q{own}")),
                };
            lies.push(Lie { is_sure: true, ..Lie::of(path, text, (number, at), now) });
        }
    }
    lies
}

/// The code blocks of Rust doc comments, each byte in its place, with blanks for everything else.
fn code_of_examples(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let (mut is_within, mut is_compared) = (false, false);
    let blanks =
        |line: &str| -> String { line.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect() };
    for line in text.split_inclusive('\n') {
        let own = line.trim_start();
        let is_doc = own.starts_with("///") || own.starts_with("//!");
        let fence = own.get(3..).filter(|_| is_doc).and_then(|rest| rest.trim_start().strip_prefix("```"));
        if let Some(words) = fence.filter(|_| !is_within) {
            is_compared = words.split([',', ' ']).all(|word| is_of_a_test(word.trim()));
        }
        is_within = is_doc && (is_within != fence.is_some());
        if is_within && is_compared && fence.is_none() {
            let marked = line.len() - own.len() + 3;
            code.push_str(&" ".repeat(marked));
            code.push_str(line.get(marked..).unwrap_or_default());
        } else {
            code.push_str(&blanks(line));
        }
    }
    code
}

/// Whether an example with this word at its fence runs, and has to end well.
fn is_of_a_test(word: &str) -> bool {
    word.is_empty() || word == "rust" || word.starts_with("edition")
}

#[cfg(test)]
mod tests {
    use super::super::lies::TestTexts;
    use std::collections::BTreeSet;

    #[test]
    fn an_example_in_the_documentation_is_made_false() {
        let python = "def half(n):\n    \"\"\"Half.\n\n    >>> half(4)\n    2\n    >>> for n in (4,):\n    ...     half(n)\n    2\n    >>> half('a')\n    Traceback (most recent call last):\n    >>> half(0) == 0\n    True\n    \"\"\"\n";
        let rust = "/// Half.\n///\n/// ```\n/// assert_eq!(a::half(4), 2);\n/// ```\n/// assert_eq!(no, 3);\npub fn half() {}\n";
        for (path, text, name, lies) in [
            ("pkg/a.py", python, "pkg.a.pkg.a.half", &["2 -> 19", "2 -> 19", "True -> qTrue"][..]),
            ("src/lib.rs", rust, "doc > a > src/lib.rs - half", &["2 -> 19"]),
        ] {
            let files = [(path.to_owned(), text.as_bytes().to_vec())];
            let texts = TestTexts { files: &files };
            let told = texts.of_tests(&[name.to_owned()], "");
            let told: Vec<String> =
                told[0].1.iter().map(|lie| format!("{} -> {}", lie.was, lie.now)).collect();
            assert_eq!(told, lies, "{path}");
            assert_eq!(texts.nearest(&[name.to_owned()], &BTreeSet::new(), 1).len(), 1);
            let lies = texts.of_tests(&[name.to_owned()], "");
            let edits = texts.in_other_words(&lies[0].1.iter().collect::<Vec<_>>());
            let reworded = texts.overlays_of(&edits.iter().collect::<Vec<_>>());
            let crate::OverlayAction::Write(reworded) = &reworded[0].action else { panic!("a file") };
            let is_same = String::from_utf8_lossy(reworded).starts_with(text);
            assert_eq!(is_same, path.ends_with(".py"), "a session says it in one way only");
        }
    }

    #[test]
    fn an_example_that_is_not_compared_is_left_alone() {
        let python =
            "def half(n):\n    \"\"\"Half.\n\n    >>> half(4)  # doctest: +SKIP\n    2\n    \"\"\"\n";
        assert_eq!(super::all_lies_in("pkg/a.py", python.as_bytes()), []);
        for (fence, lies) in [("", 1), ("rust,edition2021", 1), ("ignore", 0), ("no_run", 0), ("text", 0)] {
            let rust =
                format!("/// ```{fence}\n/// assert_eq!(a::half(4), 2);\n/// ```\npub fn half() {{}}\n");
            assert_eq!(super::all_lies_in("src/lib.rs", rust.as_bytes()).len(), lies, "{fence}");
        }
    }
}
