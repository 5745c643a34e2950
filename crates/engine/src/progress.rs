//! What happens while an environment is prepared and tests run in it, for whoever wants to watch.
//!
//! May know: commands and what they print. Must never know: who watches, and how it is shown.

use tokio::sync::mpsc::UnboundedSender;

use journeyman_image::PullProgress;
use journeyman_order::test_run::CommandRun;

#[derive(Debug, Clone, PartialEq)]
pub enum EnvironmentProgress {
    SetupBegan { command: String },
    SetupEnded(CommandRun),
    TestsBegan { command: String },
    ImagePulled { image: String, pulled: PullProgress },
    ServiceBegan { name: String },
}

#[derive(Debug, Clone, Default)]
pub(crate) struct ProgressReporter(Option<UnboundedSender<EnvironmentProgress>>);

impl ProgressReporter {
    pub(crate) fn to(sender: UnboundedSender<EnvironmentProgress>) -> Self {
        Self(Some(sender))
    }

    pub(crate) fn tell(&self, progress: EnvironmentProgress) {
        // Whoever listens no longer does not want to know.
        if let Some(sender) = &self.0 {
            let _ = sender.send(progress);
        }
    }
}
