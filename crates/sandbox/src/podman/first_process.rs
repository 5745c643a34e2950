//! The first process inside: it says when it is there, waits until all around the job is ready, starts it, and ends
//! everything when we are gone.
//!
//! May know: descriptors and shells. Must never know: podman.
//!
//! The shell may be one of a hostile image's. It is believed nothing but that it is there; who said so, the kernel says.

use std::io::{self, IoSliceMut, PipeReader, PipeWriter};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg, sockopt::set_socket_passcred,
};
use rustix::process::Pid;
use tokio::io::Interest;

use crate::own_files::in_memory;
use crate::process::ProcessCommand;

/// The first descriptor that podman hands on, and how many.
const LIFELINE: i32 = 3;
pub(super) const HANDED: i32 = 3;

/// As bubblewrap's, but that nothing outside tells who is first, so that it says so itself, and that it stays:
/// to the kernel a first process has no signals that it did not ask for, and so cannot be the job itself. It has no
/// descriptor left over which the job could say how it ended; that is told by podman. What shells say of a child that a
/// signal ended goes nowhere, as if there were no shell.
pub(super) const SCRIPT: &str = r#"
lifeline=3
echo ready >&4; exec 4>&-
read -r _ <&3 || exit 1
ulimit -p "$1" 2>/dev/null || ulimit -u "$1" || exit 1
shift
( { read -r _; kill -KILL -1; } <&3 >/dev/null 2>&1 5<&- & )
unset HOSTNAME container TERM lifeline
. /proc/self/fd/5; exec 3<&- 5<&- 6>&2 2>/dev/null
(exec "$@") 2>&6 6>&-
exit "$?"
"#;

/// What the kernel says of a process that has neither rights nor the calls to get some.
const HARMLESS: [(&str, &str, &str); 3] = [
    ("Seccomp:", "2", "the runtime did not load our filter of system calls"),
    ("NoNewPrivs:", "1", "the runtime lets programs get new rights"),
    ("CapBnd:", "0000000000000000", "the runtime left capabilities"),
];

/// Variables that shells keep for themselves, and stop at.
const OF_SHELLS: [&str; 9] =
    ["BASHOPTS", "BASH_VERSINFO", "BASH_ENV", "EUID", "OPTIND", "PPID", "SHELLOPTS", "UID", "LINENO"];

/// What we hold of it.
pub(super) struct FirstProcess {
    pub(super) status: FirstStatus,
    /// Its other end is with what watches for our end.
    pub(super) lifeline: PipeWriter,
}

/// Says once that the first process is there.
pub(super) struct FirstStatus(tokio::net::UnixStream);

impl FirstProcess {
    /// Has a process hand on what the first one needs; its variables too, which so stand on no command line and in no file
    /// that has a name.
    pub(super) fn handed_by<'a>(
        command: &mut ProcessCommand,
        variables: impl Iterator<Item = (&'a str, &'a [u8])>,
    ) -> io::Result<Self> {
        let (held, lifeline) = io::pipe()?;
        let (status, told) = UnixStream::pair()?;
        set_socket_passcred(&status, true)?;
        status.set_nonblocking(true)?;
        let variables = in_memory("variables", &exported(variables))?;
        hand_on(command, held, told, variables)?;
        Ok(Self { status: FirstStatus(tokio::net::UnixStream::from_std(status)?), lifeline })
    }
}

impl FirstStatus {
    /// Waits for the first process, and says which it is to this machine. None: it never was.
    pub(super) async fn first(&self) -> io::Result<Option<Pid>> {
        self.0.async_io(Interest::READABLE, || said_by(self.0.as_fd())).await
    }
}

/// Whether the runtime did what matters most, as the kernel tells it of the first process.
pub(super) fn is_harmless(first: Pid) -> io::Result<()> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", first.as_raw_nonzero()))?;
    let says = |word: &str| status.lines().find_map(|line| line.strip_prefix(word)).map(str::trim);
    match HARMLESS.iter().find(|(word, value, _)| says(word) != Some(value)) {
        Some((.., missing)) => Err(io::Error::other(*missing)),
        None => Ok(()),
    }
}

fn said_by(status: std::os::fd::BorrowedFd<'_>) -> io::Result<Option<Pid>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut word = [0; 64];
    let heard = recvmsg(status, &mut [IoSliceMut::new(&mut word)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    if heard.bytes == 0 {
        return Ok(None);
    }
    let by = control.drain().find_map(|message| {
        if let RecvAncillaryMessage::ScmCredentials(sender) = message { Some(sender.pid) } else { None }
    });
    by.map(Some).ok_or_else(|| io::Error::other("nobody said that the first process is there"))
}

/// Variables as a shell reads them. What is no name to a shell is known to no program that a shell starts either.
fn exported<'a>(variables: impl Iterator<Item = (&'a str, &'a [u8])>) -> Vec<u8> {
    let mut text = Vec::new();
    for (name, value) in variables.filter(|(name, _)| is_name(name) && !OF_SHELLS.contains(name)) {
        text.extend(format!("export {name}='").into_bytes());
        for byte in value {
            match byte {
                b'\'' => text.extend(br"'\''"),
                byte => text.push(*byte),
            }
        }
        text.extend(b"'\n");
    }
    text
}

fn is_name(name: &str) -> bool {
    let of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().all(of_name) && !name.starts_with(|first: char| first.is_ascii_digit())
}

#[allow(unsafe_code)]
fn hand_on(
    command: &mut ProcessCommand,
    held: PipeReader,
    told: UnixStream,
    variables: OwnedFd,
) -> io::Result<()> {
    // Out of the way of the numbers that they get in the end.
    let away = |descriptor: std::os::fd::BorrowedFd<'_>| fcntl_dupfd_cloexec(descriptor, LIFELINE + HANDED);
    let descriptors = [away(held.as_fd())?, away(told.as_fd())?, away(variables.as_fd())?];
    let number = move || -> io::Result<()> {
        for (descriptor, number) in descriptors.iter().zip(LIFELINE..) {
            // SAFETY: the number is owned by nobody who lives on after the exec that follows.
            if unsafe { libc::dup2(descriptor.as_raw_fd(), number) } < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: only dup2 is called.
    unsafe { command.before_exec(number) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn variables_come_out_of_a_shell_as_they_went_in() {
        let given = [
            ("PLAIN", "one two"),
            ("QUOTES", "it's \"so\" $HOME `id` \\"),
            ("LINES", "a\nb\n\nc\t"),
            ("_x1", "'"),
            ("EMPTY", ""),
        ];
        let odd = [("a.b", "1"), ("1A", "1"), ("A B", "1"), ("UID", "0"), ("SHELLOPTS", "x"), ("X;id", "1")];
        let all = given.iter().chain(&odd).map(|(name, value)| (*name, value.as_bytes()));
        let text = String::from_utf8(exported(all)).unwrap();
        let output = Command::new("sh").env_clear().args(["-c", &format!("{text}env -0")]).output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        assert!(output.stderr.is_empty(), "{:?}", String::from_utf8_lossy(&output.stderr));
        let seen: Vec<_> = out.split_terminator('\0').collect();
        for (name, value) in given {
            assert!(seen.contains(&format!("{name}={value}").as_str()), "{name}: {out:?}");
        }
        for (name, _) in odd {
            assert!(!seen.iter().any(|line| line.starts_with(&format!("{name}=1"))), "{name}: {out:?}");
        }
    }
}
