//! How a language's compilers, interpreters and runners say that code did not load.
//!
//! May know: where such a line counts. Must never know: which languages there are, what a line looks like.

/// A line, as a regular expression, that says that code did not compile or load.
pub(crate) struct NotLoaded {
    pub(crate) pattern: &'static str,
    /// A line that fits this as well says something else.
    pub(crate) unless: Option<&'static str>,
    pub(crate) counts_in: &'static [LoadFailure],
}

/// Where such a line counts. Each caller loses something else by a line too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoadFailure {
    /// In the output of any run: group 1 names a file or a package of which no test ran, after a group `class` if there
    /// is one. A line too many revokes a pass.
    Part,
    /// From the start of a line on, where a run failed and named no test: it did not get to its tests. Then it is no
    /// proof that a test fails without the change.
    Run,
    /// From the start of a line on, where no test of a base ran: the reason that people are shown.
    Base,
    /// In what a program of a statement wrote: group 1, if any, is the name that is missing.
    Program,
}

impl NotLoaded {
    /// `a.c:3:1: error: ...`, as many compilers say.
    pub(crate) const COMPILER: Self = Self {
        counts_in: &[LoadFailure::Run, LoadFailure::Base],
        ..Self::run(r"\S+:\d+(?::\d+)?:\s+(?:fatal )?error:")
    };

    pub(crate) const fn part(pattern: &'static str) -> Self {
        Self { pattern, unless: None, counts_in: &[LoadFailure::Part] }
    }

    pub(crate) const fn run(pattern: &'static str) -> Self {
        Self { pattern, unless: None, counts_in: &[LoadFailure::Run] }
    }

    pub(crate) const fn base(pattern: &'static str) -> Self {
        Self { pattern, unless: None, counts_in: &[LoadFailure::Base] }
    }

    pub(crate) const fn program(pattern: &'static str) -> Self {
        Self { pattern, unless: None, counts_in: &[LoadFailure::Program] }
    }

    pub(crate) const fn unless(self, unless: &'static str) -> Self {
        Self { unless: Some(unless), ..self }
    }
}
