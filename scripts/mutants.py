#!/usr/bin/env python3
"""Removes one defence at a time, in a scratch copy, and checks that its tests fail.

    mutants.py              all of scripts/mutants.toml
    mutants.py NAME ...     those whose names start with NAME
    mutants.py --list       their names

The copy is outside the repository, and only the tested crate is built, which takes seconds. Built dependencies are
taken from target/ and kept in .cache/mutants. Needs Python 3.11.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "scripts" / "mutants.toml"
TARGET = ROOT / ".cache" / "mutants"
KEYS = {"name", "file", "old", "new", "tests"}
# Unit tests do not need these, or they are rebuilt.
LEFT_OUT = {".git", ".cache", "target", "data"}
BUILD_SECONDS = 1800
# A mutant may hang in a test that otherwise takes a moment.
TEST_SECONDS = 600


class Broken(Exception):
    """The table or the tree is invalid, so the run proves nothing."""


def table():
    mutants = tomllib.loads(TABLE.read_text())["mutant"]
    names = set()
    for mutant in mutants:
        name = mutant.get("name", "?")
        if set(mutant) != KEYS:
            raise Broken(f"{name}: its keys are {sorted(mutant)}")
        if name in names:
            raise Broken(f"{name}: is there twice")
        names.add(name)
        found = (ROOT / mutant["file"]).read_text().count(mutant["old"])
        if found != 1:
            raise Broken(f"{name}: its old text is {found} times in {mutant['file']}, not once")
        crates = {test.split("::", 1)[0] for test in mutant["tests"]}
        if len(crates) != 1:
            raise Broken(f"{name}: its tests are of several crates, or there are none")
        mutant["crate"] = crates.pop()
    return mutants


def seed():
    """Reuses built dependencies. Large files that are never rewritten in place are hard-linked."""
    built, target = ROOT / "target" / "debug", TARGET / "debug"
    if target.exists() or not (built / "deps").is_dir():
        return
    foreign = lambda _, names: [name for name in names if "journeyman" in name]
    for part in (".fingerprint", "build"):
        if (built / part).is_dir():
            shutil.copytree(built / part, target / part, symlinks=True, ignore=foreign)
    # Hard links fail across file systems, so copy instead.
    def link(one, other):
        try:
            os.link(one, other)
        except OSError:
            shutil.copy2(one, other)
    shutil.copytree(built / "deps", target / "deps", symlinks=True, ignore=foreign, copy_function=link)


def run(command, directory, seconds):
    """Exit code (None after a timeout), output, seconds."""
    # Some faults need more lives of the crash matrix than `make test` has time for.
    environment = {**os.environ, "CARGO_TARGET_DIR": str(TARGET), "CARGO_TERM_COLOR": "never",
                   "RUST_BACKTRACE": "0", "JOURNEYMAN_MATRIX_LIVES": "500"}
    begun = time.monotonic()
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(command, cwd=directory, env=environment, stdin=subprocess.DEVNULL,
                                 stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            code = child.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            # Kill only our own child, and only while its id cannot have been reused.
            if child.returncode is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        output.seek(0)
        said = output.read().decode("utf-8", "replace")
    return code, said, time.monotonic() - begun


class Copy:
    """A scratch copy of the tree."""

    def __init__(self, parent):
        self.path = Path(parent) / "tree"
        ignored = lambda folder, names: LEFT_OUT & set(names) if Path(folder) == ROOT else set()
        shutil.copytree(ROOT, self.path, symlinks=True, ignore=ignored)
        # Some tests create their folders there.
        (self.path / "target").mkdir()
        # Some tests run downloaded tools.
        if (ROOT / ".cache").is_dir():
            (self.path / ".cache").mkdir()
            for tool in (ROOT / ".cache").iterdir():
                if tool.name != "mutants":
                    (self.path / ".cache" / tool.name).symlink_to(tool)

    def build(self, crate):
        """The program of a crate's tests, or the compiler's output."""
        command = ["cargo", "test", "--locked", "--offline", "-p", f"journeyman-{crate}", "--lib", "--no-run"]
        code, said, seconds = run(command, self.path, BUILD_SECONDS)
        found = re.search(r"Executable .*\((.+)\)", said)
        if code != 0 or not found:
            return None, said, seconds
        return Path(self.path, found[1]), said, seconds

    def test(self, program, test):
        """Whether it passed (None after a timeout), whether any test ran, its output."""
        crate, own = test.split("::", 1)
        code, said, _ = run([str(program), "--exact", own], self.path / "crates" / crate, TEST_SECONDS)
        ran = re.search(r"^running (\d+) tests?$", said, re.M)
        return None if code is None else code == 0, bool(ran and int(ran[1])), said


def last_lines(text, count=15):
    return "\n".join("    " + line for line in text.strip().splitlines()[-count:])


def tried(copy, mutant):
    """The result, as (is killed, in words)."""
    path = copy.path / mutant["file"]
    text = path.read_text()
    path.write_text(text.replace(mutant["old"], mutant["new"]))
    try:
        program, said, _ = copy.build(mutant["crate"])
        if program is None:
            raise Broken(f"{mutant['name']}: does not compile\n{last_lines(said, 30)}")
        for test in mutant["tests"]:
            passed, _, said = copy.test(program, test)
            if passed is None:
                return True, f"killed by its time, in {test}"
            if not passed:
                if "test result: FAILED" not in said:
                    return True, f"killed with the whole program, in {test}"
                return True, f"killed by {test}"
        return False, "SURVIVED"
    finally:
        path.write_text(text)


def main(arguments):
    mutants = table()
    if arguments == ["--list"]:
        print("\n".join(mutant["name"] for mutant in mutants))
        return 0
    if arguments:
        mutants = [one for one in mutants if one["name"].startswith(tuple(arguments))]
        if not mutants:
            raise Broken("no mutant is called so; --list shows all")
    begun = time.monotonic()
    seed()
    results = []
    with tempfile.TemporaryDirectory(prefix="journeyman-mutants-") as parent:
        # Tests that switch to another user must be able to read their program's files.
        os.chmod(parent, 0o755)
        copy = Copy(parent)
        for crate in dict.fromkeys(mutant["crate"] for mutant in mutants):
            of_crate = [mutant for mutant in mutants if mutant["crate"] == crate]
            program, said, seconds = copy.build(crate)
            if program is None:
                raise Broken(f"{crate} does not compile by itself\n{last_lines(said, 30)}")
            print(f"{crate}: built in {seconds:.0f} s", flush=True)
            useless = {}
            for test in dict.fromkeys(test for mutant in of_crate for test in mutant["tests"]):
                passed, any_ran, said = copy.test(program, test)
                if passed is None:
                    useless[test] = f"{test}: does not end without any mutant"
                elif not any_ran:
                    useless[test] = f"{test}: there is no such test"
                elif not passed:
                    useless[test] = f"{test}: fails without any mutant\n{last_lines(said)}"
            for mutant in of_crate:
                start = time.monotonic()
                try:
                    for test in mutant["tests"]:
                        if test in useless:
                            raise Broken(f"{mutant['name']}: {useless[test]}")
                    is_killed, how = tried(copy, mutant)
                except Broken as broken:
                    is_killed, how = False, "BROKEN"
                    print(broken, flush=True)
                seconds = time.monotonic() - start
                results.append((mutant["name"], is_killed, how, seconds))
                print(f"  {mutant['name']}: {how} ({seconds:.0f} s)", flush=True)
            clean = ["cargo", "clean", "--offline", "--quiet", "-p", f"journeyman-{crate}"]
            run(clean, copy.path, BUILD_SECONDS)
    width = max(len(name) for name, *_ in results)
    print(f"\n{'mutant':{width}}  seconds  what became of it")
    for name, _, how, seconds in results:
        print(f"{name:{width}}  {seconds:7.1f}  {how}")
    killed = sum(is_killed for _, is_killed, *_ in results)
    print(f"\nmutants: {len(results)}, killed: {killed}, in {time.monotonic() - begun:.0f} s")
    return 0 if killed == len(results) else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Broken as broken:
        print(f"mutants: {broken}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
