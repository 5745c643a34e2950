//! `journeyman serve` under the restrictions of deploy/journeyman.service, set up by hand.

use std::path::Path;
use std::process::Command;

use journeyman::setup::{ServicePlan, ServiceScope, has_user_manager};

use super::local::{AROUND, RIGHT};
use super::program::journeyman;
use super::server::World;

const UNIT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/journeyman.service");
const AS_UNIT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reality/as_unit.py");
const PROGRAM: &str = env!("CARGO_BIN_EXE_journeyman");

const FILES: &[(&str, &str)] = &[
    ("sum.sh", "echo $(($1 - $2))\n"),
    (".github/journeyman.yml", "test: sh test.sh\n"),
    (
        "test.sh",
        "echo 1..1\nif [ \"$(sh sum.sh 2 3)\" = 5 ]; then echo 'ok 1 - sums'; else echo 'not ok 1 - sums'; exit 1; fi\n",
    ),
];

/// Settings of a scripted agent, with the script beside them.
fn agents(before: &str) -> String {
    format!(
        "{before}[defaults]\nagent = \"worker\"\n[agents.worker]\nruntime = \"command\"\n\
         program = [{PROGRAM:?}, \"scripted-agent\", \"--script\", \"FOLDER/script.yaml\"]\n\
         read = [{PROGRAM:?}, \"FOLDER/script.yaml\"]\n"
    )
}

/// Puts the server's data beside its settings.
const KEPT: &str = "[store]\nurl = \"sqlite://kept/journeyman.db\"\n[data]\ndir = \"kept/data\"\n";

/// A command as systemd would start it from this unit.
fn as_unit(unit: &Path, folder: &Path, command: &[&str]) -> Command {
    let mut started = journeyman(folder, &[]);
    let environment: Vec<_> =
        started.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
    started = Command::new("python3");
    started.arg(AS_UNIT).arg(unit).arg(folder).args(command).env_clear().envs(environment);
    started
}

fn is_possible() -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let tried = as_unit(UNIT.as_ref(), folder.path(), &["/bin/true"]).output().expect("python3 runs");
    let said = String::from_utf8_lossy(&tried.stderr).into_owned();
    match tried.status.code() {
        Some(0) => true,
        Some(77) => {
            eprintln!("SKIPPED: {said}");
            false
        }
        other => panic!("{other:?}: {said}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_unit_lets_the_server_start_bound_its_jobs_and_verify_a_change() {
    if !is_possible() {
        return;
    }
    let serve = |folder: &Path| {
        std::fs::write(folder.join("script.yaml"), format!("{AROUND}{RIGHT}")).expect("a file");
        as_unit(UNIT.as_ref(), folder, &[PROGRAM, "serve"])
    };
    let world = World::start_by(serve, &agents(""), FILES, ("sum.sh subtracts", "It should add.")).await;
    world.label().await;

    let pull = world.ready_pull().await;

    assert!(
        pull.issue.body.contains("Verified") && pull.issue.body.contains("1 passed"),
        "{}",
        pull.issue.body
    );
    let outside = journeyman(Path::new("/"), &["doctor"]).output().expect("it runs");
    if String::from_utf8_lossy(&outside.stdout).contains("memory bounded by") {
        assert!(world.said().contains("processes and memory bounded by"), "{}", world.said());
    }
    assert_eq!(world.stop().await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_unit_that_setup_writes_is_one_and_lets_the_server_verify_a_change() {
    if !is_possible() {
        return;
    }
    let serve = |folder: &Path| {
        std::fs::write(folder.join("script.yaml"), format!("{AROUND}{RIGHT}")).expect("a file");
        let plan = ServicePlan::of(&folder.join("journeyman.toml"), ServiceScope::System).expect("a service");
        plan.install().expect("its unit");
        let text = std::fs::read_to_string(&plan.file).expect("the unit");
        assert!(text.contains(&format!("ReadWritePaths={}/kept\n", folder.display())), "{text}");
        assert!(!text.contains("JOURNEYMAN_"), "the settings name both folders: {text}");
        if rustix::process::geteuid().is_root() {
            // The unit has another user, who must reach the program and own the folders.
            let starts_copy = text.contains("ExecStart=/usr/local/bin/journeyman serve");
            let copies = plan.commands.iter().any(|line| line.ends_with(" /usr/local/bin/journeyman"));
            assert_eq!(starts_copy, copies, "{text}{:#?}", plan.commands);
            let owns = format!("chown journeyman: {}/kept", folder.display());
            assert!(plan.commands.contains(&owns), "{:#?}", plan.commands);
        }
        let verified = Command::new("systemd-analyze").arg("verify").arg(&plan.file).output();
        let said = verified
            .map_or_else(|_| String::new(), |said| String::from_utf8_lossy(&said.stderr).into_owned());
        assert!(!said.contains("journeyman.service:"), "{said}");
        as_unit(&plan.file, folder, &[PROGRAM, "serve"])
    };
    let world = World::start_by(serve, &agents(KEPT), FILES, ("sum.sh subtracts", "It should add.")).await;
    world.label().await;

    let pull = world.ready_pull().await;

    assert!(pull.issue.body.contains("Verified"), "{}", pull.issue.body);
    assert_eq!(world.stop().await.code, Some(0));
}

/// Installs a service for the user who runs the tests, so it is only for disposable machines.
#[tokio::test(flavor = "multi_thread")]
async fn a_users_own_systemd_runs_the_unit_that_setup_installs() {
    if std::env::var_os("CI").is_none() || !has_user_manager() {
        eprintln!("SKIPPED: this is no CI, or no systemd of this user runs");
        return;
    }
    let agents = agents(&format!("deliveries = \"pull\"\n{KEPT}"));
    let install = |folder: &Path| {
        std::fs::write(folder.join("script.yaml"), format!("{AROUND}{RIGHT}")).expect("a file");
        let steps = "\"$1\" setup --non-interactive --service user --config \"$2\" && \
                     exec journalctl --user --follow --lines 100 --output cat --unit journeyman";
        let mut command = Command::new("sh");
        command.args(["-c", steps, "sh", PROGRAM]).arg(folder.join("journeyman.toml"));
        command
    };
    let world = World::start_by(install, &agents, FILES, ("sum.sh subtracts", "It should add.")).await;
    world.label().await;

    let pull = world.ready_pull().await;

    assert!(pull.issue.body.contains("Verified"), "{}", pull.issue.body);
    let ended = Command::new("systemctl").args(["--user", "disable", "--now", "journeyman"]).status();
    assert!(ended.expect("systemctl runs").success());
}
