//! The egress socket of a job without network: one address on the loopback of its own namespace where we listen.
//!
//! None of our processes stays inside. Before the job begins, a child process enters the namespace, creates the socket,
//! passes it to us and exits: a socket stays in the namespace where it was created.

use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, ioctl, opcode};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, bind, listen, recvmsg, sendmsg, socket_with,
    socketpair, sockopt,
};
use rustix::process::{Pid, Signal, getpid, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::spawner;

/// The port in a job's own namespace, where every port is free.
pub(super) const PORT: u16 = 3128;
/// Length of the accept queue.
const WAITING: i32 = 128;
/// While bubblewrap changes its user, its namespaces are briefly inaccessible.
const SHOWN_AFTER: Duration = Duration::from_secs(5);

/// Receives the listener, once.
pub(super) type ListenerHandler = Box<dyn FnOnce(TcpListener) + Send + Sync>;

/// The only way out of a job without network: it connects to us. Made by [`super::Sandbox::egress_socket`] for one job.
pub struct EgressSocket {
    port: u16,
    /// Without a namespace it is opened at once, because the port must be known.
    open: Option<TcpListener>,
    serve: ListenerHandler,
}

impl EgressSocket {
    pub(super) fn inside(serve: ListenerHandler) -> Self {
        Self { port: PORT, open: None, serve }
    }

    pub(super) fn on_this_host(serve: ListenerHandler) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        Ok(Self { port: listener.local_addr()?.port(), open: Some(listener), serve })
    }

    /// The port for the job, at 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn open_on_this_host(self) -> io::Result<()> {
        let listener = match self.open {
            Some(listener) => listener,
            None => TcpListener::bind((Ipv4Addr::LOCALHOST, self.port))?,
        };
        listener.set_nonblocking(true)?;
        (self.serve)(listener);
        Ok(())
    }

    /// Opens it in the network namespace of the process `first`, before the job begins.
    pub(super) async fn open_inside(self, first: Pid) -> io::Result<()> {
        let at = SocketAddrV4::new(Ipv4Addr::LOCALHOST, self.port);
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        done_inside(first, move || Ok(hand_over(theirs.as_fd(), listening(at)?.as_fd())?)).await?;
        let listener = TcpListener::from(received(ours.as_fd())?);
        listener.set_nonblocking(true)?;
        (self.serve)(listener);
        Ok(())
    }
}

impl fmt::Debug for EgressSocket {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Door(127.0.0.1:{})", self.port)
    }
}

async fn shown(first: Pid) -> io::Result<OwnedFd> {
    let path = format!("/proc/{}/ns/net", first.as_raw_nonzero());
    let begun = Instant::now();
    loop {
        match openat(CWD, &path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
            Err(Errno::ACCESS | Errno::PERM) if begun.elapsed() < SHOWN_AFTER => {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            opened => return Ok(opened?),
        }
    }
}

/// Makes system calls in the network of the process `first`, from a child process that ends with them.
#[allow(unsafe_code)]
pub(super) async fn done_inside(
    first: Pid,
    mut calls: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) -> io::Result<()> {
    let network = shown(first).await?;
    // The user namespace that owns the network: entering it may be necessary to enter the network.
    let owner = owner(network.as_fd())?;
    // The program itself never runs.
    let mut command = spawner::command("/bin/sh");
    let enter_and_call = move || -> io::Result<()> {
        enter(network.as_fd(), owner.as_fd())?;
        calls()?;
        // There is no program to run.
        kill_process(getpid(), Signal::KILL)?;
        Ok(())
    };
    // SAFETY: only system calls are made, with arguments made before.
    unsafe { command.pre_exec(enter_and_call) };
    spawner::spawn(command).await?.wait().await?;
    Ok(())
}

fn enter(network: BorrowedFd<'_>, owner: BorrowedFd<'_>) -> Result<(), Errno> {
    if move_into_link_name_space(network, Some(LinkNameSpaceType::Network)).is_ok() {
        return Ok(());
    }
    move_into_link_name_space(owner, Some(LinkNameSpaceType::User))?;
    move_into_link_name_space(network, Some(LinkNameSpaceType::Network))
}

fn listening(at: SocketAddrV4) -> Result<OwnedFd, Errno> {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // bubblewrap may not have configured the loopback address yet.
    sockopt::set_ip_freebind(&socket, true)?;
    bind(&socket, &at)?;
    listen(&socket, WAITING)?;
    Ok(socket)
}

fn hand_over(to: BorrowedFd<'_>, socket: BorrowedFd<'_>) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let rights = [socket];
    if !control.push(SendAncillaryMessage::ScmRights(&rights)) {
        return Err(Errno::NOBUFS);
    }
    sendmsg(to, &[io::IoSlice::new(b"!")], &mut control, SendFlags::NOSIGNAL).map(drop)
}

fn received(from: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(from, &mut [io::IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let handed = control.drain().find_map(|message| {
        if let RecvAncillaryMessage::ScmRights(mut sockets) = message { sockets.next() } else { None }
    });
    handed.ok_or_else(|| io::Error::other("no socket came out of the namespace"))
}

#[allow(unsafe_code)]
fn owner(network: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    // SAFETY: the call takes no argument and answers with a descriptor or an error, as `Owner` says.
    Ok(unsafe { ioctl(network, NamespaceOwner) }?)
}

/// NS_GET_USERNS: the user namespace that owns another namespace.
struct NamespaceOwner;

// SAFETY: the number is that of <linux/nsfs.h>; there is no argument, and the answer is a new descriptor.
#[allow(unsafe_code)]
unsafe impl Ioctl for NamespaceOwner {
    type Output = OwnedFd;

    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        opcode::none(0xb7, 0x1)
    }

    fn as_ptr(&mut self) -> *mut std::ffi::c_void {
        std::ptr::null_mut()
    }

    unsafe fn output_from_ptr(out: IoctlOutput, _: *mut std::ffi::c_void) -> rustix::io::Result<OwnedFd> {
        use std::os::fd::FromRawFd;
        // SAFETY: the call succeeded, so this is a descriptor that nobody else knows.
        Ok(unsafe { OwnedFd::from_raw_fd(out) })
    }
}
