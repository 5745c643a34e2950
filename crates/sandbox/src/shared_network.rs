//! A network shared by several jobs: only a common loopback. A service of one job is reachable from the others by name.
//!
//! May know: namespaces. Must never know: which services listen there.
//!
//! It belongs to its own user namespace. No process keeps it alive: it lasts while these descriptors are open or a job
//! is in it.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::Stdio;
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};
use tokio::process::Command;

use super::layers::{OwnUser, tell_own_user};
use super::spawner;

/// Waits until the parent has opened its namespaces.
const WAITS: &str = "read -r _";

/// A network of several jobs. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SharedNetwork {
    namespaces: Arc<Namespaces>,
    /// Names that resolve to its loopback.
    pub(super) names: Vec<String>,
}

#[derive(Debug)]
struct Namespaces {
    user: OwnedFd,
    network: OwnedFd,
}

impl SharedNetwork {
    /// Creates a network in which these names resolve to its loopback.
    pub(super) async fn new(names: Vec<String>) -> io::Result<Self> {
        let mut command = spawner::command("/bin/sh");
        command.args(["-c", WAITS]).stdin(Stdio::piped());
        made_by(&mut command);
        let child = spawner::spawn(command).await?;
        let id = child.id().ok_or_else(|| io::Error::other("who makes a network is gone"))?;
        let open = |name: &str| {
            let path = format!("/proc/{id}/ns/{name}");
            openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        };
        let namespaces = Namespaces { user: open("user")?, network: open("net")? };
        Ok(Self { namespaces: Arc::new(namespaces), names })
    }

    /// Makes the process and its children join the network.
    #[allow(unsafe_code)]
    pub(super) fn joined_by(&self, command: &mut Command) {
        let namespaces = Arc::clone(&self.namespaces);
        let join = move || -> io::Result<()> {
            move_into_link_name_space(namespaces.user.as_fd(), Some(LinkNameSpaceType::User))?;
            move_into_link_name_space(namespaces.network.as_fd(), Some(LinkNameSpaceType::Network))?;
            Ok(())
        };
        // SAFETY: only setns is called.
        unsafe { command.pre_exec(join) };
    }
}

#[allow(unsafe_code)]
fn made_by(command: &mut Command) {
    let user = OwnUser::of_this_process();
    let make = move || -> io::Result<()> {
        // SAFETY: this is a process of one thread that is no program yet, and nothing here relies on its namespaces.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNET) }?;
        tell_own_user(&user)?;
        raise_loopback()
    };
    // SAFETY: only system calls are made, with arguments made before.
    unsafe { command.pre_exec(make) };
}

/// Brings up the loopback, which is down in a new namespace.
#[allow(unsafe_code)]
fn raise_loopback() -> io::Result<()> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: all zeros is a valid `ifreq`.
    let mut asked: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in asked.ifr_name.iter_mut().zip(b"lo") {
        *place = *byte as libc::c_char;
    }
    asked.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request takes an `ifreq`, which lives through the call.
    let answer: c_int = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const asked) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
