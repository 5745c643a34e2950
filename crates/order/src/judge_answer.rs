//! The answers of verifiers and escalation agents, validated against their form.

use std::sync::LazyLock;

use jsonschema::Validator;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::answer;
use super::feedback::{Feedback, Severity};
use super::moves::{Diagnosis, DiagnosisDecision};
use crate::bounds::LONGEST_TEXT;

const MOST_FINDINGS: usize = 50;
/// The field for tests that a verifier must address by name.
const CHANGED_TESTS: &str = "changed_tests";

/// The form of a verifier's answer. It must address the tests in `asked` by name.
pub(super) fn feedback_schema(asked: &[String]) -> Value {
    let mut form = feedback_form();
    let of_tests = (!asked.is_empty()).then(|| changed_tests_form(&json!({"enum": asked})));
    if let (Some(of_tests), Some(fields)) = (of_tests, form.as_object_mut()) {
        fields["properties"][CHANGED_TESTS] = of_tests;
        fields["required"] = json!(["passed", "score", "summary", "issues", CHANGED_TESTS]);
    }
    form
}

/// The tests that this form asks a verifier about.
pub(super) fn asked_in(form: Option<&Value>) -> Vec<&str> {
    let names = form.and_then(|form| {
        form.pointer("/properties/changed_tests/items/properties/test/enum").and_then(Value::as_array)
    });
    names.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn changed_tests_form(test: &Value) -> Value {
    json!({
        "type": "array",
        "items": {
            "type": "object",
            "required": ["test", "wanted", "why"],
            "properties": {
                "test": test,
                "wanted": {"type": "boolean"},
                "why": {"type": "string", "minLength": 1, "maxLength": LONGEST_TEXT}
            }
        }
    })
}

fn feedback_form() -> Value {
    json!({
        "type": "object",
        "required": ["passed", "score", "summary", "issues"],
        "properties": {
            "passed": {"type": "boolean"},
            "score": {"type": "number", "minimum": 0, "maximum": 1},
            "summary": {"type": "string", "minLength": 1, "maxLength": LONGEST_TEXT},
            "issues": {
                "type": "array", "maxItems": MOST_FINDINGS,
                "items": {
                    "type": "object",
                    "required": ["severity", "category", "description"],
                    "properties": {
                        "severity": {"enum": ["critical", "major", "minor"]},
                        "category": {"enum": ["logic_error", "security", "style", "test_failure", "architecture",
                            "missing_commit", "policy", "invalid_output"]},
                        "description": {"type": "string", "minLength": 1, "maxLength": LONGEST_TEXT},
                        "location": {"type": ["string", "null"], "maxLength": LONGEST_TEXT},
                        "suggestion": {"type": ["string", "null"], "maxLength": LONGEST_TEXT}
                    }
                }
            }
        }
    })
}

pub(super) fn diagnosis_schema() -> Value {
    json!({
        "type": "object",
        "required": ["decision", "diagnosis", "guidance"],
        "properties": {
            "decision": {"enum": ["guide", "flag"]},
            "diagnosis": {"type": "string", "minLength": 1, "maxLength": LONGEST_TEXT},
            "guidance": {"type": "string", "maxLength": LONGEST_TEXT}
        }
    })
}

/// Both forms are compiled once: every step of an order validates its answers again.
static FEEDBACK: LazyLock<Option<Validator>> = LazyLock::new(|| {
    let mut form = feedback_form();
    form["properties"][CHANGED_TESTS] =
        changed_tests_form(&json!({"type": "string", "maxLength": LONGEST_TEXT}));
    jsonschema::validator_for(&form).ok()
});
static DIAGNOSIS: LazyLock<Option<Validator>> =
    LazyLock::new(|| jsonschema::validator_for(&diagnosis_schema()).ok());

/// Parses an answer that fits the form.
fn of_form<T: DeserializeOwned>(value: Value, form: &Option<Validator>) -> Result<T, Feedback> {
    let faults = match form {
        Some(form) => answer::faults_of_form(&value, form),
        None => vec!["the form cannot be read".to_owned()],
    };
    if !faults.is_empty() {
        return Err(answer::not_of_the_form(faults));
    }
    answer::read(value)
}

/// A verifier's answer. A contradictory one is rejected, as is a pass that skips a test in `asked`. Severities and
/// categories of other scales are mapped to ours, and noted.
pub(super) fn feedback(text: &str, asked: &[&str]) -> Result<Feedback, Feedback> {
    let mut value = answer::object(text)?;
    read_scales(&mut value);
    let mut feedback: Feedback = of_form(value, &FEEDBACK)?;
    let wrong = |fault: String| Err(answer::not_of_the_form(vec![fault]));
    let weighs = feedback.issues.iter().any(|finding| finding.severity <= Severity::Major);
    if feedback.passed && weighs {
        return wrong("/passed: is true, and yet a critical or major issue is listed".to_owned());
    }
    let of_tests = &feedback.changed_tests;
    if feedback.passed
        && let Some(unwanted) = of_tests.iter().find(|said| !said.wanted)
    {
        return wrong(format!(
            "/passed: is true, and yet the issue does not want what the change does to {}",
            unwanted.test
        ));
    }
    let is_open = |name: &&&str| !of_tests.iter().any(|said| said.test == **name);
    if let Some(open) = asked.iter().find(is_open).filter(|_| feedback.passed) {
        return wrong(format!("/changed_tests: does not say whether the issue wants that {open} fails"));
    }
    if !feedback.passed && feedback.issues.is_empty() {
        return wrong("/issues: is empty, and yet passed is false; nobody could mend that".to_owned());
    }
    feedback.issues.sort_by_key(|finding| finding.severity);
    Ok(feedback)
}

/// Maps severities and categories that reviewers use besides ours. Without a known word, a finding is minor in a review
/// that passes and major in one that does not.
fn read_scales(value: &mut Value) {
    let passes = value.get("passed") == Some(&Value::Bool(true));
    let issues = value.get_mut("issues").and_then(Value::as_array_mut);
    for issue in issues.into_iter().flatten().filter_map(Value::as_object_mut) {
        let mut notes = Vec::new();
        for (field, read) in
            [("severity", severity as fn(&str, bool) -> &'static str), ("category", category)]
        {
            let Some(word) = issue.get(field).and_then(Value::as_str).map(str::to_owned) else { continue };
            let ours = read(&word.trim().to_lowercase().replace([' ', '-'], "_"), passes);
            if ours != word {
                notes.push(format!("{field} {:?}", word.chars().take(40).collect::<String>()));
                issue.insert(field.to_owned(), ours.into());
            }
        }
        if let (false, Some(Value::String(description))) = (notes.is_empty(), issue.get_mut("description")) {
            description.push_str(&format!(" (the reviewer's {})", notes.join(", ")));
        }
    }
}

fn severity(word: &str, passes: bool) -> &'static str {
    match word {
        "critical" | "blocker" | "blocking" | "fatal" | "severe" | "p0" => "critical",
        "major" | "high" | "error" | "important" | "serious" | "p1" => "major",
        "minor" | "medium" | "moderate" | "low" | "warning" | "info" | "nit" | "trivial" | "suggestion"
        | "p2" | "p3" => "minor",
        _ if passes => "minor",
        _ => "major",
    }
}

fn category(word: &str, _: bool) -> &'static str {
    match word {
        "security" | "vulnerability" => "security",
        "style" | "formatting" | "naming" | "readability" | "documentation" | "docs" => "style",
        "test_failure" | "tests" | "test" | "testing" | "test_coverage" => "test_failure",
        "architecture" | "design" | "maintainability" => "architecture",
        "missing_commit" => "missing_commit",
        "policy" => "policy",
        "invalid_output" => "invalid_output",
        _ => "logic_error",
    }
}

/// An escalation agent's answer. Empty guidance counts as missing.
pub(super) fn diagnosis(text: &str) -> Result<Diagnosis, Feedback> {
    let mut value = answer::object(text)?;
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|name, _| matches!(name.as_str(), "decision" | "diagnosis" | "guidance"));
    }
    let diagnosis: Diagnosis = of_form(value, &DIAGNOSIS)?;
    if diagnosis.decision == DiagnosisDecision::Guide && diagnosis.guidance.trim().is_empty() {
        let fault = "/guidance: has to say what to do when the decision is guide";
        return Err(answer::not_of_the_form(vec![fault.to_owned()]));
    }
    Ok(diagnosis)
}

#[cfg(test)]
mod tests {
    use super::super::moves::DiagnosisDecision;
    use super::*;

    #[test]
    fn a_verifier_that_contradicts_itself_has_said_nothing() {
        let issue = r#"{"severity": "major", "category": "logic_error", "description": "off by one", "location": null}"#;
        let good = format!(r#"{{"passed": false, "score": 0.4, "summary": "no", "issues": [{issue}]}}"#);
        assert_eq!(feedback(&good, &[]).unwrap().issues.len(), 1);
        for bad in [
            format!(r#"{{"passed": true, "score": 1, "summary": "fine", "issues": [{issue}]}}"#),
            r#"{"passed": false, "score": 0, "summary": "no", "issues": []}"#.to_owned(),
            r#"{"passed": true, "score": 2, "summary": "fine", "issues": []}"#.to_owned(),
            r#"{"passed": "yes", "score": 1, "summary": "fine", "issues": []}"#.to_owned(),
            r#"{"passed": true, "score": 1, "issues": []}"#.to_owned(),
            "LGTM".to_owned(),
        ] {
            assert!(feedback(&bad, &[]).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_pass_says_of_each_test_that_it_was_asked_about_whether_the_issue_wants_it() {
        let asked = ["tests::sum".to_owned(), "tests::mean".to_owned()];
        let form = feedback_schema(&asked);
        let names = asked_in(Some(&form));
        assert_eq!(names, asked);
        assert_eq!(asked_in(Some(&feedback_schema(&[]))), [""; 0]);
        let said = |passed: bool, of_tests: Value| {
            let issues = match passed {
                true => json!([]),
                false => json!([{"severity": "major", "category": "logic_error", "description": "no"}]),
            };
            let answer = json!({"passed": passed, "score": 1, "summary": "s", "issues": issues, "changed_tests": of_tests});
            feedback(&answer.to_string(), &names)
        };
        let of =
            |test: &str, wanted: bool| json!({"test": test, "wanted": wanted, "why": "The issue says so."});
        let both = said(true, json!([of("tests::sum", true), of("tests::mean", true)])).unwrap();
        assert_eq!(both.changed_tests.len(), 2);
        for (bad, fault) in [
            (json!([of("tests::sum", true)]), "tests::mean"),
            (json!([of("tests::sum", true), of("tests::mean", false)]), "does not want"),
            (json!([{"test": "tests::sum", "wanted": "yes", "why": "w"}]), "boolean"),
            (json!("both"), "array"),
        ] {
            let refused = said(true, bad).unwrap_err();
            assert!(refused.summary.contains(fault), "{}", refused.summary);
        }
        assert!(said(false, json!([])).is_ok(), "what sends the work back need not say more");
    }

    #[test]
    fn words_of_another_scale_are_read_and_named() {
        let answer = |passed: bool, severity: &str, category: &str| {
            let issue = json!({"severity": severity, "category": category, "description": "off by one"});
            feedback(
                &json!({"passed": passed, "score": 0.5, "summary": "s", "issues": [issue]}).to_string(),
                &[],
            )
        };
        let read = |passed, severity, category| {
            let finding = answer(passed, severity, category).unwrap().issues.remove(0);
            (finding.severity, finding.category, finding.description)
        };
        use crate::feedback::Category;
        assert_eq!(
            read(false, "High", "off-by-one"),
            (
                Severity::Major,
                Category::LogicError,
                "off by one (the reviewer's severity \"High\", category \"off-by-one\")".to_owned()
            )
        );
        assert_eq!(read(false, "huge", "security").0, Severity::Major);
        assert_eq!(
            read(true, "huge", "style").0,
            Severity::Minor,
            "a review that passes finds nothing that weighs"
        );
        assert_eq!(read(false, "minor", "test_failure").2, "off by one", "ours need no note");
        assert!(answer(true, "high", "style").is_err(), "and yet it may contradict itself");
    }

    #[test]
    fn guidance_has_to_say_something() {
        let said = |decision: &str, guidance: &str| {
            diagnosis(&json!({"decision": decision, "diagnosis": "d", "guidance": guidance}).to_string())
        };
        assert_eq!(said("guide", "do it").unwrap().decision, DiagnosisDecision::Guide);
        assert_eq!(said("flag", "").unwrap().decision, DiagnosisDecision::Flag);
        assert!(said("guide", " ").is_err());
        assert!(said("approve", "x").is_err());
    }
}
