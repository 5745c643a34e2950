//! Folders made of layers: a job's writes stay its own.

use std::os::unix::fs::FileTypeExt as _;

use super::*;

/// A stack of two layers at the job's `work`, with a named layer for this job's writes.
fn stacked(place: &SandboxFixture, name: &str) -> LayerStack {
    for (layer, file) in [("dependencies", "installed"), ("checkout", "source")] {
        fs::create_dir_all(place.path(layer).join("lib")).unwrap();
        fs::write(place.path(layer).join("lib").join(file), layer).unwrap();
        fs::write(place.path(layer).join("both"), layer).unwrap();
    }
    let (upper, work) = (place.path(&format!("{name}.upper")), place.path(&format!("{name}.work")));
    fs::create_dir_all(&upper).unwrap();
    fs::create_dir_all(&work).unwrap();
    let lower = vec![place.path("dependencies"), place.path("checkout")];
    LayerStack { at: place.path("work"), lower, upper, work }
}

async fn sh(place: &SandboxFixture, name: &str, script: &str) -> (JobResult, String, String) {
    let mut job = place.job(&["sh", "-c", script]);
    job.layers = vec![stacked(place, name)];
    place.run(job).await
}

#[tokio::test]
async fn what_a_job_writes_into_its_layers_nobody_else_sees() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let poison = "cat both lib/*; echo poison >lib/installed; rm lib/source; mkdir new; echo more >new/file; \
                  mv lib other && ls other";
        let (ended, out, said) = sh(&place, "first", poison).await;
        assert_eq!((ended.exit, said.as_str()), (Exit::Code(0), ""));
        assert_eq!(out, "dependenciesdependenciescheckoutinstalled");
        let (_, out, said) = sh(&place, "second", "cat lib/*; ls").await;
        assert_eq!((out.as_str(), said.as_str()), ("dependenciescheckoutboth\nlib", ""));
        assert_eq!(fs::read_to_string(place.path("dependencies/lib/installed")).unwrap(), "dependencies");
        assert_eq!(fs::read_dir(place.path("work")).unwrap().count(), 0, "nothing lies where it is seen");
        // The job continues with its earlier writes.
        let (_, out, _) = sh(&place, "first", "cat other/installed new/file; ls").await;
        assert_eq!(out, "poison\nmore\nboth\nnew\nother");
        let gone = fs::symlink_metadata(place.path("first.upper/lib")).unwrap().file_type();
        assert!(gone.is_char_device(), "{gone:?}");
    }
}

#[tokio::test]
async fn what_a_layer_says_of_itself_leads_nowhere() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        stacked(&place, "made");
        // A setup could leave this: a folder that redirects to another, and a file that says where its data is.
        let named = |path: PathBuf, name: &str, value: &str| {
            rustix::fs::setxattr(&path, name, value.as_bytes(), rustix::fs::XattrFlags::empty()).unwrap();
        };
        for name in ["user.overlay.redirect", "user.overlay.metacopy"] {
            named(place.path("dependencies/lib"), name, "/other");
            named(place.path("dependencies/both"), name, "/../other/secret");
        }
        fs::create_dir(place.path("checkout/other")).unwrap();
        let (_, out, said) =
            sh(&place, "run", "cat both; ls lib; find . -name secret; cat /other/secret ../other/secret")
                .await;
        // The kernel refuses such entries, and what is below them.
        assert_eq!(out, "", "{said}");
        assert!(said.contains("both: Operation not permitted") && !said.contains("canary"), "{said}");
    }
}

#[tokio::test]
async fn a_job_in_layers_has_no_more_rights_than_another() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let look = "id -u; grep -E 'CapEff|CapPrm|CapBnd|NoNewPrivs' /proc/self/status; \
                mount -t tmpfs none . 2>/dev/null && echo mounted; unshare -Ur true 2>/dev/null && echo unshared; \
                umount . 2>/dev/null && echo unmounted; grep -c . /proc/self/uid_map";
        let (_, plain, _) = place.sh(look).await;
        let (_, layered, _) = sh(&place, "run", look).await;
        assert_eq!(layered, plain);
        assert!(!plain.contains("mounted") && !plain.contains("unshared"), "{plain}");
    }
}

#[tokio::test]
async fn the_disk_that_is_counted_is_what_the_job_wrote() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        stacked(&place, "run");
        fs::write(place.path("dependencies/large"), vec![1; 32 << 20]).unwrap();
        let run = |script: &'static str| {
            let mut job = place.job(&["sh", "-c", script]);
            job.limits.disk = 16 << 20;
            job.layers = vec![stacked(&place, "run")];
            place.run(job)
        };
        let (ended, _, _) = run("sleep 6").await;
        assert_eq!((ended.exit, ended.limit), (Exit::Code(0), None), "what is below is not the job's");
        let (ended, _, _) = run("head -c 40000000 /dev/zero >more; sync; sleep 20").await;
        assert_eq!(ended.limit, Some(ExceededLimit::Disk(16 << 20)));
        assert!(ended.duration < Duration::from_secs(15), "{ended:?}");
    }
}
