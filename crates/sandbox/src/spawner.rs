//! One thread starts all processes.
//!
//! A sandbox dies with its parent (`PR_SET_PDEATHSIG`), and for the kernel the parent is the *thread* that started it.
//! The runtime ends idle threads, so a thread that lives as long as the process does it instead.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Stdio;
use std::sync::{Mutex, PoisonError, mpsc};

use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

struct SpawnRequest {
    command: Command,
    runtime: Handle,
    reply: oneshot::Sender<io::Result<Child>>,
}

static SPAWNER: Mutex<Option<mpsc::Sender<SpawnRequest>>> = Mutex::new(None);

/// A command in the root folder, without our variables, input or output. Dropping the process kills it.
pub(super) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().current_dir("/").kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Pipes its output, and its input if there is any.
pub(super) fn piped(command: &mut Command, has_input: bool) {
    if has_input {
        command.stdin(Stdio::piped());
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
}

/// Starts a process that is killed when the result is dropped.
pub(super) async fn spawn(command: Command) -> io::Result<Child> {
    let (reply, answer) = oneshot::channel();
    ask(SpawnRequest { command, runtime: Handle::current(), reply })?;
    answer.await.map_err(|_| io::Error::other("the thread that starts processes is gone"))?
}

fn ask(request: SpawnRequest) -> io::Result<()> {
    let mut spawner = SPAWNER.lock().unwrap_or_else(PoisonError::into_inner);
    let request = match &*spawner {
        Some(thread) => match thread.send(request) {
            Ok(()) => return Ok(()),
            Err(mpsc::SendError(request)) => request,
        },
        None => request,
    };
    let (thread, requests) = mpsc::channel::<SpawnRequest>();
    std::thread::Builder::new().name("spawner".to_owned()).spawn(move || {
        for SpawnRequest { mut command, runtime, reply } in requests {
            let _runtime = runtime.enter();
            let started = command.spawn();
            // It holds descriptors meant only for the new process.
            drop(command);
            // If the caller is gone, this drops the process and so kills it.
            drop(reply.send(started));
        }
    })?;
    thread.send(request).map_err(|_| io::Error::other("the thread that starts processes ended"))?;
    *spawner = Some(thread);
    Ok(())
}

/// Hides inherited descriptors from child processes. Our own are close-on-exec anyway, but our parent may have left
/// files or sockets open, and those would be open in every sandbox.
#[allow(unsafe_code)]
pub(super) fn keep_what_was_inherited() -> io::Result<()> {
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let Some(number) = entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        if number > 2 {
            // SAFETY: the number is used for this one call. Should the descriptor have been closed since, the call
            // fails; should another have taken its place, it gets the mark that everything opened here has.
            let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
            let _ = rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::CLOEXEC);
        }
    }
    Ok(())
}

/// Lets the process inherit these descriptors under the same numbers. Other processes never get them, because
/// close-on-exec is cleared only in the new process.
#[allow(unsafe_code)]
pub(super) fn inherit(command: &mut Command, descriptors: Vec<OwnedFd>) {
    let open = move || {
        for descriptor in &descriptors {
            rustix::io::fcntl_setfd(descriptor.as_fd(), rustix::io::FdFlags::empty())?;
        }
        Ok(())
    };
    // SAFETY: only fcntl is called.
    unsafe { command.pre_exec(open) };
}
