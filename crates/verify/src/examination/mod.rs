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

use std::time::Duration;

use journeyman_order::UserPlace;
use journeyman_order::bounds::{LONGEST_TAIL, LONGEST_TEXT};
use journeyman_order::examination::{AS_IT_RUNS, StatementProgram};
use journeyman_order::user_place::word;

use super::{Overlay, OverlayAction};
use crate::surroundings::{USUAL, shell_functions, surroundings};

/// Timeout of one program in seconds, including its build.
const SECONDS: u32 = 120;

pub struct ProgramBatch<'a> {
    programs: Vec<(&'a StatementProgram, u32)>,
    place: UserPlace,
    /// A folder for each program, directly below the repository's root.
    folders: Vec<String>,
    /// In each folder the file of the shell command and that of the input; in the home those of output and errors. No name
    /// tells what it is for.
    names: [String; 4],
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
    /// Whether it printed to a terminal.
    pub on_terminal: bool,
    /// Whether its clock showed a later date.
    pub is_later: bool,
    /// Whether it was told that it runs in production.
    pub is_in_production: bool,
}

impl ProgramOutput {
    /// What was around it if that was not as usual.
    pub fn surroundings(&self) -> Option<&'static str> {
        match (self.on_terminal, self.is_later) {
            (false, false) => self.is_in_production.then_some("in production mode"),
            (true, false) => Some("on a terminal"),
            (false, true) => Some("at a later date"),
            (true, true) => Some("on a terminal, at a later date"),
        }
    }
}

impl<'a> ProgramBatch<'a> {
    /// These programs, each with its number of runs. `random` returns a new number with each call.
    pub fn new(
        programs: Vec<(&'a StatementProgram, u32)>,
        place: &UserPlace,
        mut random: impl FnMut() -> u32,
    ) -> Self {
        let folders = programs.iter().map(|_| word(&mut random, 5)).collect();
        let names = [(); 4].map(|()| word(&mut random, 4));
        let mark = word(&mut random, 20);
        Self { programs, place: place.clone(), folders, names, mark }
    }

    pub fn is_empty(&self) -> bool {
        self.programs.is_empty()
    }

    /// The time that all of them together may take.
    pub fn time(&self) -> Duration {
        let programs = u32::try_from(self.programs.len()).unwrap_or(u32::MAX);
        Duration::from_secs(SECONDS.into()).saturating_mul(programs)
    }

    pub fn overlays(&self) -> Vec<Overlay> {
        let each = self.programs.iter().zip(&self.folders);
        let file = |folder: &str, name: &str, text: &str| Overlay {
            path: format!("{folder}/{name}"),
            action: OverlayAction::Write(text.as_bytes().to_vec()),
        };
        let [script, input, ..] = &self.names;
        each.flat_map(|((program, _), folder)| {
            let command = format!("{}\n", program.script());
            [
                file(folder, &program.file, &program.source),
                file(folder, script, &command),
                file(folder, input, &program.stdin),
            ]
        })
        .collect()
    }

    /// The shell command that runs all of them in sequence, from the repository's root. Every second run of a program is
    /// in other surroundings. What comes before a program in its command, as a compiler, has today's date: rustc hangs at
    /// another one.
    pub fn command(&self) -> String {
        let Self { mark, names: [script, input, printed, complaints], .. } = self;
        let functions = shell_functions(&self.place);
        let each = self.programs.iter().zip(&self.folders).enumerate();
        let line = |(number, ((program, times), folder)): (usize, (&(&StatementProgram, u32), &String))| {
            let later = if program.script().contains(AS_IT_RUNS) { "later" } else { "" };
            format!("each {number} {times} {folder} {later}\n")
        };
        let lines: String = each.map(line).collect();
        format!(
            r#"CODE="$PWD"; export CODE
{functions}
line='timeout -k 1 {SECONDS} sh ./{script} "$@" <{input} 2>"$HOME/{complaints}"'
each() {{
  PLACE="$3"; export PLACE
  i=0
  while [ "$i" -lt "$2" ]; do
    i=$((i+1))
    if [ $((i % 2)) -eq 1 ]; then
      (cd "$CODE/$3" && usually "$line") >"$HOME/{printed}"
      ended="$? {USUAL}"
    else
      clock="${{4:+$later}}"
      (cd "$CODE/$3" && otherwise "$line" "$clock") >"$HOME/{printed}"
      ended="$? $(around "$clock")"
    fi
    printf '\n%s %s %s\n' {mark} "$1" "$ended"
    head -c {LONGEST_TAIL} "$HOME/{printed}"
    printf '\n%s complaints\n' {mark}
    tail -c {LONGEST_TEXT} "$HOME/{complaints}"
    printf '\n%s end\n' {mark}
    case "$ended" in "124 -"|"137 -") break;; esac
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
            let around = words.next().unwrap_or_default();
            let (on_terminal, is_later) = surroundings(around);
            let complaints = second.strip_prefix("complaints\n").unwrap_or_default().to_owned();
            if let Some(of_it) = number.and_then(|number| all.get_mut(number)) {
                of_it.push(ProgramOutput {
                    exit,
                    // A terminal ends lines in its own way.
                    printed: if on_terminal { printed.replace('\r', "") } else { printed.to_owned() },
                    complaints,
                    on_terminal,
                    is_later,
                    is_in_production: around != USUAL,
                });
            }
        }
        all
    }
}
