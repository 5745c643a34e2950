//! A job's folders as seen inside, with any nesting and content.

use super::*;

#[tokio::test]
async fn folders_in_folders_are_each_as_they_were_asked_for() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let odd = "a:b,c \"d\" 'e' $f\\g";
        for folder in ["work/closed/open", "other/inner", odd] {
            fs::create_dir_all(place.path(folder)).unwrap();
        }
        let tried = "for at in work work/closed work/closed/open other/inner \"$1\"; do \
                     touch \"$0/$at/made\" 2>/dev/null && echo \"$at\"; done; ls -A \"$0/other\"";
        let mut job = place.job(&["sh", "-c", tried, place.root.path().to_str().unwrap(), odd]);
        let mount = |name: &str, access| Mount { path: place.path(name), access };
        job.mounts.extend([
            mount("work/closed/open", MountAccess::ReadWrite),
            mount("work/closed", MountAccess::ReadOnly),
            mount("other/inner", MountAccess::ReadOnly),
            // Of two at the same place the later wins.
            mount(odd, MountAccess::ReadOnly),
            mount(odd, MountAccess::ReadWrite),
        ]);
        let (_, out, said) = place.run(job).await;
        assert_eq!((out, said), (format!("work\nwork/closed/open\n{odd}\ninner"), String::new()));
        assert!(place.path(odd).join("made").exists() && !place.path("work/closed/made").exists());
    }
}

#[tokio::test]
async fn a_password_in_settings_among_the_machines_programs_is_not_shown() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        fs::create_dir_all(place.path("machine/etc")).unwrap();
        let settings = place.path("machine/etc/npmrc");
        fs::write(&settings, "//npm.example/:_authToken=canary\ncafile=/usr/ca.pem\n").unwrap();
        let mut reads = ReadablePaths::of_this_machine(vec![place.path("machine")]).unwrap();
        reads.credential_files = vec![settings.clone(), place.path("machine/etc/not-there")];
        let sandbox = Sandbox::with(mode, reads, None).await.unwrap();
        let place = SandboxFixture { sandbox, ..place };
        let (_, out, said) = place
            .sh(&format!(
                "cat {0}; echo x >> {0} || ls {1}",
                settings.display(),
                place.path("machine/etc").display()
            ))
            .await;
        assert!(said.contains("Read-only file system") || said.contains("Permission denied"), "{said}");
        assert_eq!(out, "cafile=/usr/ca.pem\nnpmrc");
        let kept = fs::read_to_string(&settings).unwrap();
        assert!(kept.contains("canary"), "the machine's own is as it was");
    }
}

#[tokio::test]
async fn a_device_that_lies_in_a_folder_of_a_job_is_none() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let made = std::process::Command::new("mknod")
            .arg(place.path("work/zero"))
            .args(["c", "1", "5"])
            .output()
            .unwrap();
        if !made.status.success() {
            eprintln!("skipped: who runs this may make no device");
            return;
        }
        let (_, out, said) = place.sh("head -c 1 zero && echo opened").await;
        assert_eq!(out, "");
        assert!(said.contains("Permission denied"), "{said}");
    }
}

#[tokio::test]
async fn a_job_has_terminals_of_its_own() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let open = "import os, pty
ours, theirs = pty.openpty()
os.write(theirs, b'x')
print(os.ttyname(theirs), os.read(ours, 1), sorted(os.listdir('/dev/pts')))";
        let (_, out, said) = place.run(place.job(&["python3", "-c", open])).await;
        assert_eq!(out, "/dev/pts/0 b'x' ['0', 'ptmx']", "{said}");
    }
}

/// For the second run of the next test: a folder with a mount inside.
const OUTER: &str = "JOURNEYMAN_TEST_OUTER";

#[tokio::test]
async fn what_is_mounted_in_a_folder_of_the_host_can_be_written_no_more_than_the_folder() {
    let Some(outer) = std::env::var_os(OUTER).map(PathBuf::from) else {
        let places = tempfile::tempdir_in(journeyman_test_support::repository().join("target")).unwrap();
        let outer = places.path().join("outer");
        fs::create_dir_all(outer.join("inner")).unwrap();
        let script = "mount -t tmpfs none \"$0/inner\" && echo seen >\"$0/inner/file\" && exec \"$@\"";
        let test =
            "tests::mounts::what_is_mounted_in_a_folder_of_the_host_can_be_written_no_more_than_the_folder";
        let again = std::process::Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
            .arg(&outer)
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(OUTER, &outer)
            .env(PLACES, places.path())
            .output()
            .unwrap();
        let said =
            [again.stdout, again.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).join("\n");
        assert!(again.status.success() && said.contains("1 passed"), "{said}");
        return;
    };
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        for (access, answer) in [(MountAccess::ReadOnly, "seen"), (MountAccess::ReadWrite, "seen\nwritten")] {
            let script = "cat inner/file; touch inner/new 2>/dev/null && echo written";
            let mut job = place.job(&["sh", "-c", script]);
            (job.directory, job.mounts) = (outer.clone(), vec![Mount { path: outer.clone(), access }]);
            assert_eq!(place.run(job).await.1, answer, "{access:?}");
        }
    }
}
