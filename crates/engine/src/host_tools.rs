//! This machine's tools for jobs, and their versions.
//!
//! May know: the PATH, and how to start a program of this machine with fixed words. Must never know: repositories.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};

use journeyman_environment::{HostTools, version_arguments};
use journeyman_sandbox::Sandbox;

/// Seconds that a program may take to print its version.
const LONGEST: &str = "5";

static KNOWN: LazyLock<Mutex<BTreeMap<PathBuf, Option<String>>>> = LazyLock::new(Mutex::default);

pub(crate) fn with<T>(sandbox: &Sandbox, work: impl FnOnce(&HostTools<'_>) -> T) -> T {
    // Names come from our own tables; a name with a slash is not one of them.
    let locate = |program: &str| sandbox.locate(program).filter(|_| !program.contains('/'));
    let version = |program: &str| version(&locate(program)?, &sandbox.host_environment());
    work(&HostTools::new(&|program| locate(program).is_some(), &version))
}

fn version(program: &Path, environment: &[(String, OsString)]) -> Option<String> {
    if let Some(known) = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(program) {
        return known.clone();
    }
    let said = ask(program, environment);
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(program.to_owned(), said.clone());
    said
}

/// What a program prints about its version. Java uses standard error.
fn ask(program: &Path, environment: &[(String, OsString)]) -> Option<String> {
    let ran = Command::new("timeout")
        .args(["-s", "KILL", LONGEST])
        .arg(program)
        .args(version_arguments(program.file_name().and_then(|name| name.to_str()).unwrap_or_default()))
        .env_clear()
        .envs(environment.iter().cloned())
        .current_dir("/")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let said = [ran.stdout, ran.stderr].concat();
    ran.status.success().then(|| String::from_utf8_lossy(&said).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_of_this_machine_says_its_version() {
        assert!(version(Path::new("/usr/bin/git"), &[]).unwrap().starts_with("git version"));
        assert_eq!(version(Path::new("/usr/bin/no-such-program"), &[]), None);
    }

    /// The tool runs outside the sandbox.
    #[test]
    fn a_tool_of_this_machine_has_nothing_of_the_servers_environment() {
        let place = tempfile::tempdir().unwrap();
        let tool = place.path().join("tool");
        std::fs::write(&tool, "#!/bin/sh\nenv\n").unwrap();
        std::fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "there is something to be seen");
        let own = [("PATH".to_owned(), OsString::from("/usr/bin:/bin"))];
        let said = ask(&tool, &own).unwrap();
        let names: Vec<&str> = said.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        assert!(names.iter().all(|name| ["PATH", "PWD", "SHLVL", "_", "OLDPWD"].contains(name)), "{said}");
        assert!(said.contains("PATH=/usr/bin:/bin"), "{said}");
    }
}
