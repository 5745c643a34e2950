//! Mutants in every language: the change without one of its parts. No grammar is needed, since both texts of a part
//! were written by its author.
//!
//! That tests notice a part says that they run it, and need what it does or, where later parts rest on it, that it is
//! there. In a language of which nobody knows how it says that code did not load, a part without which the file does not
//! even load counts as noticed as well: a test run did notice it.

use std::ops::Range;

use git2::DiffHunk;

use super::lines::patch;
use super::{MOST_CANDIDATES, Mutant, MutantRank, only_declares, spread};
use crate::experiment::without_comments;
use crate::tamper::code_tokens;
use journeyman_languages::roles::{grammar_of, unparsed_language};
use journeyman_order::bounds::LARGEST_SOURCE;

/// Where a name comes from is nothing that tests check.
const IMPORTS: &[&str] = &[
    "use_declaration", "extern_crate_declaration", "import_statement", "import_from_statement",
    "future_import_statement", "import_declaration",
];

/// A file of code without one part of its change, for at most `most` parts, evenly over the file. A part that changes
/// only layout, comments, imports or the tests in the file is none. Neither is a new file: without it nothing is built.
pub fn parts_taken_back(path: &str, before: Option<&[u8]>, after: &[u8], most: usize) -> Vec<Mutant> {
    let is_code = (grammar_of(path).is_some() || unparsed_language(path).is_some()) && !only_declares(path);
    let is_read = |before: &&[u8]| is_code && before.len().max(after.len()) <= LARGEST_SOURCE;
    let Some(before) = before.filter(is_read) else { return Vec::new() };
    let Some(patch) = patch(before, after) else { return Vec::new() };
    let (old, new) = (line_starts(before), line_starts(after));
    let one_of = patch.num_hunks() / MOST_CANDIDATES + 1;
    let hunks = (0..patch.num_hunks()).step_by(one_of).filter_map(|at| patch.hunk(at).ok());
    let parts = hunks.filter_map(|(hunk, _)| {
        let text = before.get(lines_at(&old, hunk.old_start(), hunk.old_lines())?)?;
        let text = String::from_utf8(text.to_vec()).ok()?;
        let at = lines_at(&new, hunk.new_start(), hunk.new_lines())?;
        let (path, line) = (path.to_owned(), hunk.new_start().max(1));
        Some(Mutant { path, line, what: what(&hunk), at, text, is_part: true, rank: MutantRank::First })
    });
    let mut parts = spread(parts.collect(), most);
    let code = code_of(path, after);
    parts.retain(|part| code_of(path, &part.apply(after)) != code);
    parts
}

/// Where each line begins, and after the last one the end.
fn line_starts(text: &[u8]) -> Vec<usize> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let ends = lines.scan(0, |end, line| {
        *end += line.len();
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

/// The bytes of a hunk's lines. A hunk without lines begins after the line that it names.
fn lines_at(starts: &[usize], first: u32, count: u32) -> Option<Range<usize>> {
    let above = usize::try_from(first.checked_sub(count.min(1))?).ok()?;
    let below = above + usize::try_from(count).ok()?;
    Some(*starts.get(above)?..*starts.get(below)?)
}

fn what(hunk: &DiffHunk<'_>) -> String {
    let first = hunk.new_start();
    match hunk.new_lines() {
        0 => "what was removed here is back".to_owned(),
        1 => format!("line {first} as before the change"),
        count => format!("lines {first} to {} as before the change", first + (count - 1)),
    }
}

/// What is equal of two texts that differ only in layout, comments and imports.
fn code_of(path: &str, text: &[u8]) -> Vec<String> {
    code_tokens(path, text, IMPORTS).unwrap_or_else(|| {
        let imports = pattern!(
            r#"(?m)^(?:[ \t]*(?:import\b|#[ \t]*(?:include|import)\b|(?:alias|require) [A-Z]|(?:require|include)(?:_once|_relative)?[ (]+['"_$]|using (?:static )?[\w.]+;)|use [A-Z\\][^\n]*;)[^\n]*"#
        );
        let docs = pattern!(r#"(?m)^[ \t]*@(?:module|type)?doc\s+(?:~[sS])?"(?s:"".*?"""|[^\n]*)"#);
        let text = String::from_utf8_lossy(text);
        vec![without_comments(path, &docs.replace_all(&imports.replace_all(&text, ""), ""))]
    })
}
