//! Killed in the middle of taking away what is old, in each of its steps: the next start does the rest, and nothing is
//! gone that is kept.

use std::fs;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use journeyman::order::{Journal, OrderId};
use journeyman::store::{Artifact, JournalStore as _, Store};
use rustix::process::{Pid, Signal, kill_process};
use sqlx::{AssertSqlSafe, Connection as _, SqliteConnection};

use super::serve::{Serving, run_to_the_end, start};
use super::world::{Agent, PATIENCE, PERSON, REPOSITORY, World};

const MANY: i64 = 4_000;
const FILES: usize = 6_000;
const PACKS: usize = 60;

async fn sql(world: &World, statement: &str) {
    let url = format!("sqlite://{}", world.path("journeyman.db").display());
    let mut database = SqliteConnection::connect(&url).await.expect("a database");
    sqlx::query(AssertSqlSafe(statement)).execute(&mut database).await.expect(statement);
    database.close().await.expect("it closes");
}

async fn count(world: &World, query: &str) -> i64 {
    let url = format!("sqlite://{}", world.path("journeyman.db").display());
    let mut database = SqliteConnection::connect(&url).await.expect("a database");
    let number = sqlx::query_scalar(AssertSqlSafe(query)).fetch_one(&mut database).await.expect(query);
    database.close().await.expect("it closes");
    number
}

fn git(repository: &Path, arguments: &[&str], input: &[u8]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(repository).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().expect("git");
    std::io::Write::write_all(&mut child.stdin.take().expect("stdin"), input).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn age(file: &Path) {
    let file = fs::File::options().append(true).open(file).expect("a file");
    file.set_modified(SystemTime::now() - Duration::from_secs(2 * 60 * 60)).expect("aged");
}

fn number_of_files(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

/// What is kept, as it was before.
struct Kept {
    journals: Vec<Journal>,
    order: OrderId,
    artifacts: Vec<Artifact>,
    folder: PathBuf,
    files: usize,
    /// Of its mirror, a line each.
    objects: String,
}

async fn artifacts(store: &Store, order: OrderId) -> Vec<Artifact> {
    let mut all = Vec::new();
    for info in store.artifacts(order).await.expect("artifacts") {
        all.push(store.artifact(order, &info.name).await.expect("it is whole"));
    }
    all
}

impl Kept {
    async fn assert_there(&self, world: &World, moment: &str) {
        let store = world.store().await;
        for journal in &self.journals {
            let found = store.journal(journal.opened().order).await.expect("a journal");
            let since = found.entries().get(journal.entries().len()..).unwrap_or_default();
            assert_eq!(since, [], "killed {moment}: it says more");
            assert_eq!(&found, journal, "killed {moment}");
        }
        assert_eq!(artifacts(&store, self.order).await, self.artifacts, "killed {moment}");
        store.close().await;
        assert_eq!(number_of_files(&self.folder), self.files, "killed {moment}");
        let found = git(&mirror(world), &["cat-file", "--batch-check"], self.objects.as_bytes());
        let missing = found.lines().filter(|line| line.ends_with("missing")).count();
        assert_eq!((missing, found.lines().count()), (0, PACKS), "killed {moment}");
    }
}

fn mirror(world: &World) -> PathBuf {
    world.path(&format!("data/mirrors/{REPOSITORY}.git"))
}

fn packs(world: &World) -> usize {
    let files = fs::read_dir(mirror(world).join("objects/pack")).expect("packs");
    files
        .filter(|file| {
            file.as_ref().is_ok_and(|file| file.path().extension().is_some_and(|end| end == "pack"))
        })
        .count()
}

/// Two orders that have ended, of which one is old; and much that is old.
async fn grown_old() -> (World, Kept) {
    let mut world = World::new(Agent::Quick).await;
    let mut serving = start(&world).await;
    world.label().await;
    run_to_the_end(&world).await;
    let title = "Take the mean of the middle two, again";
    world.issue = world.emulator.open_issue(REPOSITORY, PERSON, title, "").await.expect("an issue");
    world.label().await;
    run_to_the_end(&world).await;
    until(&world, "quiet", || async {
        let store = world.store().await;
        let waking = store.waking_orders().await.expect("the store can be read");
        store.close().await;
        waking.is_empty()
    })
    .await;
    serving.terminate().await;
    let journals: Vec<Journal> = world.journals().await.into_iter().map(|(journal, _)| journal).collect();
    let [young, old] = [0, 1].map(|number| journals[number].opened().order);

    let store = world.store().await;
    for (order, byte) in [(young, b'y'), (old, b'o')] {
        store.put_artifact(order, "large", "text/plain", &vec![byte; 200_000]).await.expect("kept");
    }
    let kept_artifacts = artifacts(&store, young).await;
    store.close().await;
    let numbers = format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {MANY})");
    sql(
        &world,
        &format!(
            "INSERT INTO deliveries (guid, event, body, received_at, conclusion) \
             {numbers} SELECT 'old-' || i, 'push', randomblob(2000), 1, 'ignored' FROM n"
        ),
    )
    .await;
    sql(
        &world,
        &format!(
            "INSERT INTO artifacts (order_id, name, media_type, size, sha256, content, in_file) \
             {numbers} SELECT '{old}', 'old-' || i, 'text/plain', 2000, '', randomblob(2000), FALSE FROM n"
        ),
    )
    .await;
    sql(&world, &format!("UPDATE orders SET updated_at = 1 WHERE id = '{old}'")).await;
    let orphans = world.path("journeyman.db.artifacts/zz");
    let in_order = world.path(&format!("data/orders/{old}/work/many"));
    for folder in [&orphans, &in_order] {
        fs::create_dir_all(folder).expect("a folder");
        for number in 0..FILES {
            fs::write(folder.join(format!("{number}.gz")), "nobody's").expect("written");
        }
    }
    for folder in fs::read_dir(world.path("journeyman.db.artifacts")).expect("a folder").flatten() {
        for file in fs::read_dir(folder.path()).expect("a folder").flatten() {
            age(&file.path());
        }
    }
    let objects = packed(&world, 1);
    let folder = world.path(&format!("data/orders/{young}"));
    let files = number_of_files(&folder);
    (world, Kept { journals, order: young, artifacts: kept_artifacts, folder, files, objects })
}

/// As many packs of noise in its mirror; their objects, a line each.
fn packed(world: &World, mut noise: u64) -> String {
    let mut objects = String::new();
    for _pack in 0..PACKS {
        let bytes: Vec<u8> = (0..1 << 20)
            .map(|_byte| {
                noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (noise >> 56) as u8
            })
            .collect();
        let blob = git(&mirror(world), &["hash-object", "-w", "--stdin"], &bytes);
        git(&mirror(world), &["pack-objects", "-q", "objects/pack/pack"], blob.as_bytes());
        objects += &format!("{blob}\n");
    }
    git(&mirror(world), &["prune-packed"], b"");
    objects
}

async fn until<F: Future<Output = bool>>(world: &World, what: &str, is_so: impl Fn() -> F) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < PATIENCE, "{what} does not come: {}", world.said());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// With its own git, as systemd and containers do.
async fn kill(world: &World, mut serving: Serving) {
    serving.kill().await;
    let mirror = mirror(world).display().to_string();
    for process in fs::read_dir("/proc").expect("processes").flatten() {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&line).contains(&mirror)
            && let Some(id) = process.file_name().to_str().and_then(|id| Pid::from_raw(id.parse().ok()?))
        {
            let _gone_or_not = kill_process(id, Signal::KILL);
        }
    }
}

/// Whether there is anything of such a name in a folder.
fn holds(folder: &Path, is_it: impl Fn(&str) -> bool) -> bool {
    let names = fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.file_name());
    names.into_iter().any(|name| is_it(&name.to_string_lossy()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_in_each_step_of_taking_away_what_is_old_it_goes_on_at_the_next_start_and_nothing_else_is_gone()
 {
    let (world, mut kept) = grown_old().await;
    let bodies = "SELECT COUNT(*) FROM deliveries WHERE guid LIKE 'old-%' AND length(body) > 0";
    let deliveries = "SELECT COUNT(*) FROM deliveries WHERE guid LIKE 'old-%'";
    let rows = "SELECT COUNT(*) FROM artifacts WHERE name LIKE 'old-%'";
    let orders = world.path("data/orders");
    let gone = || holds(&orders, |name| name.starts_with("gone-"));
    let serving = start(&world).await;
    until(&world, "a folder on its way", || async { gone() }).await;
    kill(&world, serving).await;
    assert!(gone(), "in the middle");
    kept.assert_there(&world, "in a folder").await;

    let serving = start(&world).await;
    until(&world, "fewer artifacts", || async { count(&world, rows).await < MANY }).await;
    kill(&world, serving).await;
    assert!(!gone() && count(&world, rows).await > 0);
    kept.assert_there(&world, "among artifacts").await;

    let orphans = world.path("journeyman.db.artifacts/zz");
    let serving = start(&world).await;
    until(&world, "fewer files", || async { number_of_files(&orphans) < FILES }).await;
    kill(&world, serving).await;
    assert!(number_of_files(&orphans) > 0, "in the middle");
    assert_eq!(count(&world, rows).await, 0);
    kept.assert_there(&world, "among files").await;

    for (moment, query) in [("among bodies", bodies), ("among deliveries", deliveries)] {
        let before = count(&world, query).await;
        let serving = start(&world).await;
        until(&world, moment, || async { count(&world, query).await < before }).await;
        kill(&world, serving).await;
        assert!(count(&world, query).await > 0, "{moment}: some are left");
        kept.assert_there(&world, moment).await;
    }

    let in_packs = mirror(&world).join("objects/pack");
    let is_repacked = || holds(&in_packs, |name| name.contains("tmp"));
    for late in 1..=5 {
        let serving = start(&world).await;
        until(&world, "packs put together", || async { is_repacked() }).await;
        kill(&world, serving).await;
        if packs(&world) >= PACKS {
            break;
        }
        // Git was quicker than whoever looks.
        assert!(late < 5, "never in the middle");
        kept.objects += &packed(&world, late + 1);
    }
    kept.assert_there(&world, "among packs").await;

    let mut serving = start(&world).await;
    until(&world, "the end", || async { number_of_files(&orphans) == 0 && packs(&world) < 10 }).await;
    kept.assert_there(&world, "and then not").await;
    let old = kept.journals[1].opened().order;
    assert!(!world.path(&format!("data/orders/{old}")).exists() && !gone());
    assert!(world.store().await.artifacts(old).await.expect("a store").is_empty());
    assert_eq!(count(&world, deliveries).await, 0);
    serving.terminate().await;
    assert!(!is_repacked(), "nothing half done is left among the packs");
}
