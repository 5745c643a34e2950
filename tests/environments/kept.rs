//! What is kept of an environment lies on a disk for weeks: what the disk lost of it is not tested with.

use std::fs;
use std::path::Path;
use std::time::Duration;

use journeyman::order::{TestVerdict, TestingSettings};
use journeyman::sandbox::IsolationMode;

use crate::change_tester::{ChangeTester, TestedChange, name, setup_and_test};

const FILES: [(&str, &str); 4] = [
    ("setup.sh", "echo the setup ran; mkdir -p .venv; echo installed > .venv/tool; echo spoilt >> changed\n"),
    ("test.sh", "cat kept changed .venv/tool code; echo 1..1; echo ok 1 - adds\n"),
    ("kept", "kept\n"),
    ("changed", "changed\n"),
];

/// Tests a change, has the disk do something to what is kept of its environment, starts again and tests another change: what
/// its tests saw, and whether the setup ran for them.
async fn tested_after(damage: impl Fn(&Path)) -> (String, bool) {
    let settings = TestingSettings {
        setup_time: Duration::from_secs(60),
        test_time: Duration::from_secs(60),
        keep: 1 << 30,
        ..TestingSettings::default()
    };
    let mut sample = ChangeTester::new(IsolationMode::Bubblewrap, settings).await;
    let change = |sample: &ChangeTester, code| {
        let with = |code| FILES.into_iter().chain([("code", code)]).collect::<Vec<_>>();
        TestedChange::new(sample.commits_of(&with("0\n"), &with(code)), setup_and_test())
    };
    let first = sample.tested("one", change(&sample, "1\n")).await;
    assert_eq!(first.run.verdict, TestVerdict::Passed, "{first:#?}");
    let shelf = sample.testing.workspaces.environments(&name());
    let kept: Vec<_> = fs::read_dir(shelf).expect("a folder").flatten().collect();
    let [kept] = &kept[..] else { panic!("one environment: {kept:?}") };
    damage(&kept.path());

    sample.restart().await;
    let second = sample.tested("two", change(&sample, "2\n")).await;

    assert_eq!(second.run.verdict, TestVerdict::Passed, "{second:#?}");
    let said = |name: &str| second.outputs.iter().find(|output| output.name == name);
    let seen = said("tests").map(|tests| tests.text.clone()).unwrap_or_default();
    (seen, second.outputs.iter().any(|output| output.text.contains("the setup ran")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_disk_lost_of_a_kept_environment_is_made_again_by_the_next_process() {
    let seen = "kept\nchanged\ninstalled\n2\n1..1\nok 1 - adds\n";
    let again = |is_run| (seen.to_owned(), is_run);
    assert_eq!(tested_after(|_| ()).await, again(false), "what is whole is used again");
    assert_eq!(
        tested_after(|kept| fs::remove_file(kept.join("checkout/kept")).expect("a file")).await,
        again(true)
    );
    assert_eq!(
        tested_after(|kept| fs::write(kept.join("checkout/kept"), "kepu\n").expect("a file")).await,
        again(true)
    );
    // The setup had changed it, so that it lies above the checkout.
    assert_eq!(
        tested_after(|kept| fs::write(kept.join("tree/changed"), "changes\n").expect("a file")).await,
        again(true)
    );
    assert_eq!(
        tested_after(|kept| fs::remove_file(kept.join("tree/.venv/tool")).expect("a file")).await,
        again(true)
    );
}
