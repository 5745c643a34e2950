//! The runtime `command`: any program that reads a prompt and prints a result.

use std::collections::BTreeMap;

use super::settings::AgentSettings;
use super::stream::{OutputFormat, StreamTranscript};
use super::{AgentProgram, Invocation, Transcript, describe, is_session_id, pass_on, reach, role as of_role};
use journeyman_order::Role;
use journeyman_order::moves::AgentTask;

pub(super) struct CommandProgram {
    settings: AgentSettings,
}

impl CommandProgram {
    pub(super) fn new(settings: AgentSettings) -> Self {
        Self { settings }
    }
}

impl AgentProgram for CommandProgram {
    fn invocation(
        &self,
        task: &AgentTask,
        role: Option<&Role>,
        prompt: &str,
        lookup_env: &dyn Fn(&str) -> Option<String>,
    ) -> Invocation {
        let mut environment = BTreeMap::new();
        let passed_on = pass_on(&self.settings, lookup_env, &mut environment);
        let reach = reach::take(&self.settings.network, &mut environment);
        describe(task, &mut environment);
        let session = task.session.as_deref().filter(|id| self.settings.resumes && is_session_id(id));
        if let Some(session) = session {
            environment.insert("JOURNEYMAN_SESSION".into(), session.into());
        }
        Invocation {
            program: self.settings.program.clone(),
            environment,
            network: reach,
            stdin: of_role::before(of_role::system_prompt(role).as_deref(), prompt).into_bytes(),
            reads: self.settings.read.clone(),
            forwarded: passed_on,
        }
    }

    fn resumes(&self) -> bool {
        self.settings.resumes
    }

    fn transcript(&self) -> Box<dyn Transcript> {
        Box::new(StreamTranscript::new(OutputFormat::RecordsOrText))
    }
}
