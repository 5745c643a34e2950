//! The statements of an examiner on two codes: how their programs are run in one checkout, and what they printed there.
//!
//! May know: programs and what they print. Must never know: which of the codes is whose.
//!
//! What a program should print is never where it runs: whoever wrote the code could read it there.

mod inputs;
mod judge;
mod loading;
#[cfg(test)]
mod tests;

pub use inputs::unnamed_inputs;
pub use judge::{ProgramRuns, judge_statement, together};

use journeyman_order::bounds::{LONGEST_TAIL, LONGEST_TEXT};
use journeyman_order::examination::StatementProgram;

use super::{Overlay, OverlayAction};

/// Seconds that one program may take, building it included.
const SECONDS: u32 = 120;

pub struct ProgramBatch<'a> {
    programs: Vec<(&'a StatementProgram, u32)>,
    /// A folder for each, directly below the repository's root.
    folders: Vec<String>,
    /// Stands before what one of them printed. Nobody can know it beforehand.
    mark: String,
}

/// What one run of a program came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramOutput {
    /// None where it was not run to its end.
    pub exit: Option<i32>,
    pub printed: String,
    pub complaints: String,
}

impl<'a> ProgramBatch<'a> {
    /// These programs, each as often as is said beside it. `random` gives other text with each call.
    pub fn new(programs: Vec<(&'a StatementProgram, u32)>, random: impl Fn() -> String) -> Self {
        // A name that says nothing, and that every language takes for a package.
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

    /// The shell command that runs all of them, one after the other, from the repository's root.
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
