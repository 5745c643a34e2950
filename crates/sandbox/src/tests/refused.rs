//! Attempts to escape.

use super::*;

/// Makes each system call `[name, number, arguments …]` in its own child and prints the result. A string argument is
/// passed by address.
const PROBE: &str = "
import ctypes, errno, json, os, sys
call = ctypes.CDLL(None, use_errno=True).syscall
for name, *arguments in json.loads(sys.argv[1]):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        words = [ctypes.c_char_p(a.encode()) if isinstance(a, str) else ctypes.c_long(a) for a in arguments]
        answer = call(*words)
        print(name, errno.errorcode[ctypes.get_errno()] if answer == -1 else 'done', flush=True)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status): print(name, 'killed by', os.WTERMSIG(status))
";

async fn probed(place: &SandboxFixture, calls: &serde_json::Value) -> String {
    let (ended, out, err) = place.run(place.job(&["python3", "-c", PROBE, &calls.to_string()])).await;
    assert_eq!(ended.exit, Exit::Code(0), "{err}");
    out
}

#[tokio::test]
async fn system_calls_that_ways_out_begin_with_are_refused() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let calls = serde_json::json!([
            ["mount", libc::SYS_mount, "none", "/tmp", "tmpfs", 0, 0],
            ["umount", libc::SYS_umount2, "/tmp", 2],
            ["pivot_root", libc::SYS_pivot_root, "/tmp", "/tmp"],
            ["chroot", libc::SYS_chroot, "/tmp"],
            ["open_tree", libc::SYS_open_tree, -1, "/tmp", 0],
            ["fsopen", libc::SYS_fsopen, "tmpfs", 0],
            ["fsconfig", libc::SYS_fsconfig, -1, 99, 0, 0, 0],
            ["move_mount", libc::SYS_move_mount, -1, "", -1, "", 0],
            ["mount_setattr", libc::SYS_mount_setattr, -1, "", 0, 0, 0],
            ["unshare user", libc::SYS_unshare, 0x1000_0000],
            ["unshare network", libc::SYS_unshare, 0x4000_0000],
            ["unshare mounts", libc::SYS_unshare, 0x0002_0000],
            ["unshare time", libc::SYS_unshare, 0x80],
            ["clone user", libc::SYS_clone, 0x1000_0000 | 17, 0, 0, 0, 0],
            ["clone pid", libc::SYS_clone, 0x2000_0000 | 17, 0, 0, 0, 0],
            ["setns", libc::SYS_setns, -1, 0],
            ["kexec", libc::SYS_kexec_load, 0, 0, 0, 0],
            ["kexec file", libc::SYS_kexec_file_load, -1, -1, 0, "", 0],
            ["bpf", libc::SYS_bpf, 99, 0, 0],
            ["perf", libc::SYS_perf_event_open, 0, 0, -1, -1, 0],
            ["keyctl", libc::SYS_keyctl, 0, -3, 0],
            ["add_key", libc::SYS_add_key, "user", "x", "y", 1, -3],
            ["request_key", libc::SYS_request_key, "user", "x", 0, 0],
            ["userfaultfd", libc::SYS_userfaultfd, 1],
            ["module", libc::SYS_init_module, 0, 0, ""],
            ["module file", libc::SYS_finit_module, -1, "", 0],
            ["module out", libc::SYS_delete_module, "x", 0],
            ["swap", libc::SYS_swapon, "/tmp/x", 0],
            ["reboot", libc::SYS_reboot, 0, 0, 0, 0],
            ["acct", libc::SYS_acct, "/tmp/x"],
            ["quota", libc::SYS_quotactl, 0x80_0001, "", 0, 0],
            ["handle of", libc::SYS_name_to_handle_at, -100, "/", 0, 0, 0],
            ["by handle", libc::SYS_open_by_handle_at, -1, 0, 0],
            ["pidfd_getfd", libc::SYS_pidfd_getfd, -1, 0, 0],
            ["syslog", libc::SYS_syslog, 10, 0, 0],
            ["hostname", libc::SYS_sethostname, "ours", 4],
            ["ptrace of the first", libc::SYS_ptrace, 0x4206, 1, 0, 0],
            ["memory of the first", libc::SYS_process_vm_writev, 1, 0, 0, 0, 0, 0],
            ["personality", libc::SYS_personality, 0x0400_0000],
            ["AF_PACKET", libc::SYS_socket, 17, 3, 0],
            ["AF_VSOCK", libc::SYS_socket, 40, 1, 0],
            ["AF_ALG", libc::SYS_socket, 38, 5, 0],
            ["AF_KEY", libc::SYS_socket, 15, 3, 2],
            ["netlink audit", libc::SYS_socket, 16, 3, 9],
            ["netlink netfilter", libc::SYS_socket, 16, 3, 12],
            ["TIOCSTI", libc::SYS_ioctl, 0, 0x5412, "x"],
            ["TIOCSTI in more bits", libc::SYS_ioctl, 0, 0x1_0000_5412_u64, "x"],
            ["TIOCLINUX", libc::SYS_ioctl, 0, 0x541c, "x"],
        ]);
        let out = probed(&place, &calls).await;
        let names: Vec<_> = calls.as_array().unwrap().iter().map(|call| call[0].as_str().unwrap()).collect();
        let expected: Vec<_> = names.iter().map(|name| format!("{name} EPERM")).collect();
        let answers: Vec<&str> = out.lines().collect();
        let got_through: Vec<_> =
            expected.iter().filter(|refused| !answers.contains(&refused.as_str())).collect();
        journeyman_test_support::tally::tell(
            &format!("system calls that ways out of the sandbox begin with, mode {mode}"),
            names.len(),
            &got_through,
        );
        assert_eq!(answers, expected);
    }
}

#[tokio::test]
async fn calls_that_programs_do_without_are_unknown_and_those_they_need_are_there() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let calls = serde_json::json!([
            ["clone3", libc::SYS_clone3, 0, 0],
            ["io_uring", libc::SYS_io_uring_setup, 1, 0],
            ["seen", libc::SYS_personality, 0xffff_ffff_u32],
            ["fixed addresses", libc::SYS_personality, 0x0004_0000],
            ["own files", libc::SYS_unshare, 0x400],
            ["traced", libc::SYS_ptrace, 0, 0, 0, 0],
            ["AF_UNIX", libc::SYS_socket, 1, 1, 0],
            ["AF_INET", libc::SYS_socket, 2, 1, 0],
            ["AF_INET6", libc::SYS_socket, 10, 1, 0],
            ["netlink route", libc::SYS_socket, 16, 3, 0],
        ]);
        let out = probed(&place, &calls).await;
        assert_eq!(
            out,
            "clone3 ENOSYS\nio_uring ENOSYS\nseen done\nfixed addresses done\nown files done\ntraced done\n\
         AF_UNIX done\nAF_INET done\nAF_INET6 done\nnetlink route done"
        );
    }
}

#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn calls_of_other_architectures_are_killed() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let calls = serde_json::json!([["x32", 0x4000_0000 | libc::SYS_getpid]]);
        assert_eq!(probed(&place, &calls).await, format!("x32 killed by {}", libc::SIGSYS));
        // The entry point of 32-bit programs, which 64-bit programs can use too: number 20 is getpid there.
        let code =
            "int main(void) { int r; __asm__ volatile(\"int $0x80\" : \"=a\"(r) : \"a\"(20)); return 0; }";
        fs::write(place.path("work/gate.c"), code).unwrap();
        if !place.sandbox.has("cc") {
            eprintln!("skipped: no cc on this machine");
            continue;
        }
        let (ended, _, err) = place.sh("cc gate.c -o gate || exit 99; ./gate").await;
        assert_eq!(ended.exit, Exit::Code(128 + libc::SIGSYS), "{err}");
    }
}

#[tokio::test]
async fn no_user_namespace_can_be_made_even_without_the_filter() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let marker = made_up("inside");
        let job = place.job(&["sh", "-c", &format!("while [ ! -e done ]; do sleep 0.05; done; : {marker}")]);
        let look = async {
            let inside = loop {
                let found = process_inside(&marker);
                if let Some(found) = found {
                    break found;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            };
            // Enters its user namespace from outside, without a filter.
            let mut enter = tokio::process::Command::new("nsenter");
            enter.args([
                &format!("--user=/proc/{inside}/ns/user"),
                "--preserve-credentials",
                "unshare",
                "--user",
                "true",
            ]);
            let tried = enter.output().await.unwrap();
            fs::write(place.path("work/done"), "").unwrap();
            tried
        };
        let ((ended, ..), tried) = tokio::join!(place.run(job), look);
        assert_eq!(ended.exit, Exit::Code(0));
        let said = String::from_utf8_lossy(&tried.stderr);
        assert!(!tried.status.success() && said.contains("No space left on device"), "{said}");
    }
}

/// A process of the job, not of bubblewrap, by its id on the host.
pub(super) fn process_inside(marker: &str) -> Option<u32> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes.filter_map(|process| process.file_name().to_str()?.parse().ok()).find(|process: &u32| {
        let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let (program, arguments) = line.split_once(' ').unwrap_or_default();
        let is_job =
            program.ends_with("sh") && arguments.starts_with("-c ") && !arguments.contains("lifeline=");
        is_job && line.contains(marker)
    })
}

#[tokio::test]
async fn every_namespace_is_the_jobs_own() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let kinds = ["user", "pid", "mnt", "net", "ipc", "uts", "cgroup"];
        let (_, out, _) = place.sh(&format!("cd /proc/self/ns; readlink {}", kinds.join(" "))).await;
        let inside: Vec<_> = out.lines().collect();
        assert_eq!(inside.len(), kinds.len());
        for (kind, inside) in kinds.iter().zip(inside) {
            let ours = fs::read_link(format!("/proc/self/ns/{kind}")).unwrap().display().to_string();
            assert_ne!(inside, ours, "{kind}");
        }
    }
}

#[tokio::test]
async fn the_kernel_and_the_first_process_cannot_be_written_to() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        // Writes files back unchanged, so that a missing wall does not change the machine.
        let script = "for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sys/vm/swappiness \
                  /proc/irq/default_smp_affinity /sys/kernel/uevent_helper /sys/fs/cgroup/cgroup.procs /proc/1/oom_score_adj \
                  /proc/1/root/etc/x /dev/kmsg /dev/mem; do (cat $f > was; [ -s was ] || echo 1 > was; cat was > $f) 2>/dev/null && echo $f; done; \
                  ls /sys/kernel 2>/dev/null";
        for network in [SandboxNetwork::None, SandboxNetwork::Host] {
            let mut job = place.job(&["sh", "-c", script]);
            job.network = network;
            assert_eq!(place.run(job).await.1, "");
        }
        let script = "
for at in ['/proc/1/mem', '/proc/1/task/1/mem', '/proc/sys/kernel/core_pattern']:
    try: open(at, 'r+b'); print('opened', at)
    except OSError as e: print(e.strerror)";
        let (_, out, err) = place.run(place.job(&["python3", "-c", script])).await;
        let read_only = "Read-only file system";
        // For other users than root it is closed anyway.
        let closed = if rustix::process::getuid().is_root() { read_only } else { "Permission denied" };
        assert_eq!(out, [read_only, read_only, closed].join("\n"), "{err}");
    }
}

#[tokio::test]
async fn processes_of_the_host_hear_no_signal() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let script =
            format!("kill -9 {} {} 2>/dev/null || echo none; kill -9 -1", other.id(), std::process::id());
        let (ended, out, _) = place.sh(&script).await;
        assert_eq!(out, "none");
        assert!(other.try_wait().unwrap().is_none(), "{ended:?}");
        other.kill().unwrap();
        other.wait().unwrap();
    }
}

#[tokio::test]
async fn no_environment_of_ours_is_read() {
    let canary = "JOURNEYMAN_TEST_CANARY";
    if !is_again() {
        again("refused::no_environment_of_ours_is_read", false, &[(canary, "canary-of-the-server")]);
        return;
    }
    assert!(fs::read_to_string("/proc/self/environ").unwrap().contains("canary-of-the-server"));
    for mode in walls() {
        for network in [SandboxNetwork::None, SandboxNetwork::Host] {
            let place = SandboxFixture::new(mode).await;
            let mut job = place.job(&[
                "sh",
                "-c",
                "cat /proc/*/environ /proc/*/task/*/environ /proc/*/cmdline | tr '\\0' '\\n'",
            ]);
            job.network = network;
            let (_, out, _) = place.run(job).await;
            assert!(out.contains("PATH=") && !out.contains("canary"), "{out}");
        }
    }
}

#[tokio::test]
async fn programs_that_use_much_of_the_system_still_work() {
    for mode in walls() {
        let place = SandboxFixture::new(mode).await;
        let python = "
import asyncio, json, multiprocessing, socket, sqlite3, ssl, subprocess, tempfile, threading
with multiprocessing.Pool(2) as pool: print(sum(pool.map(abs, range(100))))
async def served():
    async def answer(reader, writer):
        writer.write(await reader.readline()); await writer.drain(); writer.close()
    server = await asyncio.start_server(answer, '127.0.0.1', 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b'hello\\n'); print((await reader.readline()).decode().strip())
asyncio.run(served())
socket.socketpair()
print(subprocess.run(['echo', 'child'], capture_output=True, text=True).stdout.strip())";
        let node = "
const { Worker } = require('worker_threads'), http = require('http'), { execSync } = require('child_process');
const server = http.createServer((_, answer) => answer.end('hello')).listen(0, '127.0.0.1', async () => {
  const said = await (await fetch('http://127.0.0.1:' + server.address().port)).text();
  new Worker(`require('worker_threads').parentPort.postMessage(6 * 7)`, { eval: true }).on('message', n => {
    console.log(said, n, execSync('echo child').toString().trim()); server.close();
  });
});";
        let rust = "use std::io::Write;
fn main() { let t: Vec<_> = (0..8).map(|i| std::thread::spawn(move || i)).collect();
let sum: i32 = t.into_iter().map(|t| t.join().unwrap()).sum();
let out = std::process::Command::new(\"echo\").arg(\"child\").output().unwrap();
print!(\"{sum} \"); std::io::stdout().write_all(&out.stdout).unwrap(); }";
        let java = "public class A { public static void main(String[] a) throws Exception {
var t = new Thread(() -> System.out.print(\"thread \")); t.start(); t.join();
System.out.println(new String(new ProcessBuilder(\"echo\", \"child\").start().getInputStream().readAllBytes()).trim()); } }";
        fs::write(place.path("work/a.py"), python).unwrap();
        fs::write(place.path("work/a.js"), node).unwrap();
        fs::write(place.path("work/a.rs"), rust).unwrap();
        fs::write(place.path("work/A.java"), java).unwrap();
        for (tool, script, answer) in [
            ("python3", "python3 a.py", "4950\nhello\nchild"),
            ("node", "node a.js", "hello 42 child"),
            ("rustc", "rustc a.rs -o a 2>&1 && ./a", "28 child"),
            ("java", "java A.java", "thread child"),
            ("strace", "strace -f -o trace sh -c 'echo traced' && grep -c execve trace", "traced\n1"),
            ("go", "printf 'package main\\nfunc main() { println(42) }' > a.go && go run a.go 2>&1", "42"),
            ("bun", "bun -e 'console.log(6 * 7)'", "42"),
            ("claude", "claude --version", "."),
            ("git", "git init -q x && git -C x status --short --branch", "No commits yet"),
            ("npm", "npm --version", "."),
            ("cargo", "cargo init -q --vcs none --name y y && cd y && cargo run -q --offline", "Hello"),
            ("cc", "echo 'int main(void) { return 42; }' > a.c && cc a.c -o c; ./c || echo $?", "42"),
        ] {
            if !place.sandbox.has(tool) {
                eprintln!("skipped: no {tool} on this machine");
                continue;
            }
            let (ended, out, err) = place.sh(script).await;
            assert_eq!((ended.exit, ended.limit), (Exit::Code(0), None), "{tool}: {out} {err}");
            assert!(out.contains(answer), "{tool}: {out} {err}");
        }
    }
}
