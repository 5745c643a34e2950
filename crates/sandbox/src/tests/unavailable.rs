//! A machine on which the walls cannot be made: nothing is run, and it is said what to do.

use std::os::unix::fs::PermissionsExt;

use super::*;

#[tokio::test]
async fn without_walls_that_work_there_is_no_sandbox() {
    if is_again() {
        let error = Sandbox::new(IsolationMode::Bubblewrap, Vec::new()).await.unwrap_err();
        println!("said: {error}");
        assert!(Sandbox::new(IsolationMode::None, Vec::new()).await.is_ok(), "asked for by name");
        return;
    }
    let place = SandboxFixture::new(IsolationMode::Bubblewrap).await;
    let folder = place.path("bin");
    fs::create_dir(&folder).unwrap();
    // Found before the real one.
    let path = std::env::join_paths([folder.as_path(), "/usr/bin".as_ref(), "/bin".as_ref()]).unwrap();
    let path = [("PATH", path.to_str().unwrap())];
    let test = "unavailable::without_walls_that_work_there_is_no_sandbox";
    let bwrap = folder.join("bwrap");
    fs::write(&bwrap, "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
        .unwrap();
    fs::set_permissions(&bwrap, fs::Permissions::from_mode(0o755)).unwrap();
    let said = again(test, false, &path);
    assert!(said.contains("cannot make its namespaces here (bwrap: No permissions"), "{said}");
    // What runs anything at all with success is not taken for walls.
    fs::write(&bwrap, "#!/bin/sh\nexit 0\n").unwrap();
    let said = again(test, false, &path);
    assert!(said.contains("cannot make its namespaces here"), "{said}");
}
