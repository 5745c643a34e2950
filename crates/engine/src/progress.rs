//! What happens while an environment is prepared and tests run in it, for whoever wants to watch.
//!
//! May know: commands and what they print. Must never know: who watches, and how it is shown.

use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;

use journeyman_image::PullProgress;
use journeyman_order::test_run::CommandRun;

/// Lines are told this often at most.
const EVERY: Duration = Duration::from_millis(100);
/// Of a line that is told, in bytes.
const LONGEST: usize = 400;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum EnvironmentProgress {
    /// A command of the setup begins.
    SetupBegan {
        command: String,
    },
    SetupEnded(CommandRun),
    /// The tests begin.
    TestsBegan {
        command: String,
    },
    /// How far the pull of an image is.
    ImagePulled {
        image: String,
        pulled: PullProgress,
    },
    /// A service is started beside them.
    ServiceBegan {
        name: String,
    },
    /// A line that the command prints at the moment. Not every line is told, and nothing in it is made harmless.
    Printed(String),
}

/// Tells it, where somebody listens.
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

/// Tells lines of an output while it grows.
#[derive(Default)]
pub(crate) struct LineReporter {
    progress: ProgressReporter,
    line: Vec<u8>,
    told: Option<Instant>,
}

impl LineReporter {
    pub(crate) fn new(progress: ProgressReporter) -> Self {
        Self { progress, line: Vec::new(), told: None }
    }

    pub(crate) fn take(&mut self, bytes: &[u8]) {
        if self.progress.0.is_none() {
            return;
        }
        let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let mut whole = None;
        for (number, part) in bytes.split(is_end).enumerate() {
            if number > 0 {
                let line = std::mem::take(&mut self.line);
                whole = (!line.trim_ascii().is_empty()).then_some(line).or(whole);
            }
            let room = LONGEST.saturating_sub(self.line.len()).min(part.len());
            self.line.extend_from_slice(part.get(..room).unwrap_or_default());
        }
        let Some(line) = whole else { return };
        if self.told.is_none_or(|told| told.elapsed() >= EVERY) {
            self.told = Some(Instant::now());
            let line = String::from_utf8_lossy(&line).trim().to_owned();
            self.progress.tell(EnvironmentProgress::Printed(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_whole_line_is_told_and_no_flood_of_them() {
        let (sender, mut told) = tokio::sync::mpsc::unbounded_channel();
        let mut lines = LineReporter::new(ProgressReporter::to(sender));
        lines.take(b"Collecting a");
        assert!(told.try_recv().is_err());
        lines.take(b"\nCollecting b\r\n   \nCollec");
        lines.take(b"ting c\n");
        assert_eq!(told.try_recv().unwrap(), EnvironmentProgress::Printed("Collecting b".to_owned()));
        assert!(told.try_recv().is_err(), "the next one came too soon");
        lines.told = None;
        lines.take(&[b"x".repeat(5_000), b"\n".to_vec()].concat());
        assert_eq!(told.try_recv().unwrap(), EnvironmentProgress::Printed("x".repeat(LONGEST)));
    }
}
