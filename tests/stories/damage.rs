//! A disk loses or changes what was written: the copies of repositories are made again, and orders continue.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::world::{Story, WELL, World};

fn below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] }).collect()
}

/// Files in the copies of the story's repository.
fn files(world: &World, kind: &str, within: &str) -> Vec<PathBuf> {
    let repository = world.data().join(kind).join("acme/answers.git");
    let found = below(&repository.join(within));
    assert!(!found.is_empty(), "{kind} has something in {within}");
    found
}

/// Overwrites bytes in the middle of a file, like a lost disk sector.
fn lose_a_sector(file: &Path) {
    let mut bytes = fs::read(file).expect("it can be read");
    let middle = bytes.len() / 2;
    let end = (middle + 512).min(bytes.len());
    bytes[middle..end].fill(0);
    overwrite(file, &bytes);
}

fn overwrite(file: &Path, bytes: &[u8]) {
    fs::set_permissions(file, fs::Permissions::from_mode(0o644)).expect("permissions");
    fs::write(file, bytes).expect("it can be written");
}

async fn the_next_order_is_verified(world: &mut World) {
    world.label_another_issue("The answer is wrong still", "It says 41, and it should say 42.").await;
    world.settled_as("verified").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mirror_that_lost_sectors_and_commits_that_lost_their_bytes_are_made_again() {
    let mut world = Story::of(WELL).labeled().await;
    world.settled_as("verified").await;
    files(&world, "mirrors", "objects/pack").iter().for_each(|file| lose_a_sector(file));
    the_next_order_is_verified(&mut world).await;

    files(&world, "commits", "objects").iter().for_each(|file| overwrite(file, b""));
    overwrite(&world.data().join("commits/acme/answers.git/config"), b"[core");
    the_next_order_is_verified(&mut world).await;
    world.end().await;
}
