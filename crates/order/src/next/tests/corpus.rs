//! Journals of real orders from each release: the current program reads them, and they mean what they meant.
//!
//! `make journals RELEASE=1.2.3` adds journals of the current program. Never edit a kept file. Its snapshot changes
//! only if the meaning is supposed to change.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::*;
use crate::journal::{InvalidJournal, JOURNAL_FORMAT, JournalEntry};

/// The kept journals: a folder for each release, a file for each journal, a line for each entry.
fn kept() -> Vec<PathBuf> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("journals");
    let inside = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let files = inside(&top).into_iter().filter(|path| path.is_dir()).flat_map(|release| inside(&release));
    let mut files: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|extension| extension == "jsonl")).collect();
    files.sort();
    files
}

fn read(file: &Path) -> Journal {
    let text = std::fs::read_to_string(file).unwrap();
    let entry = |(line, text): (usize, &str)| -> JournalEntry {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{file:?}, entry {}: {error}", line + 1))
    };
    Journal::new(text.lines().enumerate().map(entry).collect()).unwrap()
}

/// An entry in one line.
fn named(entry: &JournalEntry) -> String {
    match &entry.event {
        JournalEvent::Opened(_) => "opened".to_owned(),
        JournalEvent::Signaled { signal, .. } => {
            let kind = serde_json::to_value(&signal.kind).unwrap();
            format!("heard {} of {}", kind["signal"].as_str().unwrap_or("?"), signal.by)
        }
        JournalEvent::Intended { key, .. } => format!("begun {key}"),
        JournalEvent::Observed { key, outcome } => {
            let outcome = serde_json::to_value(outcome).unwrap();
            format!("{key}: {}", outcome["outcome"].as_str().unwrap_or("?"))
        }
    }
}

fn told(next: &NextMoves, now: DateTime<Utc>) -> String {
    let mut told: Vec<String> = next.moves.iter().map(|(key, _)| key.0.clone()).collect();
    told.extend(next.wake_at.map(|at| format!("again in {} s", (at - now).num_seconds())));
    told.extend(next.settled.as_ref().map(|settled| format!("{settled:?}")));
    told.join(", ")
}

/// Whether the effect that began then would begin now. One turn plans several, from the journal before the first of
/// them was written.
fn would_be_begun(journal: &Journal, place: usize, key: &MoveKey, begun: &Move) -> bool {
    let is_of_the_turn = |entry: &&JournalEntry| match &entry.event {
        JournalEvent::Intended { .. } | JournalEvent::Signaled { .. } => true,
        JournalEvent::Opened(_) | JournalEvent::Observed { .. } => false,
    };
    let before = journal.entries()[..place].iter().rev().take_while(is_of_the_turn).count();
    (place - before..=place).any(|length| {
        let prefix = journal.prefix(length).unwrap();
        let moves = next(prefix.pipeline(), &prefix, journal.entries()[place].at).moves;
        moves.iter().any(|(known, planned)| known == key && timeless(planned) == timeless(begun))
    })
}

/// The journal does not hold how much of the order's time is left when an agent starts.
fn timeless(planned: &Move) -> Move {
    match planned {
        Move::RunAgent(task) => {
            Move::RunAgent(crate::moves::AgentTask { timeout_seconds: 0, ..task.clone() })
        }
        other => other.clone(),
    }
}

#[test]
fn journals_of_every_release_mean_what_they_meant() {
    let files = kept();
    assert!(files.len() >= 12, "{files:?}");
    for file in files {
        let journal = read(&file);
        let mut story = String::new();
        let mut before = String::new();
        for (place, entry) in journal.entries().iter().enumerate() {
            if let JournalEvent::Intended { key, r#move } = &entry.event
                && !would_be_begun(&journal, place, key, r#move)
            {
                writeln!(story, "!! {key} would not be begun so now").unwrap();
            }
            let prefix = journal.prefix(place + 1).unwrap();
            let after = told(&next(prefix.pipeline(), &prefix, entry.at), entry.at);
            writeln!(story, "{} {}", entry.seq, named(entry)).unwrap();
            if after != before {
                writeln!(story, "    → {after}").unwrap();
                before = after;
            }
        }
        let last = journal.entries().last().unwrap().at;
        let projection = projection(journal.pipeline(), &journal, last);
        writeln!(
            story,
            "\n{:#?}\n{:#?}\n{:#?}",
            projection.surfaces(),
            projection.verdict,
            projection.answers
        )
        .unwrap();
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(file.parent().unwrap());
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.remove_info();
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        settings.bind(|| insta::assert_snapshot!(name, story));
    }
}

#[test]
fn a_journal_that_a_newer_program_opened_is_named_as_such_and_one_that_names_no_form_is_of_the_first() {
    let world = SimulatedOrder::new();
    let JournalEvent::Opened(opened) = &world.journal.entries()[0].event else { panic!("the first entry") };
    let mut written = serde_json::to_value(JournalEvent::Opened(opened.clone())).unwrap();
    assert_eq!(written["format"], JOURNAL_FORMAT);
    written.as_object_mut().unwrap().remove("format");
    let JournalEvent::Opened(read) = serde_json::from_str(&written.to_string()).unwrap() else {
        panic!("the first entry")
    };
    assert_eq!(read.format, 1);

    written["format"] = (JOURNAL_FORMAT + 1).into();
    let event = serde_json::from_str(&written.to_string()).unwrap();
    let newer = Journal::new(vec![JournalEntry { seq: 1, at: world.now, event }]).unwrap_err();
    assert_eq!(newer, InvalidJournal::Newer { found: JOURNAL_FORMAT + 1 });
    let says = format!(
        "it has format {}, and this Journeyman reads formats up to {JOURNAL_FORMAT}",
        JOURNAL_FORMAT + 1
    );
    assert_eq!(newer.to_string(), says);
}
