//! Tests changes to a local repository as an order would: real commits in a real sandbox.

use std::path::Path;
use std::time::Duration;

use journeyman::engine::EnvironmentSurvey;
use journeyman::engine::testing::{BaselineSource, CommitTester, TestRunRequest, TestRunResult};
use journeyman::environment::EnvironmentPlan;
use journeyman::order::{
    IssueExamination, PinnedImages, RepositoryName, RepositorySettings, TestingSettings,
};
use journeyman::sandbox::{IsolationMode, Sandbox};
use journeyman::workspace::Workspaces;

use crate::cheats::commits::{self, Commits};

/// One repository for many changes. Those with the same base commit share its baseline and environment.
pub struct ChangeTester {
    place: tempfile::TempDir,
    pub testing: CommitTester,
}

/// A change to test.
pub struct TestedChange {
    pub commits: Commits,
    pub settings: RepositorySettings,
    /// The text of the issue.
    pub issue: String,
    pub examination: Option<IssueExamination>,
    /// Images that are already resolved.
    pub images: PinnedImages,
    /// Whether its base is free of anything an agent wrote.
    pub base_is_of_the_default_branch: bool,
    pub is_of_a_fork: bool,
}

impl TestedChange {
    /// A change on top of a commit of the default branch.
    pub fn new(commits: Commits, settings: RepositorySettings) -> Self {
        let (issue, images) = (String::new(), PinnedImages::default());
        Self {
            commits,
            settings,
            issue,
            examination: None,
            images,
            base_is_of_the_default_branch: true,
            is_of_a_fork: false,
        }
    }
}

impl ChangeTester {
    pub async fn new(mode: IsolationMode, settings: TestingSettings) -> Self {
        let place = tempfile::tempdir().expect("a folder");
        git2::Repository::init(place.path().join("repository")).expect("a repository");
        let workspaces = Workspaces::new(&place.path().join("data")).expect("a data folder");
        workspaces.import_local(&name(), &place.path().join("repository")).expect("the commits");
        let sandbox = Sandbox::new(mode, Vec::new()).await.expect("a sandbox");
        Self { testing: CommitTester::new(sandbox, workspaces, settings).await.expect("a tester"), place }
    }

    /// In a sandbox, with this timeout for a test run.
    pub async fn within(seconds: u64) -> Self {
        let test_time = Duration::from_secs(seconds);
        Self::new(IsolationMode::Bubblewrap, TestingSettings { test_time, ..TestingSettings::default() })
            .await
    }

    pub fn repository(&self) -> git2::Repository {
        git2::Repository::open(self.place.path().join("repository")).expect("the repository")
    }

    /// Commits the files `before`, then the files `after`.
    pub fn commits_of(&self, before: &[(&str, &str)], after: &[(&str, &str)]) -> Commits {
        let change = tempfile::tempdir().expect("a folder");
        for (side, files) in [("before", before), ("after", after)] {
            for (name, text) in files {
                let path = change.path().join(side).join(name);
                std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                std::fs::write(path, text).expect("a file");
            }
        }
        self.commits(change.path())
    }

    /// Commits the folders `before` and `after`.
    pub fn commits(&self, folder: &Path) -> Commits {
        commits::commits(&self.repository(), folder)
    }

    /// Tests a change. Changes that are tested at the same time need different `case` names.
    pub async fn tested(&self, case: &str, change: TestedChange) -> TestRunResult {
        let tested = self.testing.run(&self.request(case, change)).await;
        tested.unwrap_or_else(|trouble| panic!("{case}: {}", trouble.message))
    }

    /// Prepares the environment of a change's base, as happens before any agent runs.
    pub async fn surveyed(&self, case: &str, change: TestedChange) -> EnvironmentSurvey {
        let surveyed = self.testing.survey(&self.request(case, change), BaselineSource::Run).await;
        surveyed.unwrap_or_else(|trouble| panic!("{case}: {}", trouble.message))
    }

    /// The plan of a change's base: how it is set up and tested.
    pub async fn planned(&self, case: &str, change: TestedChange) -> EnvironmentPlan {
        let planned = self.testing.environment_plan(&self.request(case, change)).await;
        planned.unwrap_or_else(|trouble| panic!("{case}: {}", trouble.message))
    }

    fn request(&self, case: &str, change: TestedChange) -> TestRunRequest {
        let Commits { before, after } = change.commits;
        let commits = [before, after].map(|commit| commit.to_string().parse().expect("a commit"));
        TestRunRequest {
            base_is_of_the_default_branch: change.base_is_of_the_default_branch,
            is_of_a_fork: change.is_of_a_fork,
            issue: change.issue,
            examination: change.examination,
            images: change.images,
            folder: self.place.path().join("tests").join(case),
            environments: self.place.path().join("environments").join(case),
            ..TestRunRequest::new(name(), commits, change.settings, self.place.path())
        }
    }
}

/// The repository's name.
pub fn name() -> RepositoryName {
    "ada/sample".parse().expect("a name")
}

/// Settings with this test command.
pub fn tested_by(command: &str) -> RepositorySettings {
    RepositorySettings { test: Some(command.to_owned()), ..RepositorySettings::default() }
}

/// Settings with `setup.sh` as the setup and `test.sh` as the test command.
pub fn setup_and_test() -> RepositorySettings {
    RepositorySettings {
        setup: Some("sh setup.sh".to_owned()),
        test: Some("sh test.sh".to_owned()),
        ..RepositorySettings::default()
    }
}
