//! How to make a test command report its tests without changing what it tests.

use std::collections::BTreeMap;

use crate::runner::{Asked, Helper, RunnerCall, TestRunner, TestSelection, WordsPlace};
use crate::script::ScriptCall;
use crate::segments::{CommandSegment, segments_of};
use crate::table::{LANGUAGES, RUNNERS, runner_named, runner_of};
use crate::words::program_at;
use journeyman_order::comparison::RunnerName;

/// A test command that reports its tests. If that is impossible, it is the unchanged command, and runs are compared by
/// counts or exit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportingCommand {
    /// The shell command. Both of its streams must share one pipe, so that lines keep their order.
    pub command: String,
    pub environment: BTreeMap<String, String>,
    /// Where it writes reports: relative to the root, or below the requested path. Each is a file, a folder or a
    /// pattern, and no such file may exist before.
    pub reports: Vec<String>,
    /// Files to write before the run.
    pub helpers: Vec<Helper>,
    /// The text between the command and an extra option. `None` if no option can follow it.
    before_options: Option<&'static str>,
    /// The one runner that the command calls, if it is known.
    runner: Option<&'static TestRunner>,
    /// The runners that may write a report where they were asked to, if it is not known which of them runs.
    candidates: Vec<&'static TestRunner>,
    /// Whether the repository itself says where its reports are.
    is_own_report: bool,
    /// Words of ours that name files of ours, and words of the command in their place.
    stand_ins: Vec<(String, String)>,
    /// The options with which it was asked, without their values.
    options: Vec<String>,
}

/// A call of a known runner in a segment of a command.
struct FoundCall<'s> {
    segment: &'s CommandSegment<'s>,
    /// The words of the segment, as they have to be for words to follow.
    words: Vec<String>,
    /// The index of the program in them.
    start: usize,
    script: Option<ScriptCall>,
    runner: &'static TestRunner,
}

type Reader<'a> = &'a dyn Fn(&str) -> Option<Vec<u8>>;

/// Requests reports from known runners.
///
/// `own_report` is where the command writes its own report, relative to the root; `folder` is where it runs. `read`
/// reads a file of the commit below that folder. `report` is an absolute path outside the checkout, at which, or with
/// more behind it, the run may write. A runner that accepts a variable is also reached through `make` and scripts. The
/// others need an option on a plain command, or on a script that ends in one.
pub fn reporting_command(
    command: &str,
    own_report: Option<&str>,
    folder: &str,
    read: Reader<'_>,
    report: &str,
) -> ReportingCommand {
    let segments = segments_of(command).unwrap_or_default();
    let calls: Vec<FoundCall<'_>> = segments
        .iter()
        .filter(|segment| segment.is_plain)
        .filter_map(|segment| call_in(segment, read))
        .collect();
    let mut asked = ReportingCommand {
        command: command.to_owned(),
        environment: BTreeMap::new(),
        reports: own_report.map(str::to_owned).into_iter().collect(),
        helpers: Vec::new(),
        before_options: None,
        runner: None,
        candidates: Vec::new(),
        is_own_report: own_report.is_some(),
        stand_ins: Vec::new(),
        options: Vec::new(),
    };
    let paths = |nth: usize| if nth == 0 { report.to_owned() } else { format!("{report}.{nth}") };
    let own = |nth: usize| own_report.is_none().then(|| paths(nth));
    if calls.is_empty() {
        asked.ask_through_variables(folder, read, own(0).as_deref());
    }
    let last = segments.last().map_or(0, |segment| segment.range.start);
    for (nth, call) in calls.iter().enumerate().rev() {
        let report = own(nth);
        let answer = call.ask(read, report.as_deref());
        let is_last = call.segment.range.start == last && command.trim_end().len() == call.segment.range.end;
        if is_last && calls.len() == 1 && answer.takes_options {
            let between = call.script.as_ref().map_or("", |script| script.between);
            asked.before_options = Some(if answer.words.is_empty() { between } else { "" });
        }
        asked.add(folder, call.runner, &answer);
        if let WordsPlace::Instead(count) = answer.place {
            let replaced = call.words.iter().skip(call.start).take(count).cloned().collect::<Vec<_>>();
            asked.stand_ins.push((answer.words.join(" "), replaced.join(" ")));
        } else if answer.report.is_some() && !answer.words.is_empty() {
            asked.stand_ins.push((format!(" {}", answer.words.join(" ")), String::new()));
        }
        if let Some(text) = call.with(&answer) {
            asked.command.replace_range(call.segment.range.clone(), &text);
        }
    }
    // The first run's report comes first.
    asked.reports.reverse();
    if let [only] = calls.as_slice() {
        asked.runner = Some(only.runner);
    }
    asked
}

/// The known runner that a segment calls, itself or through a script.
fn call_in<'s>(segment: &'s CommandSegment<'s>, read: Reader<'_>) -> Option<FoundCall<'s>> {
    let start = program_at(&segment.words);
    let rest = segment.words.get(start..)?;
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    if let Some(runner) = runner_of(rest) {
        return Some(FoundCall { segment, words: owned(&segment.words), start, script: None, runner });
    }
    let script = LANGUAGES.iter().find_map(|language| language.script(rest, read))?;
    let runner = runner_of(&script.call_words())?;
    let words = [owned(segment.words.get(..start)?), script.words.clone()].concat();
    Some(FoundCall { segment, words, start, script: Some(script), runner })
}

impl FoundCall<'_> {
    fn ask(&self, read: Reader<'_>, report: Option<&str>) -> Asked {
        let outer: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let direct = outer.get(self.start..).unwrap_or_default();
        let inner = self.script.as_ref().map(|script| script.call_words());
        let asked = (self.runner.ask)(&RunnerCall {
            words: inner.as_deref().unwrap_or(direct),
            outer: &outer,
            is_script: self.script.is_some(),
            script: self.script.as_ref().map_or("", |script| script.line.as_str()),
            report,
            read,
        });
        // Words of a script have only one place.
        match asked.place {
            WordsPlace::After(_) | WordsPlace::Instead(_) if self.script.is_some() => {
                Asked { takes_options: asked.takes_options, ..Asked::default() }
            }
            WordsPlace::End | WordsPlace::After(_) | WordsPlace::Instead(_) => asked,
        }
    }

    /// The segment with these words. `None` if it stays as it is.
    fn with(&self, asked: &Asked) -> Option<String> {
        let is_rewritten = asked.takes_options && self.words.iter().ne(self.segment.words.iter());
        if asked.words.is_empty() && !is_rewritten {
            return None;
        }
        let mut words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let more = asked.words.iter().map(String::as_str);
        match asked.place {
            WordsPlace::End => {
                let between = self.script.as_ref().map_or("", |script| script.between);
                let between = (!asked.words.is_empty() && !between.is_empty()).then_some(between);
                words.extend(between.into_iter().chain(more));
            }
            WordsPlace::After(count) => {
                let at = (self.start + count).min(words.len());
                words.splice(at..at, more);
            }
            WordsPlace::Instead(count) => {
                words.splice(self.start..(self.start + count).min(words.len()), more);
            }
        }
        Some(words.join(" "))
    }
}

impl ReportingCommand {
    fn add(&mut self, folder: &str, runner: &TestRunner, asked: &Asked) {
        let name = |word: &String| word.split(['=', ' ']).next().unwrap_or_default().to_owned();
        self.options.extend(asked.words.iter().map(name).filter(|name| name.starts_with("--")));
        for (variable, value) in &asked.variables {
            let words = value.split_whitespace().map(|word| name(&word.to_owned()));
            self.options.extend(words.filter(|name| name.starts_with("--")));
            self.environment.insert((*variable).to_owned(), value.clone());
        }
        self.helpers.extend(asked.helpers.iter().cloned());
        self.reports.extend(asked.report.clone());
        if !self.is_own_report {
            let place = |pattern: &&str| match folder {
                "" => (*pattern).to_owned(),
                folder => format!("{folder}/{pattern}"),
            };
            let written: Vec<String> = runner.written.iter().map(place).collect();
            self.reports
                .extend(written.into_iter().filter(|path| !self.reports.contains(path)).collect::<Vec<_>>());
        }
    }

    /// Asks every runner that the repository may use and that listens to a variable.
    fn ask_through_variables(&mut self, folder: &str, read: Reader<'_>, report: Option<&str>) {
        let is_there =
            |runner: &&&TestRunner| runner.behind.iter().any(|sign| sign.is_empty() || read(sign).is_some());
        let all: Vec<&'static TestRunner> = RUNNERS.iter().filter(is_there).copied().collect();
        for runner in all {
            let report = report.map(|report| match self.reports.len() {
                0 => report.to_owned(),
                nth => format!("{report}-{nth}"),
            });
            let call = RunnerCall {
                words: &[],
                outer: &[],
                is_script: true,
                script: "",
                report: report.as_deref(),
                read,
            };
            let asked = (runner.ask)(&call);
            self.candidates.extend(asked.report.is_some().then_some(runner));
            self.add(folder, runner, &Asked { words: Vec::new(), ..asked });
        }
    }

    /// The command as a person can run it again, without files of ours.
    pub fn shown(&self) -> String {
        let shown = |text: String, (ours, own): &(String, String)| text.replace(ours.as_str(), own);
        self.stand_ins.iter().fold(self.command.clone(), shown)
    }

    /// The runners that may select tests by their names in a report.
    fn selecting(&self, named_by: &RunnerName) -> Vec<&'static TestRunner> {
        match runner_named(named_by.as_str()) {
            Some(runner) => vec![runner],
            // A report of the repository's own may name tests in any way.
            None if self.is_own_report => Vec::new(),
            None => self.runner.map_or_else(|| self.candidates.clone(), |runner| vec![runner]),
        }
    }

    /// Whether the runner loads a file of some name before it selects. `None` if it selects first.
    pub fn loads(&self, named_by: &RunnerName) -> Option<fn(&str) -> bool> {
        self.selecting(named_by).into_iter().find_map(|runner| runner.loads)
    }

    /// The same run of these tests alone. `None` if the runner cannot select them, so that all must run.
    ///
    /// Some runners match parts of names and run additional tests, which is harmless. `files` are the checkout's test
    /// files: a runner that loads all files before it selects is told which to skip.
    pub fn select(&self, named_by: Option<&RunnerName>, names: &[String], files: &[String]) -> Option<Self> {
        let named_by = named_by.filter(|_| !names.is_empty())?;
        let selection = TestSelection {
            command: &self.command,
            environment: &self.environment,
            before_options: self.before_options,
            is_call: self.runner.is_some(),
            names,
            files,
        };
        let selected = self.selecting(named_by).into_iter().find_map(|runner| (runner.select)(&selection))?;
        Some(Self { command: selected.command, environment: selected.environment, ..self.clone() })
    }

    /// The command as the repository has it, if the runner refused what it was asked with.
    pub fn unasked(&self, original: &str, printed: &str) -> Option<Self> {
        let complaint = pattern!(
            r"(?i)\b(unknown|unrecognized|unrecognised|unexpected|unsupported|invalid|not allowed|no such option|not recognized|ambiguous|does not accept)\b"
        );
        let names =
            |line: &&str| complaint.is_match(line) && self.options.iter().any(|option| line.contains(option));
        self.options.first()?;
        printed.lines().any(|line| names(&line)).then(|| Self {
            command: original.to_owned(),
            environment: BTreeMap::new(),
            reports: if self.is_own_report { self.reports.clone() } else { Vec::new() },
            helpers: Vec::new(),
            before_options: None,
            runner: None,
            candidates: Vec::new(),
            is_own_report: self.is_own_report,
            stand_ins: Vec::new(),
            options: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests;
