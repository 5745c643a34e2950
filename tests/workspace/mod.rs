//! Repositories and the airlock: real git, real HTTP on loopback, real sandboxes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod airlock;
mod history;
mod hostile;
mod maintenance;
mod merging;
mod patch;
mod people;
mod remote;
pub mod server;
pub mod signing;
mod submodules;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use journeyman::order::{BranchName, CommitSha, IssueNumber, OrderId, RepositoryName};
use journeyman::sandbox::{
    CollectedOutput, IsolationMode, Job, JobLimits, JobResult, JobUser, Mount, MountAccess, Sandbox,
    SandboxNetwork,
};
use journeyman::workspace::{
    ImportOutcome, ImportRules, OrderDirs, Remote, SecretSet, Workspaces, default_protected,
};
use secrecy::SecretString;
use tempfile::TempDir;

use server::{Server, TOKEN};

/// Runs git in a folder as a normal user, ignoring this machine's settings.
fn git(folder: &Path, arguments: &[&str]) -> String {
    git_with(folder, arguments, b"")
}

fn git_with(folder: &Path, arguments: &[&str], input: &[u8]) -> String {
    use std::io::Write;
    let mut child = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "git {arguments:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A server with `octo/sums`, our data folder, and one order that is ready for an agent.
struct House {
    server: Server,
    data: TempDir,
    workspaces: Workspaces,
    sandbox: Sandbox,
    repository: RepositoryName,
    order: OrderId,
    branch: BranchName,
    base: CommitSha,
}

impl House {
    async fn new() -> Self {
        Self::with_mode(IsolationMode::Bubblewrap).await
    }

    async fn with_mode(mode: IsolationMode) -> Self {
        let server = Server::start();
        let repository: RepositoryName = "octo/sums".parse().unwrap();
        let bare = server.path("octo/sums");
        fs::create_dir_all(&bare).unwrap();
        git(&bare, &["init", "-q", "--bare", "."]);
        git(&bare, &["config", "http.receivepack", "true"]);
        let seed = tempfile::tempdir().unwrap();
        git(seed.path(), &["init", "-q", "."]);
        fs::create_dir_all(seed.path().join("src")).unwrap();
        fs::create_dir_all(seed.path().join(".github/workflows")).unwrap();
        fs::write(seed.path().join("src/sum.py"), "def add(a, b):\n    return a - b\n").unwrap();
        fs::write(seed.path().join("README.md"), "sums\n").unwrap();
        fs::write(seed.path().join(".gitattributes"), "*.md text eol=lf ident\n").unwrap();
        fs::write(seed.path().join(".github/workflows/ci.yml"), "on: push\n").unwrap();
        git(seed.path(), &["add", "-A"]);
        git(seed.path(), &["commit", "-qm", "The first commit"]);
        git(seed.path(), &["push", "-q", bare.to_str().unwrap(), "main"]);
        let data = tempfile::tempdir().unwrap();
        let workspaces = Workspaces::new(data.path()).unwrap();
        let sandbox = Sandbox::new(mode, Vec::new()).await.unwrap();
        let order = OrderId(uuid::Uuid::now_v7());
        let branch = BranchName::for_issue(IssueNumber(7), "fix the sum", 1);
        let base = fetch(&workspaces, &server, &repository);
        workspaces.create_origin(order, &repository, &base, "main", None).unwrap();
        let house = Self { server, data, workspaces, sandbox, repository, order, branch, base };
        let (ended, _, err) = house
            .run(Workspaces::clone_command(&house.places(), Some(&house.branch), None, None, &[]), true)
            .await;
        assert_eq!(ended.exit, journeyman::order::Exit::Code(0), "{err}");
        house
    }

    fn places(&self) -> OrderDirs {
        self.workspaces.order_dirs(self.order)
    }

    fn remote(&self) -> Remote<'_> {
        remote(&self.server, &self.repository)
    }

    /// Runs a command as the agent would: in its sandbox, with its work tree and its origin.
    async fn run(&self, program: Vec<std::ffi::OsString>, may_write: bool) -> (JobResult, Vec<u8>, String) {
        let places = self.places();
        let access = if may_write { MountAccess::ReadWrite } else { MountAccess::ReadOnly };
        let job = Job {
            program,
            directory: places.work.clone(),
            environment: BTreeMap::new(),
            stdin: Vec::new(),
            home: places.home.clone(),
            mounts: vec![
                Mount { path: places.work, access },
                Mount { path: places.origin, access },
                Mount { path: places.packs, access: MountAccess::ReadOnly },
            ],
            layers: Vec::new(),
            search: Vec::new(),
            relocations: Vec::new(),
            user: JobUser::default(),
            root: None,
            joins: None,
            network: SandboxNetwork::None,
            limits: JobLimits::default(),
            timeout: Duration::from_secs(60),
            most_output: journeyman::order::bounds::MOST_PRINTED,
        };
        let mut said = CollectedOutput::default();
        let ended = self.sandbox.run(job, &mut said).await.unwrap();
        (ended, said.stdout, String::from_utf8_lossy(&said.stderr).into_owned())
    }

    /// Runs the agent's script in its work tree; it must succeed.
    async fn agent(&self, script: &str) -> String {
        let (ended, out, err) = self.run(["bash", "-euc", script].map(Into::into).to_vec(), true).await;
        assert_eq!(ended.exit, journeyman::order::Exit::Code(0), "{script}: {err}");
        String::from_utf8_lossy(&out).trim().to_owned()
    }

    /// Imports what was pushed through the airlock.
    async fn import(&self) -> ImportOutcome {
        self.import_from(&self.base).await
    }

    /// The same for work that started from another commit than the base.
    async fn import_from(&self, start: &CommitSha) -> ImportOutcome {
        let (_, out, _) =
            self.run(Workspaces::export_command(&self.places(), &self.branch, start), false).await;
        self.import_bytes_from(start, &out)
    }

    fn import_bytes(&self, bytes: &[u8]) -> ImportOutcome {
        self.import_bytes_from(&self.base, bytes)
    }

    fn import_bytes_from(&self, start: &CommitSha, bytes: &[u8]) -> ImportOutcome {
        let file = self.places().runs.join("export");
        fs::write(&file, bytes).unwrap();
        let protected = default_protected();
        let known = SecretSet::default();
        let rules = ImportRules {
            branch: &self.branch,
            protected: &protected,
            secrets: &known,
            allowed_secrets: &[],
        };
        self.workspaces.import(self.order, &self.repository, start, &file, rules).unwrap()
    }

    /// A person's work: in a clone of the server's repository, pushed to this branch.
    fn person(&self, branch: &str, script: &str) -> CommitSha {
        let clone = tempfile::tempdir().unwrap();
        let bare = self.server.path("octo/sums");
        git(clone.path(), &["clone", "-q", "-b", branch, bare.to_str().unwrap(), "."]);
        let script = format!("set -e\n{script}");
        let ended = Command::new("sh").args(["-c", &script]).current_dir(clone.path()).status().unwrap();
        assert!(ended.success(), "{script}");
        git(clone.path(), &["add", "-A"]);
        git(clone.path(), &["commit", "-qm", "By a person"]);
        git(clone.path(), &["push", "-q", "origin", &format!("HEAD:refs/heads/{branch}")]);
        git(clone.path(), &["rev-parse", "HEAD"]).parse().unwrap()
    }

    /// The agent's work, imported, made into our commit, and pushed to the order's branch on the server.
    async fn published(&self, script: &str) -> CommitSha {
        self.agent(&format!("{script}\ngit add -A; git commit -qm 'The change'; git push -q")).await;
        let commit = self.commit("implement-1").await;
        let pushed = self.workspaces.push(self.order, &self.remote(), &self.branch, &commit, None).unwrap();
        assert_eq!(pushed, journeyman::workspace::PushOutcome::Pushed);
        commit
    }

    /// Starts the work tree from this commit, and prepares it like the engine.
    async fn begin(&self, start: Option<&CommitSha>) {
        let start = start.map(|commit| journeyman::workspace::StartPoint { commit, branch: &self.branch });
        self.workspaces.create_origin(self.order, &self.repository, &self.base, "main", start).unwrap();
        let (ended, _, err) = self
            .run(Workspaces::clone_command(&self.places(), Some(&self.branch), None, None, &[]), true)
            .await;
        assert_eq!(ended.exit, journeyman::order::Exit::Code(0), "{err}");
    }

    /// A file of a commit.
    fn file(&self, commit: &CommitSha, path: &str) -> Option<String> {
        let file = self.workspaces.file(&self.repository, commit, path).unwrap();
        file.map(|bytes| String::from_utf8(bytes).unwrap())
    }

    /// The number of objects in our own repository, to detect additions.
    fn objects_of_ours(&self) -> usize {
        let objects = files(&self.data.path().join("commits/octo/sums.git/objects"));
        objects.iter().filter(|file| !file.ends_with("info/alternates")).count()
    }
}

fn remote<'a>(server: &Server, repository: &'a RepositoryName) -> Remote<'a> {
    let url = server.url(&repository.to_string());
    Remote { repository, url, token: Some(SecretString::from(TOKEN)) }
}

fn fetch(workspaces: &Workspaces, server: &Server, repository: &RepositoryName) -> CommitSha {
    workspaces.fetch(&remote(server, repository), "main").unwrap()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        if entry.file_type().unwrap().is_dir() {
            all.extend(files(&entry.path()));
        } else {
            all.push(entry.path());
        }
    }
    all.sort();
    all
}
