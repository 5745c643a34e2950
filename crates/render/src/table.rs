//! Our tables with foreign cells.

/// A table of the first `most` things, each a row of harmless Markdown, and how many more there are; `None` without any.
pub(super) fn table<T, const N: usize>(
    heading: [&str; N],
    (all, most): (&[T], usize),
    row: impl Fn(&T) -> [String; N],
) -> Option<String> {
    let mut lines = vec![format!("| {} |", heading.join(" | ")), format!("|{}", "---|".repeat(N))];
    lines.extend(
        all.iter().take(most).map(|one| format!("| {} |", row(one).map(|text| cell(&text)).join(" | "))),
    );
    let more = all.len().saturating_sub(most);
    if more > 0 {
        lines.push(format!("\nAnd {more} more."));
    }
    (!all.is_empty()).then(|| lines.join("\n"))
}

/// Harmless Markdown on one line as a table cell: a `|` ends the cell even within code, unless an odd number of
/// backslashes precedes it.
fn cell(text: &str) -> String {
    let mut cell = String::with_capacity(text.len() + 8);
    let mut backslashes = 0_usize;
    for character in text.chars() {
        if character == '|' && backslashes.is_multiple_of(2) {
            cell.push('\\');
        }
        backslashes = if character == '\\' { backslashes + 1 } else { 0 };
        cell.push(character);
    }
    // A backslash at the end would escape the border.
    if !backslashes.is_multiple_of(2) {
        cell.push(' ');
    }
    cell
}

/// How many cells GitHub would see: a `|` after an even number of backslashes ends one.
#[cfg(test)]
pub(super) fn columns(row: &str) -> usize {
    let mut backslashes = 0;
    let borders = row.chars().filter(|character| {
        let ends = *character == '|' && backslashes % 2 == 0;
        backslashes = if *character == '\\' { backslashes + 1 } else { 0 };
        ends
    });
    borders.count() - 1
}
