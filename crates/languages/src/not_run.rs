//! What an output says if tests could not run.
//!
//! May know: the languages, lines of an output. Must never know: whether tests ran, what follows from it.

use std::sync::LazyLock;

use regex::Regex;

use crate::not_loaded::{LoadFailure, NotLoaded};
use crate::table::all;

/// Compiled once, since every line of an output is matched against each.
static MISSING: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    all(|facts| facts.missing).chain(all(|facts| facts.no_version)).map(|one| compiled(one)).collect()
});
static NO_VERSION: LazyLock<Vec<Regex>> =
    LazyLock::new(|| all(|facts| facts.no_version).map(|one| compiled(one)).collect());

static PARTS: LazyLock<Vec<Regex>> = LazyLock::new(|| each(LoadFailure::Part));
static PROGRAMS: LazyLock<Vec<Regex>> = LazyLock::new(|| each(LoadFailure::Program));
static RUNS: LazyLock<LineStarts> = LazyLock::new(|| LineStarts::of(LoadFailure::Run));
static BASES: LazyLock<LineStarts> = LazyLock::new(|| LineStarts::of(LoadFailure::Base));

/// Patterns from the start of a line on.
struct LineStarts {
    fits: Regex,
    unless: Vec<Regex>,
}

impl LineStarts {
    fn of(counts_in: LoadFailure) -> Self {
        let patterns: Vec<&str> = not_loaded(counts_in).map(|row| row.pattern).collect();
        let unless = not_loaded(counts_in).filter_map(|row| row.unless);
        Self {
            fits: compiled(&format!(r"(?m)^\s*(?:{})", patterns.join("|"))),
            unless: unless.map(|one| compiled(&format!(r"^\s*(?:{one})"))).collect(),
        }
    }

    fn first<'t>(&self, text: &'t str) -> Option<&'t str> {
        let is_else = |at: usize| {
            let rest = text.get(at..).unwrap_or_default();
            self.unless.iter().any(|pattern| pattern.is_match(rest))
        };
        let found = self.fits.find_iter(text).find(|found| !is_else(found.start()))?;
        Some(found.as_str().trim())
    }
}

fn not_loaded(counts_in: LoadFailure) -> impl Iterator<Item = &'static NotLoaded> {
    all(|facts| facts.not_loaded).filter(move |row| row.counts_in.contains(&counts_in))
}

fn each(counts_in: LoadFailure) -> Vec<Regex> {
    not_loaded(counts_in).map(|row| compiled(row.pattern)).collect()
}

pub(crate) fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap_or_else(|error| unreachable!("a pattern of ours: {error}"))
}

/// Whether a line reports something missing around the tests that is not the repository's own.
pub fn is_missing(line: &str, is_own: &dyn Fn(&str) -> bool) -> bool {
    MISSING.iter().filter_map(|pattern| pattern.captures(line)).any(|found| {
        let module = found.name("module");
        module.is_none_or(|module| !is_own(module.as_str()))
    })
}

/// Whether a version manager reports with a line that a version is missing, or that none is set.
pub fn has_no_version(line: &str) -> bool {
    NO_VERSION.iter().any(|pattern| pattern.is_match(line))
}

/// The file or package that did not load, as a line of an output names it.
pub(crate) fn unloaded_part(line: &str) -> Option<String> {
    let found = PARTS.iter().find_map(|pattern| pattern.captures(line))?;
    let name = found.get(1)?.as_str();
    Some(found.name("class").map_or_else(|| name.to_owned(), |class| format!("{}.{name}", class.as_str())))
}

/// What says first, in the output of a run that failed and named no test, that it did not get to its tests.
pub fn broken_run(output: &str) -> Option<&str> {
    RUNS.first(output)
}

/// Whether a line says why nothing of a repository compiles or loads.
pub fn is_reason(line: &str) -> bool {
    BASES.first(line).is_some()
}

/// Whether a line says that a program could not be loaded, with the name that is missing if it is known.
pub fn missing_name(line: &str) -> Option<Option<String>> {
    let name = PROGRAMS.iter().find_map(|pattern| pattern.captures(line)?.get(1));
    match name {
        Some(name) => Some(Some(name.as_str().to_owned())),
        None => PROGRAMS.iter().any(|pattern| pattern.is_match(line)).then_some(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Part, run, base, program: where a line counts. Then the name that it gives, and the line.
    const LINES: &str = r#"
        prbm calc | error: could not compile `calc` (lib test) due to 1 previous error
        rbm mean | error[E0425]: cannot find function `mean` in this scope
        rbm mean | error[E0599]: no method named `mean` found for struct `Stats` in the current scope
        rm - | error: expected one of `!` or `::`, found `x`
        m - | error: test failed, to rerun pass `--lib`
        m - | error: doctest failed, to rerun pass `--doc`
        m - | error: 2 targets failed:
        p tests/test_a.py | _____________ ERROR collecting tests/test_a.py _____________
        p unittest.loader._FailedTest.test_a | ERROR: test_a (unittest.loader._FailedTest)
        p unittest.loader._FailedTest.test_a | ERROR: test_a (unittest.loader._FailedTest.test_a)
        r - | ImportError: Failed to import test module: test_a
        rbm mean | ImportError: cannot import name 'mean' from 'stats' (/a/stats.py)
        rm mean | E   ImportError: cannot import name 'mean' from 'stats'
        rbm stats.more | ModuleNotFoundError: No module named 'stats.more'
        rm requests | E   ModuleNotFoundError: No module named 'requests'
        rbm - | SyntaxError: invalid syntax
        - - | E     SyntaxError: invalid syntax
        bm - | IndentationError: unexpected indent
        m mean | NameError: name 'mean' is not defined
        m mean | E   NameError: name 'mean' is not defined
        m mean | AttributeError: module 'stats' has no attribute 'mean'
        m strict | TypeError: mean() got an unexpected keyword argument 'strict'
        - - | AssertionError: 2 != 3
        p example.com/calc | FAIL\texample.com/calc [build failed]
        p example.com/calc | FAIL\texample.com/calc [setup failed]
        - - | FAIL\texample.com/calc\t0.01s
        bm Mean | ./calc_test.go:7:5: undefined: Mean
        bm Mean | calc_test.go:7:5: undefined: stats.Mean
        bm Mean | calc_test.go:9:2: s.Mean undefined (type Stats has no field or method Mean)
        bm Mean | calc_test.go:9:2: unknown field Mean in struct literal of type Stats
        m - | # command-line-arguments
        bm - | calc.go:3:1: syntax error: non-declaration statement outside function body
        rbm - | CalcTest.java:9: error: cannot find symbol
        prbm src/test/java/CalcTest.java | /w/src/test/java/CalcTest.java:9: error: cannot find symbol
        m mean |   symbol:   method mean(int[])
        rb - | [ERROR] /w/src/test/java/CalcTest.java:[9,5] cannot find symbol
        pb src/test/kotlin/CalcTest.kt | e: file:///w/src/test/kotlin/CalcTest.kt:9:5 Unresolved reference: mean
        b - | e: /w/CalcTest.kts: (9, 5): Unresolved reference
        m - | javac: file not found: Calc.java
        b - | /w/CalcTests.cs(9,5): error CS0103: The name 'Mean' does not exist in the current context [/w/a.csproj]
        b - | /usr/lib/ruby/vendor_ruby/rubygems/core_ext/kernel_require.rb:85:in `require': cannot load such file -- stats (LoadError)
        m mean | a.rb:1:in `<main>': undefined method `mean' for Stats:Class (NoMethodError)
        m mean | a.rb:1:in '<main>': undefined local variable or method 'mean' for main:Object (NameError)
        m Stats | a.rb:1:in `<main>': uninitialized constant Calc::Stats (NameError)
        m strict | a.rb:1:in `mean': unknown keyword: :strict (ArgumentError)
        m - | a.rb:3: syntax error, unexpected end-of-input
        bm mean | PHP Fatal error:  Uncaught Error: Call to undefined function Calc\mean() in /w/a.php:3
        bm - | PHP Parse error:  syntax error, unexpected end of file in /w/a.php on line 3
        bm Stats | Fatal error: Uncaught Error: Class "Calc\Stats" not found in /w/a.php:3
        m mean | Error: Call to undefined method Calc\Stats::mean()
        m strict | Error: Unknown named parameter $strict
        p a.test.ts |  FAIL  a.test.ts [ a.test.ts ]
        p a.test.ts |  FAIL  |unit| a.test.ts [ a.test.ts ]
        - - |  FAIL  a.test.ts > mean
        pb src/a.test.ts | src/a.test.ts(3,5): error TS2304: Cannot find name 'mean'.
        p src/a.test.ts | src/a.test.ts:3:5 - error TS2304: Cannot find name 'mean'.
        rbm mean | SyntaxError: The requested module './stats.js' does not provide an export named 'mean'
        m mean | TypeError: stats.mean is not a function
        m Stats | TypeError: Stats is not a constructor
        m mean | ReferenceError: mean is not defined
        bm ./stats | Error: Cannot find module './stats'
        bm stats | Uncaught Error: Cannot find module 'stats'
        bm /w/stats.js | Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/w/stats.js' imported from /w/a.test.js
        - - | TypeError: Cannot read properties of undefined (reading 'mean')
        rbm mean | a.c:3:5: error: implicit declaration of function 'mean'
        m mean | a.c:3:5: warning: implicit declaration of function ‘mean’
        rbm - | a.c:1:10: fatal error: stats.h: No such file or directory
        rbm mean | a.c:3: error: 'mean' undeclared (first use in this function)
        rbm mean | a.cpp:3:5: error: ‘mean’ was not declared in this scope
        rbm mean | a.c:3:7: error: no member named 'mean' in 'struct stats'
        rm mean | /usr/bin/ld: a.o: in function `main': a.c:(.text+0x5): undefined reference to `mean'
        rb - | a.swift:3:5: error: cannot find 'mean' in scope
        b - | Can't locate Stats.pm in @INC (you may need to install the Stats module)
        b - | ** (CompileError) test/calc_test.exs:3: undefined function mean/1
        - - | ** (RuntimeError) no
        rm stats | sh: 1: stats: not found
        rm stats | bash: line 1: stats: command not found
        p spec/calc_spec.rb | An error occurred while loading ./spec/calc_spec.rb.
        r - | make: *** No rule to make target 'a.c', needed by 'test'.  Stop.
        - - | make: *** [Makefile:2: test] Error 1
        m - | a.sh: line 3: syntax error near unexpected token `fi'
        - - | FAILED (failures=1)
        - - | 1 failed, 3 passed
    "#;

    #[test]
    fn a_line_counts_for_those_who_lose_nothing_by_it() {
        for said in LINES.lines().filter_map(|line| line.strip_prefix("        ")) {
            let (expected, line) = said.split_once(" | ").unwrap();
            let line = &line.replace("\\t", "\t");
            let (part, missing) = (unloaded_part(line), missing_name(line));
            let counts: String = [
                ("p", part.is_some()),
                ("r", broken_run(line).is_some()),
                ("b", is_reason(line.trim_start_matches("# "))),
                ("m", missing.is_some()),
            ]
            .into_iter()
            .filter_map(|(place, is_so)| is_so.then_some(place))
            .collect();
            let name = part.or(missing.flatten()).unwrap_or_default();
            let or_none = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
            assert_eq!(format!("{} {}", or_none(&counts), or_none(&name)), expected, "{line}");
        }
    }
}
