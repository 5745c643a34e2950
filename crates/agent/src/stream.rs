//! Reads what an agent prints: a stream of JSON lines, or plain text.

use std::collections::BTreeSet;
use std::time::Duration;

use super::failure::{failure, of_result, without_result};
use super::lines::{LineSplitter, TailBuffer};
use super::record::{StreamRecord, StreamResult, read};
use journeyman_order::agent_run::AgentFailureKind;
use journeyman_order::bounds::LARGEST_SOURCE;
use journeyman_order::json_values::has_too_many_values;
use journeyman_order::{AgentRun, AgentUsage, Exit};

/// After this many lines of plain text, a result without any record before it counts as quoted text.
const MOST_LINES_BEFORE_RESULT: u64 = 32;

/// The output format of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum OutputFormat {
    /// A stream of records; anything else is noise.
    #[default]
    Records,
    /// A stream if it contains a record; otherwise plain text, which is the result. A wrapper may print its own text
    /// before and between the records.
    RecordsOrText,
}

/// The last significant thing in the stream.
#[derive(Default)]
enum LastResult {
    #[default]
    Nothing,
    Result(Box<StreamResult>),
    Broken,
}

/// Reads the standard output of one run, in chunks of any size.
pub struct Transcript {
    lines: LineSplitter,
    seen: StreamState,
    /// The output so far, until a result or a session start shows that it is a stream.
    text: Option<TailBuffer>,
}

#[derive(Default)]
struct StreamState {
    form: OutputFormat,
    last: LastResult,
    /// A result came, and no record followed.
    settled: bool,
    session: Option<String>,
    usage: AgentUsage,
    /// The running total of dollars in the last result.
    total_usd: f64,
    /// Results already counted: a stream may repeat one.
    counted: BTreeSet<String>,
    /// Records other than results and session starts.
    other_records: u64,
    /// Inside a code fence of the text around the records.
    is_fenced: bool,
    /// Why a result after the answer is ignored.
    ignored: Option<String>,
    noise_lines: u64,
    noise: TailBuffer,
    too_long: u64,
    not_utf8: u64,
}

impl Transcript {
    pub(super) fn new(form: OutputFormat) -> Self {
        Self {
            lines: LineSplitter::default(),
            text: match form {
                OutputFormat::Records => None,
                OutputFormat::RecordsOrText => Some(TailBuffer::of(LARGEST_SOURCE)),
            },
            seen: StreamState { form, noise: TailBuffer::of(4 << 10), ..StreamState::default() },
        }
    }

    /// Reads the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        if let Some(text) = &mut self.text {
            text.push(bytes);
        }
        let seen = &mut self.seen;
        self.lines.feed(bytes, &mut |line| seen.line(line));
        if self.seen.form == OutputFormat::Records {
            self.text = None;
        }
    }

    /// Whether a result came and only noise followed. A program may keep running for minutes after its result. If this
    /// stays true without new bytes, the caller can end it as [`Exit::TimedOut`]; the result still counts.
    pub fn settled(&self) -> bool {
        self.seen.settled
    }

    /// The finished run. `stderr_tail` is the end of its standard error.
    ///
    /// A failed run may have a result too: the error text, or an earlier answer.
    /// Nothing is redacted here: see [`Invocation::redact`](super::Invocation::redact).
    pub fn finish(self, exit: Exit, stderr_tail: &str, duration: Duration) -> AgentRun {
        let Self { mut lines, mut seen, text } = self;
        let noise_before = seen.noise_lines;
        let unfinished = lines.finish(&mut |line| seen.line(line));
        let mut run = AgentRun { duration_seconds: duration.as_secs_f64(), ..AgentRun::default() };
        match text.filter(|_| seen.is_text()) {
            None => {
                if unfinished && seen.noise_lines > noise_before {
                    run.warnings.push("the last line of the stream was cut off".into());
                }
                seen.conclude(&mut run, exit, stderr_tail);
            }
            Some(text) => plain(&mut run, &text, exit, stderr_tail),
        }
        run
    }
}

impl StreamState {
    /// Whether the output is plain text after all: an answer may be one line of JSON with its own `type`, and text may
    /// quote records.
    fn is_text(&self) -> bool {
        let records = self.other_records;
        self.form == OutputFormat::RecordsOrText && (records <= 1 || self.noise_lines > records)
    }

    fn line(&mut self, line: Option<&[u8]>) {
        let Some(bytes) = line else { return self.too_much() };
        let text = String::from_utf8_lossy(bytes);
        let trimmed = text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\u{feff}');
        if trimmed.is_empty() {
            return;
        }
        if matches!(text, std::borrow::Cow::Owned(_)) {
            self.not_utf8 += 1;
        }
        match trimmed.starts_with('{') && has_too_many_values(trimmed.as_bytes()) {
            true => self.too_much(),
            false => self.record(read(trimmed), bytes),
        }
    }

    fn too_much(&mut self) {
        self.too_long += 1;
        self.settled = false;
        // The skipped line may have been a result, so the previous one may not be the last.
        self.last = LastResult::Nothing;
    }

    fn record(&mut self, record: StreamRecord, bytes: &[u8]) {
        match record {
            StreamRecord::System { .. } | StreamRecord::Result(_) | StreamRecord::Other
                if self.form == OutputFormat::RecordsOrText && self.is_fenced =>
            {
                self.noise(bytes);
            }
            StreamRecord::System { session } => {
                self.form = OutputFormat::Records;
                self.settled = false;
                self.session = session.or(self.session.take());
            }
            StreamRecord::Result(_)
                if self.form == OutputFormat::RecordsOrText
                    && self.other_records == 0
                    && self.noise_lines >= MOST_LINES_BEFORE_RESULT =>
            {
                self.noise(bytes);
            }
            StreamRecord::Result(said) if said.is_empty_error() && self.has_answer() => {
                self.settled = true;
                self.ignored = Some(said.errors.join("; "));
            }
            StreamRecord::Result(said) => {
                self.form = OutputFormat::Records;
                self.settled = true;
                self.session = said.session.clone().or(self.session.take());
                self.count(&said);
                self.ignored = None;
                self.last = LastResult::Result(said);
            }
            StreamRecord::BrokenResult if self.form == OutputFormat::Records => {
                self.last = LastResult::Broken;
                self.settled = true;
                self.noise(bytes);
            }
            StreamRecord::Other => {
                self.other_records += 1;
                self.settled = false;
            }
            StreamRecord::Noise | StreamRecord::BrokenResult => self.noise(bytes),
        }
    }

    fn has_answer(&self) -> bool {
        matches!(&self.last, LastResult::Result(said) if said.is_answer())
    }

    fn noise(&mut self, bytes: &[u8]) {
        self.is_fenced ^= bytes.trim_ascii_start().starts_with(b"```");
        self.noise_lines += 1;
        self.noise.push(bytes);
        self.noise.push(b"\n");
    }

    /// Adds the usage of a result. Without a figure of its own, its dollars are a running total, so only the increase
    /// counts.
    fn count(&mut self, said: &StreamResult) {
        if let Some(uuid) = &said.uuid {
            if self.counted.contains(uuid) {
                return;
            }
            if self.counted.len() < 1_000 {
                self.counted.insert(uuid.clone());
            }
        }
        let fresh = (said.turns.usd - self.total_usd).max(0.0);
        self.total_usd = self.total_usd.max(said.turns.usd);
        self.usage = self.usage + said.since_last.unwrap_or(AgentUsage { usd: fresh, ..said.turns });
    }

    fn conclude(self, run: &mut AgentRun, exit: Exit, stderr: &str) {
        let noise = String::from_utf8_lossy(self.noise.bytes());
        run.usage = self.usage;
        run.session_id = self.session;
        for (count, what) in [
            (self.noise_lines, "lines of the stream were no records"),
            (self.too_long, "lines of the stream were longer than 8 MiB, or of too many values, and skipped"),
            (self.not_utf8, "lines of the stream were not UTF-8"),
        ] {
            if count > 0 {
                run.warnings.push(format!("{count} {what}"));
            }
        }
        let exit = match (self.ignored, exit) {
            (None, exit) => exit,
            (Some(words), exit) => {
                let words = if words.is_empty() { "an error without words" } else { &words };
                run.warnings
                    .push(format!("after its answer came an empty error, which does not count: {words}"));
                // The exit code belongs to the ignored error.
                if matches!(exit, Exit::Code(_)) { Exit::Code(0) } else { exit }
            }
        };
        run.failure = match self.last {
            LastResult::Result(said) => {
                let failure = of_result(&said, exit, stderr);
                if exit == Exit::TimedOut && failure.is_none() {
                    run.warnings.push("it lived on after its result and was ended".into());
                }
                run.result = said.text.map(|text| shortened(text, &mut run.warnings));
                if run.result.is_none() && failure.is_none() {
                    Some(without_result(exit, stderr, "", "its result has no text"))
                } else {
                    failure
                }
            }
            LastResult::Broken => {
                Some(failure(AgentFailureKind::Ended, "its result cannot be read as JSON".into(), stderr))
            }
            LastResult::Nothing => Some(without_result(exit, stderr, &noise, "it ended without a result")),
        };
        // An unknown session cannot be resumed, even if the stream names it.
        if run.failure.as_ref().is_some_and(|failure| failure.kind == AgentFailureKind::UnknownSession) {
            run.session_id = None;
        }
    }
}

fn plain(run: &mut AgentRun, text: &TailBuffer, exit: Exit, stderr: &str) {
    let said = String::from_utf8_lossy(text.bytes());
    // The cut may have split a character.
    let said = if text.is_cut() { said.trim_start_matches('\u{fffd}') } else { said.as_ref() };
    let said = said.trim();
    if text.is_cut() {
        run.warnings.push(format!("only the last {LARGEST_SOURCE} bytes of its output were kept"));
    }
    run.result = (!said.is_empty()).then(|| said.to_owned());
    run.failure = if exit != Exit::Code(0) {
        Some(without_result(exit, stderr, said, "it failed"))
    } else if said.is_empty() {
        Some(without_result(exit, stderr, "", "it printed nothing"))
    } else {
        None
    };
}

fn shortened(text: String, warnings: &mut Vec<String>) -> String {
    if text.len() <= LARGEST_SOURCE {
        return text;
    }
    warnings.push(format!("its result had {} bytes, the first {LARGEST_SOURCE} were kept", text.len()));
    let end = text.floor_char_boundary(LARGEST_SOURCE);
    text.get(..end).unwrap_or_default().to_owned()
}
