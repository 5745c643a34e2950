//! PHPUnit and Pest, and scripts of composer.json that call them.

use std::collections::BTreeSet;

use crate::counts::php;
use crate::grammar_kind::file_name;
use crate::names::without_parameters;
use crate::runner::{Asked, PrintedResult, RunnerCall, SelectedRun, SummaryForm, TestRunner, TestSelection};
use crate::script::ScriptCall;
use journeyman_order::bounds::{LONGEST_ARGUMENT, MOST_HOPS, MOST_NAMED};
use serde_json::Value;

pub(super) const RUNNERS: &[TestRunner] = &[
    TestRunner {
        name: "phpunit",
        runs: |words| matches!(program(words), Some(("phpunit" | "simple-phpunit" | "paratest", _))),
        ask: report_of_phpunit,
        select: select_in_phpunit,
        printed: Some(PrintedResult { read: php::phpunit, form: SummaryForm::OneRun }),
        ..TestRunner::NONE
    },
    TestRunner {
        name: "pest",
        runs: |words| match program(words) {
            Some((name, rest)) => name == "pest" || name == "artisan" && rest.first() == Some(&"test"),
            None => false,
        },
        ask: report_of_phpunit,
        select: select_in_pest,
        printed: Some(PrintedResult { read: php::pest, form: SummaryForm::OneRun }),
        ..TestRunner::NONE
    },
];

/// The name of the program that a call runs, itself or through `php`, and the words behind it.
fn program<'p, 'w>(words: &'p [&'w str]) -> Option<(&'w str, &'p [&'w str])> {
    let (first, mut rest) = words.split_first()?;
    let mut file = *first;
    let own_name = |path: &'w str| file_name(path).trim_end_matches(".phar");
    let is_version = |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || c == '.');
    if own_name(file).strip_prefix("php").is_some_and(is_version) {
        loop {
            let (word, more) = rest.split_first()?;
            rest = more;
            match *word {
                // A setting of PHP may be a word of its own.
                "-d" | "-c" => rest = rest.split_first()?.1,
                option if option.starts_with('-') => {}
                script => {
                    file = script;
                    break;
                }
            }
        }
    }
    Some((own_name(file), rest))
}

fn report_of_phpunit(call: &RunnerCall<'_>) -> Asked {
    // A filter can be given once.
    let takes_options = !call.has(&["--filter"]);
    let report = call.report.filter(|_| !call.has(&["--log-junit"]));
    let words = report.map(|report| format!("--log-junit={}", shell_words::quote(report)));
    Asked {
        words: words.into_iter().collect(),
        report: report.map(str::to_owned),
        takes_options,
        ..Asked::default()
    }
}

/// PHPUnit 9 ends well if no test has one of these names, so they must be exactly its own.
fn select_in_phpunit(selection: &TestSelection<'_>) -> Option<SelectedRun> {
    let mut methods = BTreeSet::new();
    for name in selection.names {
        let method = without_parameters(name).rsplit(['.', ':']).next()?;
        let is_plain = method.chars().all(|c| c.is_alphanumeric() || c == '_') && !method.is_empty();
        methods.insert(is_plain.then_some(method)?);
    }
    let methods: Vec<&str> = methods.into_iter().collect();
    let filter = format!("--filter '/::({})( .*)?$/'", methods.join("|"));
    let is_short = methods.len() <= MOST_NAMED && filter.len() <= LONGEST_ARGUMENT;
    is_short.then(|| selection.with_option(&filter))?
}

/// Pest reports its own tests by their titles, and those of PHPUnit's classes by sentences that are no names: these begin
/// with a capital letter.
fn select_in_pest(selection: &TestSelection<'_>) -> Option<SelectedRun> {
    let mut titles = BTreeSet::new();
    for name in selection.names {
        let name = without_parameters(name);
        let class_end = name.split(' ').next()?.rfind('.').map_or(0, |dot| dot + 1);
        let title = name.get(class_end..)?;
        let is_own = !title.starts_with(char::is_uppercase) && !title.trim().is_empty();
        let is_plain = !title.contains(['\'', '\n', '\0']);
        titles.insert((is_own && is_plain).then(|| regex::escape(title).replace('/', r"\/"))?);
    }
    let titles: Vec<String> = titles.into_iter().collect();
    let filter = format!("--filter '/({})( .*)?$/'", titles.join("|"));
    let is_short = titles.len() <= MOST_NAMED && filter.len() <= LONGEST_ARGUMENT;
    is_short.then(|| selection.with_option(&filter))?
}

/// A call of a script of composer.json. Composer appends words to each of its commands, so there must be one.
pub(super) fn script(words: &[&str], read: &dyn Fn(&str) -> Option<Vec<u8>>) -> Option<ScriptCall> {
    let ["composer", rest @ ..] = words else { return None };
    let mut names = rest.iter().take_while(|word| **word != "--").filter(|word| !word.starts_with('-'));
    let name = match *names.next()? {
        "run" | "run-script" => *names.next()?,
        name => name,
    };
    let manifest = crate::text::json(&read("composer.json")?)?;
    let line = line_of(manifest.get("scripts")?, name, 0)?;
    let between = if words.contains(&"--") { "" } else { "--" };
    Some(ScriptCall { words: words.iter().map(|word| (*word).to_owned()).collect(), line, between })
}

/// The only command of a script. A reference to another script is followed.
fn line_of(scripts: &Value, name: &str, depth: usize) -> Option<String> {
    if depth > MOST_HOPS {
        return None;
    }
    let script = scripts.get(name)?;
    let lines = match script.as_array() {
        Some(lines) => lines.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?,
        None => vec![script.as_str()?],
    };
    // Composer itself sets a variable, and calls a function of PHP without words.
    let is_command =
        |line: &&str| !line.starts_with("@putenv ") && !pattern!(r"^[\w\\]+::\w+$").is_match(line);
    let mut commands = lines.into_iter().filter(is_command);
    let (line, None) = (commands.next()?, commands.next()) else { return None };
    match line.split_once(' ').unwrap_or((line, "")) {
        ("@php", call) => Some(format!("php {call}")),
        (other, "") if other.starts_with('@') => line_of(scripts, other.trim_start_matches('@'), depth + 1),
        (other, _) if other.starts_with('@') => None,
        _ => Some(line.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_of_one_command_takes_words() {
        let manifest = br#"{"scripts": {"test": "phpunit --colors=never", "one": ["@putenv A=1", "A\\B::disableTimeout", "@php vendor/bin/pest"],
            "ref": "@test", "self": "@self", "two": ["phpcs", "phpunit"], "with": "@test --testdox", "chain": "phpcs && phpunit"}}"#;
        let read = |path: &str| (path == "composer.json").then(|| manifest.to_vec());
        for (command, line, between) in [
            ("composer test", Some("phpunit --colors=never"), "--"),
            (
                "composer --no-interaction run-script --timeout=0 test -- tests",
                Some("phpunit --colors=never"),
                "",
            ),
            ("composer run one", Some("php vendor/bin/pest"), "--"),
            ("composer ref", Some("phpunit --colors=never"), "--"),
            ("composer chain", Some("phpcs && phpunit"), "--"),
            ("composer self", None, ""),
            ("composer two", None, ""),
            ("composer with", None, ""),
            ("composer install", None, ""),
            ("npm test", None, ""),
        ] {
            let words: Vec<&str> = command.split(' ').collect();
            let script = script(&words, &read);
            let found = script.as_ref().map(|script| (script.line.as_str(), script.between));
            assert_eq!(found, line.map(|line| (line, between)), "{command}");
        }
    }

    #[test]
    fn a_runner_is_known_by_its_file() {
        for (command, runner) in [
            ("vendor/bin/phpunit --testsuite unit", Some("phpunit")),
            ("php -d memory_limit=-1 -dzend.assertions=1 ./vendor/bin/phpunit tests", Some("phpunit")),
            ("php8.3 tools/phpunit.phar", Some("phpunit")),
            ("bin/simple-phpunit", Some("phpunit")),
            ("vendor/bin/pest --parallel", Some("pest")),
            ("php artisan test", Some("pest")),
            ("php artisan migrate", None),
            ("php -l src/phpunit.php", None),
            ("phpunit-watcher", None),
            ("php", None),
        ] {
            let words: Vec<&str> = command.split(' ').collect();
            let found = RUNNERS.iter().find(|row| (row.runs)(&words));
            assert_eq!(found.map(|row| row.name), runner, "{command}");
        }
    }
}
