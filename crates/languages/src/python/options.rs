//! The arguments of Python's runners that decide which tests run and with what result.
//!
//! May know: options of pytest, unittest and Django. Must never know: who starts a runner.

/// Options of pytest about its look, coverage, repetition and where it stops, and about running side by side, as the runs
/// of a verdict already do. They change no result, may need a plugin, and hide names where they stop a run.
const LOOKS: [&str; 18] = [
    "--verbose", "--quiet", "--exitfirst", "--no-header", "--no-summary", "--showlocals", "--cov-branch",
    "--cov-append", "--no-cov", "--no-cov-on-fail", "--lf", "--last-failed", "--ff", "--failed-first",
    "--nf", "--sw", "--stepwise", "--cache-clear",
];
/// The same with a value.
const LOOKS_WITH_VALUE: [&str; 22] = [
    "--cov", "--cov-report", "--cov-config", "--cov-fail-under", "--cov-context", "--junitxml",
    "--junit-xml", "--junitprefix", "--junit-prefix", "--html", "--color", "--tb", "--durations",
    "--durations-min", "--maxfail", "--basetemp", "--verbosity", "-n", "--numprocesses", "--dist",
    "--reruns", "--reruns-delay",
];
/// Other options of pytest whose value is a word of its own.
const VALUES: [&str; 18] = [
    "-k", "-m", "-c", "-o", "-p", "-W", "--ignore", "--ignore-glob", "--deselect", "--rootdir",
    "--confcutdir", "--import-mode", "--override-ini", "--config-file", "--ds", "--dc", "--log-level",
    "--asyncio-mode",
];

/// The arguments of pytest that count. `None` if one names a place that is not there.
pub(super) fn pytest<'a>(args: &[&'a str], has: &dyn Fn(&str) -> bool) -> Option<Vec<&'a str>> {
    let takes_modules = args.contains(&"--pyargs");
    let is_place = |arg: &str| {
        let path = arg.split("::").next().unwrap_or(arg).trim_start_matches("./").trim_end_matches('/');
        matches!(path, "" | ".") || has(path)
    };
    let mut kept = Vec::new();
    let mut args = args.iter().copied().peekable();
    while let Some(arg) = args.next() {
        let name = arg.split('=').next().unwrap_or(arg);
        if is_look(arg) {
            // Not hiding what tests print is no look: some tests look at that.
            kept.extend(letters(arg, "vqxsl").filter(|letters| letters.contains('s')).map(|_| "-s"));
        } else if LOOKS_WITH_VALUE.contains(&name) {
            if name == arg {
                args.next_if(|next| !next.starts_with('-'));
            }
        } else if VALUES.contains(&arg) {
            kept.push(arg);
            kept.extend(args.next());
        } else if arg.starts_with('-') || takes_modules || is_place(arg) {
            kept.push(arg);
        } else {
            return None;
        }
    }
    Some(kept)
}

fn is_look(arg: &str) -> bool {
    let is_count = |count: &str| {
        matches!(count, "auto" | "logical") || !count.is_empty() && count.chars().all(|c| c.is_ascii_digit())
    };
    LOOKS.contains(&arg)
        || letters(arg, "vqxsl").is_some()
        || arg.strip_prefix("-r").is_some_and(|letters| !letters.is_empty())
        || arg.strip_prefix("-n").is_some_and(is_count)
}

/// The letters of an argument such as `-xvs`, if they are among these.
fn letters<'a>(arg: &'a str, these: &str) -> Option<&'a str> {
    let given = arg.strip_prefix('-').filter(|given| !given.is_empty())?;
    given.chars().all(|c| these.contains(c)).then_some(given)
}

/// The same of unittest. A run that stops early hides names, and how much it says is asked for elsewhere.
pub(super) fn unittest<'a>(args: &[&'a str]) -> Vec<&'a str> {
    let is_kept = |arg: &&str| !matches!(*arg, "-v" | "--verbose" | "-q" | "--quiet" | "-f" | "--failfast");
    args.iter().copied().filter(is_kept).collect()
}

/// The same of Django's test command.
pub(super) fn django<'a>(args: &[&'a str]) -> Vec<&'a str> {
    let mut kept = Vec::new();
    let mut args = args.iter().copied().peekable();
    while let Some(arg) = args.next() {
        match arg.split('=').next().unwrap_or(arg) {
            "--failfast" | "--timing" => {}
            "--parallel" => {
                args.next_if(|next| *next == "auto" || next.chars().all(|c| c.is_ascii_digit()));
            }
            _ => kept.push(arg),
        }
    }
    kept
}
