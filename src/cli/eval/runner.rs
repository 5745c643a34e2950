//! Runs the cases, so many side by side, through the real engine: each is an issue with a label on it.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use indicatif::{ProgressBar, ProgressStyle};

use super::record::{self, CaseRecord, HiddenVerdict, ReplayRecord};
use super::suite::{CaseRepository, EvalCase, simulated_files};
use super::{hidden, repository};
use crate::cli::local::LocalStack;
use crate::emulator::RepositorySource;
use crate::order::RepositoryName;

/// The repository of all simulated cases.
const SIMULATED: &str = "eval/simulated";
/// Where there is no terminal to draw on, a line is written with the first case, and then so often.
const A_LINE: Duration = Duration::from_secs(10);

/// What is left of finished cases while the run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retention {
    /// Their journals; workspaces are taken away.
    Nothing,
    All,
}

/// What came of a run.
pub(super) struct SuiteRun {
    /// In the order of the suite; those that were not finished when a person stopped the run are not here.
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
    keep: Retention,
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
        .map(|(place, case)| async move { (place, one(local, case, keep, patches).await) });
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
    progress.end();
    Ok(SuiteRun { records: records.into_values().collect(), interrupted, troubles })
}

/// What became of a case. None when a person stopped the run.
async fn one(
    local: &LocalStack,
    case: &EvalCase,
    keep: Retention,
    patches: &Path,
) -> anyhow::Result<Option<CaseRecord>> {
    let name = match &case.repository {
        CaseRepository::Simulated => SIMULATED.to_owned(),
        CaseRepository::Folder(folder) => {
            let name = format!("eval/{}", case.name);
            let place = tempfile::Builder::new().prefix("journeyman-case-").tempdir()?;
            repository::make(folder, place.path())?;
            local.put_repository(&name, RepositorySource::Path(place.path().to_owned())).await?;
            name
        }
        CaseRepository::Real(replay) => {
            let name = format!("eval/{}", case.name);
            let place = tempfile::Builder::new().prefix("journeyman-case-").tempdir()?;
            replay.write(place.path(), &patches.join(format!("{}.patch", case.name)))?;
            local.put_repository(&name, RepositorySource::Path(place.path().to_owned())).await?;
            name
        }
    };
    let issue = local.put_issue(&name, &case.title, &case.body).await?;
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
    // A thousand workspaces are a great many files; they go one by one, beside the work on others.
    if keep == Retention::Nothing {
        local.handle.eval_sandbox().clear(order).await?;
    }
    Ok(Some(record))
}

/// How far it is, on standard error.
struct EvalProgress {
    bar: Option<ProgressBar>,
    begun: Instant,
    said: Instant,
    of: usize,
    done: usize,
    verified: usize,
}

impl EvalProgress {
    fn begin(of: usize) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(of as u64);
            if let Ok(style) =
                ProgressStyle::with_template("  {bar:30} {pos}/{len} cases, {msg}, {elapsed}, {eta} to go")
            {
                bar.set_style(style);
            }
            bar.set_message("0 verified");
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        Self { bar, begun: Instant::now(), said: Instant::now(), of, done: 0, verified: 0 }
    }

    fn done(&mut self, is_verified: bool) {
        self.verified += usize::from(is_verified);
        self.done += 1;
        let verified = format!("{} verified", self.verified);
        match &self.bar {
            Some(bar) => {
                bar.inc(1);
                bar.set_message(verified);
            }
            None if self.done == 1 || self.said.elapsed() > A_LINE => {
                self.said = Instant::now();
                let seconds = self.begun.elapsed().as_secs();
                eprintln!("  {} of {} cases, {verified}, {seconds} s", self.done, self.of);
            }
            None => {}
        }
    }

    fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
