//! A machine where the sandbox is impossible: nothing runs, and the error says what to do.

use std::os::unix::fs::PermissionsExt;

use super::*;

const MODE: &str = "JOURNEYMAN_TEST_MODE";

/// Programs found before the real ones.
struct FakePrograms {
    folder: PathBuf,
    path: String,
}

impl FakePrograms {
    fn new(place: &SandboxFixture) -> Self {
        let folder = place.path("bin");
        fs::create_dir(&folder).unwrap();
        let path = std::env::join_paths([folder.as_path(), "/usr/bin".as_ref(), "/bin".as_ref()]).unwrap();
        Self { folder, path: path.into_string().unwrap() }
    }

    fn put(&self, name: &str, script: &str) {
        let at = self.folder.join(name);
        fs::write(&at, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&at, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The error for a sandbox with these programs.
    fn said(&self, mode: IsolationMode) -> String {
        let mode = mode.to_string();
        let test = "unavailable::without_walls_that_work_there_is_no_sandbox";
        again(test, false, &[("PATH", &self.path), (MODE, &mode)])
    }
}

#[tokio::test]
async fn without_walls_that_work_there_is_no_sandbox() {
    if is_again() {
        let asked = std::env::var(MODE).unwrap();
        let mode = walls().find(|mode| mode.to_string() == asked).unwrap();
        let error = Sandbox::new(mode, Vec::new()).await.unwrap_err();
        println!("said: {error}");
        assert!(Sandbox::new(IsolationMode::None, Vec::new()).await.is_ok(), "asked for by name");
        return;
    }
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let programs = FakePrograms::new(&place);
        let (name, error) = ("bwrap", "cannot make its namespaces here (");
        programs.put(name, "echo 'bwrap: No permissions to create new namespace' >&2\nexit 1");
        let said = programs.said(mode);
        assert!(said.contains(&format!("{error}bwrap: No permissions")), "{said}");
        // A silent bubblewrap gets no more time.
        programs.put(name, "exec sleep 40");
        let said = programs.said(mode);
        assert!(said.contains("bwrap has not started a job within"), "{said}");
        // A program that always succeeds does not count as a sandbox.
        programs.put(name, "exit 0");
        let said = programs.said(mode);
        assert!(said.contains(error), "{said}");
    }
}

#[test]
fn it_is_said_what_is_not_installed() {
    let bubblewrap = SandboxError::Missing.to_string();
    assert!(bubblewrap.contains("no `bwrap` is on the PATH: install it"), "{bubblewrap}");
}
