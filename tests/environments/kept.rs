//! What is kept of an environment is used again by the next process.

use std::time::Duration;

use journeyman::order::{TestVerdict, TestingSettings};
use journeyman::sandbox::IsolationMode;

use crate::change_tester::{ChangeTester, TestedChange, setup_and_test};

/// Installs in a folder of dependencies, downloads what is not there, and changes a file of the repository.
const SETUP: &str = "echo the setup ran; mkdir -p .venv; echo installed > .venv/tool; echo spoilt >> changed
mkdir -p $HOME/.cache/pip; test -e $HOME/.cache/pip/wheel || echo wheel > $HOME/.cache/pip/wheel
";
/// What tests see, beside the code of the change.
const SEEN: &str = "kept\nchanged\ninstalled\nwheel\n";

struct Sample(ChangeTester);

impl Sample {
    async fn new(mode: IsolationMode) -> Self {
        let settings = TestingSettings {
            setup_time: Duration::from_secs(60),
            test_time: Duration::from_secs(60),
            keep: 1 << 30,
            ..TestingSettings::default()
        };
        Self(ChangeTester::new(mode, settings).await)
    }

    /// Tests a change of the code: what its tests saw, and whether the setup ran for it.
    async fn tested(&self, setup: &str, code: &str) -> (String, bool) {
        let files = |code| {
            let test =
                "cat kept changed .venv/tool $HOME/.cache/pip/wheel code; echo 1..1; echo ok 1 - adds\n";
            // Nobody looks into what is compiled.
            let compiled = ("__pycache__/code.pyc", "compiled\n");
            [
                ("setup.sh", setup),
                ("test.sh", test),
                ("kept", "kept\n"),
                ("changed", "changed\n"),
                compiled,
                ("code", code),
            ]
        };
        let commits = self.0.commits_of(&files("before\n"), &files(code));
        let tested = self.0.tested("one", TestedChange::new(commits, setup_and_test())).await;
        assert_eq!(tested.run.verdict, TestVerdict::Passed, "{tested:#?}");
        let seen = tested.outputs.iter().find(|output| output.name == "tests");
        let seen = seen.and_then(|tests| tests.text.strip_suffix("1..1\nok 1 - adds\n")).unwrap_or_default();
        (seen.to_owned(), tested.outputs.iter().any(|output| output.text.contains("the setup ran")))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_kept_is_used_again_also_where_layers_are_copied_and_compiled_files_are_committed() {
    for mode in [IsolationMode::Bubblewrap, IsolationMode::None] {
        let mut sample = Sample::new(mode).await;
        sample.tested(SETUP, "1\n").await;
        for code in ["2\n", "3\n"] {
            sample.0.restart().await;
            assert_eq!(sample.tested(SETUP, code).await, (format!("{SEEN}{code}"), false), "{mode}");
        }
    }
}
