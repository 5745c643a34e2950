//! What bubblewrap tells of the sandbox on its status descriptor.

use std::io::{self, PipeReader};
use std::os::fd::OwnedFd;

use rustix::process::Pid;
use serde::Deserialize;
use tokio::net::unix::pipe::Receiver;

/// More than bubblewrap ever tells.
const MOST: usize = 16_384;

pub(super) struct Status {
    pipe: Receiver,
    told: Vec<u8>,
}

/// What has been told so far.
#[derive(Default)]
pub(super) struct Told {
    /// The first process of the namespace, by the host's number.
    pub(super) first_process: Option<Pid>,
    /// Whether the program was started at all: only then bubblewrap tells its exit code.
    pub(super) started: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct StatusLine {
    child_pid: Option<i32>,
    exit_code: Option<i32>,
}

impl Status {
    pub(super) fn new(pipe: PipeReader) -> io::Result<Self> {
        Ok(Self { pipe: Receiver::from_owned_fd(OwnedFd::from(pipe))?, told: Vec::new() })
    }

    /// Waits for the first process. None: bubblewrap ended before it made one.
    pub(super) async fn first_process(&mut self) -> io::Result<Option<Pid>> {
        loop {
            let told = self.so_far();
            if told.first_process.is_some() {
                return Ok(told.first_process);
            }
            self.pipe.readable().await?;
            if !self.take()? {
                return Ok(None);
            }
        }
    }

    /// Reads what is there, and does not wait for more: something could hold the other end.
    pub(super) fn now(&mut self) -> Told {
        while self.told.len() < MOST && self.take().unwrap_or(false) {}
        self.so_far()
    }

    /// Whether there may be more.
    fn take(&mut self) -> io::Result<bool> {
        let mut piece = [0; 1_024];
        match self.pipe.try_read(&mut piece) {
            Ok(0) => Ok(false),
            Ok(length) => {
                self.told.extend_from_slice(piece.get(..length).unwrap_or_default());
                Ok(self.told.len() < MOST)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
            Err(error) => Err(error),
        }
    }

    fn so_far(&self) -> Told {
        let mut all = Told::default();
        for line in serde_json::Deserializer::from_slice(&self.told).into_iter() {
            let Ok(StatusLine { child_pid, exit_code }) = line else { break };
            all.first_process = all.first_process.or(child_pid.and_then(Pid::from_raw));
            all.started |= exit_code.is_some();
        }
        all
    }
}
