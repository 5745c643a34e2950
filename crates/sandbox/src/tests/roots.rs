//! Jobs with their own root.

use std::os::unix::fs::symlink;

use super::*;

/// A root with a few programs of this machine and a distinguishing file.
fn image(place: &SandboxFixture) -> PathBuf {
    let root = place.path("image");
    journeyman_test_support::root::copy_programs(&root, &["sh", "cat", "id", "ls", "rm", "env", "readlink"]);
    fs::write(root.join("etc/os-release"), "of the image").unwrap();
    fs::write(root.join("etc/passwd"), "root:x:0:0:of the image").unwrap();
    root
}

fn rooted(place: &SandboxFixture, image: PathBuf, program: ProgramOwner) -> JobRoot {
    let [at, upper, work] = ["root", "root.upper", "root.work"].map(|name| place.path(name));
    for folder in [&at, &upper, &work] {
        fs::create_dir_all(folder).unwrap();
    }
    let search = vec!["/bin".into()];
    let variables = BTreeMap::from([("FROM".to_owned(), "the image".to_owned())]);
    JobRoot { layers: LayerStack { at, lower: vec![image], upper, work }, search, variables, program }
}

#[tokio::test]
async fn a_job_sees_the_image_instead_of_the_system_and_its_own_folders() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let image = image(&place);
        fs::write(place.path("work/file"), "a file of the job").unwrap();
        let mut job = place.job(&[
            "sh",
            "-c",
            "cat /etc/os-release; echo; cat file; echo; echo $FROM $PATH $(id -u); ls /; \
        cat /etc/passwd; echo new >/etc/new; rm /etc/os-release; ls /etc",
        ]);
        job.root = Some(rooted(&place, image.clone(), ProgramOwner::Root));
        job.relocations =
            vec![Relocation { host: place.root.path().to_owned(), inside: "/workspace".into() }];
        let (ended, out, said) = place.run(job).await;
        assert_eq!((ended.exit, said.as_str()), (Exit::Code(0), ""));
        insta::allow_duplicates! {
        insta::assert_snapshot!(out, @"
    of the image
    a file of the job
    the image /bin 1000
    bin
    dev
    etc
    lib
    lib64
    proc
    run
    tmp
    usr
    var
    workspace
    root:x:0:0::/:/bin/false
    journeyman:x:1000:1000::/workspace/home:/bin/sh
    group
    hosts
    new
    passwd
    resolv.conf
    ");
        }
        assert_eq!(fs::read_to_string(image.join("etc/os-release")).unwrap(), "of the image");
        assert!(!image.join("etc/new").exists(), "what it wrote is its own");
        assert!(place.path("root.upper/etc/new").is_file());
    }
}

#[tokio::test]
async fn links_of_an_image_lead_nowhere_but_inside() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let image = image(&place);
        fs::remove_file(image.join("etc/passwd")).unwrap();
        let outside = place.path("other");
        for (link, target) in [
            ("tmp", outside.clone()),
            ("workspace", outside.clone()),
            ("run", outside.clone()),
            ("proc", "/oldroot/proc".into()),
            ("var", Path::new("/oldroot").join(outside.strip_prefix("/").unwrap())),
            ("etc/passwd", outside.join("written")),
            ("etc/hosts", Path::new("/oldroot").join(outside.strip_prefix("/").unwrap()).join("hosts")),
            ("secret", outside.join("secret")),
            ("up", "../../../../../../../../etc/shadow".into()),
        ] {
            symlink(target, image.join(link)).unwrap();
        }
        let mut job = place.job(&[
            "sh",
            "-c",
            "cat /secret /up; echo x >/tmp/x; cat /etc/hosts; readlink /workspace /tmp /run; ls /workspace",
        ]);
        job.root = Some(rooted(&place, image, ProgramOwner::Root));
        job.relocations =
            vec![Relocation { host: place.root.path().to_owned(), inside: "/workspace".into() }];
        let (_, out, said) = place.run(job).await;
        assert!(!out.contains("canary") && said.contains("/secret: No such file"), "{out} {said}");
        assert!(said.contains("/up: No such file"), "{said}");
        assert!(out.contains("localhost") && out.ends_with("home\nwork"), "{out}");
        let left: Vec<_> = fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["secret"], "nothing was made outside");
    }
}

#[tokio::test]
async fn a_program_of_the_host_runs_in_an_image_and_brings_what_interprets_it() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let image = image(&place);
        let tools = place.path("tools/bin");
        fs::create_dir_all(&tools).unwrap();
        let script = "#!/usr/bin/env perl\nopen my $file, '<', '/etc/os-release'; print <$file>, -e '/usr/bin/perl' ? 'and the host' : '';\n";
        fs::write(tools.join("agent"), script).unwrap();
        fs::set_permissions(tools.join("agent"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        // The image must have the interpreter's system libraries.
        journeyman_test_support::root::copy_libraries(&image, Path::new("/usr/bin/perl"));
        let mut job = place.job(&[tools.join("agent").to_str().unwrap()]);
        job.environment.insert("LANG".to_owned(), "C".to_owned());
        job.root = Some(rooted(&place, image, ProgramOwner::Host));
        let (ended, out, said) = place.run(job).await;
        assert_eq!((ended.exit, out.as_str(), said.as_str()), (Exit::Code(0), "of the image", ""));
    }
}

#[tokio::test]
async fn a_job_in_an_image_has_no_more_rights_than_another_and_its_disk_is_counted() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let image = image(&place);
        journeyman_test_support::root::copy_programs(
            &image,
            &["grep", "mount", "unshare", "head", "sleep", "sync"],
        );
        let look = "id -u; grep -E 'CapEff|CapPrm|CapBnd|NoNewPrivs' /proc/self/status; \
                mount -t tmpfs none /bin 2>/dev/null && echo mounted; unshare -Ur true 2>/dev/null && echo unshared; \
                echo 1 2>/dev/null >/proc/sys/kernel/panic && echo set; ls /dev";
        let (_, plain, _) = place.sh(look).await;
        let rooted_job = |script: &str| {
            let mut job = place.job(&["sh", "-c", script]);
            job.root = Some(rooted(&place, image.clone(), ProgramOwner::Root));
            job
        };
        let (_, inside, _) = place.run(rooted_job(look)).await;
        assert_eq!(inside, plain);
        assert!(
            !plain.contains("mounted") && !plain.contains("unshared") && !plain.contains("set"),
            "{plain}"
        );
        let mut job = rooted_job("head -c 40000000 /dev/zero >/usr/more; sync; sleep 20");
        job.limits.disk = 16 << 20;
        let (ended, ..) = place.run(job).await;
        assert_eq!(ended.limit, Some(ExceededLimit::Disk(16 << 20)));
    }
}
