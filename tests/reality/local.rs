//! The input for `run`: a local git repository with a bug, an issue in a file, and a scripted agent.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::program::{Ended, Running, journeyman};

/// The script for all stages except the implementation.
pub const AROUND: &str = "
- stage: classify
  say: /feature
- stage: branch
  say: add-both-numbers
- stage: plan
  run: mkdir -p .journeyman/plans && echo '# Add in sum.sh' > .journeyman/plans/issue-1-sum.md
  say: .journeyman/plans/issue-1-sum.md
- stage: publish
  say: \"Add both numbers in sum.sh\\n\\nIt subtracted the second one.\"
- stage: review
  role: code_reviewer
  say: '{\"passed\": true, \"score\": 0.9, \"summary\": \"Both numbers count.\", \"issues\": []}'
";

/// The right change.
pub const RIGHT: &str = "
- stage: implement
  usd: 0.25
  run: echo 'echo $(($1 + $2))' > sum.sh && git commit -qam 'Add both numbers' && git push -q origin HEAD
  say: Done.
";

/// A change in every round, but never the right one.
pub const NEVER_RIGHT: &str = "
- stage: implement
  run: echo \"echo $JOURNEYMAN_ROUND\" > sum.sh && git commit -qam 'Try' && git push -q origin HEAD
  say: All tests pass.
";

/// Only text, no commit.
pub const NOTHING_PUSHED: &str = "
- stage: implement
  say: I fixed it, and all 24 tests pass.
";

/// Whether the repository has tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tests {
    There,
    None,
}

pub struct Desk {
    folder: TempDir,
}

impl Desk {
    pub fn new(implementation: &str, tests: Tests) -> Self {
        let desk = Self { folder: TempDir::new().expect("a temporary folder") };
        desk.write("repository/sum.sh", "echo $(($1 - $2))\n");
        if tests == Tests::There {
            desk.write("repository/.github/journeyman.yml", "test: sh test.sh\n");
            desk.write(
                "repository/test.sh",
                "echo 1..2\n[ \"$(sh sum.sh 2 0)\" = 2 ] && echo 'ok 1 - zero' || echo 'not ok 1 - zero'\n\
                 if [ \"$(sh sum.sh 2 3)\" = 5 ]; then echo 'ok 2 - sums'; else echo 'not ok 2 - sums'; exit 1; fi\n",
            );
        }
        desk.git("init -q -b trunk");
        desk.git("add -A");
        desk.git("commit -q -m Begin");
        desk.write("issue.md", "# sum.sh subtracts\n\n`sh sum.sh 2 3` prints -1. It should print 5.\n");
        desk.write("script.yaml", &format!("{AROUND}{implementation}"));
        let (program, script) = (env!("CARGO_BIN_EXE_journeyman"), desk.path("script.yaml"));
        desk.write(
            "config/journeyman/journeyman.toml",
            &format!(
                "[defaults]\nagent = \"worker\"\n[agents.worker]\nruntime = \"command\"\n\
                 program = [{program:?}, \"scripted-agent\", \"--script\", {script:?}]\n\
                 read = [{program:?}, {script:?}]\n"
            ),
        );
        desk
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("its folder");
        fs::write(path, text).expect("the file");
    }

    /// Writes a file in the repository and commits it.
    pub fn commit(&self, name: &str, text: &str) {
        self.write(name, text);
        self.git("add -A");
        self.git("commit -q -m Files");
    }

    /// Git's output for the repository; arguments are separated by spaces.
    pub fn git(&self, words: &str) -> String {
        let mut git = Command::new("git");
        git.arg("-C")
            .arg(self.path("repository"))
            .args(words.split(' '))
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        for who in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{who}_NAME"), "Alice").env(format!("GIT_{who}_EMAIL"), "alice@example.org");
        }
        let output = git.output().expect("git runs");
        assert!(output.status.success(), "git {words}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Everything that must not change in a repository where someone is working.
    pub fn place_of_work(&self) -> [String; 4] {
        ["symbolic-ref HEAD", "rev-parse trunk", "status --porcelain", "diff"].map(|words| self.git(words))
    }

    /// Branches other than the initial one.
    pub fn new_branches(&self) -> Vec<String> {
        let all = self.git("for-each-ref --format=%(refname:short)");
        all.lines().filter(|name| *name != "trunk").map(str::to_owned).collect()
    }

    /// `journeyman run` on repository and issue, with the user's settings.
    pub async fn run(&self, more: &[&str]) -> Ended {
        let arguments = [&["run", "--repo", "repository", "--issue", "issue.md"], more].concat();
        self.journeyman(&arguments).await
    }

    /// Runs `journeyman` in the folder with all of this.
    pub async fn journeyman(&self, arguments: &[&str]) -> Ended {
        Running::start(journeyman(self.folder(), arguments)).end().await
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}
