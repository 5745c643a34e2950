//! A server that lost its disk resumes from a backup that was made while it ran.

use std::fs;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use journeyman::order::next::OrderProjection;
use tokio::process::Command;

use super::hold::result;
use super::serve::{PROGRAM, Serving, agent_at_work, start};
use super::world::{Agent, PATIENCE, REPOSITORY, World};

async fn journeyman(world: &World, arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).arg("--config").arg(world.config()).arg(world.path("backup.tar.gz"));
    command.env_remove("RUST_LOG").stdin(Stdio::null());
    tokio::time::timeout(PATIENCE, command.output()).await.expect("it ends").expect("it starts")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Deletes the server's folder: its database and everything beside it.
fn lose_everything(world: &World) {
    fs::remove_dir_all(world.path("data")).expect("it is there");
    for name in ["journeyman.db", "journeyman.db-wal", "journeyman.db-shm", "journeyman.db.lock"] {
        let _there_or_not = fs::remove_file(world.path(name));
    }
    let _there_or_not = fs::remove_dir_all(world.path("journeyman.db.artifacts"));
    assert!(!world.path("journeyman.db").exists());
}

/// Waits by the journal: what GitHub shows may date from before the restore.
async fn until_it_ends(world: &World) {
    let begun = Instant::now();
    let is_over =
        |projection: &OrderProjection| projection.next.settled.is_some() && projection.next.moves.is_empty();
    while !world.journals().await.iter().all(|(_, projection)| is_over(projection)) {
        assert!(begun.elapsed() < PATIENCE, "it does not end: {}", world.said());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Pauses the server when no branch is waiting for its pull request. Only the pull request tells the restored order
/// that a branch is its own. An unknown branch stays, as docs/OPERATIONS.md says.
async fn pause_beside_a_push(world: &World, serving: &Serving) {
    let begun = Instant::now();
    loop {
        serving.pause();
        let pushed = world.emulator.branches(REPOSITORY).len() - 1;
        if pushed == world.emulator.pulls(REPOSITORY).len() {
            return;
        }
        serving.resume();
        assert!(begun.elapsed() < PATIENCE, "no pull request: {}", world.said());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn in_the_middle() -> (World, Serving) {
    let world = World::new(Agent::SlowAtItsFirstFix(2_000)).await;
    let serving = start(&world).await;
    world.label().await;
    world.until_begun("implement/1").await;
    agent_at_work(&world).await;
    (world, serving)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_goes_on_from_a_backup_that_was_made_in_the_middle_of_it() {
    let (world, mut first) = in_the_middle().await;
    let key = fs::read(world.path("data/receipt-key.pem")).expect("a key");

    let made = journeyman(&world, &["backup"]).await;
    assert!(made.status.success(), "{}", said(&made));
    assert!(said(&made).contains("the key of receipts"), "{}", said(&made));

    // Restoring is refused while a server runs.
    let refused = journeyman(&world, &["restore", "--force"]).await;
    assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
    let holder = format!("process {}", first.id());
    assert!(said(&refused).contains(&holder), "{}", said(&refused));

    pause_beside_a_push(&world, &first).await;
    first.kill().await;
    lose_everything(&world);
    let restored = journeyman(&world, &["restore"]).await;
    assert!(restored.status.success(), "{}", said(&restored));
    assert_eq!(
        fs::read(world.path("data/receipt-key.pem")).expect("a key"),
        key,
        "receipts have the same key"
    );

    let mut second = start(&world).await;
    until_it_ends(&world).await;
    second.terminate().await;
    result(&world).await.unwrap_or_else(|wrong| panic!("{wrong}\n{}", world.said()));

    // Existing state is moved aside, but only with `--force`.
    let refused = journeyman(&world, &["restore"]).await;
    assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
    assert!(said(&refused).contains("`--force` puts it aside"), "{}", said(&refused));
    let restored = journeyman(&world, &["restore", "--force"]).await;
    assert!(restored.status.success(), "{}", said(&restored));
    assert!(said(&restored).contains("journeyman.db.before-"), "{}", said(&restored));
}
