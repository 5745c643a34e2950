//! `cargo test` (libtest) and cargo-nextest.

use std::collections::BTreeMap;

use super::{RunnerSummary, ended, ends, last_of, number, numbers, summary};
use crate::cases::{CaseList, count, counted_together};
use journeyman_order::bounds::{LONGEST_LINE, MOST_LISTED};
use journeyman_order::{TestCaseStatus, TestCounts, TestProgram};

/// The tests of one binary, or of one run of documentation tests.
#[derive(Default)]
struct CargoTestBinary<'a> {
    start: usize,
    /// How many tests it announces.
    expected: u64,
    /// Its own summary, and the summary's line number.
    found: Option<(TestCounts, usize)>,
    cases: Vec<(&'a str, TestCaseStatus)>,
    /// Results behind text that something else printed without a newline.
    torn: Vec<(&'a str, TestCaseStatus)>,
    /// Set once printed output of tests begins: only lines above it can come from the runner.
    is_over: bool,
}

/// What Cargo runs at a time: a program, or the documentation tests of a crate.
#[derive(Default)]
struct CargoTarget<'a> {
    /// What its tests are named after. Empty if Cargo does not say what it runs.
    name: String,
    is_of_docs: bool,
    /// Documentation tests may run in two parts. A program with a harness of its own may print no part at all.
    binaries: Vec<CargoTestBinary<'a>>,
    /// Whether Cargo says that it failed.
    has_failed: bool,
}

/// All binaries of a `cargo test`, summed. Each first announces how many tests it has, and its summary must add up to
/// that. A summary printed by a test usually does not.
pub(crate) fn libtest(lines: &[&str]) -> Option<RunnerSummary> {
    let binaries = binaries(lines);
    let mut total = TestCounts::default();
    let mut failing = Vec::new();
    let mut last_line = None;
    for (counts, at) in binaries.iter().filter_map(|binary| binary.found) {
        total = counted_together(total, counts);
        failing.extend(failing_above(lines, counts, at));
        last_line = Some(at);
    }
    let last_line = last_line?;
    let (cases, programs) = named(lines, binaries).unzip();
    let programs = programs.unwrap_or_default();
    Some(RunnerSummary { failing, cases, programs, ..summary(total, last_line) })
}

fn binaries<'a>(lines: &[&'a str]) -> Vec<CargoTestBinary<'a>> {
    let running = pattern!(r"^running (\d+) tests?$");
    let result = pattern!(
        r"^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored; (\d+) measured; \d+ filtered out",
    );
    let case = pattern!(
        r"^test (?P<name>.+?)(?: - should panic| - compile fail| - compile)? \.\.\. (?:(?P<good>ok|bench: .*)|(?P<bad>FAILED)|ignored(?:, .*)?)$"
    );
    let torn = pattern!(
        r"^.+test (?P<name>\S.*?)(?: - should panic)? \.\.\. (?:(?P<good>ok)|(?P<bad>FAILED)|ignored(?:, .*)?)$"
    );
    let result_in = |captures: &regex::Captures<'a>| Some((captures.name("name")?.as_str(), ended(captures)));
    let mut binaries: Vec<CargoTestBinary<'a>> = Vec::new();
    for (at, line) in lines.iter().copied().enumerate() {
        if let Some(captures) = running.captures(line) {
            let expected = number(&captures, 1);
            binaries.push(CargoTestBinary { start: at, expected, ..CargoTestBinary::default() });
            continue;
        }
        let Some(binary) = binaries.last_mut() else { continue };
        if let Some(captures) = result.captures(line) {
            let [passed, failed, ignored, measured] = [1, 2, 3, 4].map(|group| number(&captures, group));
            let sum = passed.saturating_add(failed).saturating_add(ignored).saturating_add(measured);
            if binary.expected == sum {
                let passed = passed.saturating_add(measured);
                binary.found = Some((TestCounts { passed, failed, skipped: ignored }, at));
                binary.is_over = true;
            }
        } else if line == "failures:" {
            binary.is_over = true;
        } else if !binary.is_over {
            if let Some(captures) = case.captures(line) {
                binary.cases.extend(result_in(&captures));
            } else if let Some(captures) = torn.captures(line) {
                binary.torn.extend(result_in(&captures));
            }
        }
    }
    binaries.iter_mut().for_each(CargoTestBinary::mend);
    binaries
}

/// The list of failures is directly above the summary, whatever the tests printed before.
fn failing_above(lines: &[&str], counts: TestCounts, at: usize) -> impl Iterator<Item = String> {
    let above = lines.get(..at).unwrap_or_default().iter().rev().skip_while(|line| line.trim().is_empty());
    let names: Vec<String> = above
        .map_while(|line| line.strip_prefix("    "))
        .take(usize::try_from(counts.failed).unwrap_or(usize::MAX))
        .map(String::from)
        .collect();
    names.into_iter().rev()
}

/// All tests by name, and the programs that do not name theirs. `None` if nothing can be said of some of the tests, or
/// if a program was skipped because another failed.
fn named(
    lines: &[&str],
    binaries: Vec<CargoTestBinary<'_>>,
) -> Option<(BTreeMap<String, TestCaseStatus>, Vec<TestProgram>)> {
    // Cargo prints a final list of failed targets only if it continued after a failure.
    let stopped = lines.iter().rposition(|line| line.starts_with("error: test failed, to rerun pass "));
    let summed = lines.iter().rposition(|line| failed_targets(line).is_some());
    let went_on = stopped.is_none() || summed > stopped;
    if !went_on {
        return None;
    }
    let (targets, is_each_end_told) = targets(lines, binaries);
    let mut list = CaseList::default();
    let mut programs: Vec<TestProgram> = Vec::new();
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for target in targets {
        if target.is_named() {
            target.add_to(&mut list);
            continue;
        }
        let mut program =
            target.program(lines).filter(|program| program.counts.is_some() || is_each_end_told)?;
        // Packages of a workspace share names.
        let times = seen.entry(program.name.clone()).or_default();
        *times += 1;
        if *times > 1 {
            program.name = format!("{} ({times})", program.name);
        }
        programs.push(program);
    }
    let names_none = list.counts() == TestCounts::default();
    let is_by_number = names_none && programs.iter().any(|program| program.counts.is_some());
    let cases = list.believed_if(!is_by_number && programs.len() <= MOST_LISTED)?;
    Some((cases, programs))
}

/// How many targets failed, in Cargo's last lines.
fn failed_targets(line: &str) -> Option<u64> {
    Some(number(&pattern!(r"^error: (\d+) targets? failed:$").captures(line)?, 1))
}

/// What Cargo ran, in its order, and whether Cargo says of each how it ended. Cargo and what it runs print into one
/// pipe, so the lines of a program follow the line with its name. The first has no name.
fn targets<'a>(lines: &[&str], binaries: Vec<CargoTestBinary<'a>>) -> (Vec<CargoTarget<'a>>, bool) {
    let unit = pattern!(r"^ +Running (unittests )?(\S.*) \((\S.*)\)$");
    let doc = pattern!(r"^ +Doc-tests (\S+)$");
    let failed = pattern!(r"^error: (?:doc)?test failed, to rerun pass ");
    let mut binaries = binaries.into_iter().peekable();
    let (mut target, mut targets) = (CargoTarget::default(), Vec::new());
    let (mut failures, mut summed, mut printed_until) = (0_u64, 0_u64, 0);
    for (at, line) in lines.iter().enumerate() {
        if let Some(binary) = binaries.next_if(|binary| binary.start == at) {
            printed_until = binary.found.map_or(0, |(_, end)| end);
            target.binaries.push(binary);
        }
        // What tests print is not Cargo's.
        if at < printed_until {
            continue;
        }
        let next = if let Some(captures) = unit.captures(line) {
            let (path, program) = (&captures[2], &captures[3]);
            let program = program.rsplit(['/', '\\']).next().unwrap_or_default();
            let of = program.rsplit_once('-').map_or(program, |(of, _)| of);
            let name = if captures.get(1).is_some() { format!("{of} > {path}") } else { path.to_owned() };
            Some(CargoTarget { name, ..CargoTarget::default() })
        } else if let Some(captures) = doc.captures(line) {
            let name = format!("doc > {}", &captures[1]);
            Some(CargoTarget { name, is_of_docs: true, ..CargoTarget::default() })
        } else {
            None
        };
        if let Some(next) = next {
            targets.push(std::mem::replace(&mut target, next));
        } else if failed.is_match(line) {
            failures += 1;
            target.has_failed = true;
        } else if let Some(more) = failed_targets(line) {
            summed = summed.saturating_add(more);
        }
    }
    targets.push(target);
    (targets, failures == summed)
}

impl CargoTestBinary<'_> {
    /// Whether it named as many tests as it counted.
    fn is_named(&self) -> bool {
        self.adds_up(&self.cases)
    }

    fn adds_up<'c>(&self, cases: impl IntoIterator<Item = &'c (&'c str, TestCaseStatus)>) -> bool {
        let mut named = TestCounts::default();
        cases.into_iter().for_each(|(_, status)| count(&mut named, *status));
        self.found.is_some_and(|(counts, _)| counts == named)
    }

    /// Takes the torn results, if exactly these are missing.
    fn mend(&mut self) {
        if !self.is_named() && self.adds_up(self.cases.iter().chain(&self.torn)) {
            self.cases.append(&mut self.torn);
        }
    }
}

impl CargoTarget<'_> {
    /// Whether all of its tests are named. Where nothing ran, there is nothing to name.
    fn is_named(&self) -> bool {
        let has_own_harness = self.binaries.is_empty() && !self.name.is_empty();
        !has_own_harness && self.binaries.iter().all(CargoTestBinary::is_named)
    }

    /// Adds its tests. Their names begin with its own, since several binaries often share names.
    fn add_to(&self, list: &mut CaseList) {
        let prefix = self.name.as_str();
        let between = if prefix.is_empty() { "" } else { " > " };
        let line_of = pattern!(r"^(.*) \(line (\d+)\)$");
        // Line numbers of documentation tests shift with edits above them; several of one item keep their order.
        let may_have_lines = self.is_of_docs || prefix.is_empty();
        for binary in &self.binaries {
            let mut cases: Vec<(u64, &str, TestCaseStatus)> = Vec::new();
            for (test, status) in &binary.cases {
                let of_line = line_of.captures(test).filter(|_| may_have_lines);
                let of_line = of_line.and_then(|found| Some((number(&found, 2), found.get(1)?.as_str())));
                let (line, test) = of_line.unwrap_or((0, test));
                cases.push((line, test, *status));
            }
            cases.sort_by_key(|(line, _, _)| *line);
            for (_, test, status) in cases {
                list.add(&format!("{prefix}{between}{test}"), status);
            }
        }
    }

    /// The same as a program whose tests are not named. `None` if it died while they ran, or has no name itself.
    fn program(&self, lines: &[&str]) -> Option<TestProgram> {
        let found: Vec<(TestCounts, usize)> =
            self.binaries.iter().filter_map(|binary| binary.found).collect();
        let is_counted = !found.is_empty() && found.len() == self.binaries.len();
        let died = self.has_failed && found.len() < self.binaries.len();
        if self.name.is_empty() || died {
            return None;
        }
        let counts = found.iter().fold(TestCounts::default(), |all, (one, _)| counted_together(all, *one));
        let failing = found.iter().flat_map(|(counts, at)| failing_above(lines, *counts, *at));
        let failing: Vec<String> = failing.take(MOST_LISTED + 1).collect();
        let names_each = is_counted && failing.len() as u64 == counts.failed && failing.len() <= MOST_LISTED;
        Some(TestProgram {
            name: self.name.chars().take(LONGEST_LINE).collect(),
            counts: is_counted.then_some(counts),
            failing: if names_each { failing } else { Vec::new() },
            passed: !self.has_failed && (!is_counted || counts.failed == 0),
        })
    }
}

/// Nextest's summary, and the line of each test.
pub(crate) fn nextest(lines: &[&str]) -> Option<RunnerSummary> {
    let last = pattern!(r"^ {2,}Summary \[ *[\d.]+s\] +(?:(\d+)/)?(\d+) tests? run: (.*)$");
    let (line, captures) = last_of(lines, |line| last.captures(line))?;
    let mut counts = TestCounts::default();
    // "3 passed (1 slow, 1 flaky), 2 failed": numbers in parentheses are already counted.
    let outside = pattern!(r"\([^)]*\)").replace_all(captures.get(3)?.as_str(), "").into_owned();
    for (count, word) in numbers(&outside) {
        match word {
            "passed" => counts.passed = count,
            "skipped" => counts.skipped = count,
            "failed" | "exec failed" | "timed out" => counts.failed = counts.failed.saturating_add(count),
            _ => {}
        }
    }
    let is_whole = captures.get(1).is_none();
    // What a test prints is further to the right.
    let case = pattern!(
        r"^ {0,9}(?:TRY \d+ )?(?:(?P<good>PASS(?: \+ LEAK)?|LEAK|SLOW|FLAKY \d+/\d+)|(?P<bad>[A-Z][A-Z0-9+ -]*)) +\[ *[\d.]+s\] +(?:\([^()]*\) +)?(?P<name>\S+ \S.*)$"
    );
    // The last try of a test counts, and below its summary nextest names the failed ones again.
    let (above, below) = lines.split_at(line);
    let again = ends(below, [case]).filter(|(_, status)| *status == TestCaseStatus::Failed);
    let tests = ends(above, [case]).chain(again);
    let tests: BTreeMap<String, TestCaseStatus> =
        tests.map(|(name, status)| (name.replacen(' ', " > ", 1), status)).collect();
    let mut cases = CaseList::default();
    tests.iter().for_each(|(name, status)| cases.add(name, *status));
    // It does not name those that it skips.
    let cases = cases.adding_up_to(&TestCounts { skipped: 0, ..counts }).filter(|_| is_whole);
    let failing = tests.into_iter().filter(|(_, status)| *status == TestCaseStatus::Failed);
    let failing = failing.map(|(name, _)| name).collect();
    Some(RunnerSummary { failing, cases, is_whole, ..summary(counts, line) })
}
