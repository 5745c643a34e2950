//! What podman is told: what a job sees, and what it may not do.
//!
//! May know: jobs, and podman's options. Must never know: the values of a job's variables, since all of this stands on a
//! command line.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustix::fs::{XattrFlags, setxattr};
use rustix::process::{Resource, getrlimit};

use super::first_process::{HANDED, SCRIPT};
use super::mounts::ContainerMounts;
use super::stage::PodmanStage;
use crate::own_files::{self, GROUP, HOSTNAME, HOSTS, ID, PASSWD, RESOLV, TEMPORARY};
use crate::program::HostProgram;
use crate::readable_paths::ReadablePaths;
use crate::root::MountPoint;
use crate::{Job, JobLimits, LayerStack, MountAccess, SandboxNetwork, program, seccomp};

/// What podman writes of its own accord into a root that can be written.
const BESIDES: [(&str, MountPoint); 2] = [("/etc/hostname", MountPoint::File), ("/sys", MountPoint::Folder)];
/// More than any machine starts of processes; where fewer are allowed, so many.
const MOST_PROCESSES: u64 = 1 << 22;

/// podman's arguments, with the program's own; what they speak of is put on the stage.
pub(super) fn arguments(
    program: &Path,
    of_host: Option<HostProgram>,
    reads: &ReadablePaths,
    job: &Job,
    runtime: &Path,
    stage: &mut PodmanStage,
) -> io::Result<Vec<OsString>> {
    let mut all = PodmanArguments::default();
    settings(&mut all, runtime, stage)?;
    all.add(["run", "--rm", "--cgroups=disabled", "--cgroupns=private", "--log-driver=passthrough"]);
    all.pair("--preserve-fds", HANDED.to_string());
    rights(&mut all, &job.limits)?;
    let root = match &job.root {
        Some(root) => {
            let besides = BESIDES.map(|(at, point)| (PathBuf::from(at), point));
            root.make_mount_points(own_files::mount_points(job).into_iter().chain(besides))?;
            setxattr(root.layers.upper.join("dev"), "user.overlay.opaque", b"y", XattrFlags::empty())?;
            let at = stage.folder("image")?;
            stage.layers(&LayerStack { at: at.clone(), ..root.layers.clone() })?;
            at
        }
        None => {
            // What a job writes into a root of its own is its own.
            all.add(["--read-only"]);
            system(reads, program, job, stage)?
        }
    };
    for stack in &job.layers {
        stage.layers(stack)?;
    }
    let mut mounts = ContainerMounts::default();
    in_memory(&mut mounts, job, stage)?;
    shown(&mut mounts, program, of_host.as_ref(), reads, job, stage)?;
    etc(&mut mounts, job, stage)?;
    own(&mut mounts, job, stage)?;
    all.0.extend(mounts.arguments());
    all.add(["--no-hosts", "--hostname", HOSTNAME, "--unsetenv-all", "--entrypoint", "[]"]);
    if job.joins.is_some() {
        all.add(["--dns", "none"]);
    }
    all.pair(
        "--network",
        match job.network {
            // That of the process that becomes podman, which has joined it.
            SandboxNetwork::None | SandboxNetwork::Gateway(_) if job.joins.is_some() => "host",
            SandboxNetwork::None | SandboxNetwork::Gateway(_) => "none",
            SandboxNetwork::Host => "host",
        },
    );
    all.pair("--workdir", job.inside(&job.directory));
    all.pair("--rootfs", root);
    all.add(["/bin/sh", "-c", SCRIPT, "sh"]);
    all.0.push(job.limits.processes.to_string().into());
    match of_host {
        Some(HostProgram { command, .. }) => all.0.extend(command),
        None => all.0.push(program.into()),
    }
    all.0.extend(job.program.iter().skip(1).cloned());
    Ok(all.0)
}

/// Everything that podman keeps lies on the stage, and no settings of the machine's or of a user's are asked.
fn settings(all: &mut PodmanArguments, runtime: &Path, stage: &mut PodmanStage) -> io::Result<()> {
    let containers = containers(&stage.folder("networks")?);
    let [graph, run] = ["graph", "run"].map(PodmanStage::path);
    let storage = format!(
        "[storage]\ndriver = \"vfs\"\nrunroot = \"{}\"\ngraphroot = \"{}\"\n",
        run.display(),
        graph.display()
    );
    stage.file("containers.conf", containers)?;
    stage.file("storage.conf", storage)?;
    all.pair("--log-level", "error");
    all.pair("--runtime", runtime);
    all.pair("--root", graph);
    all.pair("--runroot", run);
    all.pair("--tmpdir", PodmanStage::path("tmp"));
    all.pair("--runtime-flag", format!("root={}", PodmanStage::path("crun").display()));
    Ok(())
}

/// Without labels of SELinux: what a job is shown is also others', and must keep the labels that it has.
fn containers(network: &Path) -> String {
    format!(
        "[containers]\ndefault_sysctls = []\ndefault_ulimits = []\napparmor_profile = \"unconfined\"\nlabel = false\n\
         [engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"none\"\nlock_type = \"file\"\nnum_locks = 16\n\
         [network]\nnetwork_config_dir = {network:?}\n"
    )
}

/// podman's own environment, which no job inherits.
pub(super) fn environment(reads: &ReadablePaths) -> Vec<(&'static str, OsString)> {
    let search = std::env::join_paths(reads.search_path()).unwrap_or_else(|_| "/usr/bin:/bin".into());
    let at = |name: &str| PodmanStage::path(name).into_os_string();
    vec![
        ("PATH", search),
        ("HOME", at("")),
        ("XDG_RUNTIME_DIR", at("")),
        ("TMPDIR", at("")),
        ("CONTAINERS_CONF", at("containers.conf")),
        ("CONTAINERS_STORAGE_CONF", at("storage.conf")),
        ("PODMAN_IGNORE_CGROUPSV1_WARNING", "1".into()),
        // It has little to do, and each of its threads counts.
        ("GOMAXPROCS", "2".into()),
    ]
}

/// Nobody in particular, without capabilities, under the same filter of system calls and the same limits as elsewhere.
fn rights(all: &mut PodmanArguments, limits: &JobLimits) -> io::Result<()> {
    all.pair("--uidmap", format!("{ID}:0:1"));
    all.pair("--gidmap", format!("{ID}:0:1"));
    all.pair("--user", format!("{ID}:{ID}"));
    all.add(["--cap-drop", "all", "--security-opt", "no-new-privileges"]);
    // Of filters podman knows only a list of names. The filter itself goes to crun, and no job begins without it.
    all.add(["--security-opt", "seccomp=unconfined"]);
    all.pair("--annotation", format!("run.oci.seccomp_bpf_data={}", STANDARD.encode(seccomp::filter()?)));
    // To the kernel a job of a server that runs as root is the owner of what root may write there, capabilities or not.
    all.add(["--security-opt", "proc-opts=ro,nosuid,nodev,noexec", "--security-opt", "mask=/sys"]);
    all.add(["--read-only-tmpfs=false"]);
    // One byte of a core, as everywhere. Without a word of processes podman asks for more than it may have; how many a job
    // may have is set inside, where only its own are counted.
    for (name, resource, most) in [
        ("core", Resource::Core, 1),
        ("fsize", Resource::Fsize, limits.largest_file),
        ("nofile", Resource::Nofile, limits.open_files),
        ("nproc", Resource::Nproc, MOST_PROCESSES),
    ] {
        let most = getrlimit(resource).maximum.map_or(most, |now| now.min(most));
        all.pair("--ulimit", format!("{name}={most}:{most}"));
    }
    Ok(())
}

/// The root of a job that is shown this machine's programs: empty but for the machine's links.
fn system(reads: &ReadablePaths, program: &Path, job: &Job, stage: &mut PodmanStage) -> io::Result<PathBuf> {
    let root = stage.folder("system")?;
    let below = |at: &Path| Path::new("system").join(at.strip_prefix("/").unwrap_or(at));
    let link = program::program_mounts(program, job, reads).link.filter(|(at, _)| !is_in_memory(at));
    for (at, target) in reads.links().iter().chain(&link) {
        stage.link(&below(at), target)?;
    }
    stage.folder(below(Path::new("/var")))?;
    Ok(root)
}

fn in_memory(mounts: &mut ContainerMounts, job: &Job, stage: &mut PodmanStage) -> io::Result<()> {
    // Programs of this machine's are shown there, beside a root of the job's own.
    let run = if job.root.is_some() { "rw" } else { "ro" };
    mounts.memory(Path::new("/run"), format!("{run},nosuid,nodev,notmpcopyup,mode=755,size=16m"));
    // Otherwise these would be the machine's, with all that is mounted there, under what hides them.
    for at in ["/sys", "/sys/fs/cgroup"] {
        mounts.memory(Path::new(at), "ro,nosuid,nodev,notmpcopyup,mode=755,size=64k".to_owned());
    }
    // Here crun takes no `notmpcopyup`; what an image has at this place is hidden before.
    mounts.memory(Path::new("/dev"), "ro,nosuid,mode=755,size=64k".to_owned());
    mounts.terminals(&stage.terminals()?, Path::new("/dev/pts"));
    // What lies in these lies in memory.
    for (at, part) in TEMPORARY {
        let size = job.limits.memory / part;
        mounts.memory(Path::new(at), format!("rw,exec,nosuid,nodev,notmpcopyup,mode=1777,size={size}"));
    }
    Ok(())
}

fn is_in_memory(path: &Path) -> bool {
    TEMPORARY.iter().map(|(at, _)| *at).chain(["/run", "/dev"]).any(|at| path.starts_with(at))
}

fn shown(
    mounts: &mut ContainerMounts,
    program: &Path,
    of_host: Option<&HostProgram>,
    reads: &ReadablePaths,
    job: &Job,
    stage: &mut PodmanStage,
) -> io::Result<()> {
    if job.root.is_none() {
        let besides = program::program_mounts(program, job, reads);
        for path in reads.shown().iter().chain(&besides.shown).filter(|path| path.exists()) {
            mounts.readable(&stage.bound(path, MountAccess::ReadOnly)?, path);
        }
        for (number, (path, rest)) in reads.replaced().enumerate() {
            mounts.readable(&stage.file(&format!("settings-{number}"), rest)?, path);
        }
        // Nothing can be linked in a folder that is mounted when the root is laid out already.
        if let Some((at, target)) = besides.link.filter(|(at, _)| is_in_memory(at)) {
            mounts.readable(&stage.bound(&target, MountAccess::ReadOnly)?, &at);
        }
    }
    for path in of_host.iter().flat_map(|program| &program.shown) {
        mounts.readable(&stage.bound(path, MountAccess::ReadOnly)?, &HostProgram::seen(path));
    }
    Ok(())
}

fn etc(mounts: &mut ContainerMounts, job: &Job, stage: &mut PodmanStage) -> io::Result<()> {
    let home = job.inside(&job.home);
    mounts.readable(&stage.file("passwd", own_files::users(&home))?, Path::new(PASSWD));
    mounts.readable(&stage.file("group", own_files::groups())?, Path::new(GROUP));
    match job.network {
        SandboxNetwork::None | SandboxNetwork::Gateway(_) => {
            mounts.readable(&stage.file("hosts", own_files::hosts(job))?, Path::new(HOSTS));
        }
        SandboxNetwork::Host => {
            for at in [HOSTS, RESOLV].map(Path::new) {
                // Often a link to where whoever looks names up keeps it.
                if let Ok(real) = at.canonicalize() {
                    mounts.readable(&stage.bound(&real, MountAccess::ReadOnly)?, at);
                }
            }
        }
    }
    Ok(())
}

fn own(mounts: &mut ContainerMounts, job: &Job, stage: &mut PodmanStage) -> io::Result<()> {
    for (path, access) in job.own_mounts() {
        match access {
            MountAccess::ReadOnly => mounts.readable(&stage.bound(path, access)?, &job.inside(path)),
            MountAccess::ReadWrite => mounts.writable(&stage.bound(path, access)?, &job.inside(path)),
        }
    }
    Ok(())
}

#[derive(Default)]
struct PodmanArguments(Vec<OsString>);

impl PodmanArguments {
    fn add<const N: usize>(&mut self, arguments: [&str; N]) {
        self.0.extend(arguments.map(OsString::from));
    }

    fn pair(&mut self, name: &str, value: impl Into<OsString>) {
        self.0.extend([name.into(), value.into()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On machines with SELinux, and with control groups of either version.
    #[test]
    fn podman_is_told_to_relabel_nothing_and_to_ask_no_systemd_for_a_group() {
        let containers = containers(Path::new("/stage/networks"));
        for line in ["label = false", "cgroup_manager = \"cgroupfs\""] {
            assert!(containers.lines().any(|known| known == line), "{containers}");
        }
    }
}
