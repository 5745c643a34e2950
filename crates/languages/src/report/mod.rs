//! Reports in a form for machines. A report says itself which form it has. The code under test wrote it.

mod junit;
mod lines;
mod meson;
mod trx;
mod xml;

use std::collections::BTreeMap;

use crate::cases::{CaseList, count, counted_together};
use journeyman_order::bounds::{LARGEST_FILE, LONGEST_LINE, MOST_LISTED};
use journeyman_order::{TestCaseStatus, TestCounts, TestProgram};

/// The tests of a run, by its reports.
pub(crate) struct RunReport {
    /// Whose names they are, as in journals.
    pub(crate) named_by: &'static str,
    pub(crate) counts: TestCounts,
    pub(crate) failing: Vec<String>,
    pub(crate) cases: Option<BTreeMap<String, TestCaseStatus>>,
    /// What it counts without naming any test.
    pub(crate) programs: Vec<TestProgram>,
    pub(crate) unloaded: Vec<String>,
    /// The runner of each run that a helper of ours wrote about.
    pub(crate) runs: Vec<&'static str>,
}

impl RunReport {
    /// How many of these runs are a runner's.
    pub(crate) fn runs_of(&self, runner: &str) -> usize {
        self.runs.iter().filter(|run| **run == runner).count()
    }

    /// Whether the report says itself that a file did not load, or names its tests. The output may name the file as it is
    /// seen from another folder.
    pub(crate) fn knows(&self, file: &str) -> bool {
        let mut tests = self.cases.iter().flatten().filter_map(|(name, _)| name.split_once(" > "));
        self.unloaded.iter().any(|known| known.ends_with(file)) || tests.any(|(of, _)| of.ends_with(file))
    }

    /// Whether the report is no better than the printed counts.
    pub(crate) fn claims_no_more(&self, printed: &TestCounts) -> bool {
        self.counts.passed <= printed.passed && self.counts.failed >= printed.failed
    }
}

/// What was read so far.
#[derive(Default)]
struct ReportedTests {
    named_by: Option<&'static str>,
    counts: TestCounts,
    failing: Vec<String>,
    cases: CaseList,
    programs: Vec<TestProgram>,
    unloaded: Vec<String>,
    runs: Vec<&'static str>,
    /// Failures that are counted and are no tests.
    beside: u64,
    /// Whether some tests may be missing.
    is_broken: bool,
    /// Whether a file ends too early, so that nothing here is a sum.
    is_cut: bool,
    /// Whether the run says at its end that it went well.
    ended_well: bool,
}

impl ReportedTests {
    fn add(&mut self, name: String, status: TestCaseStatus) {
        count(&mut self.counts, status);
        self.cases.add(&name, status);
        self.failing.extend((status == TestCaseStatus::Failed).then_some(name));
    }

    /// Adds what counts its tests and names none of them. Several may share a name.
    fn add_program(&mut self, name: &str, counts: TestCounts) {
        if self.programs.len() >= MOST_LISTED {
            self.is_broken = true;
            return;
        }
        let own: String = name.trim().chars().take(LONGEST_LINE).collect();
        let is_taken = |name: &String| self.programs.iter().any(|program| program.name == *name);
        let numbered = (2..).map(|times: u32| format!("{own} ({times})"));
        let name = std::iter::once(own.clone()).chain(numbered).find(|name| !is_taken(name));
        self.programs.push(TestProgram {
            name: name.unwrap_or(own),
            counts: Some(counts),
            failing: Vec::new(),
            passed: counts.failed == 0,
        });
    }

    fn add_beside(&mut self, name: String) {
        count(&mut self.counts, TestCaseStatus::Failed);
        self.beside += 1;
        self.failing.push(name);
    }
}

/// A test's own name with its parameters in brackets: `adds(int)[2]` and `Adds (1,2)` are cases of `adds` and `Adds`.
fn with_brackets(test: &str) -> String {
    let call = pattern!(r"^([^\s(){}\[\]]+) ?[({](.*?)[)}](\[.*)?$");
    let Some(found) = call.captures(test) else { return test.to_owned() };
    let [own, parameters, more] = [1, 2, 3].map(|group| found.get(group).map_or("", |part| part.as_str()));
    match parameters {
        "" => format!("{own}{more}"),
        _ => format!("{own}[{parameters}]{more}"),
    }
}

/// Counts the tests of all reports of a run. `None` if they do not say how many there are.
pub(crate) fn read(files: &[Vec<u8>], ended_well: bool) -> Option<RunReport> {
    if files.iter().map(Vec::len).sum::<usize>() > LARGEST_FILE {
        return None;
    }
    let mut all = ReportedTests { ended_well, ..ReportedTests::default() };
    for file in files {
        all.cases.next_source();
        let forms = [lines::read, meson::read, junit::read, trx::read];
        let named_by = forms.iter().find_map(|read| read(file, &mut all));
        all.named_by = all.named_by.or(named_by);
    }
    let is_empty = all.programs.is_empty() && all.unloaded.is_empty() && !all.is_broken;
    let is_known = all.counts != TestCounts::default() || is_empty;
    let named_by = all.named_by.filter(|_| !all.is_cut && is_known)?;
    let named = TestCounts { failed: all.counts.failed.saturating_sub(all.beside), ..all.counts };
    let cases = all.cases.adding_up_to(&named).filter(|_| !all.is_broken);
    let unnamed = all.programs.iter().filter_map(|program| program.counts);
    let counts = unnamed.fold(all.counts, counted_together);
    let ReportedTests { failing, programs, unloaded, runs, .. } = all;
    Some(RunReport { named_by, counts, failing, cases, programs, unloaded, runs })
}

/// The files that follow lines with `mark`, one after the other.
pub fn files_after(text: &[u8], mark: &str) -> Vec<Vec<u8>> {
    let line = format!("\n{mark}\n").into_bytes();
    let Some(mut rest) = text.strip_prefix(line.as_slice()) else { return Vec::new() };
    let mut files = Vec::new();
    while let Some(at) = rest.windows(line.len()).position(|window| window == line) {
        files.push(rest.get(..at).unwrap_or_default().to_vec());
        rest = rest.get(at + line.len()..).unwrap_or_default();
    }
    files.push(rest.to_vec());
    files
}
