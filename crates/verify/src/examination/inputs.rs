//! Inputs that an issue names but neither a test nor a program contains, compared as text.

use journeyman_order::bounds::{LONGEST_NAME, MOST_IN_A_SENTENCE};

/// The inputs in the issue's code spans that occur in none of these texts.
pub fn unnamed_inputs(issue: &str, texts: &[&str]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut is_in_block = false;
    for line in issue.lines() {
        if line.trim_start().starts_with("```") {
            is_in_block = !is_in_block;
        } else if !is_in_block {
            for input in line.split('`').skip(1).step_by(2).flat_map(inputs_of) {
                if !found.contains(&input) && !texts.iter().any(|text| text.contains(&input)) {
                    found.push(input);
                }
            }
        }
    }
    found.truncate(MOST_IN_A_SENTENCE);
    found
}

/// The quoted texts in a span, or the span itself if it looks like a value.
fn inputs_of(span: &str) -> Vec<String> {
    let fits = |text: &str| (2..=LONGEST_NAME).contains(&text.chars().count());
    let quoted: Vec<&str> = span.split(['"', '\'']).skip(1).step_by(2).filter(|text| fits(text)).collect();
    if !quoted.is_empty() {
        return quoted.into_iter().map(str::to_owned).collect();
    }
    let is_value = span.chars().any(|c| c.is_ascii_digit())
        && !span.contains(['(', ')', '{', '}', '=', ' ', '"', '\''])
        && fits(span);
    if is_value { vec![span.to_owned()] } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::unnamed_inputs;

    #[test]
    fn inputs_of_the_issue_that_nothing_has_are_named() {
        let issue = "`parse(\"1h30m\")` is wrong, and so are `30m1h`, `1h1h` and `parse('2d')`.\n\n```\nparse(\"5x\")\n```\n\
                     Call `parse_all` or `parse(3)`; see `v`.";
        let tests = ["assert parse(\"1h30m\") == 5400", "print(parse('2d'))"];
        assert_eq!(unnamed_inputs(issue, &tests), ["30m1h", "1h1h"]);
        assert!(unnamed_inputs("no code, `and an open span", &[]).is_empty());
    }
}
