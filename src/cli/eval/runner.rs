//! Runs the cases in parallel through the real engine: each is an issue with a label.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures_util::StreamExt as _;
use git2::{IndexAddOption, Repository, RepositoryInitOptions, Signature, Time};
use indicatif::{ProgressBar, ProgressStyle};

use super::hidden;
use super::record::{self, CaseRecord, HiddenVerdict, ReplayRecord};
use super::suite::{CaseRepository, EvalCase, simulated_files};
use crate::cli::local::LocalStack;
use crate::emulator::RepositorySource;
use crate::order::RepositoryName;

const SIMULATED: &str = "eval/simulated";
/// Without a terminal, print a line with the first case and then this often.
const A_LINE: Duration = Duration::from_secs(10);

pub(super) struct SuiteRun {
    /// In the suite's order, without cases that were unfinished when a person stopped the run.
    pub(super) records: Vec<CaseRecord>,
    pub(super) interrupted: bool,
    /// Cases that could not be run, and why.
    pub(super) troubles: Vec<String>,
}

/// Runs every case.
pub(super) async fn run(
    local: &LocalStack,
    cases: &[EvalCase],
    parallel: usize,
    keeps_workspaces: bool,
    patches: &Path,
) -> anyhow::Result<SuiteRun> {
    if cases.iter().any(|case| matches!(case.repository, CaseRepository::Simulated)) {
        local.put_repository(SIMULATED, RepositorySource::Files(simulated_files())).await?;
    }
    let mut progress = EvalProgress::begin(cases.len());
    let mut records: BTreeMap<usize, CaseRecord> = BTreeMap::new();
    let mut troubles = Vec::new();
    let mut interrupted = false;
    let works = cases
        .iter()
        .enumerate()
        .map(|(place, case)| async move { (place, one(local, case, keeps_workspaces, patches).await) });
    let mut works = futures_util::stream::iter(works).buffer_unordered(parallel);
    loop {
        let done = tokio::select! {
            done = works.next() => done,
            () = local.asked_to_stop() => Some((0, Ok(None))),
        };
        match done {
            None => break,
            Some((_, Ok(None))) => {
                interrupted = true;
                break;
            }
            Some((place, Ok(Some(record)))) => {
                progress.done(record.is_verified());
                records.insert(place, record);
            }
            Some((place, Err(error))) => {
                let name = cases.get(place).map_or("", |case| case.name.as_str());
                progress.done(false);
                troubles.push(format!("{name}: {error:#}"));
                anyhow::ensure!(!local.has_ended(), "Journeyman stopped in the middle: {error:#}");
            }
        }
    }
    progress.bar.finish_and_clear();
    Ok(SuiteRun { records: records.into_values().collect(), interrupted, troubles })
}

/// Runs a case; `None` if a person stopped the run.
async fn one(
    local: &LocalStack,
    case: &EvalCase,
    keeps_workspaces: bool,
    patches: &Path,
) -> anyhow::Result<Option<CaseRecord>> {
    let mut name = format!("eval/{}", case.name);
    let place = tempfile::Builder::new().prefix("journeyman-case-").tempdir()?;
    match &case.repository {
        CaseRepository::Simulated => SIMULATED.clone_into(&mut name),
        CaseRepository::Folder(folder) => make_repository(folder, place.path())?,
        CaseRepository::Real(replay) => {
            replay.write(place.path(), &patches.join(format!("{}.patch", case.name)))?;
        }
    }
    if !matches!(case.repository, CaseRepository::Simulated) {
        local.put_repository(&name, RepositorySource::Path(place.path().to_owned())).await?;
    }
    let issue = local.put_issue(&name, &case.title, &case.body, None).await?;
    let name: RepositoryName = name.parse()?;
    let Some(order) = local.order(&name, issue).await? else { return Ok(None) };
    let ended = local
        .until(order, |_, projection| projection.next.settled.is_some() && projection.next.moves.is_empty());
    let Some((journal, projection)) = ended.await? else { return Ok(None) };
    let mut record = record::read(&case.name, &journal, &projection);
    if let CaseRepository::Real(replay) = &case.repository {
        record.false_green = !replay.variant.is_mended() && record.is_verified();
        record.replay = Some(ReplayRecord::of(replay, &projection));
    }
    if let (Some(hidden), Some(work)) = (&case.hidden, &projection.trace.work) {
        let (verdict, output) =
            hidden::judge(local.handle.eval_sandbox(), &name, &work.commit, hidden).await?;
        record.false_green = verdict == HiddenVerdict::Failed && record.is_verified();
        (record.hidden, record.hidden_output) = (verdict, output);
    }
    // A thousand workspaces are many files, so delete each one while other cases run.
    if !keeps_workspaces {
        local.handle.eval_sandbox().with_workspaces(move |known| Ok(known.remove(order)?)).await?;
    }
    Ok(Some(record))
}

/// Makes a repository from a case's folder: one commit, always the same.
fn make_repository(from: &Path, at: &Path) -> anyhow::Result<()> {
    let mut options = RepositoryInitOptions::new();
    options.bare(true).external_template(false).initial_head("main");
    let repository = Repository::init_opts(at, &options)?;
    repository.set_workdir(from, false)?;
    let mut index = repository.index()?;
    let added = index.add_all(["*"], IndexAddOption::FORCE, None);
    added.with_context(|| format!("cannot read {}", from.display()))?;
    anyhow::ensure!(!index.is_empty(), "{} is empty: a case starts from at least one file", from.display());
    let tree = repository.find_tree(index.write_tree()?)?;
    let by = Signature::new("you", "you@invalid", &Time::new(1_700_000_000, 0))?;
    repository.commit(Some("refs/heads/main"), &by, &by, "The state before", &tree, &[])?;
    Ok(())
}

/// Progress on standard error.
struct EvalProgress {
    /// Drawn if there is a terminal.
    bar: ProgressBar,
    said: Instant,
    verified: usize,
}

impl EvalProgress {
    fn begin(of: usize) -> Self {
        let bar = ProgressBar::new(of as u64);
        if let Ok(style) =
            ProgressStyle::with_template("  {bar:30} {pos}/{len} cases, {msg}, {elapsed}, {eta} to go")
        {
            bar.set_style(style);
        }
        bar.set_message("0 verified");
        bar.enable_steady_tick(Duration::from_millis(500));
        Self { bar, said: Instant::now(), verified: 0 }
    }

    fn done(&mut self, is_verified: bool) {
        self.verified += usize::from(is_verified);
        self.bar.inc(1);
        self.bar.set_message(format!("{} verified", self.verified));
        let (done, of) = (self.bar.position(), self.bar.length().unwrap_or_default());
        if self.bar.is_hidden() && (done == 1 || self.said.elapsed() > A_LINE) {
            self.said = Instant::now();
            let seconds = self.bar.elapsed().as_secs();
            eprintln!("  {done} of {of} cases, {} verified, {seconds} s", self.verified);
        }
    }
}
