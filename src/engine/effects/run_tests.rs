//! The tests, run by us: on the commit to publish, checked out afresh, without credentials and without network.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::job::{Recorder, writable};
use super::workspace::make_folder;
use super::{Context, Tried, never, soon};
use crate::order::test_run::CommandRun;
use crate::order::{CommitSha, Event, Exit, Move, Outcome, TestRun, TestVerdict, TreeSha, Trouble};
use crate::sandbox::{Job, Network};
use crate::verify::{self, TestPlan};

/// What of a command's output is kept.
const MOST_OUTPUT: u64 = 256 * 1024 * 1024;
/// A JUnit report that is larger is not read.
const LARGEST_REPORT: u64 = 16 * 1024 * 1024;

/// One command that was run, and the end of what it printed.
struct Ran {
    run: CommandRun,
    output: String,
}

impl Context {
    pub(super) async fn run_tests(&self, commit: &CommitSha) -> Tried {
        let place = self.parts.workspaces.places(self.order).tests.join(self.key.file_name());
        // What an earlier try left is gone before this one begins: every run is on a fresh checkout.
        remove(&place)?;
        let tested = self.run_in(&place, commit).await;
        remove(&place)?;
        tested
    }

    async fn run_in(&self, place: &Path, commit: &CommitSha) -> Tried {
        let (tree, home) = (place.join("tree"), place.join("home"));
        make_folder(&home)?;
        self.checkout(commit, &tree).await?;
        let plan = self.test_plan(commit).await?;
        let mut run = TestRun {
            commit: commit.clone(),
            tree: self.tree_of(commit)?,
            verdict: TestVerdict::NoTests,
            setup: None,
            test: None,
            counts: None,
            failing: Vec::new(),
            tail: String::new(),
            sandbox: self.parts.sandbox.mode().to_string(),
            artifacts: Vec::new(),
        };
        let Some(test) = &plan.test else { return Ok(Outcome::Tested(Box::new(run))) };
        if let Some(setup) = &plan.setup {
            let time = self.parts.rules.setup_time;
            let ran = self.command("setup", setup, &tree, &home, Network::Host, time, &mut run).await?;
            let exit = ran.run.exit;
            run.setup = Some(ran.run);
            if exit != Exit::Code(0) {
                run.verdict = TestVerdict::SetupFailed;
                run.tail = verify::tail(&ran.output);
                return Ok(Outcome::Tested(Box::new(run)));
            }
        }
        let time = self.parts.rules.test_time;
        let ran = self.command("tests", test, &tree, &home, Network::None, time, &mut run).await?;
        let report = match &plan.report {
            Some(report) => self.read_report(&tree, &home, report).await,
            None => None,
        };
        let reading = verify::read_counts(&ran.output, report.as_deref());
        run.verdict = verify::verdict(&ran.run.exit, reading.counts.as_ref());
        run.counts = reading.counts;
        run.failing = reading.failing;
        run.tail = verify::tail(&ran.output);
        run.test = Some(ran.run);
        Ok(Outcome::Tested(Box::new(run)))
    }

    async fn checkout(&self, commit: &CommitSha, into: &Path) -> Result<(), Trouble> {
        let (repository, commit, into) = (self.opened().repository.clone(), commit.clone(), into.to_owned());
        self.git(move |workspaces| workspaces.checkout(&repository, &commit, &into)).await
    }

    /// The tree that the commit was made of.
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
                    if let (Outcome::Committed { commit: known }, Some(tree)) = (&**outcome, &made)
                        && known == commit
                    {
                        return Ok(tree.clone());
                    }
                }
                Event::Opened(_) | Event::Signaled { .. } => {}
            }
        }
        Err(never(format!("{} is no commit of this order", commit.short())))
    }

    /// The command is the base commit's affair: settings come from there, and what is found is found there, so that
    /// a change cannot choose how it is judged. Only where the base has no tests at all may the change bring some.
    async fn test_plan(&self, commit: &CommitSha) -> Result<TestPlan, Trouble> {
        let settings = self.settings();
        let (repository, base, commit) = (self.opened().repository.clone(), self.base()?, commit.clone());
        self.git(move |workspaces| {
            let plan_of = |commit: &CommitSha| {
                let root = workspaces.root_files(&repository, commit)?;
                let read = |path: &str| workspaces.file(&repository, commit, path).ok().flatten();
                Ok(verify::plan(&settings, &root, &read))
            };
            let plan = plan_of(&base)?;
            if plan.test.is_some() { Ok(plan) } else { plan_of(&commit) }
        })
        .await
    }

    #[expect(clippy::too_many_arguments, reason = "one command in one place, said whole")]
    async fn command(
        &self,
        name: &str,
        command: &str,
        tree: &Path,
        home: &Path,
        network: Network,
        timeout: Duration,
        run: &mut TestRun,
    ) -> Result<Ran, Trouble> {
        let path = self.run_folder()?.join(format!("{name}.log"));
        let mut recorder =
            Recorder::create(&path).map_err(|error| soon(format!("cannot keep an output: {error}")))?;
        let job = Job {
            program: ["sh", "-c", command].map(Into::into).to_vec(),
            directory: tree.to_owned(),
            environment: BTreeMap::from([("CI".to_owned(), "true".to_owned())]),
            stdin: Vec::new(),
            home: home.to_owned(),
            mounts: vec![writable(tree)],
            network,
            timeout,
            most_output: MOST_OUTPUT,
        };
        let ended = self.parts.sandbox.run(job, &mut recorder).await?;
        let (output, output_sha256) = recorder.finish();
        let artifact = format!("{}-{name}.log", self.key.file_name());
        self.parts.store.put_artifact(self.order, &artifact, "text/plain", output.as_bytes()).await?;
        let _ = std::fs::remove_file(&path);
        run.artifacts.push(artifact);
        let duration_seconds = ended.duration.as_secs_f64();
        let run =
            CommandRun { command: command.to_owned(), exit: ended.exit, duration_seconds, output_sha256 };
        Ok(Ran { run, output })
    }

    /// The report is read from inside the sandbox: the tests wrote it, and it may be a link.
    async fn read_report(&self, tree: &Path, home: &Path, report: &str) -> Option<Vec<u8>> {
        let most = LARGEST_REPORT.to_string();
        let program = ["head", "-c", &most, "--", report].map(Into::into).to_vec();
        let mounts = vec![super::job::readable(tree)];
        super::job::short(&self.parts.sandbox, program, tree, home, mounts).await.ok()
    }
}

fn remove(place: &PathBuf) -> Result<(), Trouble> {
    match std::fs::remove_dir_all(place) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(soon(format!("cannot clear {}: {error}", place.display()))),
    }
}
