//! Services beside a command, such as a database: each in its image, in the command's network, stopped with it.
//!
//! May know: images, the sandbox, what a plan says of services. Must never know: what the command is.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{EnvironmentProgress, Environments, UsedImage};
use crate::job::blocking;
use journeyman_environment::PlannedService;
use journeyman_order::bounds::MOST_PRINTED;
use journeyman_order::{EffectError, Exit};
use journeyman_sandbox::{Job, ProgramOwner, RootTrial, SharedNetwork, Sink};
use journeyman_workspace::remove_all;

/// The time in which a service must become ready.
const READY_AFTER: Duration = Duration::from_secs(120);
const MOST_TAIL: usize = 8 << 10;
/// How long deleting its folder is retried: it fails until all its processes have ended.
const ENDED_AFTER: Duration = Duration::from_secs(10);

/// Starts the service, and prints our word once its `ready` command succeeds.
const STARTED: &str = r#"
word=$1 ready=$2 folder=$3; shift 3
mkdir -p "$folder" 2>/dev/null
cd "$folder" || exit
"$@" & service=$!
if [ -n "$ready" ]; then
    until sh -c "$ready" >/dev/null 2>&1; do kill -0 $service 2>/dev/null || break; sleep 0.2; done
fi
kill -0 $service 2>/dev/null && echo "$word"
wait $service
"#;

#[derive(Debug)]
pub(crate) struct RunningServices {
    pub(crate) network: SharedNetwork,
    running: Vec<RunningService>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServiceFailure {
    pub(crate) name: String,
    /// `None` if it runs but was not ready in time.
    pub(crate) exit: Option<Exit>,
    pub(crate) said: String,
}

impl RunningServices {
    pub(crate) fn ended(&self) -> Vec<ServiceFailure> {
        self.running.iter().filter_map(|service| service.state.borrow().clone()?.err()).collect()
    }
}

#[derive(Debug)]
struct RunningService {
    name: String,
    state: watch::Receiver<ServiceState>,
    folder: PathBuf,
    task: JoinHandle<()>,
}

impl Drop for RunningService {
    fn drop(&mut self) {
        self.task.abort();
        let folder = self.folder.clone();
        // Its processes are killed soon after. The next server deletes what remains.
        tokio::spawn(async move {
            let begun = std::time::Instant::now();
            while begun.elapsed() < ENDED_AFTER {
                let place = folder.clone();
                if blocking(move || remove_all(&place)).await.is_ok_and(|removed| removed.is_ok()) {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
    }
}

/// `None` while it starts, then that it is ready or how it ended.
type ServiceState = Option<Result<(), ServiceFailure>>;

impl std::fmt::Display for ServiceFailure {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, exit, .. } = self;
        match exit {
            Some(exit) => write!(out, "The service `{name}` ended with {exit}"),
            None => write!(out, "The service `{name}` was not ready after {} s", READY_AFTER.as_secs()),
        }
    }
}

impl Environments {
    /// Starts services and waits until they are ready. `None` if there are none; the inner error is the first failure.
    pub(crate) async fn start_services(
        &self,
        services: &[PlannedService],
        lifetime: Duration,
    ) -> Result<Result<Option<RunningServices>, ServiceFailure>, EffectError> {
        if services.is_empty() {
            return Ok(Ok(None));
        }
        let names = services.iter().map(|service| service.name.clone()).collect();
        let network = self.inner.sandbox.shared_network(names).await?;
        let mut running = Vec::new();
        for service in services {
            let image = self.image(&service.image).await?;
            if image.command().len() < 2 {
                let (name, exit) = (service.name.clone(), Some(Exit::Code(127)));
                let said = format!("the image {} names no program to start", service.image);
                return Ok(Err(ServiceFailure { name, exit, said }));
            }
            self.progress.tell(EnvironmentProgress::ServiceBegan { name: service.name.clone() });
            running.push(self.start_service(service, image, &network, lifetime)?);
        }
        for service in &mut running {
            let is_told = service.state.wait_for(Option::is_some);
            // Its task reports at the latest when it ends.
            let told = match tokio::time::timeout(READY_AFTER, is_told).await {
                Ok(Ok(told)) => told.clone(),
                Ok(Err(_)) | Err(_) => None,
            };
            let late = || {
                let said = "its `ready` command did not succeed".to_owned();
                Err(ServiceFailure { name: service.name.clone(), exit: None, said })
            };
            if let Err(failed) = told.unwrap_or_else(late) {
                return Ok(Err(failed));
            }
        }
        Ok(Ok(Some(RunningServices { network, running })))
    }

    fn start_service(
        &self,
        service: &PlannedService,
        image: UsedImage,
        network: &SharedNetwork,
        lifetime: Duration,
    ) -> Result<RunningService, EffectError> {
        let place = self.inner.workspaces.layers().join(uuid::Uuid::new_v4().simple().to_string());
        let word = format!("ready-{}", uuid::Uuid::new_v4().simple());
        let ready = service.ready.clone().unwrap_or_default();
        let mut program: Vec<OsString> = ["sh", "-c", STARTED, "sh", &word, &ready].map(Into::into).to_vec();
        program.extend(image.command().into_iter().map(Into::into));
        let job = Job {
            environment: service.env.clone(),
            joins: Some(network.clone()),
            limits: self.inner.sandbox.limits(),
            timeout: lifetime + READY_AFTER,
            most_output: MOST_PRINTED,
            ..self.job_in(&image, &place, RootTrial { program, owner: ProgramOwner::Root })?
        };
        let name = service.name.clone();
        let (tell, state) = watch::channel(None);
        let sandbox = self.inner.sandbox.clone();
        let task = tokio::spawn(async move {
            let mut sink = ServiceOutput { word, tell, line: Vec::new(), tail: Vec::new() };
            let (exit, said) = match sandbox.run(job, &mut sink).await {
                Ok(ended) => (ended.exit, String::from_utf8_lossy(&sink.tail).into_owned()),
                Err(error) => (Exit::Code(-1), error.to_string()),
            };
            // Once the service was ready, nothing waits for this.
            let _ = sink.tell.send(Some(Err(ServiceFailure { name, exit: Some(exit), said })));
            drop(image);
        });
        Ok(RunningService { name: service.name.clone(), state, folder: place, task })
    }
}

struct ServiceOutput {
    word: String,
    tell: watch::Sender<ServiceState>,
    line: Vec<u8>,
    tail: Vec<u8>,
}

impl ServiceOutput {
    fn keep(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
        let excess = self.tail.len().saturating_sub(MOST_TAIL);
        self.tail.drain(..excess);
    }
}

impl Sink for ServiceOutput {
    fn stdout(&mut self, bytes: &[u8]) {
        self.keep(bytes);
        for byte in bytes {
            match byte {
                b'\n' => {
                    if self.line == self.word.as_bytes() {
                        let _ = self.tell.send(Some(Ok(())));
                    }
                    self.line.clear();
                }
                byte if self.line.len() <= self.word.len() => self.line.push(*byte),
                _ => {}
            }
        }
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.keep(bytes);
    }
}
