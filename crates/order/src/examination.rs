//! The examiner's statements about an issue before there is a change, each with programs that show whether it holds,
//! and the results of those programs on a change.
//!
//! May know: the examiner's answer. Must never know: the change and its author.
//!
//! The answer is an agent's text: we bound what we take from it and run its programs where the tests run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::answer;
use super::feedback::Feedback;
use super::length::shorten;

/// Limits: statements in one examination, programs for one statement.
const MOST_STATEMENTS: usize = 24;
const MOST_PROGRAMS: usize = 3;
/// Answers of one program.
const MOST_ANSWERS: usize = 60;
/// Bytes of a program and of its input.
const LONGEST_PROGRAM: usize = 32 * 1024;
/// Bytes of the command that runs a program.
const LONGEST_COMMAND: usize = 2_000;
/// Characters of a sentence, an input or an answer.
const LONGEST_TEXT: usize = 1_000;
const MOST_CONTRADICTIONS: usize = 8;

/// The examiner's answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueExamination {
    pub statements: Vec<ExaminerStatement>,
    /// Where issue, documentation and tests contradict each other.
    #[serde(default)]
    pub contradictions: Vec<Contradiction>,
}

/// A sentence of the issue or the documentation, with programs that show whether it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExaminerStatement {
    pub kind: StatementKind,
    /// The sentence, word for word.
    pub quote: String,
    /// Its source: `issue`, or the path of a file.
    pub source: String,
    /// Whether it describes something that does not exist on the base.
    #[serde(default, rename = "new")]
    pub is_new: bool,
    pub programs: Vec<StatementProgram>,
}

/// What a statement says of the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatementKind {
    /// The issue asks for it: it does not hold on the base.
    Changes,
    /// It was promised before: it holds on the base, and has to hold with the change.
    Stays,
}

/// A program that prints one line for each input. Without answers it is a test file for the project's own runner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementProgram {
    /// The file name; for a test file, its path in the repository.
    pub file: String,
    pub source: String,
    /// The shell command, run in a folder directly below the repository's root. `None`: the file's extension decides.
    pub run: Option<String>,
    #[serde(default)]
    pub stdin: String,
    /// The expected output, line by line.
    #[serde(default)]
    pub answers: Vec<ExpectedAnswer>,
}

/// One expected line of output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpectedAnswer {
    /// The input that the line answers, such as `parse("1d")`.
    pub input: String,
    pub expected: String,
}

/// Two sentences that cannot both be right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contradiction {
    pub one: QuotedSentence,
    pub other: QuotedSentence,
    /// Whether tests of the base demand the opposite of what the issue says.
    #[serde(default)]
    pub tests_against_issue: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotedSentence {
    pub quote: String,
    pub source: String,
}

impl Contradiction {
    pub fn sentence(&self) -> String {
        let said = |sentence: &QuotedSentence| format!("{} says “{}”", sentence.source, sentence.quote);
        format!("{}, and {}", said(&self.one), said(&self.other))
    }
}

impl IssueExamination {
    pub fn parse(said: &str) -> Result<Self, Feedback> {
        let value = answer::fitting(said, &schema(), &[])?;
        let Self { mut statements, mut contradictions } = answer::read(value)?;
        let mut faults = Vec::new();
        for (number, statement) in (1..).zip(&mut statements) {
            statement.programs.truncate(MOST_PROGRAMS);
            faults.extend(statement.programs.iter().filter_map(|program| {
                program
                    .fault()
                    .map(|fault| format!("statement {number}, {}: {fault}", shorten(&program.file, 80)))
            }));
            statement.programs.retain(|program| program.fault().is_none());
        }
        statements.retain(|statement| !statement.programs.is_empty());
        statements.truncate(MOST_STATEMENTS);
        if !statements.iter().any(|statement| statement.kind == StatementKind::Changes) {
            let nothing = "no statement with a program says what the issue asks for: at least one of kind `changes` is needed";
            faults.insert(0, nothing.to_owned());
            return Err(answer::not_of_the_form(faults));
        }
        contradictions.truncate(MOST_CONTRADICTIONS);
        Ok(Self { statements, contradictions })
    }

    /// The statement's program that answered this input, or its first program if none matches.
    pub fn program(&self, number: u32, input: &str) -> Option<&StatementProgram> {
        let place = usize::try_from(number).ok()?.checked_sub(1)?;
        let programs = &self.statements.get(place)?.programs;
        let asks = |program: &&StatementProgram| {
            program.file == input || program.answers.iter().any(|answer| answer.input == input)
        };
        programs.iter().find(asks).or_else(|| programs.first())
    }

    /// The questions for a second reading of failing statements: sentence, program and input, without the answer.
    pub fn questions(&self, run: &ExaminationRun) -> String {
        let mut text = String::new();
        for (failing, failed) in run.failing() {
            text.push_str(&format!(
                "## Statement {}\n\n{} says: {}\n\n",
                failing.number, failing.source, failing.quote
            ));
            match self.program(failing.number, &failed.input) {
                Some(program) => text.push_str(&format!(
                    "The program `{}`, run as `{}`:\n\n{}\n\n",
                    program.file,
                    program.command(),
                    program.source
                )),
                None => text.push_str("Its program is not known any more.\n\n"),
            }
            text.push_str(&format!("What should it print, in one line, for the input {}\n\n", failed.input));
        }
        text
    }
}

impl ExaminerStatement {
    pub fn printing(&self) -> impl Iterator<Item = &StatementProgram> {
        self.programs.iter().filter(|program| !program.is_test_file())
    }

    pub fn test_files(&self) -> impl Iterator<Item = &StatementProgram> {
        self.programs.iter().filter(|program| program.is_test_file())
    }
}

impl StatementProgram {
    pub fn is_test_file(&self) -> bool {
        self.answers.is_empty()
    }

    /// Why it cannot run; `None` if it can.
    fn fault(&self) -> Option<&'static str> {
        let is_plain = |part: &str| {
            !part.is_empty()
                && !part.starts_with(['.', '-'])
                && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
        };
        let parts = self.file.split('/').count();
        if !self.file.split('/').all(is_plain) || (parts > 1 && !self.is_test_file()) {
            return Some(
                "`file` is the plain name of a file, and for a test file its path in the repository",
            );
        }
        if self.is_test_file() && !super::test_path::is_of_tests(&self.file) {
            return Some("without `answers` it is a test file, and no runner looks for tests there");
        }
        let is_known = || default_command(&self.file).is_some();
        if !self.is_test_file() && self.run.is_none() && !is_known() {
            return Some("how it is run is not known by its ending: name the command in `run`");
        }
        (self.source.contains('\0') || self.stdin.contains('\0')).then_some("it holds a NUL byte")
    }

    /// The command as a person can run it.
    pub fn command(&self) -> String {
        self.script().replace(&format!("{AS_IT_RUNS} "), "")
    }

    /// The text of the shell script that runs it, with [`AS_IT_RUNS`] where it is known what the program is.
    pub fn script(&self) -> String {
        self.run.clone().or_else(|| default_command(&self.file)).unwrap_or_default()
    }
}

/// What runs a program stands behind this in its command: it is empty, or a program that runs another one in other
/// surroundings.
pub const AS_IT_RUNS: &str = "\"$@\"";

/// The default command for a program in a folder directly below the repository's root, by file extension.
pub fn default_command(file: &str) -> Option<String> {
    let (stem, ending) = file.rsplit_once('.')?;
    Some(match ending {
        "py" => format!("PYTHONPATH=\"$CODE:$CODE/src:$CODE/lib\" {AS_IT_RUNS} python3 {file}"),
        "js" | "mjs" | "cjs" | "ts" | "mts" => format!("{AS_IT_RUNS} node --no-warnings {file}"),
        "rb" => format!("{AS_IT_RUNS} ruby -I \"$CODE/lib\" -I \"$CODE\" {file}"),
        "php" => format!("{AS_IT_RUNS} php {file}"),
        // What `go run` and `cargo run` start can tell that they did.
        "go" => {
            format!("{{ [ -e \"$PLACE\" ] || go build -o \"$PLACE\" {file}; }} && {AS_IT_RUNS} ./\"$PLACE\"")
        }
        "rs" => format!(
            "mkdir -p \"$CODE/examples\" && cp -u {file} \"$CODE/examples/$PLACE.rs\" && cargo build --quiet --offline --release \
             --example \"$PLACE\" && {AS_IT_RUNS} \"${{CARGO_TARGET_DIR:-$CODE/target}}/release/examples/$PLACE\""
        ),
        "java" => format!(
            "[ -e classes/{stem}.class ] || {{ mkdir -p classes && find \"$CODE/src/main/java\" \"$CODE/src\" -name '*.java' ! -path '*/test/*' 2>/dev/null | sort -u > \
             sources && javac -d classes @sources {file}; }} && {AS_IT_RUNS} java -cp classes {stem}"
        ),
        "sh" => format!("{AS_IT_RUNS} sh {file}"),
        "bash" => format!("{AS_IT_RUNS} bash {file}"),
        _ => return None,
    })
}

pub fn schema() -> Value {
    let text = |longest: usize| json!({"type": "string", "minLength": 1, "maxLength": longest});
    let sentence = json!({
        "type": "object", "required": ["quote", "source"],
        "properties": {"quote": text(LONGEST_TEXT), "source": text(200)}
    });
    json!({
        "type": "object",
        "required": ["statements"],
        "properties": {
            "statements": {"type": "array", "items": {
                "type": "object",
                "required": ["kind", "quote", "source", "programs"],
                "properties": {
                    "kind": {"enum": ["changes", "stays"]},
                    "quote": text(LONGEST_TEXT),
                    "source": text(200),
                    "new": {"type": "boolean"},
                    "programs": {"type": "array", "items": {
                        "type": "object",
                        "required": ["file", "source", "answers"],
                        "properties": {
                            "file": text(200),
                            "source": text(LONGEST_PROGRAM),
                            "run": {"type": ["string", "null"], "maxLength": LONGEST_COMMAND},
                            "stdin": {"type": "string", "maxLength": LONGEST_PROGRAM},
                            "answers": {"type": "array", "maxItems": MOST_ANSWERS, "items": {
                                "type": "object",
                                "required": ["input", "expected"],
                                "properties": {
                                    "input": text(LONGEST_TEXT),
                                    "expected": {"type": "string", "maxLength": LONGEST_TEXT, "pattern": "^[^\\n\\r]*$"}
                                }
                            }}
                        }
                    }}
                }
            }},
            "contradictions": {"type": "array", "items": {
                "type": "object",
                "required": ["one", "other"],
                "properties": {
                    "one": sentence, "other": sentence, "tests_against_issue": {"type": "boolean"}
                }
            }}
        }
    })
}

/// What the statements say of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExaminationRun {
    /// By number, from 1.
    pub statements: Vec<StatementRun>,
}

/// What one statement says of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatementRun {
    /// Its number among the examiner's statements, from 1.
    pub number: u32,
    pub kind: StatementKind,
    pub quote: String,
    pub source: String,
    pub said: StatementVerdict,
}

/// What the programs of a statement come to, on both codes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub enum StatementVerdict {
    /// With the change it holds.
    Holds,
    /// With the change it does not.
    Fails(FailedAnswer),
    /// A second reading expects another answer, or none: it counts neither way.
    Disputed {
        #[serde(flatten)]
        failed: FailedAnswer,
        /// What the second reading expects; none where it says that the text does not tell.
        second: Option<String>,
    },
    /// The base does not confirm it, or it is about names that the text does not give: it counts neither way.
    Unconfirmed { because: String },
    /// A person says that it does not count.
    Dropped { by: String },
}

impl StatementVerdict {
    /// One word, as receipts and metrics show it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails(_) => "fails",
            Self::Disputed { .. } => "disputed",
            Self::Unconfirmed { .. } => "unconfirmed",
            Self::Dropped { .. } => "dropped",
        }
    }
}

/// One answer that is not as expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedAnswer {
    pub input: String,
    pub expected: String,
    /// What the change answers.
    pub got: String,
}

impl FailedAnswer {
    fn sentence(&self) -> String {
        let Self { input, expected, got } = self;
        format!("{input} gives {}, and {} is expected", shown(got), shown(expected))
    }
}

fn shown(answer: &str) -> &str {
    if answer.is_empty() { "nothing" } else { answer }
}

impl StatementRun {
    /// The result in one sentence without its sign.
    pub fn sentence(&self) -> String {
        let Self { number, quote, source, said, .. } = self;
        let what = format!("statement {number} ({source}: “{quote}”)");
        match said {
            StatementVerdict::Holds => format!("{what} holds"),
            StatementVerdict::Fails(failed) => format!("{what} does not hold: {}", failed.sentence()),
            StatementVerdict::Disputed { failed, second } => {
                let second = match second {
                    Some(second) => format!("expects {}", shown(second)),
                    None => "says that the text does not tell".to_owned(),
                };
                format!("{what} is disputed: {}; a second reading {second}", failed.sentence())
            }
            StatementVerdict::Unconfirmed { because } => format!("{what} does not count: {because}"),
            StatementVerdict::Dropped { by } => format!("{what} was dropped by {by}"),
        }
    }

    /// Whether it supports the change; `None` if it does not count either way.
    pub fn is_for(&self) -> Option<bool> {
        let counts = matches!(self.said, StatementVerdict::Holds | StatementVerdict::Fails(_));
        counts.then_some(self.said == StatementVerdict::Holds)
    }
}

impl ExaminationRun {
    pub fn failing(&self) -> impl Iterator<Item = (&StatementRun, &FailedAnswer)> {
        self.statements.iter().filter_map(|statement| {
            let StatementVerdict::Fails(failed) = &statement.said else { return None };
            Some((statement, failed))
        })
    }

    /// Whether something that the issue asks for holds, and no statement fails.
    pub fn shows_the_change(&self) -> bool {
        self.failing().next().is_none() && self.tally(StatementKind::Changes).0 > 0
    }

    /// How many statements of a kind hold, and how many count.
    pub fn tally(&self, kind: StatementKind) -> (usize, usize) {
        let of_kind = self.statements.iter().filter(|statement| statement.kind == kind);
        let counting: Vec<bool> = of_kind.filter_map(StatementRun::is_for).collect();
        (counting.iter().filter(|holds| **holds).count(), counting.len())
    }

    pub fn sentence(&self) -> String {
        let (asked, all_asked) = self.tally(StatementKind::Changes);
        let (kept, all_kept) = self.tally(StatementKind::Stays);
        let left_out = [
            ("disputed", "disputed"),
            ("unconfirmed", "not confirmed by the base"),
            ("dropped", "dropped by a person"),
        ];
        let left_out = left_out.into_iter().filter_map(|(word, what)| {
            let count = self.statements.iter().filter(|statement| statement.said.word() == word).count();
            (count > 0).then(|| format!("{count} {what}"))
        });
        let left_out: Vec<String> = left_out.collect();
        let beside = if left_out.is_empty() { String::new() } else { format!(" ({})", left_out.join(", ")) };
        let statements = match all_asked {
            0 => "No statement of the issue counts".to_owned(),
            _ => format!("{asked} of {all_asked} statements of the issue hold"),
        };
        let promises = match all_kept {
            0 => String::new(),
            _ => format!(", {kept} of {all_kept} promises are kept"),
        };
        format!("{statements}{promises}{beside}")
    }

    /// A failing statement that a second reader understands differently counts neither way.
    pub fn dispute(&mut self, readings: &[SecondReading]) {
        for statement in &mut self.statements {
            let StatementVerdict::Fails(failed) = &statement.said else { continue };
            let read = readings.iter().rfind(|reading| reading.statement == statement.number);
            let second = read.and_then(|reading| reading.expected.clone());
            if second.as_deref().is_none_or(|second| !is_same(second, &failed.expected)) {
                statement.said = StatementVerdict::Disputed { failed: failed.clone(), second };
            }
        }
    }

    /// A person drops a statement. Returns whether a failing or disputed statement has that number.
    pub fn drop_statement(&mut self, number: u32, by: &str) -> bool {
        let failing = self.statements.iter_mut().find(|statement| {
            statement.number == number
                && matches!(statement.said, StatementVerdict::Fails(_) | StatementVerdict::Disputed { .. })
        });
        let Some(failing) = failing else { return false };
        failing.said = StatementVerdict::Dropped { by: by.to_owned() };
        true
    }
}

/// What a second reader of a statement expects.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SecondReading {
    pub statement: u32,
    /// The line that the program should print for the input; `None` if the text does not say.
    pub expected: Option<String>,
}

pub fn reading_schema() -> Value {
    json!({
        "type": "object",
        "required": ["readings"],
        "properties": {"readings": {"type": "array", "items": {
            "type": "object",
            "required": ["statement", "expected"],
            "properties": {
                "statement": {"type": "integer", "minimum": 1},
                "expected": {"type": ["string", "null"], "maxLength": LONGEST_TEXT}
            }
        }}}
    })
}

pub fn second_reading(said: &str) -> Result<Vec<SecondReading>, Feedback> {
    let mut value = answer::fitting(said, &reading_schema(), &[])?;
    answer::read(value["readings"].take())
}

/// Whether two answers are equal apart from whitespace.
fn is_same(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}

#[cfg(test)]
#[path = "examination_tests.rs"]
mod tests;
