//! An agent's run. It costs money, so its result is on disk before it is reported: a crash in between does not pay for
//! it twice.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::agent_filesystem::AgentFilesystem;
use super::cut_off::{CutOffRun, GOES_ON};
use super::sessions::MADE_ANEW;
use super::{EffectContext, EffectResult, never, soon};
use crate::egress::{self, JobEgress};
use crate::job::readable;
use journeyman_agent::{
    CallRecorder as CallRecord, Invocation, ModelCall, Runtime, Transcript, command_name, repository_paths,
};
use journeyman_gateway::EgressPolicy;
use journeyman_order::agent_run::AgentFailureKind;
use journeyman_order::bounds::{LARGEST_FILE, MOST_PRINTED};
use journeyman_order::moves::{AgentTask, AgentTaskWorkspace};
use journeyman_order::network::NetworkRecord;
use journeyman_order::{AgentRun, AgentUsage, EffectError, EffectOutcome, Exit};
use journeyman_sandbox::{Job, Mount, ProgramOwner, SandboxNetwork, Sink};
use journeyman_workspace::write_whole;

/// How long a program may run after its last word.
const AFTER_THE_LAST_WORD: Duration = Duration::from_secs(20);

const OUTCOME: &str = "outcome.json";
pub(crate) const STREAM: &str = "stream.jsonl";
const REQUEST: &str = "request.json";
/// Files that a run may leave for people, with the ending of the artifact's name and the media type.
const KEPT: [(&str, &str, &str); 2] =
    [(STREAM, "jsonl", "application/x-ndjson"), (REQUEST, "request.json", "application/json")];

type RedactFn = Box<dyn Fn(&str) -> String + Send + Sync>;

impl EffectContext {
    pub(super) async fn run_agent(&self, mut task: AgentTask) -> EffectResult {
        let folder = self.run_folder()?;
        if let Some(run) = recall(&folder.join(OUTCOME))? {
            tracing::info!(order = %self.order, key = %self.key, "was finished before; not run again");
            self.settle(&run).await;
            if let Ok(runtime) = self.parts.agents.get(&task.agent) {
                self.keep(&folder, &self.redaction(runtime, &task)).await;
            }
            return Ok(EffectOutcome::AgentRan(Box::new(run)));
        }
        let runtime = self.parts.agents.get(&task.agent).map_err(never)?;
        let mut goes_on = false;
        if let Runtime::Program(program) = runtime {
            match self.cut_off(program, &task, (&folder, STREAM)).await? {
                Some(CutOffRun::Ended(mut run)) => {
                    tracing::info!(order = %self.order, key = %self.key, "had said its last word; not run again");
                    let invocation = program.invocation(&task, None, "", &self.parts.settings.lookup());
                    cleanse(&mut run, &invocation, &task.agent);
                    return self.conclude(*run, &folder, runtime, &task).await;
                }
                Some(CutOffRun::Session(session)) if program.resumes() => {
                    task.session = Some(session);
                    goes_on = true;
                }
                Some(CutOffRun::Session(_)) | None => {}
            }
            if !program.resumes() {
                // It cannot resume a session from its stream, so it needs the whole task again.
                task.session = None;
            }
        }
        self.check_starts()?;
        self.bring_commits(&task).await?;
        let task = self.with_what_it_needs(task, runtime).await?;
        let instructions = self.instructions(&task).await?;
        let mut prompt = journeyman_agent::prompt(&task, &self.template(&task.command).await?, &instructions);
        if goes_on {
            prompt.text = format!("{GOES_ON}\n\n{}", prompt.text);
        }
        if let Err(because) = self.reserve(&task).await? {
            return Ok(EffectOutcome::BudgetSpent { because });
        }
        // Boxed: a running sandbox needs more than a thread's stack should hold.
        let mut run = match Box::pin(self.work(&task, runtime, &prompt.text, &folder)).await {
            Ok(run) => run,
            Err(trouble) => {
                self.release().await;
                return Err(trouble);
            }
        };
        run.warnings.extend(prompt.warnings);
        self.conclude(run, &folder, runtime, &task).await
    }

    async fn conclude(
        &self,
        mut run: AgentRun,
        folder: &Path,
        runtime: &Runtime,
        task: &AgentTask,
    ) -> EffectResult {
        let left = KEPT.iter().filter(|(file, ..)| folder.join(file).exists());
        run.artifacts.extend(left.map(|(_, ending, _)| self.artifact_name(ending)));
        // Comes first: no later failure or crash pays for the run again.
        remember(&folder.join(OUTCOME), &run)?;
        self.settle(&run).await;
        if let Err(trouble) = self.keep_session(&mut run, task, self.redaction(runtime, task)).await {
            let message = trouble.message;
            tracing::warn!(order = %self.order, key = %self.key, message, "a run's session is not kept");
        }
        remember(&folder.join(OUTCOME), &run)?;
        self.keep(folder, &self.redaction(runtime, task)).await;
        Ok(EffectOutcome::AgentRan(Box::new(run)))
    }

    /// Restarts an agent that was cut off only as often as the order may start agents.
    pub(crate) fn check_starts(&self) -> Result<(), EffectError> {
        let cut_off = self.starts().count().saturating_sub(1);
        let (spent, limit) = (self.projection.budget.runs_spent, self.projection.budget.runs_limit);
        if cut_off > 0 && spent >= limit {
            return Err(never(format!(
                "an agent was cut off {cut_off} times, and the {limit} agent runs for this order are used up"
            )));
        }
        Ok(())
    }

    async fn work(
        &self,
        task: &AgentTask,
        runtime: &Runtime,
        prompt: &str,
        folder: &Path,
    ) -> Result<AgentRun, EffectError> {
        let role = self.journal.role(&task.role);
        match runtime {
            Runtime::Program(program) => {
                let place = self.agent_filesystem(task).await?;
                let is_laid = self.lay_session(task, &place.place.home).await?;
                // If its home was recreated, so was its work tree.
                let prompt = match is_laid && task.place == AgentTaskWorkspace::Workspace {
                    true => &format!("{MADE_ANEW}\n\n{prompt}"),
                    false => prompt,
                };
                let invocation = program.invocation(task, role, prompt, &self.parts.settings.lookup());
                self.start(task, place, &invocation, program.transcript(), folder).await
            }
            // It is our own client and runs nothing of the repository, so it needs no sandbox.
            Runtime::Api(api) => {
                let key = api.key(&self.parts.settings.lookup());
                let call = ModelCall {
                    system: role.map(|role| role.system_prompt.trim()).filter(|system| !system.is_empty()),
                    prompt,
                    model: role.and_then(|role| role.model.as_deref()),
                    timeout: timeout(task),
                };
                let (request, stream) = (folder.join(REQUEST), create(&folder.join(STREAM))?);
                Ok(api.call(call, &key, &mut CallFiles { request, stream }).await)
            }
        }
    }

    pub(super) fn redaction(&self, runtime: &Runtime, task: &AgentTask) -> RedactFn {
        let environment = &self.parts.settings.lookup();
        match runtime {
            Runtime::Program(program) => {
                let invocation = program.invocation(task, None, "", environment);
                Box::new(move |text| invocation.redact(text))
            }
            Runtime::Api(api) => {
                let key = api.key(environment);
                Box::new(move |text| key.redact(text))
            }
        }
    }

    /// Stores the run's files as artifacts. They are for people, so a failure is only logged.
    async fn keep(&self, folder: &Path, redact: &RedactFn) {
        for (file, ending, media_type) in KEPT {
            let file = folder.join(file);
            if !file.exists() {
                continue;
            }
            let kept = async {
                let kept = redacted_end(&file, redact)?;
                let name = self.artifact_name(ending);
                self.keep_of_run(&name, media_type, &kept).await?;
                Ok::<(), EffectError>(())
            };
            match kept.await {
                // The artifact is the lasting copy. This one may contain what was redacted there.
                Ok(()) => drop(std::fs::remove_file(&file)),
                Err(trouble) => {
                    let message = trouble.message;
                    tracing::warn!(order = %self.order, key = %self.key, message, "a run's stream is not kept");
                }
            }
        }
    }

    fn artifact_name(&self, ending: &str) -> String {
        format!("{}.{ending}", self.key.file_name())
    }

    pub(super) async fn template(&self, command: &str) -> Result<String, EffectError> {
        match self.own_template(command).await? {
            Some((_, text)) => Ok(text),
            None => journeyman_agent::built_in(command)
                .ok_or_else(|| never(format!("there is no command template {command:?}"))),
        }
    }

    /// A template that is not built in, with its file: the repository's from the default branch, or the server's.
    pub(super) async fn own_template(&self, command: &str) -> Result<Option<(String, String)>, EffectError> {
        let name = command_name(command).map_err(never)?;
        let is_named = self.journal.prepared().is_some_and(|known| known.commands.contains(name));
        let paths = repository_paths(name, is_named).map_err(never)?;
        let commit = self.default_commit()?;
        let own = self
            .git(move |workspaces, repository| {
                for path in paths {
                    if let Some(bytes) = workspaces.file(repository, &commit, &path)? {
                        return Ok(Some((path, bytes)));
                    }
                }
                Ok(None)
            })
            .await?;
        let Some((path, bytes)) = own else {
            let of_server = self.parts.settings.commands.get(name);
            return Ok(of_server.map(|text| (format!("commands/{name}.md in templates.dir"), text.clone())));
        };
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some((path, text))),
            Err(_) => Err(never(format!("{path} is not UTF-8: save it as UTF-8"))),
        }
    }

    /// Access to the agent's model, and to nothing else that its settings do not name.
    fn egress_for(
        &self,
        task: &AgentTask,
        invocation: &Invocation,
    ) -> Result<(JobEgress, SandboxNetwork), EffectError> {
        let setting = format!("agents.{}.network in journeyman.toml", task.agent);
        let (reach, prices) = (&invocation.network, &self.parts.settings.prices);
        let upstream = |endpoint| egress::model_upstream(endpoint, self.dollars_left(), prices);
        let model = reach.endpoint.as_ref().map(upstream).transpose()?;
        let names = egress::allowed_hosts(&reach.hosts, &setting)?;
        let outgoing = self.parts.settings.testing.outgoing.clone();
        let model = model.map(|model| model.reached_by(outgoing.clone()));
        let access = EgressPolicy { names, model, setting, outgoing, registries: Vec::new() };
        JobEgress::open(&self.parts.sandbox, access)
    }

    async fn start(
        &self,
        task: &AgentTask,
        seen: AgentFilesystem,
        invocation: &Invocation,
        transcript: Transcript,
        folder: &Path,
    ) -> Result<AgentRun, EffectError> {
        let (egress, network) = self.egress_for(task, invocation)?;
        let (place, program) = (&seen.place, invocation.program.iter().map(Into::into).collect());
        let mut mounts: Vec<Mount> = invocation.reads.iter().map(|path| readable(path)).collect();
        mounts.push(place.tree_mount());
        mounts.extend(seen.mounts.iter().cloned());
        let mut job = Job {
            environment: place.variables.clone(),
            search: place.search.clone(),
            network,
            limits: self.parts.sandbox.limits(),
            timeout: timeout(task),
            most_output: MOST_PRINTED,
            ..place.short_job(program, mounts, invocation.stdin.clone())
        };
        let mut outside = None;
        if let Some(root) = &place.root {
            let program = Path::new(invocation.executable());
            outside = self.parts.environments.unstartable(&root.of.name, program).await?.map(|because| {
                format!(
                    "could not be started in the image {}, so that it worked on this machine's own system: {because}",
                    root.of.name
                )
            });
            job.root = root.job_root(ProgramOwner::Host).filter(|_| outside.is_none());
        }
        job.environment.extend(invocation.environment.clone());
        job.environment.extend(egress.environment.iter().cloned());
        let file = create(&folder.join(STREAM))?;
        let (last_word, said) = watch::channel(None);
        let mut reader = AgentOutputSink { transcript, file, stderr: Vec::new(), last_word };
        let begun = Instant::now();
        let (exit, limit) = {
            let running = self.parts.sandbox.run(job, &mut reader);
            tokio::select! {
                ended = running => ended.map(|ended| (ended.exit, ended.limit))?,
                () = overdue(said) => (Exit::TimedOut, None),
            }
        };
        let stderr = invocation.redact(&String::from_utf8_lossy(&reader.stderr));
        let mut run = reader.transcript.finish(exit, &stderr, begun.elapsed());
        let record = egress.close().await;
        run.warnings.extend(outside);
        run.warnings.extend(limit.map(|limit| {
            format!("was ended because it {limit} ({})", limit.setting().unwrap_or("a fixed limit"))
        }));
        measured(&mut run, record);
        cleanse(&mut run, invocation, &task.agent);
        Ok(run)
    }
}

/// Redacts the agent's credentials in a run, and keeps a record of which credentials it held.
fn cleanse(run: &mut AgentRun, invocation: &Invocation, agent: &str) {
    run.held.clone_from(&invocation.network.held_credentials);
    run.result = run.result.take().map(|text| invocation.redact(&text));
    if let Some(failure) = &mut run.failure {
        failure.message = invocation.redact(&failure.message);
        if failure.kind == AgentFailureKind::Misconfigured {
            failure.message = format!("{} ({})", failure.message, invocation.variables(agent));
        }
    }
}

fn timeout(task: &AgentTask) -> Duration {
    Duration::from_secs(task.timeout_seconds.max(1))
}

/// The gateway's counts override what the agent reports.
fn measured(run: &mut AgentRun, record: NetworkRecord) {
    if let Some(metered) = record.metered.as_ref().filter(|metered| metered.requests > 0) {
        run.usage = AgentUsage {
            input_tokens: metered.tokens.read(),
            output_tokens: metered.tokens.output,
            usd: metered.usd.unwrap_or(run.usage.usd),
        };
    }
    for refused in &record.refused {
        run.warnings.push(format!("was kept from {} ({}x): {}", refused.what, refused.times, refused.why));
    }
    run.network = Some(Box::new(record));
}

struct AgentOutputSink {
    transcript: Transcript,
    file: std::fs::File,
    stderr: Vec<u8>,
    last_word: watch::Sender<Option<Instant>>,
}

impl Sink for AgentOutputSink {
    fn stdout(&mut self, bytes: &[u8]) {
        self.transcript.feed(bytes);
        // The stream is for people who inspect a run; the work does not depend on it.
        let _ = std::io::Write::write_all(&mut self.file, bytes);
        self.last_word.send_replace(self.transcript.settled().then(Instant::now));
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.stderr.extend_from_slice(bytes);
        let excess = self.stderr.len().saturating_sub(8_000);
        self.stderr.drain(..excess);
    }
}

async fn overdue(last_word: watch::Receiver<Option<Instant>>) {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let said = *last_word.borrow();
        if said.is_some_and(|at| at.elapsed() > AFTER_THE_LAST_WORD) {
            return;
        }
    }
}

struct CallFiles {
    request: PathBuf,
    stream: std::fs::File,
}

impl CallRecord for CallFiles {
    fn request(&mut self, body: &str) {
        // The work does not depend on it.
        let _ = std::fs::write(&self.request, body);
    }

    fn line(&mut self, line: &str) {
        let _ = std::io::Write::write_all(&mut self.stream, format!("{line}\n").as_bytes());
    }
}

fn create(path: &Path) -> Result<std::fs::File, EffectError> {
    std::fs::File::create(path).map_err(|error| soon(format!("cannot keep a stream: {error}")))
}

fn redacted_end(stream: &Path, redact: &RedactFn) -> Result<Vec<u8>, EffectError> {
    use std::io::{Read, Seek, SeekFrom};
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(stream)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LARGEST_FILE as u64)))?;
        let mut kept = Vec::new();
        file.take(LARGEST_FILE as u64).read_to_end(&mut kept)?;
        Ok(kept)
    };
    let kept = read().map_err(|error| soon(format!("cannot read a stream again: {error}")))?;
    Ok(redact(&String::from_utf8_lossy(&kept)).into_bytes())
}

fn recall(path: &Path) -> Result<Option<AgentRun>, EffectError> {
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| never(format!("{} cannot be read: {error}", path.display()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(soon(format!("{} cannot be read: {error}", path.display()))),
    }
}

fn remember(path: &Path, run: &AgentRun) -> Result<(), EffectError> {
    let written = serde_json::to_vec(run).map_err(Into::into).and_then(|bytes| write_whole(path, &bytes));
    written.map_err(|error| soon(format!("cannot write {}: {error}", path.display())))
}
