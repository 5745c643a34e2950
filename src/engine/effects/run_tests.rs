//! The tests, run by us: on the commit to publish, checked out afresh, without credentials and without network.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::job::{Recorder, readable, short, writable};
use super::workspace::make_folder;
use super::{Context, Tried, never, soon};
use crate::order::test_run::CommandRun;
use crate::order::{CommitSha, Event, Exit, Move, Outcome, TestRun, TestVerdict, TreeSha, Trouble};
use crate::sandbox::{Job, Network};
use crate::verify::{self, TestPlan};
use crate::workspace::remove_all;

/// What of a command's output is kept.
const MOST_OUTPUT: u64 = 256 * 1024 * 1024;
/// A JUnit report that is larger is not read.
const LARGEST_REPORT: u64 = 16 * 1024 * 1024;

/// Where a run of the tests happens: a fresh checkout and a home of its own.
struct Place {
    tree: PathBuf,
    home: PathBuf,
}

/// By what a commit is judged.
struct Judging {
    plan: TestPlan,
    /// Why a pass verifies nothing.
    doubt: Option<String>,
}

/// One command that was run, the end of what it printed, and the artifact that holds it.
struct Ran {
    run: CommandRun,
    output: String,
    artifact: String,
}

impl Context {
    pub(super) async fn run_tests(&self, commit: &CommitSha) -> Tried {
        let name = format!("{}.{}", self.key.file_name(), self.attempt);
        let folder = self.parts.workspaces.places(self.order).tests.join(name);
        // What was left by one that was killed is gone before this one begins: every run is on a fresh checkout.
        remove(&folder).await?;
        let place = Place { tree: folder.join("tree"), home: folder.join("home") };
        let tested = self.run_in(&place, commit).await;
        if let Err(trouble) = remove(&folder).await {
            tracing::warn!(order = %self.order, "left behind: {}", trouble.message);
        }
        tested
    }

    async fn run_in(&self, place: &Place, commit: &CommitSha) -> Tried {
        make_folder(&place.home)?;
        self.checkout(commit, &place.tree).await?;
        let Judging { plan, doubt } = self.judging(commit).await?;
        let mut run = TestRun {
            commit: commit.clone(),
            tree: self.tree_of(commit)?,
            verdict: TestVerdict::NoTests,
            doubt,
            setup: None,
            test: None,
            counts: None,
            failing: Vec::new(),
            tail: String::new(),
            sandbox: self.parts.sandbox.mode().to_string(),
            artifacts: Vec::new(),
        };
        let Some(test) = &plan.test else { return Ok(Outcome::Tested(Box::new(run))) };
        self.make_repository(place).await;
        let rules = &self.parts.rules;
        if let Some(setup) = &plan.setup {
            let ran = self.command(place, "setup", setup, Network::Host, rules.setup_time).await?;
            run.artifacts.push(ran.artifact);
            if ran.run.exit != Exit::Code(0) {
                run.verdict = TestVerdict::SetupFailed;
                run.tail = verify::tail(&ran.output);
                run.setup = Some(ran.run);
                return Ok(Outcome::Tested(Box::new(run)));
            }
            run.setup = Some(ran.run);
        }
        if let Some(report) = &plan.report {
            self.clear_report(place, report).await?;
        }
        let ran = self.command(place, "tests", test, Network::None, rules.test_time).await?;
        run.artifacts.push(ran.artifact);
        let report = match &plan.report {
            Some(report) => self.read_report(place, report).await,
            None => None,
        };
        let output = ran.output;
        let (reading, tail) = tokio::task::spawn_blocking(move || {
            (verify::read_counts(&output, report.as_deref()), verify::tail(&output))
        })
        .await
        .map_err(|error| never(format!("a fault of Journeyman's own: {error}")))?;
        run.verdict = verify::verdict(&ran.run.exit, reading.counts.as_ref());
        (run.counts, run.failing, run.tail) = (reading.counts, reading.failing, tail);
        run.test = Some(ran.run);
        Ok(Outcome::Tested(Box::new(run)))
    }

    async fn checkout(&self, commit: &CommitSha, into: &Path) -> Result<(), Trouble> {
        let (repository, commit, into) = (self.opened().repository.clone(), commit.clone(), into.to_owned());
        self.git(move |workspaces| workspaces.checkout(&repository, &commit, &into)).await
    }

    /// The tree that the commit was made of, or came with.
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other outcome brings a commit")]
    fn tree_of(&self, commit: &CommitSha) -> Result<TreeSha, Trouble> {
        let mut made = None;
        for entry in self.journal.entries() {
            match &entry.event {
                Event::Intended { r#move, .. } => {
                    if let Move::Commit { tree, .. } = &**r#move {
                        made = Some(tree.clone());
                    }
                }
                Event::Observed { outcome, .. } => {
                    let found = match &**outcome {
                        Outcome::Committed { commit, .. } => made.as_ref().map(|tree| (commit, tree)),
                        Outcome::TakenIn { commit, tree, .. }
                        | Outcome::BranchUpdated { commit, tree, .. } => Some((commit, tree)),
                        _ => None,
                    };
                    if let Some((_, tree)) = found.filter(|(known, _)| *known == commit) {
                        return Ok(tree.clone());
                    }
                }
                Event::Opened(_) | Event::Signaled { .. } => {}
            }
        }
        Err(never(format!("{} is no commit of this order", commit.short())))
    }

    /// The command is the base commit's affair: settings come from there, and what is found is found there. Where a
    /// change brings its own judge, or rewrites the one that there is, a pass verifies nothing, and that is said.
    async fn judging(&self, commit: &CommitSha) -> Result<Judging, Trouble> {
        let settings = self.settings();
        let (repository, base, commit) = (self.opened().repository.clone(), self.base()?, commit.clone());
        self.git(move |workspaces| {
            let base_root = workspaces.root_files(&repository, &base)?;
            let root = workspaces.root_files(&repository, &commit)?;
            let read_base = |path: &str| workspaces.file(&repository, &base, path).ok().flatten();
            let read = |path: &str| workspaces.file(&repository, &commit, path).ok().flatten();
            let before = verify::plan(&settings, &base_root, &read_base);
            let after = verify::plan(&settings, &root, &read);
            let doubt = verify::doubt(&before, &read_base, &read);
            Ok(Judging { plan: verify::judge_by(before, after), doubt })
        })
        .await
    }

    /// Many projects ask git for their version or their files: the checkout gets a repository of one commit, made in
    /// the sandbox. Where that fails the tests do without.
    async fn make_repository(&self, place: &Place) {
        let script = "git init -q && git add -Af && git -c user.name=Journeyman -c user.email=journeyman@invalid \
                      -c commit.gpgSign=false commit -q --no-verify -m 'The commit under test'";
        let program = ["sh", "-c", script].map(Into::into).to_vec();
        let mounts = vec![writable(&place.tree)];
        if let Err(trouble) = short(&self.parts.sandbox, program, &place.tree, &place.home, mounts).await {
            tracing::info!(order = %self.order, "the checkout has no repository: {}", trouble.message);
        }
    }

    async fn command(
        &self,
        place: &Place,
        name: &str,
        command: &str,
        network: Network,
        timeout: Duration,
    ) -> Result<Ran, Trouble> {
        let path = self.run_folder()?.join(format!("{name}.log"));
        let mut recorder =
            Recorder::create(&path).map_err(|error| soon(format!("cannot keep an output: {error}")))?;
        let job = Job {
            program: ["sh", "-c", command].map(Into::into).to_vec(),
            directory: place.tree.clone(),
            environment: BTreeMap::from([("CI".to_owned(), "true".to_owned())]),
            stdin: Vec::new(),
            home: place.home.clone(),
            mounts: vec![writable(&place.tree)],
            network,
            timeout,
            most_output: MOST_OUTPUT,
        };
        let ended = self.parts.sandbox.run(job, &mut recorder).await?;
        let (output, output_sha256) = recorder.finish();
        let artifact = format!("{}-{name}.log", self.key.file_name());
        self.parts.store.put_artifact(self.order, &artifact, "text/plain", output.as_bytes()).await?;
        // The artifact is the copy that lasts.
        let _ = std::fs::remove_file(&path);
        let duration_seconds = ended.duration.as_secs_f64();
        let run =
            CommandRun { command: command.to_owned(), exit: ended.exit, duration_seconds, output_sha256 };
        Ok(Ran { run, output, artifact })
    }

    /// A report that was committed would be believed although no test wrote it.
    async fn clear_report(&self, place: &Place, report: &str) -> Result<(), Trouble> {
        let program = ["rm", "-rf", "--", report].map(Into::into).to_vec();
        let mounts = vec![writable(&place.tree)];
        short(&self.parts.sandbox, program, &place.tree, &place.home, mounts).await.map(drop)
    }

    /// The report is read from inside the sandbox: the tests wrote it, and it may be a link.
    async fn read_report(&self, place: &Place, report: &str) -> Option<Vec<u8>> {
        let most = LARGEST_REPORT.to_string();
        let program = ["head", "-c", &most, "--", report].map(Into::into).to_vec();
        let mounts = vec![readable(&place.tree)];
        short(&self.parts.sandbox, program, &place.tree, &place.home, mounts).await.ok()
    }
}

/// Also folders that somebody made unwritable, as Go does with its module cache. Takes time where there is much.
async fn remove(place: &Path) -> Result<(), Trouble> {
    let place = place.to_owned();
    let removed = tokio::task::spawn_blocking(move || {
        remove_all(&place).map_err(|error| soon(format!("cannot clear {}: {error}", place.display())))
    });
    removed.await.map_err(|error| never(format!("a fault of Journeyman's own: {error}")))?
}
