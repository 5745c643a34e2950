//! The Test Anything Protocol.

use super::Summary;
use crate::order::Counts;

/// Which points are looked at.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Depth {
    /// Those of the outermost test only.
    Top,
    /// All; a test that failed only because a part of it did is left out.
    Any,
}

/// Points of the outermost level. There has to be a plan, or the protocol's version.
pub(super) fn tap(lines: &[&str]) -> Option<Summary> {
    let plan = pattern!(r"^1\.\.\d+( *#.*)?$")?;
    let point = pattern!(r"^(not )?ok\b(?: +\d+)?(?: +- +| +|$)(.*)$")?;
    let directive = pattern!(r"(?i)(?:^| )# *(skip|todo)\b")?;
    let mut counts = Counts::default();
    let mut line = None;
    for (at, text) in lines.iter().enumerate() {
        if plan.is_match(text) || text.starts_with("TAP version 1") {
            line = line.max(Some(at));
        } else if let Some(found) = point.captures(text) {
            line = line.map(|_| at).or(line);
            let description = found.get(2)?.as_str();
            if directive.is_match(description) {
                counts.skipped += 1;
            } else if found.get(1).is_some() {
                counts.failed += 1;
            } else {
                counts.passed += 1;
            }
        } else if text.starts_with("Bail out!") {
            counts.failed += 1;
        }
    }
    Some(Summary { counts: Some(counts), failing: failing(lines, Depth::Top), line: line? })
}

/// The descriptions of what is not ok.
pub(super) fn failing(lines: &[&str], depth: Depth) -> Vec<String> {
    let (Some(point), Some(directive)) =
        (pattern!(r"^( *)not ok\b(?: +\d+)?(?: +- +| +|$)(.*)$"), pattern!(r"(?i)(?:^| )# *(?:skip|todo)\b"))
    else {
        return Vec::new();
    };
    let mut names = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(found) = point.captures(line) else { continue };
        let indent = found.get(1).map_or(0, |found| found.len());
        let name = found.get(2).map_or("", |found| found.as_str());
        if directive.is_match(name) || (depth == Depth::Top && indent > 0) {
            continue;
        }
        // Node explains each point in a block of YAML below it.
        let block = lines.get(at + 1..).unwrap_or_default().iter().take(40);
        let mut block = block.take_while(|line| line.trim() != "...");
        if depth == Depth::Any && block.any(|line| line.contains("failureType: 'subtestsFailed'")) {
            continue;
        }
        names.push(name.to_owned());
    }
    names
}
