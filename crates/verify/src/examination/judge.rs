//! Judges a change by what a statement's programs print on both codes.

use journeyman_languages::not_run::missing_name;
use journeyman_order::bounds::LONGEST_LINE;
use journeyman_order::examination::{
    ExaminerStatement, ExpectedAnswer, FailedAnswer, StatementKind, StatementProgram, StatementRun,
    StatementVerdict,
};
use journeyman_order::length::shorten;

use super::ProgramOutput;

/// The runs of one program on the base and on the change.
pub type ProgramRuns = (Vec<ProgramOutput>, Vec<ProgramOutput>);

/// Judges a change by one statement. `runs` are those of its programs, in order. `given` is the text of the issue,
/// whose names a program may use.
pub fn judge_statement(
    number: u32,
    statement: &ExaminerStatement,
    runs: &[ProgramRuns],
    given: &str,
) -> StatementRun {
    let programs = statement.printing().zip(runs);
    let said = programs.map(|(program, (base, change))| {
        let (base, change) = comparable(base, change);
        match confirmed(statement, program, &base) {
            Some(because) => StatementVerdict::Unconfirmed { because },
            None => on_the_change(statement, program, &change, given),
        }
    });
    StatementRun {
        number,
        kind: statement.kind,
        quote: statement.quote.clone(),
        source: statement.source.clone(),
        said: together(said),
    }
}

/// The verdict of all programs of a statement: a failure takes precedence, then a pass.
pub fn together(said: impl Iterator<Item = StatementVerdict>) -> StatementVerdict {
    let rank = |said: &StatementVerdict| match said {
        StatementVerdict::Fails(_) => 0,
        StatementVerdict::Holds => 1,
        StatementVerdict::Disputed { .. }
        | StatementVerdict::Unconfirmed { .. }
        | StatementVerdict::Dropped { .. } => 2,
    };
    said.min_by_key(rank)
        .unwrap_or_else(|| StatementVerdict::Unconfirmed { because: "it has no program".to_owned() })
}

/// The runs that count. What answers otherwise in some surroundings before the change may do so after it, if two runs in
/// the usual ones show that nothing else differs. A package may lack what a program is about: only an answer shows that
/// it does not.
fn comparable<'r>(
    base: &'r [ProgramOutput],
    change: &'r [ProgramOutput],
) -> (Vec<&'r ProgramOutput>, Vec<&'r ProgramOutput>) {
    let is_usual = |ran: &&ProgramOutput| ran.surroundings().is_none();
    let usual = base.iter().find(is_usual).filter(|_| base.iter().filter(is_usual).count() > 1);
    let is_alike = |ran: &ProgramOutput| {
        let of_usual = usual.is_none_or(|usual| lines(ran) == lines(usual));
        of_usual && (ran.packed_by.is_empty() || !lines(ran).is_empty())
    };
    let kind =
        |ran: &ProgramOutput| (ran.on_terminal, ran.is_later, ran.is_in_production, ran.packed_by.is_empty());
    let known: Vec<_> = base.iter().filter(|ran| is_usual(ran) || is_alike(ran)).map(kind).collect();
    let counting = |runs: &'r [ProgramOutput]| runs.iter().filter(|ran| known.contains(&kind(ran))).collect();
    (counting(base), counting(change))
}

/// Why the base does not confirm a program. `None` if it does.
fn confirmed(
    statement: &ExaminerStatement,
    program: &StatementProgram,
    base: &[&ProgramOutput],
) -> Option<String> {
    let Some(first) = base.first().filter(|_| base.iter().all(|ran| ran.exit.is_some())) else {
        return Some("its program did not come to its end on the base".to_owned());
    };
    if base.iter().any(|ran| lines(ran) != lines(first)) {
        return Some("its program answers now this and now that on the base".to_owned());
    }
    let differs = difference(program, first);
    match (statement.kind, differs) {
        (StatementKind::Stays, None) => None,
        (StatementKind::Stays, Some(FailedAnswer { input, got, .. })) => {
            Some(format!("on the base {input} gives {got} already"))
        }
        (StatementKind::Changes, None) => Some("it holds on the base already".to_owned()),
        (StatementKind::Changes, Some(_)) if statement.is_new => None,
        (StatementKind::Changes, Some(_)) => {
            is_unloaded(first).then(|| "its program cannot be loaded on the base".to_owned())
        }
    }
}

fn on_the_change(
    statement: &ExaminerStatement,
    program: &StatementProgram,
    change: &[&ProgramOutput],
    given: &str,
) -> StatementVerdict {
    let first = program.answers.first().map(|answer| answer.input.clone()).unwrap_or_default();
    let Some(failed) = (match change {
        [] => Some(FailedAnswer {
            input: first,
            expected: program.answers.first().map(|answer| answer.expected.clone()).unwrap_or_default(),
            got: "no answer within the time".to_owned(),
        }),
        runs => {
            let is_usually_right = runs
                .iter()
                .filter(|ran| ran.surroundings().is_none())
                .all(|ran| difference(program, ran).is_none());
            runs.iter().find_map(|ran| {
                let failed = difference(program, ran)?;
                let around = ran.surroundings().filter(|_| is_usually_right);
                let got =
                    around.map_or_else(|| failed.got.clone(), |around| format!("{} {around}", failed.got));
                Some(FailedAnswer { got, ..failed })
            })
        }
    }) else {
        return StatementVerdict::Holds;
    };
    // The author may choose the names of new things, unless the text gives them.
    let lacks = change.iter().find(|ran| is_unloaded(ran)).and_then(|ran| unloaded(&ran.complaints));
    if let Some(names) = lacks.filter(|_| statement.is_new)
        && !names.iter().any(|name| is_given(name, given))
    {
        let named = names.first().map_or_else(|| "a name".to_owned(), |name| format!("the name {name}"));
        return StatementVerdict::Unconfirmed {
            because: format!("its program needs {named} that the issue does not give"),
        };
    }
    StatementVerdict::Fails(failed)
}

/// Whether a program printed nothing because it could not be loaded.
fn is_unloaded(ran: &ProgramOutput) -> bool {
    ran.exit != Some(0) && ran.printed.trim().is_empty() && unloaded(&ran.complaints).is_some()
}

/// The missing names if a program without output could not be loaded. Empty if the names are unknown. `None` if it was
/// loaded.
fn unloaded(complaints: &str) -> Option<Vec<String>> {
    let mut found: Option<Vec<String>> = None;
    for missing in complaints.lines().filter_map(missing_name) {
        found.get_or_insert_default().extend(missing);
    }
    found
}

/// Whether a text contains a name as a whole word.
fn is_given(name: &str, text: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let last = name.rsplit([':', '.', '/']).find(|part| !part.is_empty()).unwrap_or(name);
    text.split(|c| !is_part(c)).any(|word| word == last)
}

fn lines(ran: &ProgramOutput) -> Vec<&str> {
    let mut lines: Vec<&str> = ran.printed.lines().map(str::trim_end).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines
}

fn difference(program: &StatementProgram, ran: &ProgramOutput) -> Option<FailedAnswer> {
    let mut printed = lines(ran);
    // An empty answer at the end prints no visible line.
    while printed.len() < program.answers.len()
        && program.answers.get(printed.len()).is_some_and(|answer| answer.expected.trim().is_empty())
    {
        printed.push("");
    }
    let wrong = program.answers.iter().zip(printed.iter().copied().map(Some).chain(std::iter::repeat(None)));
    let wrong = wrong.into_iter().find(|(answer, got)| *got != Some(answer.expected.trim_end()));
    let failed = |ExpectedAnswer { input, expected }: &ExpectedAnswer, got: String| FailedAnswer {
        input: input.clone(),
        expected: expected.trim_end().to_owned(),
        got: shorten(&got, LONGEST_LINE),
    };
    if let Some((answer, got)) = wrong {
        return Some(failed(answer, got.map_or_else(|| end_of(ran), str::to_owned)));
    }
    let more = printed.get(program.answers.len())?;
    let last = program.answers.last()?;
    Some(failed(last, format!("{}, and then {more}", last.expected)))
}

/// How a program ended that gave no further answer.
fn end_of(ran: &ProgramOutput) -> String {
    const TIMED_OUT: [i32; 2] = [124, 137];
    let complaint = ran.complaints.lines().rev().find(|line| !line.trim().is_empty()).map(str::trim);
    match (ran.exit, complaint) {
        (None, _) => "no answer within the time".to_owned(),
        (Some(exit), _) if TIMED_OUT.contains(&exit) => "no answer within the time".to_owned(),
        (Some(0), _) | (Some(_), None) => "no answer".to_owned(),
        (Some(_), Some(complaint)) => format!("no answer ({complaint})"),
    }
}
