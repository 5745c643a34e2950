//! Creating an agent's workspace with its environment ready: the repository's files and what its setup installed.
//! Compared with `tar -x` of the same files, the minimum cost of a copy.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use journeyman::sandbox::IsolationMode;

use super::running::{Running, noise};
use super::{heading, line, middle_and_tail, ratio};

const TIMES: usize = 5;
/// Files in the repository, and bytes in each.
const FILES: u32 = 500;
const BYTES: usize = 2_000;
/// Installs this many folders of 50 files.
const SETUP: &str = "mkdir -p node_modules/1 && for file in $(seq 50); do \
    head -c 4000 /dev/urandom >node_modules/1/$file.js; done && \
    for folder in $(seq 2 FOLDERS); do cp -r node_modules/1 node_modules/$folder; done";

pub async fn measure() {
    for folders in [10, 200] {
        measure_of(folders).await;
    }
}

async fn measure_of(folders: u32) {
    heading(&format!("workspace: {FILES} files of a repository, {} that its setup installed", folders * 50));
    let mut files: BTreeMap<String, Vec<u8>> =
        (0..FILES).map(|n| (format!("src/{}/{n}.txt", n % 20), noise(n, BYTES))).collect();
    let setup = SETUP.replace("FOLDERS", &folders.to_string());
    files.insert("setup.sh".to_owned(), setup.clone().into_bytes());
    files.insert(".gitignore".to_owned(), b"/node_modules\n".to_vec());
    files.insert(".github/journeyman.yml".to_owned(), b"setup: sh setup.sh\n".to_vec());
    let (tar, least) = by_hand(&files, &setup);
    line(&format!("tar -x, the middle of {TIMES}"), least, &tar);
    for (mode, how) in [(IsolationMode::Bubblewrap, "layers"), (IsolationMode::None, "copies: mode none")] {
        let folder = tempfile::tempdir().expect("a folder");
        let running = Running::start(folder.path(), &files, mode).await;
        running.order().await;
        let mut ready = Vec::new();
        for _ in 0..TIMES {
            ready.push(running.order().await.since_task);
        }
        running.stop().await;
        let (middle, slowest) = middle_and_tail(ready);
        line(how, middle, &format!("{} tar -x", ratio(middle, least)));
        line("  the slowest", slowest, "");
    }
}

/// Puts the same files in an archive, and measures unpacking it.
fn by_hand(files: &BTreeMap<String, Vec<u8>>, setup: &str) -> (String, Duration) {
    let folder = tempfile::tempdir().expect("a folder");
    let tree = folder.path().join("tree");
    for (name, content) in files {
        let path = tree.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, content).expect("a file");
    }
    let run = |program: &str, arguments: &[&str], at: &Path| {
        let begun = Instant::now();
        let ran = Command::new(program).args(arguments).current_dir(at).status().expect("a program");
        assert!(ran.success(), "{program} {arguments:?}");
        begun.elapsed()
    };
    run("sh", &["-c", setup], &tree);
    run("tar", &["-cf", "../tree.tar", "."], &tree);
    let size = std::fs::metadata(folder.path().join("tree.tar")).expect("the archive").len();
    let took = (0..TIMES).map(|number| {
        let place = folder.path().join(number.to_string());
        std::fs::create_dir(&place).expect("a folder");
        run("tar", &["-xf", "../tree.tar"], &place)
    });
    (format!("{} MB", size / 1_000_000), middle_and_tail(took.collect()).0)
}
