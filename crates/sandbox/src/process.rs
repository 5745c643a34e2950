//! A process of ours, started without a copy of this one: what `fork` copies grows with the server, and a sandbox would
//! start the slower the longer the server has worked. As with `posix_spawn`, the new process shares our memory until it is
//! another program, and the thread that starts it waits until then.
//!
//! May know: system calls. Must never know: what is started.

use std::ffi::{CString, OsStr, c_int, c_void};
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, waitpid};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::runtime::Handle;

/// What a new process does with its memory before it is another program: system calls, and no more.
const STACK: usize = 256 << 10;
/// The last signal of the kernel's.
const LAST_SIGNAL: c_int = 64;
/// How long is waited between two looks at a process that is traced.
const TRACED: Duration = Duration::from_millis(10);

/// Done by the new process before it is the program.
type ProcessPreparation = Box<dyn FnMut() -> io::Result<()> + Send + Sync>;

/// What is to be started: with no variables, and without input and output, but what is said here.
pub(super) struct ProcessCommand {
    program: Vec<u8>,
    arguments: Vec<Vec<u8>>,
    variables: Vec<Vec<u8>>,
    directory: Vec<u8>,
    has_input: bool,
    has_output: bool,
    is_own_group: bool,
    preparations: Vec<ProcessPreparation>,
}

impl ProcessCommand {
    pub(super) fn new(program: impl AsRef<OsStr>) -> Self {
        let program = program.as_ref().as_bytes().to_vec();
        Self {
            arguments: vec![program.clone()],
            program,
            variables: Vec::new(),
            directory: b"/".to_vec(),
            has_input: false,
            has_output: false,
            is_own_group: false,
            preparations: Vec::new(),
        }
    }

    pub(super) fn arg(&mut self, argument: impl AsRef<OsStr>) -> &mut Self {
        self.arguments.push(argument.as_ref().as_bytes().to_vec());
        self
    }

    pub(super) fn args<A: AsRef<OsStr>>(&mut self, arguments: impl IntoIterator<Item = A>) -> &mut Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().as_bytes().to_vec()));
        self
    }

    /// Of two of the same name the later counts.
    pub(super) fn envs<N: AsRef<OsStr>, V: AsRef<OsStr>>(
        &mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> &mut Self {
        for (name, value) in variables {
            let mut variable = name.as_ref().as_bytes().to_vec();
            variable.push(b'=');
            self.variables.retain(|known| !known.starts_with(&variable));
            variable.extend_from_slice(value.as_ref().as_bytes());
            self.variables.push(variable);
        }
        self
    }

    pub(super) fn current_dir(&mut self, directory: impl AsRef<Path>) -> &mut Self {
        self.directory = directory.as_ref().as_os_str().as_bytes().to_vec();
        self
    }

    /// Whether it is given input.
    pub(super) fn input(&mut self, is_given: bool) -> &mut Self {
        self.has_input = is_given;
        self
    }

    /// What it prints is taken.
    pub(super) fn output(&mut self) -> &mut Self {
        self.has_output = true;
        self
    }

    /// It leads a process group.
    pub(super) fn own_group(&mut self) -> &mut Self {
        self.is_own_group = true;
        self
    }

    /// Has the new process do this before it is the program, after what was said before.
    ///
    /// # Safety
    /// It has our memory, and other threads go on meanwhile: it makes system calls with what was made before, allocates
    /// nothing, writes nothing but its own stack, and does not panic.
    #[allow(unsafe_code)]
    pub(super) unsafe fn before_exec(
        &mut self,
        prepare: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
    ) {
        self.preparations.push(Box::new(prepare));
    }

    /// Starts it, in a runtime.
    pub(super) fn spawn(self) -> io::Result<SpawnedProcess> {
        let nothing = || std::fs::File::options().read(true).write(true).open("/dev/null").map(OwnedFd::from);
        let (input, stdin) = match self.has_input {
            true => io::pipe().map(|(theirs, ours)| (OwnedFd::from(theirs), Some(ours)))?,
            false => (nothing()?, None),
        };
        let taken = || match self.has_output {
            true => io::pipe().map(|(ours, theirs)| (OwnedFd::from(theirs), Some(ours))),
            false => nothing().map(|nothing| (nothing, None)),
        };
        let ((output, stdout), (errors, stderr)) = (taken()?, taken()?);
        let mut birth = ProcessBirth::of(self, [input, output, errors])?;
        let process = birth.begin()?;
        drop(birth);
        SpawnedProcess::of(process, stdin, (stdout, stderr))
    }
}

/// All that the new process needs, in words that need no memory.
struct ProcessBirth {
    program: CString,
    directory: CString,
    _words: Vec<CString>,
    arguments: Vec<*const libc::c_char>,
    variables: Vec<*const libc::c_char>,
    standard: [OwnedFd; 3],
    is_own_group: bool,
    preparations: Vec<ProcessPreparation>,
    /// The number of the error that it failed by.
    failed: AtomicI32,
}

impl ProcessBirth {
    fn of(command: ProcessCommand, standard: [OwnedFd; 3]) -> io::Result<Self> {
        let ProcessCommand { program, arguments, variables, directory, is_own_group, preparations, .. } =
            command;
        let how_many = arguments.len();
        let words: Vec<CString> =
            arguments.into_iter().chain(variables).map(CString::new).collect::<Result<_, _>>()?;
        let pointers = |words: &[CString]| {
            words.iter().map(|word| word.as_ptr()).chain([ptr::null()]).collect::<Vec<_>>()
        };
        let (arguments, variables) = words.split_at(how_many);
        Ok(Self {
            program: CString::new(program)?,
            directory: CString::new(directory)?,
            arguments: pointers(arguments),
            variables: pointers(variables),
            _words: words,
            standard,
            is_own_group,
            preparations,
            failed: AtomicI32::new(0),
        })
    }

    /// Answers when the new process is the program.
    #[allow(unsafe_code)]
    fn begin(&mut self) -> io::Result<Pid> {
        let mut stack = Vec::<u128>::with_capacity(STACK / size_of::<u128>());
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        // SAFETY: no signal of ours is handled by the new process, since none reaches it before it has let go of all
        // handlers. The stack, of which it gets the end, and what it is shown live until it is another program or gone,
        // since until then this thread waits.
        let process = unsafe {
            let mut before = std::mem::zeroed();
            let mut all = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
            let end = stack.as_mut_ptr().add(stack.capacity()).cast::<c_void>();
            let process = libc::clone(born, end, flags, ptr::from_mut(self).cast::<c_void>());
            let failed = io::Error::last_os_error();
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
            Pid::from_raw(process).filter(|_| process > 0).ok_or(failed)?
        };
        match self.failed.load(Ordering::Acquire) {
            0 => Ok(process),
            error => {
                let _ = waitpid(Some(process), WaitOptions::empty());
                Err(io::Error::from_raw_os_error(error))
            }
        }
    }

    /// Becomes the program; answers only when it cannot.
    #[allow(unsafe_code)]
    fn become_it(&mut self) -> io::Result<()> {
        let done = |answer: c_int| if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
        for (number, descriptor) in (0..).zip(&self.standard) {
            // SAFETY: these numbers are owned by nobody who lives on after the exec that follows.
            done(unsafe { libc::dup2(descriptor.as_raw_fd(), number) })?;
        }
        // SAFETY: a signal that has no handler, as those of which the system's library says that they are its own, is an
        // error that changes nothing.
        unsafe {
            for signal in 1..=LAST_SIGNAL {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
        if self.is_own_group {
            // SAFETY: it takes two numbers.
            done(unsafe { libc::setpgid(0, 0) })?;
        }
        // SAFETY: the word ends with a zero byte.
        done(unsafe { libc::chdir(self.directory.as_ptr()) })?;
        for prepare in &mut self.preparations {
            prepare()?;
        }
        // SAFETY: the lists end with a null, and what they lead to lives.
        unsafe {
            let mut none = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
            libc::execve(self.program.as_ptr(), self.arguments.as_ptr(), self.variables.as_ptr());
        }
        Err(io::Error::last_os_error())
    }
}

/// The new process, from its first instruction.
#[allow(unsafe_code)]
extern "C" fn born(birth: *mut c_void) -> c_int {
    // SAFETY: it is what `begin` gave, and whoever gave it waits.
    let birth = unsafe { &mut *birth.cast::<ProcessBirth>() };
    if let Err(error) = birth.become_it() {
        birth.failed.store(error.raw_os_error().unwrap_or(libc::EINVAL), Ordering::Release);
    }
    // SAFETY: it ends this process, and nothing of ours is tidied up.
    unsafe { libc::_exit(127) }
}

/// What is readable when a process has ended.
#[allow(unsafe_code)]
pub(super) fn watched(process: Pid) -> io::Result<AsyncFd<OwnedFd>> {
    let descriptor = pidfd_open(process, PidfdFlags::NONBLOCK)?;
    // SAFETY: it owns the descriptor, which stays the same and open as long as it lives.
    Ok(unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) }?)
}

/// A process that was started. It is killed when this is dropped.
#[derive(Debug)]
pub(super) struct SpawnedProcess {
    pub(super) stdin: Option<Sender>,
    pub(super) stdout: Option<Receiver>,
    pub(super) stderr: Option<Receiver>,
    process: Pid,
    /// None once it is reaped: its number may be another's then.
    running: Option<AsyncFd<OwnedFd>>,
    status: Option<ExitStatus>,
    runtime: Handle,
}

impl SpawnedProcess {
    fn of(
        process: Pid,
        stdin: Option<PipeWriter>,
        (stdout, stderr): (Option<PipeReader>, Option<PipeReader>),
    ) -> io::Result<Self> {
        let running = watched(process).inspect_err(|_| {
            let _ = kill_process(process, Signal::KILL);
            let _ = waitpid(Some(process), WaitOptions::empty());
        })?;
        let mut started = Self {
            stdin: None,
            stdout: None,
            stderr: None,
            process,
            running: Some(running),
            status: None,
            runtime: Handle::current(),
        };
        let read =
            |pipe: Option<PipeReader>| pipe.map(|pipe| Receiver::from_owned_fd(pipe.into())).transpose();
        started.stdin = stdin.map(|pipe| Sender::from_owned_fd(pipe.into())).transpose()?;
        (started.stdout, started.stderr) = (read(stdout)?, read(stderr)?);
        Ok(started)
    }

    /// Its number, as long as it is nobody else's.
    pub(super) fn id(&self) -> Option<Pid> {
        self.running.as_ref().map(|_| self.process)
    }

    /// Waits for its end. Dropped before that, it loses nothing.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            if let Some(running) = &self.running {
                drop(running.readable().await?);
            }
            if self.ended()?.is_none() {
                // Somebody else traces it, and hears of its end first.
                tokio::time::sleep(TRACED).await;
            }
        }
    }

    fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.running.is_some()
            && let Some((_, status)) = waitpid(Some(self.process), WaitOptions::NOHANG)?
        {
            (self.running, self.status) = (None, Some(ExitStatus::from_raw(status.as_raw())));
        }
        Ok(self.status)
    }

    pub(super) fn start_kill(&mut self) -> io::Result<()> {
        self.id().map_or(Ok(()), |process| Ok(kill_process(process, Signal::KILL)?))
    }

    pub(super) async fn kill(&mut self) -> io::Result<()> {
        self.start_kill()?;
        self.wait().await.map(drop)
    }
}

impl Drop for SpawnedProcess {
    fn drop(&mut self) {
        let Some(running) = self.running.take() else { return };
        let process = self.process;
        let _ = kill_process(process, Signal::KILL);
        if matches!(waitpid(Some(process), WaitOptions::NOHANG), Ok(None)) {
            self.runtime.spawn(async move {
                drop(running.readable().await);
                let _ = waitpid(Some(process), WaitOptions::empty());
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn a_process_begins_with_what_it_was_given_and_nothing_else() {
        let mut command = ProcessCommand::new("/bin/sh");
        // Those that are the system's library's own stay as they were.
        let script = "read -r line; echo \"$line $1\"; pwd; env | grep -v ^PWD=; \
            sed -n 's/^Sig\\(Blk\\|Ign\\).*\\(.......\\)$/\\1 \\2/p' /proc/self/status";
        command.args(["-c", script, "sh", "an argument"]).current_dir("/usr").input(true).output();
        command.envs([("NAME", "first"), ("NAME", "second")]);
        let mut process = command.spawn().unwrap();
        let (mut input, mut said) = (process.stdin.take().unwrap(), String::new());
        input.write_all(b"a line\n").await.unwrap();
        drop(input);
        process.stdout.take().unwrap().read_to_string(&mut said).await.unwrap();
        assert!(process.wait().await.unwrap().success());
        assert_eq!(said, "a line an argument\n/usr\nNAME=second\nBlk 0000000\nIgn 0000000\n");
    }

    #[tokio::test]
    #[allow(unsafe_code)]
    async fn what_cannot_be_started_says_why() {
        let missing = ProcessCommand::new("/nowhere/program").spawn().unwrap_err();
        assert_eq!(missing.raw_os_error(), Some(libc::ENOENT));
        let mut refused = ProcessCommand::new("/bin/true");
        // SAFETY: nothing is done.
        unsafe { refused.before_exec(|| Err(io::ErrorKind::InvalidInput.into())) };
        assert_eq!(refused.spawn().unwrap_err().raw_os_error(), Some(libc::EINVAL));
    }

    #[tokio::test]
    async fn a_process_ends_when_nobody_has_it_any_more() {
        let mut command = ProcessCommand::new("/bin/sleep");
        command.arg("300");
        let process = command.spawn().unwrap();
        let place = format!("/proc/{}", process.id().unwrap().as_raw_nonzero());
        drop(process);
        let begun = Instant::now();
        while Path::new(&place).exists() {
            assert!(begun.elapsed() < Duration::from_secs(10), "it is killed and reaped");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
