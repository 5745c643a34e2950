//! `{{stage.field}}` in a pipeline, filled in: one pass, and what was filled in is never read again.

use std::collections::BTreeMap;

/// What can be named, such as `plan.content`.
pub(crate) type Variables = BTreeMap<String, String>;

/// The text with its variables filled in, or what is said of a name that stands for nothing.
pub(crate) fn substitute(text: &str, variables: &Variables) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        let Some(end) = rest[start..].find("}}").map(|length| start + length) else { break };
        filled.push_str(&rest[..start]);
        let name = rest[start + 2..end].trim();
        match variables.get(name).or_else(|| variables.get(&all_of(name))) {
            Some(value) => filled.push_str(value),
            None => {
                let known: Vec<&str> = variables.keys().map(String::as_str).collect();
                return Err(format!(
                    "{{{{{name}}}}} stands for nothing here; known are {}",
                    known.join(", ")
                ));
            }
        }
        rest = &rest[end + 2..];
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The name that stands for every field of a stage that was passed over.
pub(crate) fn all_of(name: &str) -> String {
    format!("{}.*", name.split('.').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_filled_in_is_not_read_again() {
        let variables = Variables::from([
            ("issue.title".to_owned(), "{{plan.content}} }} {{".to_owned()),
            ("plan.content".to_owned(), "secret".to_owned()),
        ]);
        for (text, filled) in [
            ("{{issue.title}}", "{{plan.content}} }} {{"),
            ("a {{ plan.content }} b {{plan.content}}", "a secret b secret"),
            ("no end {{plan.content", "no end {{plan.content"),
            ("", ""),
        ] {
            assert_eq!(substitute(text, &variables).as_deref(), Ok(filled), "{text:?}");
        }
        let unknown = substitute("{{plan.file}}", &variables).unwrap_err();
        assert_eq!(unknown, "{{plan.file}} stands for nothing here; known are issue.title, plan.content");
    }
}
