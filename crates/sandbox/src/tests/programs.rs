//! Which programs a job finds, and which files come with each.

use super::*;

#[tokio::test]
async fn a_program_outside_the_allowlist_is_shown_with_what_is_its_own_only() {
    for mode in walls() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let place = SandboxFixture::new(mode).await;
        for folder in
            ["tool/bin", "tool/lib", "links", "server", "node_modules/agent/cli", "node_modules/lib"]
        {
            fs::create_dir_all(place.path(folder)).unwrap();
        }
        let write = |name: &str, text: String| {
            fs::write(place.path(name), text).unwrap();
            fs::set_permissions(place.path(name), fs::Permissions::from_mode(0o755)).unwrap();
        };
        write(
            "tool/bin/agent",
            format!(
                "#!/bin/sh\ncat {}\nls {}",
                place.path("tool/lib/data").display(),
                place.path("other").display()
            ),
        );
        write("tool/lib/data", "data".to_owned());
        write("server/agent", format!("#!/bin/sh\ncat {}", place.path("server/app.pem").display()));
        write("server/app.pem", "the App's key".to_owned());
        write("node_modules/lib/index", "library".to_owned());
        write(
            "node_modules/agent/cli/run",
            format!("#!/bin/sh\ncat {}", place.path("node_modules/lib/index").display()),
        );
        symlink(place.path("tool/bin/agent"), place.path("links/agent")).unwrap();
        for program in ["tool/bin/agent", "links/agent"] {
            let job = place.job(&[place.path(program).to_str().unwrap()]);
            let (ended, out, err) = place.run(job).await;
            assert_eq!(out, "data", "{program}: {err}");
            assert_ne!(ended.exit, Exit::Code(0), "what lies elsewhere is not shown");
        }
        // A key beside a program does not belong to it.
        let job = place.job(&[place.path("server/agent").to_str().unwrap()]);
        let (ended, out, _) = place.run(job).await;
        assert_eq!((ended.exit, out.as_str()), (Exit::Code(1), ""));

        let job = place.job(&[place.path("node_modules/agent/cli/run").to_str().unwrap()]);
        assert_eq!(place.run(job).await.1, "library");

        // A link that the job made in its own folder does not lead outside.
        symlink(place.path("tool/bin/agent"), place.path("work/agent")).unwrap();
        assert_eq!(place.run(place.job(&["./agent"])).await.0.exit, Exit::Code(127));
    }
}
