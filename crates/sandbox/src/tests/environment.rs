//! A job's variables.

use super::*;

#[tokio::test]
async fn the_environment_is_empty_but_for_what_the_job_names() {
    for mode in every_mode() {
        let place = SandboxFixture::new(mode).await;
        let mut job = place.job(&["env"]);
        job.environment.insert("COLOUR".into(), "blue\ngreen = x".into());
        let (_, out, _) = place.run(job).await;
        assert!(out.contains("COLOUR=blue\ngreen = x"));
        assert!(out.contains(&format!("HOME={}", place.path("home").display())));
        let mut names: Vec<_> = out.lines().filter_map(|l| l.split_once('=')).map(|(n, _)| n).collect();
        names.retain(|name| name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'));
        let known = ["PATH", "HOME", "LANG", "TMPDIR", "COLOUR", "PWD", "SHLVL", "_", "OLDPWD"];
        let toolchains = ["RUSTUP_HOME", "PYENV_ROOT", "RBENV_ROOT", "NVM_DIR", "GOROOT", "JAVA_HOME"];
        let strange: Vec<_> = names
            .iter()
            .filter(|n| !known.contains(n) && !toolchains.contains(n) && !n.ends_with("_HOME"))
            .collect();
        assert!(strange.is_empty(), "{strange:?}");
    }
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let mut job = place.job(&["sh", "-c", "cat /proc/1/environ | tr '\\0' '\\n' | grep -v ^PWD="]);
        job.environment.insert("KEY".into(), "canary".into());
        assert_eq!(place.run(job).await.1, "", "the first process shows nothing either");
    }
}
