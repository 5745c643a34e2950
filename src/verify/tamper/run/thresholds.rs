//! Limits: of coverage, of precision, of time.

use std::collections::BTreeMap;

use super::Text;
use crate::order::{Weakening, WeakeningKind};
use crate::verify::tamper::assertion::number;
use crate::verify::tamper::change::Change;
use crate::verify::tamper::language::Language;
use crate::verify::tamper::read::SourceFile;

/// Coverage that is asked for in a settings file, a recipe or a workflow.
pub(super) fn look(text: &Text<'_>, found: &mut Vec<Weakening>) {
    let is_source =
        Language::of(text.path).is_some() && !text.name.contains(".config.") && !text.name.starts_with('.');
    if is_source || text.is_added() {
        return;
    }
    let (old, new) = (limits(text.before()), limits(text.after()));
    for (key, was) in &old {
        let is = new.get(key).map(Vec::as_slice).unwrap_or_default();
        for (at, limit) in was.iter().enumerate() {
            let what = match is.get(at) {
                Some(now) if now < limit => format!("`{key}` is {now}, and was {limit}"),
                Some(_) => continue,
                None => format!("`{key}` is no longer asked for, and was {limit}"),
            };
            found.push(text.weakening(WeakeningKind::ThresholdLowered, None, true, what));
        }
    }
}

fn limits(text: &str) -> BTreeMap<String, Vec<f64>> {
    let mut limits: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let Some(pattern) = pattern!(
        r#"(?i)(cov-fail-under|fail[-_]under(?:[-_]\w+)?|min[-_]?coverage|coverage[-_]?(?:minimum|threshold)|branches|functions|lines|statements|minimum|target)["']?\s*[:=> ]\s*["']?(\d+(?:\.\d+)?)%?"#
    ) else {
        return limits;
    };
    let is_about_coverage = ["coverage", "nyc", "c8", "jacoco", "cov"].iter().any(|word| text.contains(word));
    for found in pattern.captures_iter(text) {
        let (Some(key), Some(value)) = (found.get(1), found.get(2)) else { continue };
        let key = key.as_str().to_lowercase();
        let is_plain =
            matches!(key.as_str(), "branches" | "functions" | "lines" | "statements" | "minimum" | "target");
        if let Some(value) = number(value.as_str()).filter(|_| !is_plain || is_about_coverage) {
            limits.entry(key).or_default().push(value);
        }
    }
    limits
}

/// Named limits in the tests themselves.
pub(super) fn constants(change: &Change<'_>, found: &mut Vec<Weakening>) {
    for file in change.after.files.iter().filter(|file| change.is_changed(&file.path)) {
        let Some(before) = change.before.file(&file.path) else { continue };
        let old: BTreeMap<String, f64> =
            named(before).into_iter().map(|(name, value, _)| (name, value)).collect();
        for (name, value, line) in named(file) {
            let Some(was) = old.get(&name) else { continue };
            let lower = name.to_lowercase();
            let is_floor = lower.starts_with("min") || lower.contains("places") || lower.contains("digits");
            let is_looser = if is_floor { value < *was } else { value > *was };
            if is_looser {
                found.push(Weakening {
                    kind: WeakeningKind::ThresholdLowered,
                    path: file.path.clone(),
                    line: Some(line),
                    test: None,
                    what: format!("the limit `{name}` of the tests is {value}, and was {was}"),
                    grave: true,
                });
            }
        }
    }
}

/// Constants among the tests that are called like limits.
fn named(file: &SourceFile<'_>) -> Vec<(String, f64, u32)> {
    let syntax = &file.syntax;
    let mut all = Vec::new();
    for node in syntax.everything() {
        let (name, value) = match syntax.kind(node) {
            "assignment" => ("left", "right"),
            "variable_declarator" | "const_item" | "static_item" | "const_spec" => ("name", "value"),
            "let_declaration" => ("pattern", "value"),
            _ => continue,
        };
        let (name, value) = (syntax.field_text(node, name), syntax.field_text(node, value));
        let is_limit = pattern!(r"(?i)(toleran|epsilon|^eps$|_eps$|delta$|threshold|precision|^min_|^max_|places$|digits$|_limit$)")
            .is_some_and(|pattern| pattern.is_match(name));
        if let Some(value) = number(value).filter(|_| is_limit && file.is_in_tests(node) && all.len() < 200) {
            all.push((name.to_owned(), value, syntax.line(node)));
        }
    }
    all
}
