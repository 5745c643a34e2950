//! What a verifier or an escalation's agent answers, held against its form.

use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::answer;
use super::feedback::{Feedback, Severity};
use super::moves::Diagnosis;

const MOST_FINDINGS: usize = 50;
const LONGEST_TEXT: usize = 4_000;

/// The form of a verifier's answer.
pub(super) fn feedback_schema() -> Value {
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

/// The form of an escalation's answer.
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

/// Both forms are read once: an order's answers are judged again at each of its steps.
static FEEDBACK: LazyLock<Option<Validator>> =
    LazyLock::new(|| jsonschema::validator_for(&feedback_schema()).ok());
static DIAGNOSIS: LazyLock<Option<Validator>> =
    LazyLock::new(|| jsonschema::validator_for(&diagnosis_schema()).ok());

/// The object of an answer, when it has this form.
fn of_form(text: &str, form: &Option<Validator>) -> Result<Value, Feedback> {
    let value = answer::object(text)?;
    let faults = match form {
        Some(form) => answer::faults_of_form(&value, form),
        None => vec!["the form cannot be read".to_owned()],
    };
    if faults.is_empty() { Ok(value) } else { Err(answer::not_of_the_form(faults)) }
}

/// A verifier's answer. One that contradicts itself is no answer.
pub(super) fn feedback(text: &str) -> Result<Feedback, Feedback> {
    let value = of_form(text, &FEEDBACK)?;
    let mut feedback: Feedback =
        serde_json::from_value(value).map_err(|error| answer::not_of_the_form(vec![error.to_string()]))?;
    let weighs = feedback.issues.iter().any(|finding| finding.severity <= Severity::Major);
    if feedback.passed && weighs {
        let fault = "/passed: is true, and yet a critical or major issue is listed";
        return Err(answer::not_of_the_form(vec![fault.to_owned()]));
    }
    if !feedback.passed && feedback.issues.is_empty() {
        let fault = "/issues: is empty, and yet passed is false; nobody could mend that";
        return Err(answer::not_of_the_form(vec![fault.to_owned()]));
    }
    feedback.issues.sort_by_key(|finding| finding.severity);
    Ok(feedback)
}

/// An escalation's answer. Guidance that says nothing is none.
pub(super) fn diagnosis(text: &str) -> Result<Diagnosis, Feedback> {
    use super::moves::DiagnosisDecision;
    let value = of_form(text, &DIAGNOSIS)?;
    let mut object = value;
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|name, _| matches!(name.as_str(), "decision" | "diagnosis" | "guidance"));
    }
    let diagnosis: Diagnosis =
        serde_json::from_value(object).map_err(|error| answer::not_of_the_form(vec![error.to_string()]))?;
    match diagnosis.decision {
        DiagnosisDecision::Guide if diagnosis.guidance.trim().is_empty() => {
            Err(answer::not_of_the_form(vec![
                "/guidance: has to say what to do when the decision is guide".to_owned(),
            ]))
        }
        DiagnosisDecision::Guide | DiagnosisDecision::Flag => Ok(diagnosis),
    }
}

#[cfg(test)]
mod tests {
    use super::super::moves::DiagnosisDecision;
    use super::*;

    #[test]
    fn a_verifier_that_contradicts_itself_has_said_nothing() {
        let issue = r#"{"severity": "major", "category": "logic_error", "description": "off by one", "location": null}"#;
        let good = format!(r#"{{"passed": false, "score": 0.4, "summary": "no", "issues": [{issue}]}}"#);
        assert_eq!(feedback(&good).unwrap().issues.len(), 1);
        for bad in [
            format!(r#"{{"passed": true, "score": 1, "summary": "fine", "issues": [{issue}]}}"#),
            r#"{"passed": false, "score": 0, "summary": "no", "issues": []}"#.to_owned(),
            r#"{"passed": true, "score": 2, "summary": "fine", "issues": []}"#.to_owned(),
            r#"{"passed": "yes", "score": 1, "summary": "fine", "issues": []}"#.to_owned(),
            r#"{"passed": true, "score": 1, "issues": []}"#.to_owned(),
            "LGTM".to_owned(),
            good.replace("major", "huge"),
            good.replace("logic_error", "taste"),
        ] {
            assert!(feedback(&bad).is_err(), "{bad}");
        }
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
