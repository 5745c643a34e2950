//! Shows setup and tests while they run: a spinner, or plain lines without a terminal.
//!
//! May know: the terminal. Must never know: what comes of it.

use indicatif::ProgressBar;

use super::super::live::spinner;
use super::words::{first_line, took};
use crate::engine::{EnvironmentProgress, PullProgress, PullStep};
use crate::order::Exit;

/// Longest command shown, in characters.
const LONGEST: usize = 80;

pub(super) struct ProgressOutput {
    spinner: Option<ProgressBar>,
    /// The current activity.
    doing: String,
    /// Set if standard output is reserved for the JSON document.
    is_silent: bool,
}

impl ProgressOutput {
    pub(super) fn new(is_silent: bool) -> Self {
        Self { spinner: None, doing: String::new(), is_silent }
    }

    /// Prints something that is finished.
    pub(super) fn print(&self, text: &str) {
        if !self.is_silent {
            print!("{text}");
        }
    }

    pub(super) fn begin(&mut self, what: &str) {
        self.spinner = spinner();
        self.doing = what.to_owned();
        self.draw("");
    }

    pub(super) fn show(&mut self, progress: EnvironmentProgress) {
        match progress {
            EnvironmentProgress::SetupBegan { command } => self.started(&command),
            EnvironmentProgress::BuildBegan { command } => {
                self.started(&format!("building the base once: {command}"));
            }
            EnvironmentProgress::TestsBegan { command } => self.started(&command),
            EnvironmentProgress::SetupEnded(run) => {
                if self.spinner.is_none() {
                    let ended = match run.exit {
                        Exit::Code(0) => "done".to_owned(),
                        exit @ (Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut) => {
                            format!("failed ({exit})")
                        }
                    };
                    eprintln!("  … {ended} after {}", took(run.duration_seconds));
                }
            }
            EnvironmentProgress::ImagePulled { image, pulled } => self.pulled(&image, pulled),
            EnvironmentProgress::ServiceBegan { name } => self.started(&format!("the service {name}")),
        }
    }

    pub(super) fn end(&mut self) {
        if let Some(spinner) = self.spinner.take() {
            spinner.finish_and_clear();
        }
    }

    fn pulled(&mut self, image: &str, PullProgress { step, done, total }: PullProgress) {
        let what = match step {
            PullStep::Download => "pulling",
            PullStep::Unpack => "unpacking",
        };
        let doing = first_line(&format!("{what} {image}"), LONGEST);
        if self.doing != doing {
            self.started(&doing);
        }
        let of = total.map(|total| format!(" of {}", total.div_ceil(1 << 20))).unwrap_or_default();
        self.draw(&format!("{}{of} MiB", done >> 20));
    }

    fn started(&mut self, command: &str) {
        self.doing = first_line(command, LONGEST);
        match &self.spinner {
            Some(spinner) => {
                spinner.reset_elapsed();
                self.draw("");
            }
            None => eprintln!("  … {}", self.doing),
        }
    }

    fn draw(&self, printed: &str) {
        if let Some(spinner) = &self.spinner {
            spinner.set_message(match printed {
                "" => self.doing.clone(),
                printed => format!("{} — {printed}", self.doing),
            });
        }
    }
}
