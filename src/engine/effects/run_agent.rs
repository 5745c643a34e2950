//! An agent's run. It costs money, so what it came to is on disk before it is reported: a crash in between is not
//! paid for twice.

use std::path::Path;
use std::time::{Duration, Instant};

use super::job::readable;
use super::seat::Workplace;
use super::workspace::make_folder;
use super::{Context, Tried, never, soon};
use crate::agent::{self, Invocation, Transcript};
use crate::order::agent_run::FailureKind;
use crate::order::moves::AgentTask;
use crate::order::{AgentRun, Exit, Outcome, Trouble};
use crate::sandbox::{Job, Network, Sink};

/// A program may go on after its last word; it is ended after so long without another.
const AFTER_THE_LAST_WORD: Duration = Duration::from_secs(20);
/// What of an agent's output is kept and read.
const MOST_OUTPUT: u64 = 512 * 1024 * 1024;
/// A stream up to this is kept as an artifact; of a longer one its end.
const MOST_KEPT: u64 = 16 * 1024 * 1024;

/// Where a run's stream is until it is an artifact.
const STREAM: &str = "stream.jsonl";

impl Context {
    pub(super) async fn run_agent(&self, task: AgentTask) -> Tried {
        let folder = self.run_folder()?;
        let remembered = folder.join("outcome.json");
        if let Some(run) = recall(&remembered)? {
            tracing::info!(order = %self.order, key = %self.key, "was finished before; not run again");
            if let Ok(runtime) = self.parts.agents.get(&task.agent) {
                let invocation = runtime.invocation(&task, None, "", &self.parts.rules.environment);
                self.keep_stream(&folder, &invocation).await;
            }
            return Ok(Outcome::AgentRan(Box::new(run)));
        }
        let runtime = self.parts.agents.get(&task.agent).map_err(|error| never(error.to_string()))?;
        let place = self.workplace(&task).await?;
        let prompt = agent::prompt(&task, &self.template(&task.command).await?);
        let role = self.journal.role(&task.role);
        let invocation = runtime.invocation(&task, role, &prompt.text, &self.parts.rules.environment);
        let mut run = self.start(&task, place, &invocation, runtime.transcript(), &folder).await?;
        run.warnings.extend(prompt.warnings);
        // Before anything else that could fail or be cut off: from here on it is not paid for again.
        remember(&remembered, &run)?;
        self.keep_stream(&folder, &invocation).await;
        Ok(Outcome::AgentRan(Box::new(run)))
    }

    /// Makes the stream an artifact. It is for people who look into a run, so that what goes wrong with it is for the
    /// log and does not cost the run.
    async fn keep_stream(&self, folder: &Path, invocation: &Invocation) {
        let stream = folder.join(STREAM);
        if !stream.exists() {
            return;
        }
        let kept = async {
            let kept = redacted_end(&stream, invocation)?;
            let name = self.stream_name();
            self.parts.store.put_artifact(self.order, &name, "application/x-ndjson", &kept).await?;
            Ok::<(), Trouble>(())
        };
        match kept.await {
            // The artifact is the copy that lasts; this one may hold what had to be taken out of it.
            Ok(()) => drop(std::fs::remove_file(&stream)),
            Err(trouble) => {
                let message = trouble.message;
                tracing::warn!(order = %self.order, key = %self.key, message, "the stream is not kept");
            }
        }
    }

    fn stream_name(&self) -> String {
        format!("{}.jsonl", self.key.file_name())
    }

    /// The repository's own template, from the base commit and never from what the agent wrote; otherwise ours.
    async fn template(&self, command: &str) -> Result<String, Trouble> {
        let paths = agent::repository_paths(command).map_err(|error| never(error.to_string()))?;
        let (repository, base) = (self.opened().repository.clone(), self.base()?);
        let own = self
            .git(move |workspaces| {
                for path in &paths {
                    if let Some(bytes) = workspaces.file(&repository, &base, path)? {
                        return Ok(Some(bytes));
                    }
                }
                Ok(None)
            })
            .await?;
        match own {
            Some(bytes) => String::from_utf8(bytes)
                .map_err(|_| never(format!("the repository's command template {command:?} is not UTF-8"))),
            None => agent::built_in(command)
                .ok_or_else(|| never(format!("there is no command template {command:?}"))),
        }
    }

    async fn start(
        &self,
        task: &AgentTask,
        place: Workplace,
        invocation: &Invocation,
        transcript: Box<dyn Transcript>,
        folder: &Path,
    ) -> Result<AgentRun, Trouble> {
        let Workplace { directory, home, mut mounts } = place;
        mounts.extend(invocation.reads.iter().map(|path| readable(path)));
        let job = Job {
            program: invocation.program.iter().map(Into::into).collect(),
            directory,
            environment: invocation.environment.clone(),
            stdin: invocation.stdin.clone(),
            home,
            mounts,
            network: Network::Host,
            timeout: Duration::from_secs(task.timeout_seconds.max(1)),
            most_output: MOST_OUTPUT,
        };
        let mut reader = Reader::create(transcript, &folder.join(STREAM))?;
        let begun = Instant::now();
        let exit = {
            let last_word = reader.last_word.clone();
            let running = self.parts.sandbox.run(job, &mut reader);
            tokio::select! {
                ended = running => ended?.exit,
                () = last_word.overdue() => Exit::TimedOut,
            }
        };
        let stderr = invocation.redact(&String::from_utf8_lossy(&reader.stderr));
        let mut run = reader.transcript.finish(exit, &stderr, begun.elapsed());
        run.result = run.result.map(|text| invocation.redact(&text));
        if let Some(failure) = &mut run.failure {
            failure.message = invocation.redact(&failure.message);
            if failure.kind == FailureKind::Misconfigured {
                failure.message = format!("{} ({})", failure.message, invocation.variables(&task.agent));
            }
        }
        run.artifacts.push(self.stream_name());
        Ok(run)
    }
}

/// Hands the stream to the transcript and to a file.
struct Reader {
    transcript: Box<dyn Transcript>,
    file: std::fs::File,
    stderr: Vec<u8>,
    last_word: LastWord,
}

impl Reader {
    fn create(transcript: Box<dyn Transcript>, path: &Path) -> Result<Self, Trouble> {
        let file =
            std::fs::File::create(path).map_err(|error| soon(format!("cannot keep a stream: {error}")))?;
        Ok(Self { transcript, file, stderr: Vec::new(), last_word: LastWord::default() })
    }
}

impl Sink for Reader {
    fn stdout(&mut self, bytes: &[u8]) {
        self.transcript.feed(bytes);
        // The stream is for people who look into a run; the work does not depend on it.
        let _ = std::io::Write::write_all(&mut self.file, bytes);
        self.last_word.set(self.transcript.settled());
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.stderr.extend_from_slice(bytes);
        let excess = self.stderr.len().saturating_sub(8_000);
        self.stderr.drain(..excess);
    }
}

/// When the result came, if nothing but noise came after it.
#[derive(Clone, Default)]
struct LastWord(std::sync::Arc<std::sync::Mutex<Option<Instant>>>);

impl LastWord {
    fn set(&self, settled: bool) {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = settled.then(Instant::now);
    }

    async fn overdue(&self) {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let said = *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if said.is_some_and(|at| at.elapsed() > AFTER_THE_LAST_WORD) {
                return;
            }
        }
    }
}

fn redacted_end(stream: &Path, invocation: &Invocation) -> Result<Vec<u8>, Trouble> {
    use std::io::{Read, Seek, SeekFrom};
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(stream)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(MOST_KEPT)))?;
        let mut kept = Vec::new();
        file.take(MOST_KEPT).read_to_end(&mut kept)?;
        Ok(kept)
    };
    let kept = read().map_err(|error| soon(format!("cannot read a stream again: {error}")))?;
    Ok(invocation.redact(&String::from_utf8_lossy(&kept)).into_bytes())
}

fn recall(path: &Path) -> Result<Option<AgentRun>, Trouble> {
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| never(format!("{} cannot be read: {error}", path.display()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(soon(format!("{} cannot be read: {error}", path.display()))),
    }
}

/// Written beside, synced, then renamed: it is there whole or not at all.
fn remember(path: &Path, run: &AgentRun) -> Result<(), Trouble> {
    let folder = path.parent().unwrap_or(path);
    make_folder(folder)?;
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer(&mut file, run)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        std::fs::File::open(folder)?.sync_all()
    };
    write().map_err(|error| soon(format!("cannot write {}: {error}", path.display())))
}
