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

use journeyman_languages::packing::packing;
use journeyman_order::UserPlace;
use journeyman_order::bounds::{LONGEST_TAIL, LONGEST_TEXT};
use journeyman_order::examination::{AS_IT_RUNS, StatementProgram};
use journeyman_order::user_place::{as_packed, word};

use super::{Overlay, OverlayAction};
use crate::surroundings::{USUAL, shell_functions, surroundings};

/// Timeout of one program in seconds, including its build.
const SECONDS: u32 = 120;

pub struct ProgramBatch<'a> {
    programs: Vec<(&'a StatementProgram, u32)>,
    place: UserPlace,
    /// A folder for each program, directly below the repository's root.
    folders: Vec<String>,
    /// In each folder the file of the shell command and that of the input; in the home those of output and errors, and the
    /// folder of the package. No name tells what it is for.
    names: [String; 5],
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
    /// The package manager whose package held the code; empty if it ran in the repository.
    pub packed_by: String,
}

impl ProgramOutput {
    /// What was around it if that was not as usual.
    pub fn surroundings(&self) -> Option<String> {
        let is_only_told = self.is_in_production && !self.on_terminal && !self.is_later;
        let seen = [
            (self.on_terminal, "on a terminal"),
            (self.is_later, "at a later date"),
            (is_only_told, "in production mode"),
        ];
        let seen = seen.into_iter().filter(|(is_so, _)| *is_so).map(|(_, words)| words.to_owned());
        let around: Vec<String> = seen.chain(as_packed(&self.packed_by)).collect();
        (!around.is_empty()).then(|| around.join(", "))
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
        let names = [(); 5].map(|()| word(&mut random, 4));
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

    /// The shell command that runs all of them in sequence, from the repository's root. The second of three runs of a
    /// program is in other surroundings, and the third one in what the repository's package holds. What comes before a
    /// program in its command, as a compiler, has today's date: rustc hangs at another one.
    pub fn command(&self) -> String {
        let Self { mark, names: [script, input, printed, complaints, package], .. } = self;
        let functions = shell_functions(&self.place);
        let each = self.programs.iter().zip(&self.folders).enumerate();
        let line = |(number, ((program, times), folder)): (usize, (&(&StatementProgram, u32), &String))| {
            let later = if program.script().contains(AS_IT_RUNS) { "later" } else { "" };
            format!("each {number} {times} {folder} {later}\n")
        };
        let lines: String = each.map(line).collect();
        let (folders, packing) = (self.folders.join(" "), packing());
        format!(
            r#"CODE="$PWD"; export CODE
{functions}
run='timeout -k 1 {SECONDS} sh ./{script} "$@" 2>"$HOME/{complaints}"'
PACKED="$HOME/{package}"
OWN="$PACKED.own"
mkdir -p "$PACKED" "$OWN"
mv {folders} "$OWN"
{packing}
for place in "$CODE" "$PACKED"; do cp -R "$OWN/." "$place"; done
rm -rf "$OWN"
each() {{
  PLACE="$3"; export PLACE
  i=0
  while [ "$i" -lt "$2" ]; do
    i=$((i+1)) clock="${{4:+$later}}" around={USUAL}
    case $((i % 3)) in
      1) (cd "$CODE/$3" && usually "$run <{input}") >"$HOME/{printed}" ;;
      2) around="$(around "$clock")"
         (cd "$CODE/$3" && if [ -s {input} ]; then run="$run <{input}"; fi && otherwise "$run" "$clock") >"$HOME/{printed}" ;;
      *) [ "$packed" ] || continue
         around="packed:$packed"
         (CODE="$PACKED"; cd "$CODE/$3" && usually "$run <{input}") >"$HOME/{printed}" ;;
    esac
    ended="$? $around"
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
                    is_in_production: around.starts_with("other"),
                    packed_by: around.strip_prefix("packed:").unwrap_or_default().to_owned(),
                });
            }
        }
        all
    }
}
