//! Lines and files that look like a test runner's.

use super::Signs;
use crate::order::WeakeningKind;
use crate::verify::tamper::chain::{chain, is_call};
use crate::verify::tamper::syntax::{NodeId, Syntax, is_string};

pub(super) fn look(signs: &mut Signs<'_, '_>, node: NodeId) {
    let syntax = &signs.file.syntax;
    if !is_string(syntax.kind(node)) {
        return;
    }
    let text = syntax.text(node);
    if text.len() > 4_096 {
        return;
    }
    let bare = text
        .trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '#')
        .trim_matches(|c| matches!(c, '"' | '\'' | '`' | '#'));
    match writer(syntax, node) {
        Some(Writer::Asserts) => {}
        Some(Writer::Opens) if is_report_path(bare) => {
            signs.add(
                WeakeningKind::ForgedOutput,
                node,
                true,
                format!("a test report is written by the code itself: {text}"),
            );
        }
        Some(Writer::Prints | Writer::Opens) if bare.split("\\n").flat_map(str::lines).any(is_verdict) => {
            signs.add(
                WeakeningKind::ForgedOutput,
                node,
                true,
                format!("prints what only a test runner says: {text}"),
            );
        }
        // What tests compare with may look like anything.
        None if !signs.file.is_in_tests(node)
            && bare.split("\\n").flat_map(str::lines).any(is_whole_verdict) =>
        {
            signs.add(
                WeakeningKind::ForgedOutput,
                node,
                true,
                format!("holds what only a test runner says: {text}"),
            );
        }
        Some(Writer::Prints | Writer::Opens) | None => {}
    }
}

/// What is done with a string.
enum Writer {
    Prints,
    Opens,
    /// It is compared, searched for or asserted.
    Asserts,
}

fn writer(syntax: &Syntax<'_>, node: NodeId) -> Option<Writer> {
    for up in syntax.ancestors(node).take(12) {
        let kind = syntax.kind(up);
        let name = if kind == "macro_invocation" {
            syntax.field_text(up, "macro").to_owned()
        } else if is_call(kind) {
            chain(syntax, up).last().map(|link| link.name.to_owned()).unwrap_or_default()
        } else if matches!(kind, "comparison_operator" | "assert_statement" | "match_pattern" | "case_clause")
            || (kind == "binary_expression" && syntax.text(up).contains("=="))
        {
            return Some(Writer::Asserts);
        } else {
            continue;
        };
        let flat: String = name.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect();
        let has = |words: &[&str]| words.iter().any(|word| flat.contains(word));
        if has(&[
            "assert",
            "expect",
            "contains",
            "startswith",
            "endswith",
            "hasprefix",
            "hassuffix",
            "search",
            "match",
            "find",
            "regex",
            "compile",
            "split",
            "index",
            "replace",
            "strip",
        ]) {
            return Some(Writer::Asserts);
        }
        if has(&["open", "file", "create", "writetext", "path", "junit", "dump"]) && !has(&["profile"])
            || flat == "write" && kind == "call_expression"
        {
            return Some(Writer::Opens);
        }
        if has(&["print", "write", "log", "echo", "puts", "info", "emit"]) {
            return Some(Writer::Prints);
        }
    }
    None
}

fn is_report_path(text: &str) -> bool {
    pattern!(r"(?i)(junit|test[-_]?(results?|reports?)|surefire|pytest|TEST-)[^\s]*\.xml$|^(.*/)?report\.xml$|(?i)\.(trx|tap)$")
        .is_some_and(|pattern| pattern.is_match(text))
}

/// A number, or what is filled in for one.
fn is_verdict(line: &str) -> bool {
    is_whole_verdict(line)
        || pattern!(
            r"(?x)
            ^\s*(=+\s)?(\d+|%d|\$?\{[^}]*\})\ (passed|tests?\ passed|passing)\b
            | ^\#\ (pass|tests|fail)\ (\d+|%d|\$?\{)
            | ^(not\ )?ok\ (\d+|%d|\$?\{[^}]*\})
            | ^1\.\.(\d+|%d|\$?\{)
            | ^TAP\ version\ 1
            | ^--- PASS
            | ^\s*running\ (\d+|%d|\$?\{[^}]*\})\ tests?\b
            | <testcase\b"
        )
        .is_some_and(|pattern| pattern.is_match(line))
}

/// A line that says how a whole run ended.
fn is_whole_verdict(line: &str) -> bool {
    pattern!(
        r"(?x)
        ^\s*test\ result:\ (ok|\{)
        | ^\s*=+\ .*\bpassed
        | ^(\d+|%d|\{[^}]*\})\ passed(,\ [^.]*)?\ in\ 
        | ^\s*Ran\ (\d+|%d|\{[^}]*\})\ tests?\ in
        | ^Tests:\s+.*passed
        | Tests\ run:\ (\d+|%d),\ Failures
        | <testsuites?\b"
    )
    .is_some_and(|pattern| pattern.is_match(line))
}

/// Whether a file that is no source is a runner's report.
pub(in crate::verify::tamper) fn is_report(bytes: &[u8]) -> bool {
    let head = bytes.get(..bytes.len().min(4_096)).unwrap_or_default();
    let head = String::from_utf8_lossy(head);
    head.contains("<testsuite") || head.lines().any(is_whole_verdict) || head.starts_with("TAP version 1")
}

/// Whether a line of a script or a recipe prints what a runner says.
pub(in crate::verify::tamper) fn is_forging_command(line: &str) -> bool {
    let Some((_, said)) = line.split_once("echo ").or_else(|| line.split_once("printf ")) else {
        return false;
    };
    is_verdict(said.trim_start_matches(['-', 'e', ' ', '"', '\''])) || line.contains("<testsuite")
}
