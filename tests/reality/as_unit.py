"""Runs a command under the restrictions that a systemd unit names, made by hand where no systemd runs.

    python3 as_unit.py UNIT FOLDER PROGRAM ARGUMENT...

FOLDER is the one that may be written (StateDirectory). What cannot be made here ends it with 77; a key that is not
known here with 1, so that a unit gets no restriction that nobody has tried. User= is not followed.
"""

import ctypes, os, platform, resource, select, shlex, struct, sys, time

libc = ctypes.CDLL(None, use_errno=True)
NEWNS, NEWUTS, NEWUSER = 0x20000, 0x4000000, 0x10000000
NOSUID, NODEV, NOEXEC, BIND, REC, PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
EPERM, ENOSYS, EAFNOSUPPORT = 1, 38, 97

# What restricts nothing that is tried here.
OTHERS = {"User", "WorkingDirectory", "StateDirectory", "StateDirectoryMode", "UMask", "Environment", "EnvironmentFile",
          "ExecStart", "Restart", "RestartSec", "KillMode", "TimeoutStopSec", "TasksMax", "MemoryHigh", "LimitNOFILE",
          "LimitCORE", "RemoveIPC", "Delegate", "CapabilityBoundingSet", "AmbientCapabilities", "NoNewPrivileges",
          "SystemCallArchitectures", "RestrictAddressFamilies", "LoadCredentialEncrypted"}
SWITCHES = {"ProtectSystem": "strict", "ProtectHome": "yes", "PrivateTmp": "yes", "PrivateDevices": "yes",
            "ProtectClock": "yes", "ProtectHostname": "yes", "ProtectControlGroups": "yes",
            "ProtectKernelModules": "yes", "RestrictRealtime": "yes", "RestrictSUIDSGID": "yes"}
FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}
CALLS = {
    "x86_64": (0xC000003E, dict(
        open=2, socket=41, mkdir=83, creat=85, chmod=90, fchmod=91, mknod=133, sched_setscheduler=144, adjtimex=159,
        settimeofday=164, sethostname=170, setdomainname=171, iopl=172, ioperm=173, init_module=175,
        delete_module=176, clock_settime=227, openat=257, mkdirat=258, mknodat=259, fchmodat=268, clock_adjtime=305,
        finit_module=313, openat2=437, fchmodat2=452)),
    "aarch64": (0xC00000B7, dict(
        mknodat=33, mkdirat=34, fchmod=52, fchmodat=53, openat=56, init_module=105, delete_module=106,
        clock_settime=112, sched_setscheduler=119, sethostname=161, setdomainname=162, settimeofday=170, adjtimex=171,
        socket=198, clock_adjtime=266, finit_module=273, openat2=437, fchmodat2=452)),
}


def cannot(what):
    print(f"as_unit: {what} cannot be made here", file=sys.stderr)
    sys.exit(77)


def call(what, result):
    if result < 0:
        cannot(f"{what} ({os.strerror(ctypes.get_errno())})")


def mount(source, target, kind=None, flags=0, data=None):
    text = [None if part is None else part.encode() for part in (source, target, kind, data)]
    call(f"a mount at {target}", libc.mount(text[0], text[1], text[2], flags, text[3]))


def read_only(path, is_so):
    """Everything mounted at and below a path."""
    attributes = struct.pack("QQQQ", 1 if is_so else 0, 0 if is_so else 1, 0, 0)
    call(f"{path} read-only", libc.syscall(442, -100, path.encode(), 0x8000, attributes, len(attributes)))


def cover(path, kept, options="mode=755", flags=NOSUID | NODEV):
    """An empty folder in a path's place; what is kept is shown again."""
    if not os.path.isdir(path):
        return
    mount("tmpfs", path, "tmpfs", flags, options)
    for at, descriptor in kept.items():
        if at.startswith(path + "/"):
            os.makedirs(at, exist_ok=True)
            mount(f"/proc/self/fd/{descriptor}", at, None, BIND | REC)


def devices():
    names = ["null", "zero", "full", "random", "urandom", "tty"]
    opened = {name: os.open(f"/dev/{name}", os.O_PATH) for name in names if os.path.exists(f"/dev/{name}")}
    folders = {name: os.open(f"/dev/{name}", os.O_PATH) for name in ["pts", "shm", "mqueue"] if os.path.isdir(f"/dev/{name}")}
    cover("/dev", {}, flags=NOSUID | NOEXEC)
    for name, descriptor in opened.items():
        os.close(os.open(f"/dev/{name}", os.O_CREAT))
        mount(f"/proc/self/fd/{descriptor}", f"/dev/{name}", None, BIND)
    for name, descriptor in folders.items():
        os.makedirs(f"/dev/{name}", exist_ok=True)
        mount(f"/proc/self/fd/{descriptor}", f"/dev/{name}", None, BIND | REC)
    for name, target in [("ptmx", "pts/ptmx"), ("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"),
                         ("stdout", "/proc/self/fd/1"), ("stderr", "/proc/self/fd/2")]:
        os.symlink(target, f"/dev/{name}")


def filters(unit):
    """Each a list of instructions: what is refused, and how."""
    arch, numbers = CALLS.get(platform.machine()) or cannot("filters for this processor")
    load = lambda offset: (0x20, 0, 0, offset)
    program = [load(4), (0x15, 1, 0, arch), (0x06, 0, 0, 0x80000000), load(0)]

    def refuse(name, error, *, argument=None, mask=None, values=None, allowed=None):
        if name not in numbers:
            return
        body, answer = [], (0x06, 0, 0, 0x50000 | error)
        if argument is not None:
            body.append(load(16 + 8 * argument))
        if mask is not None:
            body += [(0x45, 0, 1, mask), answer]
        elif values is not None:
            for value in values:
                body += [(0x15, 0, 1, value), answer]
        elif allowed is not None:
            for index, value in enumerate(allowed):
                body.append((0x15, len(allowed) - index, 0, value))
            body.append(answer)
        else:
            body.append(answer)
        body.append(load(0))
        program.append((0x15, 0, len(body), numbers[name]))
        program.extend(body)

    on = lambda key: unit.get(key) == SWITCHES[key]
    if on("ProtectHostname"):
        refuse("sethostname", EPERM), refuse("setdomainname", EPERM)
    if on("ProtectClock"):
        for name in ["adjtimex", "clock_adjtime", "clock_settime", "settimeofday"]:
            refuse(name, EPERM)
    if on("ProtectKernelModules"):
        for name in ["init_module", "finit_module", "delete_module"]:
            refuse(name, EPERM)
    if on("PrivateDevices"):
        refuse("iopl", EPERM), refuse("ioperm", EPERM)
    if on("RestrictRealtime"):
        refuse("sched_setscheduler", EPERM, argument=1, values=[1, 2, 6])
    if on("RestrictSUIDSGID"):
        modes = dict(open=2, creat=1, mkdir=1, chmod=1, fchmod=1, mknod=1, openat=3, mkdirat=2, mknodat=2, fchmodat=2, fchmodat2=2)
        for name, argument in modes.items():
            refuse(name, EPERM, argument=argument, mask=0o6000)
        refuse("openat2", ENOSYS)
    if "RestrictAddressFamilies" in unit:
        refuse("socket", EAFNOSUPPORT, argument=0, allowed=[FAMILIES[name] for name in unit["RestrictAddressFamilies"].split()])
    program.append((0x06, 0, 0, 0x7FFF0000))
    return program


def delegate():
    """Groups of its own where they can be made, as systemd makes them; removed once nobody is in them."""
    groups = []
    for line in open("/proc/self/cgroup"):
        _, controllers, path = line.strip().split(":", 2)
        if controllers in ["", "pids", "memory"]:
            own = os.path.normpath(f"/sys/fs/cgroup/{controllers}/{path}")
            if os.path.exists(f"{own}/cgroup.procs"):
                groups.append(f"{own}/as-unit-{os.getpid()}")
    parent = os.pidfd_open(os.getpid())
    watcher = os.fork()
    if watcher == 0:
        os.setsid()
        os.closerange(0, 3)
        select.select([parent], [], [])
        for _ in range(300):
            for group in groups:
                for inner, _, _ in os.walk(group, topdown=False):
                    try:
                        os.rmdir(inner)
                    except OSError:
                        pass
            if not any(map(os.path.exists, groups)):
                break
            time.sleep(0.1)
        os._exit(0)
    for group in groups:
        try:
            os.mkdir(group)
            with open(f"{group}/cgroup.procs", "w") as entrance:
                entrance.write("0")
        except OSError:
            pass


def become(user):
    """The same owner of the same files, by another number: root without capabilities could make no sandbox."""
    maps = {"setgroups": "deny", "uid_map": f"{user} {os.geteuid()} 1", "gid_map": f"{user} {os.getegid()} 1"}
    call("a user namespace", libc.unshare(NEWUSER))
    for name, text in maps.items():
        open(f"/proc/self/{name}", "w").write(text)


def main():
    unit_file, folder, *command = sys.argv[1:]
    unit, section, written = {}, "", [folder]
    for line in map(str.strip, open(unit_file)):
        if line.startswith("["):
            section = line
        elif section == "[Service]" and "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            unit[key] = value
            if line == "ProtectHome=read-only" and unit.get("ProtectSystem") == "strict":
                continue  # Everything is.
            if key == "ReadWritePaths":
                written.append(shlex.split(value)[0])
            elif key not in OTHERS and SWITCHES.get(key) != value:
                sys.exit(f"as_unit: {line} is not known here")
    on = lambda key: unit.get(key) == SWITCHES[key]
    program = filters(unit)
    if os.geteuid() != 0:
        become(0)
    if "Delegate" in unit:
        delegate()
    call("namespaces", libc.unshare(NEWNS | (NEWUTS if on("ProtectHostname") else 0)))
    mount(None, "/", None, PRIVATE | REC)
    kept = {path: os.open(path, os.O_PATH) for path in [folder, os.path.dirname(command[0])]}
    if on("ProtectSystem"):
        read_only("/", True)
        for path in ["/dev", "/proc", "/sys"]:
            read_only(path, False)
    # Whoever is not root may write to no group that was not given to him.
    if on("ProtectControlGroups") or "Delegate" not in unit:
        read_only("/sys/fs/cgroup", True)
    if on("ProtectHome"):
        for path in ["/root", "/home", "/run/user"]:
            cover(path, kept)
    if on("PrivateTmp"):
        for path in ["/tmp", "/var/tmp"]:
            cover(path, kept, "mode=1777")
    if on("PrivateDevices"):
        devices()
    if on("ProtectKernelModules"):
        cover("/usr/lib/modules", {}, "mode=000")
    for path in written:
        mount(path, path, None, BIND | REC)
        read_only(path, False)
    os.chdir(folder)
    os.umask(int(unit.get("UMask", "0022"), 8))
    for key, kind in {"LimitNOFILE": resource.RLIMIT_NOFILE, "LimitCORE": resource.RLIMIT_CORE}.items():
        most = resource.getrlimit(kind)[1]
        wanted = int(unit.get(key, most))
        resource.setrlimit(kind, (wanted, wanted) if most < 0 or wanted <= most else (most, most))
    become(1000)
    if unit.get("CapabilityBoundingSet") == "":
        for capability in range(64):
            libc.prctl(24, capability, 0, 0, 0)
    if unit.get("AmbientCapabilities") == "":
        libc.prctl(47, 4, 0, 0, 0)
    header, none = struct.pack("Ii", 0x20080522, 0), struct.pack("IIIIII", *[0] * 6)
    call("a process without capabilities", libc.capset(header, none))
    call("no new privileges", libc.prctl(38, 1, 0, 0, 0))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    fprog = struct.pack("HxxxxxxQ", len(program), ctypes.addressof(code))
    call("a filter", libc.prctl(22, 2, ctypes.c_char_p(fprog), 0, 0))
    os.execv(command[0], command)


main()
