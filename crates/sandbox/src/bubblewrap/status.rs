//! bubblewrap's reports on its status descriptor.

use std::io::{self, PipeReader};
use std::os::fd::OwnedFd;

use rustix::process::Pid;
use serde::Deserialize;
use tokio::net::unix::pipe::Receiver;

use journeyman_order::bounds::LONGEST_TAIL;

pub(super) struct StatusPipe {
    pipe: Receiver,
    told: Vec<u8>,
}

/// The reports so far.
#[derive(Default)]
pub(super) struct BubblewrapStatus {
    /// The first process of the namespace, by its id on the host.
    pub(super) first_process: Option<Pid>,
    /// Whether the program was started: only then does bubblewrap report an exit code.
    pub(super) started: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct StatusLine {
    child_pid: Option<i32>,
    exit_code: Option<i32>,
}

impl StatusPipe {
    pub(super) fn new(pipe: PipeReader) -> io::Result<Self> {
        Ok(Self { pipe: Receiver::from_owned_fd(OwnedFd::from(pipe))?, told: Vec::new() })
    }

    /// Waits for the first process. `None` if bubblewrap exited before creating it.
    pub(super) async fn first_process(&mut self) -> io::Result<Option<Pid>> {
        let mut piece = [0; 1_024];
        loop {
            let told = self.so_far();
            if told.first_process.is_some() {
                return Ok(told.first_process);
            }
            self.pipe.readable().await?;
            match self.pipe.try_read(&mut piece) {
                Ok(length) if length == 0 || self.told.len() >= LONGEST_TAIL => return Ok(None),
                Ok(length) => self.keep(&piece, length),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads what is available without waiting for more, because another process could hold the other end. It bypasses
    /// the runtime, which notices new data only after a while.
    pub(super) fn now(&mut self) -> BubblewrapStatus {
        let mut piece = [0; 1_024];
        while self.told.len() < LONGEST_TAIL {
            match rustix::io::retry_on_intr(|| rustix::io::read(&self.pipe, &mut piece)) {
                Ok(0) | Err(_) => break,
                Ok(length) => self.keep(&piece, length),
            }
        }
        self.so_far()
    }

    fn keep(&mut self, piece: &[u8], length: usize) {
        self.told.extend_from_slice(piece.get(..length).unwrap_or_default());
    }

    fn so_far(&self) -> BubblewrapStatus {
        let mut all = BubblewrapStatus::default();
        for line in serde_json::Deserializer::from_slice(&self.told).into_iter() {
            let Ok(StatusLine { child_pid, exit_code }) = line else { break };
            all.first_process = all.first_process.or(child_pid.and_then(Pid::from_raw));
            all.started |= exit_code.is_some();
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::{Duration, Instant};

    use super::*;

    #[tokio::test]
    async fn nobody_waits_for_a_word_that_never_comes() {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut status = StatusPipe::new(reader).unwrap();
        writer.write_all(b"{ \"child-pid\": 7 }\n{ \"exit-code\": 0 }\n").unwrap();
        assert_eq!(status.first_process().await.unwrap(), Pid::from_raw(7));
        // Another process still holds the other end.
        let looked = std::thread::spawn(move || status.now().started);
        let begun = Instant::now();
        while !looked.is_finished() && begun.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(looked.is_finished(), "it waits for whoever holds the pipe");
        assert!(looked.join().unwrap());
        drop(writer);
    }
}
