//! What a request says of a check run.

use serde_json::Value;

use crate::reply::EmulatedApiError;
use crate::state::checks::{
    CheckConclusion, CheckRunAction, CheckRunProgress, EmulatedAnnotation, EmulatedCheckRun,
};

/// Annotations of one request.
const MOST_ANNOTATIONS: usize = 50;

/// What a request says of a check run; what is none is left as it is.
#[derive(Debug, Default)]
pub(crate) struct CheckRunFields {
    pub progress: Option<CheckRunProgress>,
    details_url: Option<String>,
    external_id: Option<String>,
    title: Option<String>,
    summary: Option<String>,
    annotations: Vec<EmulatedAnnotation>,
    actions: Option<Vec<CheckRunAction>>,
}

impl CheckRunFields {
    /// Annotations are added to those that are there; all else takes the place of what was there.
    pub(crate) fn fill(self, run: &mut EmulatedCheckRun) {
        run.details_url = self.details_url.or(run.details_url.take());
        run.output.title = self.title.or(run.output.title.take());
        run.output.summary = self.summary.or(run.output.summary.take());
        run.output.annotations.extend(self.annotations);
        if let Some(id) = self.external_id {
            run.external_id = id;
        }
        if let Some(actions) = self.actions {
            run.actions = actions;
        }
    }
}

fn invalid(what: impl Into<String>) -> EmulatedApiError {
    let what = what.into();
    EmulatedApiError::new(422, format!("Invalid request.\n\n{what}"))
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}

pub(crate) fn fields(body: &Value) -> Result<CheckRunFields, EmulatedApiError> {
    let output = &body["output"];
    let annotations = output["annotations"].as_array().map_or(&[][..], Vec::as_slice);
    if annotations.len() > MOST_ANNOTATIONS {
        return Err(invalid(format!("No more than {MOST_ANNOTATIONS} items are allowed.")));
    }
    let annotations = annotations.iter().map(annotation).collect::<Option<_>>();
    let button = |value: &Value| CheckRunAction {
        label: text(value, "label").unwrap_or_default(),
        description: text(value, "description").unwrap_or_default(),
        identifier: text(value, "identifier").unwrap_or_default(),
    };
    Ok(CheckRunFields {
        progress: progress(body)?,
        details_url: text(body, "details_url"),
        external_id: text(body, "external_id"),
        title: text(output, "title"),
        summary: text(output, "summary"),
        annotations: annotations.ok_or_else(|| invalid("An annotation lacks a field."))?,
        actions: body["actions"].as_array().map(|all| all.iter().map(button).collect()),
    })
}

fn progress(body: &Value) -> Result<Option<CheckRunProgress>, EmulatedApiError> {
    if let Some(conclusion) = text(body, "conclusion") {
        let known = CheckConclusion::parse(&conclusion);
        let known = known.ok_or_else(|| invalid(format!("{conclusion} is no conclusion.")))?;
        return Ok(Some(CheckRunProgress::Completed(known)));
    }
    match text(body, "status").as_deref() {
        None => Ok(None),
        Some("queued") => Ok(Some(CheckRunProgress::Queued)),
        Some("in_progress") => Ok(Some(CheckRunProgress::Running)),
        Some(other) => Err(invalid(format!("{other} is no status without a conclusion."))),
    }
}

fn annotation(value: &Value) -> Option<EmulatedAnnotation> {
    Some(EmulatedAnnotation {
        path: text(value, "path")?,
        start_line: value["start_line"].as_u64()?,
        level: text(value, "annotation_level")?,
        message: text(value, "message")?,
    })
}
