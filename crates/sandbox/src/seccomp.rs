//! System calls that a job may not make: those that no agent or test needs and that escapes begin with.
//!
//! Everything else is allowed, because compilers, virtual machines and test runners use most calls. Allowed on purpose:
//! `ptrace` within the job, for debuggers and leak sanitizers. The namespace has no other processes, and filters also
//! apply to traced ones, but the first process, which reports the exit code, is excluded. `personality` with fixed
//! addresses is allowed too, because sanitizers restart with it.

use std::collections::BTreeMap;
use std::io;
use std::sync::OnceLock;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};

/// Refused with EPERM for any arguments.
const REFUSED: &[i64] = &[
    // Old and new mount calls.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    OPEN_TREE_ATTR,
    // Entering namespaces, and opening files by handles, which bypass mounts.
    libc::SYS_setns,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_pidfd_getfd,
    // The kernel itself.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_syslog,
    libc::SYS_lookup_dcookie,
    // Namespaces do not separate keys.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // The machine.
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// Refused with ENOSYS, as on an old kernel, so that programs fall back. A filter cannot read the flags of `clone3` in
/// memory, so programs must use `clone`.
const UNKNOWN: &[i64] =
    &[libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

/// Missing from our list of names; the number is the same on every architecture.
const OPEN_TREE_ATTR: i64 = 467;

/// Flags of `clone` for new namespaces; `unshare` has another one for time.
const NAMESPACES: [u32; 7] =
    [0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000];
const NEW_TIME: u32 = 0x80;

/// Socket families in common use: AF_UNIX, AF_INET, AF_INET6, AF_NETLINK.
const FAMILIES: [u32; 4] = [1, 2, 10, NETLINK];
const NETLINK: u32 = 16;
/// NETLINK_ROUTE, which the C library uses to list this machine's addresses.
const ROUTE: u32 = 0;

/// Types input into a terminal (TIOCSTI) or the console (TIOCLINUX); loads a line discipline (TIOCSETD).
const TERMINAL: [u32; 3] = [0x5412, 0x541c, 0x5423];

/// The default, ADDR_NO_RANDOMIZE, and the query.
const PERSONALITIES: [u32; 3] = [0, 0x0004_0000, 0xffff_ffff];

/// The first process inside, which reports the job's exit code.
const FIRST: u32 = 1;

/// All filters joined as bytes: if one allows a call, the next decides. The kernel compiles every filter that it gets,
/// so one is cheaper.
pub(super) fn filter() -> io::Result<&'static [u8]> {
    static JOINED: OnceLock<Vec<u8>> = OnceLock::new();
    match JOINED.get() {
        Some(known) => Ok(known),
        None => joined().map(|filter| &**JOINED.get_or_init(|| filter)),
    }
}

fn joined() -> io::Result<Vec<u8>> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    let refused = compiled(refused().map_err(io::Error::other)?, libc::EPERM, architecture)?;
    let unknown = UNKNOWN.iter().map(|call| (*call, Vec::new())).collect();
    let unknown = compiled(unknown, libc::ENOSYS, architecture)?;
    let mut filters = vec![bytes(&refused), bytes(&unknown)];
    if architecture == TargetArch::x86_64 {
        filters.push(bytes(&NO_X32));
    }
    let allowed = bytes(&[sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW }]);
    let mut joined = Vec::new();
    for (number, filter) in filters.iter().enumerate() {
        let is_last = number + 1 == filters.len();
        let mut left = u32::try_from(filter.len() / allowed.len()).map_err(io::Error::other)?;
        for step in filter.chunks_exact(allowed.len()) {
            left -= 1;
            if step == allowed && !is_last {
                joined.extend(bytes(&[sock_filter { code: JUMP, jt: 0, jf: 0, k: left }]));
            } else {
                joined.extend_from_slice(step);
            }
        }
    }
    Ok(joined)
}

/// Number of refused system calls, including those refused by argument.
pub(super) fn how_many() -> usize {
    REFUSED.len() + UNKNOWN.len() + refused_by_arguments().map_or(0, |rules| rules.len())
}

type SeccompRules = BTreeMap<i64, Vec<SeccompRule>>;

fn refused() -> Result<SeccompRules, seccompiler::BackendError> {
    let mut rules = refused_by_arguments()?;
    rules.extend(REFUSED.iter().map(|call| (*call, Vec::new())));
    Ok(rules)
}

fn refused_by_arguments() -> Result<SeccompRules, seccompiler::BackendError> {
    let one = |condition| SeccompRule::new(vec![condition]);
    let is = |argument, value: u32| compare(argument, SeccompCmpOp::Eq, value);
    let has = |argument, bit: u32| compare(argument, SeccompCmpOp::MaskedEq(bit.into()), bit);
    let none_of = |argument, values: &[u32]| {
        let each = values.iter().map(|value| compare(argument, SeccompCmpOp::Ne, *value));
        each.collect::<Result<Vec<_>, _>>().and_then(SeccompRule::new)
    };
    let mut rules = SeccompRules::new();
    let clone = NAMESPACES.iter().map(|bit| one(has(0, *bit)?));
    rules.insert(libc::SYS_clone, clone.collect::<Result<_, _>>()?);
    let unshare = NAMESPACES.iter().chain([&NEW_TIME]).map(|bit| one(has(0, *bit)?));
    rules.insert(libc::SYS_unshare, unshare.collect::<Result<_, _>>()?);
    let not_route = SeccompRule::new(vec![is(0, NETLINK)?, compare(2, SeccompCmpOp::Ne, ROUTE)?])?;
    rules.insert(libc::SYS_socket, vec![none_of(0, &FAMILIES)?, not_route]);
    rules.insert(libc::SYS_socketpair, vec![none_of(0, &FAMILIES)?]);
    let ioctl = TERMINAL.iter().map(|request| one(is(1, *request)?));
    rules.insert(libc::SYS_ioctl, ioctl.collect::<Result<_, _>>()?);
    rules.insert(libc::SYS_personality, vec![none_of(0, &PERSONALITIES)?]);
    rules.insert(libc::SYS_ptrace, vec![one(is(1, FIRST)?)?]);
    rules.insert(libc::SYS_process_vm_readv, vec![one(is(0, FIRST)?)?]);
    rules.insert(libc::SYS_process_vm_writev, vec![one(is(0, FIRST)?)?]);
    Ok(rules)
}

/// The kernel reads only the lower half of these arguments, and so does the filter.
fn compare(
    argument: u8,
    how: SeccompCmpOp,
    value: u32,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, how, value.into())
}

/// Kills programs for another architecture, such as 32-bit ones, because their call numbers differ.
fn compiled(rules: SeccompRules, error: i32, architecture: TargetArch) -> io::Result<BpfProgram> {
    let matched = SeccompAction::Errno(error.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, matched, architecture)
        .and_then(BpfProgram::try_from)
        .map_err(io::Error::other)
}

/// x32 calls report the same architecture with a bit in the number, and would bypass all rules above.
const NO_X32: [sock_filter; 4] = [
    sock_filter { code: LOAD, jt: 0, jf: 0, k: 0 },
    sock_filter { code: JUMP_IF_AT_LEAST, jt: 0, jf: 1, k: 0x4000_0000 },
    sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_KILL_PROCESS },
    sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW },
];
/// BPF_LD | BPF_W | BPF_ABS: the call's number is the first field of a filter's input.
const LOAD: u16 = 0x20;
/// BPF_JMP | BPF_JGE | BPF_K
const JUMP_IF_AT_LEAST: u16 = 0x35;
/// BPF_JMP | BPF_JA
const JUMP: u16 = 0x05;
/// BPF_RET | BPF_K
const RETURN: u16 = 0x06;

/// The memory layout of `struct sock_filter`.
fn bytes(program: &[sock_filter]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(program.len() * 8);
    for step in program {
        bytes.extend(step.code.to_ne_bytes());
        bytes.extend([step.jt, step.jf]);
        bytes.extend(step.k.to_ne_bytes());
    }
    bytes
}
