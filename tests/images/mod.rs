//! Repositories that name an image: setup and tests run in it, and its digest is recorded.

mod services;

use std::path::Path;
use std::time::Duration;

use journeyman::order::{PinnedImages, RepositorySettings, TestVerdict, TestingSettings};
use journeyman::sandbox::IsolationMode;
use journeyman_test_support::archives::{TestArchive, TestImage, TestLayer, gzip};
use journeyman_test_support::local_registry::LocalRegistry;
use journeyman_test_support::root::copy_programs;

use crate::change_tester::{ChangeTester, TestedChange, setup_and_test};

/// Programs in these images.
const PROGRAMS: [&str; 11] =
    ["sh", "cat", "ls", "mkdir", "rm", "id", "env", "chmod", "sleep", "touch", "grep"];

/// An image with a few programs and a word that identifies it.
fn image(word: &str) -> TestImage {
    image_with(word, |_| ())
}

/// The same, with additions to its root.
pub fn image_with(word: &str, put: impl FnOnce(&Path)) -> TestImage {
    let root = tempfile::tempdir().expect("a folder");
    copy_programs(root.path(), &PROGRAMS);
    std::fs::create_dir_all(root.path().join("opt")).expect("a folder");
    std::fs::write(root.path().join("etc/os-release"), format!("NAME={word}\n")).expect("a file");
    put(root.path());
    of_folder(root.path(), r#""Env":["PATH=/opt/tool/bin:/bin","TOOL=of the image"]"#)
}

fn of_folder(root: &Path, config: &str) -> TestImage {
    TestImage::with_config(vec![TestLayer::of(TestArchive::of_folder(root).bytes(), gzip)], config)
}

async fn tester() -> ChangeTester {
    let settings = TestingSettings {
        setup_time: Duration::from_secs(60),
        test_time: Duration::from_secs(60),
        keep: 1 << 30,
        ..TestingSettings::default()
    };
    ChangeTester::new(IsolationMode::Bubblewrap, settings).await
}

const SETUP: &str = "echo 'the setup ran'; mkdir -p /opt/tool/bin; echo 'echo the tool' >/opt/tool/bin/tool
chmod +x /opt/tool/bin/tool; cat /opt/poison || :";

const TEST: &str = "cat /etc/os-release; tool; echo $TOOL; id -u; cat code; ls /usr/bin
echo poison >/opt/poison; echo 'echo poison' >/opt/tool/bin/tool
cat code | grep -q good && echo '1..1
ok 1 - adds' || echo '1..1
not ok 1 - adds'; grep -q good code";

fn files(code: &str) -> [(&str, &str); 3] {
    [("setup.sh", SETUP), ("test.sh", TEST), ("code", code)]
}

#[tokio::test]
async fn setup_and_tests_run_in_the_image_and_its_digest_is_written_down() {
    let registry = LocalRegistry::start();
    let first = image("first");
    let name = registry.push("team/python", "3", &first).await;
    let tester = tester().await;
    let settings = RepositorySettings { image: Some(name.clone()), ..setup_and_test() };
    let change = |code: &'static str, images: PinnedImages| {
        let commits = tester.commits_of(&files("bad\n"), &files(code));
        TestedChange { images, ..TestedChange::new(commits, settings.clone()) }
    };
    let fixed = tester.tested("fixed", change("good\n", PinnedImages::default())).await;
    assert_eq!(fixed.run.verdict, TestVerdict::Passed, "{}", fixed.run.tail);
    let pinned = format!("{}@{}", name.trim_end_matches(":3"), first.digest());
    assert_eq!(fixed.run.image.as_deref(), Some(pinned.as_str()));
    let told = fixed.outputs.iter().find(|output| output.name == "tests").expect("an output");
    insta::assert_snapshot!(told.text, @"
    NAME=first
    the tool
    of the image
    1000
    good
    1..1
    ok 1 - adds
    ");

    // The tag now points to another image. An order that has resolved it is not affected.
    let second = image("second");
    registry.push("team/python", "3", &second).await;
    let mut known = PinnedImages::default();
    known.insert(name.clone(), pinned.clone());
    let same = tester.tested("same", change("good and more\n", known)).await;
    assert_eq!(same.run.image.as_deref(), Some(pinned.as_str()));
    let output = same.outputs.iter().find(|output| output.name == "tests").expect("an output");
    assert!(output.text.starts_with("NAME=first\nthe tool\n"), "nobody sees poison: {}", output.text);
    let setup = same.outputs.iter().find(|output| output.name == "setup");
    assert_eq!(setup, None, "the setup ran once for both");
    let other = tester.tested("other", change("bad still\n", PinnedImages::default())).await;
    assert_eq!(other.run.verdict, TestVerdict::Failed);
    assert!(other.run.tail.starts_with("NAME=second"), "{}", other.run.tail);
}

#[tokio::test]
async fn an_image_that_cannot_be_had_is_told_with_what_to_change() {
    let registry = LocalRegistry::start();
    let tester = tester().await;
    let empty = tempfile::tempdir().expect("a folder");
    std::fs::write(empty.path().join("file"), "no program").expect("a file");
    let empty = registry.push("team/empty", "1", &of_folder(empty.path(), "")).await;
    for (image, why) in [
        (empty, "there is no /bin/sh in it"),
        (format!("{}/team/none:3", registry.host), "is not in its registry"),
        ("not a name".to_owned(), "`not a name`"),
    ] {
        let settings = RepositorySettings { image: Some(image.clone()), ..setup_and_test() };
        let commits = tester.commits_of(&files("bad\n"), &files("good\n"));
        let told = tester.surveyed("one", TestedChange::new(commits, settings)).await;
        let problem = told.report.problem.expect("a problem").told();
        let name = image.trim_end_matches(":1");
        assert!(problem.starts_with(&format!("The image `{name}")), "{problem}");
        assert!(problem.contains("` cannot be used: "), "{problem}");
        assert!(problem.contains(why) && problem.contains("`image` in .github/journeyman.yml"), "{problem}");
    }
}
