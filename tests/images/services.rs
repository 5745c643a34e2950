//! Services for tests: a real PostgreSQL and a real Redis, each in its image, reachable by name, stopped with the run.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use journeyman::order::{RepositorySettings, ServiceSettings, TestVerdict};
use journeyman_test_support::archives::{TestArchive, TestImage, TestLayer};
use journeyman_test_support::local_registry::LocalRegistry;
use journeyman_test_support::repository;
use journeyman_test_support::root::{
    as_installed, copy_file, copy_folder, copy_libraries, copy_program, copy_programs,
};

use super::{PROGRAMS, tester};
use crate::change_tester::TestedChange;

/// As in database images, the first start creates the files.
const START: &str = "#!/bin/sh
set -e
[ -d /var/lib/db/base ] || initdb -D /var/lib/db -U postgres --auth=trust --no-sync --locale=C --encoding=UTF8 >/dev/null
exec postgres -D /var/lib/db -c listen_addresses='*' -c unix_socket_directories=/tmp -c fsync=off -c jit=off
";

/// Uses both by their names, and leaves data behind.
const TEST: &str = "psql -h db -U postgres -Atqc 'create table seen (word text)' || exit
psql -h db -U postgres -Atqc \"insert into seen values ('$(cat answer)')\"
test \"$(redis-cli -h cache get word)\" = '' || exit
redis-cli -h cache set word \"$(cat answer)\"
test \"$(psql -h db -U postgres -Atqc 'select word from seen') $(redis-cli -h cache get word)\" = '42 42' && echo '1..1
ok 1 - answer' && exit
echo '1..1
not ok 1 - answer'; exit 1";

fn first(folders: impl IntoIterator<Item = PathBuf>, what: &str) -> PathBuf {
    let found = folders.into_iter().find(|folder| folder.exists());
    found.unwrap_or_else(|| panic!("{what} is missing: run `make fetch`"))
}

/// The folder of the newest local PostgreSQL's programs.
fn postgres() -> PathBuf {
    let roots = [PathBuf::from("/"), repository().join(".cache/postgres")];
    let versions =
        roots.iter().flat_map(|root| std::fs::read_dir(root.join("usr/lib/postgresql")).into_iter());
    let mut bins: Vec<PathBuf> = versions.flatten().flatten().map(|entry| entry.path().join("bin")).collect();
    bins.sort();
    first(bins.into_iter().rev().filter(|bin| bin.join("postgres").exists()), "PostgreSQL")
}

fn redis() -> PathBuf {
    // Redis is one program that behaves by its name.
    first(
        ["/usr/bin/redis-server".into(), repository().join(".cache/redis/usr/bin/redis-check-rdb")],
        "Redis",
    )
}

/// An image with clients and servers, for tests and database alike.
fn database() -> TestImage {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    copy_programs(root, &PROGRAMS);
    copy_programs(root, &["locale"]);
    let bin = postgres();
    let path = ["/bin".to_owned(), as_installed(&bin).display().to_string()];
    for program in ["postgres", "initdb", "pg_isready", "psql"] {
        copy_file(root, &bin.join(program));
        copy_libraries(root, &bin.join(program));
    }
    let version = bin.parent().expect("a version");
    for library in ["plpgsql.so", "dict_snowball.so"] {
        copy_file(root, &version.join("lib").join(library));
    }
    let share = version.ancestors().nth(3).expect("usr").join("share/postgresql");
    copy_folder(root, &share.join(version.file_name().expect("a version")));
    copy_program(root, &first([redis().with_file_name("redis-cli")], "redis-cli"), "redis-cli");
    std::fs::write(root.join("bin/start"), START).expect("a file");
    std::fs::set_permissions(root.join("bin/start"), PermissionsExt::from_mode(0o755)).expect("a mode");
    of_plain_folder(root, &format!(r#""Env":["PATH={}"],"Entrypoint":["start"]"#, path.join(":")))
}

fn cache() -> TestImage {
    let root = tempfile::tempdir().expect("a folder");
    copy_programs(root.path(), &["sh", "sleep"]);
    copy_program(root.path(), &redis(), "redis-server");
    copy_program(root.path(), &redis().with_file_name("redis-cli"), "redis-cli");
    let config =
        r#""Env":["PATH=/bin"],"Entrypoint":["redis-server"],"Cmd":["--save",""],"WorkingDir":"/tmp""#;
    of_plain_folder(root.path(), config)
}

/// Uncompressed, because compressing would take longer than everything else.
fn of_plain_folder(root: &Path, config: &str) -> TestImage {
    let layer = TestLayer::of(TestArchive::of_folder(root).bytes(), <[u8]>::to_vec);
    TestImage::with_config(vec![layer], config)
}

fn service(image: &str, ready: Option<&str>) -> ServiceSettings {
    ServiceSettings { image: image.to_owned(), ready: ready.map(str::to_owned), ..ServiceSettings::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tests_use_a_database_and_a_cache_and_every_run_has_its_own() {
    let registry = LocalRegistry::start();
    let database = registry.push("team/postgres", "15", &database()).await;
    let cache = registry.push("team/redis", "7", &cache()).await;
    let settings = RepositorySettings {
        image: Some(database.clone()),
        test: Some("sh test.sh".to_owned()),
        services: [
            ("db".to_owned(), service(&database, Some("pg_isready -h 127.0.0.1 -q"))),
            ("cache".to_owned(), service(&cache, Some("redis-cli ping"))),
        ]
        .into(),
        ..RepositorySettings::default()
    };
    let tester = tester().await;
    let files = |answer: &'static str| [("test.sh", TEST), ("answer", answer)];
    let change = TestedChange::new(tester.commits_of(&files("41\n"), &files("42\n")), settings);
    let tested = tester.tested("one", change).await;
    // Red on the base, green with the change. The script needs an empty table in both runs.
    assert_eq!(tested.run.verdict, TestVerdict::Passed, "{}", tested.run.tail);
    assert_eq!(tested.run.doubt, None, "{tested:#?}");
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    let left = lines.filter(|line| line.starts_with(b"postgres\0-D\0/var/lib/db")).count();
    assert_eq!(left, 0, "it ended with the run");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_cannot_be_used_is_told_with_its_last_words() {
    let registry = LocalRegistry::start();
    let root = tempfile::tempdir().expect("a folder");
    copy_programs(root.path(), &["sh", "sleep"]);
    let config = r#""Env":["PATH=/bin"],"Cmd":["sh","-c","echo no room for $THING >&2; exit 3"]"#;
    let image = registry.push("team/broken", "1", &of_plain_folder(root.path(), config)).await;
    let mut broken = service(&image, Some("false"));
    broken.env.insert("THING".to_owned(), "data".to_owned());
    let settings = RepositorySettings {
        test: Some("true".to_owned()),
        services: [("db".to_owned(), broken)].into(),
        ..RepositorySettings::default()
    };
    let tester = tester().await;
    let change = TestedChange::new(tester.commits_of(&[("a", "a")], &[("a", "b")]), settings);
    let problem = tester.surveyed("one", change).await.report.problem.expect("a problem");
    insta::assert_snapshot!(problem.told(), @"The service `db` ended with exit code 3: no room for data. Change the service in .github/journeyman.yml, or where else it stands, on the default branch: its `image`, `env`, or `ready`, a command that succeeds in it once it can be used.");
}
