//! From the 202 of a delivery to the start of the agent in its sandbox: GitHub authorizes it, the base is fetched, the
//! workspace is created. The agent prints its start time.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use journeyman::sandbox::IsolationMode;

use super::running::{Running, noise};
use super::{heading, line, middle_and_tail, ratio};

const WARM: usize = 8;

pub async fn measure() {
    let small = (0..500)
        .map(|n| (format!("src/{}/{n}.txt", n % 20), format!("{n}\n").repeat(200).into_bytes()))
        .collect();
    measure_of("500 files", small).await;
    // Incompressible content is copied byte by byte everywhere.
    let large = (0..3_000_u32).map(|n| (format!("src/{}/{n}.bin", n % 60), noise(n, 20_000))).collect();
    measure_of("3,000 files and 60 MB", large).await;
}

async fn measure_of(size: &str, files: BTreeMap<String, Vec<u8>>) {
    heading(&format!("from 202 to the agent's start, on a repository of {size}"));
    let folder = tempfile::tempdir().expect("a folder");
    let running = Running::start(folder.path(), &files, IsolationMode::Bubblewrap).await;
    let cold = running.order().await;
    let mut warm = Vec::new();
    for _ in 0..WARM {
        warm.push(running.order().await);
    }
    running.stop().await;
    let (middle, slowest) = middle_and_tail(warm.iter().map(|order| order.since_answer).collect());
    let (clone, worktree) = by_hand(folder.path(), &files);
    line("by hand: git clone of a local repository", clone, "");
    line("by hand: git worktree add", worktree, "");
    line(
        "cold: the repository is cloned",
        cold.since_answer,
        &format!("{} git clone", ratio(cold.since_answer, clone)),
    );
    for (name, took) in cold.steps() {
        let warm = warm.iter().filter_map(|order| order.steps().find(|(step, _)| *step == name));
        let (warm, _) = middle_and_tail(warm.map(|(_, took)| took).collect());
        line(&format!("  of it, {name}"), took, &format!("warm: {:.3} ms", warm.as_secs_f64() * 1_000.0));
    }
    let note = format!("{} git worktree add", ratio(middle, worktree));
    line(&format!("warm: the middle of {WARM}"), middle, &note);
    line("  the slowest", slowest, "");
}

/// The same by hand: clone the files, and later add a second work tree.
fn by_hand(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> (Duration, Duration) {
    for (name, content) in files {
        let path = folder.join("theirs").join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, content).expect("a file");
    }
    let git = |arguments: &[&str]| {
        let begun = Instant::now();
        let ran = Command::new("git").args(arguments).current_dir(folder).output().expect("git");
        assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
        begun.elapsed()
    };
    git(&["init", "-q", "theirs"]);
    git(&["-C", "theirs", "add", "."]);
    git(&["-C", "theirs", "-c", "user.name=a", "-c", "user.email=a@b.invalid", "commit", "-qm", "Files"]);
    let clone = git(&["clone", "-q", "--no-hardlinks", "theirs", "by-hand"]);
    let trees = (0..WARM).map(|number| {
        let place = format!("../tree-{number}");
        git(&["-C", "by-hand", "worktree", "add", "-q", "--detach", &place])
    });
    (clone, middle_and_tail(trees.collect()).0)
}
