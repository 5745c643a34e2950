//! Network interfaces such as a machine has, beside the loopback of a job in a user's place: code may look for a network
//! before it does what it should.
//!
//! May know: messages of netlink. Must never know: how a job is started.
//!
//! They are the two ends of one virtual cable in the job's own namespace, and no route leads anywhere.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;

use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socket_with};
use rustix::process::Pid;

use super::JobUser;
use super::egress::done_inside;

/// RTM_NEWLINK and RTM_NEWADDR.
const NEW_LINK: u16 = 16;
const NEW_ADDRESS: u16 = 20;
/// NLM_F_REQUEST, and with it NLM_F_EXCL and NLM_F_CREATE.
const CHANGED: u16 = 1;
const MADE: u16 = 0x601;
/// IFLA_IFNAME and IFLA_ADDRESS.
const NAME: u16 = 3;
const HARDWARE: u16 = 1;
/// IFLA_LINKINFO, and inside it IFLA_INFO_KIND and IFLA_INFO_DATA, and inside that VETH_INFO_PEER.
const ABOUT: u16 = 18;
const KIND: u16 = 1;
const DATA: u16 = 2;
const PEER: u16 = 1;
/// IFA_LOCAL.
const LOCAL: u16 = 2;
/// IFF_UP.
const UP: u32 = 1;
/// Their numbers: those before may be taken by tunnels, which some kernels make in every namespace.
const WIRED: u32 = 12;
const WIRELESS: u32 = 13;

/// Adds them to the network of the process `first`. Where they are already, or the kernel has none, nothing happens.
pub(super) async fn add(first: Pid, user: &JobUser) -> io::Result<()> {
    let asked = messages(user);
    let ask = move || -> io::Result<()> {
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        // The kernel acts before this returns.
        send(&socket, &asked, SendFlags::empty())?;
        Ok(())
    };
    done_inside(first, ask).await
}

/// Always the same for one user, because programs may print it and run on two commits.
fn messages(user: &JobUser) -> Vec<u8> {
    let mut hasher = DefaultHasher::new();
    user.hash(&mut hasher);
    let [a, b, c, d, e, f, g, h] = hasher.finish().to_ne_bytes();
    let named =
        |name: &[u8], hardware: &[u8]| [attribute(NAME, name), attribute(HARDWARE, hardware)].concat();
    // The beginnings are those of two makers.
    let wireless = [link(WIRELESS, 0), named(b"wlan0\0", &[0xa4, 0xc3, 0xf0, a, b, c])].concat();
    let pair = [attribute(KIND, b"veth"), attribute(DATA, &attribute(PEER, &wireless))].concat();
    let wired = named(b"eth0\0", &[0x3c, 0x52, 0x82, d, e, f]);
    // Only this address, not a network of which it would be a part.
    let address = [&[2, 32, 0, 0], &WIRED.to_ne_bytes()[..], &attribute(LOCAL, &[192, 168, g, h])].concat();
    [
        message(NEW_LINK, MADE, &[link(WIRED, UP), wired, attribute(ABOUT, &pair)].concat()),
        message(NEW_ADDRESS, MADE, &address),
        // It cannot be up before it has its other end.
        message(NEW_LINK, CHANGED, &link(WIRELESS, UP)),
    ]
    .concat()
}

/// `struct nlmsghdr` and what follows.
fn message(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 16).unwrap_or(u32::MAX).to_ne_bytes();
    [&length[..], &kind.to_ne_bytes()[..], &flags.to_ne_bytes()[..], &[0; 8], body].concat()
}

/// `struct ifinfomsg`.
fn link(number: u32, flags: u32) -> Vec<u8> {
    [0, number, flags, flags].map(u32::to_ne_bytes).concat()
}

/// `struct rtattr` and what follows.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(value.len() + 4).unwrap_or(u16::MAX).to_ne_bytes();
    let mut all = [&length[..], &kind.to_ne_bytes()[..], value].concat();
    all.resize(all.len().next_multiple_of(4), 0);
    all
}
