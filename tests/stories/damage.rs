//! A disk loses or changes what was written to it: the copies of repositories are made again, and orders go on.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::world::{MAINTAINER, Story, WELL, World};

/// Thinks for long enough to be met in the middle.
const SLOWLY: &str = "
- stage: implement
  think: 1200
  run: |
    git log --oneline >/dev/null || { echo cannot read the history; exit 1; }
    echo 42 > answer
    git commit -q -a -m 'Give the right answer' && git push -q origin HEAD
  say: The answer is right now.
";

fn below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] }).collect()
}

/// Files of the copies of the story's repository.
fn files(world: &World, kind: &str, within: &str) -> Vec<PathBuf> {
    let repository = world.data().join(kind).join("acme/answers.git");
    let found = below(&repository.join(within));
    assert!(!found.is_empty(), "{kind} has something in {within}");
    found
}

/// The same file with other bytes in its middle, as a disk leaves it that lost a sector.
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
    let ended = world.settled().await;
    assert_eq!(ended.word(), "verified", "{}", ended.because());
}

async fn after_damage_between_two_orders(damage: impl Fn(&World)) {
    let mut world = Story::of(WELL).labeled().await;
    assert_eq!(world.settled().await.word(), "verified");
    damage(&world);
    the_next_order_is_verified(&mut world).await;
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mirror_whose_packs_lost_a_sector_is_made_again() {
    after_damage_between_two_orders(|world| {
        let packs = files(world, "mirrors", "objects/pack");
        packs.iter().for_each(|file| lose_a_sector(file));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mirror_without_a_readable_head_or_reference_is_made_again() {
    after_damage_between_two_orders(|world| {
        let repository = world.data().join("mirrors/acme/answers.git");
        overwrite(&repository.join("HEAD"), b"");
        files(world, "mirrors", "refs").iter().for_each(|file| overwrite(file, b""));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_whose_files_are_empty_are_made_again() {
    after_damage_between_two_orders(|world| {
        files(world, "commits", "objects").iter().for_each(|file| overwrite(file, b""));
        overwrite(&world.data().join("commits/acme/answers.git/config"), b"[core");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_goes_on_although_the_mirror_lost_its_objects_while_the_agent_was_at_work() {
    let world = Story::of(SLOWLY).labeled().await;
    world.until_begun("implement/1/agent").await;
    for file in files(&world, "mirrors", "objects/pack") {
        // Not the bytes that the agent has before it: those are the same file.
        fs::remove_file(file).expect("it is there");
    }
    let ended = world.settled().await;
    assert_eq!(ended.word(), "verified", "{}", ended.because());
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_after_the_disk_changed_everything_goes_on_at_what_was_pushed() {
    let wrong = "
- stage: implement
  run: |
    echo 43 > answer && date +%s%N > tries && git add tries
    git commit -q -a -m 'Give an answer' && git push -q origin HEAD
";
    let world = Story::of(wrong).labeled().await;
    let ended = world.settled().await;
    assert_eq!(ended.word(), "escalated", "{}", ended.because());
    let before = world.pull();
    for kind in ["mirrors", "commits"] {
        files(&world, kind, "objects").iter().for_each(|file| lose_a_sector(file));
    }
    world.rescript(SLOWLY);

    world.comment(MAINTAINER, "/retry It is 42.").await;
    let again = world.settled().await;

    assert_eq!((again.word(), again.order), ("verified", ended.order), "{}", again.because());
    assert_eq!((world.pull().issue.number, world.pull().draft), (before.issue.number, false));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agents_repository_that_power_left_empty_is_made_again_and_the_agent_is_told() {
    let scenes = "
- stage: implement
  round: 1
  run: |
    echo 43 > answer
    git commit -q -a -m 'Give an answer' && git push -q origin HEAD
- stage: implement
  run: |
    grep '^Your work tree was made anew'
    cat answer
    echo 42 > answer
    git commit -q -a -m 'Give the right answer' && git push -q origin HEAD
";
    let mut world = Story::of(scenes).labeled().await;
    world.until_begun("implement/1/tests").await;
    world.stop_bot().await;
    let order = world.latest_order().await.expect("an order");
    let origin = world.data().join("orders").join(order.to_string()).join("origin");
    let own = below(&origin.join("objects")).into_iter().filter(|file| !file.ends_with("info/alternates"));
    own.chain(below(&origin.join("refs"))).for_each(|file| overwrite(&file, b""));
    world.start_bot().await;

    let ended = world.settled().await;

    assert_eq!(ended.word(), "verified", "{}", ended.because());
    assert!(ended.said("implement/2/agent").contains("made anew"), "{}", ended.said("implement/2/agent"));
    world.end().await;
}
