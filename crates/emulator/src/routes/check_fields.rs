//! What may be said of a check run, held against GitHub's limits.

use serde_json::{Map, Value};

use crate::reply::EmulatedApiError;
use crate::state::checks::{
    CheckConclusion, CheckRunAction, CheckRunProgress, EmulatedAnnotation, EmulatedCheckRun,
};

/// The longest summary and text, in characters.
const LONGEST_TEXT: usize = 65_535;
/// Annotations of one request.
const MOST_ANNOTATIONS: usize = 50;
/// Buttons of a check run.
const MOST_ACTIONS: usize = 3;

/// What a request says of a check run; what is none is left as it is.
#[derive(Debug, Default)]
pub(crate) struct CheckRunFields {
    pub progress: Option<CheckRunProgress>,
    details_url: Option<String>,
    external_id: Option<String>,
    title: Option<String>,
    summary: Option<String>,
    text: Option<String>,
    annotations: Vec<EmulatedAnnotation>,
    actions: Option<Vec<CheckRunAction>>,
}

impl CheckRunFields {
    /// Annotations are added to those that are there; all else takes the place of what was there.
    pub(crate) fn fill(self, run: &mut EmulatedCheckRun) {
        fn set<T>(place: &mut Option<T>, value: Option<T>) {
            if value.is_some() {
                *place = value;
            }
        }
        set(&mut run.details_url, self.details_url);
        set(&mut run.output.title, self.title);
        set(&mut run.output.summary, self.summary);
        set(&mut run.output.text, self.text);
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

pub(crate) fn fields(body: &Value) -> Result<CheckRunFields, EmulatedApiError> {
    let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
    let mut fields = CheckRunFields {
        progress: progress(text("status").as_deref(), text("conclusion").as_deref())?,
        details_url: text("details_url"),
        external_id: text("external_id"),
        ..CheckRunFields::default()
    };
    if let Some(url) = &fields.details_url
        && !(url.starts_with("https://") || url.starts_with("http://"))
    {
        return Err(EmulatedApiError::invalid("CheckRun", "details_url", "invalid"));
    }
    if let Some(output) = body.get("output").and_then(Value::as_object) {
        output_fields(output, &mut fields)?;
    }
    if let Some(actions) = body.get("actions").and_then(Value::as_array) {
        if actions.len() > MOST_ACTIONS {
            return Err(invalid(format!(
                "No more than {MOST_ACTIONS} items are allowed; {} were supplied.",
                actions.len()
            )));
        }
        fields.actions = Some(actions.iter().map(button).collect::<Result<_, _>>()?);
    }
    Ok(fields)
}

fn progress(
    status: Option<&str>,
    conclusion: Option<&str>,
) -> Result<Option<CheckRunProgress>, EmulatedApiError> {
    if let Some(conclusion) = conclusion {
        let known = CheckConclusion::parse(conclusion);
        let known =
            known.ok_or_else(|| invalid(format!("{conclusion} is not a member of the conclusions.")))?;
        return Ok(Some(CheckRunProgress::Completed(known)));
    }
    match status {
        None => Ok(None),
        Some("queued") => Ok(Some(CheckRunProgress::Queued)),
        Some("in_progress") => Ok(Some(CheckRunProgress::Running)),
        Some("completed") => Err(EmulatedApiError::invalid("CheckRun", "conclusion", "missing_field")),
        Some(other) => Err(invalid(format!("{other} is not a member of the statuses."))),
    }
}

fn output_fields(output: &Map<String, Value>, fields: &mut CheckRunFields) -> Result<(), EmulatedApiError> {
    let text = |name: &str| output.get(name).and_then(Value::as_str).map(str::to_owned);
    (fields.title, fields.summary, fields.text) = (text("title"), text("summary"), text("text"));
    if fields.title.is_none() || fields.summary.is_none() {
        return Err(invalid("For 'properties/output', \"title\" and \"summary\" weren't supplied."));
    }
    for text in [&fields.summary, &fields.text].into_iter().flatten() {
        if text.chars().count() > LONGEST_TEXT {
            return Err(invalid(format!("Only {LONGEST_TEXT} characters are allowed.")));
        }
    }
    let annotations = output.get("annotations").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if annotations.len() > MOST_ANNOTATIONS {
        return Err(invalid(format!(
            "No more than {MOST_ANNOTATIONS} items are allowed; {} were supplied.",
            annotations.len()
        )));
    }
    fields.annotations = annotations.iter().map(annotation).collect::<Result<_, _>>()?;
    Ok(())
}

fn annotation(value: &Value) -> Result<EmulatedAnnotation, EmulatedApiError> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let line = |name: &str| value.get(name).and_then(Value::as_u64);
    let level =
        text("annotation_level").filter(|one| matches!(one.as_str(), "notice" | "warning" | "failure"));
    let made = || {
        let (start_line, end_line) = (line("start_line")?, line("end_line")?);
        Some(EmulatedAnnotation {
            path: text("path")?,
            start_line,
            end_line,
            level: level?,
            title: text("title").unwrap_or_default(),
            message: text("message").filter(|message| !message.is_empty())?,
        })
    };
    let made = made().filter(|one| one.start_line <= one.end_line && one.title.chars().count() <= 255);
    made.ok_or_else(|| {
        invalid("An annotation lacks path, start_line, end_line, annotation_level or message.")
    })
}

fn button(value: &Value) -> Result<CheckRunAction, EmulatedApiError> {
    let text = |name: &str, most: usize| {
        let text = value.get(name).and_then(Value::as_str).unwrap_or_default();
        if (1..=most).contains(&text.chars().count()) {
            Ok(text.to_owned())
        } else {
            Err(invalid(format!("For 'properties/actions', {name} has 1 to {most} characters.")))
        }
    };
    Ok(CheckRunAction {
        label: text("label", 20)?,
        description: text("description", 40)?,
        identifier: text("identifier", 20)?,
    })
}
