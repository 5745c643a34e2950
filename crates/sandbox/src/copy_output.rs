//! Feeds a running process, copies its output, and kills it at its timeout.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin};
use tokio::time::{Instant, sleep_until};

use super::{ExceededLimit, Sink};

/// How long to read output after the process ended. A child may hold the pipe open forever, but the process's own
/// output is already in it.
const GRACE: Duration = Duration::from_millis(500);
/// The size of a pipe.
const CHUNK: usize = 64 * 1024;

pub(super) struct ProcessOutcome {
    /// `None` if it was killed because of its timeout or a limit.
    pub(super) status: Option<ExitStatus>,
    pub(super) limit: Option<ExceededLimit>,
    pub(super) output_cut: bool,
}

/// One of the two output streams.
struct OutputPipe<R> {
    pipe: Option<R>,
    left: u64,
    cut: bool,
}

impl<R: AsyncRead + Unpin> OutputPipe<R> {
    fn new(pipe: Option<R>, left: u64) -> Self {
        Self { pipe, left, cut: false }
    }

    /// The next chunk; never ready once the pipe is closed. Cancel-safe.
    async fn read(&mut self, buffer: &mut [u8]) -> usize {
        match &mut self.pipe {
            Some(pipe) => pipe.read(buffer).await.unwrap_or(0),
            None => std::future::pending().await,
        }
    }

    /// The part of a chunk within the limit.
    fn take<'b>(&mut self, buffer: &'b [u8], length: usize) -> &'b [u8] {
        if length == 0 {
            self.pipe = None;
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        let kept = length.min(most);
        self.left -= kept as u64;
        self.cut |= kept < length;
        buffer.get(..kept).unwrap_or_default()
    }
}

/// Runs a process until it exits, or kills it with SIGKILL at `timeout` or at a limit.
pub(super) async fn pump(
    child: &mut Child,
    stdin: &[u8],
    sink: &mut dyn Sink,
    timeout: Duration,
    most_output: u64,
    reached: impl Future<Output = ExceededLimit>,
) -> io::Result<ProcessOutcome> {
    let mut out = OutputPipe::new(child.stdout.take(), most_output);
    let mut err = OutputPipe::new(child.stderr.take(), most_output);
    let feeding = feed(child.stdin.take(), stdin);
    tokio::pin!(feeding, reached);
    let (mut out_buffer, mut err_buffer) = (vec![0; CHUNK], vec![0; CHUNK]);
    let now = Instant::now();
    let deadline = now.checked_add(timeout).unwrap_or(now + Duration::from_secs(86_400 * 30));
    let (mut fed, mut killed, mut limit) = (false, false, None);
    let mut ended: Option<(ExitStatus, Instant)> = None;
    while ended.is_none() || out.pipe.is_some() || err.pipe.is_some() {
        let until = ended.map_or(deadline, |(_, at)| at + GRACE);
        tokio::select! {
            length = out.read(&mut out_buffer) => sink.stdout(out.take(&out_buffer, length)),
            length = err.read(&mut err_buffer) => sink.stderr(err.take(&err_buffer, length)),
            () = &mut feeding, if !fed => fed = true,
            status = child.wait(), if ended.is_none() => ended = Some((status?, Instant::now())),
            hit = &mut reached, if ended.is_none() && !killed => {
                (killed, limit) = (true, Some(hit));
                child.start_kill()?;
            }
            () = sleep_until(until), if ended.is_some() || !killed => {
                if ended.is_some() {
                    break;
                }
                killed = true;
                child.start_kill()?;
            }
        }
    }
    let status = ended.map(|(status, _)| status).filter(|_| !killed);
    Ok(ProcessOutcome { status, limit, output_cut: out.cut || err.cut })
}

/// Writes the input. A process may ignore the rest of its input, so that is not an error.
async fn feed(pipe: Option<ChildStdin>, bytes: &[u8]) {
    if let Some(mut pipe) = pipe
        && pipe.write_all(bytes).await.is_ok()
    {
        drop(pipe.shutdown().await);
    }
}
