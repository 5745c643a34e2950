//! What an output says about an environment in which no test can run: the line with the cause, and whether the
//! environment is at fault rather than the code.

use journeyman_languages::not_run::{has_no_version, is_missing, is_reason};
use journeyman_order::bounds::{LARGEST_SOURCE, LONGEST_MESSAGE};
use journeyman_order::length::shorten;
use journeyman_order::{Exit, TestReport};

use super::text::plain;

/// How many lines count as the end of an output.
const LAST_LINES: usize = 5;
/// Exit codes of a shell for a program that cannot be started or does not exist.
const NOT_STARTED: [i32; 2] = [126, 127];

/// The line that most likely says why a command failed. A certificate error comes first, since package managers then
/// report missing packages. Next is the first line in the form of an error, then the first that mentions one without
/// being a warning, a retry or a pointer elsewhere. Otherwise it is the last line.
pub fn telling_line(output: &str) -> Option<String> {
    let text = end_of(output);
    if let Some(line) = certificate_line(&text) {
        return Some(line);
    }
    // npm retries a setup in other ways; the last attempt counts.
    let last_try = text.rmatch_indices("A complete log of this run can be found in").nth(1);
    let text = last_try.and_then(|(at, _)| text.get(at..)).unwrap_or(&text);
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty() && !points_elsewhere(line));
    let errors = pattern!(
        r"(?i)\b(?:error|err!|fatal|failed|failure|denied|refused|cannot|could not|couldn't|unable to|not found|no such|no module|no matching|no solution|invalid|forbidden|unsupported|requires|conflict)\b",
    );
    let harmless = pattern!(
        r"(?i)\b(?:warn|warning|notice|info|debug|deprecated)\b|^(?:checking |looking |retrying |-- )"
    );
    let is_error = |line: &&str| errors.is_match(line) && !harmless.is_match(line);
    let form = pattern!(
        r"^(?:\S+:\d+(?::\d+)?: |[\w.+-]+: |\[\w+\] ?)?(?:(?i:fatal|error|err!|npm err!|npm error|cmake error)\b(?:[:\]\[ ]|$)|(?:\w+\.)*\w*(?:Error|Exception): )|^ERR_\w+ |^make(?:\[\d+\])?: \*\*\* |^[\w./+-]+: .*(?:not found|No such file or directory|Permission denied)$"
    );
    let has_form = |line: &&str| form.is_match(line);
    let line = lines().find(has_form).or_else(|| lines().find(is_error)).or_else(|| lines().next_back())?;
    Some(shorten(line, LONGEST_MESSAGE))
}

/// Whether a line only points to more details elsewhere.
pub fn points_elsewhere(line: &str) -> bool {
    pattern!(
        r"(?i)^(?:\[\w+\] *)*(?:\[help \d+\]|re-run |to see the full |for more information |hint: |npm (?:err!|error) (?:a complete log|code |errno )|a complete log |caused by:$|failure: build failed |.*YN0000: .*failed with errors|\* what went wrong:$|execution failed for task |\[error\] *$|note: this error originates|error: subprocess-exited-with-error|error: (?:metadata-generation-failed|legacy-install-failure)|npm (?:err!|error) \d+ in most cases|(?:\[elifecycle\]|.*elifecycle) |make(?:\[\d+\])?: (?:\*\*\* \[.*\] error \d+|entering directory |leaving directory )|aborting\.$|(?:npm (?:err!|error) )?\w*Error:$|and the repository exists\.$|(?:npm|error) (?:err!|error) (?:git|path|command) |npm (?:err!|error) (?:[\w-]+ )?(?:info|http|verb|sill|warn) )"
    )
    .is_match(line)
}

/// Whether a registry or server requires credentials.
pub fn wants_credentials(output: &str) -> bool {
    let pattern = pattern!(
        r"(?i)\bE?401\b|\bunauthori[sz]ed\b|invalid authentication|authentication (?:failed|required)|could not read username"
    );
    telling_line(output).is_some_and(|line| pattern.is_match(&line))
}

/// The unset variable that a package manager's settings refer to, as Yarn and npm report it.
pub fn unset_variable(output: &str) -> Option<String> {
    let pattern = pattern!(
        r"Environment variable not found \((\w{1,100})\)|Failed to replace env in config: \$\{(\w{1,100})\}"
    );
    let text = end_of(output);
    let found = pattern.captures(&text)?;
    Some(found.get(1).or(found.get(2))?.as_str().to_owned())
}

/// The line that reports an untrusted certificate.
pub fn untrusted_certificate(output: &str) -> Option<String> {
    certificate_line(&end_of(output))
}

fn certificate_line(text: &str) -> Option<String> {
    let pattern = pattern!(
        r"(?i)certificate[ _]verify[ _]failed|unknownissuer|self[-_ ]signed[-_ ]cert|unable to get (?:local )?issuer certificate|unable_to_(?:get_issuer_cert|verify_leaf_signature)|certificate signed by unknown authority|pkix path building failed|ssl certificate problem"
    );
    let line = text.lines().map(str::trim).find(|line| pattern.is_match(line))?;
    Some(shorten(line, LONGEST_MESSAGE))
}

/// The line that reports something missing around the tests, if none of them ran: a program, or a package that is not
/// the repository's own. `is_own` says whether the repository has a module of that name. `None` if tests can run, or if
/// the repository's code fails, which an agent can fix.
pub fn missing_for_tests(
    exit: Exit,
    reading: &TestReport,
    output: &str,
    is_own: &dyn Fn(&str) -> bool,
) -> Option<String> {
    if ran_any(reading) || exit == Exit::Code(0) || matches!(exit, Exit::Signal(_) | Exit::TimedOut) {
        return None;
    }
    let text = end_of(output);
    // One of the repository's own programs started, then ended with the exit code of a missing program.
    if exit == Exit::Code(127) || not_started_inside(&text).is_some() {
        let own = pattern!(r"symbol lookup error: |error while loading shared libraries: ");
        if own.is_match(&text) {
            return None;
        }
    }
    let found = text.lines().map(str::trim).find(|line| is_missing(line, is_own));
    let line = found.map(str::to_owned).or_else(|| not_started_by_make(&text));
    let line = line.or_else(|| match NOT_STARTED.map(Exit::Code).contains(&exit) {
        true => telling_line(output),
        false => not_started_inside(&text),
    });
    line.map(|line| shorten(&line, LONGEST_MESSAGE))
}

/// Whether any test ran, not counting files and packages that did not compile or load.
pub fn ran_any(reading: &TestReport) -> bool {
    reading.counts.is_some_and(|counts| counts.passed > 0 || counts.failed > reading.unloaded.len() as u64)
}

/// Why nothing compiles or loads, so that no test ran. `None` if tests ran, or if that is unknown.
pub fn not_loaded(exit: Exit, reading: &TestReport, output: &str) -> Option<String> {
    if ran_any(reading) || !matches!(exit, Exit::Code(code) if code != 0) {
        return None;
    }
    let text = end_of(output);
    // Summaries of runners whose counts this crate does not parse.
    let summary = pattern!(
        r"(?i)\b[1-9]\d* (?:tests?|examples?|specs?|runs?|assertions?|checks?|skipped|passed|passing|successes)\b|\b(?:tests?(?: run)?|passed|checks|total|examples?)[:=] *[1-9]"
    );
    if reading.unloaded.is_empty() && summary.is_match(&text) {
        return None;
    }
    // Node's own runner prefixes what a file printed.
    let mut lines = text.lines().map(|line| line.trim().trim_start_matches("# "));
    let line = lines.find(|line| is_reason(line)).map(str::to_owned);
    let line = line.or_else(|| if reading.unloaded.is_empty() { None } else { telling_line(output) })?;
    Some(shorten(&line, LONGEST_MESSAGE))
}

/// The last non-empty lines: what came before did not end the run.
fn last_lines(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.get(lines.len().saturating_sub(LAST_LINES)..).unwrap_or_default().to_vec()
}

/// Make's message about a program that it starts without a shell, if that ended the run. A change may add a missing
/// file of the repository, so that is not reported. A file without execute permission is.
fn not_started_by_make(text: &str) -> Option<String> {
    not_started_inside(text)?;
    let pattern =
        pattern!(r"^make(?:\[\d+\])?: (?:[^\s/]+: No such file or directory|\S+: Permission denied)$");
    last_lines(text).into_iter().find(|line| pattern.is_match(line)).map(str::to_owned)
}

/// The line in which a command runner reports that a command could not start, if that ended the run. `None` if the
/// missing file is the repository's, since a change can add it.
fn not_started_inside(text: &str) -> Option<String> {
    let pattern = pattern!(
        r"(?i)^make(?:\[\d+\])?: \*\*\* .* Error 12[67]$|^error: recipe .* failed on line \d+ with exit code 12[67]$|^task: Failed to run task .*: exit status 12[67]$"
    );
    let own = pattern!(r"^make(?:\[\d+\])?: \S*/\S*: No such file or directory$");
    let last = last_lines(text);
    let brought = last.iter().any(|line| own.is_match(line));
    last.into_iter().find(|line| !brought && pattern.is_match(line)).map(str::to_owned)
}

/// The line that reports a missing program, or a missing version of it, named by the test command, whatever ran before.
/// A change may add files of the repository, so only programs found by name count.
pub fn missing_program(exit: Exit, output: &str) -> Option<String> {
    let text = end_of(output);
    let last = last_lines(&text);
    let is_so = match exit {
        Exit::Code(127) => true,
        Exit::Code(0) | Exit::Signal(_) | Exit::TimedOut => false,
        Exit::Code(_) => last.iter().any(|line| not_started_inside(line).is_some()),
    };
    let pattern = pattern!(
        r"^(?:.*(?:sh|bash|env): (?:\d+: |line \d+: )?[^\s/]+: (?:command )?not found|make(?:\[\d+\])?: [^\s/]+: No such file or directory)$"
    );
    let is_red = matches!(exit, Exit::Code(code) if code != 0);
    let line = last.iter().rfind(|line| is_so && pattern.is_match(line) || is_red && has_no_version(line))?;
    Some(shorten(line, LONGEST_MESSAGE))
}

fn end_of(output: &str) -> String {
    let start = output.floor_char_boundary(output.len().saturating_sub(LARGEST_SOURCE));
    plain(output.get(start..).unwrap_or_default())
}

#[cfg(test)]
#[path = "missing_tests.rs"]
mod tests;
