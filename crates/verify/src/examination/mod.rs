//! An examiner's statements on two codes: runs their programs in one checkout, and parses what they print.
//!
//! May know: programs and their output. Must never know: which code is the base and which is the change.
//!
//! The expected output is never where the program runs: the author's code could read it there.

mod inputs;
mod judge;
#[cfg(test)]
mod tests;

pub use inputs::unnamed_inputs;
pub use judge::{ProgramRuns, judge_statement, together};

use journeyman_order::bounds::{LONGEST_TAIL, LONGEST_TEXT};
use journeyman_order::examination::StatementProgram;

use super::{Overlay, OverlayAction};

/// Timeout of one program in seconds, including its build.
const SECONDS: u32 = 120;

pub struct ProgramBatch<'a> {
    programs: Vec<(&'a StatementProgram, u32)>,
    /// A folder for each program, directly below the repository's root.
    folders: Vec<String>,
    /// Marks the start of a program's output. It is unpredictable.
    mark: String,
}

/// The result of one program run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramOutput {
    /// `None` if the program did not finish.
    pub exit: Option<i32>,
    pub printed: String,
    pub complaints: String,
}

impl<'a> ProgramBatch<'a> {
    /// These programs, each with its number of runs. `random` returns a new text with each call.
    pub fn new(programs: Vec<(&'a StatementProgram, u32)>, random: impl Fn() -> String) -> Self {
        // A meaningless name that every language accepts for a package.
        let folders = programs.iter().map(|_| format!("u{}", random().get(..10).unwrap_or_default()));
        let folders = folders.collect();
        Self { programs, folders, mark: random() }
    }

    pub fn is_empty(&self) -> bool {
        self.programs.is_empty()
    }

    pub fn overlays(&self) -> Vec<Overlay> {
        let each = self.programs.iter().zip(&self.folders);
        let file = |folder: &str, name: &str, text: &str| Overlay {
            path: format!("{folder}/{name}"),
            action: OverlayAction::Write(text.as_bytes().to_vec()),
        };
        each.flat_map(|((program, _), folder)| {
            let command = format!("{}\n", program.command());
            [
                file(folder, &program.file, &program.source),
                file(folder, "run.sh", &command),
                file(folder, "stdin", &program.stdin),
            ]
        })
        .collect()
    }

    /// The shell command that runs all of them in sequence, from the repository's root.
    pub fn command(&self) -> String {
        let mark = &self.mark;
        let each = self.programs.iter().zip(&self.folders).enumerate();
        let lines: String =
            each.map(|(number, ((_, times), folder))| format!("each {number} {times} {folder}\n")).collect();
        format!(
            r#"CODE="$PWD"; export CODE
command -v timeout >/dev/null || timeout() {{ shift 3; "$@"; }}
each() {{
  PLACE="$3"; export PLACE
  i=0
  while [ "$i" -lt "$2" ]; do
    i=$((i+1))
    (cd "$CODE/$3" && exec timeout -k 1 {SECONDS} sh ./run.sh <stdin >"$HOME/printed" 2>"$HOME/complaints")
    ended=$?
    printf '\n%s %s %s\n' {mark} "$1" "$ended"
    head -c {LONGEST_TAIL} "$HOME/printed"
    printf '\n%s complaints\n' {mark}
    tail -c {LONGEST_TEXT} "$HOME/complaints"
    printf '\n%s end\n' {mark}
  done
}}
{lines}"#
        )
    }

    pub fn outputs(&self, said: &str) -> Vec<Vec<ProgramOutput>> {
        let mut all: Vec<Vec<ProgramOutput>> = vec![Vec::new(); self.programs.len()];
        let marked = format!("\n{} ", self.mark);
        let mut parts = said.split(&marked).skip(1);
        while let (Some(first), Some(second), Some(_)) = (parts.next(), parts.next(), parts.next()) {
            let Some((head, printed)) = first.split_once('\n') else { break };
            let mut words = head.split(' ');
            let number = words.next().and_then(|word| word.parse::<usize>().ok());
            let exit = words.next().and_then(|word| word.parse().ok());
            let complaints = second.strip_prefix("complaints\n").unwrap_or_default().to_owned();
            if let Some(of_it) = number.and_then(|number| all.get_mut(number)) {
                of_it.push(ProgramOutput { exit, printed: printed.to_owned(), complaints });
            }
        }
        all
    }
}
