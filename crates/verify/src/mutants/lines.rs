//! The lines that a change adds or edits, and the differences that tell them.

use std::ops::RangeInclusive;

use git2::{DiffOptions, Patch};

use journeyman_order::bounds::LARGEST_SOURCE;

const WHOLE_FILE: RangeInclusive<u32> = 1..=u32::MAX;

/// The lines of a file that are new in the change, counted from 1, in order. An edited line counts; removed lines do
/// not. In a new file, every line counts.
pub fn changed_lines(before: Option<&[u8]>, after: &[u8]) -> Vec<RangeInclusive<u32>> {
    if after.is_empty() {
        return Vec::new();
    }
    let Some(before) = before else { return vec![WHOLE_FILE] };
    if before == after {
        return Vec::new();
    }
    if before.len().max(after.len()) > LARGEST_SOURCE {
        return between(before, after).into_iter().collect();
    }
    let Some(patch) = patch(before, after) else { return Vec::new() };
    let mut lines: Vec<RangeInclusive<u32>> = Vec::new();
    for hunk in 0..patch.num_hunks() {
        for line in 0..patch.num_lines_in_hunk(hunk).unwrap_or(0) {
            let Ok(line) = patch.line_in_hunk(hunk, line) else { continue };
            let Some(number) = line.new_lineno().filter(|_| line.origin() == '+') else { continue };
            match lines.last_mut() {
                Some(last) if last.end().checked_add(1) == Some(number) => *last = *last.start()..=number,
                Some(_) | None => lines.push(number..=number),
            }
        }
    }
    lines
}

/// The differences of two texts, each a hunk without the lines around it.
pub(super) fn patch<'t>(before: &'t [u8], after: &'t [u8]) -> Option<Patch<'t>> {
    let mut options = DiffOptions::new();
    // Compilers do not treat code with a stray NUL as binary either.
    options.context_lines(0).force_text(true);
    Patch::from_buffers(before, None, after, None, Some(&mut options)).ok()
}

/// The lines between the common beginning and the common end.
fn between(before: &[u8], after: &[u8]) -> Option<RangeInclusive<u32>> {
    let lines = |text| -> Vec<&[u8]> { <[u8]>::split_inclusive(text, |byte| *byte == b'\n').collect() };
    let (old, new) = (lines(before), lines(after));
    let first = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let left = old.len().min(new.len()) - first;
    let last = old.iter().rev().zip(new.iter().rev()).take(left).take_while(|(old, new)| old == new).count();
    let lines = u32::try_from(first + 1).ok()?..=u32::try_from(new.len() - last).ok()?;
    (!lines.is_empty()).then_some(lines)
}
