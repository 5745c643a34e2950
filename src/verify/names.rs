//! Whether two names are of one test: one as a runner prints it, one as it is read from the source.

/// Endings of source files; they are part of a name with some runners and not with others.
const ENDINGS: [&str; 12] = ["py", "rs", "js", "ts", "mjs", "cjs", "mts", "cts", "jsx", "tsx", "go", "java"];

/// The parts of a name, outermost first: `tests/test_a.py::Group::test_b[1]` and `tests.test_a.Group.test_b` have the
/// same ones.
pub(super) fn parts(name: &str) -> Vec<&str> {
    without_parameters(name)
        .split(['/', '.', '>', '›'])
        .flat_map(|part| part.split("::"))
        .map(str::trim)
        .filter(|part| !part.is_empty() && !ENDINGS.contains(part))
        .collect()
}

/// `test_b[1]` is a run of `test_b`.
pub(super) fn without_parameters(name: &str) -> &str {
    match name.find('[') {
        Some(at) if at > 0 && name.ends_with(']') => name.get(..at).unwrap_or(name),
        Some(_) | None => name,
    }
}

/// A name from the source, made fit to be compared with many.
pub(super) struct SourceName<'a> {
    whole: Vec<&'a str>,
    /// Without the file it stands in: some runners name packages instead.
    inside: Option<Vec<&'a str>>,
}

impl<'a> SourceName<'a> {
    pub(super) fn new(name: &'a str) -> Self {
        let is_file = |path: &str| {
            path.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending)) && !path.contains("::")
        };
        let inside = ["::", " > "]
            .into_iter()
            .filter_map(|between| name.split_once(between))
            .find(|(path, _)| is_file(path))
            .map(|(_, inside)| parts(inside));
        Self { whole: parts(name), inside }
    }

    /// The test's own name.
    pub(super) fn last(&self) -> Option<&'a str> {
        self.whole.last().copied()
    }

    /// Whether a runner's name, in parts, is this test's.
    pub(super) fn is(&self, printed: &[&str]) -> bool {
        let ends = |source: &[&str]| {
            let (long, short) =
                if source.len() > printed.len() { (source, printed) } else { (printed, source) };
            !short.is_empty() && long.ends_with(short)
        };
        ends(&self.whole) || self.inside.as_deref().is_some_and(ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_known_by_what_each_runner_calls_it() {
        let same = |printed: &str, source: &str| SourceName::new(source).is(&parts(printed));
        for (printed, source) in [
            ("calc > src/lib.rs > tests::adds", "tests::adds"),
            ("calc > src/lib.rs > tests::adds", "src/lib.rs::tests::adds"),
            ("tests/more.rs > fails", "fails"),
            ("tests/test_calc.py::TestGroup::test_inner[a.b]", "tests/test_calc.py::TestGroup::test_inner"),
            ("tests.test_calc.TestGroup.test_inner", "tests/test_calc.py::TestGroup::test_inner"),
            ("test_calc.CalcTest.test_adds", "CalcTest.test_adds"),
            ("example.org/calc.TestGroup/inner_fails", "calc_test.go::TestGroup/inner_fails"),
            ("group › inner fails", "group > inner fails"),
            ("calc.test.mjs > group > inner fails", "calc.test.mjs > group > inner fails"),
            ("inner fails", "group > inner fails"),
        ] {
            assert!(same(printed, source), "{printed} is {source}");
        }
        for (printed, source) in [
            ("tests/test_calc.py::test_inner", "test_other"),
            ("a::TestGroup::test_inner", "OtherGroup::test_inner"),
            ("inner fails", "fails"),
            ("tests::adds", ""),
            ("", "adds"),
        ] {
            assert!(!same(printed, source), "{printed} is not {source}");
        }
    }
}
