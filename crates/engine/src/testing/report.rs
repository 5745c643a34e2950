//! Reports that a test command writes: a file, a folder of files, or files that match a pattern.
//!
//! May know: places of runs, paths of reports. Must never know: what is in a report.

use super::CommitTester;
use crate::command::short;
use crate::job::readable;
use crate::place::EnvironmentPlace;
use journeyman_order::EffectError;
use journeyman_order::bounds::LARGEST_FILE;
use journeyman_verify::Helper;

/// Walks a place where reports may be. No test run writes one into the folders that it leaves out, and what is in the
/// last of them is data of tests.
const WALK: &str = r#"[ ! -e "$1" ] || find "$1" \
    '(' -name node_modules -o -name .git -o -name .venv -o -path '*/src/test' ')' -prune -o"#;
const CLEAR: &str = r#"! -type d -path "$2" -exec rm -f -- {} +"#;
/// Prints every file that matches a pattern, after a mark. Tests of one name are told apart by their order.
const READ: &str = r#"-type f '(' -path "$2" -o -path "$3" ')' -print | LC_ALL=C sort |
    while IFS= read -r file; do printf "\n%s\n" "$4"; cat -- "$file"; done | head -c "$5""#;

/// Writes pairs of a path and a text.
const WRITE: &str = r#"while [ $# -gt 1 ]; do
  rm -rf -- "$1" && mkdir -p -- "${1%/*}" && printf %s "$2" > "$1" || exit 1
  shift 2
done"#;

struct ReportPattern {
    start: String,
    patterns: [String; 2],
    is_plain: bool,
}

impl ReportPattern {
    fn of(report: &str) -> Self {
        let path = match report.starts_with('/') {
            true => report.to_owned(),
            false => format!("./{}", report.trim_start_matches("./")),
        };
        let Some(wild) = path.find(['*', '?', '[']) else {
            let path = path.trim_end_matches('/').to_owned();
            let patterns = [path.clone(), format!("{path}/*.xml")];
            return Self { start: path, patterns, is_plain: true };
        };
        let start = path.get(..wild).and_then(|start| start.rsplit_once('/')).map_or(".", |(start, _)| start);
        // In find, a star also matches slashes.
        let pattern = path.replace("**/", "*");
        Self { start: start.to_owned(), patterns: [pattern.clone(), pattern], is_plain: false }
    }
}

impl CommitTester {
    /// Deletes reports before the run: a committed one would be believed although no test wrote it.
    pub(super) async fn clear_report(
        &self,
        place: &EnvironmentPlace,
        report: &str,
    ) -> Result<(), EffectError> {
        let ReportPattern { start, patterns: [pattern, _], is_plain } = ReportPattern::of(report);
        let whole = ["rm", "-rf", "--", &start];
        let clear = format!("{WALK} {CLEAR}");
        let each = ["sh", "-c", &clear, "sh", &start, &pattern];
        let program = if is_plain { &whole[..] } else { &each[..] };
        short(&self.sandbox, place, program, place.tree_mount(), Vec::new()).await.map(drop)
    }

    /// Reads reports inside the sandbox: the tests wrote them, and they may be links.
    pub(super) async fn read_report(&self, place: &EnvironmentPlace, report: &str) -> Vec<Vec<u8>> {
        let ReportPattern { start, patterns: [one, other], .. } = ReportPattern::of(report);
        // Unpredictable, because the report's writer could print it.
        let mark = uuid::Uuid::new_v4().simple().to_string();
        let most = LARGEST_FILE.to_string();
        let read = format!("{WALK} {READ}");
        let program = ["sh", "-c", &read, "sh", &start, &one, &other, &mark, &most];
        let read = short(&self.sandbox, place, &program, readable(&place.tree.at), Vec::new()).await;
        journeyman_verify::files_after(&read.unwrap_or_default(), &mark)
    }

    /// Writes files that runners load, inside the sandbox: a setup may have put links in their place.
    pub(super) async fn write_helpers(
        &self,
        place: &EnvironmentPlace,
        helpers: impl Iterator<Item = &Helper>,
    ) -> Result<(), EffectError> {
        let words: Vec<&str> = helpers.flat_map(|helper| [helper.path.as_str(), helper.text]).collect();
        if words.is_empty() {
            return Ok(());
        }
        let program = [&["sh", "-c", WRITE, "sh"], words.as_slice()].concat();
        short(&self.sandbox, place, &program, place.tree_mount(), Vec::new()).await.map(drop)
    }
}
