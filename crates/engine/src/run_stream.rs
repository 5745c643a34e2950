//! Reads what a running agent prints from its file, so that watchers do not slow it down.
//!
//! May know: where a run's stream is, and what has to be removed from it. Must never know: who watches.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

use super::Engine;
use super::effects::STREAM;
use journeyman_agent::{LiveRedactor, Runtime};
use journeyman_order::bounds::LARGEST_SOURCE;
use journeyman_order::moves::AgentTask;
use journeyman_order::{MoveKey, OrderId};
use journeyman_workspace::SecretSet;

pub struct RunStream {
    file: PathBuf,
    at: Option<u64>,
    redactor: LiveRedactor,
    ours: SecretSet,
}

impl Engine {
    /// The stream of a running agent. `None` before it begins and once it is an artifact.
    pub fn run_stream(
        &self,
        order: OrderId,
        key: &MoveKey,
        attempt: usize,
        task: &AgentTask,
    ) -> Option<RunStream> {
        let runs = self.parts.workspaces.order_dirs(order).runs;
        let file = runs.join(format!("{}.{attempt}", key.file_name())).join(STREAM);
        let settings = &self.parts.settings;
        let redactor = match self.parts.agents.get(&task.agent).ok()? {
            Runtime::Program(program) => {
                program.invocation(task, None, "", &settings.lookup()).live_redactor()
            }
            Runtime::Api(api) => api.key(&settings.lookup()).live_redactor(),
        };
        file.exists().then(|| RunStream { file, at: None, redactor, ours: settings.secrets.clone() })
    }
}

impl RunStream {
    /// New whole lines, without secrets. Fails once the stream is an artifact.
    pub fn read_on(&mut self) -> std::io::Result<String> {
        let mut file = File::open(&self.file)?;
        let length = file.metadata()?.len();
        let mut at = match self.at {
            // The file was started over.
            Some(at) if at > length => 0,
            Some(at) => at,
            None => length.saturating_sub(LARGEST_SOURCE as u64),
        };
        let mut came = Vec::new();
        if at < length {
            file.seek(SeekFrom::Start(at))?;
            file.take(LARGEST_SOURCE as u64).read_to_end(&mut came)?;
            at += u64::try_from(came.len()).unwrap_or(0);
            // Only at the file's beginning is the first line sure to be whole.
            if self.at.is_none() && length > LARGEST_SOURCE as u64 {
                let whole = came.iter().position(|byte| *byte == b'\n').map_or(came.len(), |end| end + 1);
                came.drain(..whole);
            }
        }
        self.at = Some(at);
        let shown = self.redactor.feed(&came);
        // No agent gets these secrets. If one has them anyway, the line is hidden.
        let mut clean = String::with_capacity(shown.len());
        for line in shown.split_inclusive('\n') {
            if self.ours.named_in(line).is_none() {
                clean.push_str(line);
            }
        }
        Ok(clean)
    }
}
