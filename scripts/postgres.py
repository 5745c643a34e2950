#!/usr/bin/env python3
"""A PostgreSQL for tests: a cluster of its own in a folder, reached over a socket there and by nobody else. It ends with
whoever started it, in whatever way that one ends, and nothing of it is left but the folder.

    postgres.py FOLDER      prints the URL of the cluster, made there if there is none, and ends when its input does
"""

import fcntl
import glob
import os
import pwd
import shutil
import subprocess
import sys
import time

# Generous, because a loaded machine can take seconds for a second's work.
MADE_WITHIN = 120
READY_WITHIN = 60
ENDED_WITHIN = 30
UNPACKED = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), ".cache/postgres")
# Keep every write, as in production, and disable features that only cost time. Shared memory other than `mmap` would
# outlive a killed cluster.
OPTIONS = ["listen_addresses=", "max_connections=500", "shared_buffers=32MB", "jit=off", "autovacuum=off"]
OPTIONS += ["dynamic_shared_memory_type=mmap"]
READY = b"database system is ready to accept connections"


class Missing(Exception):
    """PostgreSQL cannot be started; the text says what to do."""


def programs():
    """The programs of the newest version, from the system or unpacked by fetch.sh."""
    found = glob.glob("/usr/lib/postgresql/*/bin") + glob.glob(f"{UNPACKED}/usr/lib/postgresql/*/bin")
    found = [folder for folder in found if os.path.exists(f"{folder}/postgres") and os.path.exists(f"{folder}/initdb")]
    if found:
        return max(found, key=lambda folder: float(folder.split("/")[-2]))
    if program := shutil.which("initdb"):
        return os.path.dirname(os.path.realpath(program))
    raise Missing("PostgreSQL is missing: run `make fetch`")


class Cluster:
    """A running cluster. Ends with `stop` or with this process."""

    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        self.url = f"postgres://postgres@localhost/postgres?host={self.folder}"
        self.programs = programs()
        # Every process of the cluster holds the lock, so a free lock means that a killed cluster is gone.
        self.lock = os.open(f"{self.folder}/lock", os.O_RDWR | os.O_CREAT, 0o600)
        self._within(ENDED_WITHIN, self._is_alone, "another cluster runs in this folder")
        if not os.path.exists(f"{self.folder}/data"):
            self._make()
        self._start()

    def _walls(self, program, *arguments):
        """PostgreSQL refuses to run as root, so root runs it as nobody. Its processes share a PID namespace that ends
        with its first process, which ends with ours."""
        user = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else os.geteuid()
        walls = ["bwrap", "--unshare-user", "--uid", str(user), "--gid", str(user), "--unshare-pid", "--unshare-ipc"]
        walls += ["--die-with-parent", "--dev-bind", "/", "/", "--", f"{self.programs}/{program}"]
        return [*walls, *arguments]

    def _environment(self):
        around = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
        if self.programs.startswith(UNPACKED):
            around["LD_LIBRARY_PATH"] = ":".join(glob.glob(f"{UNPACKED}/usr/lib/*-linux-*"))
        return around

    def _make(self):
        half = f"{self.folder}/data.half"
        shutil.rmtree(half, ignore_errors=True)
        make = self._walls("initdb", "-D", half, "-U", "postgres", "--auth=trust", "--no-sync", "--no-instructions")
        make += ["--locale=C", "--encoding=UTF8"]
        made = subprocess.run(
            make, env=self._environment(), capture_output=True, text=True, timeout=MADE_WITHIN, check=False
        )
        if made.returncode != 0:
            raise Missing(f"PostgreSQL cannot make its files in {half}: {made.stdout}{made.stderr}")
        os.rename(half, f"{self.folder}/data")

    def _start(self):
        options = [word for option in OPTIONS for word in ("-c", option)]
        run = self._walls("postgres", "-D", f"{self.folder}/data", "-k", self.folder, *options)
        with open(f"{self.folder}/log", "wb") as log:
            self.process = subprocess.Popen(
                run, env=self._environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[self.lock]
            )
        self._within(READY_WITHIN, self._is_ready, "it does not get ready")

    def _within(self, seconds, done, otherwise):
        begun = time.monotonic()
        while not done():
            if time.monotonic() - begun > seconds:
                raise Missing(f"PostgreSQL in {self.folder}: {otherwise} within {seconds} s: {self._said()}")
            time.sleep(0.02)

    def _is_alone(self):
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _is_ready(self):
        if self.process.poll() is not None:
            raise Missing(f"PostgreSQL in {self.folder} has ended: {self._said()}")
        with open(f"{self.folder}/log", "rb") as log:
            return READY in log.read()

    def _said(self):
        try:
            with open(f"{self.folder}/log", encoding="utf-8", errors="replace") as log:
                return log.read()[-2000:]
        except FileNotFoundError:
            return "it said nothing"

    def stop(self):
        """Like a power failure: committed data is in the folder."""
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        with Cluster(sys.argv[1]) as cluster:
            print(cluster.url, flush=True)
            sys.stdin.read()
    except Missing as missing:
        sys.exit(str(missing))


if __name__ == "__main__":
    main()
