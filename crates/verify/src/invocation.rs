//! A test command that reports test names: how to run it and parse its output. Each folder that it enters is handled
//! like a separate repository.
//!
//! May know: how runners are invoked and parsed. Must never know: which folders a change concerns.

use std::collections::BTreeMap;

use crate::folders::{FolderCommand, commands_in_folders};
use crate::text::plain;
use journeyman_languages::asking::{ReportingCommand, reporting_command};
use journeyman_languages::counted_together;
use journeyman_languages::reading::{read_end, read_runs};
use journeyman_languages::runner::Helper;
use journeyman_languages::runs::{TestRuns, runs_of};
use journeyman_order::comparison::RunnerName;
use journeyman_order::{TestCaseStatus, TestCases, TestCounts, TestReport};

type Reader<'a> = &'a dyn Fn(&str) -> Option<Vec<u8>>;

/// A test command that reports test names, in each folder that it enters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestInvocation {
    parts: Vec<InvocationPart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct InvocationPart {
    folder: String,
    before: String,
    /// As the repository has it.
    command: String,
    asked: ReportingCommand,
    runs: TestRuns,
}

impl TestInvocation {
    /// Makes each command report the names of its tests, if its runner can.
    pub fn new(command: &str, own_report: Option<&str>, read: Reader<'_>, report: &str) -> Self {
        let all = commands_in_folders(command);
        let are_several = all.len() > 1;
        let part = |(nth, one): (usize, &FolderCommand<'_>)| {
            let read = |name: &str| read(&one.path(name));
            let own_report = own_report.filter(|_| !are_several);
            let report = if are_several { format!("{report}.{nth}") } else { report.to_owned() };
            // A report of the only command is named as the repository's root sees it.
            let folder = if are_several { "" } else { one.folder.as_str() };
            InvocationPart {
                folder: one.folder.clone(),
                before: one.before.to_owned(),
                command: one.command.to_owned(),
                asked: reporting_command(one.command, own_report, folder, &read, &report),
                runs: runs_of(one.command, &read),
            }
        };
        Self { parts: all.iter().enumerate().map(part).collect() }
    }

    /// Whether the runner loads a file of some name before it selects. `None` if it selects first.
    pub fn loads(&self, named_by: Option<&RunnerName>) -> Option<fn(&str) -> bool> {
        let [only] = self.parts.as_slice() else { return None };
        only.asked.loads(named_by?)
    }

    /// The same run of these tests alone. `None` if the runner cannot select tests, or if there are several folders.
    pub fn select(&self, named_by: Option<&RunnerName>, names: &[String], files: &[String]) -> Option<Self> {
        let [only] = self.parts.as_slice() else { return None };
        let below = |path: &String| match only.folder.is_empty() {
            true => Some(path.clone()),
            false => Some(path.strip_prefix(&only.folder)?.strip_prefix('/')?.to_owned()),
        };
        let files: Vec<String> = files.iter().filter_map(below).collect();
        let asked = only.asked.select(named_by, names, &files)?;
        Some(Self { parts: vec![InvocationPart { asked, runs: TestRuns::default(), ..only.clone() }] })
    }

    /// The shell command. With several parts, it runs all and prints a line that begins with `mark` before each.
    pub fn shell(&self, mark: &str) -> String {
        if let [only] = self.parts.as_slice() {
            return format!("{}{}", only.before, only.asked.command);
        }
        let mut text = "s=0\n".to_owned();
        for (nth, part) in self.parts.iter().enumerate() {
            let variables = part.asked.environment.iter();
            let variables: String = variables
                .map(|(name, value)| {
                    format!("export {name}=\"${{{name}:+${name} }}\"{}\n", shell_words::quote(value))
                })
                .collect();
            text.push_str(&format!(
                "printf '\\n%s %s\\n' {mark} {nth}\n(\n{variables}{}{}\n)\nc=$?; [ $c -eq 0 ] || s=$c\n",
                part.before, part.asked.command
            ));
        }
        text.push_str("( exit $s )");
        text
    }

    /// The command as a person can run it again.
    pub fn shown(&self) -> String {
        match self.parts.as_slice() {
            [only] => format!("{}{}", only.before, only.asked.shown()),
            parts => parts
                .iter()
                .map(|part| format!("({}{})", part.before, part.command))
                .collect::<Vec<_>>()
                .join("\n"),
        }
    }

    /// The variables that it needs.
    pub fn environment(&self) -> BTreeMap<String, String> {
        match self.parts.as_slice() {
            [only] => only.asked.environment.clone(),
            _ => BTreeMap::new(),
        }
    }

    /// Whether its shell command differs from the original.
    pub fn goes_into_several(&self) -> bool {
        self.parts.len() > 1
    }

    /// Where it writes reports: files, folders or patterns. No such file may exist before the run.
    pub fn reports(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().flat_map(|part| &part.asked.reports).map(String::as_str)
    }

    /// Files that have to be there before the run.
    pub fn helpers(&self) -> impl Iterator<Item = &Helper> {
        self.parts.iter().flat_map(|part| &part.asked.helpers)
    }

    /// The command as the repository has it, if a runner refused what it was asked with.
    pub fn unasked(&self, printed: &str) -> Option<Self> {
        let [only] = self.parts.as_slice() else { return None };
        let asked = only.asked.unasked(&only.command, &plain(printed))?;
        Some(Self { parts: vec![InvocationPart { asked, ..only.clone() }] })
    }

    /// Parses its output, and the files at each of [`Self::reports`], in their order.
    pub fn read(&self, output: &str, mark: &str, reports: &[Vec<Vec<u8>>], is_cut: bool) -> TestReport {
        let mut reports = reports.iter();
        let mut files = |part: &InvocationPart| -> Vec<Vec<u8>> {
            reports.by_ref().take(part.asked.reports.len()).flatten().cloned().collect()
        };
        if let [only] = self.parts.as_slice() {
            return match is_cut {
                true => read_end(output, &files(only)),
                false => read_runs(output, &files(only), &only.runs),
            };
        }
        let Some(outputs) = apart(&plain(output), mark, self.parts.len()).filter(|_| !is_cut) else {
            return TestReport::default();
        };
        let read = self
            .parts
            .iter()
            .zip(&outputs)
            .map(|(part, output)| (part.folder.as_str(), read_runs(output, &files(part), &part.runs)));
        reports_together(read)
    }
}

/// Adds the folder to names, since two folders can have tests of the same name.
fn named(folder: &str, mut report: TestReport) -> TestReport {
    let own = |name: String| match folder.is_empty() {
        true => name,
        false => format!("{folder} > {name}"),
    };
    report.failing = report.failing.into_iter().map(own).collect();
    report.unloaded = report.unloaded.into_iter().map(own).collect();
    for program in &mut report.programs {
        program.name = own(std::mem::take(&mut program.name));
    }
    report.cases = report.cases.map(|cases| TestCases {
        tests: cases.tests.into_iter().map(|(name, status)| (own(name), status)).collect(),
        ..cases
    });
    report
}

/// The output of each part. `None` if the marked lines are not exactly those that the shell wrote.
fn apart(output: &str, mark: &str, expected: usize) -> Option<Vec<String>> {
    let mut parts: Vec<String> = Vec::new();
    for line in output.lines() {
        match line.strip_prefix(mark) {
            Some(nth) if nth.trim().parse() == Ok(parts.len()) => parts.push(String::new()),
            Some(_) => return None,
            None => {
                let Some(part) = parts.last_mut() else { continue };
                part.push_str(line);
                part.push('\n');
            }
        }
    }
    (parts.len() == expected).then_some(parts)
}

/// Merges the reports of several folders. What is unknown for one folder is unknown for all.
pub fn reports_together<'a>(reports: impl IntoIterator<Item = (&'a str, TestReport)>) -> TestReport {
    let mut all = TestReport { counts: Some(TestCounts::default()), ..TestReport::default() };
    let (mut names, mut named_by, mut are_named) = (BTreeMap::new(), None, true);
    for (folder, one) in reports {
        let one = named(folder, one);
        all.counts = all.counts.zip(one.counts).map(|(all, one)| counted_together(all, one));
        all.failing.extend(one.failing);
        all.unloaded.extend(one.unloaded);
        all.programs.extend(one.programs);
        let Some(TestCases { named_by: by, tests }) = one.cases else {
            are_named = false;
            continue;
        };
        named_by = named_by.or(Some(by));
        for (name, status) in tests {
            // If a folder is tested twice, the worse result counts, since the names are the same.
            let known = names.entry(name).or_insert(status);
            if status == TestCaseStatus::Failed {
                *known = status;
            }
        }
    }
    all.cases = named_by.filter(|_| are_named).map(|named_by| TestCases { named_by, tests: names });
    if all.cases.is_none() {
        all.programs.clear();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_several_is_asked_in_its_folder_and_read_by_itself() {
        let files = [("web/package.json", r#"{"scripts": {"test": "node --test"}}"#)];
        let read = |path: &str| {
            files.iter().find(|(name, _)| *name == path).map(|(_, text)| text.as_bytes().to_vec())
        };
        let command = "(cd backend && python3 -m unittest) && (cd web && npm test)";
        let asked = TestInvocation::new(command, None, &read, "/home/report.xml");
        let shell = [
            "s=0",
            "printf '\\n%s %s\\n' m-1 0",
            "(",
            "cd backend && python3 /home/report.xml.0-helper/unittest_report.py",
            ")",
            "c=$?; [ $c -eq 0 ] || s=$c",
            "printf '\\n%s %s\\n' m-1 1",
            "(",
            "export NODE_OPTIONS=\"${NODE_OPTIONS:+$NODE_OPTIONS }\"'--require=\"/home/report.xml.1-helper/preload.cjs\"'",
            "cd web && npm test",
            ")",
            "c=$?; [ $c -eq 0 ] || s=$c",
            "( exit $s )",
        ];
        assert_eq!(asked.shell("m-1").lines().collect::<Vec<_>>(), shell);
        let python = "-----\nRan 1 test in 0.001s\n\nOK\n";
        let report = b"{\"runner\": \"unittest\"}\n{\"test\": {\"name\": \"tests.T.test_a\", \"status\": \"passed\"}}\n";
        let of_node = b"{\"runner\": \"node\"}\n{\"test\": {\"name\": \"adds\", \"status\": \"passed\"}}\n";
        let reports = [vec![report.to_vec()], vec![of_node.to_vec()]];
        let node = "✔ adds (0.5ms)\nℹ tests 1\nℹ suites 0\nℹ pass 1\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\nℹ duration_ms 5\n";
        let output = format!("\nm-1 0\n{python}\nm-1 1\n{node}");
        let reading = asked.read(&output, "m-1", &reports, false);
        assert_eq!(reading.counts, Some(TestCounts { passed: 2, failed: 0, skipped: 0 }));
        let names: Vec<String> = reading.cases.unwrap().tests.into_keys().collect();
        assert_eq!(names, ["backend > tests.T.test_a", "web > adds"]);
        // If a test prints such a line, the whole run is discarded.
        let forged = format!("\nm-1 0\n{python}\nm-1 1\n{node}\nm-1 1\n{node}");
        assert_eq!(asked.read(&forged, "m-1", &[], false), TestReport::default());
        assert!(asked.select(Some(&RunnerName::new("node")), &["adds".to_owned()], &[]).is_none());
    }

    #[test]
    fn programs_of_several_folders_keep_their_names_while_all_folders_name_tests() {
        let named = "running 1 test\ntest one ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; \
                     finished in 0.00s\n\n     Running tests/own.rs (target/debug/deps/own-1f)\nall is well\n";
        let report = |output: &str| read_runs(output, &[], &TestRuns::default());
        let both = reports_together([("a", report(named)), ("b", report(named))]);
        let names: Vec<&str> = both.programs.iter().map(|program| program.name.as_str()).collect();
        assert_eq!(names, ["a > tests/own.rs", "b > tests/own.rs"]);
        assert!(both.programs.iter().all(|program| program.passed));
        let one = reports_together([("a", report(named)), ("b", report("1 test passed\n"))]);
        assert_eq!((one.cases, one.programs), (None, Vec::new()));
    }

    #[test]
    fn what_a_repository_sets_is_kept_beside_what_each_folder_is_asked_with() {
        let read = |path: &str| path.ends_with("go.mod").then(Vec::new);
        let asked =
            TestInvocation::new("(cd a && go test ./...) && (cd b && go test ./...)", None, &read, "/r");
        assert_eq!(asked.shell("m").matches("export GOFLAGS=\"${GOFLAGS:+$GOFLAGS }\"-v\n").count(), 2);
    }

    #[test]
    fn of_one_folder_single_tests_can_be_asked_for() {
        let asked = TestInvocation::new("cd backend && python3 -m unittest", None, &|_| None, "/r.xml");
        assert_eq!(asked.shown(), "cd backend && python3 -m unittest");
        let one =
            asked.select(Some(&RunnerName::new("unittest")), &["tests.T.test_a".to_owned()], &[]).unwrap();
        assert_eq!(one.shown(), "cd backend && python3 -m unittest -k test_a");
    }
}
