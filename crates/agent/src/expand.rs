//! Fills arguments into a command template. A test reads the rules from the table in `docs/COMMANDS.md`.

use std::collections::BTreeSet;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpandedTemplate {
    pub text: String,
    /// Positions without an argument, each once.
    pub warnings: Vec<String>,
}

/// Fills `arguments` into `template` in one pass: placeholders inside an argument are not expanded.
///
/// `$ARGUMENTS` is all arguments, joined by `, `; `$1` to `$9` and `${1}` upwards are positions; `\$` is a dollar.
/// Everything else stays as written, including positions without an argument and, if there are no arguments, every
/// placeholder.
pub fn expand(template: &str, arguments: &[String]) -> ExpandedTemplate {
    let mut text = String::with_capacity(template.len());
    let mut missing = BTreeSet::new();
    let mut rest = template;
    while let Some(at) = rest.find(['$', '\\']) {
        let (before, found) = rest.split_at(at);
        text.push_str(before);
        if let Some(after) = found.strip_prefix("\\$") {
            text.push('$');
            rest = after;
            continue;
        }
        let (placeholder, length) = placeholder(found);
        let written = found.get(..length).unwrap_or(found);
        match placeholder {
            Placeholder::None => text.push_str(written),
            Placeholder::All | Placeholder::Position(_) if arguments.is_empty() => text.push_str(written),
            Placeholder::All => text.push_str(&arguments.join(", ")),
            Placeholder::Position(position) => {
                match position.checked_sub(1).and_then(|index| arguments.get(index)) {
                    Some(argument) => text.push_str(argument),
                    None => {
                        text.push_str(written);
                        missing.insert((position, written.chars().take(24).collect::<String>()));
                    }
                }
            }
        }
        rest = found.get(length..).unwrap_or_default();
    }
    text.push_str(rest);
    let given = arguments.len();
    let warnings = missing
        .into_iter()
        .map(|(_, written)| format!("the template asks for {written}, but {given} arguments were given"))
        .collect();
    ExpandedTemplate { text, warnings }
}

enum Placeholder {
    None,
    All,
    Position(usize),
}

/// The placeholder at the beginning of `text`, which begins with `$` or `\`, and its length in bytes.
fn placeholder(text: &str) -> (Placeholder, usize) {
    if text.starts_with("$ARGUMENTS") {
        return (Placeholder::All, "$ARGUMENTS".len());
    }
    let digit = text.strip_prefix('$').and_then(|rest| rest.chars().next()).and_then(|c| c.to_digit(10));
    if let Some(digit @ 1..=9) = digit {
        return (Placeholder::Position(digit as usize), 2);
    }
    if let Some(braced) = text.strip_prefix("${") {
        let digits = braced.bytes().take_while(u8::is_ascii_digit).count();
        let (name, after) = braced.split_at_checked(digits).unwrap_or_default();
        if digits > 0 && !name.starts_with('0') && after.starts_with('}') {
            // More digits than fit a number is a position without an argument.
            return (Placeholder::Position(name.parse().unwrap_or(usize::MAX)), digits + 3);
        }
    }
    (Placeholder::None, 1)
}
