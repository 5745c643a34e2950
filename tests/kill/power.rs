//! Power failure: a file keeps what was last synced of it, and one that was never synced is empty.
//!
//! A worst-case model of ext4 and XFS: names on disk are current, bytes are from the file's last sync. A library
//! preloaded into Journeyman and each git that it runs copies files at each sync. Agents and tests in sandboxes never
//! sync.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command as StdCommand;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures_util::StreamExt as _;
use journeyman::emulator::DeliveryResult;
use journeyman::store::Store;
use tokio::process::Command;

use super::every_moment::undisturbed;
use super::hold::{self, result};
use super::moment::{Moment, Point, representatives};
use super::world::{Agent, Ended, World};
use crate::is_all_asked_for;

const SIDE_BY_SIDE: usize = 3;
/// Only moments whose names contain this are tried, to look at one closely.
const ONLY: &str = "JOURNEYMAN_KILL_ONLY";
const LIBRARY: &str = include_str!("../fixtures/kill/synced.c");

/// The synced content of a world's files.
pub struct Disk {
    library: PathBuf,
    synced: PathBuf,
    /// Contains a `git` that loads the library: Journeyman passes no other variable to git.
    path: String,
}

impl Disk {
    pub fn new(place: &Path) -> Self {
        let (source, library) = (place.join("synced.c"), place.join("synced.so"));
        fs::write(&source, LIBRARY).expect("a source");
        let mut compiler = StdCommand::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source);
        let compiled = compiler.output().expect("there is a C compiler: Rust links with it");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let (synced, programs) = (place.join("synced"), place.join("programs"));
        fs::create_dir_all(&synced).expect("a folder");
        fs::create_dir_all(&programs).expect("a folder");
        let path = std::env::var("PATH").expect("a path");
        let git = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|git| git.exists());
        let wrapper = format!(
            "#!/bin/sh\nexport LD_PRELOAD={library:?} JOURNEYMAN_SYNCED={synced:?} JOURNEYMAN_SYNCED_BY_GIT=1\n\
             exec {:?} \"$@\"\n",
            git.expect("there is a git")
        );
        fs::write(programs.join("git"), wrapper).expect("a program");
        fs::set_permissions(programs.join("git"), fs::Permissions::from_mode(0o755)).expect("its mode");
        Self { library, synced, path: format!("{}:{path}", programs.display()) }
    }

    pub fn watch(&self, command: &mut Command) {
        command
            .env("LD_PRELOAD", &self.library)
            .env("JOURNEYMAN_SYNCED", &self.synced)
            .env("PATH", &self.path);
    }

    /// Discards what was not synced, of a file or of each file in a folder.
    fn cut_power(&self, at: &Path, loss: &mut Loss) {
        let kind = fs::symlink_metadata(at).expect("it is there").file_type();
        if kind.is_dir() {
            for entry in fs::read_dir(at).expect("a folder").flatten() {
                self.cut_power(&entry.path(), loss);
            }
        } else if kind.is_file() {
            let synced = fs::read(self.synced.join(name(at))).unwrap_or_default();
            if fs::read(at).expect("it can be read") == synced {
                loss.whole += 1;
            } else {
                loss.files.push(at.to_owned());
                write_over(at, &synced);
            }
        }
    }
}

/// The library's name for the file.
fn name(file: &Path) -> String {
    let known = fs::metadata(file).expect("it is there");
    let born =
        known.created().unwrap_or(SystemTime::UNIX_EPOCH).duration_since(UNIX_EPOCH).unwrap_or_default();
    let inode = std::os::unix::fs::MetadataExt::ino(&known);
    format!("{inode}.{}.{}", born.as_secs(), born.subsec_nanos())
}

/// Keeps the file's inode, names and mode.
fn write_over(file: &Path, bytes: &[u8]) {
    let known = fs::metadata(file).expect("it is there").permissions();
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).expect("its mode");
    fs::write(file, bytes).expect("it can be written");
    fs::set_permissions(file, known).expect("its mode");
}

#[derive(Debug, Default)]
struct Loss {
    /// Files that lost content or got an older one.
    files: Vec<PathBuf>,
    /// Files that kept their content.
    whole: usize,
}

/// Reads a copy of the database, to leave the original unchanged.
async fn looked_at(world: &World) -> Result<(BTreeSet<String>, Vec<Moment>), String> {
    let aside = tempfile::tempdir().expect("a folder");
    for file in ["journeyman.db", "journeyman.db-wal"] {
        if world.path(file).exists() {
            fs::copy(world.path(file), aside.path().join(file)).expect("a copy");
        }
    }
    let url = format!("sqlite://{}", aside.path().join("journeyman.db").display());
    let store = Store::open(&url).await.map_err(|error| error.to_string())?;
    let answered = |one: &journeyman::emulator::DeliveryAttempt| matches!(one.outcome, DeliveryResult::Answered(status) if (200..300).contains(&status));
    let acknowledged = world.emulator.deliveries().into_iter().filter(answered);
    let acknowledged = acknowledged.map(|one| one.guid.parse().expect("a GUID")).collect();
    let lost = store.unknown_deliveries(acknowledged).await.map_err(|error| error.to_string())?;
    let journals = World::journals_of(&store).await;
    store.close().await;
    let moments = journals.iter().flat_map(|(journal, _)| Moment::all(journal)).collect();
    Ok((lost.iter().map(ToString::to_string).collect(), moments))
}

/// Cuts power at a moment, then restarts the machine and Journeyman. `None` if the moment did not come.
async fn cut_at(moment: &Moment) -> Result<Option<Loss>, String> {
    let world = World::new(Agent::Quick).await.on_a_disk();
    let told = |what: String| format!("{moment:?}: {what}\n{}\n", world.said());
    let mut running = world.start(Some(moment.clone())).await;
    world.label().await;
    match running.ended().await {
        Ended::Killed => {}
        Ended::Code(0) => return Ok(None),
        ended @ (Ended::Code(_) | Ended::Never) => return Err(told(format!("{ended:?}"))),
    }
    let left = world.sandboxes_end(Duration::from_secs(5)).await;
    if !left.is_empty() {
        return Err(told(format!("left in the sandbox: {left:?}")));
    }

    let disk = world.disk.as_ref().expect("it is on a disk");
    let mut loss = Loss::default();
    for entry in fs::read_dir(world.path("")).expect("its folder").flatten() {
        // Settings and the test's own files were synced long ago.
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == "data" || name.starts_with("journeyman.db") {
            disk.cut_power(&entry.path(), &mut loss);
        }
    }

    // This file tells Journeyman that the machine was restarted.
    fs::write(world.path("data/boot"), "another one\n").map_err(|error| told(error.to_string()))?;
    let (lost, kept) = looked_at(&world).await.map_err(told)?;
    if !lost.is_empty() {
        return Err(told(format!("acknowledged and lost: {lost:?}")));
    }
    let is_written = match moment {
        Moment::Around { point: Point::Unobserved, effect, nth } => {
            let intended = Moment::Around { point: Point::Intended, effect: effect.clone(), nth: *nth };
            kept.contains(&intended)
        }
        Moment::Opened | Moment::Signaled { .. } | Moment::Around { .. } => kept.contains(moment),
        Moment::Nth { .. } | Moment::Poisoned { .. } => true,
    };
    if !is_written {
        return Err(told("what was written before is gone from the journal".to_owned()));
    }
    let mut again = world.start(None).await;
    let ended = again.ended().await;
    if ended != Ended::Code(0) {
        return Err(told(format!("started again: {ended:?}")));
    }
    // Verified, and no duplicates on GitHub. Only a round whose work was in the lost work tree may run again.
    let paid = result(&world).await.map_err(told)?.paid;
    let twice = paid.iter().filter(|(run, _)| paid.iter().filter(|(other, _)| other == run).count() > 1);
    if let Some((run, _)) = twice.into_iter().next() {
        return Err(told(format!("paid twice: {run}")));
    }
    let after: Vec<Moment> =
        world.journals().await.iter().flat_map(|(journal, _)| Moment::all(journal)).collect();
    if let Some(gone) = kept.iter().find(|moment| !after.contains(moment)) {
        return Err(told(format!("gone from the journal: {gone:?}")));
    }
    Ok(Some(loss))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn power_is_cut_and_what_was_acknowledged_and_what_the_journal_names_is_there() {
    let begun = Instant::now();
    let (world, _) = undisturbed().await;
    let mut moments = Moment::all(&world.journals().await[0].0);
    drop(world);
    if let Ok(only) = std::env::var(ONLY) {
        moments.retain(|moment| format!("{moment:?}").contains(&only));
    }
    if !is_all_asked_for() {
        // Half of the kinds; the kill tests cover others.
        moments = representatives(moments).into_iter().step_by(2).collect();
    }
    let count = moments.len();
    let met: Vec<Result<Option<Loss>, String>> = futures_util::stream::iter(moments)
        .map(async |moment| cut_at(&moment).await)
        .buffer_unordered(SIDE_BY_SIDE)
        .collect()
        .await;
    let losses: Vec<&Loss> = met.iter().flatten().flatten().collect();
    let cuts = losses.len();
    let (files, whole) =
        losses.iter().fold((0, 0), |(files, whole), loss| (files + loss.files.len(), whole + loss.whole));
    println!(
        "power was cut {cuts} times at {count} moments: {files} files lost what was not synced, {whole} were whole; {:?}",
        begun.elapsed()
    );
    let wrong: Vec<String> = met.into_iter().filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "{} of {count} moments:\n{}", wrong.len(), hold::report(&wrong));
    assert!(cuts * 2 >= count && files > 0 && whole > 0, "too little was lost to say anything");
}
